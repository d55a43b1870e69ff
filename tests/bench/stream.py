"""The suite `stream`: its rows, how bytes are counted, and wrong results."""
import math
import os

import suite

ARRAYS = {"copy": 2, "scale": 2, "add": 3, "triad": 3}
BY_KERNELS = "managed, on the device", "managed, across the bus"
CUDA = "device memory", "pinned, across the bus"
BY_HOST = "ordinary memory", "managed memory"


def expected_rows(bench, sizes):
    threads = [count for count in (1, 2, 4, 8, 16) if count <= os.cpu_count()]
    for size in sizes:
        for operation in ARRAYS:
            for name in BY_KERNELS + (CUDA if bench.on_device else ()):
                yield f"{operation} on the device", name, size
            for count in threads:
                case = f"{operation} on the host, {count} thread" + ("s" if count > 1 else "")
                for name in BY_HOST + (("memcpy",) if operation == "copy" else ()):
                    yield case, name, size


def check_case(bench, case, limits):
    operation, by_host = case["case"].split()[0], "threads" in case
    arrays, seconds = ARRAYS[operation], case["median_ms"] / 1e3
    bench.check(math.isclose(case["gb_per_s"], 1e-9 * arrays * case["bytes"] / seconds, rel_tol=1e-6), f"{case}")
    bench.check(case["valid"] is True, f"{case}")
    real = by_host or bench.on_device
    bench.check(case["clock"] == ("real" if real else "modelled") and by_host == (" host" in case["case"]), f"{case}")
    limit_gb_per_s = case["share"] and case["gb_per_s"] / case["share"]
    if case["strategy"] in ("managed, on the device", "device memory"):
        copy = 2 * limits["device_copy_gb_per_s"]
        bench.check(math.isclose(limit_gb_per_s, copy, rel_tol=1e-6), f"{case}: of {copy} GB/s")
    elif not by_host:
        both = limits["both_gb_per_s"]
        bench.check(limit_gb_per_s <= both * 1.000001, f"{case}: of {both} GB/s")


def check_host_limit(bench, results, size):
    """The best memcpy is the limit: its own share is 1, and everybody's limit is in proportion."""
    shares = [case["share"] for case in results["cases"] if case["strategy"] == "memcpy" and case["bytes"] == size]
    bench.check(math.isclose(max(shares), 1, rel_tol=1e-6), f"shares of memcpy: {shares}")
    limits = {case["limit_ms"] / ARRAYS[case["case"].split()[0]] for case in results["cases"]
              if "threads" in case and case["bytes"] == size}
    bench.check(max(limits) <= min(limits) * 1.000001, f"limits: {limits}")


def check_spoilt(bench, strategy):
    """A wrong result voids its rows, and no others, and fails the command."""
    path = os.path.join(bench.folder, "spoilt.json")
    result = bench.run("bench", "stream", "--size", "64K", "--runs", "2", "--json", path, FERRY_BENCH_SPOIL=strategy)
    bench.check(result.returncode == 1 and "void" in result.stderr, f"{strategy}: {result.returncode} {result.stderr}")
    void = {case["strategy"] for case in bench.read(path)["cases"] if not case["valid"]}
    bench.check(void == {strategy}, f"void: {void}")


def check(bench):
    sizes = (1 << 20) + 8, 4 << 20  # the first is of an odd number of elements
    printed, results = bench.measure("stream", "--size", ",".join(map(str, sizes)), "--runs", "3", "--time", "60")
    bench.check_facts(results)
    bench.check(bench.on_device or "modelled" in printed, "modelled times are not called so")
    rows = [(case["case"], case["strategy"], case["bytes"]) for case in results["cases"]]
    expected = set(expected_rows(bench, sizes))
    bench.check(set(rows) == expected and len(rows) == len(expected), f"rows {set(rows) ^ expected}")
    for case in results["cases"]:
        check_case(bench, case, results["limits"])
    for size in sizes:
        check_host_limit(bench, results, size)
    bench.check(suite.figure(results, "rows with a wrong result") == 0, "wrong results")
    for strategy in "managed, across the bus", "managed memory":
        check_spoilt(bench, strategy)
    printed, results = bench.measure("stream", "--size", "4M,1M", "--runs", "2", FERRY_LIMIT="16M")
    bench.check("Left out: 4194304 bytes" in printed and {case["bytes"] for case in results["cases"]} == {1 << 20},
                "what does not fit in the limit")


os.environ.pop("FERRY_POLICY", None)
suite.main(check)
