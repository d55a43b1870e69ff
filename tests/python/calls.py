"""Whole calls of ufuncs on ferry.ndarray: result types, shapes, layouts, values and mistakes are NumPy's."""
import ctypes
import importlib
import itertools
import os
import warnings

import numpy as np

import ferry
from ferry import _ferry
from harness import NUMPY, SEED, Case, main, ordinary

CODES = "?bBhHiIqQefd"
UNARY = """negative positive absolute sign reciprocal square sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan
    arcsin arccos arctan sinh cosh tanh floor ceil trunc rint isnan isinf isfinite signbit logical_not invert""".split()
BINARY = """add subtract multiply divide floor_divide power fmod remainder arctan2 hypot copysign maximum minimum fmax
    fmin logaddexp logaddexp2 equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
    bitwise_and bitwise_or bitwise_xor left_shift right_shift""".split()
TOLERANCE = {"e": 2e-3, "f": 4e-6, "d": 1e-13}
# Of the types and their pairs that are tried. On a device each is a kernel of its own, which takes 0.15 s to compile:
# there a sample stands for all, by FERRY_TEST_SEED.
SHARE = 1 if os.environ.get("FERRY_BACKEND") == "sim" else 0.05


def numbers(code, shape, random):
    kind = np.dtype(code).kind
    if kind == "b":
        return random.integers(0, 2, shape).astype(code)
    low = 1 if kind == "u" else -6
    values = random.integers(low, 7, shape)
    values[values == 0] = 1
    return (values * (1 if kind in "iu" else 0.125)).astype(code)


def outcome(function):
    """What it returns, or the type of what it raises."""
    try:
        with np.errstate(all="ignore"):
            return function()
    except Exception as error:  # noqa: B902: whatever NumPy raises
        return type(error)


_LOOP = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_ssize_t),
                         ctypes.POINTER(ctypes.c_ssize_t), ctypes.c_void_p)


@_LOOP
def _write_seven(operands, dimensions, steps, _):
    for i in range(dimensions[0]):
        ctypes.c_double.from_address(operands[2] + i * steps[2]).value = 7


_LOOPS = (ctypes.c_void_p * 1)(ctypes.cast(_write_seven, ctypes.c_void_p))
_DATA = (ctypes.c_void_p * 1)()
_TYPES = ctypes.create_string_buffer(bytes([np.dtype("d").num] * 3))


def ufunc_of_sevens(name):
    """A ufunc of float64 such as extensions make, whatever it is called: PyUFunc_FromFuncAndData."""
    api = importlib.import_module("numpy._core._multiarray_umath" if NUMPY >= (2, 0) else
                                  "numpy.core._multiarray_umath")._UFUNC_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(api, None), ctypes.POINTER(ctypes.c_void_p))
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int,
                             ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p,
                             ctypes.c_int)(table[1])
    return make(_LOOPS, _DATA, _TYPES, 1, 2, 1, -1, name, b"", 0)


class Calls(Case):
    def setUp(self):
        self.random = np.random.default_rng(SEED)
        ferry.install(threshold=1 << 40, length=0, loops=False)

    def served(self, function):
        before = _ferry.calls_served()
        result = outcome(function)
        return result, _ferry.calls_served() - before

    def compare(self, ufunc, *operands, served=None, **keywords):
        """The call on ferry's arrays and on NumPy's."""
        plain = [ordinary(x).view(np.ndarray) if isinstance(x, np.ndarray) and x.ndim and x.flags.c_contiguous else
                 x.view(np.ndarray) if isinstance(x, np.ndarray) else x for x in operands]
        want = outcome(lambda: ufunc(*plain, **keywords))
        got, calls = self.served(lambda: ufunc(*operands, **keywords))
        text = f"{ufunc.__name__} of {[getattr(x, 'dtype', x) for x in operands]}"
        if isinstance(want, type):
            self.assertIs(got, want, text)
            return
        self.assertEqual((got.dtype, got.dtype.char), (want.dtype, want.dtype.char), text)
        self.assertEqual(got.shape, want.shape, text)
        if isinstance(want, np.ndarray) and want.ndim:
            self.assertIs(type(got), ferry.ndarray, text)
            self.assertTrue(ferry.owns(got), text)
            self.assertEqual(got.strides, want.strides, text)
        if want.dtype.char in TOLERANCE:
            np.testing.assert_allclose(np.asarray(got), want, rtol=TOLERANCE[want.dtype.char], atol=1e-5 * (
                want.dtype.char == "e"), err_msg=text)
        else:
            np.testing.assert_array_equal(np.asarray(got), want, err_msg=text)
        if served is not None:
            self.assertEqual(calls, served, text)

    def chosen(self):
        return self.random.random() < SHARE

    def test_every_operation_and_type(self):
        for name, code in itertools.product(UNARY, CODES):
            if not self.chosen():
                continue
            x = ferry.asarray(numbers(code, 11, self.random))
            self.compare(getattr(np, name), x)
        served = asked = 0
        for name, one, two in itertools.product(BINARY, CODES, CODES):
            if not self.chosen():
                continue
            a, b = (ferry.asarray(numbers(code, 11, self.random)) for code in (one, two))
            before = _ferry.calls_served()
            self.compare(getattr(np, name), a, b)
            served += _ferry.calls_served() - before
            asked += 1
        # Of all pairs most have a loop; a few NumPy refuses, and powers of signed integers are NumPy's.
        self.assertGreater(served, asked * 0.7)

    def test_scalars(self):
        scalars = [True, 2, -3, 300, 1 << 40, 2.5, np.float32(1.5), np.float64(2.5), np.int8(3), np.uint64(7),
                   np.array(2), np.array(2.5, "f4"), np.bool_(True)]
        names = ("add", "multiply", "divide", "less", "maximum", "power", "left_shift")
        for name, code, scalar in itertools.product(names, CODES, scalars):
            if not self.chosen():
                continue
            x = ferry.asarray(numbers(code, 9, self.random))
            self.compare(getattr(np, name), x, scalar)
            self.compare(getattr(np, name), scalar, x)
        for scalar in (1j, "f4", None, [1] * 9, (1,) * 9, ferry.array(3.0)):
            self.compare(np.add, ferry.arange(9.0), scalar)

    def test_broadcasting_is_one_call(self):
        row, column = ferry.arange(5.0), ferry.arange(4.0)[:, None]
        matrix, cube = ferry.arange(20.0).reshape(4, 5), ferry.arange(60.0).reshape(3, 4, 5)
        for a, b in [(row, column), (matrix, row), (column, matrix), (cube, matrix), (cube.T, column[..., None]),
                     (cube[:, ::-1], matrix[::-1]), (cube[::2], row), (matrix.T, matrix.T),
                     (cube, ferry.ones((1, 1, 1)))]:
            self.compare(np.add, a, b, served=1)
        self.compare(np.add, matrix, ferry.ones(3))
        self.compare(np.add, ferry.ones((0, 5)), row, served=0)

    def test_small_ordinary_inputs_are_staged(self):
        matrix = ferry.zeros((64, 5))
        self.compare(np.add, matrix, np.arange(5.0), served=1)
        self.compare(np.add, matrix, np.ones((64, 5)), served=0)

    def test_out(self):
        x = ferry.arange(12.0).reshape(3, 4)
        for out in (ferry.empty((3, 4)), ferry.empty((4, 3)).T, ferry.empty((3, 4), "f4"), ferry.empty((2, 3, 4)), x):
            want = np.empty(out.shape, out.dtype)
            np.add(np.arange(12.0).reshape(3, 4), 1, out=want)
            got, calls = self.served(lambda: np.add(x, 1, out=out))
            self.assertIs(got, out)
            self.assertEqual(calls, 1)
            np.testing.assert_array_equal(out, want)
        reversed_in_place = ferry.arange(9.0)
        np.add(reversed_in_place, 0, out=reversed_in_place[::-1])
        np.testing.assert_array_equal(reversed_in_place, np.arange(9.0)[::-1])
        v = ferry.arange(5.0)
        v += 1
        v *= v
        np.testing.assert_array_equal(v, (np.arange(5.0) + 1) ** 2)
        for out in (ferry.empty((3, 4), int), ferry.empty((4, 4)), ferry.empty(3)):
            kept = out.copy()
            self.assertTrue(issubclass(self.served(lambda: np.add(x, 0.5, out=out))[0], (TypeError, ValueError)))
            np.testing.assert_array_equal(out, kept)
        frozen = ferry.zeros((3, 4))
        frozen.flags.writeable = False
        self.assertIs(self.served(lambda: np.add(x, 1, out=frozen))[0], ValueError)
        plain = np.empty((3, 4))
        self.assertIs(np.add(x, 1, out=plain), plain)

    def test_outputs_come_in_a_tuple(self):
        v = ferry.arange(3.0)
        for out in (5, v):
            with self.assertRaises(TypeError):
                v.__array_ufunc__(np.add, "__call__", v, 1, out=out)

    def test_what_is_left_to_numpy(self):
        v = ferry.arange(6.0)
        mask = v > 2
        for call in (lambda: np.add(v, 1, dtype="f4"), lambda: np.add(v, 1, where=mask, out=ferry.zeros(6)),
                     lambda: np.add(v, 1, casting="unsafe"), lambda: np.modf(v),
                     lambda: np.add(ferry.asarray(np.arange(3, dtype=">f8")), 1), lambda: v + 1j,
                     lambda: np.add(ferry.asarray(np.zeros(13, "u1"))[1:9].view("f8"), 1),
                     lambda: ferry.arange(1, 4) ** ferry.array([1, 2, 3])):
            result, calls = self.served(call)
            self.assertNotIsInstance(result, type)
            self.assertEqual(calls, 0)
        self.assertIs(self.served(lambda: ferry.arange(3) ** -1)[0], ValueError)

    def test_a_strangers_ufunc_of_the_same_name_is_not_numpys(self):
        sevens, v = ufunc_of_sevens(b"add"), ferry.arange(9.0)
        for call in (lambda: sevens(v, v), lambda: sevens.reduce(v)):
            result, calls = self.served(call)
            np.testing.assert_array_equal(result, np.full(np.shape(result), 7.0))
            self.assertEqual(calls, 0)

    def test_floating_point_errors(self):
        bad = ferry.asarray(np.array([0.0, -1.0, 1.0]))
        with np.errstate(all="raise"):
            for call, words in [(lambda: np.log(bad), "divide by zero encountered in log"),
                                (lambda: np.sqrt(bad), "invalid value encountered in sqrt"),
                                (lambda: np.exp(bad * 0 + 1e9), "overflow encountered in exp"),
                                (lambda: ferry.arange(3) // 0, "divide by zero encountered in floor_divide")]:
                with self.assertRaisesRegex(FloatingPointError, words):
                    call()
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
            warnings.simplefilter("always")
            np.log(bad)
        self.assertEqual([str(w.message) for w in caught],
                         ["divide by zero encountered in log", "invalid value encountered in log"])
        self.assertEqual({w.filename for w in caught}, {__file__})
        seen = []
        with np.errstate(all="call", call=lambda words, flags: seen.append((words, flags))):
            np.log(bad)
        self.assertEqual(seen, [("divide by zero", 9), ("invalid value", 9)])
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            np.log(bad)

    def test_numbers_out_of_a_types_range_leave_no_exceptions(self):
        for call in (lambda x: np.logical_xor(x, 1 << 40), lambda x: np.logical_or(x, np.float64(1e300)),
                     lambda x: np.copysign(x, np.float32(1e-40)), lambda x: np.logical_and(x, 1e-300),
                     lambda x: np.multiply(x, 1e300)):
            for code in "ef":
                x = np.arange(3, dtype=code)
                with warnings.catch_warnings(record=True) as wanted, np.errstate(all="warn"):
                    warnings.simplefilter("always")
                    want = call(x)
                with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
                    warnings.simplefilter("always")
                    got = call(ferry.asarray(x))
                self.assertEqual([str(w.message) for w in caught], [str(w.message) for w in wanted])
                np.testing.assert_array_equal(got, want)

    def test_crossings(self):
        x = ferry.empty(1 << 20)
        x[:] = 1.5
        with ferry.policy("prefetch"), ferry.crossings() as crossed:
            y = np.log(x)
            y.prefetch("host")
        self.assertEqual(crossed.to_device, x.nbytes)
        self.assertEqual(crossed.to_host, x.nbytes)
        self.assertEqual(crossed.redundant, 0)
        self.assertEqual(crossed.launches, 1)

    def test_asynchrony(self):
        x = ferry.ones(1 << 18)
        with ferry.stream():
            y = np.sqrt(x * 4 + 5)
            z = np.add.accumulate(y)
        np.testing.assert_array_equal(y, np.full(1 << 18, 3.0))
        self.assertEqual(z[-1], 3.0 * (1 << 18))

    def test_without_install_on_the_simulator_numpy_computes(self):
        ferry.uninstall()
        if ferry.info()["backend"] == "sim":
            self.assertEqual(self.served(lambda: np.sqrt(ferry.ones(1 << 20)))[1], 0)


assert NUMPY >= (1, 24)

if __name__ == "__main__":
    main()
