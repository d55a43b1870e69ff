"""What a user of Numba writes for the operations of peers.py: a kernel for each function, and the launch of it into a
fresh array. Only for who has Numba: it is imported here."""
import math
from typing import Any, Callable

import numpy as np
from numba import cuda  # type: ignore[import-not-found, unused-ignore]

from measuring import UFUNCS


def elementwise(name: str) -> Callable[[Any], Any]:
    function = getattr(math, name)

    @cuda.jit  # type: ignore[misc, unused-ignore]
    def kernel(x: Any, y: Any) -> None:
        i = cuda.grid(1)
        if i < x.size:
            y[i] = function(x[i])

    def launch(x: Any) -> Any:
        y = cuda.device_array(x.shape, np.bool_ if name.startswith("is") else x.dtype)
        kernel[(x.size + 255) // 256, 256](x, y)
        return y

    return launch


def folded(combine: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A reduction over all elements."""
    reduce = cuda.reduce(combine)
    return lambda x: reduce(x.ravel())


def array(values: Any) -> Any:
    return cuda.to_device(np.asarray(values))


def empty(count: int) -> Any:
    return cuda.device_array(count, np.float64)


globals().update({name: elementwise(name) for name in UFUNCS})
globals().update(sum=folded(lambda a, b: a + b), max=folded(lambda a, b: a if a > b else b))
