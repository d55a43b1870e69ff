"""np.matmul of ferry.ndarray as one call: NumPy's types, shapes and values."""
import itertools

import numpy as np

import ferry
from ferry import _ferry
from harness import SEED, Case, main, ordinary

SHAPES = [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)),
          ((2, 1, 3, 4), (5, 4, 2)), ((4,), (2, 4, 5)), ((2, 3, 4), (4,)), ((1, 4), (4, 1))]


class Products(Case):
    def setUp(self):
        self.random = np.random.default_rng(SEED)
        ferry.install(threshold=1 << 40, length=0, loops=False)

    def numbers(self, code, shape):
        return ferry.asarray(self.random.integers(0, 3, shape).astype(code))

    def compare(self, a, b, served=1):
        want = np.matmul(ordinary(a), ordinary(b))
        before = _ferry.calls_served()
        got = a @ b
        self.assertEqual(_ferry.calls_served() - before, served, f"{a.dtype} {a.shape} @ {b.dtype} {b.shape}")
        self.assertEqual((got.dtype, got.dtype.char, got.shape), (want.dtype, want.dtype.char, want.shape))
        self.assertIs(type(got), ferry.ndarray if want.ndim else type(want))
        if want.ndim:
            self.assertEqual(got.strides, want.strides)
        tolerance = 1e-3 if want.dtype == "e" else 1e-6
        np.testing.assert_allclose(np.asarray(got, "f8"), np.asarray(want, "f8"), rtol=tolerance)

    def test_shapes(self):
        for one, two in SHAPES:
            self.compare(self.numbers("d", one), self.numbers("d", two))

    def test_dot(self):
        a, b = self.numbers("d", (3, 4)), self.numbers("d", (4, 5))
        before = _ferry.calls_served()
        for made in (np.dot(a, b), a.dot(b), np.dot(a[0], b), np.dot(a, b[:, 0])):
            self.assertIs(type(made), ferry.ndarray)
        self.assertEqual(_ferry.calls_served() - before, 4)
        np.testing.assert_array_equal(np.dot(a, b), ordinary(a).dot(ordinary(b)))
        cube = self.numbers("d", (2, 3, 4))
        self.assertEqual(np.dot(cube, cube.transpose(0, 2, 1)).shape, (2, 3, 2, 3))
        self.assertEqual(np.dot(a, 2)[0, 0], 2 * a[0, 0])

    def test_dot_is_numpys_where_it_is_no_matrix_product(self):
        a, b = self.numbers("d", (3, 4)), self.numbers("d", (4, 5))
        seconds = np.arange(4).astype("m8[s]")
        self.assertEqual(np.dot(ferry.asarray(seconds), np.arange(4)), np.dot(seconds, np.arange(4)))
        for one, two, out in [(a, a, None), (a[0], b[:3, 0], None), (ferry.array(["a"]), np.array(["b"]), None),
                              (a, b, np.empty((3, 5), "f4")), (a, b, ferry.empty((5, 3)).T)]:
            with self.assertRaises(ValueError) as wanted:
                np.dot(np.asarray(one), np.asarray(two), out=out)
            with self.assertRaises(ValueError) as raised:
                np.dot(one, two, out=out)
            self.assertEqual(str(raised.exception), str(wanted.exception))
        out = ferry.empty((3, 5))
        self.assertIs(np.dot(a, b, out=out), out)
        np.testing.assert_array_equal(out, ordinary(a).dot(ordinary(b)))

    def test_types(self):
        for one, two in itertools.product("?bBhHiIqQefd", repeat=2):
            self.compare(self.numbers(one, (3, 4)), self.numbers(two, (4, 2)))

    def test_layouts(self):
        a, b = self.numbers("f", (6, 8)), self.numbers("f", (8, 6))
        for left, right in itertools.product((a, b.T, a[::-1], self.numbers("f", (12, 16))[::2, ::2]),
                                             (b, a.T, b[:, ::-1], self.numbers("f", (16, 12))[::2, ::2])):
            want = ordinary(left) @ ordinary(right)
            np.testing.assert_allclose(np.asarray(left @ right), want, rtol=1e-6)

    def test_out_and_mistakes(self):
        a, b = self.numbers("d", (3, 4)), self.numbers("d", (4, 5))
        out = ferry.empty((3, 5))
        self.assertIs(np.matmul(a, b, out=out), out)
        np.testing.assert_array_equal(out, ordinary(a) @ ordinary(b))
        square = self.numbers("d", (4, 4))
        want = ordinary(square) @ ordinary(square)
        np.matmul(square, square, out=square)
        np.testing.assert_array_equal(square, want)
        for one, two in [(a, a), (a, ferry.array(2.0)), (self.numbers("d", (2, 3, 4)), self.numbers("d", (3, 4, 5)))]:
            with self.assertRaises(ValueError):
                one @ two
        with self.assertRaises(ValueError):
            np.matmul(a, b, out=ferry.empty((3, 4)))
        self.compare(a[:, :0], b[:0], served=0)
        np.testing.assert_array_equal(ferry.array([1j]) @ ferry.array([1j]), -1)


if __name__ == "__main__":
    main()
