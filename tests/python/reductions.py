"""Reductions of ferry.ndarray as whole calls: NumPy's types, shapes, layouts and values."""
import itertools
import math
import warnings

import numpy as np

import ferry
from ferry import _ferry
from harness import SEED, Case, main, ordinary

UFUNCS = [getattr(np, name) for name in
          "add multiply minimum maximum logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split()]
TOLERANCE = {"e": 2e-3, "f": 2e-6, "d": 1e-13}


class Reductions(Case):
    def setUp(self):
        self.random = np.random.default_rng(SEED)
        ferry.install(threshold=1 << 40, length=0, loops=False)

    def numbers(self, code, shape):
        values = self.random.integers(1, 4, shape)
        return ferry.asarray((values * (1.0 if np.dtype(code).kind in "biu" else 0.5)).astype(code))

    def compare(self, ufunc, v, served=1, **keywords):
        plain = ordinary(v) if v.flags.c_contiguous else v.view(np.ndarray)
        text = f"{ufunc.__name__} of {v.dtype} {v.shape} {keywords}"
        try:
            want = ufunc.reduce(plain, **keywords)
        except (TypeError, ValueError) as error:
            with self.assertRaises(type(error), msg=text):
                ufunc.reduce(v, **keywords)
            return
        before = _ferry.calls_served()
        got = ufunc.reduce(v, **keywords)
        if served is not None:
            self.assertEqual(_ferry.calls_served() - before, served, text)
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape), text)
        self.assertIs(type(got), ferry.ndarray if isinstance(want, np.ndarray) else type(want), text)
        if isinstance(want, np.ndarray):
            self.assertEqual(*([s for s, n in zip(a.strides, a.shape) if n > 1] for a in (got, want)), text)
            self.assertTrue(ferry.owns(got), text)
        tolerance = TOLERANCE.get(want.dtype.char, 0)
        np.testing.assert_allclose(np.asarray(got, "f8"), np.asarray(want, "f8"), rtol=tolerance, err_msg=text)

    def test_every_reduction_and_type(self):
        for ufunc, code in itertools.product(UFUNCS, "?bBhHiIqQefd"):
            v = self.numbers(code, (3, 5))
            for axis in (None, 0, 1):
                self.compare(ufunc, v, served=None, axis=axis)

    def test_axes_and_layouts(self):
        v = self.numbers("d", (3, 4, 5))
        views = [v, v.T, v.transpose(1, 0, 2), v[:, ::-1], v[..., ::2], v[1:2], np.broadcast_to(v[0], (2, 4, 5))]
        for view in views:
            axes = [None, 0, 1, -1, (0, 1), (0, 2), (2, 1), (0, 1, 2), ()]
            for axis, keepdims in itertools.product(axes, (False, True)):
                self.compare(np.add, view, axis=axis, keepdims=keepdims)
        self.compare(np.maximum, v)
        self.compare(np.add, v, served=0, axis=3)
        self.compare(np.add, v, served=0, axis=(0, 0))
        self.compare(np.add, v[:0], served=0)
        self.compare(np.minimum, v[:0], served=0)

    def test_functions_and_methods(self):
        v = self.numbers("f", (6, 7))
        x = ordinary(v)
        for call in (lambda a: a.sum(), lambda a: np.sum(a, axis=0), lambda a: a.min(axis=1), lambda a: np.max(a),
                     lambda a: a.prod(axis=0), lambda a: np.all(a > 1, axis=1), lambda a: (a > 1).any(),
                     lambda a: a.mean(axis=0), lambda a: np.ptp(a, axis=0), lambda a: np.sum(a, keepdims=True)):
            before = _ferry.calls_served()
            np.testing.assert_allclose(np.asarray(call(v)), np.asarray(call(x)), rtol=1e-6)
            self.assertGreater(_ferry.calls_served(), before)

    def test_out(self):
        v = self.numbers("d", (3, 4))
        for axis, out in [(0, ferry.empty(4)), (1, ferry.empty(6)[::2]), (None, ferry.empty(()))]:
            self.assertIs(np.add.reduce(v, axis=axis, out=out), out)
            np.testing.assert_allclose(out, v.view(np.ndarray).sum(axis=axis))
        kept = ferry.empty((3, 1))
        np.add.reduce(v, axis=1, keepdims=True, out=kept)
        np.testing.assert_allclose(kept[:, 0], v.view(np.ndarray).sum(axis=1))
        for out in (np.empty(4), ferry.empty(4, "f4"), v[0]):
            want = np.add.reduce(ordinary(v), axis=0)
            before = _ferry.calls_served()
            np.add.reduce(v, axis=0, out=out)
            self.assertEqual(_ferry.calls_served(), before)
            np.testing.assert_allclose(out, want, rtol=1e-6)
        with self.assertRaises(ValueError):
            np.add.reduce(v, axis=0, out=ferry.empty(5))
        wide = ferry.zeros((3, 2))
        with self.assertRaises(ValueError):
            np.add.reduce(v, axis=1, keepdims=True, out=wide)
        self.assertFalse(wide.any())

    def test_what_is_left_to_numpy(self):
        v = self.numbers("d", (3, 4))
        mask = v > 1
        for keywords in ({"initial": 5}, {"where": mask}, {"dtype": "f4"}):
            self.compare(np.add, v, served=0, axis=0, **keywords)

    def test_sums_are_at_least_as_good_as_numpys(self):
        for code in "fd":
            x = self.random.standard_normal(100001).astype(code)
            exact = math.fsum(x.astype("f8"))
            ours, theirs = (abs(float(a.sum()) - exact) for a in (ferry.asarray(x), x))
            self.assertLessEqual(ours, theirs + np.finfo(code).eps * abs(exact))

    def test_floating_point_errors(self):
        large = ferry.full(10, np.finfo("f4").max, "f4")
        with np.errstate(over="raise"), self.assertRaisesRegex(FloatingPointError, "overflow encountered in reduce"):
            large.sum()
        both = ferry.asarray(np.array([np.inf, -np.inf]))
        with np.errstate(invalid="raise"), self.assertRaises(FloatingPointError):
            both.sum()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertTrue(np.isnan(ferry.asarray(np.array([1, np.nan])).sum()))


if __name__ == "__main__":
    main()
