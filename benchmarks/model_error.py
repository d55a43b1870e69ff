#!/usr/bin/env python3
"""How wrong the simulator is: the times that it models beside the times that were measured, of the same suite's cases.

    model_error.py MEASURED.json MODELLED.json [--json FILE] [--worst N] [--median E] [--share S]

MEASURED is a suite's file from a device (`ferry bench SUITE --json`), MODELLED the same suite's from the simulator.
Cases are the same when case, strategy and bytes are; what only one file has (explicit copies, sizes) is left out, and
counted; rows that are void are not there. The prediction of a case is what the virtual clock says, and what the host's
own part takes, which that does not count: on the modelled machine, where MODELLED has it (`host_ms`); else as MEASURED
has it alone, without any strategy (`limit_host_ms`). Nothing else of it comes from MEASURED. Its error is
|prediction / measured - 1|.

A table: of all cases, and of those of a size, a kernel, an action, a number of passes, by strategy: the median error,
the share of cases within 15 %, the share within what was itself measured, from the least to the greatest run, and the
median of prediction / measured. Then the worst cases. --json writes all of it, and every case, as a file. With --median
or --share a line that begins with `holds` or `FAILS` says of each strategy whether its median error is at most E, and
whether at least the share S of its cases is within 15 %; the exit status is 1 when one fails.
"""
import argparse
import json
import math
import statistics
import sys

WITHIN = 0.15
ASPECTS = "size_bytes", "kernel", "action", "passes"
FACTS = "device", "driver", "cuda", "cpu", "date", "commit", "backend"


def load(path, clock):
    with open(path) as stream:
        results = json.load(stream)
    if results["clock"] != clock:
        sys.exit(f"{path}: its times are {results['clock']}; {clock} ones are wanted here")
    return {**results, "cases": [case for case in results["cases"] if case.get("valid", True)]}


def by_key(results):
    return {(case["case"], case["strategy"], case["bytes"]): case for case in results["cases"]}


def compare(measured, modelled):
    """One case of both files."""
    host = modelled["host_ms"] if "host_ms" in modelled else measured.get("limit_host_ms", 0)
    predicted = modelled["median_ms"] + host
    ratio = predicted / measured["median_ms"]
    row = {"size_bytes": measured["bytes"],
           **{name: measured[name] for name in ("case", "strategy", "bytes", *ASPECTS) if name in measured}}
    return {**row, "measured_ms": measured["median_ms"], "predicted_ms": predicted,
            "host_ms": host, "ratio": ratio, "error": abs(ratio - 1),
            "in_range": measured["min_ms"] <= predicted <= measured["max_ms"]}


def pair(measured, modelled):
    predictions = by_key(modelled)
    return [compare(case, predictions[key]) for key, case in by_key(measured).items()
            if key in predictions and case["median_ms"] > 0]


def summarise(strategy, aspect, value, rows):
    errors = [row["error"] for row in rows]
    return {"strategy": strategy, "aspect": aspect, "value": value, "cases": len(rows),
            "median_error": statistics.median(errors),
            "within": sum(error <= WITHIN for error in errors) / len(rows),
            "in_range": sum(row["in_range"] for row in rows) / len(rows),
            "ratio": statistics.median(row["ratio"] for row in rows)}


def values(rows, aspect):
    return list(dict.fromkeys(row[aspect] for row in rows if aspect in row))


def tabulate(rows):
    """All; each strategy; and of each strategy, each size, kernel, action and number of passes."""
    summaries = [summarise("all", None, None, rows)]
    for strategy in values(rows, "strategy"):
        own = [row for row in rows if row["strategy"] == strategy]
        summaries.append(summarise(strategy, None, None, own))
        for aspect in ASPECTS:
            for value in values(own, aspect):
                part = [row for row in own if row.get(aspect) == value]
                if len(part) < len(own):
                    summaries.append(summarise(strategy, aspect, value, part))
    return summaries


def size_text(count):
    power = min(int(math.log2(max(count, 1)) // 10), 3)
    return f"{count / 1024 ** power:.4g} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def label(summary):
    if summary["aspect"] is None:
        return ""
    if summary["aspect"] == "size_bytes":
        return size_text(summary["value"])
    return f"{summary['aspect']} {summary['value']}"


def print_table(summaries):
    print(f"{'strategy':22} {'of':20}  cases median error  within 15 %  in range  ratio")
    for summary in summaries:
        print(f"{summary['strategy']:22} {label(summary):20} {summary['cases']:6} {summary['median_error']:12.1%} "
              f"{summary['within']:12.0%} {summary['in_range']:9.0%} {summary['ratio']:6.2f}")


def print_worst(rows, count):
    print("\nThe worst:")
    for row in sorted(rows, key=lambda row: -abs(math.log(max(row["ratio"], 1e-9))))[:count]:
        print(f"{row['ratio']:8.2f}  {row['case']}, {size_text(row['size_bytes'])}, {row['strategy']}: "
              f"predicted {row['predicted_ms']:.4g} ms, measured {row['measured_ms']:.4g}")


def hold(summaries, most, least):
    """Whether every strategy's figures hold."""
    failed = False
    for summary in summaries:
        if summary["aspect"] is not None or summary["strategy"] == "all":
            continue
        error, within = summary["median_error"], summary["within"]
        for name, figure, holds in (("median error", error, most is None or error <= most),
                                    ("within 15 %", within, least is None or within >= least)):
            print(f"{'holds' if holds else 'FAILS'}  {summary['strategy']}, {name}: {figure:.3g}")
            failed |= not holds
    return not failed


def line(row):
    """Six digits are more than a prediction has."""
    short = {name: float(f"{value:.6g}") for name, value in row.items() if isinstance(value, float)}
    return json.dumps({**row, **short})


def write(path, measured, modelled, rows, summaries):
    """A line each, as in the files of results."""
    parts = [f' "{title}": {json.dumps({name: results.get(name) for name in FACTS})}'
             for title, results in (("measured", measured), ("modelled", modelled))]
    parts += [f' "{title}": [\n  ' + ",\n  ".join(map(line, lines)) + "\n ]"
              for title, lines in (("summaries", summaries), ("cases", rows))]
    with open(path, "w") as stream:
        stream.write("{\n" + ",\n".join(parts) + "\n}\n")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], epilog=__doc__.split("\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured")
    parser.add_argument("modelled")
    parser.add_argument("--json")
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--median", type=float)
    parser.add_argument("--share", type=float)
    return parser.parse_args()


def main():
    arguments = read_arguments()
    measured, modelled = load(arguments.measured, "real"), load(arguments.modelled, "modelled")
    rows = pair(measured, modelled)
    if not rows:
        sys.exit("the files have no case in common")
    summaries = tabulate(rows)
    print(f"measured on {measured['device']}, {measured['date'][:10]}; {len(rows)} cases in both files, "
          f"{len(measured['cases']) - len(rows)} only measured, {len(modelled['cases']) - len(rows)} only modelled\n")
    print_table(summaries)
    print_worst(rows, arguments.worst)
    if arguments.json:
        write(arguments.json, measured, modelled, rows, summaries)
    held = arguments.median is None and arguments.share is None or hold(summaries, arguments.median, arguments.share)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
