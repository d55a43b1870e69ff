"""benchmarks/model_error.py: its arithmetic; and that the simulator's model agrees with what was measured on an H200.

    model.py FERRY MODEL_ERROR.py RESULTS [stated]

RESULTS is the folder of what was measured (SUITE.json), and of the comparisons that are committed (model-SUITE.json),
of which the pages' figures are. With `stated` all cases are run, and those have to say the same.
"""
import json
import math
import os
import subprocess
import sys

import suite

SCRIPT, RESULTS = map(os.path.abspath, sys.argv[2:4])
# Of the cases that are run here without `stated`: what is there, less some room.
SHARES = {"reuse": {"none": 0.65, "prefetch": 0.85, "remote": 0.9, "auto": 0.8},
          "transfer": {"none": 0.45, "prefetch": 0.8, "prefetch, result kept": 0.8, "remote": 0.9, "auto": 0.9,
                       "auto, result kept": 0.9}}
CASES = {"reuse": 4 * 2 * 2 * 5 * 3, "transfer": 6 * 8}
SELECTIONS = {"reuse": ("--kernel", "out-of-place,sum", "--passes", "1,16"), "transfer": ()}
MEDIAN = 0.15


def write(bench, name, clock, cases):
    path = os.path.join(bench.folder, name)
    facts = {"device": "a device", "date": "2026-01-01T00:00:00Z", "clock": clock}
    with open(path, "w") as stream:
        json.dump({**facts, "cases": cases}, stream)
    return path


def case(name, strategy, median, **more):
    return {"case": name, "strategy": strategy, "bytes": 4096, "median_ms": median, "min_ms": 0.9 * median,
            "max_ms": 1.2 * median, **more}


def close(a, b):
    """The file has six digits."""
    return math.isclose(a, b, rel_tol=1e-5)


def run(bench, *arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], cwd=bench.folder, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)


def by_hand(bench):
    """Two small files: predictions 1.1, 1.5 and half of what was measured, and 1.12."""
    measured = [case("a", "one", 1, action="read"), case("b", "one", 2, action="none"),
                case("c", "one", 4, action="read"), case("a", "two", 1, limit_host_ms=0.1), case("a", "pinned", 1),
                case("e", "two", 1, valid=False)]
    modelled = [case("a", "one", 0.6, host_ms=0.5), case("b", "one", 3), case("c", "one", 2), case("a", "two", 1.02),
                case("d", "one", 1), case("e", "two", 5)]
    return write(bench, "measured.json", "real", measured), write(bench, "modelled.json", "modelled", modelled)


def check_arithmetic(bench):
    path = os.path.join(bench.folder, "error.json")
    result = run(bench, *by_hand(bench), "--json", path)
    bench.check(result.returncode == 0 and "4 cases in both files, 1 only measured, 2 only modelled" in result.stdout,
                f"{result}")
    with open(path) as stream:
        error = json.load(stream)
    ratios = {(row["case"], row["strategy"]): row["ratio"] for row in error["cases"]}
    want = {("a", "one"): 1.1, ("b", "one"): 1.5, ("c", "one"): 0.5, ("a", "two"): 1.12}
    bench.check(ratios.keys() == want.keys() and all(close(ratios[key], want[key]) for key in want), f"{ratios}")
    found = {(s["strategy"], s["aspect"], s["value"]): s for s in error["summaries"]}
    figures = "cases", "median_error", "within", "in_range"
    for key, want in ((("one", None, None), (3, 0.5, 1 / 3, 1 / 3)), (("two", None, None), (1, 0.12, 1, 1)),
                      (("one", "action", "read"), (2, 0.3, 1 / 2, 1 / 2))):
        bench.check(all(close(found[key][name], value) for name, value in zip(figures, want)), f"{found[key]}")


def check_limits(bench):
    paths = by_hand(bench)
    for option, held, failed in (("--median", "0.51", "0.49"), ("--share", "0.3", "0.4")):
        for limit in held, failed:
            result = run(bench, *paths, option, limit)
            fails = limit == failed
            bench.check(result.returncode == fails and ("FAILS  one" in result.stdout) == fails, f"{option} {result}")
    swapped = run(bench, *reversed(paths))
    bench.check(swapped.returncode == 1 and "modelled" in swapped.stderr, f"{swapped}")


def check_model(bench, name, *selection):
    """The figures of all cases and of each policy, whose median error has to hold."""
    bench.measure(name, *selection)
    path = os.path.join(bench.folder, "error.json")
    measured, modelled = os.path.join(RESULTS, f"{name}.json"), os.path.join(bench.folder, "results.json")
    result = run(bench, measured, modelled, "--json", path, "--median", str(MEDIAN))
    bench.check(result.returncode == 0, f"{name}: {result.stdout}{result.stderr}")
    with open(path) as stream:
        error = json.load(stream)
    return {summary["strategy"]: summary for summary in error["summaries"] if summary["aspect"] is None}


def check_part(bench, name):
    summaries, shares = check_model(bench, name, *SELECTIONS[name]), SHARES[name]
    within = {strategy: summary["within"] for strategy, summary in summaries.items()}
    bench.check(summaries["all"]["cases"] == CASES[name], f"{name}: {summaries['all']}")
    bench.check(within.keys() == shares.keys() | {"all"}, f"{name}: {within}")
    bench.check(all(within[strategy] >= share for strategy, share in shares.items()), f"{name}, within 15 %: {within}")


def check_stated(bench, name):
    path = os.path.join(RESULTS, f"model-{name}.json")
    with open(path) as stream:
        stated = {(summary["strategy"], summary["aspect"]): summary for summary in json.load(stream)["summaries"]}
    for strategy, summary in check_model(bench, name, "--time", "3600").items():
        bench.check(stated[strategy, None] == summary, f"{path} says {stated[strategy, None]}, not {summary}")


def check(bench):
    stated = sys.argv[4:] == ["stated"]
    if not stated:
        check_arithmetic(bench)
        check_limits(bench)
    for name in SHARES:
        (check_stated if stated else check_part)(bench, name)


os.environ.pop("FERRY_POLICY", None)
suite.main(check)
