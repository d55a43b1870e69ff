"""libferry through ctypes: NumPy arrays that lie in managed memory, and ferry_apply on them."""

import ctypes
import itertools
import weakref

import numpy as np

MAX_DIMS = 32
READ, WRITE = 1, 2


class View(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("readonly", ctypes.c_bool),
        ("shape", ctypes.c_int64 * MAX_DIMS),
        ("strides", ctypes.c_int64 * MAX_DIMS),
    ]


class Failure(Exception):
    def __init__(self, status, detail):
        super().__init__(f"{status}: {detail}")
        self.status = status


class Ferry:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.ferry_malloc.restype = ctypes.c_void_p
        self.lib.ferry_malloc.argtypes = [ctypes.c_size_t]
        self.lib.ferry_free.argtypes = [ctypes.c_void_p]
        self.lib.ferry_error_detail.restype = ctypes.c_char_p
        self.lib.ferry_status_name.restype = ctypes.c_char_p
        self.lib.ferry_backend_name.restype = ctypes.c_char_p
        self.backend = (self.lib.ferry_backend_name() or b"none").decode()
        self.ops = {}
        self.reductions = {}
        self.dtypes = {}

    def check(self, status):
        if status:
            raise Failure(self.lib.ferry_status_name(status).decode(), self.lib.ferry_error_detail().decode())

    def _find(self, known, function, name):
        if name not in known:
            number = ctypes.c_int()
            self.check(function(name.encode(), ctypes.byref(number)))
            known[name] = number.value
        return known[name]

    def op(self, name):
        return self._find(self.ops, self.lib.ferry_op_find, name)

    def dtype(self, dtype):
        return self._find(self.dtypes, self.lib.ferry_dtype_find, np.dtype(dtype).name)

    def dtype_of_number(self, number):
        for name in DTYPES:
            if self.dtype(name) == number:
                return np.dtype(name)
        raise ValueError(number)

    def view(self, array):
        view = View(array.__array_interface__["data"][0], self.dtype(array.dtype), array.ndim, not array.flags.writeable)
        view.shape[: array.ndim] = array.shape
        view.strides[: array.ndim] = array.strides
        return view

    def empty(self, shape, dtype):
        """A C-contiguous array in managed memory, which goes when the array does."""
        dtype = np.dtype(dtype)
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        address = self.lib.ferry_malloc(max(nbytes, 1))
        if not address:
            raise MemoryError(self.lib.ferry_error_detail().decode())
        buffer = (ctypes.c_char * max(nbytes, 1)).from_address(address)
        weakref.finalize(buffer, self.lib.ferry_free, address)
        return np.frombuffer(buffer, dtype, nbytes // dtype.itemsize).reshape(shape)

    def host(self, array, access=READ):
        view = self.view(array)
        self.check(self.lib.ferry_host_acquire(ctypes.byref(view), access))
        return array

    def array(self, values):
        values = np.asarray(values)
        copy = self.host(self.empty(values.shape, values.dtype), WRITE)
        copy[...] = values
        return copy

    def apply(self, name, inputs, out):
        views, target = [self.view(x) for x in inputs], self.view(out)
        self.check(self.lib.ferry_apply(self.op(name), pointers(views), len(views), ctypes.byref(target), None))
        return self.host(out)

    def apply_checked(self, name, inputs, out):
        """FERRY_FP_ values."""
        return self.apply_views_checked(self.op(name), [self.view(x) for x in inputs], self.view(out))

    def apply_views_checked(self, op, views, target):
        raised = ctypes.c_uint(1 << 31)
        self.check(
            self.lib.ferry_apply_checked(op, pointers(views), len(views), ctypes.byref(target), None, ctypes.byref(raised))
        )
        return raised.value

    def reduction(self, name):
        return self._find(self.reductions, self.lib.ferry_reduction_find, name)

    def _reduction_arguments(self, name, array, axes, out):
        """axes: the numbers of the reduced axes, or None for all."""
        mask = 0xFFFFFFFF if axes is None else sum(1 << axis for axis in axes)
        return self.reduction(name), pointers([self.view(array)])[0], ctypes.c_uint32(mask), pointers([self.view(out)])[0], None

    def reduce(self, name, array, axes, out):
        self.check(self.lib.ferry_reduce(*self._reduction_arguments(name, array, axes, out)))
        return self.host(out)

    def reduce_checked(self, name, array, axes, out):
        """FERRY_FP_ values."""
        raised = ctypes.c_uint(1 << 31)
        arguments = self._reduction_arguments(name, array, axes, out)
        self.check(self.lib.ferry_reduce_checked(*arguments, ctypes.byref(raised)))
        return raised.value

    def reduce_dtype(self, name, dtype):
        """The result's dtype, or None where the reduction has no such loop."""
        number = ctypes.c_int()
        try:
            self.check(self.lib.ferry_reduce_dtype(self.reduction(name), self.dtype(dtype), ctypes.byref(number)))
        except Failure as failure:
            if failure.status != "DTYPE":
                raise
            return None
        return self.dtype_of_number(number.value)

    def matmul(self, a, b, out):
        views = [self.view(x) for x in (a, b, out)]
        self.check(self.lib.ferry_matmul(*[ctypes.byref(v) for v in views], None))
        return self.host(out)

    def laid_out(self, random, values):
        """The values in managed memory: axes permuted, steps of several elements, negative ones too, at any alignment."""
        values = np.asarray(values)
        order = random.permutation(values.ndim) if random.random() < 0.3 else np.arange(values.ndim)
        steps = [int(random.choice([1, 1, 1, 2, -1])) if random.random() < 0.5 else 1 for _ in order]
        size, strides, step, low = values.itemsize, [0] * values.ndim, values.itemsize, 0
        for axis in order[::-1]:
            step *= abs(steps[axis])
            strides[axis] = step if steps[axis] > 0 else -step
            low += step * max(0, values.shape[axis] - 1) if steps[axis] < 0 else 0
            step *= max(1, values.shape[axis])
        odd = int(random.integers(0, size)) if random.random() < 0.1 else size * int(random.integers(0, 3))
        block = self.host(self.empty(step + size + odd, np.uint8), WRITE)
        block[...] = 255
        view = np.ndarray(values.shape, values.dtype, block.data, low + odd, strides)
        view[...] = values
        return view

    def assign(self, destination, source):
        to, from_ = self.view(destination), self.view(source)
        self.check(self.lib.ferry_assign(ctypes.byref(to), ctypes.byref(from_), None))

    def place(self, array, device):
        view = self.view(array)
        self.check(self.lib.ferry_prefetch(ctypes.byref(view), device, None))

    def resolve(self, name, dtypes):
        """(compute, result), or None where the operation has no such loop."""
        numbers = (ctypes.c_int * len(dtypes))(*[self.dtype(d) for d in dtypes])
        compute, result = ctypes.c_int(), ctypes.c_int()
        try:
            self.check(
                self.lib.ferry_op_dtypes(self.op(name), numbers, len(dtypes), ctypes.byref(compute), ctypes.byref(result))
            )
        except Failure as failure:
            if failure.status != "DTYPE":
                raise
            return None
        return self.dtype_of_number(compute.value), self.dtype_of_number(result.value)


class Checker:
    def __init__(self):
        self.ran = self.failures = 0

    def check(self, passed, *text):
        self.ran += 1
        if not passed:
            self.failures += 1
            print("FAILED:", *text)


INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]
REALS = ["bool"] + INTEGERS + FLOATS
DTYPES = REALS + ["complex64", "complex128"]

UNARY = (
    "negative positive absolute sign reciprocal square sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos "
    "arctan sinh cosh tanh floor ceil trunc rint isnan isinf isfinite signbit logical_not invert"
).split()
BINARY = (
    "add subtract multiply divide floor_divide power fmod remainder arctan2 hypot copysign maximum minimum fmax fmin logaddexp "
    "logaddexp2 equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or "
    "bitwise_xor left_shift right_shift"
).split()
COMPARISONS = "equal not_equal less less_equal greater greater_equal".split()


def pointers(views):
    return (ctypes.POINTER(View) * len(views))(*[ctypes.pointer(v) for v in views])


def pairs(values):
    """All pairs of values, as two arrays."""
    a, b = zip(*itertools.product(values, repeat=2))
    return np.array(a, values.dtype), np.array(b, values.dtype)


class Share:
    """The cases of one of several runs side by side: compiling for a device takes most of the time."""

    def __init__(self, arguments):
        """`arguments` has "<which>/<of how many>", or nothing: all."""
        self.mine, self.of = (int(part) for part in (arguments or ["0/1"])[0].split("/"))
        self.cases = 0

    def has_next(self):
        self.cases += 1
        return self.cases % self.of == self.mine
