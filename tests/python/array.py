"""ferry.ndarray against NumPy's: what it is, where it lives, what its copies and results are."""
import copy
import io
import os
import pickle
import tempfile
import warnings

import numpy as np

import ferry
from harness import MIB, NUMPY, Case, main, ordinary

DTYPES = [np.dtype(code) for code in "?bBhHiIqQefdFD"]


def sample(dtype, shape=(3, 4)):
    numbers = np.arange(int(np.prod(shape)), dtype=float).reshape(shape) - 5
    if dtype.kind in "ub":
        numbers = np.abs(numbers)
    return (numbers * (1 + 2j) if dtype.kind == "c" else numbers).astype(dtype)


class Arrays(Case):
    def assert_ferry(self, array, like=None):
        """A ferry.ndarray in ferry memory, equal to the plain array in values, type, shape and layout."""
        self.assertIs(type(array), ferry.ndarray)
        self.assertTrue(ferry.owns(array))
        if like is not None:
            self.assertEqual(array.dtype, like.dtype)
            self.assertEqual(array.shape, like.shape)
            np.testing.assert_array_equal(array.view(np.ndarray), like)

    def test_creation(self):
        for made, like in [
            (ferry.zeros((3, 4), "i4"), np.zeros((3, 4), "i4")),
            (ferry.ones(5), np.ones(5)),
            (ferry.ones((2, 3), "?", order="F"), np.ones((2, 3), "?")),
            (ferry.full((2, 2), 7), np.full((2, 2), 7)),
            (ferry.full(3, 2.5, "f4"), np.full(3, 2.5, "f4")),
            (ferry.arange(10), np.arange(10)),
            (ferry.arange(2, 10, 3, dtype="f8"), np.arange(2, 10, 3, dtype="f8")),
            (ferry.linspace(0, 1, 7), np.linspace(0, 1, 7)),
            (ferry.linspace(0, 10, 4, dtype=int), np.linspace(0, 10, 4, dtype=int)),
            (ferry.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]])),
            (ferry.array(5.0), np.array(5.0)),
            (ferry.array([1, 2], ndmin=3), np.array([1, 2], ndmin=3)),
            (ferry.array([1, 2], "c16"), np.array([1, 2], "c16")),
            (ferry.zeros(()), np.zeros(())),
            (ferry.zeros_like(np.ones((2, 3), order="F")), np.zeros((2, 3))),
            (ferry.asarray([1.5, 2]), np.asarray([1.5, 2])),
            (ferry.asarray(range(4)), np.arange(4)),
        ]:
            self.assert_ferry(made, like)
        self.assert_ferry(ferry.empty((5, 0)))
        self.assert_ferry(ferry.ndarray((3, 4), "f4"))
        self.assertTrue(ferry.zeros((3, 4), order="F").flags.f_contiguous)
        self.assertTrue(ferry.empty_like(np.ones((3, 4)).T).flags.f_contiguous)
        points, step = ferry.linspace(0, 1, 5, retstep=True)
        self.assertEqual(step, 0.25)
        self.assert_ferry(points)

    def test_asarray_copies_nothing_that_lives_there(self):
        v = ferry.arange(10.0)
        self.assertIs(ferry.asarray(v), v)
        part = v[2:8:2]
        self.assertIs(ferry.asarray(part), part)
        with ferry.allocator(threshold=0):
            plain = np.arange(6.0)
        again = ferry.asarray(plain)
        self.assertEqual(again.ctypes.data, plain.ctypes.data)
        again[0] = 9
        self.assertEqual(plain[0], 9)
        self.assertNotEqual(ferry.array(v).ctypes.data, v.ctypes.data)
        self.assert_ferry(ferry.asarray(v, "f4"), np.arange(10, dtype="f4"))

    def test_asarray_copies_what_does_not(self):
        for dtype in DTYPES:
            for shape in [(), (0,), (7,), (3, 4)]:
                x = ordinary(sample(dtype, shape))
                for layout in (x, np.asfortranarray(x), x[::-1] if x.ndim else x, x.T):
                    self.assert_ferry(ferry.asarray(layout), layout)
        large = ordinary(np.arange(MIB, dtype="i4").reshape(512, -1))
        self.assert_ferry(ferry.asarray(large), large)
        self.assert_ferry(ferry.asarray(large, "f8"), large.astype("f8"))
        self.assertTrue(ferry.asarray(np.asfortranarray(large)).flags.f_contiguous)
        self.assert_ferry(ferry.asarray(large[::2, ::-3]), large[::2, ::-3])
        swapped = large.astype(">i4")
        self.assert_ferry(ferry.asarray(swapped), swapped)
        records = np.zeros(4, [("a", "i4"), ("b", "f8")])
        self.assert_ferry(ferry.asarray(records), records)

    def test_types_that_depend_on_values(self):
        texts, dates = ordinary(np.array([1, 22, 333])), np.array(["2020-01-01"], "M8[D]")
        for x, dtype in [(["a", "bcd"], "U"), (["a", "bcd"], None), (texts, "U"), (texts.astype("U3"), "U"),
                         (b"ab", "S"), (dates, "M8"), (dates - dates, "m8"), ([(1, 2.5)], [("a", "i4"), ("b", "f8")]),
                         ([1, 2.5], object), ([[1, 2], [3, 4]], "f4")]:
            want, made = np.asarray(x, dtype), ferry.asarray(x, dtype)
            self.assertEqual((made.dtype, made.shape, made.tolist()), (want.dtype, want.shape, want.tolist()))
            self.assert_ferry(made)
        if NUMPY >= (2, 0):
            with self.assertRaises(OverflowError):
                ferry.asarray(300, "u1")
        self.assertEqual(ferry.full(2, "abc", "U").tolist(), np.full(2, "abc", "U").tolist())
        self.assert_ferry(ferry.arange(1, 9, 3, "f4"), np.arange(1, 9, 3, "f4"))

    def test_read_only_and_memory_mapped_inputs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.npy")
            np.save(path, np.arange(12.0).reshape(3, 4))
            mapped = np.load(path, mmap_mode="r")
            v = ferry.asarray(mapped)
            self.assert_ferry(v, mapped)
            v[0, 0] = 1
            self.assertEqual(mapped[0, 0], 0)
            del mapped

    def test_type_is_kept(self):
        v = ferry.arange(12.0).reshape(3, 4)
        x = v.view(np.ndarray)
        for made, like in [
            (np.sqrt(v + 1), np.sqrt(x + 1)), (v + 1, x + 1), (1 - v, 1 - x), (v @ v.T, x @ x.T), (-v, -x),
            (v > 3, x > 3),
            (v.T, x.T), (v[1], x[1]), (v[:, [0, 2]], x[:, [0, 2]]), (v[v > 3], x[x > 3]), (v[..., None], x[..., None]),
            (v.sum(axis=0), x.sum(axis=0)), (v.mean(axis=1), x.mean(axis=1)), (v.copy(), x.copy()),
            (v.astype("f4"), x.astype("f4")), (v.ravel(), x.ravel()), (v.T.ravel(), x.T.ravel()),
            (v.flatten(), x.flatten()),
            (v.T.reshape(2, 6), x.T.reshape(2, 6)), (v.repeat(2), x.repeat(2)), (v.take([1, 2]), x.take([1, 2])),
            (v.cumsum(), x.cumsum()), (v.argsort(axis=0), x.argsort(axis=0)), (v.dot(v.T), x.dot(x.T)),
            (np.concatenate([v, v]), np.concatenate([x, x])), (np.stack([v, v]), np.stack([x, x])),
            (np.sort(v[::-1], axis=0), np.sort(x[::-1], axis=0)), (np.zeros_like(v), np.zeros_like(x)),
            (np.clip(v, 2, 5), np.clip(x, 2, 5)), (np.cumsum(v), np.cumsum(x)),
            (np.maximum.accumulate(v), np.maximum.accumulate(x)),
            (np.add.outer(v[0], v[1]), np.add.outer(x[0], x[1])),
            (v.compress([1, 0], axis=0), x.compress([1, 0], axis=0)),
            (copy.copy(v), x), (copy.deepcopy(v), x), (v.std(axis=0), x.std(axis=0)), (np.round(v, 1), x),
        ]:
            self.assert_ferry(made, like)
        for got, want in [(v.sum(), x.sum()), (v.max(), x.max()), (v[1, 1], x[1, 1]), (np.mean(v), np.mean(x))]:
            self.assertIs(type(got), type(want))
            self.assertEqual(got, want)
        self.assertEqual([type(part) for part in np.divmod(v, 2)], [ferry.ndarray] * 2)

    def test_layout_is_numpys(self):
        v = ferry.asarray(np.arange(24.0).reshape(2, 3, 4))
        for view in (v, v.T, v.transpose(1, 0, 2), v[:, ::-1], v[..., ::2]):
            plain = view.view(np.ndarray)
            for length in (None, 0):
                ferry.install(length=length)
                made = view + 1
                self.assertEqual(made.strides, (plain + 1).strides)
                ferry.uninstall()

    def test_copies_keep_the_order_asked_for(self):
        v = ferry.asarray(np.arange(12.0).reshape(3, 4)).T
        for order in "CFAK":
            self.assertEqual(v.copy(order).strides, v.view(np.ndarray).copy(order).strides)
        self.assertIsNot(v.copy(), v)

    def test_subclasses_and_strangers(self):
        class Named(ferry.ndarray):
            def __array_finalize__(self, other):
                self.name = getattr(other, "name", None)

        v = ferry.arange(4.0).view(Named)
        v.name = "v"
        self.assertEqual((v + 1).name, "v")
        self.assertIs(type(np.sqrt(v)), Named)
        self.assertEqual(v[1:].name, "v")

        class Stranger:
            def __array_ufunc__(self, *unused, **also):
                return "mine"

        self.assertEqual(np.add(ferry.ones(3), Stranger()), "mine")
        masked = np.ma.masked_array([1.0, 2.0], [True, False])
        self.assertIs(type(ferry.ones(2) + masked), np.ma.MaskedArray)
        x = np.ones(3)
        self.assertIs(np.add(ferry.ones(3), 1, out=x), x)
        self.assertEqual(x[0], 2)

    def test_where_out_at_and_reductions_are_numpys(self):
        v = ferry.arange(6.0)
        out = ferry.zeros(6)
        self.assertIs(np.add(v, 1, out=out, where=v > 2), out)
        np.testing.assert_array_equal(out, [0, 0, 0, 4, 5, 6])
        np.add.at(v, [0, 0], 1)
        self.assertEqual(v[0], 2)
        self.assertEqual(np.add.reduce(v, keepdims=True).shape, (1,))
        with self.assertRaises(TypeError):
            np.add(v, 1, out=ferry.zeros(6, int))
        with self.assertRaises(ValueError):
            np.add(v, ferry.ones(4))
        with self.assertRaises(TypeError):
            np.bitwise_and(v, v)

    def test_pickle(self):
        for dtype in DTYPES:
            v = ferry.asarray(sample(dtype))
            for array in (v, v.T, v[::2, ::-1], v[0, 0:0]):
                for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
                    self.assert_ferry(pickle.loads(pickle.dumps(array, protocol)), array.view(np.ndarray))
        v = ferry.arange(1000.0)
        buffers = []
        data = pickle.dumps(v, protocol=5, buffer_callback=buffers.append)
        self.assertLess(len(data), 1000)
        self.assertEqual([buffer.raw().nbytes for buffer in buffers], [8000])
        back = pickle.loads(data, buffers=[bytearray(buffer.raw()) for buffer in buffers])
        self.assert_ferry(back, v.view(np.ndarray))
        back[0] = 1

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, array in [("c", ferry.arange(12.0).reshape(3, 4)), ("f", ferry.arange(12).reshape(3, 4).T),
                                ("s", ferry.arange(12.0)[::3]), ("o", ferry.asarray(np.zeros(3, [("a", "i4")])))]:
                path = os.path.join(folder, name)
                ferry.save(path, array)
                np.testing.assert_array_equal(np.load(path + ".npy"), array.view(np.ndarray))
                self.assert_ferry(ferry.load(path + ".npy"), array.view(np.ndarray))
                np.save(path + "2", array)
                self.assert_ferry(ferry.load(path + "2.npy"), array.view(np.ndarray))
                self.assert_ferry(ferry.load(path + ".npy", mmap_mode="r"), array.view(np.ndarray))
            memory = io.BytesIO()
            ferry.save(memory, ferry.arange(3))
            memory.seek(0)
            self.assert_ferry(ferry.load(memory), np.arange(3))
            np.savez(os.path.join(folder, "z"), a=ferry.arange(3))
            with ferry.load(os.path.join(folder, "z.npz")) as archive:
                np.testing.assert_array_equal(archive["a"], np.arange(3))
            with self.assertRaises(FileNotFoundError):
                ferry.load(os.path.join(folder, "nothing.npy"))
            with self.assertRaisesRegex(OSError, "nowhere"):
                ferry.save(os.path.join(folder, "nowhere", "x"), ferry.arange(3))

    def test_place(self):
        v = ferry.zeros(MIB)
        self.assertEqual(v.place, "nowhere")
        v[:] = 1
        v.prefetch()
        self.assertEqual(v.place, "device")
        self.assertIs(v.prefetch("host"), v)
        self.assertEqual(v.place, "host")
        v[: MIB // 2].prefetch(0)
        self.assertEqual(v.place, "mixed")
        self.assertEqual(v[: MIB // 4].place, "device")
        np.testing.assert_array_equal(v, np.ones(MIB))
        for wrong in ("gpu", -1, 77, 1 << 70, True):
            with self.assertRaises(ValueError):
                v.prefetch(wrong)
        for wrong in (0.5, None, b"host"):
            with self.assertRaises(TypeError):
                v.prefetch(wrong)
        records = ferry.asarray(np.zeros(MIB, [("a", "i4"), ("b", "f8")])).prefetch()
        self.assertEqual(records.place, "device")

    def test_no_room(self):
        with self.assertRaises(MemoryError):
            ferry.empty(1 << 45)

    def test_a_forked_child_goes_on_in_ordinary_memory(self):
        sent = pickle.dumps(ferry.arange(10.0))
        child = os.fork()
        if child == 0:
            v = ferry.ones(10) + pickle.loads(sent)
            os._exit(0 if float(v.sum()) == 55 and type(v) is ferry.ndarray else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_assignment(self):
        x = ordinary(np.arange(MIB, dtype="f4").reshape(256, -1))
        v = ferry.zeros(x.shape)
        for index in (slice(None), Ellipsis, (slice(None, None, -1),), (slice(0, 128), slice(1, None, 2)), 3,
                      (slice(None), 5)):
            want = np.zeros(x.shape)
            v[...] = 0
            value = x[index] if not isinstance(index, int) else x[7]
            v[index] = value
            want[index] = value
            np.testing.assert_array_equal(v, want)
        v[...] = x[0]
        np.testing.assert_array_equal(v, np.broadcast_to(x[0], x.shape))
        v[2:5, ::-1] = 3
        self.assertEqual(v[3, 7], 3)
        v[:, 1:] = v[:, :-1]
        np.testing.assert_array_equal(v[0, 1:], x[0, :-1])
        with self.assertRaises(ValueError):
            v[...] = x[:5]
        whole = ferry.zeros(x.shape, "i4")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole[...] = x + 0.5
        np.testing.assert_array_equal(whole, (x + 0.5).astype("i4"))
        v.flags.writeable = False
        with self.assertRaises(ValueError):
            v[...] = x

    def test_an_assignment_that_fails_leaves_the_contents(self):
        v = ferry.full(MIB, 2, "f2").prefetch()
        with ferry.crossings() as crossed, np.errstate(over="raise"), self.assertRaises(FloatingPointError):
            v[...] = 1e300
        self.assertEqual(crossed.to_host, v.nbytes)
        self.assertEqual(v.min(), 2)

    def test_threads_of_copies(self):
        x = ordinary(np.random.default_rng(1).random((5, 400001)))
        before = ferry.set_copy_threads(1)
        try:
            for threads in (1, 3, 64):
                ferry.set_copy_threads(threads)
                v = ferry.empty(x.shape)
                v[:] = x
                np.testing.assert_array_equal(v, x)
                w = ferry.empty(x.shape[::-1]).T
                np.copyto(w, x)
                np.testing.assert_array_equal(w, x)
            for wrong in (0, 65):
                with self.assertRaises(ValueError):
                    ferry.set_copy_threads(wrong)
        finally:
            ferry.set_copy_threads(before)

    def test_copyto_heeds_the_casting(self):
        x = ordinary(np.arange(MIB, dtype="f4"))
        v = ferry.zeros(MIB)
        for wrong, error in [("no", TypeError), ("equiv", TypeError), ("sometimes", ValueError)]:
            with self.assertRaises(error):
                np.copyto(v, x, casting=wrong)
            self.assertEqual(v[-1], 0)
        np.copyto(v, x, casting="safe")
        self.assertEqual(v[-1], MIB - 1)

    def test_copies_on_the_device_stay_there(self):
        v = ferry.arange(1.0 * MIB).prefetch()
        with ferry.crossings() as crossed:
            w = v.copy()
        self.assertEqual((crossed.to_device, crossed.to_host), (0, 0))
        self.assertEqual(w.place, "device")
        np.testing.assert_array_equal(w, np.arange(1.0 * MIB))


if __name__ == "__main__":
    main()
