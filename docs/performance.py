#!/usr/bin/env python3
"""Makes docs/performance.md from the committed results, and the plots in docs/plots.

    performance.py [--check | --write | --plots] [--results FOLDER]

The text is in docs/performance_text.py; a part whose suite has no result is left out. `[[NAME 0.0]]` there becomes the
figure of that name (docs/measured.py), with as many decimals. `--plots` draws a picture for each result that has one,
by tools/plot_bench.py or benchmarks/plot_peers.py, which take matplotlib. `--check` fails when the page, or the commit
that a plot names, is another.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator, List, Optional

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import figures  # noqa: E402
import measured  # noqa: E402
from performance_text import PARTS, Part  # noqa: E402

PAGE = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "plots"
PLOTTERS = {"peers": "benchmarks/plot_peers.py", "numpy": "benchmarks/plot_peers.py"}  # others: tools/plot_bench.py


def unwrapped(text: str) -> str:
    """A line for each paragraph and item: where lines end must not depend on what figures are filled in."""
    lines: List[str] = []
    for line in text.strip("\n").split("\n"):
        if lines and lines[-1] and line and not line.startswith(("- ", "    ")) and not lines[-1].startswith("    "):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return "\n".join(lines)


def filled(text: str, results: measured.Results) -> str:
    """The text with its figures, marked as docs/figures.py wants them."""
    marked = re.sub(r"\[\[(.+?) ([\d.,]+|\w+)\]\]", r"<!--=\1-->\2<!--/-->", unwrapped(text))
    made, problems = figures.regenerate(marked, results)
    unknown = [problem for problem in problems if " is " not in problem or "neither" in problem]
    if unknown:
        raise SystemExit(f"performance.py: {'; '.join(unknown)}")
    return made


def made(table: str) -> str:
    return f"<!--made-->\n\n{table}\n\n<!--/-->"


def part_text(part: Part, results: measured.Results) -> str:
    pieces = [f"## {part.title}", filled(part.text, results)]
    for before, table in part.tables:
        made_table = table(results)
        if made_table:
            pieces += [filled(before, results)] if before else []
            pieces.append(made(made_table))
    for suite in part.plots:
        if (PLOTS / f"{suite}.svg").exists():
            pieces.append(f"![{part.title}](plots/{suite}.svg)")
    if part.after:
        pieces.append(filled(part.after, results))
    return "\n\n".join(pieces)


def facts(results: measured.Results) -> str:
    """Where and when: a line for each device and driver that the results name."""
    days = {}
    for suite in suites(results):
        run = results.suite(suite)
        if "." in run.get("driver", "") and run.get("date"):
            key = f"{run['device']}, driver {run['driver']}, {run['cpu']}"
            days.setdefault(key, set()).add(str(run["date"])[:10])
    return made("\n".join(f"- {key}: {', '.join(sorted(dates))}" for key, dates in sorted(days.items())))


def suites(results: measured.Results) -> List[str]:
    return sorted({suite for part in PARTS for suite in part.needs if results.has(suite)})


def page(results: measured.Results) -> str:
    parts = [part for part in PARTS if all(results.has(suite) for suite in part.needs)]
    begin = filled(PARTS[0].text, results)
    return "\n\n".join([f"# {PARTS[0].title}", begin, facts(results),
                        *(part_text(part, results) for part in parts[1:])]) + "\n"


def stale_plots(results: measured.Results, folder: Path) -> Iterator[str]:
    """A plot says of which commit's run it is."""
    for path in sorted(folder.glob("*.svg")):
        commit = str(results.suite(path.stem)["commit"])[:10] if results.has(path.stem) else None
        if commit is None or commit not in path.read_text(encoding="utf-8"):
            yield f"docs/plots/{path.name} is not of benchmarks/results/h200/{path.stem}.json: performance.py --plots"


def draw(results: measured.Results) -> int:
    status = 0
    PLOTS.mkdir(exist_ok=True)
    for suite in sorted({suite for part in PARTS for suite in part.plots if results.has(suite)}):
        plotter = ROOT / PLOTTERS.get(suite, "tools/plot_bench.py")
        command = [sys.executable, str(plotter), str(results.folder / f"{suite}.json"),
                   str(PLOTS / f"{suite}.svg")]
        status = subprocess.run(command, check=False).returncode or status
    return status


def problems(results: measured.Results, path: Path = PAGE, plots: Path = PLOTS) -> List[str]:
    found = list(stale_plots(results, plots))
    if not path.exists() or path.read_text(encoding="utf-8") != page(results):
        found.append(f"docs/{path.name} is not what the results make of it: performance.py --write")
    return found


def main(given: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="the default")
    how.add_argument("--write", action="store_true")
    how.add_argument("--plots", action="store_true", help="draws the plots, then writes the page")
    parser.add_argument("--results", type=Path, default=measured.RESULTS)
    options = parser.parse_args(given)
    results = measured.Results(options.results)
    status = draw(results) if options.plots else 0
    if options.write or options.plots:
        PAGE.write_text(page(results), encoding="utf-8")
    found = problems(results)
    for problem in found:
        print(problem)
    return 1 if found or status else 0


if __name__ == "__main__":
    sys.exit(main())
