"""
host_script.py [--device]: large arrays of NumPy's, a few operations, a sort.

It knows nothing of ferry. With --device a kernel of CuPy's works on one of the arrays where it lies, without a copy: a
device that does not reach ordinary memory can do that under `ferry run`. Exit status 77: there is no CuPy, or no device.
"""
import hashlib
import sys
import time

import numpy as np

COUNT = 4_000_000


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def on_host():
    x = np.arange(COUNT, dtype=np.float64) * 7919 % 1000003
    y = np.sqrt(x) + 2 * x
    print("ufuncs", digest(y))
    print("sorted", digest(np.sort(y)))
    print("summed", repr(y.sum()))
    return y


def shared(cupy, array):
    """CuPy's array over NumPy's own bytes. The device is said, since CUDA may know nothing of the address."""
    memory = cupy.cuda.UnownedMemory(array.ctypes.data, array.nbytes, array, device_id=0)
    return cupy.ndarray(array.shape, array.dtype, cupy.cuda.MemoryPointer(memory, 0))


def on_device(array):
    try:
        import cupy
        cupy.cuda.runtime.getDeviceCount()
    except (ImportError, RuntimeError) as error:
        print("host_script:", error, file=sys.stderr)
        sys.exit(77)
    # Allocated now that CUDA is there: what was allocated before it came is no memory of a device's.
    there = array.copy()
    double = cupy.ElementwiseKernel("T x", "T y", "y = x + x", "double_it")
    began = time.perf_counter()
    given = shared(cupy, there)
    double(given, given)
    cupy.cuda.runtime.deviceSynchronize()
    print(f"work {time.perf_counter() - began:.6f} s", file=sys.stderr)
    print("device", "PASS" if np.array_equal(there, array + array) else "FAILED", digest(there))


result = on_host()
if "--device" in sys.argv[1:]:
    on_device(result)
