"""Kernels of the user's own, from CUDA C source."""
import operator
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _ferry

_READ, _WRITE = 1, 2
_ACCESS = {"r": _READ, "w": _WRITE, "rw": _READ | _WRITE}

# The types of values by C's names for them, without const: in the order of words that _name_of_type gives them.
_VALUES: Dict[str, str] = {
    "bool": "?", "char": "b", "signed char": "b", "unsigned char": "B", "short": "h", "unsigned short": "H",
    "int": "i", "unsigned": "I", "long": "l", "unsigned long": "L", "long long": "q", "unsigned long long": "Q",
    "float": "f", "double": "d", "size_t": "N", "int8_t": "b", "uint8_t": "B", "int16_t": "h", "uint16_t": "H",
    "int32_t": "i", "uint32_t": "I", "int64_t": "q", "uint64_t": "Q", "ptrdiff_t": "q", "__half": "e", "half": "e",
}

_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_KERNEL = re.compile(
    r'(?P<c>extern\s*"C"\s*)?(?P<head>(?:static\s+)?__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+'
    r"(?:__launch_bounds__\s*\([^)]*\)\s*)?)(?P<name>[A-Za-z_]\w*)\s*\((?P<parameters>[^()]*)\)")
_C_BLOCK = re.compile(r'extern\s*"C"\s*\{')

Dimensions = Union[int, Sequence[int]]


class _Parameter(NamedTuple):
    name: str
    type: str
    is_pointer: bool
    is_const: bool


def _name_of_type(words: List[str]) -> str:
    """``long unsigned int`` is ``unsigned long``: C lets the words of integers stand in any order, and some be left
    out."""
    sized = [word for word in words if word in ("char", "short", "long")]
    if sized or "unsigned" in words or "signed" in words:
        words = [word for word in words if word not in ("int", "signed") or word == "signed" and "char" in words]
        words = sorted(words, key=lambda word: word in ("char", "short", "long")) or ["int"]
    return " ".join(words)


def _parse_parameter(text: str) -> _Parameter:
    """One of a kernel's: ``const float *__restrict__ x``, ``float x[]``, ``int n``."""
    text = re.sub(r"\b(?:__restrict__|__restrict|restrict|volatile|struct)\b|\bstd\s*::", " ", text)
    is_pointer = "*" in text or "[" in text
    before, _, after = text.rpartition("*") if "*" in text else ("", "", text)
    words = re.sub(r"\[[^\]]*\]|\*", " ", text).split()
    # What is const is what is pointed at: a const behind the last asterisk is the pointer's.
    pointed_at = before if before else after
    is_const = "const" in pointed_at.split()
    words = [word for word in words if word != "const"]
    return _Parameter(words[-1] if words else "", _name_of_type(words[:-1]), is_pointer, is_const)


class _Found(NamedTuple):
    name: str
    parameters: List[_Parameter]
    source: str


def _find_kernel(source: str, name: Optional[str]) -> _Found:
    """The kernel in the source, by its name or the only one, and the source with C linkage for it."""
    bare = _COMMENTS.sub(lambda comment: re.sub(r"[^\n]", " ", comment.group()), source)
    found = [match for match in _KERNEL.finditer(bare)
             if (name is None or match["name"] == name) and not bare[match.end():].lstrip().startswith(";")]
    if not found:
        raise ValueError(f"the source has no kernel {name}: __global__ void {name}(…)" if name is not None else
                         "the source has no kernel: __global__ void name(…)")
    if len(found) > 1:
        raise ValueError("the source has several kernels, and name says which: " + ", ".join(m["name"] for m in found))
    match = found[0]
    if match["c"] is None and not _C_BLOCK.search(bare, 0, match.start()):
        source = source[:match.start()] + 'extern "C" ' + source[match.start():]
    parameters = [part for part in match["parameters"].split(",") if part.strip() not in ("", "void")]
    return _Found(match["name"], [_parse_parameter(part) for part in parameters], source)


def _find_accesses(parameters: List[_Parameter], given: Any) -> List[int]:
    """Of each parameter: 0 for values, else how the kernel uses what it points at."""
    inferred = [0 if not p.is_pointer else _READ if p.is_const else _READ | _WRITE for p in parameters]
    if given is None:
        return inferred
    pointers = [i for i, p in enumerate(parameters) if p.is_pointer]
    if not isinstance(given, dict):
        given = list(given)
        if len(given) != len(pointers):
            raise ValueError(f"access names {len(given)} uses; the kernel has {len(pointers)} pointers")
        given = {parameters[i].name: use for i, use in zip(pointers, given)}
    by_name = {parameters[i].name: i for i in pointers}
    for name, use in given.items():
        if name not in by_name:
            raise ValueError(f"access names {name!r}; the kernel's pointers are {', '.join(by_name) or 'none'}")
        if use not in _ACCESS:
            raise ValueError(f'a kernel uses memory as "r", "w" or "rw", not {use!r}')
        inferred[by_name[name]] = _ACCESS[use]
    return inferred


def _three(dimensions: Dimensions, what: str) -> Tuple[int, int, int]:
    sizes = [dimensions] if isinstance(dimensions, (int, np.integer)) else list(dimensions)
    if not 1 <= len(sizes) <= 3 or any(not 1 <= size < 1 << 32 for size in sizes):
        raise ValueError(f"{what} is one to three numbers from 1 on, not {dimensions!r}")
    first, second, third = (operator.index(size) for size in (sizes + [1, 1])[:3])
    return first, second, third


class Kernel:
    """A kernel, callable: ``k(grid, block, arguments)`` or ``k[grid, block](*arguments)``. Made by ``ferry.kernel``."""

    def __init__(self, found: _Found, accesses: List[int], passes: int, host: Optional[Callable[..., Any]]) -> None:
        self.name = found.name
        self._parameters = found.parameters
        self._accesses = accesses
        self._passes = passes
        self._host = host
        self._compiled = _ferry.kernel_compile(found.source, found.name)

    def __call__(self, grid: Dimensions, block: Dimensions, arguments: Sequence[Any], shared_mem: int = 0) -> None:
        """Launches ``grid`` blocks of ``block`` threads, each a number or up to three, and waits for them, unless
        inside ``with ferry.stream()``. ``shared_mem``: bytes of dynamic shared memory per block.

        Arrays must live in ferry memory, and values must fit the C type of their parameter. TypeError and ValueError
        name the argument; RuntimeError: the kernel failed, or, on the simulator, has no function on the host.
        """
        blocks, threads = _three(grid, "a grid"), _three(block, "a block")
        if len(arguments) != len(self._parameters):
            raise TypeError(f"{self.name} takes {len(self._parameters)} arguments, not {len(arguments)}")
        packed = tuple(self._pack(i, argument) for i, argument in enumerate(arguments))
        if _ferry.backend() == "sim":
            self._run_on_host(blocks, threads, arguments, packed)
        else:
            _ferry.kernel_launch(self._compiled, blocks, threads, shared_mem, packed)

    def __getitem__(self, launch: Tuple[Dimensions, Dimensions]) -> Callable[..., None]:
        if not isinstance(launch, tuple) or len(launch) != 2:
            raise TypeError(f"{self.name}[grid, block](arguments), not [{launch!r}]")
        grid, block = launch
        return lambda *arguments, shared_mem=0: self(grid, block, arguments, shared_mem)

    def _pack(self, i: int, argument: Any) -> Any:
        """An array with its use, or a value's bytes."""
        parameter = self._parameters[i]
        if parameter.is_pointer:
            return self._pack_array(parameter, argument), self._accesses[i], self._passes
        if parameter.type not in _VALUES:
            if isinstance(argument, (bytes, np.generic)):
                return argument if isinstance(argument, bytes) else argument.tobytes()
            raise TypeError(f"{self.name}: {parameter.name} is a {parameter.type}, which takes bytes or a NumPy scalar")
        return self._pack_value(parameter, argument)

    def _pack_array(self, parameter: _Parameter, argument: Any) -> np.ndarray:
        if not isinstance(argument, np.ndarray):
            raise TypeError(f"{self.name}: {parameter.name} takes an array, not {type(argument).__name__}")
        if argument.size and not _ferry.owns(argument):
            raise ValueError(f"{self.name}: the array for {parameter.name} must live in ferry memory: ferry.asarray(…)")
        return argument

    def _pack_value(self, parameter: _Parameter, argument: Any) -> bytes:
        wanted = np.dtype(_VALUES[parameter.type])
        if isinstance(argument, np.ndarray) and argument.ndim > 0:
            raise TypeError(f"{self.name}: {parameter.name} takes a value, not an array")
        value = np.asarray(argument)
        if not np.can_cast(value.dtype, wanted, "same_kind") and not (value.dtype.kind in "iu" and wanted.kind in "iu"):
            raise TypeError(f"{self.name}: {parameter.name} is a {parameter.type}, not {argument!r}")
        cast = value.astype(wanted, casting="unsafe")
        if wanted.kind in "iu" and int(cast) != int(value):
            raise ValueError(f"{self.name}: {argument!r} is out of the range of {parameter.name}, a {parameter.type}")
        return cast.tobytes()

    def _run_on_host(self, blocks: Any, threads: Any, arguments: Sequence[Any], packed: Any) -> None:
        if self._host is None:
            raise RuntimeError(f"{self.name} has no version for the simulator: ferry.kernel(…, host=function) gives "
                               "one, called as function(grid, block, *arguments)")
        operands = tuple(item for item in packed if isinstance(item, tuple))
        _ferry.kernel_acquire(operands)
        try:
            self._host(blocks, threads, *(
                _ferry.kernel_alias(argument) if parameter.is_pointer else argument
                for parameter, argument in zip(self._parameters, arguments)))
        finally:
            _ferry.kernel_complete(operands)

    def __repr__(self) -> str:
        return f"<ferry.Kernel {self.name}({', '.join(p.name for p in self._parameters)})>"


def kernel(source: str, name: Optional[str] = None, access: Any = None, passes: int = 0,
           host: Optional[Callable[..., Any]] = None) -> Kernel:
    """A kernel from CUDA C++ source, compiled for this machine's devices and kept on disk.

    ``name`` says which ``__global__`` function it is where there are several. What a pointer points at is read when it
    is const, else read and written; ``access`` says more, by the pointers' names or in their order: ``{"y": "w"}`` for
    an array that is overwritten whole, whose contents then need not travel. ``passes``: how often one launch goes over
    its arrays (1 for an elementwise kernel, which may then use them across the bus); 0, unknown, is taken for many.

    On the simulator ``host(grid, block, *arguments)`` does the whole grid's work, on arrays that stand for the
    device's.

    ValueError where the source has no such kernel; RuntimeError with the compiler's log where it does not compile, or
    where there is a device and no NVRTC.

    >>> scale = ferry.kernel('''__global__ void scale(float *x, float factor, long long n) {
    ...     long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    ...     if (i < n) x[i] *= factor;
    ... }''', passes=1)
    >>> scale[(x.size + 255) // 256, 256](x, 2.0, x.size)
    """
    found = _find_kernel(source, name)
    return Kernel(found, _find_accesses(found.parameters, access), passes, host)
