"""The suite `alloc`: its cases, what it counts, and that it says who was not there."""
import math
import os

import suite

HOST = "ferry", "jemalloc arena", "jemalloc", "glibc", "mimalloc"
CUDA = "cudaMalloc", "cudaMallocManaged", "device pool", "managed pool"
REPLAYS = "replay of arrays", "replay of objects"
SIZES = 1 << 16, 1 << 20


def strategies(results, case, size=None):
    return {entry["strategy"]: entry for entry in results["cases"]
            if entry["case"] == case and size in (None, entry["bytes"])}


def absent(results):
    return {part.split(":")[0] for part in results["left_out"].split("; ") if part}


def check_threads(bench, results, there):
    threads = [count for count in (1, 2, 4, 8, 16) if count <= os.cpu_count()]
    for pattern in "pairs", "batches":
        for size in SIZES:
            for count in threads:
                case = f"{pattern}, {count} thread" + ("s" if count > 1 else "")
                found = strategies(results, case, size)
                bench.check(set(found) == there, f"{case} of {size}: {set(found) ^ there}")
                for entry in found.values():
                    bench.check(entry["threads"] == count and entry["operations"] > 0, f"{entry}")
                    bench.check((entry["batch"] >= 4) == (pattern == "batches"), f"{entry}")
                    bench.check(math.isclose(entry["ns"] * entry["blocks_per_s"], 1e9 * count, rel_tol=1e-6),
                                f"{entry}")


def check_replays(bench, results, there):
    for case in REPLAYS:
        found = strategies(results, case)
        bench.check(set(found) == there, f"{case}: {set(found) ^ there}")
        live = {entry["bytes"] for entry in found.values()}
        bench.check(len(live) == 1, f"{case}: peaks {live}")
        for entry in found.values():
            bench.check(entry["operations"] > 5000, f"{entry}")
            if "footprint_bytes" in entry and entry["strategy"] in HOST:
                # Every block was filled: the memory is there, and not ten times as much of it.
                bench.check(0.99 < entry["footprint_over_live"] < 10, f"{entry}")
        filled = set(strategies(results, case + ", filled"))
        bench.check(filled == there - {"cudaMalloc", "device pool"}, f"{case}, filled: {filled}")


def check_fills(bench, results, there):
    fresh = {name for name in there if name not in ("jemalloc", "mimalloc")}
    by_host, by_kernel = fresh - {"cudaMalloc", "device pool"}, fresh - {"jemalloc arena", "glibc"}
    for size in SIZES:
        for state in "fresh", "recycled":
            found = strategies(results, f"filled by the host, {state}", size)
            bench.check(set(found) == by_host, f"host, {state}: {set(found)}")
            found = strategies(results, f"filled by a kernel, {state}", size)
            bench.check(set(found) == by_kernel, f"kernel, {state}: {set(found)}")
    if not bench.on_device:
        ms = [strategies(results, f"filled by a kernel, {state}", SIZES[1])["ferry"]["median_ms"]
              for state in ("fresh", "recycled")]
        bench.check(ms[0] > ms[1] > 0, f"by the model, fresh pages cost {ms[0]} ms and recycled ones {ms[1]}")


def check_given_trace(bench):
    """A trace of one's own, in the place of the carried ones; and files that are none."""
    path = os.path.join(bench.folder, "own.trace")
    with open(path, "w") as stream:
        stream.write("# mine\n" + "+100000\n" * 100 + "-50\n" * 10)
    bench.refuse(["alloc", "--trace", path], 1, ["own.trace", "no trace"])  # one block is freed ten times
    bench.refuse(["alloc", "--trace", path + ".gone"], 1, ["own.trace.gone"])
    with open(path, "w") as stream:
        stream.write("# mine\n" + "+100000\n" * 100 + "-50\n+70000\n" * 10)
    _, results = bench.measure("alloc", "--trace", path, "--quick", "--size", "64K")
    found = strategies(results, "replay of a given trace")
    bench.check("ferry" in found and not strategies(results, REPLAYS[0]), f"replays: {set(found)}")
    bench.check(all((entry["bytes"], entry["operations"]) == (10_000_000, 220) for entry in found.values()), f"{found}")


def check(bench):
    _, results = bench.measure("alloc", "--size", "64K,1M", "--runs", "1", "--time", "200")
    there = set(HOST + CUDA) - absent(results)
    bench.check("ferry" in there and "jemalloc arena" in there, f"left out: {results['left_out']}")
    bench.check(bench.on_device or not there & set(CUDA), f"{there}")
    check_threads(bench, results, there)
    check_replays(bench, results, there)
    check_fills(bench, results, there)
    check_given_trace(bench)
    bench.check_facts(results, machine_clock=True)
    for text in "allocators whose blocks overlap or lose what was written", "allocators without memory", "cells left out":
        bench.check(suite.figure(results, text) == 0, text)
    bench.check(all(case["clock"] == ("modelled" if "kernel" in case["case"] and not bench.on_device else "real")
                    for case in results["cases"]), "clocks")


os.environ.pop("FERRY_POLICY", None)
suite.main(check)
