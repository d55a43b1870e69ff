"""Where arrays are born, how they grow, and what frees them."""
import threading

import numpy as np

import ferry
from harness import Case, MIB, NUMPY, main, ordinary, run_python


class Threshold(Case):
    def test_default_is_a_mebibyte(self):
        ferry.install()
        self.assertTrue(ferry.owns(np.empty(MIB, np.uint8)))
        self.assertFalse(ferry.owns(np.empty(MIB - 1, np.uint8)))

    def test_texts_and_numbers(self):
        for threshold, nbytes in ((4096, 4096), ("64K", 65536), ("2 MiB", 2 * MIB), (0, 1)):
            ferry.install(threshold)
            self.assertTrue(ferry.owns(np.empty(nbytes, np.uint8)), threshold)
            if nbytes > 1:
                self.assertFalse(ferry.owns(np.empty(nbytes - 1, np.uint8)), threshold)

    def test_what_is_no_size(self):
        for threshold in ("many", "1 XB", -1, 1 << 64, (1 << 64) - 1):
            self.assertRaises(ValueError, ferry.install, threshold)
        for length in (-2, 1 << 63):
            self.assertRaises(ValueError, ferry.install, length=length)
        self.assertEqual((ferry.info()["threshold_bytes"], ferry.info()["loops"]), (None, 0))
        self.assertFalse(ferry.owns(np.empty(MIB, np.uint8)))

    def test_every_way_to_make_an_array(self):
        ferry.install()
        source = ordinary(np.arange(MIB))
        for made in (np.zeros(MIB), np.ones(MIB), source + 1, source.copy(), source[::-1].astype(float), np.arange(MIB),
                     np.concatenate([source, source]), source.reshape(-1, 2).T.copy(), np.sort(source)):
            self.assertTrue(ferry.owns(made))


class Scopes(Case):
    def test_block(self):
        with ferry.allocator("64K"):
            inside = np.empty(65536, np.uint8)
            with ferry.allocator(threshold=1024):
                self.assertTrue(ferry.owns(np.empty(1024, np.uint8)))
            self.assertFalse(ferry.owns(np.empty(1024, np.uint8)))
        self.assertTrue(ferry.owns(inside))
        self.assertFalse(ferry.owns(np.empty(65536, np.uint8)))

    def test_block_ends_by_an_exception(self):
        with self.assertRaises(KeyError), ferry.allocator(0):
            raise KeyError
        self.assertFalse(ferry.owns(np.empty(MIB, np.uint8)))

    def test_block_is_this_threads(self):
        with ferry.allocator(0):
            self.assertFalse(in_thread(lambda: ferry.owns(np.empty(MIB, np.uint8))))

    def test_install_holds_for_every_thread(self):
        started, installed = threading.Event(), threading.Event()
        owned = []

        def early():
            started.set()
            installed.wait()
            owned.append(ferry.owns(np.empty(MIB, np.uint8)))

        thread = threading.Thread(target=early)
        thread.start()
        started.wait()
        ferry.install()
        installed.set()
        thread.join()
        owned.append(in_thread(lambda: ferry.owns(np.empty(MIB, np.uint8))))
        self.assertEqual(owned, [True, True])

    def test_arrays_outlive_uninstall(self):
        ferry.install(0)
        kept = np.arange(1000)
        ferry.uninstall()
        self.assertTrue(ferry.owns(kept))
        kept.resize(2000, refcheck=False)
        self.assertTrue(ferry.owns(kept))
        self.assertEqual(kept[999], 999)
        before = ferry.stats()["live_bytes"]
        del kept
        self.assertLess(ferry.stats()["live_bytes"], before)
        self.assertFalse(ferry.owns(np.empty(MIB)))


def in_thread(function):
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


class Contents(Case):
    def test_resizing_across_the_threshold(self):
        ferry.install("64K", loops=False)
        array = np.arange(1000, dtype=np.int64)
        for length, owned in ((20000, True), (50000, True), (9000, True), (8000, False), (100, False), (100000, True)):
            kept = min(length, array.size)
            want = array[:kept].copy()
            array.resize(length, refcheck=False)
            self.assertEqual(ferry.owns(array), owned, length)
            self.assertTrue((array[:kept] == want).all())
            self.assertFalse(array[kept:].any())

    def test_zeros_on_recycled_memory(self):
        ferry.install("64K", length=0)
        for nbytes in (65536, MIB, 3 * MIB + 5):
            for _ in range(4):
                used = np.empty(nbytes, np.uint8)
                used[:] = 0xa5
                np.invert(used, out=used)
                del used
                zeros = np.zeros(nbytes, np.uint8)
                self.assertTrue(ferry.owns(zeros))
                self.assertFalse(zeros.any())
                del zeros

    def test_arrays_from_before_are_freed_after(self):
        before = [np.arange(MIB) for _ in range(3)]
        ferry.install(0)
        self.assertFalse(ferry.owns(before[0]))
        before[0].resize(2 * MIB, refcheck=False)
        self.assertTrue(ferry.owns(before[0]))
        self.assertEqual(before[0][MIB - 1], MIB - 1)
        del before

    def test_handlers_of_arrays(self):
        with ferry.allocator(0):
            array = np.empty(10)
        multiarray = (np._core if NUMPY >= (2, 0) else np.core).multiarray
        self.assertEqual(multiarray.get_handler_name(array), "ferry")
        ferry.install(0)
        self.assertEqual(multiarray.get_handler_name(np.empty(10)), "default_allocator")


class Limit(Case):
    def test_ordinary_memory_serves_past_the_limit(self):
        result = run_python("-c", """
import numpy as np, ferry
ferry.install()
kept = [np.full(1 << 20, n, np.int64) for n in range(12)]
owned = [ferry.owns(array) for array in kept]
assert owned[0] and not owned[-1], owned
assert all((array == n).all() for n, array in enumerate(kept))
kept[0].resize(12 << 20, refcheck=False)
assert kept[0][(1 << 20) - 1] == 0 and not ferry.owns(kept[0])
counts = ferry.stats()
assert counts["fallbacks"] >= 2 and counts["fallback_bytes"] >= 2 * 8 << 20, counts
""", FERRY_LIMIT="64M")
        self.assertEqual((result.returncode, result.stderr), (0, ""))


class Processes(Case):
    def test_child_goes_on_with_numpy(self):
        result = run_python("-W", "ignore", "-c", """
import os, sys
import numpy as np, ferry
ferry.install(length=0)
x = np.arange(1 << 18, dtype=float)
y = np.log1p(x)
child = os.fork()
if child == 0:
    z = np.ones(1 << 18) + 1
    z.resize(1 << 19, refcheck=False)
    total = sum(loop.launches for loop in ferry.loops())
    z = np.sqrt(z) * 2
    same = total == sum(loop.launches for loop in ferry.loops())
    del y
    os._exit(0 if same and z[0] == 2 * np.sqrt(2) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert (np.log1p(x) == y).all()
""")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_frees_at_exit(self):
        result = run_python("-c", """
import atexit, sys, threading
import numpy as np, ferry
ferry.install(0, length=0)
sys.kept = [np.ones(1000), np.exp(np.ones(100000))]
atexit.register(lambda: sys.kept.append(np.ones(10) + 1))
threading.Thread(target=lambda: sys.kept.append(np.cos(np.ones(5000)))).start()
""")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_second_interpreter_is_refused(self):
        result = run_python("-c", """
import sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
import ferry
other = interpreters.create()
interpreters.run_string(other, '''
try:
    import ferry._ferry
except ImportError:
    pass
else:
    raise SystemError("imported twice")
''')
""")
        if "No module named" in result.stderr:
            self.skipTest("no second interpreter in this Python")
        self.assertNotIn("SystemError", result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    main()
