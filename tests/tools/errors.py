"""Bad input gets a sentence that names the file and the reason, an exit status, and leaves nothing behind."""
import os
import re
import resource
import struct
import subprocess

import harness
import numpy as np


def npy(descr, shape, data=b"", version=1):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


FILES = {
    "good.npy": harness.saved(np.arange(1.0, 1001.0)),
    "other.npy": harness.saved(np.arange(1.0, 8.0)),
    "large.npy": harness.saved(np.ones(1 << 20)),
    "empty.npy": b"",
    "text.npy": b"1.0, 2.0, 3.0\n",
    "archive.npy": b"PK\x03\x04" + b"\0" * 26,
    "header.npy": harness.saved(np.arange(10.0))[:50],
    "data.npy": harness.saved(np.arange(10.0))[:-1],
    "version.npy": b"\x93NUMPY\x09\x00" + harness.saved(np.arange(10.0))[8:],
    "object.npy": npy("'|O'", "(3,)", b"\0" * 24),
    "structured.npy": harness.saved(np.zeros(3, [("a", "f8"), ("b", "i4")])),
    "dates.npy": harness.saved(np.zeros(3, "M8[s]")),
    "words.npy": harness.saved(np.array(["a", "bc"])),
    "overflow.npy": npy("'<f8'", "(4294967296, 4294967296)"),
    "overflow0.npy": npy("'<f8'", "(0, 4294967296, 4294967296)"),
    "giant.npy": npy("'<f8'", "(1000000000000,)", b"\0" * 64),
    "complex.npy": harness.saved(np.ones(3, "c16")),
    "grammar.npy": npy("<f8", "(3,)", b"\0" * 24),
}

# Arguments after "apply", exit status, what the message must say (a regular expression).
CASES = [
    ("log absent.npy -o y.npy", 1, r"absent\.npy: .*No such file"),
    ("log . -o y.npy", 1, r"\.: .*directory"),
    ("log empty.npy -o y.npy", 1, r"empty\.npy: not a \.npy file: it is empty"),
    ("log text.npy -o y.npy", 1, r"text\.npy: not a \.npy file"),
    ("log archive.npy -o y.npy", 1, r"archive\.npy: .*\.npz"),
    ("log header.npy -o y.npy", 1, r"header\.npy: the file ends inside the header"),
    ("log data.npy -o y.npy", 1, r"data\.npy: the data is truncated: .*80.*79"),
    ("log version.npy -o y.npy", 1, r"version\.npy: version 9\.0"),
    ("log object.npy -o y.npy", 1, r"object\.npy: .*Python objects"),
    ("log structured.npy -o y.npy", 1, r"structured\.npy: .*structured"),
    ("log dates.npy -o y.npy", 1, r"dates\.npy: .*dates.*M8\[s\]"),
    ("log words.npy -o y.npy", 1, r"words\.npy: .*Unicode"),
    ("log overflow.npy -o y.npy", 1, r"overflow\.npy: .*overflow"),
    ("log overflow0.npy -o y.npy", 1, r"overflow0\.npy: .*overflow"),
    ("log giant.npy -o y.npy", 1, r"giant\.npy: .*truncated"),
    ("log grammar.npy -o y.npy", 1, r"grammar\.npy: the header is malformed"),
    ("invert good.npy -o y.npy", 1, r"good\.npy: .*invert.*float64"),
    ("log complex.npy -o y.npy", 1, r"complex\.npy: .*log.*complex128"),
    ("add good.npy other.npy -o y.npy", 1, r"good\.npy, other\.npy: .*1000.*7"),
    ("add good.npy absent.npy -o y.npy", 1, r"absent\.npy: .*No such file"),
    ("log good.npy -o absent/y.npy", 1, r"absent/y\.npy: .*No such file"),
    ("log good.npy -o .", 1, r"\.: .*directory"),
    ("log good.npy -o good.npy/y.npy", 1, r"good\.npy/y\.npy: .*Not a directory"),
    ("log good.npy -o /dev/full", 1, r"/dev/full: .*No space left"),
    ("log good.npy -o y.npy --backend cuda", 1, r"cuda|CUDA|device|driver"),
    ("lgo good.npy -o y.npy", 2, r"unknown operation 'lgo': did you mean 'log'\?"),
    ("abs good.npy -o y.npy", 2, r"unknown operation 'abs': did you mean 'absolute'\?"),
    ("frobnicate good.npy -o y.npy", 2, r"unknown operation 'frobnicate': 'ferry apply --list'"),
    ("log good.npy other.npy -o y.npy", 2, r"log takes one file, 2 given"),
    ("add good.npy -o y.npy", 2, r"add takes two files, 1 given"),
    ("log -o y.npy", 2, r"log takes one file, 0 given"),
    ("-o y.npy", 2, r"operation and a file are missing"),
    ("log good.npy", 2, r"-o OUT\.npy"),
    ("log good.npy -o", 2, r"--output needs a value"),
    ("log good.npy -o y.npy -o z.npy", 2, r"--output is given twice"),
    ("log good.npy -o y.npy --backend opencl", 2, r"unknown backend 'opencl': auto, cuda and sim"),
    ("log good.npy -o y.npy --policy fetch", 2, r"unknown policy 'fetch': auto, prefetch, remote and none"),
    ("log good.npy -o y.npy --report=xml", 2, r"unknown form of report 'xml'"),
    ("log good.npy -o y.npy --reprot", 2, r"unknown option '--reprot'"),
    ("log good.npy -o y.npy --list=all", 2, r"--list takes no value"),
    ("log good.npy -o /dev/stdout --report", 2, r"cannot both go to standard output"),
]


def listing(tool):
    return {name: tool.read(name) for name in os.listdir(tool.folder) if os.path.isfile(tool.path(name))}


def refused(tool, what, status, pattern, before, result):
    message = result.stderr
    tool.check(result.returncode == status, f"{what}: exit status {result.returncode}, not {status}: {message}")
    tool.check(message.startswith("ferry: ") and message.endswith("\n"), f"{what}: the message is {message!r}")
    tool.check(len(message.splitlines()) == (2 if status == 2 else 1), f"{what}: the message is {message!r}")
    tool.check(re.search(pattern, message), f"{what}: {message!r} does not say {pattern}")
    tool.check(result.stdout == "", f"{what}: printed {result.stdout!r}")
    after = listing(tool)
    tool.check(after == before, f"{what}: the folder has changed: {sorted(set(after) ^ set(before))}")


def command_lines(tool, before):
    has_device = tool.run("info", "--backend", "cuda").returncode == 0
    for arguments, status, pattern in CASES:
        if not (has_device and "--backend cuda" in arguments):
            refused(tool, arguments, status, pattern, before, tool.run("apply", *arguments.split()))


def other_commands(tool, before):
    for arguments, pattern in [("", "a command is missing"), ("aply", "unknown command 'aply': did you mean 'apply'"),
                               ("--verbose", "unknown option '--verbose'"), ("info extra", "unexpected argument 'extra'"),
                               ("calibrate extra", "unexpected argument 'extra'"),
                               ("calibrat", "unknown command 'calibrat': did you mean 'calibrate'"),
                               ("info --jsn", "unknown option '--jsn'")]:
        refused(tool, arguments, 2, pattern, before, tool.run(*arguments.split()))


def run_limited(tool, target, content, limit_bytes):
    """
    The limit comes into force once the first half of the input is read: the simulator's memory is a file too, and must be there by
    then.
    """
    os.mkfifo(tool.path("pipe"))
    process = subprocess.Popen([tool.program, "apply", "log", "pipe", "-o", target], cwd=tool.folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with open(tool.path("pipe"), "wb") as stream:
        stream.write(content[: len(content) // 2])
        stream.flush()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY))
        stream.write(content[len(content) // 2 :])
    stdout, stderr = process.communicate()
    os.unlink(tool.path("pipe"))
    return subprocess.CompletedProcess([], process.returncode, stdout, stderr)


def file_size_limit(tool, before):
    """A disk that fills up half way: the new file vanishes, an old one stays as it was."""
    for target in ("y.npy", "good.npy"):
        result = run_limited(tool, target, FILES["large.npy"], 100000)
        refused(tool, f"file size limit, {target}", 1, re.escape(target) + r": .*(File too large|No space)", before, result)


def memory_limit(tool, before):
    for limit, name in (("4M", "large.npy"), ("12M", "y.npy")):  # the input does not fit; the output does not
        result = tool.run("apply", "log", "large.npy", "-o", "y.npy", environment={"FERRY_LIMIT": limit})
        refused(tool, f"FERRY_LIMIT={limit}", 1, re.escape(name) + r": .*FERRY_LIMIT", before, result)


def without_permission(tool, before):
    """Root may write anywhere but where the kernel itself refuses."""
    if os.geteuid() == 0:
        if os.path.isdir("/sys/kernel"):
            result = tool.run("apply", "log", "good.npy", "-o", "/sys/kernel/y.npy")
            refused(tool, "/sys/kernel", 1, r"/sys/kernel/y\.npy: cannot be written", before, result)
        return
    os.mkdir(tool.path("locked"), 0o500)
    result = tool.run("apply", "log", "good.npy", "-o", "locked/y.npy")
    refused(tool, "a locked folder", 1, r"locked/y\.npy: .*Permission denied", before, result)
    os.rmdir(tool.path("locked"))
    os.chmod(tool.path("other.npy"), 0o400)
    result = tool.run("apply", "log", "good.npy", "-o", "other.npy")
    refused(tool, "a write-protected file", 1, r"other\.npy: .*Permission denied", before, result)


def lost_output(tool):
    """A report that cannot be printed is a failure too."""
    with open("/dev/full", "w") as full:
        for arguments in (["info"], ["calibrate"], ["apply", "--list"], ["--version"], ["--help"],
                          ["apply", "log", "good.npy", "-o", "y.npy", "--report"]):
            result = subprocess.run([tool.program, *arguments], cwd=tool.folder, stdout=full, stderr=subprocess.PIPE, text=True)
            tool.check(result.returncode == 1 and "standard output" in result.stderr, f"{arguments} into a full device")


def help_and_version(tool):
    for arguments in (["--help"], ["-h"], ["apply", "--help"], ["info", "--help"], ["calibrate", "--help"], ["apply", "-h"]):
        result = tool.run(*arguments)
        tool.check(result.returncode == 0 and "Usage: ferry" in result.stdout and not result.stderr, f"{arguments}")
    result = tool.run("--version")
    tool.check(re.fullmatch(r"ferry \d+\.\d+\.\d+\n", result.stdout), f"--version: {result.stdout!r}")


def check(tool):
    for name, content in FILES.items():
        tool.write(name, content)
    before = listing(tool)
    command_lines(tool, before)
    other_commands(tool, before)
    file_size_limit(tool, before)
    memory_limit(tool, before)
    without_permission(tool, before)
    lost_output(tool)
    help_and_version(tool)


harness.main(check)
