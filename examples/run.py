"""
Runs the examples and scripts plain and under `python -m ferry`, and compares what they print and plot.

    run.py [--size N] [--time TIMES] [--ferry "OPTIONS"] [NAME…]

Names are those of the files in python/ and scripts/, without .py; all of them without names. Texts are the same when
they differ by at most one unit of a number's last printed digit, plots when no channel of a pixel differs by more than
2 of 255: a device rounds the last bits of a logarithm in its own way. Exit status: 0 the same, 1 not, 77 nothing could
be run.
"""
import argparse
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

HERE = Path(__file__).resolve().parent
NEEDS = {"feature_table": ["pandas"], "image_stack": ["matplotlib"]}
PLOTS = {"image_stack": "--plot"}
PIXEL_TOLERANCE = 2
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


class Run(NamedTuple):
    """What a program printed, its status, the file of its plot, and the seconds of each time it was repeated."""
    out: str
    error: str
    status: int
    plot: Optional[Path]
    seconds: List[float]


def programs() -> Dict[str, Path]:
    """By name: the examples, which import ferry, then the scripts, which do not."""
    examples = [path for path in sorted((HERE / "python").glob("*.py")) if path.stem != "proof"]
    return {path.stem: path for path in examples + sorted((HERE / "scripts").glob("*.py"))}


def lacks(name: str) -> List[str]:
    """The packages that the program needs and that are not there."""
    return [package for package in NEEDS.get(name, []) if importlib.util.find_spec(package) is None]


def is_script(path: Path) -> bool:
    return path.parent.name == "scripts"


def environment(path: Path) -> Dict[str, str]:
    """An example's own count includes what the host touches, which the simulator sees only when asked to."""
    return dict(os.environ) if is_script(path) else {**os.environ, "FERRY_SIM_TOUCH": "mprotect"}


def run(path: Path, folder: Path, before: List[str], size: Optional[int], times: int = 1) -> Run:
    """Runs the program, in the folder, with the interpreter's arguments before it; a script as often as times says."""
    words = [sys.executable, "-B", *before]
    if times > 1:
        words += [str(HERE / "repeat.py"), str(times)]
    words.append(str(path))
    if is_script(path) and size is not None:
        words += ["--size", str(size)]
    plot = folder / f"{path.stem}{'_ferry' if before else ''}.png" if path.stem in PLOTS else None
    if plot is not None:
        words += [PLOTS[path.stem], str(plot)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
                          env=environment(path), stdin=subprocess.DEVNULL)
    seconds = [float(text) for text in re.findall(r"^seconds ([\d.]+)$", done.stderr, re.MULTILINE)]
    return Run(done.stdout, done.stderr, done.returncode, plot, seconds)


def same_numbers(one: str, two: str) -> bool:
    """Whether two printed numbers are apart by one unit of the last digit at most."""
    if one == two:
        return True
    places = [len(number.partition(".")[2]) for number in (one, two)]
    return places[0] == places[1] and abs(Decimal(one) - Decimal(two)) <= Decimal(1).scaleb(-places[0])


def difference_of_texts(one: str, two: str) -> Optional[str]:
    """The first lines that are not the same; None where all are. How many blanks there are does not count."""
    a, b = one.splitlines(), two.splitlines()
    if len(a) != len(b):
        return f"{len(a)} lines and {len(b)}"
    for left, right in zip(a, b):
        words = [_NUMBER.sub("#", line).split() for line in (left, right)]
        numbers = [_NUMBER.findall(line) for line in (left, right)]
        if words[0] != words[1] or not all(map(same_numbers, *numbers)):
            return f"{left!r} and {right!r}"
    return None


def difference_of_plots(one: Optional[Path], two: Optional[Path]) -> Optional[str]:
    """What sets two pictures apart; None where nothing does, or there are none."""
    if one is None or two is None:
        return None
    import numpy as np
    from matplotlib import image
    a, b = (np.rint(255 * image.imread(path)) for path in (one, two))
    if a.shape != b.shape:
        return f"plots of {a.shape} and {b.shape}"
    most = int(np.abs(a - b).max())
    return f"plots whose pixels differ by {most}" if most > PIXEL_TOLERANCE else None


def difference(plain: Run, ferry: Run) -> Optional[str]:
    """Why the run under ferry is not as good as the plain one; None where it is."""
    for one, how in ((plain, "plain"), (ferry, "with ferry")):
        if one.status != 0:
            return f"status {one.status} {how}:\n{one.out}{one.error}"
    return difference_of_texts(plain.out, ferry.out) or difference_of_plots(plain.plot, ferry.plot)


def report(path: Path, plain: Run, ferry: Run) -> str:
    """Of an example that its claims hold; of a script what crossed, or, where it was timed, seconds."""
    if not is_script(path):
        return "holds, plain and under python -m ferry"
    if plain.seconds:
        factor = min(plain.seconds[1:]) / min(ferry.seconds[1:])
        return "".join(f"{run.seconds[0]:9.3f}{min(run.seconds[1:]):9.3f}" for run in (plain, ferry)) + f"{factor:9.2f}"
    return next((line for line in ferry.error.splitlines() if line.startswith("ferry: ")), "")


def compare(path: Path, options: argparse.Namespace) -> Tuple[str, bool]:
    """What is to be said of the program, and whether all is well."""
    times = options.time if is_script(path) else 1
    with tempfile.TemporaryDirectory() as folder:
        plain, ferry = (run(path, Path(folder), before, options.size, times)
                        for before in ([], ["-m", "ferry", "--report", *shlex.split(options.ferry)]))
        found = difference(plain, ferry)
    return (f"differs: {found}", False) if found is not None else (report(path, plain, ferry), True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, help="elements that the scripts work on")
    parser.add_argument("--time", type=int, default=1, metavar="TIMES",
                        help="print seconds: each script is run so often in one process")
    parser.add_argument("--ferry", default="", metavar="OPTIONS", help="further options of python -m ferry")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of: " + ", ".join(programs()))
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(programs()))
    if unknown:
        parser.error(f"no such program: {', '.join(unknown)}")
    if options.time < 1:
        parser.error("a program is run once or more")
    return options


def main() -> int:
    options = parse()
    if importlib.util.find_spec("ferry") is None:
        print("skipped: no ferry")
        return 77
    chosen = {name: path for name, path in programs().items()
              if (not options.names or name in options.names) and (options.time == 1 or is_script(path))}
    if options.time > 1:
        print(f"{'seconds':16}{'plain':>18}{'with ferry':>18}")
        print(f"{'':16}" + f"{'first':>9}{'best':>9}" * 2 + f"{'times':>9}")
    results = []
    for name, path in chosen.items():
        missing = lacks(name)
        line, well = (f"skipped: no {missing[0]}", None) if missing else compare(path, options)
        results.append(well)
        print(f"{name:16}{line}", flush=True)
    return 1 if False in results else 0 if True in results else 77


if __name__ == "__main__":
    sys.exit(main())
