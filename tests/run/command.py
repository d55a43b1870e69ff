"""`ferry run`: what the program is given, what becomes of its status and of signals, where the report goes."""
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import harness

MIB = 1 << 20
ALLOCATES, PRELOAD = (os.path.realpath(path) for path in sys.argv[2:4])


def run(tool, *arguments, **options):
    return tool.run("run", *arguments, **options)


def says(tool, result, status, pattern, what):
    tool.check(result.returncode == status and re.search(pattern, result.stderr), f"{what}: {result.returncode} {result.stderr}")


def usage(tool):
    for arguments, pattern in (("", "a program is missing"), ("--report", "a program is missing"), ("--", "a program is missing"),
                               ("--threshold x true", r"--threshold: 'x' is not a size"), ("--threshold", "needs a value"),
                               ("--limit -1 true", "--limit: '-1' is not a size"), ("--device=gpu true", "--device is auto, always or never"),
                               ("--policy best true", "unknown policy 'best'"), ("--backend=none true", "unknown backend 'none'"),
                               ("--sites=0 true", "--sites takes a number"), ("--sites=1x true", "--sites takes a number"),
                               ("--fork=copy true", "--fork is lost, snapshot or snapshot:SIZE"), ("--fork snapshot:x true", "'x' is not a size"),
                               ("--report= true", "--report= needs"), ("--frok lost true", "unknown option '--frok'"),
                               ("--device never --device never true", "given twice")):
        result = run(tool, *arguments.split())
        says(tool, result, 2, pattern, arguments)
        tool.check(result.stdout == "" and "Try 'ferry run --help'" in result.stderr, arguments)
    tool.check("--threshold" in run(tool, "--help").stdout, "--help")


def variables(printed):
    return dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)


def environment(tool):
    given = variables(run(tool, "--threshold", "64K", "--device=never", "--policy", "remote", "--limit=1G", "--backend", "sim",
                          "--only", "x*", "--sites=7", "--fork", "snapshot:1M", "--report=r.json", "--", "env",
                          environment={"LD_PRELOAD": "/lib/absent.so", "FERRY_FORK": "lost"}).stdout)
    for name, value in dict(THRESHOLD="64K", RUN_DEVICE="never", POLICY="remote", LIMIT="1G", BACKEND="sim", ONLY="x*", SITES="7",
                            FORK="snapshot:1M").items():
        tool.check(given.get("FERRY_" + name) == value, f"FERRY_{name} is {given.get('FERRY_' + name)}")
    tool.check(given["LD_PRELOAD"] == PRELOAD + ":/lib/absent.so", given["LD_PRELOAD"])
    tool.check("FERRY_REPORT" in given and not os.path.exists(given["FERRY_REPORT"]), "the records' folder")
    # What is not given is left alone; without a report there is no folder.
    plain = variables(run(tool, "env", environment={"FERRY_THRESHOLD": "5M", "FERRY_POLICY": "none"}).stdout)
    tool.check(plain["FERRY_THRESHOLD"] == "5M" and plain["FERRY_POLICY"] == "none" and plain["LD_PRELOAD"] == PRELOAD, plain)
    tool.check("FERRY_REPORT" not in plain and "FERRY_SITES" not in plain, plain)
    tool.check(variables(run(tool, "--sites", "env").stdout)["FERRY_SITES"] == "1", "--sites alone")


def arguments(tool):
    """The program's are its own, with and without the separator."""
    for separator in ([], ["--"]):
        result = run(tool, "--device", "never", *separator, "printf", "%s,", "--report", "--", "-x")
        tool.check(result.stdout == "--report,--,-x,", result.stdout)
    tool.check(run(tool, "--", "printf", "--", "%s", "a").stdout == "a", "a second separator")


def statuses(tool):
    for options in ([], ["--report"]):
        tool.check(run(tool, *options, "sh", "-c", "exit 3").returncode == 3, f"{options}: exit 3")
        killed = run(tool, *options, "sh", "-c", "kill -9 $$")
        tool.check(killed.returncode == (137 if options else -9), f"{options}: killed: {killed.returncode}")
        tool.write("plain", b"text")
        says(tool, run(tool, *options, "absent-program"), 127, "^ferry: absent-program: No such file", options)
        says(tool, run(tool, *options, "./absent-program"), 127, "^ferry: ./absent-program: No such file", options)
        says(tool, run(tool, *options, "./plain"), 126, "^ferry: ./plain: Permission denied", options)
    says(tool, run(tool, "--report", "sh", "-c", "kill -9 $$"), 137, r"killed by signal 9 \(Killed\)", "killed")
    tool.write("script", b"exit 5\n")
    os.chmod(tool.path("script"), 0o755)
    tool.check(run(tool, "--report", "./script").returncode == 5, "a script that does not say for whom")


def report(tool):
    result = run(tool, "--report=json", "--backend=sim", "sh", "-c", f"echo out; echo err >&2; {ALLOCATES}")
    tool.check(result.returncode == 0 and result.stdout == "out\n" and result.stderr.startswith("err\n"), f"{result}")
    p = json.loads(result.stderr[4:])["processes"]
    tool.check([os.path.basename(x["program"]) for x in p][-1] == "allocates", f"{[x['program'] for x in p]}")
    managed = p[-1]["managed"]
    tool.check((managed["allocations"], managed["frees"]) == (6, 5) and managed["allocated_bytes"] == 13 * MIB, managed)
    tool.check(managed["live_bytes"] == managed["peak_bytes"] == 3 * MIB and managed["warm_blocks"] >= 4, managed)
    small = p[-1]["small"]
    tool.check(3000 <= small["allocations"] < 3100 and 3000 <= small["frees"] <= small["allocations"], small)
    sizes = {size["up_to_bytes"]: size["allocations"] for size in small["sizes"]}
    tool.check(all(1000 <= sizes[bytes_] < 1100 for bytes_ in (128, 32 << 10, 512 << 10)), sizes)
    tool.check(p[-1]["end"] == "exited" and p[-1]["parent"] == p[0]["pid"], p[-1]["end"])
    result = run(tool, "--report=r.json", "--sites", "--threshold=3M", ALLOCATES)
    written = json.loads(tool.read("r.json"))["processes"][0]
    tool.check(result.stderr == "" and written["plain"]["allocations"] == 1, f"{result} {written['plain']}")
    site = written["sites"][0]
    tool.check(site["text"].startswith("main+0x") and len(site["frames"]) > 1, site)
    result = run(tool, "--report=r.txt", "--device=never", ALLOCATES)
    tool.check(result.stderr == "" and b"it was not wanted" in tool.read("r.txt"), tool.read("r.txt"))
    for option in ("--report", "--size-histogram"):
        tool.check("13.0 MiB" in run(tool, option, ALLOCATES).stderr, option)
    says(tool, run(tool, "--report=absent/r.txt", "touch", "touched"), 125, "absent/r.txt: No such file", "an unwritable report")
    tool.check(not os.path.exists(tool.path("touched")), "the program has run in vain")
    says(tool, run(tool, "--report=/dev/full", "true"), 125, "the report: No space", "a full report")
    tool.check(run(tool, "--report=/dev/full", "sh", "-c", "exit 4").returncode == 4, "a full report, status 4")


def leaves_nothing(tool):
    os.mkdir(tool.path("temporary"))
    for command in (["true"], ["absent-program"], ["sh", "-c", "kill -9 $$"]):
        run(tool, "--report", *command, environment={"TMPDIR": tool.path("temporary")})
        tool.check(os.listdir(tool.path("temporary")) == [], f"{command}: {os.listdir(tool.path('temporary'))}")
    says(tool, run(tool, "--report", "true", environment={"TMPDIR": tool.path("absent")}), 125, "absent/ferry-run", "no folder")
    # As for those who set LD_PRELOAD themselves: the records stay, and `ferry report` reads them.
    run(tool, "--backend=sim", ALLOCATES, environment={"FERRY_REPORT": tool.path("temporary")})
    told = tool.run("report", "temporary")
    tool.check(told.returncode == 0 and "13.0 MiB" in told.stdout, told)
    shutil.rmtree(tool.path("temporary"))


TRAPS = 'for s in TERM HUP USR1 USR2; do trap "echo got $s; exit 7" $s; done; trap "" INT QUIT; echo ready; while :; do sleep 0.02; done'


def signals(tool):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        with subprocess.Popen([tool.program, "run", "--report=r.txt", "sh", "-c", TRAPS], cwd=tool.folder, stdout=subprocess.PIPE,
                              text=True) as process:
            tool.check(process.stdout.readline() == "ready\n", "ready")
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGQUIT)
            process.send_signal(number)
            said = process.stdout.read()
        tool.check(said == f"got {number.name[3:]}\n" and process.returncode == 7, f"{number}: {said} {process.returncode}")


def inherited(tool):
    """The program finds signals as the command found them."""
    def lines(command, **options):
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tool.folder, **options)
        return [line for line in result.stdout.splitlines() if re.match("Sig(Ign|Blk|Cgt)", line)]

    def ignore_some():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    show = ["cat", "/proc/self/status"]
    for prepare in (None, ignore_some):
        plain = lines(show, preexec_fn=prepare)
        for options in ([], ["--report"]):
            tool.check(lines([tool.program, "run", *options, *show], preexec_fn=prepare) == plain, f"{options}: signals differ")
    result = subprocess.run([tool.program, "run", "--report", "sh", "-c", "exit 9"], stderr=subprocess.DEVNULL, preexec_fn=ignore_some)
    tool.check(result.returncode == 9, f"children ignored: {result.returncode}")


def changed(tool, name, change):
    """A copy of a program, changed as an ELF file."""
    with open(shutil.which("true"), "rb") as stream:
        content = bytearray(stream.read())
    change(content)
    with open(tool.path(name), "wb") as stream:
        stream.write(content)
    os.chmod(tool.path(name), 0o755)


def loader(content, replace):
    """The program header that names the loader, by its type; and the name."""
    offset, size, count = (int.from_bytes(content[at:at + n], "little") for at, n in ((32, 8), (54, 2), (56, 2)))
    for at in range(offset, offset + size * count, size):
        if int.from_bytes(content[at:at + 4], "little") == 3:
            replace(at, int.from_bytes(content[at + 8:at + 16], "little"))


def unloaded(tool):
    def static(content):
        loader(content, lambda at, name: content.__setitem__(slice(at, at + 4), bytes(4)))

    def other_library(content):
        loader(content, lambda at, name: content.__setitem__(slice(name, name + 14), b"/lib/ld-musl\0\0"))

    def other_machine(content):
        content[18] ^= 0x55

    changed(tool, "static", static)
    changed(tool, "musl", other_library)
    changed(tool, "foreign", other_machine)
    for name, reason in (("static", "is linked statically"), ("musl", "has another C library"), ("foreign", "is for another architecture")):
        result = run(tool, f"./{name}")
        line = f"ferry: ./{name} {reason}: it runs as if unpreloaded\n"
        tool.check(result.stderr.startswith(line), f"{name}: {result.stderr}")
    tool.write("script", f"#! {tool.path('static')} -x\n".encode())
    os.chmod(tool.path("script"), 0o755)
    tool.check(f"{tool.path('static')} is linked statically" in run(tool, "./script").stderr, "a script's interpreter")
    path = {"PATH": tool.folder + ":" + os.environ["PATH"]}
    tool.check(f"{tool.path('static')} is linked statically" in run(tool, "static", environment=path).stderr, "by PATH")
    tool.check(run(tool, "true").stderr == "", "a program like others")
    if os.geteuid() == 0:
        changed(tool, "setuid", lambda content: None)
        os.chown(tool.path("setuid"), 12345, 12345)
        os.chmod(tool.path("setuid"), 0o755 | stat.S_ISUID)
        tool.check("runs with another user's rights" in run(tool, "./setuid").stderr, "setuid")


def library(tool):
    says(tool, run(tool, "true", environment={"FERRY_PRELOAD": "absent.so"}), 125, r"FERRY_PRELOAD: absent\.so: No such", "absent")
    shutil.copy(PRELOAD, tool.path("a b.so"))
    says(tool, run(tool, "true", environment={"FERRY_PRELOAD": "a b.so"}), 125, "no path with a space", "a space")
    os.rename(tool.path("a b.so"), tool.path("own.so"))
    given = variables(run(tool, "env", environment={"FERRY_PRELOAD": "own.so"}).stdout)
    tool.check(given["LD_PRELOAD"] == os.path.realpath(tool.path("own.so")), given["LD_PRELOAD"])
    os.mkdir(tool.path("bin"))
    shutil.copy(tool.program, tool.path("bin/ferry"))
    result = subprocess.run([tool.path("bin/ferry"), "run", "true"], stderr=subprocess.PIPE, text=True)
    says(tool, result, 125, r"libferry-preload\.so is neither in", "no library beside the command")
    os.unlink(tool.path("bin/ferry"))


def check(tool):
    for name in [name for name in os.environ if name.startswith("FERRY_") and name != "FERRY_BACKEND"]:
        del os.environ[name]
    os.environ.pop("LD_PRELOAD", None)
    for story in (usage, environment, arguments, statuses, report, leaves_nothing, signals, inherited, unloaded, library):
        story(tool)


harness.main(check)
