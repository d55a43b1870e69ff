#!/usr/bin/env python3
"""Whether a second run of a suite says what the first one said.

    compare_results.py FIRST.json SECOND.json [--widen PART] [--share PART] [--list N]

The *spread* of a case is what its runs took in the first file, from the least to the greatest, widened on either side
by a quarter of the median (`--widen`): runs in a row see less than a day does, and a virtual machine's host, which
makes and copies pages, differs from one day to the next where the device does not. A case is reproduced when the
second file's median is within it. Exit status 1 when fewer than 90 % are (`--share`), or when one of the files has a
wrong result that the other has not; 2 when there is nothing to compare.
"""
import argparse
import json
import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

# What names a case, in whichever suite.
NAMES = ("case", "strategy", "bytes", "threads", "operands", "kernel", "action", "passes", "size_bytes", "dtype")
WIDEN = 0.25
MARGIN = 1e-9  # files have nine digits


@dataclass
class Pair:
    name: str
    first_ms: float
    second_ms: float
    least_ms: float
    most_ms: float

    @property
    def reproduced(self) -> bool:
        return self.least_ms * (1 - MARGIN) <= self.second_ms <= self.most_ms * (1 + MARGIN)

    @property
    def ratio(self) -> float:
        return self.second_ms / self.first_ms if self.first_ms else float("inf") if self.second_ms else 1.0


def load(path: str) -> Dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        results = json.load(file)
    if not isinstance(results, dict) or not isinstance(results.get("cases"), list):
        raise ValueError(f"{path} has no cases")
    return results


def keyed(results: Dict[str, Any]) -> Dict[Tuple[Any, ...], Dict[str, Any]]:
    """Cases by name; of several with one name the second is the second."""
    cases: Dict[Tuple[Any, ...], Dict[str, Any]] = {}
    for row in results["cases"]:
        name = tuple(row.get(field) for field in NAMES)
        number = 0
        while (*name, number) in cases:
            number += 1
        cases[(*name, number)] = row
    return cases


def described(row: Dict[str, Any]) -> str:
    details = [f"{row[field]} {field}" for field in ("bytes", "threads", "operands") if row.get(field)]
    return ", ".join([str(row.get("case")), str(row.get("strategy")), *details])


def pair(first: Dict[str, Any], second: Dict[str, Any], widen: float) -> Pair:
    median = float(first["median_ms"])
    least, most = float(first.get("min_ms", median)), float(first.get("max_ms", median))
    return Pair(described(first), median, float(second["median_ms"]), least - widen * median, most + widen * median)


def is_timed(row: Dict[str, Any]) -> bool:
    return row.get("valid", True) is not False and "median_ms" in row


def compare(first: Dict[str, Any], second: Dict[str, Any], widen: float) -> Tuple[List[Pair], List[str]]:
    """The cases that both have times of; and what only one has, or got right."""
    ones, others = keyed(first), keyed(second)
    pairs, lacking = [], []
    for name in [*ones, *(name for name in others if name not in ones)]:
        one, other = ones.get(name), others.get(name)
        if one is None or other is None:
            lacking.append(f"only in the {'first' if other is None else 'second'}: {described(one or other or {})}")
        elif is_timed(one) and is_timed(other):
            pairs.append(pair(one, other, widen))
        elif is_timed(one) != is_timed(other):
            lacking.append(f"void in the {'second' if is_timed(one) else 'first'}: {described(one)}")
    return pairs, lacking


def arguments(given: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--widen", type=float, default=WIDEN)
    parser.add_argument("--share", type=float, default=0.9)
    parser.add_argument("--list", type=int, default=20, help="at most so many of the others (default %(default)s)")
    return parser.parse_args(given)


def main(given: Optional[List[str]] = None) -> int:
    options = arguments(given)
    try:
        first, second = load(options.first), load(options.second)
    except (OSError, ValueError) as error:
        print(f"compare_results.py: {error}", file=sys.stderr)
        return 2
    pairs, lacking = compare(first, second, options.widen)
    if not pairs:
        print("compare_results.py: the files have no case in common", file=sys.stderr)
        return 2
    for name in ("device", "driver", "commit", "date"):
        print(f"{name:7s} {first.get(name, '')}  {second.get(name, '')}")
    others = sorted((one for one in pairs if not one.reproduced), key=lambda one: abs(one.ratio - 1), reverse=True)
    for one in others[:options.list]:
        print(f"  {one.name}: {one.second_ms:.6g} ms, not {one.least_ms:.6g} to {one.most_ms:.6g} "
              f"({one.ratio:.2f} of the first median)")
    for line in lacking[:options.list]:
        print(f"  {line}")
    near = [f"{sum(abs(one.ratio - 1) <= part for one in pairs)} by at most {100 * part:g} %"
            for part in (0.05, 0.1, 0.25)]
    print(f"medians differ: {', '.join(near)}")
    share = 1 - len(others) / len(pairs)
    void = any(line.startswith("void") for line in lacking)
    print(f"{len(pairs) - len(others)} of {len(pairs)} cases within the spread: {100 * share:.1f} %"
          f"{f'; {len(lacking)} in one file alone' if lacking else ''}")
    return 1 if share < options.share or void else 0


if __name__ == "__main__":
    sys.exit(main())
