#!/usr/bin/env python3
"""ferry, NumPy, CuPy, PyTorch, JAX, Numba and RMM in one process, doing the same work.

    peers.py [--json FILE] [--time SECONDS] [--elements N] [--part PART]... [--peer PEER]...

Ten ufuncs, copies and assignments of slices, reductions and a matrix product, each in two ways: *host to host*, where
the host has just written the operands and then reads one element of every page of the result; and *resident*, over and
over on operands that stay where the library wants them, the result left there. And arrays made by each. Libraries take
turns, medians with quartiles; every time beside what the machine allows, measured in the same run. Results are compared
with NumPy's: a wrong one voids its row, and the exit status is 1. Absent libraries are skipped, with what they said.

On the simulator ferry launches nothing, since it never pays there: its ufuncs are NumPy's loops then, on this machine's
clock, and stand for no device.
"""
import argparse
import importlib.util
import json
import os
import sys
import time
from dataclasses import dataclass, field
from statistics import geometric_mean
from typing import Any, Callable, Dict, List, Optional

import numpy as np

import ferry
import peer_libraries
from measuring import UFUNCS, Report, as_for, environment, equal, without_ferry
from peer_libraries import Peer
from peer_limits import Limits, measure_limits
from result_file import writable

PARTS = ["ufuncs", "slices", "reductions", "products", "creations"]
LEARNING, LEAST, MOST = 2, 3, 15
PAGE_BYTES = 4096


@dataclass
class Work:
    """What is called, what is to be done before it, and how its result becomes the host's array."""
    before: Callable[[], None]
    call: Callable[[], Any]
    result: Callable[[Any], np.ndarray]


@dataclass
class Entry:
    """One library in one case: its times, or why it has none."""
    peer: Peer
    work: Optional[Work] = None
    ms: List[float] = field(default_factory=list)
    problem: Optional[str] = None

    def attempt(self, what: Callable[[], Any]) -> Any:
        """What it returns. A library that cannot do it is left out of the case; of ferry and NumPy that is an error."""
        try:
            with as_for(self.peer.name), self.peer.scope():
                return what()
        except Exception as error:  # noqa: B902: each library has errors of its own
            if isinstance(self.peer, peer_libraries.Ferry) or type(self.peer) is Peer:
                raise
            self.problem = f"{type(error).__name__}: {error}".split("\n")[0]
            return None


class Run:
    """What a run has found, and how much time is left for what."""

    def __init__(self, peers: List[Peer], limits: Limits, seconds: float) -> None:
        self.peers, self.limits, self.report = peers, limits, Report()
        self.ends = time.monotonic() + seconds
        self.cases_left = 0
        self.left_out: List[Dict[str, str]] = []

    def share_of_time(self) -> float:
        """Seconds for the next case."""
        return (self.ends - time.monotonic()) / max(1, self.cases_left)


def load_cases() -> Any:
    """The cases' file, read anew, so that its lines are places of their own in the program."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_cases.py")
    spec = importlib.util.spec_from_file_location("peer_cases", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["peer_cases"] = module
    spec.loader.exec_module(module)
    return module


def host_to_host(peer: Peer, operation: Any) -> Work:
    """From arrays that the host has just written to a result that it has looked at, page by page."""
    arrays = [peer.host_like(x) for x in operation.inputs]
    sinks: Dict[int, np.ndarray] = {}

    def write() -> None:
        for array, x in zip(arrays, operation.inputs):
            np.copyto(array, x)

    def call() -> np.ndarray:
        result = peer.take(operation.apply(peer.xp, *[peer.give(x) for x in arrays]))
        pages = result.reshape(-1)[::max(1, PAGE_BYTES // result.itemsize)]
        np.copyto(sinks.setdefault(pages.size, np.empty(pages.shape, pages.dtype)), pages)
        return result

    return Work(write, call, lambda result: result)


def resident(peer: Peer, operation: Any) -> Work:
    """Operands and result stay where the library has them."""
    operands = [peer.give(peer.host_like(x)) for x in operation.inputs]

    def call() -> Any:
        result = operation.apply(peer.xp, *operands)
        peer.wait(result)
        return result

    return Work(lambda: None, call, peer.take)


def take_turn(entry: Entry, measured: bool) -> Any:
    """One timed call."""
    work = entry.work
    assert work is not None
    work.before()

    def timed() -> Any:
        begun = time.perf_counter()
        result = work.call()
        ms = (time.perf_counter() - begun) * 1e3
        if measured:
            entry.ms.append(ms)
        return result

    return entry.attempt(timed)


def take_turns(entries: List[Entry], seconds: float) -> Dict[str, np.ndarray]:
    """Learning, then measured turns until the time is up, three at least. The last results, as the host's arrays."""
    ends, turn, results = time.monotonic() + seconds, 0, {}
    while turn < LEARNING + LEAST or (turn < LEARNING + MOST and time.monotonic() < ends):
        results.clear()
        for entry in entries:
            if entry.problem is None:
                results[entry.peer.name] = take_turn(entry, turn >= LEARNING)
        turn += 1
    return {entry.peer.name: entry.attempt(lambda: np.asarray(entry.work.result(results[entry.peer.name])))
            for entry in entries if entry.problem is None}


def expected(operation: Any) -> np.ndarray:
    with without_ferry():
        return np.asarray(operation.apply(np, *[x.copy() for x in operation.inputs]))


def right(operation: Any, got: np.ndarray, want: np.ndarray) -> bool:
    if operation.units is None:
        return got.shape == want.shape and got.dtype == want.dtype
    return equal(got, want, operation.units)


def measure(run: Run, name: str, operation: Any, way: Callable[[Peer, Any], Work]) -> None:
    """One case of all libraries."""
    seconds = run.share_of_time()
    run.cases_left -= 1
    if seconds <= 0:
        run.left_out.append({"case": name, "strategy": "all", "why": "no time left"})
        return
    entries = [Entry(peer) for peer in run.peers]
    for entry in entries:
        entry.work = entry.attempt(lambda: way(entry.peer, operation))
    results, want = take_turns(entries, seconds), expected(operation)
    told = []
    for entry in entries:
        peer = entry.peer
        if entry.problem is not None:
            run.left_out.append({"case": name, "strategy": peer.name, "why": entry.problem})
        elif not right(operation, results[peer.name], want):
            run.report.void(name, peer.name, operation.nbytes, "another result than NumPy's")
            told.append(f"{peer.name} WRONG")
        else:
            limit_ms = run.limits.of(operation, way is host_to_host, peer.on_device)
            median = run.report.case(name, peer.name, operation.nbytes, entry.ms, limit_ms)
            told.append(f"{peer.name} {median:.3f}" + (f" ({limit_ms / median:.2f})" if limit_ms is not None else ""))
    print(f"  {name}: " + "  ".join(told), flush=True)


def measure_all(run: Run, parts: List[str], elements: int, save: Callable[[], None]) -> None:
    read, left = load_cases(), load_cases()
    work = []
    for part in parts:
        ways = [(read, host_to_host, ", host to host"), (left, resident, ", resident")]
        for cases, way, suffix in ways if part != "creations" else ways[1:]:
            operations = (cases.creations if part == "creations" else cases.BOTH_WAYS[part])(elements)
            work += [(operation, way, ", made" if part == "creations" else suffix) for operation in operations]
    run.cases_left = len(work)
    while work:
        operation, way, suffix = work.pop(0)
        measure(run, operation.name + suffix, operation, way)
        save()


def summarise(run: Run) -> None:
    """Geometric means over the ten ufuncs."""
    medians = {(row["case"], row["strategy"]): row["median_ms"] for row in run.report.cases if "median_ms" in row}
    for suffix in ("host to host", "resident"):
        for dtype in ("float64", "float32"):
            cases = [f"{name} of {dtype}, {suffix}" for name in UFUNCS]
            means = {peer.name: geometric_mean([medians[case, peer.name] for case in cases]) for peer in run.peers
                     if all((case, peer.name) in medians for case in cases)}
            if means:
                print(f"ten ufuncs of {dtype}, {suffix}, ms, geometric mean: "
                      + "  ".join(f"{name} {ms:.3f}" for name, ms in means.items()), flush=True)


def by_reason(left_out: List[Dict[str, str]]) -> Dict[Any, List[str]]:
    reasons: Dict[Any, List[str]] = {}
    for row in left_out:
        reasons.setdefault((row["strategy"], row["why"]), []).append(row["case"])
    return reasons


def arguments(given: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=writable)
    parser.add_argument("--time", type=float, default=100, help="seconds in all, about (default %(default)s)")
    parser.add_argument("--elements", type=int, default=10_000_000, help="of an array (default 10,000,000)")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--peer", action="append", choices=[make.name for make in peer_libraries.PEERS])
    return parser.parse_args(given)


def main(given: Optional[List[str]] = None) -> int:
    options = arguments(given)
    begun = time.monotonic()
    ferry.install()
    peers, skipped = peer_libraries.found(options.peer)
    for name, why in skipped.items():
        print(f"skipped: {name}: {why}", flush=True)
    cupy = next((peer.xp for peer in peers if isinstance(peer, peer_libraries.CuPy)), None)
    limits = measure_limits(cupy)
    print("limits: " + "  ".join(f"{name} {value:.4g}" if isinstance(value, float) else value
                                 for name, value in limits.facts().items()), flush=True)
    facts = environment(cupy)
    if facts["backend"] == "sim":
        print("on the simulator: ferry's ufuncs are NumPy's loops here, and no time stands for a device", flush=True)
    run = Run(peers, limits, options.time - (time.monotonic() - begun))
    facts.update(clock="real", peers={peer.name: version(peer) for peer in peers}, skipped=skipped,
                 limits=limits.facts())
    measure_all(run, options.part or PARTS, options.elements, lambda: save(options.json, facts, run))
    summarise(run)
    for (strategy, why), cases in by_reason(run.left_out).items():
        print(f"left out: {strategy}: {why}: {'; '.join(cases)}", flush=True)
    wrong = [row for row in run.report.cases if row.get("valid") is False]
    return 1 if wrong or not run.report.cases else 0


def save(path: Optional[str], facts: Dict[str, Any], run: Run) -> None:
    """After every case: a library that ends the process, or a limit of time, must not take the others' times along."""
    if path is None:
        return
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"suite": "peers", **facts, "cases_left": run.cases_left, "left_out": run.left_out,
                   "cases": run.report.cases}, file, indent=1)
        file.write("\n")


def version(peer: Peer) -> str:
    """Of the package that the peer's functions are from."""
    package = "ferry" if isinstance(peer, peer_libraries.Ferry) else peer.name.split(",")[0].replace("pytorch", "torch")
    return str(getattr(sys.modules.get(package), "__version__", ""))


if __name__ == "__main__":
    sys.exit(main())
