"""runner.py RUNNER PROGRAMS: the command, what it writes, how it counts lines, and what it refuses."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from answers import load

SOURCE = '''/* A comment
   of two lines. */
#include "a.h" /* one more */

int main(void) { // and one
    puts("/* no comment */");
    /* alone */
    return 0;
}
'''


def check_lines(runner, folder):
    path = Path(folder, "source.c")
    path.write_text(SOURCE)
    assert runner.code_lines(path) == 5, runner.code_lines(path)


def run_program(*words, environment=None):
    return subprocess.run([*map(str, words)], env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)


def run(*arguments, environment=None):
    return run_program(sys.executable, "-B", *arguments, environment=environment)


def check_command(path, programs, folder):
    file = Path(folder, "programs.json")
    only = "--only", "images", "--only", "epoch"
    done = run(path, programs, "--small", "--runs", "2", *only, "--json", file, "--check")
    assert done.returncode == 0, done
    assert "say nothing" in done.stdout and "FAILS" not in done.stdout, done.stdout
    results = json.loads(file.read_text())
    assert {"device", "driver", "cuda", "cpu", "date", "commit", "cases", "checks"} <= set(results), results.keys()
    cases = {(case["case"], case["strategy"]): case for case in results["cases"]}
    assert set(cases) == {(name, version) for name in ("images", "epoch") for version in ("explicit", "ferry")}, cases
    for case in cases.values():
        assert case["runs"] == 2 and case["bytes"] > 0 and case["valid"], case
        assert 0 < case["min_ms"] <= case["q1_ms"] <= case["median_ms"] <= case["q3_ms"] <= case["max_ms"], case
    held = [check["check"] for check in results["checks"]]
    assert not any("time" in name for name in held), f"times on the simulator are held to something: {held}"


def check_refusals(path, programs, folder):
    assert run(path).returncode == 2
    assert run(path, programs, "--only", "sorting").returncode == 2
    for arguments in ("--runs", "0"), ("--json", Path(folder, "gone", "programs.json")):
        done = run(path, programs, "--small", *arguments)
        assert done.returncode == 2 and not done.stdout and str(arguments[1]) in done.stderr, done
    with tempfile.TemporaryDirectory() as empty:
        done = run(path, empty, environment={"FERRY_BACKEND": "cuda"})
    assert done.returncode == 1 and "no nvcc" in done.stderr, done
    refused = ((["heat_ferry"], "usage"), (["heat_ferry", "--size", "9", folder], "multiple of 4"),
               (["heat_ferry", "--size", "1x", folder], "1x"), (["cg_on_host", "--sise", "8", "x"], "usage"),
               (["images_ferry", folder, folder], "no .pgm"),
               (["epoch_on_host", "--budget", "1G", Path(folder, "source.c")], "budget"),
               (["kmeans_ferry", Path(folder, "source.c"), "x"], "neither a PGM"))
    for arguments, wanted in refused:
        done = run_program(programs / arguments[0], *arguments[1:])
        assert done.returncode == 1 and wanted in done.stderr and not done.stdout, (arguments, done)


def check_failure(runner, folder):
    """A program that fails, however it does, is told of, and the others are measured."""
    programs = Path(folder, "programs")
    programs.mkdir()
    for name, status in (("heat", 0), ("cg", 3), ("epoch", 0)):
        for version in ("on_host", "ferry"):
            script = programs / f"{name}_{version}"
            script.write_text(f'#!/bin/sh\necho \'{{"answer": {{}}, "work_ms": 1}}\'\nexit {status}\n')
            script.chmod(0o755)
    Path(programs, "epoch_ferry").write_text("#!/bin/sh\necho no JSON\n")
    place = runner.Place(programs, Path(folder), Path(folder, "out"), "on_host")
    sizes = {program: program.small for program in runner.PROGRAMS if program.name in ("heat", "cg", "epoch", "images")}
    found = {program.name: runs for program, runs in runner.measure(place, sizes, 2, 60).items()}
    assert found["cg"] == found["epoch"] == found["images"] == {}, found  # a status, no JSON, no program
    assert len(found["heat"]["ferry"]) == 3, found
    report = runner.Report()
    runner.judge(report, next(program for program in sizes if program.name == "cg"), sizes, {}, True)
    assert [check["holds"] for check in report.checks] == [False] and report.void == 1, report.checks


def check_void(runner):
    """A program whose versions differ has no ratio, and its check fails."""
    said = {"answer": {"x": 1}, "work_ms": 2.0, "allocate_ms": 1.0, "redundant_bytes": 0}
    other = dict(said, answer={"x": 2})
    program = runner.PROGRAMS[0]
    report = runner.Report()
    runs = {"explicit": [runner.Run(said, "")] * 2, "ferry": [runner.Run(other, "")] * 2}
    runner.judge(report, program, program.small, runs, True)
    assert not any("ratio" in case or case["valid"] for case in report.cases), report.cases
    assert [check["holds"] for check in report.checks] == [False, True, True] and report.void == 1, report.checks


def main():
    path, programs = Path(sys.argv[1]), Path(sys.argv[2])
    runner = load(path)
    with tempfile.TemporaryDirectory() as folder:
        check_lines(runner, folder)
        check_command(path, programs, folder)
        check_refusals(path, programs, folder)
        check_failure(runner, folder)
    check_void(runner)
    return 0


if __name__ == "__main__":
    sys.exit(main())
