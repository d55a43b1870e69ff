#!/usr/bin/env python3
"""Real programs, plain and under the preload library: their results are the same.

    programs.py LIBRARY [--full] [--only PROGRAM]... [--setting SETTING]... [--source FOLDER] [--seconds N]

Each program runs plain first, then in each setting: without a device, and in every process with one (a simulated one)
at three thresholds, a fork's child having a copy of its parent's memory. What it makes and prints must be the same, to
the byte; of a test suite, what passes and what fails. `--full` adds those that take minutes: Python's and NumPy's own
test suites (in the interpreters that TEST_PYTHON and FERRY_PYTHON name), Redis under its benchmark, and stress-ng for
`--seconds`. Programs that are not there are named and left out; with none left the status is 77.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, Optional

import small
import suites
from runner import Absent, Outcome, Program, Runner

SIMULATED = {"FERRY_BACKEND": "sim", "FERRY_FORK": "snapshot"}
SETTINGS: Dict[str, Dict[str, str]] = {
    "no-device": {},
    "1M": {**SIMULATED, "FERRY_THRESHOLD": "1M"},
    "4K": {**SIMULATED, "FERRY_THRESHOLD": "4K"},
    "0": {**SIMULATED, "FERRY_THRESHOLD": "0"},
}


def own_environment() -> Dict[str, str]:
    """The same for every run, and nothing of ferry's in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FERRY_", "LD_PRELOAD", "GIT_"))}
    return {**kept, "LC_ALL": "C.UTF-8", "TZ": "UTC", "PERL_HASH_SEED": "0", "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1"}


def takes_effect(library: str, environment: Dict[str, str]) -> bool:
    """The loader goes on without a library that it cannot load: a record says that this one was there."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["true"], env={**environment, "LD_PRELOAD": library, "FERRY_REPORT": folder}, check=True)
        return len(os.listdir(folder)) == 1


def differences(plain: Outcome, other: Outcome) -> List[str]:
    found = []
    for name in sorted(plain.keys() | other.keys()):
        if plain.get(name) != other.get(name):
            found.append(f"    {name}: {str(plain.get(name))[-600:]}\n    preloaded: {str(other.get(name))[-600:]}")
    return found


def run_one(program: Program, scratch: pathlib.Path, environment: Dict[str, str],
            options: argparse.Namespace) -> Outcome:
    """In a folder that has the same name every time: it is part of what programs print."""
    folder = scratch / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return program(Runner(folder, environment, options.source, options.full, options.seconds))


def compare(name: str, program: Program, options: argparse.Namespace) -> Optional[bool]:
    """Whether every setting's outcome is the plain one; None: the program is not there."""
    environment = own_environment()
    same = True
    with tempfile.TemporaryDirectory() as scratch:
        began = time.monotonic()
        try:
            plain = run_one(program, pathlib.Path(scratch), environment, options)
        except Absent as absent:
            print(f"left out  {name}: there is no {absent}", flush=True)
            return None
        print(f"plain     {name}: {plain['summary']}; {time.monotonic() - began:.1f} s", flush=True)
        for setting in options.setting:
            preloaded = {**environment, **SETTINGS[setting], "LD_PRELOAD": options.library}
            began = time.monotonic()
            found = differences(plain, run_one(program, pathlib.Path(scratch), preloaded, options))
            same = same and not found
            print(f"{'DIFFERS' if found else 'same':9} {name}, {setting}; {time.monotonic() - began:.1f} s", *found,
                  sep="\n", flush=True)
    return same


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=os.path.abspath)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", action="append")
    parser.add_argument("--setting", action="append", choices=SETTINGS)
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    options.setting = options.setting or list(SETTINGS)
    programs = {**small.PROGRAMS, **(suites.PROGRAMS if options.full else {})}
    if not takes_effect(options.library, own_environment()):
        print(f"{options.library} is not loaded, or makes no record")
        return 1
    results = [compare(name, programs[name], options) for name in options.only or programs]
    if all(result is None for result in results):
        return 77
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
