"""Plots live bytes over time from what `ferry run --report=FILE.json` or `ferry report --json` has written.

    python3 tools/plot_run.py run.json -o run.png

A panel for each of the processes that held most, on one axis of time; needs matplotlib.
"""
import argparse
import json
import os

HOMES = ("managed", "plain")
COLOURS = {"managed": "#2f7ed8", "plain": "#c8c8c8"}
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def peak(process):
    return max((sample["peak_bytes"] for sample in process["samples"]), default=0)


def unit_of(most):
    """The name, and how many bytes it is."""
    power = min((max(most, 1).bit_length() - 1) // 10, len(UNITS) - 1)
    return UNITS[power], 1 << (10 * power)


def steps(process, began_ns):
    """Seconds, and bytes by home, from each sample to the next; the last goes on to the process's end."""
    samples = process["samples"]
    times = [process["began_ns"] + sample["time_ns"] for sample in samples]
    times.append(max(times[-1], process["began_ns"] + process["lasted_ns"]))
    held = {home: [sample[f"{home}_bytes"] for sample in samples] for home in HOMES}
    peaks = [sample["peak_bytes"] for sample in samples]
    return [(time - began_ns) / 1e9 for time in times], {**held, "peak": peaks}


def draw(axes, process, began_ns):
    unit, bytes_ = unit_of(peak(process))
    seconds, held = steps(process, began_ns)
    values = {name: [value / bytes_ for value in series + series[-1:]] for name, series in held.items()}
    axes.stackplot(seconds, *(values[home] for home in HOMES), labels=HOMES, colors=[COLOURS[home] for home in HOMES], step="post")
    axes.step(seconds, values["peak"], where="post", color="#404040", linewidth=0.7, label="most within the sample")
    axes.set_title(f"{os.path.basename(process['program'])} ({process['pid']}): {process['command'][:80]}", fontsize=8, loc="left")
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)


def plot(processes, path, title):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    began_ns = min(process["began_ns"] for process in processes)
    figure, panels = plt.subplots(len(processes), sharex=True, squeeze=False, figsize=(9, 1 + 2 * len(processes)), layout="constrained")
    for axes, process in zip(panels[:, 0], processes):
        draw(axes, process, began_ns)
    panels[0, 0].legend(fontsize=7, loc="upper right")
    panels[-1, 0].set_xlabel("seconds")
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("report", help="the JSON file")
    parser.add_argument("-o", "--output", default="run.png", help="the picture, in any format that matplotlib writes (run.png)")
    parser.add_argument("--processes", type=int, default=4, metavar="N", help="at most so many, of those that held most (4)")
    parser.add_argument("--title", default="Live bytes of large blocks")
    arguments = parser.parse_args()
    with open(arguments.report) as stream:
        processes = [process for process in json.load(stream)["processes"] if process["samples"]]
    if not processes:
        parser.exit(1, f"{arguments.report}: no process had large blocks\n")
    largest = sorted(processes, key=peak, reverse=True)[:max(arguments.processes, 1)]
    plot(sorted(largest, key=lambda process: process["began_ns"]), arguments.output, arguments.title)


if __name__ == "__main__":
    main()
