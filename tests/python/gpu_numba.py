"""Numba's kernels on ferry's arrays, and Numba's device arrays in ferry memory."""
import numpy as np

import ferry
from harness import MIB, Case, main, needs, run_python

if not hasattr(np, "row_stack"):  # which NumPy has dropped, and numba-cuda still asks for
    np.row_stack = np.vstack

needs("numba")
cuda = needs("numba.cuda")

MANAGED = """
import ctypes
import numpy as np, ferry
if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack
from numba import cuda
d = cuda.to_device(np.arange(1 << 20, dtype=np.float64))
address = d.__cuda_array_interface__["data"][0]
a = np.frombuffer((ctypes.c_char * d.nbytes).from_address(address), "f8")
assert ferry.owns(a)
cuda.synchronize()
np.testing.assert_array_equal(a, np.arange(1 << 20))
del a, d
print("ok")
"""


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


class Numba(Case):
    def test_launch_on_the_same_memory(self):
        v = ferry.arange(1.0 * MIB)
        self.assertEqual(cuda.as_cuda_array(v).__cuda_array_interface__["data"][0], v.ctypes.data)
        with ferry.crossings() as crossed:
            double[MIB // 256, 256](v)
            cuda.synchronize()
        np.testing.assert_array_equal(v, 2 * np.arange(1.0 * MIB))
        self.assertEqual(crossed.redundant, 0)

    def test_memory_manager(self):
        done = run_python("-c", MANAGED, NUMBA_CUDA_MEMORY_MANAGER="ferry.numba")
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "ok"), done.stderr)


if __name__ == "__main__":
    main()
