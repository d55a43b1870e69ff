#!/usr/bin/env python3
"""Draws ten ufuncs by each library, from the file that benchmarks/peers.py or benchmarks/numpy_speed.py has written.

    plot_peers.py peers.json peers.svg

A panel for each way and type: geometric means, the fastest first, and a line where the machine's limit is. In any
format that matplotlib writes, which it needs.
"""
import json
import math
import sys
from statistics import geometric_mean
from typing import Any, Dict, List, Optional, Tuple

UFUNCS = "cos sin tan log log2 log10 log1p exp isnan isfinite".split()
FERRY, OTHERS, LIMIT = "#d55e00", "#0072b2", "#000000"
# What a file calls a case, and what the panel says of it.
WAYS = {"{name} of {dtype}, host to host": "host to host", "{name} of {dtype}, resident": "resident",
        "{name} of {dtype}": "host to host"}
Bar = Tuple[str, float, Optional[float]]


def bus_ms(name: str, dtype: str, nbytes: int) -> float:
    """For files without limits: what the bus of the measured machine allows, as benchmarks/numpy_speed.py has it."""
    out_bytes = nbytes if not name.startswith("is") else nbytes // (8 if dtype == "float64" else 4)
    return max(nbytes / 51, out_bytes / 53, (nbytes + out_bytes) / 84) / 1e6


def limit_of(row: Dict[str, Any], name: str, dtype: str) -> Optional[float]:
    """None where nothing limits it that was measured."""
    if "limit_ms" in row or "q1_ms" in row:
        return row.get("limit_ms")
    return None if row["strategy"].startswith("numpy") else bus_ms(name, dtype, row["bytes"])


def bars(results: Dict[str, Any], case: str, dtype: str) -> List[Bar]:
    """Strategy, ms and limit, of those that have all ten, slowest first."""
    found = {(row["case"], row["strategy"]): row for row in results["cases"] if row.get("valid", True) is not False}
    drawn = []
    for strategy in dict.fromkeys(row["strategy"] for row in results["cases"]):
        rows = [found.get((case.format(name=name, dtype=dtype), strategy)) for name in UFUNCS]
        if None in rows or strategy.endswith((": read", ", again")):
            continue
        limits = [limit_of(row, name, dtype) for row, name in zip(rows, UFUNCS)]
        drawn.append((strategy, geometric_mean([row["median_ms"] for row in rows]),
                      None if None in limits else geometric_mean(limits)))
    return sorted(drawn, key=lambda bar: -bar[1])


def panels(results: Dict[str, Any]) -> List[Tuple[str, List[Bar]]]:
    """With what is drawn in each; those that the file has."""
    all_of_them = [(f"{dtype}, {way}", bars(results, case, dtype)) for case, way in WAYS.items()
                   for dtype in ("float64", "float32")]
    return [(title, drawn) for title, drawn in all_of_them if drawn]


def draw_panel(axes: Any, title: str, drawn: List[Bar]) -> None:
    for place, (name, ms, limit) in enumerate(drawn):
        colour, marker = (FERRY, "o") if name.startswith("ferry") else (OTHERS, "s")
        axes.plot([ms], [place], marker, color=colour, markersize=7)
        axes.annotate(f"{ms:.3g}", (ms, place), (8, 0), textcoords="offset points", va="center", fontsize=8)
        if limit is not None:
            axes.plot([limit, limit], [place - 0.45, place + 0.45], color=LIMIT, linewidth=1.5)
    axes.set_yticks(range(len(drawn)), [name for name, _, _ in drawn], fontsize=8)
    axes.set_xscale("log")
    ends = [value for _, ms, limit in drawn for value in (ms, limit) if value]
    axes.set_xlim(10 ** math.floor(math.log10(min(ends) / 1.2)), 10 ** math.ceil(math.log10(max(ends) * 1.6)))
    axes.grid(True, axis="x", which="both", color="#dddddd", linewidth=0.6)
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("ms (line: the machine's limit)", fontsize=8)


def plot(results: Dict[str, Any], path: str) -> None:
    import matplotlib
    matplotlib.use("Agg")
    # The same file makes the same picture; text stays text.
    matplotlib.rcParams.update({"svg.hashsalt": "ferry", "svg.fonttype": "none"})
    import matplotlib.pyplot as plt

    drawn = panels(results)
    columns = 2
    rows = math.ceil(len(drawn) / columns)
    tallest = max(len(panel) for _, panel in drawn)
    figure, grid = plt.subplots(rows, columns, squeeze=False, figsize=(11, 0.9 + rows * (0.9 + 0.24 * tallest)),
                                layout="constrained")
    for axes, (title, panel) in zip(grid.flat, drawn):
        draw_panel(axes, title, panel)
    for axes in list(grid.flat)[len(drawn):]:
        axes.axis("off")
    figure.suptitle(f"ten ufuncs, geometric means · {results['device']} · commit {results['commit'][:10]} · "
                    f"{results['date'][:10]}", fontsize=11)
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None, dpi=120)
    plt.close(figure)


def main() -> int:
    if len(sys.argv) != 3:
        print("Usage: plot_peers.py RESULTS.json PICTURE", file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        results = json.load(file)
    if not panels(results):
        print(f"plot_peers.py: {sys.argv[1]} has no library with all ten ufuncs", file=sys.stderr)
        return 1
    try:
        plot(results, sys.argv[2])
    except ImportError as error:
        print(f"plot_peers.py: {sys.executable} has no matplotlib: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
