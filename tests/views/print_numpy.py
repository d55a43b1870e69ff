"""
Printing against numpy.array_str. Followed is NumPy 2.3 and later, which takes scientific notation for float16 and float32 from a smaller
magnitude on; under an older NumPy arrays of these types that its rules write otherwise are left out (positions_differ).
"""

import ctypes
import warnings

import numpy as np

from binding import DTYPES, describe, lib, nprng, random_array, rng, run, view_of

warnings.simplefilter("ignore")
OLD_RULES = tuple(map(int, np.__version__.split(".")[:2])) < (2, 3)


def text_of(array):
    view = view_of(array)
    length = lib.ferry_view_format(ctypes.byref(view), None, 0)
    assert length >= 0
    text = ctypes.create_string_buffer(length + 1)
    assert lib.ferry_view_format(ctypes.byref(view), text, length + 1) == length
    return text.value.decode()


def positions_differ(array):
    """Whether NumPy before 2.3 may choose another notation than NumPy since."""
    if not OLD_RULES or array.dtype not in (np.float16, np.float32, np.complex64):
        return False
    parts = (array.real, array.imag) if array.dtype.kind == "c" else (array,)
    for part in parts:
        part = np.abs(part[np.isfinite(part) & (part != 0)]).astype(np.float64)
        if part.size:
            limit = 10.0 ** min(8, np.finfo(array.dtype).precision)
            if part.max() >= limit * 0.99 or abs(part.min() / 1e-4 - 1) < 1e-3 or abs(part.max() / part.min() / 1000 - 1) < 1e-3:
                return True
    return False


def check(array):
    if positions_differ(array):
        return
    want = np.array_str(array)
    got = text_of(array)
    assert got == want, f"{describe(array)} {array.ravel()[:8].tolist()}\n{got}\n-- not --\n{want}"


def random_real(n, dtype):
    kind = rng.randint(0, 8)
    if kind == 0:
        values = nprng.normal(0, 10.0 ** rng.randint(-6, 9), n)
    elif kind == 1:
        values = nprng.integers(-1000, 1000, n) / 10.0 ** rng.randint(0, 6)
    elif kind == 2:
        values = 10.0 ** nprng.uniform(-8, 8, n)
    elif kind == 3:
        return nprng.integers(0, 256, n * dtype.itemsize, np.uint8).view(dtype)
    elif kind == 4:
        values = np.round(nprng.uniform(0, 1, n), rng.randint(0, 12))
    elif kind == 5:
        values = nprng.choice([0.0, -0.0, 1.0, -1.5, 1e-4, 0.1], n)
    elif kind == 6:
        values = 2.0 ** nprng.integers(-20, 20, n)
    elif kind == 7:
        values = np.arange(n) * rng.choice([0.1, 0.5, 1.0, 1e3, 1e-3])
    else:
        values = nprng.uniform(1, 1000, n) * 10.0 ** rng.randint(-5, 6)
    values = values.astype(dtype)
    if rng.random() < 0.25 and n:
        values[nprng.integers(0, n, rng.randint(1, 3))] = rng.choice([np.nan, np.inf, -np.inf])
    return values


def random_values(n, dtype):
    if dtype.kind == "c":
        out = np.empty(n, dtype)
        part = np.dtype(f"f{dtype.itemsize // 2}")
        out.real, out.imag = random_real(n, part), random_real(n, part)
        return out
    if dtype.kind == "f":
        return random_real(n, dtype)
    if dtype.kind == "b":
        return nprng.random(n) < 0.5
    if rng.random() < 0.3:
        return nprng.integers(0, 256, n * dtype.itemsize, np.uint8).view(dtype)
    return nprng.integers(-100 if dtype.kind == "i" else 0, 100, n).astype(dtype)


def scalars():
    for dtype in DTYPES:
        for _ in range(400):
            check(random_values(1, dtype).reshape(()))
    for value in [0.0, -0.0, 1.0, 1e16, 1e15, 9.999e15, 1e-4, 9.99e-5, 123456789.125, np.nan, np.inf, -np.inf, 1e100, 5e-324, 1e22, 1e23]:
        for dtype in DTYPES:
            if dtype.kind in "fc":
                check(np.array(value, dtype))
    specials = [0.0, -0.0, 1.5, -2.0, np.nan, np.inf, -np.inf, 1e20, 1e-7]
    for real in specials:
        for imag in specials:
            for dtype in ("c8", "c16"):
                check(np.array(complex(real, imag), dtype))


def rows():
    for dtype in DTYPES:
        for _ in range(400):
            check(random_values(rng.choice([1, 2, 3, 5, 8, 20, 60]), dtype))


def shapes_and_strides():
    for dtype in DTYPES:
        for _ in range(120):
            array = random_array(dtype)
            if rng.random() < 0.7:
                array = random_values(array.size, dtype).reshape(array.shape)
            check(array)


def summaries():
    shapes = [(1001,), (5000,), (1000,), (40, 40), (2, 600), (600, 2), (7, 150), (11, 11, 11), (2, 3, 4, 50), (1, 1, 1, 2000), (3, 4, 5, 6, 7), (1001, 1)]
    for shape in shapes:
        for dtype in DTYPES:
            check(random_values(int(np.prod(shape)), dtype).reshape(shape))
    check(np.broadcast_to(np.float64(2.5), (1 << 20, 1 << 20)))


def empties():
    for shape in [(0,), (0, 3), (3, 0), (2, 0, 5)]:
        for dtype in DTYPES:
            check(np.empty(shape, dtype))


def every_float16():
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    for value in every[nprng.permutation(65536)[:20000]]:
        check(np.array(value))


def powers_of_two():
    for dtype, low, high in [(np.float16, -24, 16), (np.float32, -149, 128), (np.float64, -1074, 1024)]:
        for exponent in range(low, high):
            power = np.ldexp(dtype(1), exponent).astype(dtype)
            for value in (power, np.nextafter(power, dtype(0)), np.nextafter(power, dtype(np.inf))):
                check(np.array(value, dtype))
                check(np.array([value], dtype))


def columns_of_similar_magnitude():
    """Where digits are cut at 8 and where the others' own digits fill the column."""
    for dtype in (np.float16, np.float32, np.float64):
        for _ in range(2000):
            scale = 10.0 ** rng.randint(-12, 12)
            values = (nprng.integers(1, 10 ** rng.randint(1, 9), rng.randint(2, 4)) / 10.0 ** rng.randint(0, 8) * scale).astype(dtype)
            check(values)


def short_buffers():
    array = np.arange(7)
    want = np.array_str(array).encode()
    for size in range(len(want) + 3):
        text = ctypes.create_string_buffer(b"#" * 40, 40)
        assert lib.ferry_view_format(ctypes.byref(view_of(array)), text, size) == len(want)
        if size:
            assert text.value == want[:size - 1]
        assert text.raw[size:] == b"#" * (40 - size)


if __name__ == "__main__":
    run(scalars, rows, shapes_and_strides, summaries, empties, every_float16, powers_of_two, columns_of_similar_magnitude, short_buffers)
