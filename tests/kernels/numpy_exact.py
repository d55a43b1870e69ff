"""
The values that programs take for exact, where a device's functions promise some ulp: numpy_exact.py LIBFERRY. The backend
is FERRY_BACKEND's. docs/kernels.md has the list.
"""

import itertools
import math
import sys

import numpy as np

from ferry_ctypes import FLOATS, Checker, Ferry, pairs

checker = Checker()
PROMISED_ULP = {"float16": 1, "float32": 4, "float64": 2}  # of what is not exact
HYPOT_ULP = 1
WIDER = {"float16": np.float32, "float32": np.float64, "float64": np.longdouble}
# The integers up to 2^PRECISION are values of the type, 10^n up to n = TENS too.
PRECISION = {"float16": 11, "float32": 24, "float64": 53}
TENS = {"float16": 4, "float32": 10, "float64": 22}


def bits(array):
    return array.view(f"u{array.itemsize}")


def call(ferry, name, *inputs):
    return ferry.apply(name, [ferry.array(x) for x in inputs], ferry.empty(inputs[0].shape, inputs[0].dtype)).copy()


def check_values(ferry, name, inputs, want, tolerance_ulp=0):
    """To the bit, but for the bits of NaNs; of the finite ones within `tolerance_ulp`."""
    got, want = call(ferry, name, *inputs), np.asarray(want, inputs[0].dtype)
    with np.errstate(all="ignore"):
        same = (bits(got) == bits(want)) | ((got != got) & (want != want))
        same |= np.abs(got - want) <= tolerance_ulp * np.spacing(np.abs(want))
    for i in np.flatnonzero(~same)[:3]:
        text = f"{name} {got.dtype} of {[x[i] for x in inputs]} is {got[i]!r}, not {want[i]!r}; {(~same).sum()} such"
        checker.check(False, text)
    checker.check(same.all(), name, got.dtype)


def nans(dtype):
    """Quiet ones: both signs, payloads of every size that float16 has too."""
    plain, fraction = int(bits(np.array([np.nan], dtype))[0]), np.finfo(dtype).nmant
    payloads = [0] + [1 << p for p in range(fraction - 10, fraction - 1)]
    positive = np.array([plain | p for p in payloads], f"u{np.dtype(dtype).itemsize}").view(dtype)
    return np.concatenate([positive, np.copysign(positive, np.array(-1, dtype))])


def check_bits(ferry, name, inputs, want):
    got = call(ferry, name, *inputs)
    wrong = bits(got) != bits(want)
    shown = [[hex(bits(x)[i]) for x in (*inputs, got)] for i in np.flatnonzero(wrong)[:3]]
    checker.check(not wrong.any(), f"{name} {got.dtype}: bits of the inputs and the result:", shown)


def check_signs_of_nans(ferry, dtype):
    """The sign is one bit, of NaNs too, and a NaN that is handed on keeps its bits."""
    nan, one = nans(dtype), np.ones(len(nans(dtype)), dtype)
    sign = bits(np.array([-0.0], dtype))[0]
    check_bits(ferry, "absolute", [nan], (bits(nan) & ~sign).view(dtype))
    check_bits(ferry, "negative", [nan], (bits(nan) ^ sign).view(dtype))
    for name in ("positive", "sign"):
        check_bits(ferry, name, [nan], nan)
    for name in ("maximum", "minimum"):
        check_bits(ferry, name, [nan, one], nan)
        check_bits(ferry, name, [one, nan], nan)
        check_bits(ferry, name, [nan, nan[::-1].copy()], nan)
    for name in ("fmax", "fmin"):
        check_bits(ferry, name, [nan, one], one)
        check_bits(ferry, name, [one, nan], one)
        check_bits(ferry, name, [nan, nan[::-1].copy()], nan)
    a, b = pairs(np.concatenate([nan, one[:1], -one[:1], 0 * one[:1], -0 * one[:1]]))
    check_bits(ferry, "copysign", [a, b], (bits(a) & ~sign | bits(b) & sign).view(dtype))


def check_powers_of_bases(ferry, dtype):
    """log2 and exp2 of the powers of 2, subnormal ones too, and log10 of those of 10."""
    info = np.finfo(dtype)
    exponents = np.arange(info.minexp - info.nmant, info.maxexp)
    twos = np.ldexp(np.ones(exponents.size, dtype), exponents)
    check_values(ferry, "log2", [twos], exponents)
    whole = np.arange(info.minexp - info.nmant - 3, info.maxexp + 3)
    with np.errstate(all="ignore"):
        check_values(ferry, "exp2", [whole.astype(dtype)], np.ldexp(np.ones(whole.size, dtype), whole))
    # The number nearest to 10^-n has the logarithm -n, rounded: its own error is far below half of an ulp.
    tens = [n for n in range(-TENS[dtype], TENS[dtype] + 1) if float(f"1e{n}") >= info.tiny]
    check_values(ferry, "log10", [np.array([float(f"1e{n}") for n in tens], dtype)], tens)
    near = np.array([float(f"1e{n}") for n in tens if n != 0], dtype)
    near = np.concatenate([np.nextafter(near, np.array(x, dtype)) for x in (0, np.inf)])
    check_values(ferry, "log10", [near], np.log10(near.astype(WIDER[dtype])), PROMISED_ULP[dtype])


def check_roots(ferry, dtype):
    whole = np.arange(-int(2 ** (PRECISION[dtype] / 3)), int(2 ** (PRECISION[dtype] / 3)) + 1)
    check_values(ferry, "cbrt", [(whole**3).astype(dtype)], whole)
    scaled = whole[::97] if dtype == "float64" else whole
    for power in (-300, 300) if dtype == "float64" else (-36, 30) if dtype == "float32" else ():
        cubes = np.ldexp((scaled**3).astype(dtype), 3 * power)
        check_values(ferry, "cbrt", [cubes], np.ldexp(scaled.astype(dtype), power))


def exact_powers(dtype):
    """(base, exponent, power), all in the type: of integers, halves and quarters, and of 2 as far as it goes."""
    info, found = np.finfo(dtype), []
    for numerator, denominator in itertools.product(range(-60, 60), (1, 2, 4)):
        for exponent in range(1, 40):
            power = abs(numerator) ** exponent
            if power >= 2 ** PRECISION[dtype] or denominator**exponent > 1 / float(info.tiny):
                break
            value = numerator**exponent / denominator**exponent
            if info.tiny * 2.0 ** (2 * info.nmant) < abs(value) <= info.max:
                found.append((numerator / denominator, exponent, value))
    return found + [(2.0, n, 2.0**n) for n in range(1, info.maxexp)]


def check_powers(ferry, dtype, random):
    base, exponent, power = (np.array(x, dtype) for x in zip(*exact_powers(dtype)))
    check_values(ferry, "power", [base, exponent], power)
    # Their reciprocals are rounded once: float16's, computed as float32, at most half an ulp away.
    check_values(ferry, "power", [base, -exponent], 1 / power.astype(WIDER[dtype]))
    a = np.concatenate([random.uniform(-100, 100, 5000), 10.0 ** random.uniform(-4, 4, 5000)]).astype(dtype)
    a = np.concatenate([a, np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny], dtype)])
    with np.errstate(all="ignore"):
        for exponent, want in [(0, np.ones_like(a)), (1, a), (2, a * a), (-1, 1 / a)]:
            check_values(ferry, "power", [a, np.full_like(a, exponent)], want)
        root = np.where(a == -np.inf, np.inf, np.sqrt(a + 0))
    check_values(ferry, "power", [a, np.full_like(a, 0.5)], root)


def check_hypot(ferry, dtype, random):
    limit = int(2 ** (PRECISION[dtype] / 2 - 1))
    m, n = (random.integers(1, math.isqrt(limit), 2000) for _ in range(2))
    legs, root = [np.abs(m * m - n * n), 2 * m * n], m * m + n * n
    check_values(ferry, "hypot", [x.astype(dtype) for x in legs], root)
    info = np.finfo(dtype)
    edge = [0, info.smallest_subnormal, info.tiny, 1, np.sqrt(info.max), info.max * 0.7, info.max * 0.71, info.max, np.inf, np.nan]
    a, b = pairs(np.array(edge, dtype))
    with np.errstate(all="ignore"):
        truth = np.hypot(a.astype(WIDER[dtype]), b.astype(WIDER[dtype])).astype(dtype)
    check_values(ferry, "hypot", [a, b], truth, HYPOT_ULP)
    check_values(ferry, "hypot", [a, np.zeros_like(a)], np.abs(a))
    # At every angle of a circle through the largest number: infinite only where the true value is, but for an ulp.
    shares = random.uniform(0, 1, 2000)
    a, b = ((info.max * x).astype(dtype) for x in (np.sqrt(1 - shares**2), shares))
    with np.errstate(all="ignore"):
        truth, got = np.hypot(a.astype(WIDER[dtype]), b.astype(WIDER[dtype])), call(ferry, "hypot", a, b)
        wrong = np.isinf(got) & (truth < info.max) | np.isfinite(got) & (truth > info.max * WIDER[dtype](1 + info.eps))
    checker.check(not wrong.any(), f"hypot {dtype}: infinite or not: {[x[wrong][:3] for x in (a, b, got)]}")


SPECIAL_UNARY = {
    "exp exp2 expm1 sinh cosh tanh arctan cbrt": [0.0, -0.0, np.inf, -np.inf],
    "log log2 log10": [1, 0.0, -0.0, np.inf, -1, -np.inf],
    "log1p": [0.0, -0.0, -1, -2, np.inf, -np.inf],
    "sin cos tan": [0.0, -0.0, np.inf, -np.inf],
    "arcsin arccos": [0.0, -0.0, 1, -1, 2, -2, np.inf],
    "sqrt reciprocal": [0.0, -0.0, 1, np.inf, -np.inf],
}
# On the axes and at infinity angles are known; of (1, 1) it is computed.
POINTS = [0.0, 1, np.inf]
WHOLE = [0.5, 1.5, 2.5, 0.49999997, 1, 2.0**10 + 0.5, 2.0**23, 2.0**23 - 0.5, 2.0**51 + 0.5, 2.0**52, 2.0**52 + 1, 2.0**53, 1e300, np.inf]
ORDINARY = [0, 1, 2, 0.5, 7, np.inf, np.nan]


def both_signs(values, dtype):
    values = np.array(values, "float64")
    with np.errstate(all="ignore"):
        return np.concatenate([values, -values]).astype(dtype)


def check_special(ferry, dtype):
    """What the standard says of 0, 1 and infinities; ties and numbers without a fraction; pi's parts."""
    with np.errstate(all="ignore"):
        for names, special in SPECIAL_UNARY.items():
            x = np.array(special, dtype)
            for name in names.split():
                check_values(ferry, name, [x], getattr(np, name)(x.astype(WIDER[dtype])))
        for name in ("rint", "floor", "ceil", "trunc"):
            x = both_signs(WHOLE, dtype)
            check_values(ferry, name, [x], getattr(np, name)(x))
        a, b = pairs(both_signs(POINTS, dtype))
        diagonal = (np.abs(a) == 1) & (np.abs(b) == 1)
        a, b = a[~diagonal], b[~diagonal]
        check_values(ferry, "arctan2", [a, b], np.arctan2(a.astype(WIDER[dtype]), b.astype(WIDER[dtype])))
        for name in ("logaddexp", "logaddexp2"):
            check_values(ferry, name, [a, b], getattr(np, name)(a.astype(WIDER[dtype]), b.astype(WIDER[dtype])), PROMISED_ULP[dtype])
        a, b = pairs(both_signs(ORDINARY, dtype))
        for name in ("fmod", "remainder", "floor_divide", "power"):
            check_values(ferry, name, [a, b], getattr(np, name)(a, b), PROMISED_ULP[dtype] if name == "power" else 0)


BOUNDS = {
    "sin": (-1, 1), "cos": (-1, 1), "tanh": (-1, 1), "arcsin": (-np.pi / 2, np.pi / 2), "arctan": (-np.pi / 2, np.pi / 2),
    "arccos": (0, np.pi), "exp2": (0, np.inf), "exp": (0, np.inf), "expm1": (-1, np.inf), "cosh": (1, np.inf),
}  # fmt: skip


def check_bounds(ferry, dtype, random):
    """No result leaves the function's range, rounded, near its ends too."""
    turns = np.rint(random.uniform(-1000, 1000, 5000)) * np.pi / 2
    x = np.concatenate([turns, turns * (1 + random.uniform(-1, 1, 5000) * 1e-8), random.uniform(-800, 800, 5000)])
    x = np.concatenate([x, random.uniform(-20, 20, 5000), 10.0 ** random.uniform(-12, 0, 5000)]).astype(dtype)
    unit = random.uniform(-1, 1, 5000)
    near = np.copysign(1 - 10.0 ** random.uniform(-17, 0, 5000), unit)
    for name, (low, high) in BOUNDS.items():
        given = np.concatenate([unit, near]).astype(dtype) if name in ("arcsin", "arccos") else x
        got = call(ferry, name, given)
        out = ~((got >= np.array(low, dtype)) & (got <= np.array(high, dtype)))
        checker.check(not out.any(), f"{name} {dtype}: {out.sum()} out of range, as of {given[out][:3]}: {got[out][:3]}")
    y, x = random.uniform(-1, 1, 5000) * 10.0 ** random.uniform(-20, 0, 5000), np.full(5000, -1)
    got = call(ferry, "arctan2", y.astype(dtype), x.astype(dtype))
    checker.check((np.abs(got) <= np.array(np.pi, dtype)).all(), f"arctan2 {dtype}: beyond pi")


OVERFLOWS = {"exp": np.log, "exp2": np.log2, "expm1": np.log, "sinh": np.arcsinh, "cosh": np.arccosh}


def check_overflow(ferry, dtype):
    """A finite result up to the largest number, an infinite one after it, at every argument near: but for 4 ulp of it."""
    wide, largest = WIDER[dtype], WIDER[dtype](np.finfo(dtype).max)
    for name, inverse in OVERFLOWS.items():
        x = inverse(largest).astype(dtype) + np.arange(-50, 51) * np.spacing(inverse(largest).astype(dtype))
        x = x.astype(dtype)
        with np.errstate(all="ignore"):
            truth, got = getattr(np, name)(x.astype(wide)), call(ferry, name, x)
        margin = 4 * np.finfo(dtype).eps
        wrong = np.isinf(got) & (truth < largest * (1 - margin)) | np.isfinite(got) & (truth > largest * (1 + margin))
        checker.check(not wrong.any(), f"{name} {dtype}: infinite or not at {x[wrong][:3]}: {got[wrong][:3]}")


def main():
    ferry = Ferry(sys.argv[1])
    if ferry.backend == "none":
        print("no such backend here")
        return 77
    print(f"backend {ferry.backend}, NumPy {np.__version__}")
    random = np.random.default_rng(20240607)
    for dtype in FLOATS:
        check_signs_of_nans(ferry, dtype)
        check_powers_of_bases(ferry, dtype)
        check_roots(ferry, dtype)
        check_powers(ferry, dtype, random)
        check_hypot(ferry, dtype, random)
        check_special(ferry, dtype)
        check_bounds(ferry, dtype, random)
        check_overflow(ferry, dtype)
    print(f"{checker.ran} checks, {checker.failures} failures")
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
