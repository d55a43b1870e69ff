"""dtypes, casts and assignment against NumPy: every pair of types, special values, any strides, any overlap."""

import ctypes
import warnings

import numpy as np

from binding import (CAST, DTYPES, INVALID_ARGUMENT, NAMES, NO, OK, SAFE, SAME_KIND, SHAPE, UNSAFE, View, describe, detail,
                     lib, nprng, random_array, rng, run, view_of)

warnings.simplefilter("ignore")
RULES = {NO: "no", SAFE: "safe", SAME_KIND: "same_kind", UNSAFE: "unsafe"}


def names_and_rules():
    found = ctypes.c_int()
    for i, name in enumerate(NAMES):
        assert lib.ferry_dtype_find(name.encode(), ctypes.byref(found)) == OK and found.value == i
        assert lib.ferry_dtype_size(i) == DTYPES[i].itemsize
    for i, a in enumerate(DTYPES):
        for j, b in enumerate(DTYPES):
            assert DTYPES[lib.ferry_dtype_promote(i, j)] == np.promote_types(a, b), (a, b)
            for rule, name in RULES.items():
                assert lib.ferry_dtype_can_cast(i, j, rule) == np.can_cast(a, b, name), (a, b, name)


def assign(dst, src, rule=UNSAFE):
    return lib.ferry_assign_host_casting(ctypes.byref(view_of(dst)), ctypes.byref(view_of(src)), rule)


def real_specials():
    powers = [2.0**k for k in range(-30, 68)]
    near = [np.nextafter(p, q) for p in powers for q in (0, np.inf)]
    half = [1.5, 2.5, 65504, 65519.996, 65520, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 2.0**-26, 5e-324, 1e-45, 1.7e308, 3.5e38]
    values = np.array([0.0, np.inf, np.nan] + powers + near + half)
    return np.concatenate([values, -values])


def samples(dtype, n):
    """Special values and random bits."""
    bits = nprng.integers(0, 256, n * dtype.itemsize, np.uint8).view(dtype) if dtype.kind != "b" else nprng.random(n) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        powers = [2**k + d for k in range(64) for d in (-1, 0, 1)]
        special = [v for p in powers for v in (p, -p) if info.min <= v <= info.max]
        return np.concatenate([np.array(special + [info.min, info.max, 0], dtype), bits])
    if dtype.kind == "f":
        return np.concatenate([real_specials().astype(dtype), bits, nprng.normal(0, 1e5, n).astype(dtype)])
    if dtype.kind == "c":
        real = real_specials()
        special = (real + 1j * nprng.permutation(real)).astype(dtype)
        special.real[:4], special.imag[:4] = 0, [0, 1, np.nan, -0.0]
        return np.concatenate([special, bits])
    return bits


def expected(src, dtype):
    """
    astype, except from floating values to uint32 outside of -2^31 ... 2^32-1, where NumPy's own answer depends on where in the array the
    element is: there by way of int64, as its scalars go.
    """
    if dtype == np.uint32 and src.dtype.kind in "fc":
        return (src.real if src.dtype.kind == "c" else src).astype(np.int64).astype(np.uint32)
    return src.astype(dtype)


def same_values(a, b):
    """Bit for bit, but that a NaN is a NaN."""
    if a.dtype.kind == "c":
        return same_values(a.real, b.real) and same_values(a.imag, b.imag)
    if a.dtype.kind == "f":
        nan = np.isnan(a)
        if not np.array_equal(nan, np.isnan(b)):
            return False
        a, b = (np.ascontiguousarray(np.where(nan, a.dtype.type(0), x)).view(f"u{a.dtype.itemsize}") for x in (a, b))
    return np.array_equal(a, b)


def strided(array, n):
    """Copies into memory with gaps, backwards, or unaligned."""
    choice = rng.randint(0, 3)
    if choice == 0:
        return array.copy()
    if choice == 1:
        out = np.zeros(3 * n, array.dtype)[::3]
    elif choice == 2:
        out = np.zeros(n, array.dtype)[::-1]
    else:
        out = np.zeros(n * array.dtype.itemsize + 1, np.uint8)[1:].view(array.dtype)
    out[...] = array
    return out


def casts_of_all_pairs():
    for from_dtype in DTYPES:
        values = samples(from_dtype, 500)
        for to_dtype in DTYPES:
            for _ in range(4):
                src = strided(values, values.size)
                dst = strided(np.zeros(values.size, to_dtype), values.size)
                assert assign(dst, src) == OK, detail()
                want = expected(src, to_dtype)
                if not same_values(dst, want):
                    i = next(i for i in range(values.size) if not same_values(dst[i:i + 1], want[i:i + 1]))
                    raise AssertionError(f"{from_dtype} {src[i]!r} to {to_dtype}: {dst[i]!r}, not {want[i]!r}")


def casts_of_all_float16():
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    for dtype in DTYPES:
        dst = np.zeros(65536, dtype)
        assert assign(dst, every) == OK
        assert same_values(dst, expected(every, dtype)), dtype


def float16_rounding():
    every = np.arange(0x7c00, dtype=np.uint16).view(np.float16).astype(np.float64)
    middle = (every[1:] + every[:-1]) / 2
    for dtype in (np.float32, np.float64):
        near = np.concatenate([middle, np.nextafter(middle.astype(dtype), dtype(0)), np.nextafter(middle.astype(dtype), dtype(9e9))])
        src = np.concatenate([near, -near]).astype(dtype)
        dst = np.zeros(src.size, np.float16)
        assert assign(dst, src) == OK
        assert same_values(dst, src.astype(np.float16)), dtype


def rules_are_kept():
    for a in DTYPES:
        for b in DTYPES:
            for rule, name in RULES.items():
                dst = np.full(3, 1, b)
                status = assign(dst, np.zeros(3, a), rule)
                if np.can_cast(a, b, name):
                    assert status == OK and not dst.any()
                else:
                    assert status == CAST and dst.all() and a.name in detail() and b.name in detail()
    assert lib.ferry_assign_host(ctypes.byref(view_of(np.zeros(1, "i4"))), ctypes.byref(view_of(np.zeros(1)))) == CAST


def assignment_broadcasts():
    done = 0
    for _ in range(4000):
        dst = random_array(broadcast=False).copy(order=rng.choice("CFK"))
        src = random_array(rng.choice(DTYPES))
        if rng.random() < 0.8:
            shape = [1 if rng.random() < 0.3 else extent for extent in dst.shape[rng.randint(0, dst.ndim):]]
            src = nprng.integers(0, 99, shape).astype(rng.choice(DTYPES))
            src = src.reshape((1,) * rng.randint(0, 2) + src.shape)
        want = dst.copy()
        status = assign(dst, src)
        try:
            want[...] = src
        except ValueError:
            assert status == SHAPE and np.array_equal(dst, want), f"{describe(dst)} = {describe(src)}"
            continue
        assert status == OK, f"{describe(dst)} = {describe(src)}: {detail()}"
        assert same_values(dst, want), f"{describe(dst)} = {describe(src)}"
        done += 1
    assert done > 2000, done


def view_within(buffer, dtype, shape):
    """A view of the shape that does not overlap itself: permuted, reversed, with gaps, anywhere in the buffer; None where it does not fit."""
    order = rng.sample(range(len(shape)), len(shape))
    strides = [0] * len(shape)
    stride = np.dtype(dtype).itemsize + (rng.choice([0, 0, 0, 1, 4]))
    low = 0
    for axis in order:
        strides[axis] = stride if rng.random() < 0.7 else -stride
        reach = stride * (max(shape[axis], 1) - 1)
        low += reach if strides[axis] < 0 else 0
        stride = stride * max(shape[axis], 1) + rng.choice([0, 0, 0, 2, 8])
    high = stride - low
    if low + high > buffer.size:
        return None
    offset = rng.randint(low, buffer.size - high)
    return np.ndarray(shape, dtype, buffer, offset, strides)


def shifted(view, buffer):
    """The same strides a few bytes on."""
    offset = view.__array_interface__["data"][0] - buffer.__array_interface__["data"][0] + rng.randint(-20, 20)
    try:
        return np.ndarray(view.shape, view.dtype, buffer, offset, view.strides)
    except (ValueError, TypeError):
        return None


def random_pair(buffer):
    shape = tuple(rng.choice([1, 2, 3, 4, 6]) for _ in range(rng.randint(0, 4)))
    dst = view_within(buffer, rng.choice(DTYPES), shape)
    if dst is None:
        return None, None
    if rng.random() < 0.3:
        return dst, shifted(dst, buffer)
    if rng.random() < 0.2:
        shape = tuple(1 if rng.random() < 0.4 else extent for extent in shape[rng.randint(0, len(shape)):])
    dtype = dst.dtype if rng.random() < 0.5 else rng.choice(DTYPES)
    return dst, view_within(buffer, dtype, shape)


def assignment_under_overlap():
    done = overlapping = 0
    while done < 12000:
        buffer = nprng.integers(0, 2, 400, np.uint8)
        if rng.random() < 0.5:
            buffer[...] = nprng.integers(0, 256, 400)
        dst, src = random_pair(buffer)
        if dst is None or src is None or (src.dtype == np.bool_ and dst.dtype != np.bool_ and buffer.max() > 1):
            continue
        kept = buffer.copy()
        want = kept[:].view()
        offset = dst.__array_interface__["data"][0] - buffer.__array_interface__["data"][0]
        want_dst = np.ndarray(dst.shape, dst.dtype, want, offset, dst.strides)
        want_dst[...] = src.copy() if src.dtype == dst.dtype else expected(src, dst.dtype)
        overlapping += np.shares_memory(dst, src)
        what = f"{describe(dst)} = {describe(src)}"
        assert assign(dst, src) == OK, detail()
        assert same_values(dst, want_dst), what
        dst[...] = 0
        want_dst[...] = 0
        assert np.array_equal(buffer, kept), f"{what}: bytes beside the destination changed"
        done += 1
    assert overlapping > 3000, overlapping


def shifts_in_place():
    for shape in [(50,), (7, 9), (3, 4, 5)]:
        for axis in range(len(shape)):
            for shift in (1, 2):
                for up in (True, False):
                    a = np.arange(np.prod(shape), dtype=rng.choice(["i2", "i4", "f8", "c16"])).reshape(shape)
                    low, high = ([slice(None)] * len(shape) for _ in range(2))
                    low[axis], high[axis] = slice(None, -shift), slice(shift, None)
                    to, of = (high, low) if up else (low, high)
                    want = a.copy()
                    want[tuple(to)] = a[tuple(of)]
                    assert assign(a[tuple(to)], a[tuple(of)]) == OK
                    assert np.array_equal(a, want)


def what_is_wrong_changes_nothing():
    a = np.arange(6.0).reshape(2, 3)
    fixed = a.copy()
    fixed.flags.writeable = False
    assert assign(fixed, a) == INVALID_ARGUMENT and "read-only" in detail()
    assert assign(np.broadcast_to(a, (2, 2, 3)), a) == INVALID_ARGUMENT
    assert assign(a, np.zeros((3, 2))) == SHAPE and "(3, 2)" in detail() and "(2, 3)" in detail()
    assert assign(a, np.zeros((2, 2, 3))) == SHAPE
    assert assign(a, a, 7) == INVALID_ARGUMENT
    bad = View.from_buffer_copy(view_of(a))
    bad.dtype = 99
    assert lib.ferry_assign_host(ctypes.byref(view_of(a)), ctypes.byref(bad)) == CAST
    assert np.array_equal(a, fixed)


if __name__ == "__main__":
    run(names_and_rules, casts_of_all_pairs, casts_of_all_float16, float16_rounding, rules_are_kept, assignment_broadcasts,
        assignment_under_overlap, shifts_in_place, what_is_wrong_changes_nothing)
