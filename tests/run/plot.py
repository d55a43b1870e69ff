"""The picture of live bytes that tools/plot_run.py draws. Exit status: 0 passed, 1 failed, 77 skipped: no matplotlib."""
import json
import os
import subprocess
import sys
import tempfile

try:
    import matplotlib  # noqa: F401
except ImportError:
    print("skipped: no matplotlib")
    sys.exit(77)

COMMAND, WRITER, SCRIPT = sys.argv[1:4]
sys.path.insert(0, os.path.dirname(SCRIPT))
import plot_run


def fails(holds, message):
    if not holds:
        print("FAILED:", message)
    return not holds


def plot(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], stderr=subprocess.PIPE, text=True)


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        report, picture = os.path.join(folder, "run.json"), os.path.join(folder, "run.png")
        for story in ("small", "large", "gone", "many_sites"):
            subprocess.run([WRITER, folder, story], stderr=subprocess.DEVNULL)
        with open(report, "w") as stream:
            subprocess.run([COMMAND, "report", folder, "--json"], stdout=stream, check=True)
        with open(report) as stream:
            processes = json.load(stream)["processes"]
        drawn = plot(report, "-o", picture)
        failures += fails(drawn.returncode == 0, drawn.stderr)
        with open(picture, "rb") as stream:
            failures += fails(stream.read(8) == b"\x89PNG\r\n\x1a\n", "no picture")
        large = processes[1]
        seconds, held = plot_run.steps(large, large["began_ns"])
        failures += fails(len(seconds) == len(large["samples"]) + 1 and seconds == sorted(seconds), seconds)
        failures += fails(held["managed"][-1] == 8 << 20 and held["plain"][-1] == 4 << 20, held)
        failures += fails(abs(seconds[-1] - large["lasted_ns"] / 1e9) < 1e-6, "the process's end")
        failures += fails([plot_run.unit_of(n) for n in (0, 5, 2048, 3 << 20)] ==
                          [("bytes", 1), ("bytes", 1), ("KiB", 1024), ("MiB", 1 << 20)], "units")
        with open(report, "w") as stream:
            json.dump({"processes": processes[:1]}, stream)
        nothing = plot(report, "-o", picture)
        failures += fails(nothing.returncode == 1 and "no process had large blocks" in nothing.stderr, nothing)
    sys.exit(1 if failures else 0)


main()
