"""Tables of docs/performance.md, from the committed results. Each function takes the results and gives Markdown."""
import re
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
import compare_results  # noqa: E402
from measured import POLICIES, SIZES, UFUNCS, Results, geometric_mean, reuse_cells  # noqa: E402

Row = Dict[str, Any]


def size_text(nbytes: int) -> str:
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if nbytes >= 1 << shift:
            return f"{nbytes / (1 << shift):.4g} {unit}"
    return f"{nbytes} B"


def short(value: Optional[float]) -> str:
    """Three digits, and no exponent."""
    if value is None:
        return ""
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:#.3g}" if abs(value) >= 0.001 else f"{value:.6f}"


def markdown(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(header)
    lines = [names, ["---"] * len(names), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def in_order(values: Iterable[Any]) -> List[Any]:
    return list(dict.fromkeys(values))


def pivoted(rows: List[Row], label: Callable[[Row], str], cell: Callable[[Row], str], first: str) -> str:
    """A line for each label, a column for each strategy."""
    strategies = in_order(row["strategy"] for row in rows)
    cells = {(label(row), row["strategy"]): cell(row) for row in rows}
    return markdown([first, *strategies],
                    ([name, *(cells.get((name, strategy), "") for strategy in strategies)]
                     for name in in_order(label(row) for row in rows)))


def ms_and_share(row: Row) -> str:
    return short(row["median_ms"]) + (f" ({row['share']:.2f})" if row.get("share") else "")


def ns_of_one(row: Row) -> float:
    return float(row["ns"]) if "ns" in row else 1e6 * row["median_ms"]


def by_size(suite: str) -> Callable[[Results], str]:
    """ms, and in brackets the share of the limit."""
    def table(results: Results) -> str:
        rows = sorted(results.cases(suite), key=lambda row: (row["case"], row["bytes"]))
        several = len({row["case"] for row in rows}) > 1
        return pivoted(rows, lambda row: (f"{row['case']}, " if several else "") + size_text(row["bytes"]),
                       ms_and_share, "bytes")
    return table


def allocation(results: Results) -> str:
    """ns for a block, with one thread and with as many as there were."""
    rows = [row for row in results.cases("alloc") if "threads" in row]
    ends = {1, max((row["threads"] for row in rows), default=1)}
    return pivoted([row for row in rows if row["threads"] in ends],
                   lambda row: f"{row['case']}, {size_text(row['bytes'])}", lambda row: short(ns_of_one(row)),
                   "ns a block")


def traces(results: Results) -> str:
    """Of replayed traces: time, and what the allocator held over what was alive."""
    def cell(row: Row) -> str:
        held = f" ({row['footprint_over_live']:.2f})" if row.get("footprint_over_live") else ""
        return short(row["median_ms"]) + held
    return pivoted([row for row in results.cases("alloc") if "threads" not in row],
                   lambda row: f"{row['case']}, {size_text(row['bytes'])}", cell, "ms (held over alive)")


def launches(results: Results) -> str:
    """µs, by operands."""
    rows = [row for row in results.cases("launch") if "operands" in row]
    return pivoted(rows, lambda row: row["case"].replace("launch, ", ""), lambda row: short(ns_of_one(row) / 1e3), "")


def rates(results: Results) -> str:
    """GB/s, and in brackets the share of the limit."""
    def cell(row: Row) -> str:
        rate = row.get("gb_per_s") or row["bytes"] / row["median_ms"] / 1e6
        return short(rate) + (f" ({row['share']:.2f})" if row.get("share") else "")
    return pivoted(results.cases("stream"), lambda row: f"{row['case']}, {size_text(row['bytes'])}", cell, "GB/s")


def regret(results: Results) -> str:
    """How auto compares with the best other policy, and with explicit copies of pinned memory."""
    rows = []
    for name, nbytes in SIZES.items():
        cells = [medians for _, medians in reuse_cells(results, nbytes) if {*POLICIES, "auto"} <= set(medians)]
        over_best = [m["auto"] / min(m[policy] for policy in POLICIES) for m in cells]
        over_pinned = [m["auto"] / m["pinned"] for m in cells if "pinned" in m]
        rows.append([size_text(nbytes), str(len(cells)), f"{geometric_mean(over_best):.2f}", f"{max(over_best):.2f}",
                     f"{geometric_mean(over_pinned):.2f}", f"{min(over_pinned):.2f} to {max(over_pinned):.1f}",
                     f"{sum(ratio < 1 for ratio in over_pinned)}"])
    return markdown(["arrays of", "cells", "auto over the best other policy, mean", "worst",
                     "auto over pinned copies, mean", "from, to", "cells where auto is faster"], rows)


def lost(results: Results) -> str:
    """Where explicit copies win by most: for each thing that the host does, the worst cell of 1 GiB."""
    worst: Dict[str, Tuple[float, Row, Dict[str, float]]] = {}
    for facts, medians in reuse_cells(results, SIZES["1G"]):
        ratio = medians["auto"] / medians["pinned"]
        if ratio > worst.get(facts["action"], (0.0,))[0]:
            worst[facts["action"]] = ratio, facts, medians
    return markdown(["the host", "kernel, passes", "auto, ms", "pinned copies, ms", "auto over pinned"],
                    ([{"nothing": "does nothing", "overwrite": "overwrites the input", "read": "reads the result",
                       "update": "updates a tenth of the input", "sample": "reads 16 elements of the result"}[action],
                      f"{facts['kernel']}, {facts['passes']}", short(medians["auto"]), short(medians["pinned"]),
                      f"{ratio:.2f}"]
                     for action, (ratio, facts, medians) in sorted(worst.items(), key=lambda item: -item[1][0])))


def chain(results: Results) -> str:
    rows = sorted(results.cases("placement", case="ten kernels"), key=lambda row: int(row["bytes"]))
    return pivoted(rows, lambda row: size_text(row["bytes"]), lambda row: short(row["median_ms"]), "arrays of")


def host_to_host(results: Results) -> str:
    rows = results.cases("placement", case="log, host to host")
    return pivoted(rows, lambda row: size_text(row["bytes"]), lambda row: short(row["median_ms"]), "arrays of")


def numpy_ufuncs(results: Results) -> str:
    """Geometric means over the ten ufuncs, of calls alone."""
    medians = {(row["case"], row["strategy"]): row for row in results.cases("numpy")}
    strategies = [name for name in in_order(row["strategy"] for row in results.cases("numpy"))
                  if not name.endswith((": read", ": call")) and all((f"{ufunc} of float64", name) in medians
                                                                     for ufunc in UFUNCS)]

    def mean(dtype: str, strategy: str) -> str:
        return short(geometric_mean(medians[f"{name} of {dtype}", strategy]["median_ms"] for name in UFUNCS))

    return markdown(["ten ufuncs, ms", *strategies],
                    ([dtype, *(mean(dtype, strategy) for strategy in strategies)] for dtype in ("float64", "float32")))


def peer_ufuncs(results: Results) -> str:
    """Geometric means over the ten ufuncs."""
    medians = {(row["case"], row["strategy"]): row for row in results.cases("peers")}
    peers = in_order(row["strategy"] for row in results.cases("peers"))
    lines = []
    for way in ("host to host", "resident"):
        for dtype in ("float64", "float32"):
            cells = [f"{dtype}, {way}"]
            for peer in peers:
                rows = [medians.get((f"{name} of {dtype}, {way}", peer)) for name in UFUNCS]
                cells.append("" if None in rows else mean_with_share([row for row in rows if row]))
            lines.append(cells)
    return markdown(["ten ufuncs, ms", *peers], lines)


def mean_with_share(rows: List[Row]) -> str:
    text = short(geometric_mean(row["median_ms"] for row in rows))
    shares = [row["share"] for row in rows if "share" in row]
    return text + (f" ({geometric_mean(shares):.2f})" if len(shares) == len(rows) else "")


def peer_rest(results: Results) -> str:
    rows = [row for row in results.cases("peers") if not re.match(rf"(?:{'|'.join(UFUNCS)}) of ", row["case"])]
    return pivoted(rows, lambda row: row["case"], ms_and_share, "ms")


def programs(results: Results) -> str:
    """Both versions of each program: seconds, and lines of code where they were counted."""
    rows = results.cases("programs")
    found = {(row["case"], row["strategy"]): row for row in rows}
    lines = []
    for case in in_order(row["case"] for row in rows):
        explicit, ferry = found.get((case, "explicit")), found.get((case, "ferry"))
        if explicit and ferry:
            whole = ferry.get("whole_ratio")
            lines.append([case, short(explicit["median_ms"]), short(ferry["median_ms"]),
                          f"{ferry['median_ms'] / explicit['median_ms']:.2f}", f"{whole:.2f}" if whole else "",
                          str(explicit.get("lines", "")), str(ferry.get("lines", ""))])
    return markdown(["program", "explicit copies, ms", "ferry, ms", "ferry over explicit", "with memory and input",
                     "lines, explicit", "lines, ferry"], lines)


def predicted(suite: str) -> Callable[[Results], str]:
    """The error of the simulator's prediction, by strategy, as benchmarks/model_error.py has written it."""
    def table(results: Results) -> str:
        rows = [row for row in results.suite(f"model-{suite}")["summaries"] if row["aspect"] is None]
        return markdown(["strategy", "cases", "error of the median, median", "cases within 15 %"],
                        ([row["strategy"], str(row["cases"]), f"{100 * row['median_error']:.1f} %",
                          f"{100 * row['within']:.0f} %"] for row in rows))
    return table


def again(results: Results) -> str:
    """Second runs, where there are some in the folder `again`: how many cases are within the first one's spread."""
    rows = []
    for path in sorted((results.folder / "again").glob("*.json")):
        first, second = results.suite(path.stem), compare_results.load(str(path))
        pairs, _ = compare_results.compare(first, second, compare_results.WIDEN)
        within = sum(pair.reproduced for pair in pairs) / len(pairs)
        near = [sum(abs(pair.ratio - 1) <= part for pair in pairs) / len(pairs) for part in (0.05, 0.1, 0.25)]
        rows.append([path.stem, str(first["date"])[:10], str(second["date"])[:10], str(len(pairs)),
                     *(f"{100 * part:.0f} %" for part in (within, *near))])
    header = ["suite", "first run", "second", "cases", "within the spread", "medians within 5 %", "10 %", "25 %"]
    return markdown(header, rows) if rows else ""


def home_again(results: Results) -> str:
    """1 GiB home by prefetch, in each run of the foundation's benchmark."""
    rows = []
    for run in sorted(results.foundations(), key=lambda run: str(run["date"])):
        found = {(row["case"], row["strategy"]): row for row in run["cases"]}
        home, away = found["to host", "prefetch"], found["to device", "prefetch"]
        rows.append([str(run["date"])[:16].replace("T", " "), short(away["median_ms"]), short(home["median_ms"]),
                     f"{short(home['min_ms'])} to {short(home['max_ms'])}",
                     short(found["to host", "pinned copy"]["median_ms"])])
    return markdown(["run of", "to the device, ms", "home, ms", "least to most", "home as a pinned copy"], rows)
