"""The suite `placement` with small arrays: that it runs to its end, and what does not depend on times."""
import os

import suite


def check(bench):
    printed, results = bench.measure("placement", "--size", "4K,4M", "--runs", "2")
    bench.check_facts(results)
    names = {(case["case"], case["strategy"]) for case in results["cases"]}
    expected = {("log, host to host", "auto"), ("ten kernels", "auto"), ("ten kernels", "all prefetched"),
                ("loop with temporaries, round 6", "auto"), ("10,000 launches in a row", "with movement")}
    if bench.on_device:
        expected |= {("log, host to host", "pinned"), ("log, host to host", "zero-copy"),
                     ("launch, three operands in place", "bare CUDA")}
    bench.check(expected <= names, f"missing: {expected - names}")
    for entry in results["checks"]:
        counted = any(words in entry["check"] for words in ("counters are measured", "stale results", "overwritten inputs"))
        if "wrong results" in entry["check"] or (counted and not bench.on_device):
            bench.check(entry["holds"], f"{entry}")
    bench.check(bench.on_device or "modelled" in printed, "modelled times are not called so")


os.environ.pop("FERRY_POLICY", None)
suite.main(check)
