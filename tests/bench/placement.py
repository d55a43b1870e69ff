"""The suite `placement` with small arrays: that it runs to its end, and what does not depend on times."""
import os

import suite


def check_memory(bench, results, most_bytes):
    figure = suite.figure(results, "managed memory, GiB at most")
    bench.check(0 < figure * 2**30 <= most_bytes, f"managed memory: {figure} GiB")


def check_loop(bench, results):
    """What the rounds are said to have moved is what the check counts."""
    surplus = 0
    for case in results["cases"]:
        if case["case"] in (f"loop with temporaries, round {number}" for number in (3, 4, 5, 6)):
            crossed = case["to_device_x"], case["to_host_x"]
            surplus += sum(max(0, times - 1) * case["bytes"] for times in crossed)
    figure = suite.figure(results, "loop with temporaries: bytes that cross from round 3 on beyond x and the result")
    bench.check(abs(figure - surplus) <= 1e-6 * surplus, f"{figure} bytes of temporaries, {surplus} by the rounds")


def check(bench):
    printed, results = bench.measure("placement", "--size", "4K,4M", "--runs", "2")
    bench.check_facts(results)
    names = {(case["case"], case["strategy"]) for case in results["cases"]}
    expected = {("log, host to host", "auto"), ("ten kernels", "auto"), ("ten kernels", "all prefetched"),
                ("loop with temporaries, round 6", "auto"), ("10,000 launches in a row", "ferry_launch, 3"),
                ("launch, operands in place", "bare"), ("launch, operands in place", "acquired, 1 operand"),
                ("launch, operands in place", "acquired, 3"), ("launch, operands in place", "ferry_apply, 3")}
    if bench.on_device:
        expected |= {("log, host to host", "pinned"), ("log, host to host", "zero-copy")}
    bench.check(expected <= names, f"missing: {expected - names}")
    check_memory(bench, results, 12 * (4 << 20))
    check_loop(bench, results)
    for entry in results["checks"]:
        counted = any(words in entry["check"] for words in ("counters are measured", "stale results", "overwritten inputs"))
        if "wrong results" in entry["check"] or (counted and not bench.on_device):
            bench.check(entry["holds"], f"{entry}")
    bench.check(bench.on_device or "modelled" in printed, "modelled times are not called so")


os.environ.pop("FERRY_POLICY", None)
suite.main(check)
