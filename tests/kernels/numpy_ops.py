"""
Every operation on every dtype against NumPy: numpy_ops.py LIBFERRY [SHARE/SHARES]. The backend is FERRY_BACKEND's.

Operations that IEEE 754 or integer arithmetic define must agree to the bit; the others are held against the truth, which is the same
function at the next precision, within 2 ulp for float64, 4 for float32 and 1 for float16.
"""

import os
import sys

import numpy as np

from ferry_ctypes import BINARY, COMPARISONS, DTYPES, FLOATS, INTEGERS, REALS, UNARY, Ferry, Share, pairs

NEW_NUMPY = tuple(int(x) for x in np.__version__.split(".")[:2]) >= (2, 1)
ULP = {"float64": 2, "float32": 4, "float16": 1}
WIDER = {"float64": np.longdouble, "float32": np.float64, "float16": np.float32}
ROUNDED = (
    "cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh power arctan2 hypot logaddexp logaddexp2"
).split()
EITHER_ZERO = "maximum minimum fmax fmin".split()  # of +0 and -0 NumPy's loops give one or the other
LOGICAL = "logical_and logical_or logical_xor logical_not".split()

failures = 0


def fail(text):
    global failures
    failures += 1
    if failures <= 40:
        print("FAILED:", text)


def compare_exact(name, got, want, inputs):
    with np.errstate(all="ignore"):
        same = (got == want) | ((got != got) & (want != want))
        if got.dtype.kind == "f" and name not in EITHER_ZERO:
            same &= (got != got) | (np.signbit(got) == np.signbit(want))
    if got.dtype != want.dtype:
        fail(f"{name} {inputs[0].dtype}: gives {got.dtype}, not {want.dtype}")
    elif not same.all():
        i = np.flatnonzero(~same)[0]
        fail(f"{name} {[x.dtype.name for x in inputs]}: {[x[i] for x in inputs]} gives {got[i]!r}, not {want[i]!r}; {(~same).sum()} such")


def compare_rounded(name, got, truth, inputs):
    """`truth` has more digits than `got`."""
    dtype = got.dtype
    with np.errstate(all="ignore"):
        want = truth.astype(dtype)
        unit = np.spacing(np.abs(want)).astype(truth.dtype)
        if name.startswith("logaddexp"):  # cancels: as good as its larger term
            larger = np.maximum(np.abs(inputs[0]), np.abs(inputs[1]))
            unit = np.maximum(unit, np.spacing(np.maximum(larger, 1).astype(dtype)).astype(truth.dtype))
        off = np.abs(got.astype(truth.dtype) - truth) / unit
        same = (off <= ULP[dtype.name]) | (got == want) | ((got != got) & (want != want))
        # At the edge of overflow either side of it is near enough.
        edge = np.finfo(dtype).max
        same |= np.isinf(got) & (np.abs(truth) >= edge * (1 - 4 * np.finfo(dtype).eps)) & (np.signbit(got) == np.signbit(truth))
        same &= (got != got) | (got != 0) | (want != 0) | (np.signbit(got) == np.signbit(want))
    if not same.all():
        i = np.flatnonzero(~same)[0]
        fail(f"{name} {dtype}: {[x[i] for x in inputs]} gives {got[i]!r}, not {want[i]!r} ({off[i]:.2f} ulp); {(~same).sum()} such")


def integer_values(dtype, random):
    info = np.iinfo(dtype)
    if info.bits == 8:
        return np.arange(info.min, info.max + 1, dtype=dtype)
    special = [0, 1, 2, 3, 7, 10, info.bits - 1, info.bits, info.bits + 1, info.max, info.max - 1, info.min, info.min + 1]
    special += [x for x in (-1, -2, -3, -info.bits) if info.min < 0]
    wide = random.integers(info.min, info.max, 60, dtype=dtype, endpoint=True)
    return np.concatenate([np.array(special, dtype), wide, random.integers(0, 100, 30).astype(dtype)])


def float_values(dtype, random, n):
    info = np.finfo(dtype)
    if dtype == "float16" and n > 1000:
        return np.arange(65536, dtype=np.uint16).view(np.float16)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 2, 3, -3, 10, 1e-3, 100, np.pi, np.pi / 2]
    special += [info.max, -info.max, info.tiny, -info.tiny, info.tiny / 2, info.smallest_subnormal, -info.smallest_subnormal]
    special += [info.eps, 1 + info.eps, 1 - info.eps / 2, -1 + info.eps / 2]
    small = random.uniform(-3, 3, n)
    unit = random.uniform(-1, 1, n)
    medium = random.uniform(-800, 800, n) if dtype == "float64" else random.uniform(-100, 100, n)
    bits = random.integers(0, 2 ** (8 * np.dtype(dtype).itemsize), n, dtype=f"u{np.dtype(dtype).itemsize}").view(dtype)
    near_one = 1 + random.uniform(-1, 1, n) * 10.0 ** random.uniform(-8, 0, n)
    whole = random.integers(-20, 20, n)
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(x).astype(dtype) for x in (special, small, unit, medium, bits, near_one, whole)])


def values(dtype, random, n):
    if dtype == "bool":
        return np.array([False, True])
    return integer_values(dtype, random) if dtype in INTEGERS else float_values(dtype, random, n)


def python_power(a, b):
    """NumPy raises for negative exponents: docs/kernels.md."""
    out = np.power(a, np.where(b < 0, 0, b).astype(b.dtype))
    ones = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0)) if a.dtype.kind == "i" else out
    return np.where(b < 0, ones, out).astype(a.dtype)


def integer_expected(name, inputs):
    """Where NumPy's versions differ, or have no answer: the newest one's, or docs/kernels.md's."""
    dtype = inputs[0].dtype
    if name in ("floor", "ceil", "trunc"):
        return inputs[0].copy()
    if name == "reciprocal":
        zero = np.iinfo(dtype).min if dtype in ("int32", "int64") else 0
        nonzero = np.where(inputs[0] == 0, 1, inputs[0]).astype(dtype)
        return np.where(inputs[0] == 0, dtype.type(zero), np.reciprocal(nonzero)).astype(dtype)
    if name == "power":
        return python_power(*inputs)
    return getattr(np, name)(*inputs)


def expected(name, inputs):
    kinds = {x.dtype.kind for x in inputs}
    if kinds <= set("biu") and not (kinds == {"b"} and name not in ("floor", "ceil", "trunc")):
        return integer_expected(name, inputs)
    return getattr(np, name)(*inputs)


share = Share(sys.argv[2:])


def check_values(ferry, name, inputs):
    if not share.has_next():
        return
    result = ferry.resolve(name, [x.dtype for x in inputs])[1]
    placed = [ferry.array(x) for x in inputs]
    got = ferry.apply(name, placed, ferry.empty(inputs[0].shape, result)).copy()
    with np.errstate(all="ignore"):
        if name in ROUNDED and result.name in WIDER:
            wide = [x.astype(WIDER[result.name]) for x in inputs]
            compare_rounded(name, got, getattr(np, name)(*wide), inputs)
        else:
            compare_exact(name, got, expected(name, inputs), inputs)


def check_operations(ferry, random):
    for name in UNARY:
        for dtype in REALS:
            resolved = ferry.resolve(name, [dtype])
            if resolved and resolved[0] == np.dtype(dtype):
                check_values(ferry, name, [values(dtype, random, 2000)])
    for name in BINARY:
        for dtype in REALS:
            resolved = ferry.resolve(name, [dtype, dtype])
            if resolved and resolved[0] == np.dtype(dtype):
                a, b = pairs(values(dtype, random, 20))
                check_values(ferry, name, [a, b])
                if dtype in FLOATS:
                    a, b = (float_values(dtype, random, 999) for _ in range(2))
                    check_values(ferry, name, [a, random.permutation(b)])


def check_casts_of_inputs(ferry, random):
    """Every pair of different dtypes: inputs are cast as NumPy casts them."""
    for name in ("add", "divide", "arctan2", "left_shift", "logical_and", "remainder", "less"):
        for a in REALS:
            for b in REALS:
                resolved = ferry.resolve(name, [a, b])
                if a == b or not resolved or (name in COMPARISONS and {a, b} & {"uint64"} and np.dtype(a).kind != np.dtype(b).kind):
                    continue
                x = values(a, random, 20)
                y = random.choice(values(b, random, 20), x.size)
                if name == "arctan2":
                    if not share.has_next():
                        continue
                    inputs = [x.astype(resolved[0]), y.astype(resolved[0])]
                    got = ferry.apply(name, [ferry.array(x), ferry.array(y)], ferry.empty(x.shape, resolved[1]))
                    with np.errstate(all="ignore"):
                        truth = np.arctan2(*[v.astype(WIDER[resolved[1].name]) for v in inputs])
                    compare_rounded(name, got, truth, inputs)
                else:
                    check_values(ferry, name, [x, y])


def check_mixed_comparisons(ferry, random):
    """int64 with uint64 compares the true values, as NumPy does since 1.25."""
    for name in COMPARISONS:
        for dtypes in (("int64", "uint64"), ("uint64", "int64"), ("int8", "uint64"), ("uint64", "int32")):
            if not share.has_next():
                continue
            x, y = (values(d, random, 0) for d in dtypes)
            a, b = np.repeat(x, y.size), np.tile(y, x.size)
            got = ferry.apply(name, [ferry.array(a), ferry.array(b)], ferry.empty(a.shape, bool))
            want = getattr(np, name)(a.astype(object), b.astype(object)).astype(bool)
            compare_exact(name, got, want, [a, b])


def numpy_result(name, dtypes):
    ufunc = getattr(np, name)
    if name in ("floor", "ceil", "trunc") and np.dtype(dtypes[0]).kind in "biu":
        return np.dtype(dtypes[0])
    try:
        with np.errstate(all="ignore"):
            return ufunc(*[np.ones(1, d) for d in dtypes]).dtype
    except TypeError:
        return None


def check_resolution(ferry):
    """The loop that NumPy takes for all dtypes and pairs of them."""
    for name in UNARY + BINARY:
        arity = 1 if name in UNARY else 2
        for dtypes in [[d] for d in REALS] if arity == 1 else [[a, b] for a in REALS for b in REALS]:
            resolved = ferry.resolve(name, dtypes)
            want = numpy_result(name, dtypes)
            if (resolved and resolved[1]) != want:
                fail(f"{name} {dtypes}: {resolved}, but NumPy gives {want}")
            # Logical operations of two types cast both to bool in NumPy, which shows nowhere else.
            elif NEW_NUMPY and want is not None and name not in LOGICAL:
                numpy_compute = getattr(np, name).resolve_dtypes(tuple(np.dtype(d) for d in dtypes) + (None,))[0]
                if resolved[0] != numpy_compute:
                    fail(f"{name} {dtypes}: computes in {resolved[0]}, but NumPy in {numpy_compute}")
        for dtype in DTYPES[-2:]:
            if ferry.resolve(name, [dtype] * arity) is not None:
                fail(f"{name} takes {dtype}")


def main():
    ferry = Ferry(sys.argv[1])
    if ferry.backend == "none":
        print("no such backend here")
        return 77
    seed = int(os.environ.get("FERRY_TEST_SEED", "20240607"), 0)
    print(f"backend {ferry.backend}, NumPy {np.__version__}, FERRY_TEST_SEED={seed}")
    random = np.random.default_rng(seed)
    check_resolution(ferry)
    check_operations(ferry, random)
    check_mixed_comparisons(ferry, random)
    check_casts_of_inputs(ferry, random)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
