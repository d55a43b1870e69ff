"""CuPy and ferry on one memory: the addresses are equal, and each sees what the other writes."""
import numpy as np

import ferry
from harness import MIB, Case, main, needs

cp = needs("cupy")


class CuPy(Case):
    def test_asarray_is_the_same_memory(self):
        v = ferry.arange(1.0 * MIB)
        for array in (v, v[::2], v.reshape(1024, -1).T, v[5:]):
            c = cp.asarray(array)
            self.assertEqual(c.data.ptr, array.ctypes.data)
            self.assertEqual((c.shape, c.strides, c.dtype), (array.shape, array.strides, array.dtype))
        c = cp.asarray(v)
        c *= 2
        cp.cuda.get_current_stream().synchronize()
        np.testing.assert_array_equal(v, 2 * np.arange(1.0 * MIB))

    def test_taking_places_nothing(self):
        v = ferry.ones(MIB)
        for place in ("device", "host"):
            v.prefetch(place)
            with ferry.crossings() as crossed:
                cp.asarray(v)
            self.assertEqual((v.place, crossed.to_device, crossed.to_host), (place, 0, 0))

    def test_writes_are_never_lost_nor_called_redundant(self):
        ferry.install(length=0)
        v = ferry.ones(MIB)
        c = cp.asarray(v)
        before = ferry.stats()["redundant_bytes"]
        for value in range(2, 8):
            c.fill(value)
            cp.cuda.get_current_stream().synchronize()
            self.assertEqual(set(np.negative(v).tolist()), {-float(value)})
            v[:] = -1.0
            self.assertEqual(float(c.sum()), -MIB)
        self.assertEqual(ferry.stats()["redundant_bytes"], before)

    def test_dlpack_both_ways(self):
        v = ferry.arange(1000.0)
        c = cp.from_dlpack(v)
        self.assertEqual(c.data.ptr, v.ctypes.data)
        back = ferry.from_dlpack(c)
        self.assertEqual(back.ctypes.data, v.ctypes.data)
        with self.assertRaises(BufferError):
            ferry.from_dlpack(cp.arange(10))

    def test_allocator(self):
        cp.cuda.set_allocator(ferry.cupy_allocator)
        try:
            c = cp.arange(MIB, dtype="f8")
            v = ferry.from_dlpack(c)
            self.assertEqual(v.ctypes.data, c.data.ptr)
            np.testing.assert_array_equal(v, np.arange(MIB))
            self.assertEqual(ferry.asarray(c).ctypes.data, c.data.ptr)
            live = ferry.stats()["live_bytes"]
            for n in range(200):
                d = cp.ones(1 + n * 1000) + n
                self.assertEqual(float(d[-1]), n + 1)
            del d
            cp.cuda.get_current_stream().synchronize()
            ferry.trim()
            self.assertLessEqual(ferry.stats()["live_bytes"], live + MIB)
        finally:
            cp.cuda.set_allocator(cp.cuda.MemoryPool().malloc)


if __name__ == "__main__":
    main()
