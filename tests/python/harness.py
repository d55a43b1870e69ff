"""What the tests of the package share. Exit status: 0 passed, 1 failed, 77 skipped: no backend as asked for."""
import importlib
import os
import subprocess
import sys
import unittest

import numpy as np

import ferry

SEED = int(os.environ.get("FERRY_TEST_SEED") or "2024", 0)
MIB = 1 << 20
NUMPY = tuple(int(part) for part in np.__version__.split(".")[:2])


def ordinary(array):
    """A copy in memory that is not ferry's, whatever is installed: as Python's own bytes."""
    array = np.asarray(array)
    copy = np.frombuffer(bytearray(array.nbytes + 1), array.dtype, array.size).reshape(array.shape)
    copy[...] = array
    return copy


def managed(array):
    """A copy in ferry memory."""
    with ferry.allocator(threshold=0):
        return np.array(array, order="C", copy=True)


def total_launches():
    return sum(loop.launches for loop in ferry.loops())


def run_python(*arguments, **environment):
    """A Python of the same kind, with the package. Its text on standard output and error, and its status."""
    return subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **environment}, stdin=subprocess.DEVNULL)


def needs(name):
    """The package of that name, for a test with a real device. The program is skipped without either."""
    try:
        package = importlib.import_module(name)
    except Exception as error:  # noqa: B902: a package without its driver fails in its own way
        print(f"skipped: no {name}: {error}")
        sys.exit(77)
    try:
        backend = ferry.info()["backend"]
    except RuntimeError as error:
        backend = str(error)
    if backend != "cuda":
        print(f"skipped: the backend is {backend}")
        sys.exit(77)
    return package


class Case(unittest.TestCase):
    """Every test starts with nothing installed, and leaves nothing behind."""

    def tearDown(self):
        ferry.uninstall()

    def assert_launches(self, function, count=None):
        """Runs it; some launches, or just so many, have been made. Returns what it returns."""
        before = total_launches()
        result = function()
        made = total_launches() - before
        if count is None:
            self.assertGreater(made, 0)
        else:
            self.assertEqual(made, count)
        return result


def main():
    print(f"FERRY_TEST_SEED={SEED} NumPy {np.__version__} Python {sys.version.split()[0]}")
    try:
        print("backend", ferry.info()["backend"])
    except RuntimeError as error:
        print("skipped:", error)
        sys.exit(77)
    unittest.main(verbosity=1)
