"""
The floating-point exceptions of every operation on every dtype against NumPy's: numpy_exceptions.py LIBFERRY [SHARE/SHARES]. The backend
is FERRY_BACKEND's. Special values and all their pairs, one element at a time, then as arrays, then from many threads.

NumPy says what the processor's flags said, which depends on how it was compiled: where it raises more than the values
call for (docs/kernels.md), so much is allowed here.
"""

import concurrent.futures
import sys

import numpy as np

from ferry_ctypes import BINARY, FLOATS, REALS, UNARY, Ferry, Share, pairs

DIVIDE, OVERFLOW, UNDERFLOW, INVALID = 1, 2, 4, 8

# What NumPy may raise beyond the values, whatever the operands.
SPURIOUS = {
    "logaddexp": INVALID | OVERFLOW,
    "logaddexp2": INVALID | OVERFLOW,
    "floor_divide": INVALID,
    "power": DIVIDE | OVERFLOW,
}
# Where every underflow is found; with others, NumPy's depends on the processor.
UNDERFLOWS = "negative multiply divide square reciprocal arctan2 hypot add subtract less".split()

share = Share(sys.argv[2:])
failures = 0
raised = 0


def fail(text):
    global failures
    failures += 1
    if failures <= 40:
        print("FAILED:", text)


def note(_, flag):
    global raised
    raised |= flag


def numpy_raises(name, inputs, **options):
    """What NumPy raises; None where it raises an error. Under errstate(all="call"), calling note."""
    global raised
    raised = 0
    try:
        getattr(np, name)(*inputs, **options)
    except ValueError:  # an integer to a negative power
        return None
    return raised


def special(dtype):
    if dtype == "bool":
        return np.array([False, True])
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 7, info.max] + ([-1, -2, info.min, info.min + 1] if info.min < 0 else []), dtype)
    info = np.finfo(dtype)
    tiny = [info.tiny, info.tiny * 1.5, info.tiny / 2, info.smallest_subnormal]
    values = [0.0, 1, 2, 0.5, np.inf, info.max, 3, 100] + tiny
    values += [-x for x in values] + [np.nan, 1000, -1000, -9.8, -1074, -1075, 1e-3]
    with np.errstate(all="ignore"):
        return np.array(values).astype(dtype)


def agrees(name, result, got, want):
    """`want` of one element."""
    spurious = (SPURIOUS.get(name, 0) | (0 if name in UNDERFLOWS else UNDERFLOW)) if result in FLOATS else 0
    return not got & ~want and not want & ~got & ~spurious


def elements(ferry, array):
    """A view of each element, in turn the same object."""
    view = ferry.view(array[:1])
    base = view.data
    for i in range(array.size):
        view.data = base + i * array.itemsize
        yield view


def check_elements(ferry, name, dtype, inputs, result):
    """Returns what each element raises."""
    op, placed, out = ferry.op(name), [ferry.array(x) for x in inputs], ferry.empty(inputs[0].shape, result)
    each = []
    for i, (target, *views) in enumerate(zip(elements(ferry, out), *[elements(ferry, x) for x in placed])):
        own = [x[i : i + 1] for x in inputs]
        want = numpy_raises(name, own)
        got = ferry.apply_views_checked(op, views, target)
        each.append(got)
        if want is not None and not agrees(name, result, got, want):
            fail(f"{name} {dtype}: {[x[0] for x in own]} raises {got}, but NumPy {want}")
    return np.array(each)


def check_arrays(ferry, name, inputs, result, each):
    """Elements that raise the same raise it together, in any layout; all raise the union."""
    for flags in np.unique(each):
        chosen = [x[each == flags] for x in inputs]
        for step in (1, -3):
            own = [ferry.array(np.repeat(x, abs(step)))[::step] for x in chosen]
            got = ferry.apply_checked(name, own, ferry.empty(own[0].shape, result))
            if got != flags:
                fail(f"{name} {inputs[0].dtype}: an array raises {got}, its elements {flags}")
    many = [ferry.array(np.resize(x, 5000)) for x in inputs]
    got, want = ferry.apply_checked(name, many, ferry.empty(5000, result)), np.bitwise_or.reduce(each)
    if got != want:
        fail(f"{name} {inputs[0].dtype}: 5000 elements raise {got}, each by itself {want}")


def check_operations(ferry):
    """Of integers one with a sign and one without where every kernel has to be compiled first."""
    dtypes = REALS if ferry.backend == "sim" else ["uint8", "int32"] + FLOATS
    for name in UNARY + BINARY:
        for dtype in dtypes:
            resolved = ferry.resolve(name, [dtype] * (1 if name in UNARY else 2))
            if resolved is None or not share.has_next():
                continue
            inputs = [special(dtype)] if name in UNARY else list(pairs(special(dtype)))
            each = check_elements(ferry, name, dtype, inputs, resolved[1])
            check_arrays(ferry, name, inputs, resolved[1], each)


def check_casts(ferry):
    """The output's type is not the result's: the cast counts, as it does in NumPy."""
    for name, dtype, out in [
        ("negative", "float64", "float32"), ("negative", "float64", "float16"), ("negative", "float64", "complex64"),
        ("negative", "float32", "float16"), ("negative", "int64", "float16"), ("negative", "int64", "float32"),
        ("multiply", "float64", "float32"), ("multiply", "float32", "float16"), ("add", "uint64", "float16"),
        ("less", "float64", "float16"), ("negative", "float16", "float32"), ("divide", "float16", "complex128"),
    ]:  # fmt: skip
        if not share.has_next():
            continue
        inputs = [special(dtype)] if name in UNARY else list(pairs(special(dtype)))
        for i in range(inputs[0].size):
            own = [x[i : i + 1] for x in inputs]
            want = numpy_raises(name, own, out=np.empty(1, out), casting="same_kind")
            got = ferry.apply_checked(name, [ferry.array(x) for x in own], ferry.empty(1, out))
            if not agrees(name, out, got, want):
                fail(f"{name} {dtype} into {out}: {[x[0] for x in own]} raises {got}, but NumPy {want}")


def call_often(ferry, value, want):
    x = ferry.array(np.full(300, value))
    out = ferry.empty(300, np.float64)
    return sum(ferry.apply_checked("log", [x], out) != want for _ in range(200))


def check_threads(ferry):
    """Each call has its own exceptions."""
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        cases = [(1.0, 0), (0.0, DIVIDE), (-1.0, INVALID)] * 2
        wrong = sum(pool.map(lambda case: call_often(ferry, *case), cases))
    if wrong:
        fail(f"{wrong} calls from several threads gave another's exceptions")


def main():
    ferry = Ferry(sys.argv[1])
    if ferry.backend == "none":
        print("no such backend here")
        return 77
    print(f"backend {ferry.backend}, NumPy {np.__version__}")
    np.seterrcall(note)
    with np.errstate(all="call"):
        check_operations(ferry)
        check_casts(ferry)
    if share.has_next():
        check_threads(ferry)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
