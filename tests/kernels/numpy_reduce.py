"""
ferry_reduce against NumPy: numpy_reduce.py LIBFERRY [ROUNDS].

Types of results, random shapes, strides, axes and values, specials, the error of sums against exact ones, and that an answer
does not depend on where the elements lie.
"""

import math
import os
import sys
from fractions import Fraction

import numpy as np

from ferry_ctypes import DTYPES, FLOATS, REALS, Checker, Failure, Ferry

REDUCTIONS = "add multiply minimum maximum logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split()
EXTENTS = [1, 1, 2, 3, 4, 5, 8, 17, 33, 64, 257, 1000, 1024, 1025, 8192, 8193, 20000]
ELEMENTS = 60000
SPECIALS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]


def numpy_reduce(name, values, axes):
    """NumPy's answer; of floats one that is better than its own, to compare with."""
    if name in ("add", "multiply") and values.dtype.kind == "f":
        values = values.astype(np.longdouble)
    with np.errstate(all="ignore"):
        return getattr(np, name).reduce(values, axis=axes)


def same(got, want, ulps, unit=None):
    """Equal, NaN where NaN is, and floats within so many units in the last place of `unit`, else of got's type."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind != "f":
        return bool(np.array_equal(got, want.astype(got.dtype)))
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        spacing = np.spacing(np.abs(want.astype(unit or got.dtype))).astype(np.longdouble)
        near = np.abs(got.astype(np.longdouble) - want) <= ulps * spacing
    return bool(np.all((got == rounded) | (np.isnan(got) & np.isnan(rounded)) | near))


def some_shape(random):
    shape, room = [], ELEMENTS
    for _ in range(random.integers(0, 5)):
        extent = int(random.choice([n for n in EXTENTS if n <= room]))
        shape.append(extent)
        room //= extent
    return tuple(int(n) for n in random.permutation(shape)) if shape else ()


def some_values(random, shape, dtype):
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype in FLOATS:
        values = random.uniform(0.5, 1.5, shape).astype(dtype)
        if random.random() < 0.2 and values.size:
            values.reshape(-1)[random.integers(0, values.size, 2)] = random.choice(SPECIALS, 2)
        return values
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return random.integers(low, high, shape, dtype=dtype, endpoint=True)


def some_axes(random, ndim):
    if random.random() < 0.3:
        return None
    return tuple(int(axis) for axis in np.flatnonzero(random.integers(0, 2, ndim)))


def result_shape(shape, axes):
    return () if axes is None else tuple(n for axis, n in enumerate(shape) if axis not in axes)


def random_case(ferry, random, checker, place):
    name, dtype = str(random.choice(REDUCTIONS)), str(random.choice(REALS))
    result = ferry.reduce_dtype(name, dtype)
    if result is None:
        return
    values = some_values(random, some_shape(random), dtype)
    axes = some_axes(random, values.ndim)
    array = ferry.laid_out(random, values)
    wider = [d for d in DTYPES if np.can_cast(result, d, "same_kind")]
    target = np.dtype(str(random.choice(wider))) if random.random() < 0.2 else result
    out = ferry.laid_out(random, np.zeros(result_shape(values.shape, axes), target))
    if place:
        ferry.place(array.base if array.base is not None else array, int(random.integers(-1, 1)))
    ferry.reduce(name, array, axes, out)
    want = numpy_reduce(name, values, axes)
    if result.kind != "f":
        good = np.array_equal(out, np.asarray(want).astype(result).astype(target))
    elif target == result:
        good = same(out, want, 1 if dtype != "float64" else 64 if name == "add" else 2048)
    else:
        # Not rounded to the result's type on the way: as exact as what the sum is made in.
        made_in = np.float32 if dtype == "float16" else np.float64
        good = name == "multiply" or same(out.real, want, 64, min(made_in, out.real.dtype.type, key=lambda d: d().itemsize))
    checker.check(good, name, dtype, values.shape, array.strides, axes, "->", target)


def types(ferry, checker):
    for name in REDUCTIONS:
        for dtype in REALS:
            try:
                want = getattr(np, name).reduce(np.ones(2, dtype)).dtype
            except TypeError:
                want = None
            checker.check(ferry.reduce_dtype(name, dtype) == want, "type of", name, dtype)
        checker.check(ferry.reduce_dtype(name, "complex64") is None, "complex", name)


def exact_sum(values):
    """Correctly rounded to the type of the values."""
    total = sum(map(Fraction, values.astype(np.float64).tolist()))
    return values.dtype.type(math.fsum(values)) if values.dtype == np.float64 else values.dtype.type(float(total))


def error_of(value, values):
    return abs(Fraction(float(value)) - sum(map(Fraction, values.astype(np.float64).tolist())))


def accuracy(ferry, random, checker):
    """float16 and float32 are rounded once; float64 errs at most as the bound of NumPy's pairwise sums allows."""
    for n in (1, 2, 7, 100, 1024, 5000, 8192, 8193, 100003):
        for spread in (0, 6):
            values = random.standard_normal(n) * 10.0 ** random.uniform(-spread, spread, n)
            for dtype in ("float16", "float32", "float64"):
                x = (np.abs(values) % 1 if dtype == "float16" else values).astype(dtype)
                out = ferry.empty((), dtype)
                ferry.reduce("add", ferry.array(x), None, out)
                if dtype == "float64":
                    scale = Fraction(float(np.abs(x).sum()))
                    bound = (10 + 10 * math.ceil(math.log(n + 1, 8192))) * Fraction(2) ** -53 * scale
                    checker.check(error_of(out[()], x) <= bound, "error of", n, dtype, spread, out, math.fsum(x))
                elif dtype == "float32":
                    checker.check(same(out, exact_sum(x), 1), "sum of", n, dtype, spread, out, exact_sum(x))
                    theirs = error_of(x.sum(), x)
                    checker.check(error_of(out[()], x) <= theirs + Fraction(float(np.spacing(abs(out[()])))) / 2, "worse than NumPy", n)
                elif n <= 8193:
                    checker.check(same(out, exact_sum(x), 1), "sum of", n, dtype, spread, out, exact_sum(x))


def places_do_not_matter(ferry, random, checker):
    """The same values, contiguous and otherwise, alone and as one row or column of many: the same bits."""
    for n in (5, 255, 1024, 1500, 8192, 9000, 70001):
        for dtype in FLOATS:
            for name in ("add", "multiply"):
                x = random.uniform(0.9, 1.1, n).astype(dtype)
                got = []
                for array, axes in (
                    (ferry.array(x), None),
                    (ferry.array(np.repeat(x, 3))[::3], None),
                    (ferry.array(x[::-1])[::-1], None),
                    (ferry.array(np.concatenate([x[:1], x]))[1:], None),
                    (ferry.array(np.tile(x, (3, 1))), (1,)),
                    (ferry.array(np.tile(x[:, None], (1, 40))), (0,)),
                    (ferry.array(np.tile(x[:, None], (1, 2))), (0,)),
                ):
                    out = ferry.empty(result_shape(array.shape, axes), dtype)
                    got += [bytes(v) for v in ferry.reduce(name, array, axes, out).reshape(-1)]
                checker.check(len(set(got)) == 1, name, n, dtype, "depends on the place")


def specials(ferry, checker):
    for dtype in FLOATS:
        for a in SPECIALS:
            for b in SPECIALS:
                x = ferry.array(np.array([1, a, 2, b, 1], dtype))
                for name in ("add", "multiply", "minimum", "maximum"):
                    out = ferry.empty((), dtype)
                    ferry.reduce(name, x, None, out)
                    checker.check(same(out, numpy_reduce(name, np.array(x), None), 0), name, dtype, a, b, out)
    for name in ("logical_and", "logical_or", "logical_xor"):
        out = ferry.empty((), bool)
        ferry.reduce(name, ferry.array(np.array([np.nan, 0.0, 0.5, -0.0])), None, out)
        checker.check(out[()] == getattr(np, name).reduce(np.array([np.nan, 0.0, 0.5, -0.0]) != 0), name, "of NaN")


def of_nothing(ferry, checker):
    for name in REDUCTIONS:
        for dtype in ("bool", "int32", "uint64", "float32"):
            result = ferry.reduce_dtype(name, dtype)
            if result is None:
                continue
            for shape, axes in (((0,), None), ((3, 0), (1,)), ((0, 3), (1,)), ((2, 0), (0, 1)), ((0, 2), (1,))):
                array, out = ferry.empty(shape, dtype), ferry.empty(result_shape(shape, axes), result)
                try:
                    want = getattr(np, name).reduce(np.empty(shape, dtype), axis=axes)
                except ValueError:
                    want = None
                try:
                    got = ferry.reduce(name, array, axes, out)
                except Failure as failure:
                    checker.check(want is None and failure.status == "SHAPE", name, dtype, shape, failure)
                    continue
                checker.check(want is not None and np.array_equal(got, want.astype(result)), name, dtype, shape, axes, got, want)


def raised_by_numpy(name, values, axis):
    raised = []
    with np.errstate(all="call", call=lambda text, flag: raised.append(flag)):
        getattr(np, name).reduce(values, axis=axis)
    return sum(set(raised))


def exceptions(ferry, checker):
    """One result, many, and many of whom one raises."""
    for dtype in FLOATS:
        largest, smallest = np.finfo(dtype).max, np.finfo(dtype).tiny
        for row in (
            [1, 2, 3],
            [largest, largest, 1],
            [-largest, -largest, 1],
            [np.inf, 1, 2],
            [np.inf, -np.inf, 1],
            [np.nan, 1, largest],
            [np.inf, 0, 1],
            [smallest, smallest, smallest],
            [smallest, 0, 1],
            [0, 0, 0],
        ):
            for name in ("add", "multiply", "maximum"):
                values = np.array(row, dtype)
                want = raised_by_numpy(name, values, 0)
                several = np.ones((3, 100), dtype)
                several[:, 41] = values
                for array, axes in ((values, None), (several.copy(), (0,)), (np.tile(values[:, None], (1, 5)), (0,))):
                    out = ferry.empty(result_shape(array.shape, axes), dtype)
                    got = ferry.reduce_checked(name, ferry.array(array), axes, out)
                    checker.check(got == want, name, dtype, row, array.shape, "raises", got, "not", want)
    array = ferry.array(np.array([[3e38, 1], [3e38, 2]], np.float32))
    got = ferry.reduce_checked("add", array, (0,), array[0])
    checker.check(got == 2 and ferry.host(array)[0, 0] == np.inf, "overflow into the input", got)
    got = ferry.reduce_checked("add", ferry.array(np.arange(5)), None, ferry.empty((), np.int64))
    checker.check(got == 0, "integers raise", got)


def in_place(ferry, random, checker):
    """The output among the input's elements."""
    values = random.integers(-100, 100, (30, 40))
    for cut in (lambda a: a[0], lambda a: a[7, ::-1], lambda a: a.reshape(-1)[5:45]):
        array = ferry.array(values)
        ferry.reduce("add", array, (0,), cut(array))
        want = values.copy()
        cut(want)[...] = values.sum(axis=0)
        checker.check(np.array_equal(ferry.host(array), want), "an output inside the input")


def main():
    ferry = Ferry(sys.argv[1])
    if ferry.backend == "none":
        print("no such backend here")
        return 77
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
    seed = int(os.environ.get("FERRY_TEST_SEED", "20240609"), 0)
    print(f"backend {ferry.backend}, NumPy {np.__version__}, FERRY_TEST_SEED={seed}, {rounds} rounds")
    random, checker = np.random.default_rng(seed), Checker()
    types(ferry, checker)
    accuracy(ferry, random, checker)
    places_do_not_matter(ferry, random, checker)
    specials(ferry, checker)
    of_nothing(ferry, checker)
    in_place(ferry, random, checker)
    exceptions(ferry, checker)
    for i in range(rounds):
        random_case(ferry, random, checker, i % 2)
    print(f"{checker.ran} checks, {checker.failures} failures")
    return 1 if checker.failures or checker.ran < rounds / 2 else 0


if __name__ == "__main__":
    sys.exit(main())
