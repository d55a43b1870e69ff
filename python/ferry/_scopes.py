"""What holds for a part of a thread's work."""
import contextlib
from typing import Iterator

from . import _ferry


@contextlib.contextmanager
def policy(name: str) -> Iterator[None]:
    """Inside the block, launches of this thread move their operands by the policy: auto, prefetch, remote or none.

    It goes over the policies of arrays and heaps. ValueError names the policies there are.
    """
    before = _ferry.policy(name)
    try:
        yield
    finally:
        _ferry.policy(before)


@contextlib.contextmanager
def stream() -> Iterator[None]:
    """Inside the block, this thread's loops are launched without waiting for them; leaving it waits for them all.

    Until then, or until ``sync()``, a result may only go into ufuncs of arrays of its own shape and type, and of
    scalars. Everything else looks at memory without waiting: indexing, printing and copying, but also a ufunc that
    broadcasts or casts it, which NumPy does piece by piece through buffers before it calls any loop. Loops that NumPy
    computes itself, and full reductions, wait. Floating-point exceptions are not looked for. RuntimeError, at the end,
    when a kernel failed.
    """
    _ferry.stream_enter()
    try:
        yield
    finally:
        _ferry.stream_exit()


def sync() -> None:
    """Waits for everything that has been launched, by any thread. RuntimeError when a kernel failed."""
    _ferry.sync()
