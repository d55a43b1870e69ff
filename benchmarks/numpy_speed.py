#!/usr/bin/env python3
"""Unmodified NumPy under ferry.install(), against NumPy and CuPy.

    numpy_speed.py [--json FILE] [--check] [--part PART]... [--elements N]

In one process, strategies interleaved, medians: ten ufuncs on arrays that live on the host, fresh results and given
ones; a chain of seven; every size from 10 to 10^8; filling an array from an ordinary one; what small calls cost; and what
crossed. Results are compared with NumPy's: a wrong one fails its check. `--check` makes figures that miss their limits
an error. Without CuPy, or a device, the comparisons with it are left out. Managed memory stays under 4 GiB.
"""
import argparse
import json
import os
import statistics
import sys
import time
from statistics import geometric_mean
from typing import Any, Dict, List

import numpy as np

import ferry
from measuring import (
    UFUNCS, Call, Report, as_for, environment, equal, interleaved, ordinary, random_like, without_ferry)
from result_file import writable

try:
    import cupy as cp
    import cupyx
    cp.cuda.runtime.getDeviceCount()
except Exception:  # no CuPy, or no device for it
    cp = None

PARTS = "ufuncs chain sizes fill small crossings".split()


def compared(calls: Dict[str, Call], runs: int, inner: int, limit: float) -> Dict[str, List[float]]:
    """Times of "ferry" and "numpy"; where their medians' ratio is over the limit they are taken thrice as often, and all
    of them count: among dozens of cases one is off by a twentieth in every run, another one each time."""
    times: Dict[str, List[float]] = {name: [] for name in calls}
    for _ in range(3):
        for name, more in interleaved(calls, runs, inner).items():
            times[name] += more
        if statistics.median(times["ferry"]) <= limit * statistics.median(times["numpy"]):
            break
    return times


def host_to_host(calls: Dict[str, Call], runs: int, before: Call) -> Dict[str, Dict[str, List[float]]]:
    """Times in ms of each call, and of the host's copying its result into an ordinary array afterwards; by turns."""
    times: Dict[str, Dict[str, List[float]]] = {name: {"call": [], "read": []} for name in calls}
    sinks: Dict[str, np.ndarray] = {}
    for turn in range(2 + runs):
        for name, call in calls.items():
            before()
            with as_for(name):
                begun = time.perf_counter()
                result = call()
                called = time.perf_counter()
                if name not in sinks:
                    sinks[name] = np.frombuffer(bytearray(result.nbytes), result.dtype).reshape(result.shape)
                copied = time.perf_counter()
                np.copyto(sinks[name], result)
                read = time.perf_counter() - copied
                del result
            if turn >= 2:
                times[name]["call"].append((called - begun) * 1e3)
                times[name]["read"].append(read * 1e3)
    return times


def one_ufunc(report: Report, name: str, x: np.ndarray, plain_x: np.ndarray, pinned: Any) -> Dict[str, float]:
    """From host to host: the host has just written x, and reads the result; and again and again, as it stands."""
    numpy_function = getattr(np, name)
    with without_ferry():
        want = numpy_function(plain_x)
    out, plain_out = np.empty(x.shape, want.dtype), ordinary(np.empty(x.shape, want.dtype))
    calls: Dict[str, Call] = {
        "ferry": lambda: numpy_function(x), "ferry, out=": lambda: numpy_function(x, out=out),
        "numpy": lambda: numpy_function(plain_x), "numpy, out=": lambda: numpy_function(plain_x, out=plain_out)}
    if cp is not None:
        function = getattr(cp, name)
        pinned_out = cupyx.empty_pinned(x.shape, want.dtype)
        calls["cupy"] = lambda: cp.asnumpy(function(cp.asarray(plain_x)))
        calls["cupy, pinned"] = lambda: function(cp.asarray(pinned)).get(out=pinned_out)
    both = host_to_host(calls, 7, before=lambda: np.copyto(x, plain_x))
    right = equal(numpy_function(x), want) and equal(out, want)
    times = {strategy: parts["call"] for strategy, parts in both.items()}
    times.update({f"{strategy}: read": parts["read"] for strategy, parts in both.items()})
    times["ferry, again"] = interleaved({"ferry": lambda: numpy_function(x)}, 7)["ferry"]
    if not (right and equal(numpy_function(x), want)):
        report.check(f"{name} of {x.dtype}: result", 1, False, "NumPy's")
    return {strategy: report.case(f"{name} of {x.dtype}", strategy, x.nbytes, ms) for strategy, ms in times.items()}


def ufuncs(report: Report, count: int) -> None:
    for dtype in ("float64", "float32"):
        x = random_like(dtype, count)
        plain_x = ordinary(x)
        pinned = None
        if cp is not None:
            pinned = cupyx.empty_pinned(x.shape, dtype)
            pinned[:] = x
        rows = [one_ufunc(report, name, x, plain_x, pinned) for name in UFUNCS]
        for name, row in zip(UFUNCS, rows):
            print(f"  {name:9s} {dtype} " + "  ".join(f"{strategy} {ms:.2f}" for strategy, ms in row.items()), flush=True)
        compare_ufuncs(report, dtype, count, rows)


def bus_ms(in_bytes: int, out_bytes: int) -> float:
    """What a kernel across a PCIe 5 bus takes at least: loads at 51 GB/s, stores at 53, both together at 84."""
    return max(in_bytes / 51, out_bytes / 53, (in_bytes + out_bytes) / 84) / 1e6


def compare_ufuncs(report: Report, dtype: str, count: int, rows: "List[Dict[str, float]]") -> None:
    def faster(ours: str, theirs: str) -> float:
        return geometric_mean([row[theirs] / row[ours] for row in rows])

    double = dtype == "float64"
    item = np.dtype(dtype).itemsize
    crossed = [bus_ms(item * count, (1 if name.startswith("is") else item) * count) for name in UFUNCS]
    name = f"ten ufuncs, {dtype}"
    report.at_least(f"{name}: times faster than NumPy", faster("ferry, again", "numpy"), 18 if double else 1)
    report.at_least(f"{name}, host to host: share of what the bus allows",
                    geometric_mean([ms / row["ferry"] for ms, row in zip(crossed, rows)]), 0.75)
    report.at_most(f"{name}, host to host: reading the results over NumPy's own", faster("numpy: read", "ferry: read"), 1.5)
    print(f"       {name}, host to host: {faster('ferry', 'numpy'):.4g} times faster than NumPy", flush=True)
    if cp is not None:
        print(f"       {name}, host to host: {faster('ferry', 'cupy'):.4g} times faster than CuPy with transfers; the bus "
              f"allows {geometric_mean([row['cupy'] / ms for ms, row in zip(crossed, rows)]):.4g}", flush=True)
        report.at_least(f"{name}: times faster than CuPy with transfers", faster("ferry, again", "cupy"),
                        18 if double else 14)
        report.at_least(f"{name}, host to host, out=: times faster than CuPy with pinned arrays",
                        faster("ferry, out=", "cupy, pinned"), 1.35 if double else 1)


def expression(m: Any, x: Any) -> Any:
    return m.sqrt(x * x + m.sin(x)) - m.log(x + 1.0)


def unread_expression(m: Any, x: Any) -> Any:
    """The same, at a line whose results nobody reads: where a result is born is learnt for each line of a program."""
    return m.sqrt(x * x + m.sin(x)) - m.log(x + 1.0)


def chain(report: Report, count: int) -> None:
    x = random_like("float64", count)
    plain_x = ordinary(x)
    with without_ferry():
        want = expression(np, plain_x)
    calls: Dict[str, Call] = {"ferry": lambda: expression(np, x), "numpy": lambda: expression(np, plain_x)}
    unread: Dict[str, Call] = {**calls, "ferry": lambda: unread_expression(np, x)}
    if cp is not None:
        calls["cupy"] = unread["cupy"] = lambda: cp.asnumpy(expression(cp, cp.asarray(plain_x)))
    for how, limits in (("unchanged", (12, 90)), ("rewritten", (4.5, 35))):
        rewrite: Call = (lambda: np.copyto(x, plain_x)) if how == "rewritten" else (lambda: None)
        times = host_to_host(calls, 9, before=rewrite)
        again = interleaved(unread, 9, before=rewrite)
        if not equal(expression(np, x), want):
            report.check(f"chain, x {how}: result", 1, False, "NumPy's")
        case = f"sqrt(x*x + sin(x)) - log(x + 1), x {how}"
        reads = {name: report.case(case, f"{name}: read", x.nbytes, parts["read"]) for name, parts in times.items()}
        calls_ms = {name: report.case(case, f"{name}: call", x.nbytes, parts["call"]) for name, parts in times.items()}
        medians = {name: report.case(case, name, x.nbytes, ms) for name, ms in again.items()}
        print("  " + case + ": " + "  ".join(f"{name} {ms:.3f}" for name, ms in medians.items()) + "; results read: "
              + "  ".join(f"{name} {ms:.3f} and {reads[name]:.3f}" for name, ms in calls_ms.items()), flush=True)
        report.at_most(f"chain, x {how}: reading the result over NumPy's own", reads["ferry"] / reads["numpy"], 1.5)
        if cp is not None:
            report.at_least(f"chain, x {how}: times faster than CuPy with transfers", medians["cupy"] / medians["ferry"],
                            limits[0])
        report.at_least(f"chain, x {how}: times faster than NumPy", medians["numpy"] / medians["ferry"], limits[1])


def sizes(report: Report, count: int) -> None:
    worst, where = 0.0, ""
    for name in ("add", "log", "isnan"):
        for exponent in range(1, 9):
            for n in (10**exponent, 3 * 10**exponent):
                if n > 10**8:
                    continue
                x = random_like("float64", n)
                plain_x = ordinary(x) if ferry.owns(x) else x
                function = getattr(np, name)
                arguments, plain_arguments = ([x, x], [plain_x, plain_x]) if name == "add" else ([x], [plain_x])
                times = compared({"ferry": lambda: function(*arguments), "numpy": lambda: function(*plain_arguments)},
                                 31 if n < 10**6 else 11 if n < 10**7 else 4, max(1, min(2000, 2_000_000 // n)), 1.05)
                case = f"{name} of {n} elements"
                ratio = (report.case(case, "ferry", x.nbytes, times["ferry"])
                         / report.case(case, "numpy", x.nbytes, times["numpy"]))
                print(f"  {case}: {ratio:.3f} of NumPy's time", flush=True)
                if ratio > worst:
                    worst, where = ratio, case
    report.at_most(f"10 to 10^8 elements, fresh results: time over NumPy's, worst ({where})", worst, 1.05)


def fill(report: Report, count: int) -> None:
    x = ordinary(random_like("float64", count))
    v = ferry.empty(x.shape, x.dtype)
    calls: Dict[str, Call] = {"ferry, v[:] = x": lambda: v.__setitem__(slice(None), x)}
    if cp is not None:
        def upload() -> Any:
            cp.asarray(x)
            cp.cuda.Device().synchronize()
        calls["cupy, asarray(x)"] = upload
    medians = {name: report.case("filling from an ordinary array", name, x.nbytes, ms)
               for name, ms in interleaved(calls, 7).items()}
    print("  " + "  ".join(f"{name} {x.nbytes / ms / 1e6:.1f} GB/s" for name, ms in medians.items()), flush=True)
    if cp is not None:
        report.at_least("v[:] = x over cp.asarray(x), rate", medians["cupy, asarray(x)"] / medians["ferry, v[:] = x"], 3)


def small(report: Report, count: int) -> None:
    for n in (10, 100, 1000):
        x, y = np.ones(n), np.ones(n)
        for name, call in (("log", lambda: np.log(x)), ("add", lambda: np.add(x, y))):
            alternate(report, f"{name} of {n} elements", call, 2000)
    alternate(report, "np.empty(100)", lambda: np.empty(100), 10000)


def alternate(report: Report, name: str, call: Call, inner: int) -> None:
    """With ferry installed and without, in turn."""
    times = interleaved({"ferry": call, "numpy": call}, 31, inner)
    ratio = report.case(name, "ferry", 0, times["ferry"]) / report.case(name, "numpy", 0, times["numpy"])
    report.at_most(f"{name}: time over NumPy's", ratio, 1.05)


def crossings(report: Report, count: int) -> None:
    wrong = 0
    for make in (np.empty, ferry.empty):
        x, y = make(count), make(count)
        sink = ordinary(np.zeros(count))
        for _ in range(3):
            x[:] = 1.5
            y[:] = 0
            with ferry.crossings(measured=ferry.info()["backend"] == "cuda") as c:
                np.log(x, out=y)
                np.copyto(sink, y)
        wrong += int(c.to_device != x.nbytes) + int(c.to_host != y.nbytes) + int(c.redundant != 0)
        print(f"  {type(x).__name__}: {c}", flush=True)
    report.at_most("crossings of one ufunc after a host write: figures that differ from the operands' bytes", wrong, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=writable)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--elements", type=int, default=10_000_000)
    options = parser.parse_args()
    ferry.install()
    report = Report()
    for part in options.part or PARTS:
        print(f"{part}:", flush=True)
        globals()[part](report, options.elements)
    result = {**environment(cp), "cases": report.cases, "checks": report.checks}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    failed = [check for check in report.checks if not check["holds"]]
    return 1 if options.check and failed else 0


if __name__ == "__main__":
    sys.exit(main())
