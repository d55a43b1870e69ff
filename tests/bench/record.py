"""make.py: what a program allocated, in order.    record.py MAKE RECORDER"""
import os
import subprocess
import sys
import tempfile

MAKE, RECORDER = sys.argv[1:3]
PROGRAM = """
a = bytearray(10_000_000)
b = bytearray(20_000_000)
del a
c = bytearray(30_000_000)
del c
"""
failures = []


def make(path, least):
    return subprocess.run([sys.executable, "-B", MAKE, "--recorder", RECORDER, "--out", path, "--least", str(least),
                           "--text", "three arrays", "--", sys.executable, "-c", PROGRAM],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check(holds, message):
    if not holds:
        failures.append(message)
        print("FAILED:", message)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "arrays.trace")
    result = make(path, 5_000_000)
    check(result.returncode == 0, f"{result.returncode} {result.stderr}")
    lines = open(path).read().splitlines()
    check(lines[0] == "# three arrays" and lines[1].startswith("# Blocks of 5000000 bytes and more"), lines[:2])
    events = lines[2:]
    sizes = [int(line[1:]) for line in events if line[0] == "+"]
    check([size // 10_000 for size in sizes] == [1000, 2000, 3000], sizes)
    check([line if line[0] == "-" else "+" for line in events] == ["+", "+", "-2", "+", "-1", "-2"], events)
    result = make(path, 1 << 40)
    check(result.returncode == 1 and "allocated no block" in result.stderr, f"{result.returncode} {result.stderr}")
sys.exit(1 if failures else 0)
