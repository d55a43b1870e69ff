#!/usr/bin/env python3
"""The programs of examples/run, which know nothing of ferry: alone, with copies of their own, and under `ferry run`.

    run_programs.py FERRY PROGRAMS SCRIPT --out FOLDER [--time SECONDS]

FERRY is the command, PROGRAMS the folder of the programs as they were built, SCRIPT host_script.py. Each is run in
every way, up to five times while there is time left, in turns; medians. Every way that works must say and write the
same; that a program fails alone, where the device does not reach ordinary memory, is no error. Into FOLDER go the
table, as text and as JSON with the machine and the commit, and, for each way under `ferry run`, what it printed with
the report, and the report as JSON. Managed memory stays under 1 GiB.
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
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import machine

ROUNDS = 5
RECORDS = 4_000_000
FILES = ("input", "output")
SKIPPED = 77
DEVICE_PROGRAMS = ["malloc_kernel", "malloc_cublas"]


class Way(NamedTuple):
    """One way to run a program: `options` are those of `ferry run`, None without it."""
    title: str
    label: str
    command: Tuple[str, ...]
    options: Optional[Tuple[str, ...]]

    @property
    def name(self) -> str:
        """Of its files: the words that are typed, with a dash between them."""
        return re.sub("[^a-z0-9_]+", "-", " ".join([self.title.replace(".py", ""), *(self.options or ())]))


class Run(NamedTuple):
    """How a run ended: its output, the digest of the file that it wrote, and its times."""
    status: int
    output: str
    error: str
    written: str
    wall_s: float
    work_s: Optional[float]


class Place(NamedTuple):
    """Where everything lies: `folder` is the one that programs run in."""
    ferry: str
    folder: str
    programs: str


def alone(*command: str) -> Way:
    return Way(spoken(command), "alone", command, None)


def under(command: Tuple[str, ...], *options: str) -> Way:
    return Way(spoken(command), " ".join(["ferry run", *options]), command, options)


def spoken(command: Tuple[str, ...]) -> str:
    return " ".join(word for word in command if word not in (sys.executable, *FILES))


def ways() -> List[Way]:
    """Those of one program together."""
    found: List[Way] = []
    for command in (("malloc_kernel", "1"), ("malloc_kernel", "10"), ("malloc_cublas",)):
        copies = alone(*command)._replace(label="with copies", command=(*command, "copies"))
        found += [alone(*command), copies, under(command), under(command, "--policy=none")]
    found += [alone("register_buffer"), under(("register_buffer",))]
    for command in (("sort_file", *FILES), (sys.executable, "host_script.py")):
        found += [alone(*command), under(command), under(command, "--device=always")]
    command = (sys.executable, "host_script.py", "--device")
    return found + [alone(*command), under(command)]


def is_there(place: Place, way: Way) -> bool:
    """Programs for the device need a toolkit to be built."""
    there = shutil.which(way.command[0], path=place.programs + os.pathsep + os.environ["PATH"]) is not None
    if not there:
        print("not built:", way.title, way.label)
    return there


def may_fail(way: Way) -> bool:
    """What hands ordinary memory to kernels works where the device reaches that, and there alone."""
    return way.label == "alone" and (way.command[0] in DEVICE_PROGRAMS or way.command[-1] == "--device")


def work_seconds(error: str) -> Optional[float]:
    """The sum of what the program says of itself."""
    found = [float(line.split()[1]) for line in error.splitlines() if line.startswith("work ")]
    return sum(found) if found else None


def run(place: Place, way: Way, records: Optional[str] = None) -> Run:
    """Runs it once; with the processes' records in a folder, where one is given."""
    environment = dict(os.environ, PATH=place.programs + os.pathsep + os.environ["PATH"])
    if records is not None:
        environment["FERRY_REPORT"] = records
    before = () if way.options is None else (place.ferry, "run", "--limit=1G", *way.options, "--")
    output = Path(place.folder, FILES[1])
    output.unlink(missing_ok=True)
    began = time.perf_counter()
    done = subprocess.run(before + way.command, cwd=place.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace")
    wall_s = time.perf_counter() - began
    written = hashlib.sha256(output.read_bytes()).hexdigest() if output.exists() else ""
    return Run(done.returncode, done.stdout, done.stderr, written, wall_s, work_seconds(done.stderr))


def without_machine(place: Place, text: str) -> str:
    """Names of files as anybody would type them."""
    for folder in (place.programs, os.path.realpath(place.programs), place.folder, os.path.realpath(place.folder)):
        text = text.replace(folder + "/", "")
    for python in (os.path.realpath(sys.executable), sys.executable):
        text = text.replace(python, "python3")
    return text


def save_report(place: Place, way: Way, out: Path) -> Run:
    """Runs it with a record, and writes what was printed and what is told of it."""
    with tempfile.TemporaryDirectory() as records:
        done = run(place, way, records)
        text, told = (subprocess.run([place.ferry, "report", records, *options], stdout=subprocess.PIPE, text=True, check=True).stdout
                      for options in ([], ["--json"]))
    command = " ".join(["$ ferry run --report", *(way.options or ()), *way.command])
    printed = f"{command}\n{done.error}{done.output}\n{text}"
    Path(out, f"{way.name}.txt").write_text(without_machine(place, printed))
    Path(out, f"{way.name}.json").write_text(without_machine(place, json.dumps(json.loads(told), indent=1)) + "\n")
    return done


def measure(place: Place, chosen: List[Way], out: Path, time_s: float) -> Dict[Way, List[Run]]:
    """The first round keeps reports, whose cost the others are free of; what has failed is not tried again."""
    end = time.monotonic() + time_s
    for way in chosen:
        if way.options is not None:
            save_report(place, way, out)
    runs: Dict[Way, List[Run]] = {way: [] for way in chosen}
    for _ in range(ROUNDS):
        for way in chosen:
            if not runs[way] or (runs[way][-1].status == 0 and time.monotonic() < end):
                runs[way].append(run(place, way))
    return runs


def verdict(way: Way, done: Run, reference: Optional[Run]) -> str:
    if done.status != 0:
        said = done.error.strip().splitlines()
        return f"exits {done.status}: {said[-1] if said else ''}"
    return "same" if reference is not None and (done.output, done.written) == (reference.output, reference.written) else "DIFFERENT"


def judge(runs: Dict[Way, List[Run]]) -> Dict[Way, str]:
    """Each way's result against the first of the same program's that worked."""
    verdicts: Dict[Way, str] = {}
    for way, done in runs.items():
        worked = [other[0] for one, other in runs.items() if one.title == way.title and other[0].status == 0]
        found = {verdict(way, one, worked[0] if worked else None) for one in done}
        verdicts[way] = found.pop() if len(found) == 1 else "DIFFERENT"
    return verdicts


def is_error(way: Way, done: Run, told: str) -> bool:
    if done.status == SKIPPED:
        return os.environ.get("FERRY_BACKEND") == "cuda" and way.command[-1] != "--device"
    return told != "same" and not (may_fail(way) and done.status != 0)


def milliseconds(seconds: List[Optional[float]]) -> str:
    known = [one for one in seconds if one is not None]
    return f"{1e3 * statistics.median(known):.1f}" if known else ""


def table(runs: Dict[Way, List[Run]], verdicts: Dict[Way, str]) -> str:
    lines = [f"{'program':24}{'how':30}{'runs':>4}{'whole ms':>10}{'work ms':>10}  result"]
    for way, done in runs.items():
        worked = [one for one in done if one.status == 0]
        whole, work = milliseconds([one.wall_s for one in worked]), milliseconds([one.work_s for one in worked])
        lines.append(f"{way.title:24}{way.label:30}{len(done):4}{whole:>10}{work:>10}  {verdicts[way]}")
    return "\n".join(lines) + "\n"


def case(way: Way, done: List[Run], told: str) -> Dict[str, Any]:
    """The whole run's time from the outside; `work_ms` is what the program says of itself."""
    walls = [1e3 * one.wall_s for one in done if one.status == 0]
    work = [1e3 * one.work_s for one in done if one.status == 0 and one.work_s is not None]
    found: Dict[str, Any] = {"case": way.title, "strategy": way.label, "runs": len(walls), "result": told}
    if walls:
        found.update(median_ms=round(statistics.median(walls), 3), min_ms=round(min(walls), 3), max_ms=round(max(walls), 3))
    if work:
        found.update(work_ms=round(statistics.median(work), 3))
    return found


def prepare(options: argparse.Namespace, folder: str) -> Place:
    place = Place(os.path.abspath(options.ferry), folder, os.path.abspath(options.programs))
    shutil.copy(options.script, Path(folder, "host_script.py"))
    subprocess.run([Path(place.programs, "sort_file"), "make", FILES[0], str(RECORDS)], cwd=folder, check=True)
    return place


def main() -> int:
    parser = argparse.ArgumentParser(description="Programs alone and under ferry run.")
    parser.add_argument("ferry")
    parser.add_argument("programs")
    parser.add_argument("script")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--time", type=float, default=120, help="seconds after which nothing is repeated; default 120")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        place = prepare(options, folder)
        chosen = [way for way in ways() if is_there(place, way)]
        runs = measure(place, chosen, options.out, options.time)
        verdicts = judge(runs)
        shown = without_machine(place, table(runs, verdicts))
    print(shown, end="")
    Path(options.out, "table.txt").write_text(shown)
    cases = [case(way, done, without_machine(place, verdicts[way])) for way, done in runs.items()]
    facts = machine.facts("sim" if os.environ.get("FERRY_BACKEND") == "sim" else "cuda")
    Path(options.out, "table.json").write_text(json.dumps({**facts, "cases": cases}, indent=1) + "\n")
    return 1 if any(is_error(way, done[0], verdicts[way]) for way, done in runs.items()) else 0


if __name__ == "__main__":
    sys.exit(main())
