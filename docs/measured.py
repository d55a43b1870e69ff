"""What the committed results say: figures by name, for docs/figures.py and docs/performance.py.

A name with slashes is a place in a file of benchmarks/results/h200:

    SUITE/CASE/STRATEGY/BYTES[/FIELD]    of the only such case; FIELD is median_ms without it; BYTES: 4K, 1G
    SUITE/check/CHECK                    the figure of a check
    SUITE/limits/LIMIT                   what the machine allowed in that run
    model-SUITE/STRATEGY/FIELD           what benchmarks/model_error.py found: `cases`, and in % the others
    run/PROGRAM/HOW/COLUMN               of run/table.txt: `whole` or `work`, ms; without the dashes of options, since a
                                         comment of Markdown cannot have two in a row

SUITE `foundation` is the newest of foundation*.json; `preload` needs no device and is another machine's, in
benchmarks/results/epyc. Any other name is in FIGURES below, where it is computed.
"""
import json
import math
import re
import statistics
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Callable, Dict, Iterable, Iterator, List, Tuple, Union

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "h200"
UFUNCS = "cos sin tan log log2 log10 log1p exp isnan isfinite".split()
POLICIES = ("none", "prefetch", "remote")
SIZES = {"64K": 1 << 16, "1M": 1 << 20, "64M": 1 << 26, "1G": 1 << 30}


class Unknown(Exception):
    """No result says it."""


class Results:
    """The files of one device, read when they are asked for."""

    def __init__(self, folder: Path = RESULTS) -> None:
        self.folder = folder
        self.read: Dict[str, Any] = {}

    def has(self, suite: str) -> bool:
        return (self.folder / f"{suite}.json").exists()

    def suite(self, name: str) -> Dict[str, Any]:
        if name == "foundation":
            return max(self.foundations(), key=lambda results: str(results["date"]))
        return self.file(self.folder.parent / "epyc" / "preload.json" if name == "preload" else self.folder / f"{name}.json")

    def foundations(self) -> List[Dict[str, Any]]:
        """Each run that there was."""
        return [self.file(path) for path in sorted(self.folder.glob("foundation*.json"))]

    def file(self, path: Path) -> Dict[str, Any]:
        if path.name not in self.read:
            if not path.exists():
                raise Unknown(f"there is no {path.name}")
            self.read[path.name] = json.loads(path.read_text(encoding="utf-8"))
        return self.read[path.name]

    def cases(self, suite: str, **wanted: Any) -> List[Dict[str, Any]]:
        """Those whose fields are as wanted, and whose results were right."""
        return [row for row in self.suite(suite)["cases"] if row.get("valid", True)
                and all(row.get(name) == value for name, value in wanted.items())]

    def ms(self, suite: str, case: str, strategy: str, nbytes: int) -> float:
        return self.field(suite, case, strategy, nbytes, "median_ms")

    def field(self, suite: str, case: str, strategy: str, nbytes: int, name: str) -> float:
        rows = self.cases(suite, case=case, strategy=strategy, bytes=nbytes)
        if not rows or name not in rows[0]:
            raise Unknown(f"{suite} has no {name} of {case}, {strategy}, {nbytes} bytes")
        return float(rows[0][name])

    def check(self, suite: str, name: str) -> float:
        for entry in self.suite(suite)["checks"]:
            if entry["check"] == name:
                return float(entry["figure"])
        raise Unknown(f"{suite} has no check \"{name}\"")

    def prediction(self, suite: str, strategy: str, field: str) -> float:
        """Of the simulator's: how many cases, and how far off in %."""
        for row in self.suite(suite)["summaries"]:
            if row["strategy"] == strategy and row["aspect"] is None and field in row:
                return float(row[field]) * (1 if field == "cases" else 100)
        raise Unknown(f"{suite} has no {field} of {strategy}")

    def program(self, program: str, how: str, column: str) -> float:
        """ms, of the table of programs that know nothing of ferry."""
        path = self.folder / "run" / "table.txt"
        place = {"whole": 3, "work": 4}.get(column)
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() and place else []:
            words = re.split(r"\s{2,}", line.strip())
            words[1:2] = [words[1].replace("--", "")] if len(words) > 1 else []
            if words[:2] == [program, how] and len(words) > place and re.fullmatch(r"[\d.]+", words[place]):
                return float(words[place])
        raise Unknown(f"run/table.txt has no {column} of {program}, {how}")


def bytes_of(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not match:
        raise Unknown(f"{text} is no number of bytes")
    return int(match.group(1)) << {"": 0, "K": 10, "M": 20, "G": 30}[match.group(2)]


def part_in_words(share: float) -> str:
    """The nearest of the parts that have a name."""
    names = {1 / 2: "half", 1 / 3: "a third", 1 / 4: "a quarter", 1 / 5: "a fifth", 1 / 6: "a sixth",
             1 / 8: "an eighth", 1 / 10: "a tenth"}
    return names[min(names, key=lambda part: abs(math.log(part / share)))]


def reuse_cells(results: Results, nbytes: int) -> Iterator[Tuple[Dict[str, Any], Dict[str, float]]]:
    """Each cell of the matrix for arrays of one size: its facts, and the strategies' medians."""
    cells: Dict[Any, Tuple[Dict[str, Any], Dict[str, float]]] = {}
    for row in results.cases("reuse", size_bytes=nbytes):
        key = row["kernel"], row["action"], row["passes"]
        cells.setdefault(key, (row, {}))[1][row["strategy"]] = float(row["median_ms"])
    return iter(cells.values())


def regrets(results: Results, nbytes: int) -> List[float]:
    """Of auto: its time over that of the best other policy, for each cell that has all of them."""
    return [medians["auto"] / min(medians[policy] for policy in POLICIES) for _, medians in reuse_cells(results, nbytes)
            if all(policy in medians for policy in (*POLICIES, "auto"))]


def pinned_over_auto(results: Results, nbytes: int) -> List[float]:
    """Explicit copies of pinned memory, each cell: their time over auto's."""
    return [medians["pinned"] / medians["auto"] for _, medians in reuse_cells(results, nbytes)
            if "pinned" in medians and "auto" in medians]


def over_auto(results: Results, strategy: str) -> List[float]:
    """One pass over 1 GiB between what the host overwrites or reads, each kernel: the strategy's time over auto's."""
    return [medians[strategy] / medians["auto"] for facts, medians in reuse_cells(results, SIZES["1G"])
            if facts["passes"] == 1 and facts["action"] in ("overwrite", "read")]


def bus_ms(in_bytes: int, out_bytes: int) -> float:
    """As benchmarks/numpy_speed.py has it."""
    return max(in_bytes / 51, out_bytes / 53, (in_bytes + out_bytes) / 84) / 1e6


def ufuncs_over_ferry(results: Results, theirs: str, ours: str = "ferry") -> float:
    """Ten ufuncs of float64: the time of one strategy over another's, geometric mean."""
    cases = [f"{name} of float64" for name in UFUNCS]
    return geometric_mean(numpy_ms(results, case, theirs) / numpy_ms(results, case, ours) for case in cases)


def numpy_ms(results: Results, case: str, strategy: str) -> float:
    return results.ms("numpy", case, strategy, 80_000_000)


def cupy_over_bus(results: Results) -> float:
    """The same of CuPy's time over what the bus allows."""
    out_bytes = {name: 10_000_000 if name.startswith("is") else 80_000_000 for name in UFUNCS}
    return geometric_mean(numpy_ms(results, f"{name} of float64", "cupy") / bus_ms(80_000_000, out_bytes[name])
                          for name in UFUNCS)


def chain_read(results: Results, theirs: str) -> float:
    """The chain of ufuncs from host to host, x rewritten."""
    case = "sqrt(x*x + sin(x)) - log(x + 1), x rewritten"
    return numpy_ms(results, case, f"{theirs}: call") / numpy_ms(results, case, "ferry: call")


def best_chain(results: Results) -> float:
    """Ten kernels over 1 GiB: the fastest order that was written by hand."""
    rows = results.cases("placement", case="ten kernels", bytes=SIZES["1G"])
    return min(float(row["median_ms"]) for row in rows if row["strategy"] != "auto")


def foundation_case(results: Results, case: str, strategy: str) -> float:
    return results.ms("foundation", case, strategy, SIZES["1G"])


def home_ms(results: Results) -> List[Dict[str, Any]]:
    """Bringing 1 GiB home by prefetch, in each run that there was."""
    return [row for run in results.foundations() for row in run["cases"]
            if (row["case"], row["strategy"]) == ("to host", "prefetch")]


def home_share(results: Results) -> float:
    """The rate at which managed pages come home, over that of a pinned copy: the median of the runs."""
    pinned = foundation_case(results, "to host", "pinned copy")
    return statistics.median(pinned / row["median_ms"] for row in home_ms(results))


Value = Union[float, str]
FIGURES: Dict[str, Callable[[Results], Value]] = {
    "home.least": lambda r: min(row["min_ms"] for row in home_ms(r)),
    "home.most": lambda r: max(row["max_ms"] for row in home_ms(r)),
    "home.share": lambda r: part_in_words(home_share(r)),
    "home.runs": lambda r: float(len(home_ms(r))),
    "chain.best": best_chain,
    "faults.least": lambda r: min(over_auto(r, "none")),
    "faults.most": lambda r: max(over_auto(r, "none")),
    "ufuncs.host.numpy": lambda r: ufuncs_over_ferry(r, "numpy"),
    "ufuncs.host.cupy": lambda r: ufuncs_over_ferry(r, "cupy"),
    "ufuncs.host.bus": cupy_over_bus,
    "chain.read.numpy": lambda r: chain_read(r, "numpy"),
    "chain.read.cupy": lambda r: chain_read(r, "cupy"),
}


def reuse_figures() -> Iterator[Tuple[str, Callable[[Results], Value]]]:
    """For each size of an array: cells, the regret of auto, how it compares with explicit copies of pinned memory."""
    for size, nbytes in SIZES.items():
        yield f"regret.{size}.mean", lambda r, n=nbytes: geometric_mean(regrets(r, n))
        yield f"regret.{size}.worst", lambda r, n=nbytes: max(regrets(r, n))
        yield f"regret.{size}.cells", lambda r, n=nbytes: float(len(regrets(r, n)))
        yield f"pinned.{size}.mean", lambda r, n=nbytes: 1 / geometric_mean(pinned_over_auto(r, n))
        yield f"pinned.{size}.faster", lambda r, n=nbytes: float(sum(ratio > 1 for ratio in pinned_over_auto(r, n)))
        yield f"pinned.{size}.slower", lambda r, n=nbytes: float(sum(ratio <= 1 for ratio in pinned_over_auto(r, n)))


FIGURES.update(reuse_figures())


def figure(results: Results, name: str) -> Value:
    """The value of a figure; Unknown where no result says it."""
    if name in FIGURES:
        return FIGURES[name](results)
    parts = name.split("/")
    if len(parts) == 4 and parts[0] == "run":
        return results.program(*parts[1:])
    if len(parts) >= 3 and parts[1] == "check":
        return results.check(parts[0], "/".join(parts[2:]))
    if len(parts) == 3 and parts[0].startswith("model-"):
        return results.prediction(*parts)
    if len(parts) == 3 and parts[1] == "limits":
        limits = results.suite(parts[0]).get("limits", {})
        if parts[2] in limits:
            return float(limits[parts[2]])
    elif len(parts) in (4, 5):
        field = parts[4] if len(parts) == 5 else "median_ms"
        return results.field(parts[0], parts[1], parts[2], bytes_of(parts[3]), field)
    raise Unknown(f"{name} is neither a place in a result nor in docs/measured.py")
