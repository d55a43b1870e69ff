"""
ferry_matmul against NumPy: numpy_matmul.py LIBFERRY [ROUNDS].

Random stacks, strides, types and overlaps; integers exactly, floats within the error of sums in any order. Where ferry's own
kernels multiply, the bits of the sums in order: on the simulator, and on a device of everything but float32 and float64 with cuBLAS.
"""

import os
import sys

import numpy as np

from ferry_ctypes import DTYPES, FLOATS, REALS, Checker, Failure, Ferry

EXTENTS = [0, 1, 1, 2, 3, 5, 8, 16, 17, 33, 63, 65, 100]
WIDER = {"float16": np.float32, "float32": np.float64, "float64": np.float64}


def in_order(a, b, dtype):
    """The product as the documentation has it: sums in order of k, from zero, in the wider type, rounded once."""
    made_in = WIDER.get(np.dtype(dtype).name, dtype)
    if a.ndim == 1:
        return in_order(a[None, :], b, dtype)[..., 0, :] if b.ndim > 1 else in_order(a[None, :], b[:, None], dtype)[0, 0]
    if b.ndim == 1:
        return in_order(a, b[:, None], dtype)[..., 0]
    a, b = a.astype(dtype).astype(made_in), b.astype(dtype).astype(made_in)
    stack = np.broadcast(np.empty(a.shape[:-2]), np.empty(b.shape[:-2])).shape
    total = np.zeros(stack + (a.shape[-2], b.shape[-1]), made_in)
    for k in range(a.shape[-1]):
        total = total + a[..., :, k, None] * b[..., None, k, :]
    return total.astype(dtype)


def some_values(random, shape, dtype):
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype in FLOATS:
        values = random.standard_normal(shape).astype(dtype)
        if random.random() < 0.1 and values.size:
            values.reshape(-1)[random.integers(0, values.size)] = random.choice([np.inf, np.nan, -0.0])
        return values
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return random.integers(low, high, shape, dtype=dtype, endpoint=True)


def some_shapes(random):
    m, k, n = (int(random.choice(EXTENTS)) for _ in range(3))
    stack = tuple(int(e) for e in random.choice([1, 2, 3], random.integers(0, 3)))
    a, b = (stack[random.integers(0, len(stack) + 1) :] for _ in range(2))
    a, b = (tuple(1 if random.random() < 0.2 else e for e in s) for s in (a, b))
    a = a + (m, k) if random.random() < 0.8 else (k,)
    b = b + (k, n) if random.random() < 0.8 else (k,)
    return a, b


def exact(ferry, dtype):
    return ferry.backend == "sim" or np.dtype(dtype).name not in ("float32", "float64")


def close(got, want, a, b, dtype):
    """Within the error bound of a sum of that many products in any order."""
    with np.errstate(all="ignore"):
        scale = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
        bound = (a.shape[-1] + 2) * np.finfo(dtype).eps * scale
        near = np.abs(got.astype(np.float64) - want) <= bound
    return bool(np.all(near | (got == want) | ~np.isfinite(want)))


def same_bits(got, want):
    got, want = np.asarray(got), np.asarray(want)
    both_nan = np.isnan(got) & np.isnan(want) if got.dtype.kind in "fc" else False
    return got.shape == want.shape and bool(np.all((got == want) | both_nan))


def random_case(ferry, random, checker, place):
    dtypes = [str(random.choice(REALS))] * 2 if random.random() < 0.7 else [str(random.choice(REALS)) for _ in range(2)]
    dtype = np.promote_types(*dtypes)
    shapes = some_shapes(random)
    values = [some_values(random, s, d) for s, d in zip(shapes, dtypes)]
    with np.errstate(all="ignore"):
        want = np.matmul(*[v.astype(dtype) for v in values])
        ordered = in_order(*values, dtype)
    wider = [d for d in DTYPES if np.can_cast(dtype, d, "same_kind")]
    target = np.dtype(str(random.choice(wider))) if random.random() < 0.2 else dtype
    a, b = (ferry.laid_out(random, v) for v in values)
    out = ferry.laid_out(random, np.zeros(np.shape(want), target))
    if place and a.size and a.base is not None:
        ferry.place(a.base, int(random.integers(-1, 1)))
    ferry.matmul(a, b, out)
    with np.errstate(all="ignore"):
        if exact(ferry, dtype):
            good = same_bits(out, ordered.astype(target))
        else:
            good = target != dtype or close(out, np.asarray(want, np.float64), *values, dtype)
        if dtype.kind in "biu":
            good = good and np.array_equal(ordered, want)
        elif dtype == np.float64:
            good = good and close(np.asarray(ordered), want, *values, dtype)
    checker.check(good, dtypes, a.shape, a.strides, b.shape, b.strides, "->", target, out.strides)


def one_array_throughout(ferry, random, checker):
    """a @ a, a @ a.T, and the output one of the inputs, or a part of both."""
    values = random.standard_normal((40, 40))
    for other in (lambda a: a, lambda a: a.T):
        array, out = ferry.array(values), ferry.empty((40, 40), np.float64)
        want = in_order(values, other(values), "float64")
        for target in (out, array):
            ferry.matmul(array, other(array), target)
            good = same_bits(target, want) if exact(ferry, "float64") else close(target, want, values, other(values), "float64")
            checker.check(good, "one array throughout")


def errors(ferry, checker):
    def status_of(*arrays):
        try:
            ferry.matmul(*arrays)
        except Failure as failure:
            return failure.status
        return "OK"

    def zeros(*shape, dtype="float32"):
        return ferry.array(np.zeros(shape, dtype))

    for status, *arrays in (
        ("OK", zeros(2, 3), zeros(3, 4), zeros(2, 4)),
        ("SHAPE", zeros(2, 3), zeros(2, 4), zeros(2, 4)),
        ("SHAPE", zeros(2, 3), zeros(3, 4), zeros(4, 2)),
        ("SHAPE", zeros(2, 3), zeros(3, 4), zeros(1, 2, 4)),
        ("SHAPE", zeros(2, 2, 3), zeros(3, 3, 4), zeros(3, 2, 4)),
        ("SHAPE", zeros(), zeros(3), zeros()),
        ("SHAPE", zeros(3), zeros(3), zeros(1)),
        ("DTYPE", zeros(2, 3, dtype="complex64"), zeros(3, 4), zeros(2, 4, dtype="complex64")),
        ("CAST", zeros(2, 3), zeros(3, 4), zeros(2, 4, dtype="int32")),
        ("INVALID_ARGUMENT", np.zeros((2, 3), "float32"), zeros(3, 4), zeros(2, 4)),
        ("INVALID_ARGUMENT", zeros(2, 3), zeros(3, 4), np.zeros((2, 4), "float32")),
        ("INVALID_ARGUMENT", zeros(2, 3), zeros(3, 4), np.broadcast_to(zeros(4), (2, 4))),
    ):
        got = status_of(*arrays)
        checker.check(got == status, got, "not", status, [x.shape for x in arrays])


def sizes(ferry, random, checker):
    """Past the blocks of the host's loops and the tiles of the device's, in each direction."""
    for m, k, n in ((1, 3000, 1), (3, 700, 1300), (1300, 20, 5), (130, 70, 520)):
        for dtype in ("int16", "float16", "float32"):
            x, y = some_values(random, (m, k), dtype), some_values(random, (k, n), dtype)
            out = ferry.matmul(ferry.array(x), ferry.array(y), ferry.empty((m, n), dtype))
            with np.errstate(all="ignore"):
                want = in_order(x, y, dtype)
                good = same_bits(out, want) if exact(ferry, dtype) else close(out, want.astype(np.float64), x, y, dtype)
            checker.check(good, dtype, m, k, n)


def main():
    ferry = Ferry(sys.argv[1])
    if ferry.backend == "none":
        print("no such backend here")
        return 77
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
    seed = int(os.environ.get("FERRY_TEST_SEED", "20240610"), 0)
    print(f"backend {ferry.backend}, NumPy {np.__version__}, FERRY_TEST_SEED={seed}, {rounds} rounds")
    random, checker = np.random.default_rng(seed), Checker()
    errors(ferry, checker)
    one_array_throughout(ferry, random, checker)
    sizes(ferry, random, checker)
    for i in range(rounds):
        random_case(ferry, random, checker, i % 2)
    print(f"{checker.ran} checks, {checker.failures} failures")
    return 1 if checker.failures or checker.ran < rounds else 0


if __name__ == "__main__":
    sys.exit(main())
