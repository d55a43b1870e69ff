"""ferry.ndarray: a NumPy array that lives in ferry memory, and says so."""
import functools
import operator
import os
from typing import Any, Callable, Dict, Optional, Tuple, Union

import numpy as np

from . import _ferry

DLPACK_CPU, DLPACK_CUDA, DLPACK_MANAGED = 1, 2, 13
_PLACES = {-1: "host", -2: "nowhere", -3: "mixed"}
_DTYPE = Any
_Order = Any  # "C", "F", "A", "K" or None, as NumPy's functions take them
_Place = Union[str, int]


class births:
    """Inside the block, this context's arrays are born in ferry memory, whatever their size."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _ferry.allocator_enter(0)

    def __exit__(self, *unused: Any) -> None:
        _ferry.allocator_set(self._before)


class ndarray(_ferry.array):
    """A NumPy array whose data lives in ferry memory, at one address for the host and every device.

    It is made by ``ferry.asarray``, ``ferry.empty`` and their like, and is an array like any other: views, indexing,
    ufuncs and functions do what NumPy's do, and their results are ferry's arrays again. A ufunc over large arrays that
    all live in ferry memory runs on the device as one launch, where that pays.

    Other libraries take it as it is: by ``__cuda_array_interface__`` (``cupy.asarray``, ``torch.as_tensor(v,
    device="cuda")``, Numba) and by DLPack. What they have queued must have ended before ferry or the host uses the
    array again.
    """

    __slots__ = ()

    def __new__(cls, shape: Any, dtype: _DTYPE = float, buffer: Any = None, offset: int = 0, strides: Any = None,
                order: _Order = None) -> "ndarray":
        with births():
            made = super().__new__(cls, shape, dtype, buffer, offset, strides, order)
        return made if buffer is not None else checked(made)

    @property
    def place(self) -> _Place:
        """Where ferry believes the bytes are: "host", "device" (its number where there are several), "mixed" where
        they are in several places, "nowhere" while nobody has touched them."""
        place = _ferry.place(self)
        if place < 0:
            return _PLACES[place]
        return place if _ferry.device_count() > 1 else "device"

    def prefetch(self, to: _Place = "device") -> "ndarray":
        """Moves the bytes to "device" (the first one), to a device by its number, or to the "host", and returns the
        array when they are there. ValueError for another place, RuntimeError when the device fails."""
        _ferry.prefetch(self, _number_of_place(to))
        return self

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        """The CUDA Array Interface, version 3. Waits for ferry's kernels that use the array; moves nothing. From then
        on its memory counts as possibly written by others for as long as it lives. The simulator's addresses are the
        host's: no device could use them."""
        if self.size and not _ferry.owns(self):
            raise AttributeError("the array does not live in ferry memory, so that no device can use it")
        if self.size:
            _ferry.expose(self)
        interface: Dict[str, Any] = {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.ctypes.data if self.size else 0, not self.flags.writeable),
            "strides": None if self.flags.c_contiguous else self.strides,
            "version": 3,
            "stream": None,
        }
        if self.dtype.names is not None:
            interface["descr"] = self.dtype.descr
        return interface

    def __dlpack_device__(self) -> Tuple[int, int]:  # type: ignore[override]
        """(13, device): managed memory, of the device that holds it, else of the first. (1, 0) for what does not live
        in ferry memory."""
        if self.size and not _ferry.owns(self):
            return DLPACK_CPU, 0
        return DLPACK_MANAGED, max(_ferry.place(self), 0)

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None) -> Any:
        """A DLPack capsule of the array's memory, which it keeps. Waits for ferry's kernels, so that ``stream`` need
        not.

        ``dl_device``: (13, n) for managed memory, (1, 0) for the CPU, where the bytes are brought home first, or (2, n)
        for plain CUDA memory, where they are placed on device n first. BufferError for another device, an element type
        or strides that DLPack has not, a read-only array without ``max_version`` 1, plain CUDA on the simulator.
        """
        array = self.copy(order="K") if copy else self
        device = array.__dlpack_device__() if dl_device is None else dl_device
        versioned = max_version is not None and max_version[0] >= 1
        return _ferry.dlpack_export(array, int(device[0]), int(device[1]), versioned, bool(copy))

    def cuda(self, device: int = 0) -> "CudaExport":
        """The array for libraries that refuse managed memory, as PyTorch and JAX do in DLPack:
        ``torch.from_dlpack(v.cuda())``. It is placed on the device when it is taken."""
        return CudaExport(self, device)

    def copy(self, order: _Order = "C") -> "ndarray":
        """A copy in ferry memory, made on the device where the array is there, else by several threads."""
        made: ndarray = np.empty_like(self, order=order)
        np.copyto(made, self, casting="no")
        return made

    def dot(self, b: Any, out: Any = None) -> Any:
        """``numpy.dot``: of one or two axes each a matrix product, as ``@`` makes it."""
        if out is None and isinstance(b, np.ndarray) and _is_product(self, b):
            return np.matmul(self, b)
        with births():
            return super().dot(b, out)

    def __copy__(self) -> "ndarray":
        return self.copy(order="K")

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _restored, (type(self), self.view(np.ndarray), getattr(self, "__dict__", None))

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.copyto and len(args) == 2 and _casts_safely(*args, **kwargs) and _copied(*args):
            return None
        if func is np.dot and args and isinstance(args[0], ndarray):
            return args[0].dot(*args[1:], **kwargs)
        with births():
            result = super().__array_function__(func, types, args, kwargs)
        return _kept(result, type(self), (*args, kwargs.get("out")))


class CudaExport:
    """An array's memory as plain CUDA memory of a device, by DLPack."""

    def __init__(self, array: ndarray, device: int) -> None:
        self._array = array
        self._device = device

    def __dlpack_device__(self) -> Tuple[int, int]:
        return DLPACK_CUDA, self._device

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None) -> Any:
        """As ndarray.__dlpack__, of (2, device)."""
        return self._array.__dlpack__(stream=stream, max_version=max_version, copy=copy,
                                      dl_device=self.__dlpack_device__() if dl_device is None else dl_device)


# Methods that make new arrays without asking NumPy's functions or ufuncs.
_MAKING = ("__deepcopy__", "argmax", "argmin", "argpartition", "argsort", "astype", "byteswap", "choose", "compress",
           "flatten", "nonzero", "ravel", "repeat", "reshape", "searchsorted", "take", "trace")


def _in_ferry_memory(name: str) -> Callable[..., Any]:
    method = getattr(np.ndarray, name)

    @functools.wraps(method)
    def make(self: ndarray, *arguments: Any, **keywords: Any) -> Any:
        with births():
            return method(self, *arguments, **keywords)
    return make


for _name in _MAKING:
    setattr(ndarray, _name, _in_ferry_memory(_name))


def _is_product(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether numpy.dot of the two is the matrix product, which knows of no dates, and words its errors otherwise."""
    if not 1 <= a.ndim <= 2 or not 1 <= b.ndim <= 2 or a.shape[-1] != b.shape[0]:
        return False
    return all(of.dtype.kind in "biufc" for of in (a, b))


def _copied(to: Any, source: Any) -> bool:
    """Whether ferry has copied; else nothing has been touched."""
    return isinstance(to, np.ndarray) and isinstance(source, np.ndarray) and _ferry.copy_into(to, source)


def _casts_safely(to: Any, source: Any, **keywords: Any) -> bool:
    """Whether numpy.copyto with the keywords would copy what casts safely, which is what ferry copies."""
    if not keywords:
        return True
    casting = keywords.get("casting")
    return len(keywords) == 1 and (casting in ("safe", "same_kind", "unsafe") or (
        casting in ("no", "equiv") and getattr(to, "dtype", None) == getattr(source, "dtype", None)))


def _kept(result: Any, cls: type, given: Tuple[Any, ...]) -> Any:
    """New plain arrays in ferry memory as arrays of the class, where NumPy's functions lose it; in tuples and lists
    as well."""
    if type(result) is np.ndarray:
        return result if any(result is one for one in given) or not _ferry.owns(result) else result.view(cls)
    if type(result) is list:
        return [_kept(item, cls, given) for item in result]
    if isinstance(result, tuple):
        items = [_kept(item, cls, given) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
    return result


def _restored(cls: type, plain: np.ndarray, attributes: Optional[Dict[str, Any]]) -> Any:
    restored: Any = asarray(plain).view(cls)
    if attributes:
        restored.__dict__.update(attributes)
    return restored


def _number_of_place(place: _Place) -> int:
    if isinstance(place, str):
        if place not in ("host", "device"):
            raise ValueError(f'an array is moved to "host", "device" or a device\'s number, not to {place!r}')
        return -1 if place == "host" else 0
    number = operator.index(place)
    if isinstance(place, bool) or not 0 <= number < _ferry.device_count():
        raise ValueError(f"devices are numbered from 0 to {_ferry.device_count() - 1}, not {place!r}")
    return number


_in_forked_child = False


def _note_fork() -> None:
    global _in_forked_child
    _in_forked_child = True


os.register_at_fork(after_in_child=_note_fork)


def checked(array: np.ndarray) -> Any:
    """The array, if it lives in ferry memory, which a forked child has none of. MemoryError where there was no room."""
    if not _ferry.owns(array) and not _in_forked_child:
        raise MemoryError(f"no room in ferry memory for an array of {array.nbytes} bytes: the limit is "
                          f"{_ferry.limit()} bytes (FERRY_LIMIT), of which {_ferry.stats()['live_bytes']} are in use")
    return array


def _made(array: np.ndarray) -> ndarray:
    made: ndarray = checked(array).view(ndarray)
    return made


def _is_on_device(x: Any) -> bool:
    """Whether the object is an array of another library's whose memory DLPack says is a GPU's."""
    if not hasattr(x, "__dlpack__") or isinstance(x, (np.ndarray, np.generic)):
        return False
    return hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] != DLPACK_CPU


def asarray(x: Any, dtype: _DTYPE = None, order: _Order = None) -> ndarray:
    """The data as an array in ferry memory; what already lives there, in the type and order wanted, is not copied.

    ``x``: anything that ``numpy.asarray`` takes, and other libraries' arrays whose memory is ferry's or the host's
    (``from_dlpack``). MemoryError where ferry memory has no room.
    """
    plain = from_dlpack(x) if _is_on_device(x) else x
    if _is_copied_by_value(plain, dtype):
        return _copy_of(plain, plain.dtype if dtype is None else np.dtype(dtype), order or "K")
    with births():
        plain = np.asarray(plain, dtype=dtype, order=order)
    if not _ferry.owns(plain):
        return _copy_of(plain, plain.dtype, order or "K")
    if isinstance(x, ndarray) and plain.__array_interface__ == x.__array_interface__:
        return x
    return _made(plain)


def _is_copied_by_value(x: Any, dtype: _DTYPE) -> bool:
    """Whether it is a plain array that becomes one in ferry memory element by element: of types that do not depend on
    the values, as the length of texts and the unit of dates do."""
    if not isinstance(x, np.ndarray) or _ferry.owns(x):
        return False
    return dtype is None or all(of.kind in "biufc" for of in (x.dtype, np.dtype(dtype)))


def _copy_of(plain: np.ndarray, dtype: Any, order: _Order) -> ndarray:
    """In ferry memory, cast as ``numpy.asarray`` casts."""
    with births():
        made = _made(np.empty_like(plain, dtype=dtype, order=order, subok=False))
    if not _copied(made, plain):
        np.copyto(made.view(np.ndarray), plain, casting="unsafe")
    return made


def array(x: Any, dtype: _DTYPE = None, copy: bool = True, order: _Order = "K", ndmin: int = 0) -> ndarray:
    """``numpy.array`` in ferry memory. ``copy=False`` copies what does not live there."""
    made: Any = asarray(x, dtype, None if order == "K" else order)
    if copy and isinstance(x, np.ndarray) and np.may_share_memory(made, x):
        made = made.copy(order=order)
    while made.ndim < ndmin:
        made = made[np.newaxis]
    return made  # type: ignore[no-any-return]


def empty(shape: Any, dtype: _DTYPE = float, order: _Order = "C") -> ndarray:
    """``numpy.empty`` in ferry memory."""
    with births():
        return _made(np.empty(shape, dtype, order))


def zeros(shape: Any, dtype: _DTYPE = float, order: _Order = "C") -> ndarray:
    """``numpy.zeros`` in ferry memory; fresh memory is not touched for it."""
    with births():
        return _made(np.zeros(shape, dtype, order))


def ones(shape: Any, dtype: _DTYPE = float, order: _Order = "C") -> ndarray:
    """``numpy.ones`` in ferry memory."""
    return full(shape, 1, float if dtype is None else dtype, order)


def full(shape: Any, fill_value: Any, dtype: _DTYPE = None, order: _Order = "C") -> ndarray:
    """``numpy.full`` in ferry memory."""
    made = empty(shape, np.asarray(fill_value).dtype if dtype is None else dtype, order)
    _ferry.host_acquire(made, True)
    np.copyto(made.view(np.ndarray), fill_value, casting="unsafe")
    return made


def arange(*arguments: Any, dtype: _DTYPE = None) -> ndarray:
    """``numpy.arange([start,] stop[, step])`` in ferry memory."""
    keywords: Dict[str, Any] = {} if dtype is None else {"dtype": dtype}
    with births():
        return _made(np.arange(*arguments, **keywords))


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
             dtype: _DTYPE = None, axis: int = 0) -> Any:
    """``numpy.linspace`` in ferry memory; with ``retstep`` a pair of it and the step."""
    with births():
        made, step = np.linspace(start, stop, num, endpoint, True, dtype, axis)  # type: ignore[call-overload]
        # Integers come as a view of floats that have been rounded; any base is ferry's as well.
        made = _made(np.asarray(made))
    return (made, step) if retstep else made


def empty_like(prototype: Any, dtype: _DTYPE = None, order: _Order = "K", shape: Any = None) -> ndarray:
    """``numpy.empty_like`` in ferry memory, whatever the prototype's is."""
    with births():
        return _made(np.empty_like(prototype, dtype, order, False, shape))


def zeros_like(prototype: Any, dtype: _DTYPE = None, order: _Order = "K", shape: Any = None) -> ndarray:
    """``numpy.zeros_like`` in ferry memory, whatever the prototype's is."""
    with births():
        return _made(np.zeros_like(prototype, dtype, order, False, shape))


def from_dlpack(x: Any, /, *, copy: Optional[bool] = None) -> ndarray:
    """An array on another library's memory, by DLPack. Nothing is copied where the memory is ferry's.

    Memory of the host that is not ferry's is copied, since a ferry.ndarray lives in ferry memory (``copy=False``:
    BufferError). BufferError, too, for a device's memory that the host cannot read: allocate it with
    ``ferry.cupy_allocator`` or ``ferry.torch_allocator()``, or copy it to the host first. What the exporter has queued
    is waited for.
    """
    device, number = x.__dlpack_device__()
    on_device = device != DLPACK_CPU
    taken = _ferry.dlpack_import(_capsule_of(x, 1 if on_device else None))
    if on_device:
        _ferry.dlpack_wait(number)
    if taken.size and not _ferry.owns(taken):
        if copy is False:
            raise BufferError("the memory is not ferry's, and may not be copied")
        return _copy_of(taken, taken.dtype, "K")
    made = taken.view(ndarray)
    return made.copy(order="K") if copy else made


def _capsule_of(x: Any, stream: Optional[int]) -> Any:
    try:
        return x.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:
        # An exporter of before version 1.
        return x.__dlpack__() if stream is None else x.__dlpack__(stream=stream)


def load(file: Any, mmap_mode: Any = None, **keywords: Any) -> Any:
    """``numpy.load`` into ferry memory: a .npy file is read straight there. Of an .npz file the archive is returned,
    whose arrays are NumPy's. A file that is memory-mapped is copied."""
    if mmap_mode is None and not hasattr(file, "read"):
        try:
            return _ferry.npy_load(file).view(ndarray)
        except (TypeError, ValueError, RuntimeError, OSError):
            pass  # NumPy reads what ferry cannot, or says what is wrong with it
    with births():
        loaded = np.load(file, mmap_mode, **keywords)
    return asarray(loaded) if isinstance(loaded, np.ndarray) else loaded


def save(file: Any, arr: Any, **keywords: Any) -> None:
    """``numpy.save``. Under a name, a file appears whole or not at all. OSError where it cannot be written."""
    plain = np.asanyarray(arr)
    if hasattr(file, "write") or not _is_savable(plain):
        np.save(file, plain, **keywords)
        return
    path = _path_of(file)
    _ferry.npy_save(path if path.endswith(".npy") else path + ".npy", plain)


def _path_of(file: Any) -> str:
    return os.fsdecode(os.fspath(file))


def _is_savable(array: np.ndarray) -> bool:
    return array.dtype.isnative and array.dtype.kind in "biufc" and array.dtype.itemsize <= 16 and \
        array.dtype.char not in "gG" and array.ndim <= 32


def set_copy_threads(threads: int) -> int:
    """How many threads at most copy a large array, 6 without it (or what FERRY_COPY_THREADS says). Returns the number
    before. ValueError for fewer than 1 or more than 64."""
    return _ferry.set_copy_threads(threads)


def _set_threads_from_environment() -> None:
    threads = os.environ.get("FERRY_COPY_THREADS", "")
    if threads.isdigit() and 1 <= int(threads) <= 64:
        _ferry.set_copy_threads(int(threads))


_set_threads_from_environment()
