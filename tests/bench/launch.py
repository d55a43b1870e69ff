"""The suite `launch`: its matrix and its arithmetic."""
import math
import os

import suite

OPERANDS = 1, 2, 3, 4, 8, 16
POLICIES = "auto", "prefetch", "remote", "none"
WAYS = {"bare", "ferry_kernel_enqueue"} | {f"{way}, {policy}" for way in ("acquire and complete", "ferry_launch")
                                           for policy in POLICIES}


def check(bench):
    printed, results = bench.measure("launch", "--runs", "3", "--time", "60")
    bench.check_facts(results, machine_clock=True)
    bench.check("modelled" not in printed, "these times are the machine's")
    found = {}
    for case in results["cases"]:
        found.setdefault(case["operands"], {})[case["strategy"]] = case
    bench.check(set(found) == set(OPERANDS), f"operands {set(found)}")
    for operands, cases in found.items():
        bench.check(set(cases) == WAYS, f"{operands} operands: {set(cases) ^ WAYS}")
        for case in cases.values():
            bench.check(case["case"] == f"launch, {operands} operand" + ("s" if operands > 1 else ""), f"{case}")
            bench.check(case["runs"] == 3 and case["operations"] == 200 and case["clock"] == "real", f"{case}")
            over = case["ns"] - cases["bare"]["ns"]
            bench.check(math.isclose(case["ns_over_bare"], over, abs_tol=1e-3), f"{case}: {over} over bare")
    for text in "bytes that crossed while all operands were in place", "launches that the library has not counted":
        bench.check(suite.figure(results, text) == 0, text)
    bench.refuse(["launch", "--size", "1M"], 2, ["--size"])


os.environ.pop("FERRY_POLICY", None)
suite.main(check)
