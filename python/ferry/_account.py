"""What crossed between host and devices, and why."""
import contextlib
from typing import Any, Dict, Iterator

import numpy as np

from . import _ferry


def stats() -> Dict[str, int]:
    """Every counter of the library (include/ferry/stats.h) by its name, and what fell back to ordinary memory.

    ``fallbacks`` counts arrays, ``fallback_bytes`` their bytes, that were to be born in ferry memory when the limit was
    reached.
    """
    counters = _ferry.stats()
    counters["fallbacks"], counters["fallback_bytes"] = _ferry.allocator_fallbacks()
    return counters


class Crossings:
    """What crossed during ``with crossings()``; up to now while the block is still running.

    ``to_device``, ``to_host`` and ``redundant`` are bytes, migrated and across the bus together; ``faults`` counts
    those of the device and of the host and is 0 unless ``measured``; ``launches`` counts kernels.
    """

    def __init__(self) -> None:
        self._before = _ferry.stats()
        self._after: "Dict[str, int] | None" = None

    def _difference(self, name: str) -> int:
        return (self._after or _ferry.stats())[name] - self._before[name]

    @property
    def to_device(self) -> int:
        return self._difference("bytes_to_device")

    @property
    def to_host(self) -> int:
        return self._difference("bytes_to_host")

    @property
    def redundant(self) -> int:
        return self._difference("redundant_bytes")

    @property
    def faults(self) -> int:
        return self._difference("gpu_faults") + self._difference("cpu_faults")

    @property
    def launches(self) -> int:
        return self._difference("launches")

    @property
    def measured(self) -> bool:
        """Whether the bytes and faults are measured ones; else they are the library's own account."""
        return bool((self._after or self._before)["measured"])

    def _finish(self) -> None:
        self._after = _ferry.stats()

    def __repr__(self) -> str:
        return (f"<crossings: {self.to_device} bytes to the device, {self.to_host} to the host, "
                f"{self.redundant} redundant, {self.faults} faults, {self.launches} launches>")


@contextlib.contextmanager
def crossings(measured: bool = False) -> Iterator[Crossings]:
    """Counts what crosses inside the block, in the whole process.

    The library's own account, exact for what it moves by itself. ``measured=True`` has CUPTI count (the page tables, on
    the simulator), which sees faults as well; bytes that kernels load and store across the bus are the library's count
    even then. RuntimeError where it cannot be measured, or is being measured already. Starting to measure takes tens of
    milliseconds.
    """
    if measured:
        _ferry.trace_start()
    try:
        count = Crossings()
        try:
            yield count
        finally:
            _ferry.sync()
            count._finish()
    finally:
        if measured:
            _ferry.trace_stop()


def explain(array: np.ndarray) -> str:
    """A sentence on where the array's bytes are, and why. TypeError for an element type that ferry has not."""
    return _ferry.explain(array)


def info() -> Dict[str, Any]:
    """The library, its backend ("cuda" or "sim"), its devices, the limit of its memory, and what is installed."""
    installed = _ferry.loops_installed()
    return {
        "version": _ferry.version,
        "library": _ferry.library_path(),
        "backend": _ferry.backend(),
        "policy": _ferry.default_policy(),
        "limit_bytes": _ferry.limit(),
        "devices": _ferry.devices(),
        "threshold_bytes": _ferry.allocator_threshold(),
        "loops": len(_ferry.loops()) if installed else 0,
        "numpy": np.__version__,
    }
