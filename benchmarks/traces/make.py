#!/usr/bin/env python3
"""Records what a program allocates as a trace that `ferry bench alloc` replays.

    make.py --recorder LIBRARY --out FILE [--least BYTES] [--text TEXT] -- PROGRAM ARGUMENT...

LIBRARY is libbench-record.so of the build (record.c). Blocks of fewer bytes than `--least` are left out. A trace is text: lines
that begin with # say what it is; +BYTES allocates a block; -K frees the K-th last of the blocks allocated so far. What
the program left is freed by whoever replays it.
"""
import argparse
import array
import os
import subprocess
import sys
import tempfile
from typing import Dict, Iterator, List

ALLOCATED, FREED = 0, 1


def events(path: str) -> Iterator[List[int]]:
    """What happened, the address, the bytes."""
    words = array.array("Q")
    with open(path, "rb") as stream:
        words.frombytes(stream.read())
    for at in range(0, len(words), 3):
        yield words[at:at + 3].tolist()


def record(recorder: str, program: List[str], path: str) -> None:
    environment = {**os.environ, "LD_PRELOAD": os.path.abspath(recorder), "FERRY_TRACE_FILE": path}
    subprocess.run(program, env=environment, check=True, stdout=subprocess.DEVNULL)


def trace(path: str, least: int) -> Iterator[str]:
    live: Dict[int, int] = {}  # address: the block's number
    allocated = 0
    for what, address, size in events(path):
        if what == ALLOCATED and size >= least:
            live[address] = allocated
            allocated += 1
            yield f"+{size}"
        elif what == FREED and address in live:
            yield f"-{allocated - live.pop(address)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorder", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--least", type=int, default=1)
    parser.add_argument("--text", default="")
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "events")
        record(arguments.recorder, arguments.program, path)
        lines = list(trace(path, arguments.least))
    if not lines:
        sys.exit(f"{arguments.program[0]} allocated no block of {arguments.least} bytes")
    with open(arguments.out, "w") as out:
        if arguments.text:
            out.write(f"# {arguments.text}\n")
        out.write(f"# Blocks of {arguments.least} bytes and more, recorded by benchmarks/traces/make.py.\n")
        out.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
