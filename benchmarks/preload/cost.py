#!/usr/bin/env python3
"""What the preload library costs programs that allocate, and its start-up.

    cost.py --library LIBRARY --patterns PROGRAM [--json FILE] [--check] [--commit COMMIT] [--only PATTERN]...
            [--runs N] [--scale N] [--clock wall|cpu] [--starts N] [--count PATTERN]...

Runs each allocation pattern (patterns.c) under glibc, stock jemalloc, mimalloc and the library, the latter without a
device and with and without a record; the allocators' runs alternate, medians count. Then what it adds to the start and
end of a process that allocates little. `--check` makes figures that miss their limits an error. `--clock cpu` compares
the processes' own times, which bear other work on the machine; an allocator that is not there is left out. `--count`
counts a pattern's instructions too, by valgrind's callgrind, a minute or two for each allocator: no other work and no
layout of memory changes them, but those of several threads' patterns.
"""
import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, NamedTuple

PATTERNS = "factorise servers batches mixed handover fill".split()
# In every turn other blocks are the ones in use: one allocator's tables may lie so, or so, beside them in the caches.
SHIFT, SHIFT_MOST = 37, 101
TIME_LIMIT, PEAK_LIMIT, FILL_LIMIT, START_LIMIT_MS = 1.03, 1.05, 2.0, 3.0


class Run(NamedTuple):
    wall_ms: float
    cpu_ms: float
    out: List[bytes]  # its words


def run(command: List[str], environment: Dict[str, str]) -> Run:
    """A process's times and what it prints."""
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        actions = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1)]
        pid = os.posix_spawnp(command[0], command, environment, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - began
        if status != 0:
            raise RuntimeError(f"{command} ended with {status}")
        out.seek(0)
        return Run(wall * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3, out.read().split())


def count(command: List[str], environment: Dict[str, str]) -> int:
    """A process's instructions."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
                          env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    found = re.search(rb"Collected : (\d+)", done.stderr)
    if not found:
        raise RuntimeError("callgrind does not say what it has counted")
    return int(found.group(1))


def find_library(name: str) -> str:
    """Where the loader finds it; empty where it does not."""
    multiarch = [f"/usr/lib/{machine}-linux-gnu" for machine in ("x86_64", "aarch64")]
    for folder in multiarch + ["/usr/lib64", "/usr/lib", "/usr/local/lib"]:
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return ""


def allocators(library: str, records: str) -> Dict[str, Dict[str, str]]:
    """The environment of each."""
    others = ("FERRY_", "LD_PRELOAD", "MALLOC_")
    own = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    ferry = {**own, "LD_PRELOAD": library, "FERRY_RUN_DEVICE": "never"}
    found = {"glibc": own}
    for name, soname in (("jemalloc", "libjemalloc.so.2"), ("mimalloc", "libmimalloc.so.2")):
        if find_library(soname):
            found[name] = {**own, "LD_PRELOAD": find_library(soname)}
        else:
            print(f"there is no {soname}: {name} is left out", flush=True)
    return {**found, "ferry": ferry, "ferry with a record": {**ferry, "FERRY_REPORT": records}}


class Report:
    """The cases and checks of a run."""

    def __init__(self, clock: str) -> None:
        self.clock = clock
        self.cases: List[Dict[str, Any]] = []
        self.checks: List[Dict[str, Any]] = []

    def case(self, case: str, strategy: str, runs: List[Run]) -> Dict[str, Any]:
        times = [getattr(one, f"{self.clock}_ms") for one in runs]
        entry = {"case": case, "strategy": strategy, "bytes": 0, "runs": len(runs), "clock": self.clock,
                 "median_ms": statistics.median(times), "min_ms": min(times), "max_ms": max(times)}
        if runs[0].out:
            entry["peak_bytes"] = statistics.median_high(int(one.out[1]) * 1024 for one in runs)
        self.cases.append(entry)
        return entry

    def check(self, name: str, figure: float, holds: bool, limit: str) -> None:
        self.checks.append({"check": name, "figure": figure, "limit": limit, "holds": holds})
        print(f"{'holds' if holds else 'FAILS'}  {name}: {figure:.3f} ({limit})", flush=True)

    def at_most(self, name: str, figure: float, limit: float) -> None:
        self.check(name, figure, figure <= limit, f"at most {limit:g}")


def compare(report: Report, pattern: str, entries: Dict[str, Dict[str, Any]]) -> None:
    stock = entries.get("jemalloc")
    for name, entry in entries.items():
        ratios = ""
        if stock is not None:
            ratios = (f", {entry['median_ms'] / stock['median_ms']:6.3f} in time and "
                      f"{entry['peak_bytes'] / stock['peak_bytes']:6.3f} in memory of jemalloc")
        print(f"{pattern:10} {name:20} {entry['median_ms']:9.1f} ms, {entry['peak_bytes'] / 2**20:7.1f} MiB{ratios}",
              flush=True)
    if stock is not None:
        for name in ("ferry", "ferry with a record"):
            report.at_most(f"{pattern}, {name}, time over jemalloc's",
                           entries[name]["median_ms"] / stock["median_ms"], TIME_LIMIT)
            report.at_most(f"{pattern}, {name}, peak over jemalloc's",
                           entries[name]["peak_bytes"] / stock["peak_bytes"], PEAK_LIMIT)
    if pattern == "fill":
        times = entries["glibc"]["median_ms"] / entries["ferry"]["median_ms"]
        report.check("fill, times as fast as glibc", times, times >= FILL_LIMIT, f"at least {FILL_LIMIT:g}")


def count_instructions(report: Report, pattern: str, entries: Dict[str, Dict[str, Any]], command: List[str],
                       environments: Dict[str, Dict[str, str]]) -> None:
    for name, entry in entries.items():
        entry["instructions"] = count(command, environments[name])
        print(f"{pattern:10} {name:20} {entry['instructions']:14,} instructions", flush=True)
    if "jemalloc" in entries:
        for name in ("ferry", "ferry with a record"):
            report.at_most(f"{pattern}, {name}, instructions over jemalloc's",
                           entries[name]["instructions"] / entries["jemalloc"]["instructions"], TIME_LIMIT)


def measure_pattern(report: Report, pattern: str, environments: Dict[str, Dict[str, str]],
                    options: argparse.Namespace) -> None:
    command = [options.patterns, pattern, str(options.scale)]
    runs: Dict[str, List[Run]] = {name: [] for name in environments}
    for turn in range(options.runs):
        for name, environment in environments.items():
            runs[name].append(run([*command, str(turn * SHIFT % SHIFT_MOST)], environment))
    if len({one.out[0] for some in runs.values() for one in some}) != 1:
        raise RuntimeError(f"{pattern}: the checksums differ")
    entries = {name: report.case(pattern, name, some) for name, some in runs.items()}
    compare(report, pattern, entries)
    if pattern in (options.count or []):
        count_instructions(report, pattern, entries, command, environments)


def measure_start(report: Report, environments: Dict[str, Dict[str, str]], starts: int) -> None:
    """Of a process that does nothing; a start is too short for the clock of a process's own time."""
    runs: Dict[str, List[Run]] = {name: [] for name in environments}
    for _ in range(starts):
        for name, environment in environments.items():
            runs[name].append(run(["true"], environment))
    report.clock, clock = "wall", report.clock
    entries = {name: report.case("start", name, some) for name, some in runs.items()}
    report.clock = clock
    for name, entry in entries.items():
        print(f"start      {name:20} {entry['median_ms']:9.3f} ms", flush=True)
        if name.startswith("ferry"):
            report.at_most(f"start, {name}, ms over glibc's", entry["median_ms"] - entries["glibc"]["median_ms"],
                           START_LIMIT_MS)


def processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True, type=os.path.abspath)
    parser.add_argument("--patterns", required=True, type=os.path.abspath)
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--commit", default="")
    parser.add_argument("--only", action="append", choices=PATTERNS + ["start"])
    parser.add_argument("--count", action="append", choices=PATTERNS)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--starts", type=int, default=200)
    options = parser.parse_args()
    report = Report(options.clock)
    with tempfile.TemporaryDirectory() as records:
        environments = allocators(options.library, records)
        for pattern in PATTERNS:
            if pattern in (options.only or PATTERNS):
                measure_pattern(report, pattern, environments, options)
        if "start" in (options.only or ["start"]):
            measure_start(report, environments, options.starts)
        if not os.listdir(records):
            print("the library made no record: it was not loaded")
            return 1
    if options.json:
        result = {"device": "none", "driver": "", "cuda": "", "cpu": processor(),
                  "date": datetime.date.today().isoformat(), "commit": options.commit, "cases": report.cases,
                  "checks": report.checks}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    return 1 if options.check and not all(check["holds"] for check in report.checks) else 0


if __name__ == "__main__":
    sys.exit(main())
