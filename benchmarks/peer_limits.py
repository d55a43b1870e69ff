"""What a machine allows, measured for peers.py in the run whose times are held against it."""
import statistics
import time
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, Optional

import numpy as np

from measuring import without_ferry

LIMIT_BYTES = 256 << 20
RUNS = 9
DEVICE_COPIES = 10  # timed as one: a single copy hardly takes longer than the wait for it
PRODUCT_SIDE = 4096


@dataclass
class Limits:
    """Bytes per second; of a copy within one memory, bytes copied: each is loaded and stored. None: not measured."""
    host_copy: float                      # ordinary memory, by one thread
    to_device: Optional[float] = None     # pinned copies
    to_host: Optional[float] = None
    both: Optional[float] = None          # both ways at once, together
    device_copy: Optional[float] = None
    product: Optional[float] = None       # operations per second of float64 matrix products

    def of(self, operation: Any, crosses: bool, on_device: bool) -> Optional[float]:
        """ms that the operation takes at least: for its bytes to cross the bus, or to pass through the memory that it
        works in. None where that is not known. NumPy's products are made in the CPU's caches, of which no limit was
        measured."""
        moved = operation.in_bytes + operation.out_bytes
        if not on_device:
            return None if operation.operations or operation.units is None else moved / 2 / self.host_copy * 1e3
        if self.device_copy is None or self.product is None or operation.units is None:
            return None
        seconds = max(moved / 2 / self.device_copy, operation.operations / self.product)
        if crosses:
            seconds = max(seconds, operation.in_bytes / self.to_device, operation.out_bytes / self.to_host,
                          moved / self.both)
        return seconds * 1e3

    def facts(self) -> Dict[str, Any]:
        """By the names that the suites of `ferry bench` have for them."""
        source = f"pinned copies of {LIMIT_BYTES >> 20} MiB, medians of {RUNS}"
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return {"source": source if self.both is not None else "copies on the host alone",
                **{f"{name}_{'gflop' if name == 'product' else 'gb'}_per_s": value / 1e9
                   for name, value in known.items()}}


def rate(amount: float, work: Callable[[], None]) -> float:
    """Amount per second, by the median of some runs after one."""
    seconds = []
    for _ in range(1 + RUNS):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return amount / statistics.median(seconds[1:])


def host_copy() -> float:
    with without_ferry():
        source = np.random.default_rng(1).random(LIMIT_BYTES // 8)
        target = source.copy()
        return rate(source.nbytes, lambda: np.copyto(target, source))


def measure_limits(cp: Any) -> Limits:
    """`cp` is CuPy, or None: the bus and the device are measured by it."""
    limits = Limits(host_copy())
    if cp is None:
        return limits
    import cupyx
    source = cupyx.empty_pinned(LIMIT_BYTES // 8, np.float64)
    source[:] = np.random.default_rng(2).random(source.size)
    target, there, other = cupyx.empty_pinned(source.shape, source.dtype), cp.asarray(source), cp.asarray(source)
    streams = [cp.cuda.Stream(non_blocking=True) for _ in range(2)]

    def copies(inward: bool, outward: bool) -> None:
        if inward:
            there.set(source, stream=streams[0])
        if outward:
            other.get(out=target, stream=streams[1], blocking=False)
        for stream in streams:
            stream.synchronize()

    def on_device(work: Callable[[], Any]) -> None:
        work()
        cp.cuda.Device().synchronize()

    limits.to_device = rate(source.nbytes, lambda: copies(True, False))
    limits.to_host = rate(source.nbytes, lambda: copies(False, True))
    limits.both = rate(2 * source.nbytes, lambda: copies(True, True))
    limits.device_copy = rate(DEVICE_COPIES * source.nbytes, lambda: on_device(
        lambda: [cp.copyto(other, there) for _ in range(DEVICE_COPIES)]))
    matrix = there[:PRODUCT_SIDE**2].reshape(PRODUCT_SIDE, PRODUCT_SIDE)
    limits.product = rate(2 * PRODUCT_SIDE**3, lambda: on_device(lambda: matrix @ matrix))
    return limits
