"""Arrays handed to other libraries and taken from them: the CUDA Array Interface, DLPack, allocators."""
import ctypes
import gc
import subprocess
import sys
import threading
import unittest

import numpy as np

import ferry
from ferry import _ferry
from harness import MIB, NUMPY, Case, main, ordinary


class Exporter:
    """Somebody else's array: passes on what a NumPy array exports, as it is told to."""

    def __init__(self, array, device=(1, 0), versions=True):
        self.array, self.device, self.versions = array, device, versions
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        if not self.versions and "max_version" in keywords:
            raise TypeError("unexpected keyword max_version")
        if isinstance(self.array, ferry.ndarray):
            return self.array.__dlpack__(**keywords)
        return self.array.__dlpack__()


class Interface(Case):
    def test_fields(self):
        v = ferry.arange(12.0).reshape(3, 4)
        self.assertEqual(v.__cuda_array_interface__, {
            "shape": (3, 4), "typestr": "<f8", "data": (v.ctypes.data, False), "strides": None, "version": 3,
            "stream": None})
        part = v[1:, ::-2]
        self.assertEqual(part.__cuda_array_interface__["strides"], (32, -16))
        self.assertEqual(part.__cuda_array_interface__["data"][0], v.ctypes.data + 32 + 24)
        self.assertEqual(v[:0].__cuda_array_interface__["data"], (0, False))
        self.assertEqual(v[:0].__cuda_array_interface__["shape"], (0, 4))
        v.flags.writeable = False
        self.assertTrue(v.__cuda_array_interface__["data"][1])
        self.assertEqual(ferry.array(1j).__cuda_array_interface__["typestr"], "<c16")
        records = ferry.asarray(np.zeros(2, [("a", "i4"), ("b", "f8")]))
        self.assertEqual(records.__cuda_array_interface__["descr"], [("a", "<i4"), ("b", "<f8")])
        with self.assertRaises(AttributeError):
            ordinary(np.zeros(3)).view(ferry.ndarray).__cuda_array_interface__

    def test_it_places_nothing_and_counts_as_written(self):
        for place in ("device", "host"):
            v = ferry.ones(MIB).prefetch(place)
            with ferry.crossings() as crossed:
                v.__cuda_array_interface__
            self.assertEqual(v.place, place)
            self.assertEqual((crossed.to_device, crossed.to_host), (0, 0))
        v = ferry.ones(MIB)
        v.prefetch().prefetch("host")
        with ferry.crossings() as crossed:
            v.prefetch()
        self.assertEqual(crossed.redundant, v.nbytes)
        v.__cuda_array_interface__
        with ferry.crossings() as crossed:
            for _ in range(3):
                v.prefetch("host").prefetch()
        self.assertEqual(crossed.redundant, 0)


class DLPack(Case):
    def test_numpy_takes_it(self):
        for code in "bBhHiIqQefdFD" + ("?" if NUMPY >= (2, 0) else ""):
            v = ferry.asarray(np.arange(12).reshape(3, 4).astype(code))
            for array in (v, v.T, v[::2], v[1], v[0, 0:0], v[1, 1, ...]):
                taken = np.from_dlpack(array)
                self.assertEqual(taken.dtype, array.dtype)
                np.testing.assert_array_equal(taken, array.view(np.ndarray))
                if array.size:
                    self.assertEqual(taken.ctypes.data, array.ctypes.data)
        self.assertEqual(ferry.ones(3).__dlpack_device__(), (13, 0))
        self.assertEqual(ferry.ones(MIB).prefetch().__dlpack_device__(), (13, 0))

    def test_the_memory_is_kept_until_it_is_released(self):
        before = ferry.stats()["live_bytes"]
        v = ferry.full(MIB, 5.0)
        taken = np.from_dlpack(v)
        capsule = v.__dlpack__(max_version=(1, 0))
        del v
        gc.collect()
        self.assertEqual(taken[-1], 5)
        self.assertGreater(ferry.stats()["live_bytes"], before)
        thread = threading.Thread(target=lambda box: box.clear(), args=([capsule],))
        del capsule
        thread.start()
        thread.join()
        del taken, thread
        gc.collect()
        self.assertEqual(ferry.stats()["live_bytes"], before)

    def test_it_counts_as_written_until_it_is_released(self):
        v = ferry.ones(MIB)
        v.prefetch().prefetch("host")
        capsule = v.__dlpack__(max_version=(1, 0))
        with ferry.crossings() as crossed:
            v.prefetch().prefetch("host")
        self.assertEqual(crossed.redundant, 0)
        del capsule
        v.prefetch().prefetch("host")
        with ferry.crossings() as crossed:
            v.prefetch()
        self.assertEqual(crossed.redundant, v.nbytes)

    def test_keywords(self):
        v = ferry.arange(6.0)
        self.assertIn("dltensor_versioned", repr(v.__dlpack__(max_version=(1, 1))))
        self.assertIn('"dltensor"', repr(v.__dlpack__()))
        self.assertIn('"dltensor"', repr(v.__dlpack__(stream=1, max_version=(0, 8))))
        self.assertIn("dltensor", repr(v.__dlpack__(stream=-1, dl_device=(13, 0), copy=False)))
        large = ferry.ones(MIB).prefetch()
        large.__dlpack__(dl_device=(1, 0))
        self.assertEqual(large.place, "host")
        copied = ferry.from_dlpack(Exporter(large, (13, 0)), copy=True)
        self.assertNotEqual(copied.ctypes.data, large.ctypes.data)

    def test_what_is_refused(self):
        v = ferry.arange(6.0)
        frozen = v[:]
        frozen.flags.writeable = False
        frozen.__dlpack__(max_version=(1, 0))
        for refused in (lambda: v.__dlpack__(dl_device=(3, 0)), lambda: v.__dlpack__(dl_device=(13, 9)),
                        lambda: frozen.__dlpack__(), lambda: ferry.asarray(np.array(["a"])).__dlpack__(),
                        lambda: ferry.asarray(np.zeros(3, ">f8")).__dlpack__(),
                        lambda: ferry.zeros(3, [("a", "i1"), ("b", "f8")])["b"].__dlpack__()):
            with self.assertRaises(BufferError):
                refused()
        if ferry.info()["backend"] == "sim":
            with self.assertRaises(BufferError):
                v.cuda().__dlpack__()
        self.assertEqual(v.cuda(0).__dlpack_device__(), (2, 0))

    def test_from_dlpack(self):
        v = ferry.arange(12.0).reshape(3, 4)
        for versions in (True, False):
            taken = ferry.from_dlpack(Exporter(v.T, (13, 0), versions))
            self.assertIs(type(taken), ferry.ndarray)
            self.assertEqual((taken.ctypes.data, taken.strides), (v.ctypes.data, v.T.strides))
        x = ordinary(np.arange(5))
        taken = ferry.from_dlpack(Exporter(x))
        self.assertTrue(ferry.owns(taken))
        np.testing.assert_array_equal(taken, x)
        with self.assertRaises(BufferError):
            ferry.from_dlpack(Exporter(x), copy=False)
        self.assertEqual(ferry.asarray(Exporter(v, (13, 0))).ctypes.data, v.ctypes.data)
        exporter = Exporter(v, (13, 0))
        ferry.from_dlpack(exporter)
        self.assertEqual(exporter.asked, [{"stream": 1, "max_version": (1, 0)}])
        with self.assertRaises(TypeError):
            _ferry.dlpack_import(object())
        capsule = v.__dlpack__()
        _ferry.dlpack_import(capsule)
        with self.assertRaises(TypeError):
            _ferry.dlpack_import(capsule)

    @unittest.skipIf(NUMPY < (2, 1), "NumPy exports no read-only arrays")
    def test_read_only_arrays_stay_so(self):
        v = ferry.arange(3.0)
        v.flags.writeable = False
        self.assertFalse(np.from_dlpack(v).flags.writeable)
        self.assertFalse(ferry.from_dlpack(Exporter(v, (13, 0))).flags.writeable)


class Allocators(Case):
    def test_device_blocks_live_on_the_device(self):
        before = ferry.stats()["live_bytes"]
        address, block = _ferry.device_block(MIB, 0, 0)
        array = np.frombuffer((ctypes.c_char * MIB).from_address(address), "u1")
        self.assertTrue(ferry.owns(array))
        self.assertEqual(array.view(ferry.ndarray).place, "device")
        del array, block
        self.assertEqual(ferry.stats()["live_bytes"], before)
        with self.assertRaises(MemoryError):
            _ferry.device_block(1 << 45, 0, 0)
        with self.assertRaises(MemoryError):
            _ferry.device_block(1, 77, 0)

    def test_pytorchs_pair_is_in_the_library(self):
        library = ctypes.CDLL(ferry.library_path())
        library.ferry_torch_malloc.restype = ctypes.c_void_p
        library.ferry_torch_malloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        library.ferry_torch_free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        address = library.ferry_torch_malloc(1000, 0, None)
        self.assertTrue(address)
        library.ferry_torch_free(address, 1000, 0, None)

    def test_plug_ins_import_their_library_when_they_are_asked_for(self):
        code = ("import sys, ferry; assert not {'cupy', 'torch', 'numba', 'jax'} & set(sys.modules);"
                "ferry.cupy_allocator, ferry.torch_allocator\n"
                "try: ferry.nothing\n"
                "except AttributeError: sys.exit(0)\n"
                "sys.exit(1)")
        self.assertEqual(subprocess.run([sys.executable, "-c", code]).returncode, 0)

    def test_a_tensor_at_exit(self):
        code = "import ferry, numpy; v = ferry.ones(1 << 20); w = numpy.from_dlpack(v); c = v.__dlpack__()"
        self.assertEqual(subprocess.run([sys.executable, "-c", code]).returncode, 0)


if __name__ == "__main__":
    main()
