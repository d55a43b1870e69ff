#!/usr/bin/env python3
"""Five real programs, each with explicit copies and with ferry: the same kernels and answers; times, and lines of code.

    real_programs.py PROGRAMS [--json FILE] [--time SECONDS] [--runs N] [--small] [--check] [--only NAME]...
                     [--data FILE]
    real_programs.py --lines

PROGRAMS is the folder of the programs as they were built (benchmarks/programs in the build). Each version is a process
of its own; they take turns, after a round that is not counted, until each has run N times or the time is over. What the
processes say, and the files that they write in the first two rounds, have to be the same: else the program is void, and
the exit status is 1.
`--small` takes sizes for the simulator, `--check` makes what does not hold an error. Without a device the explicit
versions run on a stand-in for CUDA's runtime, and times say nothing. k-means needs the terrain among matplotlib's
sample data, jacksboro_fault_dem.npz: --data, .deps/ or an installed matplotlib; without it that program is left out.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import machine
from result_file import from_one, spread, writable

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "benchmarks" / "programs"
TERRAIN = "jacksboro_fault_dem.npz"
VERSIONS = ("explicit", "ferry")
# What all programs of a version have in common beside the kernels: not counted as theirs.
SHARED = {"explicit": ("with_cuda.h", "with_cuda.cu"), "ferry": ("with_ferry.h", "with_ferry.c")}
GIB = 1 << 30
PROCESS_S = 120  # after which a process counts as failed


class Size(NamedTuple):
    """Of one program: its arguments, how its inputs are made, and the bytes that it works on."""
    arguments: Tuple[str, ...]
    make: Tuple[str, ...] = ()
    nbytes: int = 0
    limit: str = "8G"


class Program(NamedTuple):
    name: str
    full: Size
    small: Size


# {in} is the inputs' folder, {out} one that is empty before each run.
PROGRAMS = [
    Program("heat", Size(("--size", "8192", "--steps", "1000", "--every", "100", "{out}"), nbytes=8192 * 8192 * 4),
            Size(("--size", "128", "--steps", "40", "--every", "10", "{out}"), nbytes=128 * 128 * 4)),
    Program("kmeans", Size(("--window", "32", "--iterations", "100", "{in}/terrain.pgm", "{out}/clusters.pgm"),
                           nbytes=(344 - 31) * (403 - 31) * 32 * 32 * 4),
            Size(("--window", "4", "--iterations", "4", "{in}/terrain.pgm", "{out}/clusters.pgm"),
                 nbytes=(344 - 3) * (403 - 3) * 4 * 4 * 4)),
    Program("cg", Size(("--size", "4096", "{out}/solution"), nbytes=4096 * 4096 * (5 * 12 + 4)),
            Size(("--size", "64", "{out}/solution"), nbytes=64 * 64 * (5 * 12 + 4))),
    Program("images", Size(("{in}/images", "{out}"), ("images", "{in}/images", "--count", "24", "--size", "5120"), 0),
            Size(("{in}/images", "{out}"), ("images", "{in}/images", "--count", "5", "--size", "100"), 0)),
    Program("epoch", Size(("--budget", "256M", "{in}/samples"), ("samples", "{in}/samples", "--count", "524288"),
                          524288 * 4096, "256M"),
            Size(("--budget", "12M", "{in}/samples"), ("samples", "{in}/samples", "--count", "4096"), 4096 * 4096,
                 "12M")),
]


class Run(NamedTuple):
    """What a process said, and the digest of what it wrote."""
    said: Dict[str, Any]
    written: str

    @property
    def answer(self) -> str:
        return json.dumps(self.said["answer"], sort_keys=True) + self.written


class Place(NamedTuple):
    """Where everything lies, and which versions there are: `explicit` is the suffix of the explicit one's program."""
    programs: Path
    inputs: Path
    outputs: Path
    explicit: str


def code_lines(path: Path) -> int:
    """Lines that are neither blank nor comments alone."""
    def without(found: "re.Match[str]") -> str:
        return found[0] if found[0].startswith('"') else "\n" * found[0].count("\n")

    text = re.sub(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|//[^\n]*', without, path.read_text(), flags=re.S)
    return sum(1 for line in text.splitlines() if line.strip())


def lines_of(name: str) -> Dict[str, int]:
    return {"explicit": code_lines(SOURCES / f"{name}_explicit.cu"), "ferry": code_lines(SOURCES / f"{name}_ferry.c")}


def find_terrain(given: Optional[str]) -> Optional[Path]:
    places = [Path(given)] if given else [ROOT / ".deps" / TERRAIN]
    if not given:
        try:
            import matplotlib
            places.append(Path(matplotlib.get_data_path(), "sample_data", TERRAIN))
        except ImportError:
            pass
        places.append(Path("/usr/share/matplotlib/mpl-data/sample_data", TERRAIN))
    return next((place for place in places if place.is_file()), None)


def make_terrain(given: Optional[str], to: Path) -> bool:
    """The elevations as a PGM of 16 bits, in metres."""
    found = find_terrain(given)
    if found is None:
        return False
    import numpy as np
    heights = np.load(found)["elevation"]
    to.write_bytes(b"P5\n%d %d\n65535\n" % heights.shape[::-1] + heights.astype(">u2").tobytes())
    return True


def filled(place: Place, words: Sequence[str]) -> List[str]:
    return [word.replace("{in}", str(place.inputs)).replace("{out}", str(place.outputs)) for word in words]


def prepare(place: Place, program: Program, size: Size, data: Optional[str]) -> bool:
    """Makes what the program reads; whether it can run."""
    if program.name == "kmeans" and not make_terrain(data, place.inputs / "terrain.pgm"):
        print(f"kmeans is left out: no {TERRAIN} here (matplotlib's sample data; --data FILE)")
        return False
    if size.make:
        (place.inputs / "images").mkdir(exist_ok=True)
        subprocess.run([place.programs / "make_inputs", *filled(place, size.make)], check=True)
    return True


def digest(folder: Path) -> str:
    told = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        told.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return told.hexdigest()


def run(place: Place, program: Program, size: Size, version: str, digested: bool) -> Run:
    shutil.rmtree(place.outputs, ignore_errors=True)
    place.outputs.mkdir()
    executable = place.programs / f"{program.name}_{place.explicit if version == 'explicit' else 'ferry'}"
    environment = dict(os.environ, FERRY_LIMIT=size.limit, CUDA_MODULE_LOADING="EAGER")
    command = [executable, *filled(place, size.arguments)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=PROCESS_S)
    return Run(json.loads(done.stdout), digest(place.outputs) if digested else "")


def measure(place: Place, sizes: Dict[Program, Size], runs: int, time_s: float) -> Dict[Program, Dict[str, List[Run]]]:
    """The first round is not timed; the first two are compared file by file, all by what they say. A program that fails
    has no runs, and the others go on. Versions change places from round to round."""
    end = time.monotonic() + time_s
    found: Dict[Program, Dict[str, List[Run]]] = {program: {version: [] for version in VERSIONS} for program in sizes}
    left = dict(sizes)
    for turn in range(1 + runs):
        if turn > 1 and time.monotonic() > end:
            break
        for program, size in list(left.items()):
            try:
                for version in VERSIONS if turn % 2 == 0 else VERSIONS[::-1]:
                    found[program][version].append(run(place, program, size, version, turn < 2))
            except (subprocess.SubprocessError, OSError, ValueError) as error:
                print(f"{program.name}: {error}", file=sys.stderr)
                found[program] = {}
                del left[program]
    return found


def milliseconds(runs: Sequence[Run], lap: str) -> List[float]:
    return [one.said.get(f"{lap}_ms", 0.0) for one in runs[1:]]


def agrees(found: Dict[str, List[Run]]) -> bool:
    """One answer, whoever gave it and however often; one set of files."""
    everything = [one for version in VERSIONS for one in found[version]]
    answers = {json.dumps(one.said["answer"], sort_keys=True) for one in everything}
    return len(answers) == 1 and len({one.written for one in everything if one.written}) == 1


class Report:
    """The cases and checks of a run, as every benchmark here writes them."""

    def __init__(self) -> None:
        self.cases: List[Dict[str, Any]] = []
        self.checks: List[Dict[str, Any]] = []
        self.void = 0  # programs that failed, or whose versions differ

    def check(self, name: str, figure: float, holds: bool, limit: str) -> None:
        self.checks.append({"check": name, "figure": figure, "limit": limit, "holds": holds})
        print(f"{'holds' if holds else 'FAILS'}  {name}: {figure:.4g} ({limit})", flush=True)

    def case(self, program: Program, size: Size, version: str, runs: Sequence[Run], right: bool) -> Dict[str, Any]:
        work = milliseconds(runs, "work")
        case: Dict[str, Any] = {
            "case": program.name, "strategy": version, "bytes": size.nbytes, **spread(work),
            "allocate_ms": statistics.median(milliseconds(runs, "allocate")),
            "input_ms": statistics.median(milliseconds(runs, "input")), "lines": lines_of(program.name)[version],
            "valid": right}
        case.update({name: count for name, count in runs[-1].said.items() if "bytes" in name})
        self.cases.append(case)
        return case


def judge(report: Report, program: Program, size: Size, found: Dict[str, List[Run]], timed: bool) -> None:
    if not found:
        report.check(f"{program.name}: processes that failed", 1, False, "none")
        report.void += 1
        return
    right = agrees(found)
    report.void += not right
    explicit, ferry = (report.case(program, size, version, found[version], right) for version in VERSIONS)
    ratio = ferry["median_ms"] / explicit["median_ms"]
    whole = [sum(case[part] for part in ("allocate_ms", "input_ms", "median_ms")) for case in (explicit, ferry)]
    if right:
        ferry["ratio"], ferry["whole_ratio"] = ratio, whole[1] / whole[0]
    print(f"{program.name:8}{explicit['runs']:4}{explicit['median_ms']:12.2f}{ferry['median_ms']:12.2f}{ratio:8.3f}"
          f"{whole[0]:12.2f}{whole[1]:12.2f}{whole[1] / whole[0]:8.3f}{explicit['lines']:6}{ferry['lines']:6}"
          f"  {'same' if right else 'DIFFERENT: void'}")
    report.check(f"{program.name}: answers and files that differ", 0 if right else 1, right, "none")
    fewer = ferry["lines"] / explicit["lines"]
    report.check(f"{program.name}: ferry's lines over the explicit ones", fewer, fewer < 1, "less than 1")
    again = ferry["redundant_bytes"]
    report.check(f"{program.name}: bytes that crossed again for nothing", again, again == 0, "0")
    if timed and right:
        report.check(f"{program.name}: ferry's time over the explicit one", ratio, ratio <= 1, "at most 1")


def scratch_folder(small: bool) -> Optional[str]:
    """Where files are memory, if there is room: a disk would be measured otherwise."""
    shared = "/dev/shm"
    if small or not os.path.isdir(shared) or shutil.disk_usage(shared).free < 10 * GIB:
        return None
    return shared


def explicit_suffix(programs: Path) -> str:
    """The explicit versions for a device, where there is one and nvcc has made them; else those on the stand-in."""
    if os.environ.get("FERRY_BACKEND") == "sim" or not (programs / "heat_explicit").exists():
        return "on_host"
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run([programs / "heat_explicit", "--size", "8", "--steps", "1", "--every", "1", folder],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return "explicit" if tried.returncode == 0 else "on_host"


def compare(options: argparse.Namespace, folder: str) -> Report:
    report = Report()
    programs = Path(options.programs).resolve()
    place = Place(programs, Path(folder, "in"), Path(folder, "out"), explicit_suffix(programs))
    timed = place.explicit == "explicit"
    if not timed and os.environ.get("FERRY_BACKEND") == "cuda":
        raise SystemExit("FERRY_BACKEND=cuda, but there is no device, or no nvcc made the explicit versions")
    os.environ["FERRY_BACKEND"] = "cuda" if timed else "sim"
    place.inputs.mkdir()
    chosen = {program: program.small if options.small else program.full for program in PROGRAMS
              if not options.only or program.name in options.only}
    sizes = {program: size for program, size in chosen.items() if prepare(place, program, size, options.data)}
    images = sum(path.stat().st_size for path in place.inputs.glob("images/*"))
    sizes = {program: size._replace(nbytes=size.nbytes or images) for program, size in sizes.items()}
    found = measure(place, sizes, options.runs, options.time)
    if not timed:
        print("no device, or no nvcc for its programs: these times say nothing")
    three = f"{'explicit':>12}{'ferry':>12}{'ratio':>8}"
    print(f"{'':12}{'work, ms':>32}{'memory, input and work, ms':>32}{'lines':>12}\n"
          f"{'program':8}{'runs':>4}{three}{three}{'expl.':>6}{'ferry':>6}")
    for program, versions in found.items():
        judge(report, program, sizes[program], versions, timed)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description="Real programs: explicit copies and ferry.")
    parser.add_argument("programs", nargs="?")
    parser.add_argument("--json", type=writable)
    parser.add_argument("--time", type=float, default=100, help="seconds after which no round begins; default 100")
    parser.add_argument("--runs", type=from_one, default=9, help="counted runs of each version, at most; default 9")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", action="append", choices=[program.name for program in PROGRAMS])
    parser.add_argument("--data", help=f"{TERRAIN}, where it is not found")
    parser.add_argument("--lines", action="store_true", help="count the lines, and no more")
    options = parser.parse_args()
    if options.lines:
        for program in PROGRAMS:
            counts = lines_of(program.name)
            print(f"{program.name:8}{counts['explicit']:6} explicit{counts['ferry']:6} ferry")
        shared = {way: sum(code_lines(SOURCES / name) for name in names) for way, names in SHARED.items()}
        print(f"shared  {shared['explicit']:6} explicit{shared['ferry']:6} ferry: {' '.join(sum(SHARED.values(), ()))}")
        return 0
    if options.programs is None:
        parser.error("the folder of the programs is missing")
    with tempfile.TemporaryDirectory(dir=scratch_folder(options.small)) as folder:
        report = compare(options, folder)
    if options.json:
        facts = machine.facts(os.environ["FERRY_BACKEND"])
        results = {**facts, "cases": report.cases, "checks": report.checks}
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    failed = options.check and not all(check["holds"] for check in report.checks)
    return 1 if failed or report.void else 0


if __name__ == "__main__":
    sys.exit(main())
