"""Distances between floating-point numbers in units in the last place."""
import numpy as np

BITS = {2: np.int16, 4: np.int32, 8: np.int64}


def ordered(values):
    """Integers in the order of the numbers, neighbours one apart; both zeros are 0."""
    bits = values.view(BITS[values.dtype.itemsize]).astype(object if values.dtype.itemsize == 8 else np.int64)
    lowest = -(1 << (8 * values.dtype.itemsize - 1))
    return np.where(bits < 0, lowest - bits, bits)


def distance(got, want):
    """The largest; infinite where one is a NaN and the other is none."""
    got, want = np.atleast_1d(got).ravel(), np.atleast_1d(want).ravel()
    numbers = ~np.isnan(want)
    if not np.array_equal(numbers, ~np.isnan(got)):
        return float("inf")
    if not numbers.any():
        return 0
    return int(np.max(np.abs(ordered(got[numbers]) - ordered(want[numbers]))))
