"""
Random shapes, strides, broadcasts, casts and overlaps of ferry_apply and ferry_assign against NumPy: numpy_layouts.py LIBFERRY [ROUNDS].

Each case has one block of managed memory and a copy of it; views are cut out of both in the same way, ferry works on the one, NumPy on the other,
and afterwards the whole blocks must agree, so that a stray write shows as well.
"""

import os
import sys

import numpy as np

from ferry_ctypes import DTYPES, REALS, WRITE, Failure, Ferry

BLOCK = 4096
OPS = "add subtract multiply divide maximum minimum less not_equal remainder floor_divide copysign logical_xor left_shift square sign rint".split()
KINDS = {"b": 0, "u": 1, "i": 2, "f": 3, "c": 4}


class Case:
    """Two blocks with the same bytes, and views of both."""

    def __init__(self, ferry, random):
        self.random = random
        self.block = ferry.host(ferry.empty(BLOCK, np.uint8), WRITE)
        # Small bytes: floats of such bits are ordinary, bools 0 and 1 are made below.
        self.block[...] = random.integers(0, 256, BLOCK, dtype=np.uint8)
        self.twin = self.block.copy()

    def shape(self):
        return tuple(int(self.random.choice([1, 1, 2, 3, 5, 8, 13])) for _ in range(self.random.integers(0, 5)))

    def cut(self, dtype, shape):
        """A view of that shape somewhere in the block: axes permuted, steps of several elements, negative ones too."""
        size = np.dtype(dtype).itemsize
        strides, step = [0] * len(shape), size
        for axis in self.random.permutation(len(shape)):
            step *= int(self.random.choice([1, 1, 1, 2]))
            strides[axis] = step * int(self.random.choice([1, 1, 1, -1]))
            step *= shape[axis]
        low = -sum(min(0, s * (n - 1)) for s, n in zip(strides, shape))
        room = BLOCK - step - size
        if room < low:
            return None
        offset = low + int(self.random.integers(0, max(1, (room - low) // size))) * size
        if self.random.random() < 0.1:
            offset += int(self.random.integers(0, size))
        return tuple(np.ndarray(shape, dtype, memory.data, offset, strides) for memory in (self.block, self.twin))

    def narrow(self, shape):
        """A shape that broadcasts to `shape`."""
        kept = shape[int(self.random.integers(0, len(shape) + 1)) :] if self.random.random() < 0.3 else shape
        return tuple(1 if self.random.random() < 0.2 else n for n in kept)


def elements_as_bytes(view):
    return np.ndarray(view.shape + (view.itemsize,), np.uint8, view.base, view.__array_interface__["data"][0] - address(view.base), view.strides + (1,))


def address(memory):
    return np.asarray(memory).__array_interface__["data"][0]


def get(view):
    """The elements at ordinary places: what NumPy makes of odd addresses is not what is tested."""
    return np.ascontiguousarray(elements_as_bytes(view)).view(view.dtype).reshape(view.shape)


def put(view, value):
    value = np.ascontiguousarray(np.broadcast_to(value, view.shape), view.dtype).reshape(view.shape + (1,))
    elements_as_bytes(view)[...] = value.view(np.uint8).reshape(view.shape + (view.itemsize,))


def make_bools_true_or_false(case):
    """NumPy's own loops are undefined for other bytes."""
    case.block &= 1
    case.twin &= 1


def outcome(call):
    try:
        with np.errstate(all="ignore"):
            call()
    except (Failure, TypeError, ValueError) as error:
        return type(error).__name__, str(error)
    return None


def same_bytes(case, view, twin):
    """Equal bytes, or NaNs with whatever payload in the output."""
    if np.array_equal(case.block, case.twin):
        return True
    got, want = get(view), get(twin)
    with np.errstate(all="ignore"):
        same = (got == want) | ((got != got) & (want != want))
    if not np.all(same):
        print(f"at {address(view.base):#x} + {address(view) - address(view.base)}: {got[~same][:4]}, not {want[~same][:4]}")
    put(twin, got)
    return bool(np.all(same)) and np.array_equal(case.block, case.twin)


def apply_case(ferry, random, place):
    case = Case(ferry, random)
    name = str(random.choice(OPS))
    arity = getattr(np, name).nin
    dtypes = [str(random.choice(REALS)) for _ in range(arity)]
    if "bool" in dtypes:
        make_bools_true_or_false(case)
    resolved = ferry.resolve(name, dtypes)
    if resolved is None or "uint64" in dtypes and name in ("less", "not_equal"):
        return None
    targets = [d for d in DTYPES if KINDS[np.dtype(d).kind] >= KINDS[resolved[1].kind]]
    target = str(random.choice(targets)) if random.random() < 0.5 else resolved[1].name
    shape = case.shape()
    out = case.cut(target, shape)
    inputs = [case.cut(d, case.narrow(shape)) for d in dtypes]
    if random.random() < 0.3 and dtypes[0] == target:
        inputs[0] = out
    if arity == 2 and random.random() < 0.2 and dtypes[0] == dtypes[1]:
        inputs[1] = inputs[0]
    if out is None or None in inputs:
        return None
    # The loop is named: NumPy 1 would look at the values of 0-d inputs to choose it.
    copies = [get(x[1]).astype(resolved[0]) for x in inputs]
    if place:
        ferry.place(case.block, int(random.integers(-1, 1)))
    ferry.apply(name, [x[0] for x in inputs], out[0])
    with np.errstate(all="ignore"):
        put(out[1], getattr(np, name)(*copies, casting="same_kind").astype(target))
    ferry.host(case.block)
    if same_bytes(case, *out):
        return True
    print(f"FAILED: {name} {[(x[0].dtype.name, x[0].shape, x[0].strides) for x in inputs]} -> {target} {shape} {out[0].strides}")
    return False


def assign_case(ferry, random, place):
    case = Case(ferry, random)
    dtypes = [str(random.choice(DTYPES)) for _ in range(2)]
    if "bool" in dtypes:
        make_bools_true_or_false(case)
    if KINDS[np.dtype(dtypes[0]).kind] > KINDS[np.dtype(dtypes[1]).kind] and random.random() < 0.9:
        dtypes.reverse()
    shape = case.shape()
    source, out = case.cut(dtypes[0], case.narrow(shape)), case.cut(dtypes[1], shape)
    if source is None or out is None:
        return None
    if place:
        ferry.place(case.block, int(random.integers(-1, 1)))
    allowed = KINDS[out[0].dtype.kind] >= KINDS[source[0].dtype.kind]
    failed = outcome(lambda: ferry.assign(out[0], source[0]))
    ferry.check(ferry.lib.ferry_sync(None))
    ferry.host(case.block)
    if allowed:
        with np.errstate(all="ignore"):
            put(out[1], get(source[1]).astype(out[1].dtype))
    good = (failed is None) == allowed and same_bytes(case, *out)
    if not good:
        print(f"FAILED: {source[0].dtype} {source[0].shape} {source[0].strides} -> {out[0].dtype} {shape} {out[0].strides}: {failed}")
    return good


def main():
    ferry = Ferry(sys.argv[1])
    if ferry.backend == "none":
        print("no such backend here")
        return 77
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    seed = int(os.environ.get("FERRY_TEST_SEED", "20240608"), 0)
    print(f"backend {ferry.backend}, NumPy {np.__version__}, FERRY_TEST_SEED={seed}, {rounds} rounds")
    random = np.random.default_rng(seed)
    failures = ran = 0
    for i in range(rounds):
        for case in (apply_case, assign_case):
            good = case(ferry, random, i % 2)
            ran += good is not None
            failures += good is False
        if failures > 20:
            break
    print(f"{ran} cases, {failures} failures")
    return 1 if failures or ran < rounds / 2 else 0


if __name__ == "__main__":
    sys.exit(main())
