"""What the programs that write a file of results share: how a case's times are told, and where the file goes."""
import argparse
import statistics
from typing import Any, Dict, List


def quantile(values: List[float], share: float) -> float:
    """Between the two nearest of the sorted values, as NumPy's default has it."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def spread(ms: List[float]) -> Dict[str, Any]:
    """The figures of a case that tell of its times."""
    return {"runs": len(ms), "median_ms": statistics.median(ms), "q1_ms": quantile(ms, 0.25), "q3_ms": quantile(ms, 0.75),
            "min_ms": min(ms), "max_ms": max(ms)}


def writable(path: str) -> str:
    """An argument: a file that can be written, which is tried before anything is measured for it."""
    try:
        with open(path, "a", encoding="utf-8"):
            return path
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {error.strerror}") from error


def from_one(text: str) -> int:
    """An argument: a whole number from 1 on."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 on")
    return int(text)
