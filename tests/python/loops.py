"""NumPy's loops, replaced: every one of them, in every layout, against NumPy's own on ordinary memory."""
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import ferry
from harness import Case, MIB, SEED, main, managed, ordinary

# Functions that neither side rounds correctly: within the sum of both sides' bounds (docs/kernels.md; NumPy's is 4).
ROUNDED = ("arccos arcsin arctan arctan2 cbrt cos cosh exp exp2 expm1 hypot log log10 log1p log2 logaddexp logaddexp2 "
           "power sin sinh tan tanh").split()
ULP = {"float64": 6, "float32": 8, "float16": 1}
# Of these, sums of a large and a small number, of either sign: the error is one of the larger.
CANCELLING = {"logaddexp", "logaddexp2"}
# Of +0 and −0, and of two NaNs, NumPy's loops give one or the other.
EITHER = "maximum minimum fmax fmin".split()


REDUCTIONS = ("add multiply minimum maximum logical_and logical_or logical_xor bitwise_and bitwise_or "
              "bitwise_xor").split()


def random_values(dtype, n, random):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        near, wide = random.integers(1, 20, n), random.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        return np.where(random.integers(0, 2, n) == 0, near.astype(dtype), wide)
    with np.errstate(all="ignore"):
        return (random.uniform(-4, 4, n) * 10.0 ** random.integers(-2, 2, n)).astype(dtype)


def inputs_for(loop, n, random):
    arrays = [random_values(code, n, random) for code in loop.types.split("->")[0]]
    if loop.ufunc == "power" and arrays[0].dtype.kind in "iu":
        arrays[1] = np.array(random.integers(0, 5), arrays[1].dtype)
    if loop.ufunc in ("floor_divide", "remainder", "fmod", "reciprocal") and arrays[-1].dtype.kind in "iu":
        arrays[-1][arrays[-1] == 0] = 1
    return arrays


def ulps(got, want):
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(want)).astype(np.longdouble)
        off = np.abs(got.astype(np.longdouble) - want.astype(np.longdouble)) / unit
    return np.where((got == want) | (np.isnan(got) & np.isnan(want)), 0, off)


class Compared(Case):
    def assert_same(self, name, got, want, what="", inputs=()):
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape), (name, what))
        if name in ROUNDED and got.dtype.kind == "f":
            off = ulps(got, want)
            if name in CANCELLING:
                largest = max(float(np.max(np.abs(a))) for a in inputs)
                off = np.where(np.abs(got - want) <= 2 * np.spacing(got.dtype.type(largest)), 0, off)
            self.assertFalse(np.isnan(off).any() or off.size and off.max() > ULP[got.dtype.name], (name, what))
        elif got.dtype.kind == "f" and name in EITHER:
            self.assertTrue(np.array_equal(got, want, equal_nan=True), (name, what))
        else:
            self.assertEqual(got.tobytes(), want.tobytes(), (name, what, got, want))


def call(loop, inputs, out):
    """The very loop, whatever the values' types would resolve to."""
    with np.errstate(all="ignore"):
        return getattr(np, loop.ufunc)(*inputs, out=out, casting="equiv", signature=loop.types)


def make_out(loop, shape):
    return np.empty(shape, loop.types[-1])


def reachable(loop):
    """NumPy resolves some types past their loops: those cannot be called by anybody."""
    if loop.ufunc == "matmul":
        return True
    try:
        call(loop, [ordinary(np.ones(1, code)) for code in loop.types.split("->")[0]], ordinary(make_out(loop, 1)))
    except TypeError:
        return False
    return True


def some(loops):
    """Each kernel takes a device's compiler a part of a second: there, every ninth will do."""
    return loops if ferry.info()["backend"] == "sim" else loops[::9]


class EveryLoop(Compared):
    """For each loop: contiguous, with gaps, backwards, in place, with a scalar on either side."""

    def layouts(self, arrays, loop):
        n = arrays[0].size
        yield "contiguous", arrays, lambda out: out
        yield "gaps", [a if a.ndim == 0 else np.repeat(a, 3)[::3] for a in arrays], lambda out: np.repeat(out, 2)[::2]
        yield "backwards", [a if a.ndim == 0 else a[::-1] for a in arrays], lambda out: out[::-1]
        if len(arrays) == 2:
            yield "scalar left", [arrays[0][n // 2], arrays[1]], lambda out: out
            yield "scalar right", [arrays[0], arrays[1].ravel()[0]], lambda out: out

    def test_values_and_launches(self):
        ferry.install(threshold=0, length=0)
        random = np.random.default_rng(SEED)
        unreachable = [loop[:2] for loop in ferry.loops() if not reachable(loop)]
        print("loops that NumPy never calls:", unreachable)
        self.assertLess(len(unreachable), len(ferry.loops()) // 8)
        for loop in some(ferry.loops()):
            if loop.ufunc == "matmul" or not reachable(loop):
                continue
            arrays = inputs_for(loop, 257, random)
            for layout, inputs, spread in self.layouts(arrays, loop):
                if all(np.ndim(a) == 0 for a in inputs):
                    continue
                with self.subTest(loop=loop[:2], layout=layout):
                    want = call(loop, [ordinary(a) for a in inputs], ordinary(make_out(loop, 257)))
                    got_in = [a if np.ndim(a) == 0 else in_ferry(a) for a in inputs]
                    got_out = in_ferry(spread(np.zeros(257, loop.types[-1])))
                    self.assert_launches(lambda: call(loop, got_in, got_out), 1)
                    self.assert_same(loop.ufunc, np.array(got_out), want, (loop.types, layout), inputs)

    def test_in_place(self):
        ferry.install(threshold=0, length=0)
        random = np.random.default_rng(SEED)
        for loop in some(ferry.loops()):
            types = loop.types.split("->")
            if loop.ufunc == "matmul" or types[0][0] != types[1] or not reachable(loop):
                continue
            with self.subTest(loop=loop[:2]):
                given = inputs_for(loop, 100, random)
                want = call(loop, [ordinary(a) for a in given], ordinary(make_out(loop, 100)))
                inputs = [managed(a) for a in given]
                self.assert_launches(lambda: call(loop, inputs, inputs[0]), 1)
                self.assert_same(loop.ufunc, np.array(inputs[0]), want, inputs=given)


def in_ferry(array):
    """The same layout over a copy of the whole base."""
    if array.base is None:
        return managed(array)
    base = managed(array.base)
    offset = array.__array_interface__["data"][0] - array.base.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, base, offset, array.strides)


class Layouts(Compared):
    def setUp(self):
        ferry.install(threshold=0, length=0)
        random = np.random.default_rng(SEED)
        self.x = ordinary(random.uniform(-5, 5, (40, 50)))
        self.y = ordinary(random.uniform(-5, 5, (40, 50)))

    def check(self, function, *arrays):
        """The same on ferry's memory as on ordinary."""
        want = function(*[ordinary(a) for a in arrays])
        got = function(*[managed(a) for a in arrays])
        self.assertTrue(ferry.owns(got))
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=0)

    def test_shapes(self):
        self.check(lambda x, y: x * y, self.x, self.y)
        self.check(lambda x, y: x.T - y.T, self.x, self.y)
        self.check(lambda x, y: x[::2, 1:] + y[1::2, :-1], self.x, self.y)
        self.check(lambda x, y: x[::-1, ::-3] * y[:, ::3], self.x, self.y)
        self.check(lambda x, y: x + y[:, :1], self.x, self.y)
        self.check(lambda x, y: x[:1] / y, self.x, self.y)
        self.check(lambda x: x + 1.5, self.x)
        self.check(lambda x: 2.5 - x, self.x)
        self.check(lambda x: np.sqrt(np.abs(x)).reshape(-1, 8), self.x)

    def test_casts(self):
        whole = ordinary(np.arange(20000, dtype=np.int32))
        self.check(lambda x: x * 0.5, whole)
        self.check(lambda x: x + np.int64(7), whole)
        self.check(lambda x: np.add(x, x, dtype=np.float32), whole)
        self.check(lambda x: np.multiply(x, 2, out=np.empty(x.shape), casting="unsafe"), whole)

    def test_where(self):
        mask = self.x > 0
        self.check(lambda x, y: np.add(x, y, out=y.copy(), where=mask), self.x, self.y)

    def test_scalars_and_nothing(self):
        for shape in ((), (1,), (0,), (3, 0)):
            ones = managed(np.ones(shape))
            self.assertEqual(np.shape(np.exp(ones)), shape)
            self.assertEqual(np.shape(ones + ones), shape)
        self.assertEqual(np.float64(2) + np.float64(3), 5)

    def test_overlap(self):
        for function in (lambda a: np.add(a[1:], a[:-1], out=a[1:]), lambda a: np.negative(a[::-1], out=a),
                         lambda a: np.multiply(a, a[3], out=a), lambda a: np.subtract(a[:-2], a[2:], out=a[1:-1]),
                         lambda a: np.add(a, 1, out=a)):
            one, other = ordinary(np.arange(1000.0)), managed(np.arange(1000.0))
            function(one), function(other)
            self.assertEqual(one.tobytes(), np.array(other).tobytes())

    def test_outputs_and_inputs_of_different_sizes_in_one_block(self):
        for memory in (ordinary, managed):
            block = memory(np.arange(16384, dtype=np.uint8))
            doubles = block[:8000].view(np.float64)
            doubles[:] = np.arange(1000)
            np.less(doubles, 500, out=block[:1000].view(bool))
            self.assertEqual(block[:1000].sum(), 500)

    def test_misaligned(self):
        raw = managed(np.zeros(8 * 1000 + 1, np.uint8))
        x = np.ndarray(1000, np.float64, raw, 1)
        x[:] = np.arange(1000)
        np.testing.assert_allclose(x + x, 2.0 * np.arange(1000))
        np.add(x, 1, out=x)
        np.testing.assert_allclose(x, np.arange(1, 1001))

    def test_accumulations(self):
        x, ints = self.x, ordinary(np.arange(1, 4001).reshape(40, 100) % 7 + 1)
        for array in (x, ints):
            for function in (np.add.accumulate, np.multiply.accumulate, np.maximum.accumulate, np.cumsum,
                             lambda a: np.subtract.accumulate(a, axis=1),
                             lambda a: np.add.accumulate(a[:, ::-1], axis=1),
                             lambda a: np.add.reduceat(a, [0, 3, 7, 20]), lambda a: np.add.outer(a[0], a[1])):
                got, want = function(managed(array)), function(ordinary(array))
                np.testing.assert_allclose(np.array(got), want, rtol=1e-12)
        counts = managed(np.zeros(5, int))
        np.add.at(counts, [0, 1, 1, 4], 1)
        self.assertEqual(counts.tolist(), [1, 2, 0, 0, 1])

    def test_accumulation_in_place(self):
        for memory in (ordinary, managed):
            array = memory(np.ones(5000))
            np.add.accumulate(array, out=array)
            self.assertEqual(array.tolist(), list(range(1, 5001)))

    def test_reductions(self):
        for array in (self.x, self.x.astype(np.float32), ordinary(np.arange(2000).reshape(40, 50) % 11),
                      ordinary(np.arange(200, dtype=np.uint8).reshape(4, 50)), self.x > 0):
            for name in "add multiply maximum minimum logical_and logical_or logical_xor".split():
                ufunc = getattr(np, name)
                for axis in (None, 0, 1, (0, 1)):
                    with self.subTest(ufunc=name, axis=axis, dtype=array.dtype.name), np.errstate(over="ignore"):
                        want = ufunc.reduce(ordinary(array), axis=axis)
                        got = ufunc.reduce(managed(array), axis=axis)
                        self.assertEqual(np.asarray(got).dtype, np.asarray(want).dtype)
                        rtol = 1e-4 if array.dtype == np.float32 else 1e-12
                        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)

    def test_full_reductions_are_launched(self):
        random = np.random.default_rng(SEED)
        for loop in ferry.loops():
            codes = loop.types.replace("->", "")
            if loop.ufunc not in REDUCTIONS or len(set(codes)) != 1:
                continue
            if loop.ufunc in ("add", "multiply") and codes[0] == "?":
                continue
            values = random_values(codes[0], 3000, random)
            if values.dtype.kind == "f":
                values = values % 1 + 1 if loop.ufunc == "add" else values % 1 / values.dtype.type(1000) + 1
            for array in (managed(values), managed(np.repeat(values, 2))[::2], managed(values)[::-1]):
                with self.subTest(loop=loop[:2]), np.errstate(all="ignore"):
                    ufunc = getattr(np, loop.ufunc)
                    want = ufunc.reduce(ordinary(array), dtype=codes[0])
                    got = self.assert_launches(lambda: ufunc.reduce(array, dtype=codes[0]))
                    self.assertEqual(got.dtype, want.dtype)
                    # NumPy rounds a product of float16 after each factor.
                    np.testing.assert_allclose(got, want, rtol={"e": 0.1, "f": 1e-4}.get(codes[0], 1e-12))

    def test_what_reductions_begin_with(self):
        x = managed(self.x)
        for function in (lambda a: np.add.reduce(a, axis=None, initial=10),
                         lambda a: np.maximum.reduce(a.ravel(), initial=99),
                         lambda a: np.minimum.reduce(a.ravel()), lambda a: np.multiply.reduce(a[0], initial=-0.5),
                         lambda a: a.sum(dtype=np.float32), lambda a: a.mean(), lambda a: a.std(),
                         lambda a: (a > 0).sum(), lambda a: np.add.reduce(a[:0].ravel()), lambda a: np.any(a),
                         lambda a: np.add.reduce(a.ravel()[:1])):
            np.testing.assert_allclose(function(x), function(self.x), rtol=1e-6)
        self.assertRaises(ValueError, np.maximum.reduce, x[:0].ravel())

    def test_reductions_of_what_is_no_number(self):
        for value in (np.nan, np.inf, -np.inf):
            x = managed(self.x.ravel())
            x[777] = value
            for name in "add multiply maximum minimum".split():
                with np.errstate(all="ignore"):
                    got, want = getattr(np, name).reduce(x), getattr(np, name).reduce(ordinary(x))
                np.testing.assert_array_equal(got, want)
        huge = managed(np.full(1000, 1e308))
        with np.errstate(all="raise"):
            self.assertRaisesRegex(FloatingPointError, "overflow", np.add.reduce, huge)

    def test_half_in_ferry_memory(self):
        x, y = managed(self.x), self.y
        got = self.assert_launches(lambda: np.add(x, y), 0)
        np.testing.assert_array_equal(got, self.x + self.y)
        out = ordinary(np.empty(self.x.shape))
        self.assert_launches(lambda: np.add(x, x, out=out), 0)
        np.testing.assert_array_equal(out, self.x + self.x)


class Products(Case):
    """The operator @, which is a loop of its own."""

    def setUp(self):
        ferry.install(threshold=0, length=0)
        self.random = np.random.default_rng(SEED)

    def values(self, code, *shape):
        return random_values(code, int(np.prod(shape)), self.random).reshape(shape)

    def check(self, a, b, layout=lambda x: x):
        want = np.matmul(layout(ordinary(a)), layout(ordinary(b)))
        left, right = layout(managed(a)), layout(managed(b))
        got = self.assert_launches(lambda: np.matmul(left, right))
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        if got.dtype.kind == "f":
            scale = np.abs(a).max() * np.abs(b).max() * a.shape[-1]
            tolerance = {2: 2e-3, 4: 1e-6, 8: 1e-14}[got.dtype.itemsize] * float(scale)
            np.testing.assert_allclose(got, want, rtol=0, atol=tolerance)
        else:
            np.testing.assert_array_equal(got, want)

    def test_types(self):
        for code in "?bBhHiIlLqQfd":
            with self.subTest(code):
                self.check(self.values(code, 7, 20), self.values(code, 20, 9))

    def test_shapes(self):
        for a, b in (((1, 1), (1, 1)), ((5, 3), (3, 4)), ((40, 64), (64, 33)), ((3, 5, 4), (4, 6)), ((5, 4), (3, 4, 6)),
                     ((2, 3, 4, 5), (3, 5, 6)), ((4,), (4, 3)), ((3, 4), (4,)), ((1, 300), (300, 1))):
            with self.subTest(a=a, b=b):
                self.check(self.values("d", *a), self.values("d", *b))

    def test_layouts(self):
        a, b = self.values("d", 12, 12), self.values("d", 12, 12)
        for layout in (np.transpose, lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x[::2, ::2], np.asfortranarray):
            self.check(a, b, layout)

    def test_out_and_overlap(self):
        a = self.values("d", 20, 20)
        left, out = managed(a), managed(np.zeros((20, 20)))
        self.assertIs(np.matmul(left, left, out=out), out)
        np.testing.assert_allclose(out, ordinary(a) @ ordinary(a), rtol=1e-12, atol=1e-10)
        np.matmul(left, left, out=left)
        np.testing.assert_allclose(left, out, rtol=1e-12, atol=1e-10)

    def test_nothing(self):
        for a, b in (((0, 3), (3, 2)), ((2, 0), (0, 3)), ((2, 3), (3, 0))):
            got = managed(np.ones(a)) @ managed(np.ones(b))
            self.assertEqual(got.shape, (a[0], b[1]))
            self.assertFalse(got.any())
        self.assertRaises(ValueError, np.matmul, managed(np.ones((2, 3))), managed(np.ones((2, 3))))

    def test_half_in_ferry_memory(self):
        a = self.values("d", 8, 8)
        self.assert_launches(lambda: np.matmul(managed(a), ordinary(a)), 0)


class Lengths(Case):
    def test_forced_length(self):
        ferry.install(threshold=0, length=1000)
        short, long = managed(np.ones(999)), managed(np.ones(1000))
        self.assert_launches(lambda: np.log(short), 0)
        self.assert_launches(lambda: np.log(long), 1)

    def test_the_simulator_never_pays(self):
        ferry.install(threshold=0)
        if ferry.info()["backend"] != "sim":
            self.skipTest("a device may pay")
        self.assert_launches(lambda: np.log(managed(np.ones(MIB))), 0)

    def test_lengths_can_be_measured(self):
        """What the simulator takes says nothing, but that there is an answer."""
        ferry.install()
        for number, loop in enumerate(ferry.loops()):
            if loop[:2] in (("add", "dd->d"), ("maximum", "bb->b"), ("matmul", "ff->f"), ("log", "d->d")):
                self.assertGreaterEqual(ferry._ferry.loops_measure(number), 1024, loop)
        self.assertRaises(IndexError, ferry._ferry.loops_measure, len(ferry.loops()))
        self.assertTrue(np.isfinite(np.add.reduce(managed(np.ones(10)))))

    def test_without_loops(self):
        ferry.install(threshold=0, length=0)
        ferry.install(threshold=0, loops=False)
        self.assert_launches(lambda: np.log(managed(np.ones(10))), 0)
        self.assertEqual(ferry.info()["loops"], 0)

    def test_uninstalled_and_installed_again(self):
        array = managed(np.ones(10))
        for _ in range(3):
            ferry.install(threshold=0, length=0)
            self.assert_launches(lambda: np.log(array), 1)
            ferry.uninstall()
            self.assert_launches(lambda: np.log(array), 0)

    def test_every_operation_is_found(self):
        ferry.install()
        names = {loop.ufunc for loop in ferry.loops()}
        for name in "negative sqrt log add divide power equal logical_and bitwise_xor left_shift isnan matmul".split():
            self.assertIn(name, names)
        self.assertGreater(len(ferry.loops()), 500)


class Values(Case):
    """What loops do beside their values."""

    def setUp(self):
        ferry.install(threshold=0, length=0)

    def test_negative_integer_powers(self):
        x = managed(np.arange(1, 100))
        for exponent in (-1, managed(np.full(99, -2))):
            self.assertRaisesRegex(ValueError, "negative integer powers", np.power, x, exponent)
        self.assertEqual((x ** 3).sum(), sum(n ** 3 for n in range(1, 100)))

    def test_marks_of_floating_point_arithmetic_stay_right(self):
        x = managed(np.linspace(1, 2, 1000))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with np.errstate(all="raise"):
                np.log(x), np.sqrt(x), np.maximum(x, np.nan), x < np.inf, np.arctan2(x, x), x ** 2.5

    def test_exceptions(self):
        """Raised where NumPy raises them, with its text."""
        ones = managed(np.ones(1000))
        some = {value: with_one(ones, value) for value in (0.0, -1.0, 1000.0, np.inf, np.nan)}
        ints = managed(np.arange(1000))
        for text, function in {
            "divide by zero encountered in log": lambda: np.log(some[0.0]),
            "invalid value encountered in log": lambda: np.log(some[-1.0]),
            "invalid value encountered in sqrt": lambda: np.sqrt(some[-1.0]),
            "overflow encountered in exp": lambda: np.exp(some[1000.0]),
            "invalid value encountered in sin": lambda: np.sin(some[np.inf]),
            "divide by zero encountered in (true_)?divide": lambda: ones / some[0.0],
            "invalid value encountered in (true_)?divide": lambda: some[0.0] / some[0.0],
            "invalid value encountered in subtract": lambda: some[np.inf] - some[np.inf],
            "overflow encountered in multiply": lambda: (some[1000.0] * 1e306) * some[1000.0],
            "divide by zero encountered in floor_divide": lambda: ints // ints,
            "divide by zero encountered in remainder": lambda: ints % ints,
            "divide by zero encountered in reciprocal": lambda: np.reciprocal(some[0.0]),
            "divide by zero encountered in log1p": lambda: np.log1p(some[-1.0]),
        }.items():
            with self.subTest(text):
                with np.errstate(all="raise"):
                    self.assertRaisesRegex(FloatingPointError, text, function)
                with np.errstate(all="ignore"):
                    self.assert_launches(function)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    function()
                self.assertRegex(str(caught[0].message), text)
                self.assertEqual(caught[0].filename, __file__)
        with np.errstate(all="raise"):
            some[np.nan] + 1, np.exp(some[np.nan]), np.sqrt(some[np.nan]), some[np.inf] * 2, np.exp(some[np.inf])

    def test_exceptions_that_are_called_or_ignored(self):
        seen = []
        before = np.seterrcall(lambda kind, flag: seen.append(kind))
        self.addCleanup(np.seterrcall, before)
        with np.errstate(all="call"):
            np.log(with_one(managed(np.ones(100)), 0))
        with np.errstate(all="ignore"):
            np.log(with_one(managed(np.ones(100)), 0))
        self.assertEqual(seen, ["divide by zero"])

    def test_types_of_results(self):
        x = managed(np.arange(10, dtype=np.float32))
        self.assertEqual((x + 1).dtype, np.float32)
        self.assertEqual((x > 1).dtype, bool)
        self.assertIs(type(np.log(x[1])), np.float32)


def with_one(array, value):
    array = array.copy()
    array[len(array) // 2] = value
    return array


class Threads(Case):
    def test_many_at_once(self):
        ferry.install(threshold=0, length=0)

        def work(seed):
            x = managed(np.random.default_rng(seed).uniform(1, 2, 3000))
            plain = ordinary(x)
            want = np.sqrt(plain * plain + 1) - plain[::-1]
            for _ in range(60):
                got = np.sqrt(x * x + 1) - x[::-1]
                self.assertEqual(got.tobytes(), want.tobytes())

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6)))

    def test_installing_meanwhile(self):
        x = managed(np.ones(2000))
        stop = threading.Event()

        def work():
            while not stop.is_set():
                self.assertTrue((np.exp2(x) == 2).all())

        with ThreadPoolExecutor(3) as pool:
            workers = [pool.submit(work) for _ in range(3)]
            try:
                for _ in range(100):
                    ferry.install(threshold=0, length=0)
                    ferry.uninstall()
            finally:
                stop.set()
            for worker in workers:
                worker.result()


if __name__ == "__main__":
    main()
