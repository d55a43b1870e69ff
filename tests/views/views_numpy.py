"""Views against NumPy: slices, indices, reshape, transpose, broadcast, contiguity, overlap."""

import ctypes
import itertools

import numpy as np
from numpy.lib.stride_tricks import as_strided

from binding import (INVALID_ARGUMENT, OK, SHAPE, SLICE_NONE, MAX_DIMS, Slice, View, check_same, describe, detail, int64s,
                     lib, random_array, random_shape, random_slice, rng, run, shape_of, view_of)

ROUNDS = 4000


def sliced(view, slices):
    array = (Slice * max(1, len(slices)))()
    for i, s in enumerate(slices):
        array[i] = Slice(*(SLICE_NONE if end is None else end for end in (s.start, s.stop)), 1 if s.step is None else s.step)
    out = View()
    return lib.ferry_view_slice(ctypes.byref(view), len(slices), array, ctypes.byref(out)), out


def make():
    for _ in range(ROUNDS):
        array = np.empty(random_shape(rng.randint(0, 8)), rng.choice(["i1", "f8", "c16"]))
        out = View()
        status = lib.ferry_view_make(ctypes.c_void_p(array.__array_interface__["data"][0]), view_of(array).dtype,
                                     array.ndim, int64s(array.shape), ctypes.byref(out))
        assert status == OK
        check_same(out, array, "make")
        assert array.size == 0 or tuple(out.strides[:out.ndim]) == array.strides, describe(array)


def slices():
    for _ in range(ROUNDS):
        array = random_array()
        chosen = [random_slice(extent) for extent in array.shape[:rng.randint(0, array.ndim)]]
        status, out = sliced(view_of(array), chosen)
        assert status == OK
        check_same(out, array[tuple(chosen) + (...,)], f"{describe(array)} {chosen}")


def slices_of_one_axis_completely():
    ends = [None, -(2**63) + 1, 2**63 - 1] + list(range(-7, 8))
    for extent in range(6):
        array = np.arange(extent)
        for start, stop in itertools.product(ends, ends):
            for step in [-(2**63), -(2**63) + 1, -6, -5, -3, -2, -1, 1, 2, 3, 5, 6, 2**63 - 1]:
                status, out = sliced(view_of(array), [slice(start, stop, step)])
                assert status == OK
                want = array[start:stop:max(step, -(2**63) + 1)]
                check_same(out, want, f"{extent}: {start}:{stop}:{step}")


def indices():
    for _ in range(ROUNDS):
        array = random_array()
        chosen = [rng.randint(-extent - 1, extent) for extent in array.shape[:rng.randint(0, array.ndim)]]
        out = View()
        status = lib.ferry_view_index(ctypes.byref(view_of(array)), len(chosen), int64s(chosen), ctypes.byref(out))
        try:
            want = array[tuple(chosen) + (...,)]
        except IndexError:
            assert status == INVALID_ARGUMENT and "out of bounds" in detail()
            continue
        assert status == OK
        check_same(out, want, f"{describe(array)} {chosen}")


def random_factors(size):
    shape = []
    while size > 1 and rng.random() < 0.8:
        factor = rng.choice([d for d in range(1, size + 1) if size % d == 0])
        shape.append(factor)
        size //= factor
    shape.append(size)
    for _ in range(rng.randint(0, 2)):
        shape.insert(rng.randint(0, len(shape)), 1)
    return shape


def random_new_shape(array):
    shape = random_factors(array.size) if array.size else list(random_shape(rng.randint(1, 4)))
    if array.size == 0 and rng.random() < 0.8:
        shape[rng.randrange(len(shape))] = 0
    if rng.random() < 0.1:
        shape[rng.randrange(len(shape))] += 1
    if shape and rng.random() < 0.3:
        shape[rng.randrange(len(shape))] = -1
    if rng.random() < 0.03:
        shape.append(-1)
    return [] if array.size == 1 and rng.random() < 0.2 else shape


def reshapes():
    views = copies = 0
    for _ in range(ROUNDS * 4):
        array = random_array()
        shape = random_new_shape(array)
        out = View()
        status = lib.ferry_view_reshape(ctypes.byref(view_of(array)), len(shape), int64s(shape), ctypes.byref(out))
        what = f"{describe(array)} to {shape}"
        try:
            want = array.reshape(shape)
        except ValueError:
            assert status == SHAPE, what
            continue
        if array.size and not np.may_share_memory(want, array):
            assert status == SHAPE and "strides" in detail() and str(array.strides) in detail(), f"{what}: {detail()}"
            copies += 1
            continue
        assert status == OK, f"{what}: {detail()}"
        check_same(out, want, what)
        views += 1
    assert views > ROUNDS and copies > ROUNDS // 20, (views, copies)


def transposes():
    for _ in range(ROUNDS):
        array = random_array()
        axes = rng.sample(range(array.ndim), array.ndim)
        axes = [axis - array.ndim if rng.random() < 0.3 else axis for axis in axes]
        out = View()
        given = None if rng.random() < 0.2 else (ctypes.c_int * max(1, array.ndim))(*axes)
        assert lib.ferry_view_transpose(ctypes.byref(view_of(array)), given, ctypes.byref(out)) == OK
        check_same(out, array.T if given is None else array.transpose(axes), f"{describe(array)} {axes}")


def random_target(array):
    shape = [rng.choice([1, 2, 3, 0]) if extent == 1 and rng.random() < 0.6 else extent for extent in array.shape]
    shape = list(random_shape(rng.randint(0, 3), 20)) + shape
    if shape and rng.random() < 0.1:
        shape[rng.randrange(len(shape))] += 1
    return shape[1:] if rng.random() < 0.05 else shape


def broadcasts():
    for _ in range(ROUNDS):
        array = random_array()
        shape = random_target(array)
        out = View()
        status = lib.ferry_view_broadcast(ctypes.byref(view_of(array)), len(shape), int64s(shape), ctypes.byref(out))
        try:
            want = np.broadcast_to(array, shape)
        except ValueError:
            assert status == SHAPE, f"{describe(array)} to {shape}"
            continue
        assert status == OK, f"{describe(array)} to {shape}: {detail()}"
        check_same(out, want, f"{describe(array)} to {shape}")
        assert out.readonly == (not array.flags.writeable or want.size > array.size), f"{describe(array)} to {shape}"


def common_shapes():
    for _ in range(ROUNDS):
        target = [rng.choice([0, 1, 2, 3]) for _ in range(rng.randint(0, 5))]
        arrays = []
        for _ in range(rng.randint(0, 4)):
            shape = [1 if rng.random() < 0.3 else extent for extent in target[rng.randint(0, len(target)):]]
            if shape and rng.random() < 0.1:
                shape[rng.randrange(len(shape))] += 1
            arrays.append(np.empty(shape))
        views = [view_of(array) for array in arrays]
        pointers = (ctypes.POINTER(View) * max(1, len(views)))(*(ctypes.pointer(view) for view in views))
        ndim = ctypes.c_int(-1)
        shape = int64s([0] * MAX_DIMS)
        status = lib.ferry_broadcast_shapes(pointers, len(views), ctypes.byref(ndim), shape)
        try:
            want = np.broadcast_shapes(*(array.shape for array in arrays))
        except ValueError:
            assert status == SHAPE and ndim.value == -1
            continue
        assert status == OK and tuple(shape[:ndim.value]) == want, (want, [a.shape for a in arrays])


def contiguity_and_sizes():
    for _ in range(ROUNDS):
        array = random_array()
        view = ctypes.byref(view_of(array))
        assert lib.ferry_view_is_c_contiguous(view) == array.flags.c_contiguous, describe(array)
        assert lib.ferry_view_is_f_contiguous(view) == array.flags.f_contiguous, describe(array)
        assert lib.ferry_view_size(view) == array.size and lib.ferry_view_bytes(view) == array.nbytes
        low, high = ctypes.c_void_p(1), ctypes.c_void_p(1)
        lib.ferry_view_bounds(view, ctypes.byref(low), ctypes.byref(high))
        want = np.lib.array_utils.byte_bounds(array) if hasattr(np.lib, "array_utils") else np.byte_bounds(array)
        assert (low.value, high.value) == (want if array.size else (None, None)), describe(array)


def random_strided(buffer, dtype):
    """Any strides whatever, elements inside the buffer of bytes."""
    while True:
        shape = random_shape(rng.randint(0, 4), 60)
        strides = [rng.choice([rng.randint(-12, 12), rng.choice([1, 2, 4, 8, 16, 24])]) for _ in shape]
        low = sum(min(0, s * (n - 1)) for s, n in zip(strides, shape) if n > 0)
        high = sum(max(0, s * (n - 1)) for s, n in zip(strides, shape) if n > 0) + np.dtype(dtype).itemsize
        if high - low <= buffer.size:
            start = rng.randint(-low, buffer.size - high)
            one = np.ndarray((), dtype, buffer, start)
            return as_strided(one, shape, strides)


def overlaps():
    buffer = np.zeros(300, "u1")
    met = 0
    for _ in range(ROUNDS):
        a, b = (random_strided(buffer, rng.choice(["i1", "i2", "f4", "f8", "c16"])) for _ in range(2))
        want = np.shares_memory(a, b)
        got = lib.ferry_view_overlap(ctypes.byref(view_of(a)), ctypes.byref(view_of(b)))
        assert got == want, f"{describe(a)} and {describe(b)}: {got}"
        met += want and not (a.size == 0 or b.size == 0)
    assert ROUNDS // 10 < met < ROUNDS * 9 // 10, met


def bytes_overlap_within(array):
    offsets = np.zeros(array.shape, np.int64)
    for axis, stride in enumerate(array.strides):
        offsets += (np.arange(array.shape[axis]) * stride).reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    offsets = np.sort(offsets.ravel())
    return bool(np.any(np.diff(offsets) < array.dtype.itemsize))


def self_overlaps():
    buffer = np.zeros(500, "u1")
    met = 0
    for _ in range(ROUNDS):
        array = random_strided(buffer, rng.choice(["i1", "i2", "f4", "f8"]))
        want = bytes_overlap_within(array)
        got = lib.ferry_view_self_overlap(ctypes.byref(view_of(array)))
        assert got == want, f"{describe(array)}: {got}"
        met += want
    assert ROUNDS // 10 < met < ROUNDS * 9 // 10, met


def overlap_is_never_missed():
    """Large strides and extents, where the search is cut short: what shares a byte by construction is found."""
    for _ in range(ROUNDS):
        ndim = rng.randint(1, 10)
        a, b = View(), View()
        for view in (a, b):
            view.ndim, view.dtype = ndim, rng.randrange(14)
            view.shape[:ndim] = [rng.randint(1, 1 << rng.randint(0, min(24, 50 // ndim))) for _ in range(ndim)]
            view.strides[:ndim] = [rng.randint(-(1 << 30), 1 << 30) for _ in range(ndim)]
        offset = 0
        for axis in range(ndim):
            offset += a.strides[axis] * rng.randrange(a.shape[axis]) - b.strides[axis] * rng.randrange(b.shape[axis])
        a.data = 1 << 62
        b.data = (1 << 62) + offset
        assert lib.ferry_view_overlap(ctypes.byref(a), ctypes.byref(b))


if __name__ == "__main__":
    run(make, slices, slices_of_one_axis_completely, indices, reshapes, transposes, broadcasts, common_shapes,
        contiguity_and_sizes, overlaps, self_overlaps, overlap_is_never_missed)
