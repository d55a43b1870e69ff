"""Draws what `ferry bench SUITE --json FILE` has written.

    python3 tools/plot_bench.py transfer.json transfer.svg

transfer, pingpong, producer: time by size beside the limit, the share of the limit, and what crossed; reuse: the regret of
auto; alloc: throughput by threads; launch: time by operands; stream: rates beside the limits; anything else: bars. In any
format that matplotlib writes, which it needs.
"""
import argparse
import json
import math
import sys

# Okabe and Ito's colours, which people who see colours differently can tell apart; markers say the same once more.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
MARKERS = "osD^vPX*"
# What programs do without the library is dashed, and its policies look the same in every picture.
STYLES = {
    "pageable": ("#999999", "v", "--"),
    "pinned, one buffer": ("#56b4e9", "v", "--"),
    "pinned": ("#56b4e9", "^", "--"),
    "pinned, pipelined": ("#000000", "^", "--"),
    "pinned, zero-copy": ("#e69f00", "^", "--"),
    "read-mostly": ("#999999", "X", "--"),
    "none": ("#cc79a7", "X", "-"),
    "prefetch": ("#0072b2", "s", "-"),
    "prefetch, result kept": ("#0072b2", "s", ":"),
    "remote": ("#009e73", "D", "-"),
    "auto": ("#d55e00", "o", "-"),
    "auto, result kept": ("#d55e00", "o", ":"),
}
ACTIONS = ("nothing", "overwrite", "update", "read", "sample")
BARS_MOST = 60


def size_text(size):
    for unit in "B", "KiB", "MiB":
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"


def style(name, number):
    """Colour, marker and line of a strategy; those that are not known are told apart by their number."""
    return STYLES.get(name, (COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)], ("-", "--", ":")[number // len(COLOURS) % 3]))


def look(colour, marker, line):
    """Diamonds are hollow and larger, so that what coincides with them is seen."""
    hollow = marker == "D"
    return {"color": colour, "marker": marker, "linestyle": line, "markersize": 7 if hollow else 4, "markerfacecolor": "none" if hollow else colour}


def are_results(results):
    needed = {"case", "strategy", "bytes", "runs", "median_ms", "min_ms", "max_ms"}
    cases = results.get("cases") if isinstance(results, dict) and "device" in results else None
    return isinstance(cases, list) and all(isinstance(case, dict) and needed <= set(case) for case in cases)


def valid(results):
    """Cases with a result that was right."""
    return [case for case in results["cases"] if case.get("valid", True) and case["runs"] > 0]


def in_order(values):
    return list(dict.fromkeys(values))


def title(results):
    """What was measured where, and that times are modelled when they are."""
    commit = results.get("commit", "unknown")
    parts = [results.get("suite", "ferry bench"), results["device"], f"commit {commit[:10]}", results.get("date", "")[:10]]
    line = " · ".join(part for part in parts if part)
    return line + ("\ntimes are modelled by the simulator's clock, not measured" if results.get("clock") == "modelled" else "")


def ticks_of_sizes(axes, sizes):
    step = max(1, math.ceil(len(sizes) / 6))
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes[::step], [size_text(size) for size in sizes[::step]])
    axes.minorticks_off()
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)


def by_strategy(cases):
    strategies = in_order(case["strategy"] for case in cases)
    return [(name, style(name, number), [case for case in cases if case["strategy"] == name]) for number, name in enumerate(strategies)]


def draw_times(axes, cases, sizes):
    for name, (colour, marker, line), own in by_strategy(cases):
        x = [case["bytes"] for case in own]
        axes.plot(x, [case["median_ms"] for case in own], label=name, linewidth=1.2, **look(colour, marker, line))
        if all("q1_ms" in case for case in own):
            axes.fill_between(x, [case["q1_ms"] for case in own], [case["q3_ms"] for case in own], color=colour, alpha=0.2, linewidth=0)
    limits = {case["bytes"]: case["limit_ms"] for case in cases if "limit_ms" in case}
    axes.plot(sorted(limits), [limits[size] for size in sorted(limits)], color="#000000", linewidth=2.5, alpha=0.35, label="the machine's limit")
    axes.set_yscale("log")
    axes.set_ylabel("ms (median; shaded: quartiles)")
    axes.set_title("time by size", fontsize=9)
    ticks_of_sizes(axes, sizes)


def draw_shares(axes, cases, sizes):
    for name, (colour, marker, line), own in by_strategy([case for case in cases if "share" in case]):
        axes.plot([case["bytes"] for case in own], [case["share"] for case in own], linewidth=1.2, **look(colour, marker, line))
    axes.axhline(1, color="#000000", linewidth=2.5, alpha=0.35)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("limit / median")
    axes.set_title("share of the limit (1: as fast as the machine can)", fontsize=9)
    ticks_of_sizes(axes, sizes)


def draw_crossings(axes, cases):
    counted = [case for case in cases if "to_device_x" in case]
    names = in_order(case["strategy"] for case in counted)
    largest = {name: max((case for case in counted if case["strategy"] == name), key=lambda case: case["bytes"]) for name in names}
    for number, name in enumerate(names):
        case = largest[name]
        axes.barh(number - 0.2, case["to_device_x"], 0.38, color="#0072b2", label="to the device" if number == 0 else None)
        axes.barh(number + 0.2, case["to_host_x"], 0.38, color="#e69f00", label="to the host" if number == 0 else None)
    axes.set_yticks(range(len(names)), [f"{name}, {size_text(largest[name]['bytes'])}" for name in names], fontsize=7)
    axes.invert_yaxis()
    axes.axvline(1, color="#000000", linewidth=1, linestyle="--")
    axes.set_xlabel("bytes over those of the array (dashed: once)")
    axes.set_title("crossings" if names else "crossings were not counted", fontsize=9)
    if names:
        axes.legend(fontsize=7)


def put_legend(axes, handles, labels, columns):
    """In a place of its own, which any version of matplotlib keeps clear."""
    axes.axis("off")
    axes.legend(handles, labels, fontsize=8, loc="center", ncol=columns, frameon=False)


def draw_turns(figure, results):
    cases = valid(results)
    sizes = sorted({case["bytes"] for case in cases})
    figure.set_size_inches(15, 6)
    grid = figure.add_gridspec(2, 3, height_ratios=(1, 0.12))
    times, shares, crossings = (figure.add_subplot(grid[0, column]) for column in range(3))
    draw_times(times, cases, sizes)
    draw_shares(shares, cases, sizes)
    draw_crossings(crossings, cases)
    put_legend(figure.add_subplot(grid[1, :]), *times.get_legend_handles_labels(), columns=7)


def draw_regret(figure, results):
    """A panel for each kernel: what the host does and how often kernels go over an array, by size."""
    cells = [case for case in valid(results) if "regret" in case]
    kernels = in_order(case["kernel"] for case in cells)
    sizes = sorted({case["size_bytes"] for case in cells})
    rows = [(action, passes) for action in ACTIONS for passes in sorted({case["passes"] for case in cells})
            if any(case["action"] == action and case["passes"] == passes for case in cells)]
    figure.set_size_inches(3 + 0.75 * len(sizes) * len(kernels), 2.2 + 0.27 * len(rows))
    panels = figure.subplots(1, len(kernels), sharey=True, squeeze=False)[0]
    for axes, kernel in zip(panels, kernels):
        regret = {(case["action"], case["passes"], case["size_bytes"]): case["regret"] for case in cells if case["kernel"] == kernel}
        grid = [[regret.get((*row, size), math.nan) for size in sizes] for row in rows]
        picture = axes.imshow(grid, cmap="cividis_r", vmin=1, vmax=1.5, aspect="auto")
        for y, row in enumerate(grid):
            for x, value in enumerate(row):
                if not math.isnan(value):
                    axes.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=6, color="#ffffff" if value > 1.25 else "#000000")
        axes.set_xticks(range(len(sizes)), [size_text(size) for size in sizes], fontsize=7, rotation=45)
        axes.set_title(kernel, fontsize=9)
    panels[0].set_yticks(range(len(rows)), [f"{action}, {passes} pass{'es' if passes > 1 else ''}" for action, passes in rows], fontsize=7)
    figure.colorbar(picture, ax=list(panels), label="time of auto over the best other policy (1 is best)", extend="both")


def rate_of(case):
    return case.get("blocks_per_s") or 1e3 * case["operations"] / case["median_ms"]


def draw_throughput(figure, results):
    """A panel for each pattern and size; log by log, so that a line along the diagonal is perfect scaling."""
    cases = [case for case in valid(results) if "threads" in case and ("blocks_per_s" in case or "operations" in case)]
    keys = in_order((case["case"].split(",")[0], case["bytes"]) for case in cases)
    threads = sorted({case["threads"] for case in cases})
    columns = min(4, len(keys))
    rows = math.ceil(len(keys) / columns)
    figure.set_size_inches(1 + 3.4 * columns, 1.6 + 2.7 * rows)
    grid = figure.add_gridspec(rows + 1, columns, height_ratios=(1,) * rows + (0.2,))
    drawn = {}
    for number, key in enumerate(keys):
        axes = figure.add_subplot(grid[number // columns, number % columns])
        for name, own in draw_scaling(axes, [case for case in cases if (case["case"].split(",")[0], case["bytes"]) == key]):
            drawn.setdefault(name, own)
        axes.set_xticks(threads, [str(count) for count in threads])
        axes.set_title(f"{key[0]}, {size_text(key[1])}", fontsize=9)
    figure.supxlabel("threads", fontsize=9)
    figure.supylabel("blocks allocated and freed a second", fontsize=9)
    put_legend(figure.add_subplot(grid[rows, :]), list(drawn.values()), list(drawn), columns=5)


def draw_scaling(axes, cases):
    """Names and lines."""
    lines = []
    for name, (colour, marker, line), own in by_strategy(cases):
        own = sorted(own, key=lambda case: case["threads"])
        lines += [(name, axes.plot([case["threads"] for case in own], [rate_of(case) for case in own], linewidth=1.2,
                                   **look(colour, marker, line))[0])]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    return lines


def draw_launches(figure, results):
    cases = [case for case in valid(results) if "operands" in case]
    figure.set_size_inches(8, 5)
    axes = figure.subplots()
    for name, (colour, marker, line), own in by_strategy(cases):
        own = sorted(own, key=lambda case: case["operands"])
        x, scale = [case["operands"] for case in own], 1e3
        axes.plot(x, [scale * case["median_ms"] for case in own], label=name, **look(colour, marker, line))
        axes.fill_between(x, [scale * case["q1_ms"] for case in own], [scale * case["q3_ms"] for case in own], color=colour, alpha=0.2, linewidth=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("operands")
    axes.set_ylabel("microseconds a launch (median; shaded: quartiles)")
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.legend(fontsize=8)


def draw_rates(figure, results):
    """Groups of bars: an operation each, a bar for each strategy, with a tick where the limit is."""
    cases = [case for case in valid(results) if case["median_ms"] > 0 and "gb_per_s" in case]
    operations, strategies = in_order(case["case"] for case in cases), in_order(case["strategy"] for case in cases)
    found = {(case["case"], case["strategy"]): case for case in sorted(cases, key=lambda case: case["bytes"])}
    figure.set_size_inches(max(8, 1.6 + 0.34 * len(operations) * len(strategies)), 5)
    axes = figure.subplots()
    width = 0.8 / max(len(strategies), 1)
    for number, name in enumerate(strategies):
        own = [(at, found[operation, name]) for at, operation in enumerate(operations) if (operation, name) in found]
        x = [at + (number - (len(strategies) - 1) / 2) * width for at, _ in own]
        bars = axes.bar(x, [case["gb_per_s"] for _, case in own], width * 0.9, color=style(name, number)[0], label=name)
        axes.bar_label(bars, fmt="%.3g", fontsize=7, label_type="center", color="#ffffff")
        limits = [(place, case["gb_per_s"] / case["share"]) for place, (_, case) in zip(x, own) if case.get("share")]
        axes.plot([place for place, _ in limits], [rate for _, rate in limits], "_", color="#000000", markersize=12)
    axes.set_xticks(range(len(operations)), operations, fontsize=8, rotation=20, ha="right")
    axes.set_yscale("log")
    axes.set_ylim(bottom=min([case["gb_per_s"] for case in cases] + [10]) / 10)
    axes.set_ylabel("GB/s (dashes: the limit)")
    axes.legend(fontsize=8)


def draw_bars(figure, results):
    """Medians with their spread, whatever they are of."""
    cases = [case for case in valid(results) if case["median_ms"] > 0]
    shown = cases[:BARS_MOST]
    figure.set_size_inches(9, 1.2 + 0.2 * len(shown))
    axes = figure.subplots()
    numbers = {name: number for number, name in enumerate(in_order(case["strategy"] for case in shown))}
    for at, case in enumerate(shown):
        low, high = case.get("q1_ms", case["min_ms"]), case.get("q3_ms", case["max_ms"])
        spread = [[max(0, case["median_ms"] - low)], [max(0, high - case["median_ms"])]]
        axes.barh(at, case["median_ms"], color=style(case["strategy"], numbers[case["strategy"]])[0], xerr=spread, error_kw={"linewidth": 0.8})
    axes.set_yticks(range(len(shown)), [f"{case['case']}, {case['strategy']}, {size_text(case['bytes'])}" for case in shown], fontsize=6)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("ms" + (f" (the first {BARS_MOST} of {len(cases)} cases)" if len(shown) < len(cases) else ""))


def drawing(results):
    """By the suite's name, or by what the cases have in files that do not give it."""
    fields = set().union(*valid(results))
    known = {"transfer": draw_turns, "pingpong": draw_turns, "producer": draw_turns, "reuse": draw_regret, "alloc": draw_throughput,
             "launch": draw_launches, "stream": draw_rates}
    needs = {draw_turns: {"limit_ms"}, draw_regret: {"regret"}, draw_throughput: {"threads"}, draw_launches: {"operands"},
             draw_rates: {"gb_per_s"}}
    draw = known.get(results.get("suite"), draw_regret if "regret" in fields else draw_bars)
    return draw if needs.get(draw, set()) <= fields else draw_bars


def plot(results, path):
    import matplotlib
    matplotlib.use("Agg")
    # The same file makes the same picture; text stays text.
    matplotlib.rcParams.update({"svg.hashsalt": "ferry", "svg.fonttype": "none"})
    import matplotlib.pyplot as plt

    figure = plt.figure(layout="constrained")
    drawing(results)(figure, results)
    figure.suptitle(title(results), fontsize=11)
    figure.savefig(path, dpi=120, metadata={"Date": None} if path.endswith(".svg") else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("results", nargs="?", help="the JSON file")
    parser.add_argument("picture", nargs="?", help="the picture to write, such as transfer.svg or transfer.png")
    parser.add_argument("--ready", action="store_true", help="only says whether matplotlib is there: exit status 0 or 1")
    arguments = parser.parse_args()
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        parser.exit(1, f"plot_bench.py: {sys.executable} has no matplotlib: {error}\n")
    if arguments.ready:
        return
    if not arguments.picture:
        parser.error("a JSON file and the picture to write are needed")
    try:
        with open(arguments.results) as stream:
            results = json.load(stream)
    except (OSError, ValueError) as error:
        parser.exit(1, f"plot_bench.py: {arguments.results}: {error}\n")
    if not are_results(results):
        parser.exit(1, f"plot_bench.py: {arguments.results} holds no results of ferry bench\n")
    if not valid(results):
        parser.exit(1, f"plot_bench.py: {arguments.results}: there is no case to draw\n")
    try:
        plot(results, arguments.picture)
    except OSError as error:
        parser.exit(1, f"plot_bench.py: {arguments.picture}: {error.strerror}\n")


if __name__ == "__main__":
    main()
