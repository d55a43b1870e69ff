"""libferry's views through ctypes, on NumPy's memory, and what the tests beside this file share."""

import ctypes
import os
import random
import sys
import traceback

import numpy as np

MAX_DIMS = 32
OK, INVALID_ARGUMENT, SHAPE, CAST = 0, 1, 5, 6
NO, SAFE, SAME_KIND, UNSAFE = range(4)
SLICE_NONE = -(2**63)
NAMES = ("bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128").split()
DTYPES = [np.dtype(name) for name in NAMES]


class View(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("readonly", ctypes.c_bool),
        ("shape", ctypes.c_int64 * MAX_DIMS),
        ("strides", ctypes.c_int64 * MAX_DIMS),
    ]


class Slice(ctypes.Structure):
    _fields_ = [("start", ctypes.c_int64), ("stop", ctypes.c_int64), ("step", ctypes.c_int64)]


lib = ctypes.CDLL(sys.argv[1])
lib.ferry_error_detail.restype = ctypes.c_char_p
lib.ferry_view_format.restype = ctypes.c_int64
lib.ferry_view_format.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
lib.ferry_view_size.restype = ctypes.c_int64
lib.ferry_view_bytes.restype = ctypes.c_size_t
lib.ferry_dtype_cast.restype = ctypes.c_void_p
for predicate in ("ferry_view_overlap", "ferry_view_self_overlap", "ferry_dtype_can_cast",
                  "ferry_view_is_c_contiguous", "ferry_view_is_f_contiguous"):
    getattr(lib, predicate).restype = ctypes.c_bool


def int64s(numbers):
    return (ctypes.c_int64 * max(1, len(numbers)))(*numbers)


def view_of(array):
    view = View(array.__array_interface__["data"][0], DTYPES.index(array.dtype), array.ndim, not array.flags.writeable)
    view.shape[:array.ndim] = array.shape
    view.strides[:array.ndim] = array.strides
    return view


def shape_of(view):
    return tuple(view.shape[:view.ndim])


def detail():
    return lib.ferry_error_detail().decode()


def describe(array):
    return f"{array.dtype} shape {array.shape} strides {array.strides}"


def check_same(view, array, what):
    """The view is the array: the same elements at the same addresses."""
    assert DTYPES[view.dtype] == array.dtype, what
    assert shape_of(view) == array.shape, f"{what}: shape {shape_of(view)}, not {array.shape}"
    if array.size == 0:
        return
    assert view.data == array.__array_interface__["data"][0], f"{what}: data is {view.data}"
    for axis, extent in enumerate(array.shape):
        if extent > 1:
            assert view.strides[axis] == array.strides[axis], f"{what}: {list(view.strides[:view.ndim])}, not {array.strides}"


seed = int(os.environ.get("FERRY_TEST_SEED") or 20240607)
rng = random.Random(seed)
nprng = np.random.default_rng(seed)


def random_slice(extent):
    def end():
        return rng.choice([None, rng.randint(-extent - 2, extent + 2), rng.randint(-extent - 2, extent + 2)])
    step = rng.choice([None, 1, 1, 2, 3, -1, -1, -2, -3, rng.randint(1, extent + 2), -rng.randint(1, extent + 2)])
    return slice(end(), end(), step)


def random_shape(ndim, most=600):
    shape = []
    size = 1
    for _ in range(ndim):
        extent = rng.choice([1, 1, 2, 2, 3, 4, 5, 7]) if rng.random() > 0.03 else 0
        extent = min(extent, max(1, most // max(size, 1)))
        shape.append(extent)
        size *= max(extent, 1)
    return tuple(shape)


def random_array(dtype=None, ndim=None, broadcast=True):
    """An array of 0 to 8 dimensions, any strides, elements counting up in memory."""
    dtype = dtype if dtype is not None else rng.choice(DTYPES)
    ndim = rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8]) if ndim is None else ndim
    shape = random_shape(ndim)
    array = np.arange(int(np.prod(shape))).astype(dtype).reshape(shape, order=rng.choice("CF"))
    for _ in range(rng.randint(0, 3)):
        change = rng.randint(0, 3)
        if change == 0 and array.ndim:
            array = array[tuple(random_slice(extent) if rng.random() < 0.4 else slice(None) for extent in array.shape)]
        elif change == 1:
            array = array.transpose(rng.sample(range(array.ndim), array.ndim))
        elif change == 2 and broadcast and array.ndim:
            axis = rng.randrange(array.ndim)
            if array.shape[axis] == 1:
                shape = array.shape[:axis] + (rng.choice([1, 2, 3]),) + array.shape[axis + 1:]
                array = np.broadcast_to(array, shape)
        elif change == 3 and array.ndim and array.shape[0] > 1:
            array = array[::-1]
    return array


def run(*tests):
    """Runs the tests; reports each failure with the seed."""
    print(f"FERRY_TEST_SEED={seed} NumPy {np.__version__}")
    failed = 0
    for test in tests:
        try:
            test()
            print(f"{test.__name__}: passed")
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"{test.__name__}: FAILED; the library's latest error: {detail()}")
    sys.exit(1 if failed else 0)
