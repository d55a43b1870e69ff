"""What the programs that compare ferry with NumPy and its peers share: how times are taken, what a file of them says.

Strategies take turns, so that whatever the machine does meanwhile happens to all; medians; data without a pattern.
"""
import contextlib
import platform
import time
from typing import Any, Callable, Dict, Iterator, List, Optional

import numpy as np

import ferry
import machine
import result_file

UFUNCS = "cos sin tan log log2 log10 log1p exp isnan isfinite".split()
Call = Callable[[], Any]


class Report:
    """The cases and checks of a run."""

    def __init__(self) -> None:
        self.cases: List[Dict[str, Any]] = []
        self.checks: List[Dict[str, Any]] = []

    def case(self, case: str, strategy: str, nbytes: int, ms: List[float], limit_ms: Optional[float] = None) -> float:
        """Adds the times of one strategy, beside what the machine allows; returns their median in ms."""
        row = {"case": case, "strategy": strategy, "bytes": nbytes, **result_file.spread(ms)}
        if limit_ms is not None:
            row.update(limit_ms=limit_ms, share=limit_ms / row["median_ms"])
        self.cases.append(row)
        return float(row["median_ms"])

    def void(self, case: str, strategy: str, nbytes: int, problem: str) -> None:
        """A strategy whose result was wrong has no time."""
        self.cases.append({"case": case, "strategy": strategy, "bytes": nbytes, "runs": 0, "valid": False,
                           "problem": problem})

    def check(self, name: str, figure: float, holds: bool, limit: str) -> None:
        self.checks.append({"check": name, "figure": figure, "limit": limit, "holds": bool(holds)})
        print(f"{'holds' if holds else 'FAILS'}  {name}: {figure:.4g} ({limit})", flush=True)

    def at_least(self, name: str, figure: float, limit: float) -> None:
        self.check(name, figure, figure >= limit, f"at least {limit:g}")

    def at_most(self, name: str, figure: float, limit: float) -> None:
        self.check(name, figure, figure <= limit, f"at most {limit:g}")


@contextlib.contextmanager
def without_ferry() -> Iterator[None]:
    """NumPy's own memory and loops inside."""
    ferry.uninstall()
    try:
        yield
    finally:
        ferry.install()


def as_for(strategy: str) -> "contextlib.AbstractContextManager[None]":
    """ferry is installed for strategies of that name only."""
    return contextlib.nullcontext() if strategy.startswith("ferry") else without_ferry()


def timed(strategy: str, call: Call, inner: int) -> float:
    """ms of one call of `inner`; what is installed for the strategy is not timed."""
    with as_for(strategy):
        begun = time.perf_counter()
        for _ in range(inner):
            call()
        return (time.perf_counter() - begun) * 1e3 / inner


def interleaved(calls: Dict[str, Call], runs: int, inner: int = 1,
                before: Optional[Call] = None) -> Dict[str, List[float]]:
    """Times of each call in ms, taken in turn, after two turns for learning; `before` each is not timed."""
    times: Dict[str, List[float]] = {name: [] for name in calls}
    for turn in range(2 + runs):
        for name, call in calls.items():
            if before is not None:
                before()
            ms = timed(name, call, inner)
            if turn >= 2:
                times[name].append(ms)
    return times


def random_like(dtype: str, count: int) -> np.ndarray:
    return np.random.default_rng(20261130).random(count).astype(dtype) + np.dtype(dtype).type(0.1)


def ordinary(values: np.ndarray) -> np.ndarray:
    """A copy in memory that is not ferry's."""
    with without_ferry():
        return values.copy()


def equal(got: np.ndarray, want: np.ndarray, units: float = 8) -> bool:
    """Numbers within so many units of their type's precision; all else to the bit."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if want.dtype.kind != "f":
        return bool((got == want).all())
    return bool(np.allclose(got, want, rtol=units * float(np.finfo(want.dtype).eps), atol=0))


def cuda_version(package: Any) -> str:
    """The driver's, as CuPy tells it: 13000 is 13.0."""
    if package is None:
        return "unknown"
    number = package.cuda.runtime.driverGetVersion()
    return f"{number // 1000}.{number % 1000 // 10}"


def environment(cupy: Any) -> Dict[str, Any]:
    """The facts of a file of results. `cupy` is the package, or None."""
    info = ferry.info()
    return {**machine.facts(info["backend"]), "device": info["devices"][0]["name"] if info.get("devices") else "",
            "cuda": cuda_version(cupy), "python": platform.python_version(), "numpy": np.__version__,
            "cupy": cupy.__version__ if cupy is not None else None}
