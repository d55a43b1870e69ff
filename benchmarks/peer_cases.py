"""What peers.py has every library do. Each operation is written once, for NumPy's names; a library that lacks one of
them raises AttributeError or TypeError and is left out of the case.

ferry learns where a result is to be born from the line that made the last one, and the same line serves calls whose
results the host reads and calls whose results stay on the device. No program is like that, so peers.py loads this file
once for each of the two.
"""
import math
from dataclasses import dataclass
from typing import Any, Callable, List, Optional

import numpy as np

from measuring import UFUNCS, random_like


@dataclass
class Operation:
    """`apply(xp, *inputs)` by the library whose functions `xp` has; the bytes that it needs and that it gives."""
    name: str
    inputs: List[np.ndarray]
    apply: Callable[..., Any]
    in_bytes: int
    out_bytes: int
    operations: float = 0.0        # of a product: its multiplications and additions
    units: Optional[float] = 64.0  # how far from NumPy's result, in units of the type's precision; None: no contents

    @property
    def nbytes(self) -> int:
        return max(self.in_bytes, self.out_bytes)


def copied(x: Any) -> Any:
    """A view's elements in memory of their own: what one library calls a clone is a copy elsewhere."""
    return x.clone() if hasattr(x, "clone") else x.copy()


def assigned(x: Any, key: Any, value: Any) -> Any:
    """x with new elements: in place, or as a new array where arrays do not change."""
    if hasattr(x, "at") and not isinstance(x, np.ndarray):
        return x.at[key].set(value)
    x[key] = value
    return x


def ufuncs(count: int) -> List[Operation]:
    def operation(name: str, x: np.ndarray) -> Operation:
        item = 1 if name.startswith("is") else x.itemsize
        return Operation(f"{name} of {x.dtype}", [x], lambda xp, x: getattr(xp, name)(x), x.nbytes, item * count)

    arrays = [random_like(dtype, count) for dtype in ("float64", "float32")]
    return [operation(name, x) for x in arrays for name in UFUNCS]


def slices(count: int) -> List[Operation]:
    columns = max(2, 2 * (math.isqrt(count) // 2))
    x = random_like("float64", columns * columns).reshape(columns, columns)
    y = np.ascontiguousarray(x.T[:, ::2])
    half = x.nbytes // 2
    return [
        Operation("every second row", [x], lambda xp, x: copied(x[::2]), half, half),
        Operation("every second column", [x], lambda xp, x: copied(x[:, 1::2]), half, half),
        Operation("the transpose", [x], lambda xp, x: copied(x.T), x.nbytes, x.nbytes),
        Operation("assignment to every second column", [x, y],
                  lambda xp, x, y: assigned(x, (slice(None), slice(None, None, 2)), y), half, half)]


def reductions(count: int) -> List[Operation]:
    columns = max(2, math.isqrt(count))
    x = random_like("float64", columns * columns).reshape(columns, columns)
    # The order of a sum is a library's own: the error of adding one element after the other is the bound.
    return [
        Operation("sum", [x], lambda xp, x: xp.sum(x), x.nbytes, 8, units=float(x.size)),
        Operation("maximum", [x], lambda xp, x: xp.max(x), x.nbytes, 8),
        Operation("sum of each column", [x], lambda xp, x: xp.sum(x, axis=0), x.nbytes, 8 * columns, units=columns),
        Operation("sum of each row", [x], lambda xp, x: xp.sum(x, axis=1), x.nbytes, 8 * columns, units=columns)]


def products(count: int) -> List[Operation]:
    side = min(2048, math.isqrt(count))
    a = random_like("float64", side * side).reshape(side, side)
    b = np.ascontiguousarray(a.T[::-1])
    return [Operation(f"product of {side} x {side}", [a, b], lambda xp, a, b: a @ b, 2 * a.nbytes, a.nbytes,
                      operations=2.0 * side**3, units=float(side))]


def creations(count: int) -> List[Operation]:
    """Arrays as a library makes them: on its device, or, NumPy's and ferry's, for the host as well."""
    x, numbers = random_like("float64", count), random_like("float64", min(count, 100_000)).tolist()
    return [
        Operation("empty", [], lambda xp: xp.empty(count), 0, 8 * count, units=None),
        Operation("zeros", [], lambda xp: xp.zeros(count), 0, 8 * count),
        Operation("arange", [], lambda xp: xp.arange(float(count)), 0, 8 * count),
        Operation("array of a NumPy array", [], lambda xp: xp.array(x), x.nbytes, x.nbytes),
        Operation(f"array of a list of {len(numbers)}", [], lambda xp: xp.array(numbers), 0, 8 * len(numbers))]


BOTH_WAYS = {"ufuncs": ufuncs, "slices": slices, "reductions": reductions, "products": products}
