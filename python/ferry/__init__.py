"""One memory for CPU and GPU: NumPy's arrays in managed memory, its loops on the device where that pays.

``ferry.install()``, or ``python -m ferry script.py``, is all that an unmodified NumPy program needs. No GPU has to be
there: without one a simulator stands in for it, and NumPy's own loops do the work.
"""
import os as _os

# The simulator notices the host's touches by guarding pages, which a system call that is handed one cannot pass.
_os.environ.setdefault("FERRY_SIM_TOUCH", "off")

from ._account import Crossings, crossings, explain, info, stats  # noqa: E402
from ._array import (  # noqa: E402
    arange, array, asarray, empty, empty_like, from_dlpack, full, linspace, load, ndarray, ones, save, set_copy_threads,
    zeros, zeros_like)
from ._install import allocator, install, loops, uninstall  # noqa: E402
from ._kernels import Kernel, kernel  # noqa: E402
from ._library import calibrate, library_path, owns, trim  # noqa: E402
from ._plugins import cupy_allocator, torch_allocator  # noqa: E402
from ._scopes import policy, stream, sync  # noqa: E402
from ._ferry import version as __version__  # noqa: E402

__all__ = [
    "Crossings", "Kernel", "allocator", "arange", "array", "asarray", "calibrate", "crossings", "cupy_allocator",
    "empty", "empty_like", "explain", "from_dlpack", "full", "info", "install", "kernel", "library_path",
    "linspace", "load", "loops", "ndarray", "ones", "owns", "policy", "save", "set_copy_threads", "stats", "stream",
    "sync", "torch_allocator", "trim", "uninstall", "zeros", "zeros_like",
]


def __getattr__(name: str) -> object:
    """``ferry.numba_emm``, the one name that takes another library to make."""
    if name == "numba_emm":
        from ._plugins import numba_emm
        return numba_emm()
    raise AttributeError(f"module 'ferry' has no attribute {name!r}")
