"""The suite `reuse`: its matrix, its selections, its arithmetic; and the command around it."""
import math
import os

import suite

KERNELS = "out-of-place", "in-place", "sum", "product"
ACTIONS = "nothing", "overwrite", "update", "read", "sample"
POLICIES = "none", "prefetch", "remote", "auto"


def check_command(bench):
    listing = bench.run("bench")
    bench.check(listing.returncode == 0 and "reuse" in listing.stdout and "placement" in listing.stdout,
                f"bench: {listing.returncode} {listing.stdout}")
    bench.check("--action" in bench.run("bench", "--help").stdout, "bench --help")
    bench.refuse(["reus"], 2, ["reus", "reuse"])
    bench.refuse(["reuse", "more"], 2, ["more"])
    bench.refuse(["reuse", "--size", "64K,x"], 2, ["'x'"])
    bench.refuse(["reuse", "--size", "100"], 2, ["100"])
    bench.refuse(["reuse", "--runs", "0"], 2, ["--runs"])
    bench.refuse(["reuse", "--kernel", "sum,map"], 2, ["map"])
    bench.refuse(["reuse", "--passes", "0"], 2, ["'0'"])
    bench.refuse(["reuse", "--action", "look"], 2, ["look"])
    bench.refuse(["reuse", "--quick", "--json", "no/such/folder.json"], 1, ["no/such/folder.json"])


def check_cells(bench, results, cells, strategies):
    found = {}
    for case in results["cases"]:
        key = case["kernel"], case["size_bytes"], case["passes"], case["action"]
        found.setdefault(key, {})[case["strategy"]] = case
    bench.check(set(found) == cells, f"cells {set(found) ^ cells}")
    for key, cases in found.items():
        bench.check(set(cases) >= set(strategies), f"{key}: strategies {set(cases)}")
        best = min(cases[policy]["median_ms"] for policy in POLICIES if policy != "auto")
        regret = cases["auto"]["median_ms"] / best
        bench.check(math.isclose(regret, cases["auto"]["regret"], rel_tol=1e-6), f"{key}: regret {cases['auto']}")
    return [cases["auto"]["regret"] for cases in found.values()]


def check_matrix(bench):
    size = 1 << 16
    kernels = [kernel for kernel in KERNELS if kernel != "product" or not bench.on_device]
    printed, results = bench.measure("reuse", "--size", "64K", "--runs", "2", "--kernel", ",".join(kernels))
    bench.check_facts(results)
    cells = {(kernel, size, passes, action) for kernel in kernels for passes in (1, 2, 4, 16) for action in ACTIONS}
    regrets = check_cells(bench, results, cells, POLICIES)
    mean = math.exp(sum(map(math.log, regrets)) / len(regrets))
    checks = {check["check"]: check["figure"] for check in results["checks"]}
    bench.check(math.isclose(checks["regret of auto, geometric mean"], mean, rel_tol=1e-6), f"mean {mean} of {checks}")
    bench.check(math.isclose(checks["regret of auto, worst"], max(regrets), rel_tol=1e-6), f"worst of {checks}")
    bench.check(checks["strategies with a wrong result"] == 0, "wrong results")
    bench.check(bench.on_device or "modelled" in printed, "modelled times are not called so")
    return results


def check_crossings(bench, results):
    """By hand: what prefetching has to move of an array, per epoch."""
    for case in results["cases"]:
        if case["strategy"] == "auto":
            bench.check(all(case[name].startswith("x ") for name in ("explanation", "learning_explanation")), f"{case}")
        if case["strategy"] != "prefetch" or case["passes"] != 1 or case["kernel"] not in ("out-of-place", "in-place"):
            continue
        in_place = case["kernel"] == "in-place"
        there = {"nothing": 0, "overwrite": 1, "read": 1 if in_place else 0}.get(case["action"])
        home = {"nothing": 0, "overwrite": 0, "read": 1}.get(case["action"])
        if there is not None:
            bench.check((case["to_device_x"], case["to_host_x"]) == (there, home), f"{case}")
            bench.check(case["learning_to_device_x"] >= 1, f"{case}")


def check_selection(bench):
    _, results = bench.measure("reuse", "--size", "4K,1M", "--passes", "3", "--kernel", "sum", "--action", "read,update")
    cells = {("sum", size, 3, action) for size in (4096, 1 << 20) for action in ("read", "update")}
    check_cells(bench, results, cells, POLICIES)


def check_time(bench):
    """What there is no time for is said."""
    result = bench.run("bench", "reuse", "--time", "1", "--size", "16M", "--runs", "50", "--check")
    if "holds  cells left out" not in result.stdout:
        bench.check(result.returncode == 1 and "FAILS  cells left out" in result.stdout, result.stdout[-500:])


def check_limit(bench):
    """Where four policies' arrays are more than the limit, `none` comes after the others, and nothing else changes."""
    selection = "reuse", "--size", "8M", "--passes", "2", "--kernel", "out-of-place", "--action", "read,update"
    cells = {("out-of-place", 8 << 20, 2, action) for action in ("read", "update")}
    peaks = []
    for limit in ("256M", "64M"):
        _, results = bench.measure(*selection, FERRY_LIMIT=limit)
        check_cells(bench, results, cells, POLICIES)
        bench.check(suite.figure(results, "strategies with a wrong result") == 0, "wrong results")
        peaks.append(suite.figure(results, "managed memory, GiB at most") * 1024)
    bench.check(peaks[0] > 64 > peaks[1] >= 48, f"managed memory, MiB: {peaks}")


def check_large(bench):
    """Arrays that are moved but not computed cost what smaller ones do, in proportion; but for the host's faults, which
    several threads raise at once."""
    _, results = bench.measure("reuse", "--size", "8M,16M", "--passes", "1", "--kernel", "sum", "--action", "read")
    for policy, low, high in (("prefetch", 1.8, 2.1), ("none", 1.1, 1.7)):
        ms = [case["median_ms"] for case in results["cases"] if case["strategy"] == policy]
        bench.check(low < ms[1] / ms[0] < high, f"{policy}: {ms}")


def check_host(bench):
    """The host's own part is not among the clock's times, but told apart: 8 MiB on one core, 16 MiB on all of them."""
    _, results = bench.measure("reuse", "--size", "8M,16M", "--passes", "1", "--kernel", "sum", "--action", "nothing,read")
    ms = {(case["size_bytes"] >> 20, case["action"]): case["host_ms"] for case in results["cases"]}
    want = {(8, "nothing"): 0, (16, "nothing"): 0, (8, "read"): 8 * 2**20 / 12.4e6, (16, "read"): 0.5 + 16 * 2**20 / 77e6}
    bench.check(ms.keys() == want.keys() and all(math.isclose(ms[key], want[key]) for key in want), f"{ms} {want}")


def check(bench):
    check_command(bench)
    results = check_matrix(bench)
    if not bench.on_device:
        check_crossings(bench, results)
        check_large(bench)
        check_host(bench)
    check_selection(bench)
    check_time(bench)
    check_limit(bench)


os.environ.pop("FERRY_POLICY", None)
suite.main(check)
