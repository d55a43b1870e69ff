"""NumPy's memory and loops, replaced and put back."""
import contextlib
import operator
import sys
import threading
from typing import Iterator, NamedTuple, Optional, Union

from . import _ferry

Size = Union[int, str]

MAX_BYTES = 2 * sys.maxsize  # one less than the extension's sign that nothing is installed

# NumPy's tables are exchanged by one thread at a time.
_lock = threading.Lock()


def size_in_bytes(size: Size) -> int:
    """A number of bytes, from a number or a text such as "1 MiB" or "64K" (powers of 1024). ValueError."""
    if isinstance(size, str):
        return _ferry.parse_size(size.replace(" ", ""))
    size_bytes = int(size)
    if not 0 <= size_bytes <= MAX_BYTES:
        raise ValueError(f"a size in bytes is from 0 to {MAX_BYTES}, not {size_bytes}")
    return size_bytes


def install(threshold: Size = "1 MiB", length: Optional[int] = None, loops: bool = True) -> None:
    """Gives every array of ``threshold`` bytes and more ferry memory, and NumPy's ufuncs loops that use the device.

    Holds for all threads, those that run already, those that start later and those that Python knows nothing of: the
    functions of NumPy's default data allocator are exchanged. A data allocator (NEP 49) that the program has set for
    itself stays in force where it was set.

    A ufunc's loop becomes a launch when every operand but scalars lies in ferry memory and there are ``length``
    elements or more; otherwise it is NumPy's own. ``length=None`` stands for the length from which on a launch was
    measured to be quicker, operation by operation (never on the simulator); a number is taken as it is, and for matrix
    products counts multiplications. ``loops=False`` leaves NumPy's loops alone.
    Whole calls on ``ferry.ndarray`` are launched from the same lengths, also without ``install()``.

    May be called again, to change the figures. ValueError for a size that is none; RuntimeError when the library cannot
    start.
    """
    threshold_bytes = size_in_bytes(threshold)
    elements = _ferry.LENGTH_MEASURED if length is None else operator.index(length)
    if length is not None and not 0 <= elements <= sys.maxsize:
        raise ValueError(f"a length is from 0 to {sys.maxsize}, not {length}")
    _ferry.backend()
    with _lock:
        if loops:
            _ferry.loops_install(elements)
        else:
            _ferry.loops_uninstall()
        _ferry.calls_set_length(elements)
        _ferry.allocator_install(threshold_bytes)


def uninstall() -> None:
    """Puts NumPy's loops and its allocation back. Arrays that live in ferry memory stay there and stay valid."""
    with _lock:
        _ferry.allocator_uninstall()
        _ferry.loops_uninstall()
        _ferry.calls_set_length(_ferry.LENGTH_MEASURED)


@contextlib.contextmanager
def allocator(threshold: Size = "1 MiB") -> Iterator[None]:
    """Inside the block, arrays of ``threshold`` bytes and more are born in ferry memory.

    Sets NumPy's data allocator in the current context (NEP 49), so it holds for this thread or task only, and changes
    no loops. Within it the threshold of ``install()`` does not count. Arrays outlive the block.
    """
    before = _ferry.allocator_enter(size_in_bytes(threshold))
    try:
        yield
    finally:
        _ferry.allocator_set(before)


class Loop(NamedTuple):
    """One replaced loop: the ufunc's name, its types as NumPy writes them ("dd->d"), and what became of its calls."""

    ufunc: str
    types: str
    launches: int
    length: int


def loops() -> "list[Loop]":
    """The loops that ``install()`` replaces, with how many launches each has made, and from which length on.

    A length of 2**63 - 1, as without ``install()``, is never reached; −1 has yet to be measured, when the
    loop is first called with arrays in ferry memory.
    """
    return [Loop(*entry) for entry in _ferry.loops()]
