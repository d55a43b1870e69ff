"""Threads at once in the allocator, the loops, whole calls and the counters: the most on a free-threaded Python."""
import queue
import sys
import threading

import numpy as np

import ferry
from harness import SEED, Case, main

THREADS = 8
ROUNDS = 60
ELEMENTS = 3000


def chain(x):
    return np.sqrt(x * x + np.sin(x)) - np.log(x + 1)


class Threads(Case):
    def setUp(self):
        random = np.random.default_rng(SEED)
        self.inputs = [random.uniform(1, 2, ELEMENTS) for _ in range(THREADS)]
        self.wanted = [chain(x) for x in self.inputs]
        self.sums = [float(x.sum()) for x in self.inputs]
        ferry.install(threshold=0, length=0)

    def together(self, work):
        """work(0) to work(THREADS - 1), each in a thread of its own; they begin at the same time."""
        start, errors = threading.Barrier(THREADS), []

        def one(index):
            try:
                start.wait()
                work(index)
            except BaseException as error:  # noqa: B902: it is raised again below
                errors.append(error)

        threads = [threading.Thread(target=one, args=(index,)) for index in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def test_every_thread_has_its_own_results(self):
        def work(index):
            for _ in range(ROUNDS):
                x = self.inputs[index].copy()
                np.testing.assert_allclose(chain(x), self.wanted[index], rtol=1e-12)
                self.assertAlmostEqual(float(x.sum()), self.sums[index], places=8)

        self.together(work)

    def test_arrays_of_all_are_read_by_all(self):
        shared = [x.copy() for x in self.inputs]

        def work(index):
            for turn in range(ROUNDS):
                which = (index + turn) % THREADS
                np.testing.assert_allclose(chain(shared[which]), self.wanted[which], rtol=1e-12)

        self.together(work)

    def test_whole_calls(self):
        matrix = np.arange(12.0).reshape(3, 4)

        def work(index):
            for turn in range(ROUNDS):
                a = ferry.asarray(matrix) + index
                got = np.add(a, ferry.arange(4.0), where=a > 3, out=ferry.zeros((3, 4)))
                want = np.where(matrix + index > 3, matrix + index + np.arange(4.0), 0)
                np.testing.assert_array_equal(np.asarray(got), want)
                np.testing.assert_array_equal(np.asarray(a.sum(axis=0)), (matrix + index).sum(axis=0))

        self.together(work)

    def test_blocks_are_freed_by_other_threads(self):
        mail = [queue.SimpleQueue() for _ in range(THREADS)]

        def work(index):
            for turn in range(ROUNDS):
                mail[(index + 1) % THREADS].put((index, turn, np.full(ELEMENTS, float(index * ROUNDS + turn))))
                sender, sent, array = mail[index].get(timeout=60)
                self.assertEqual((float(array[0]), float(array[-1])), (sender * ROUNDS + sent,) * 2)
                array += 1
                self.assertEqual(float(array.sum()), ELEMENTS * (sender * ROUNDS + sent + 1.0))

        self.together(work)
        self.assertTrue(all(box.empty() for box in mail))

    def test_each_thread_has_its_own_error_state(self):
        zeros = np.zeros(ELEMENTS)

        def work(index):
            for _ in range(ROUNDS):
                if index % 2:
                    with np.errstate(all="raise"), self.assertRaises(FloatingPointError):
                        np.log(zeros)
                else:
                    with np.errstate(all="ignore"):
                        self.assertTrue(np.isneginf(np.log(zeros)).all())

        self.together(work)

    def test_installing_beside_those_who_work(self):
        def work(index):
            for turn in range(ROUNDS):
                if index == 0:
                    ferry.uninstall()
                    ferry.install(threshold=0, length=0)
                else:
                    np.testing.assert_allclose(chain(self.inputs[index]), self.wanted[index], rtol=1e-12)

        self.together(work)

    def test_scopes_and_counters(self):
        def work(index):
            for turn in range(ROUNDS):
                with ferry.allocator(threshold=0 if turn % 2 else 1 << 30):
                    x = np.ones(ELEMENTS)
                self.assertEqual(ferry.owns(x), bool(turn % 2))
                with ferry.policy("prefetch" if index % 2 else "remote"):
                    self.assertEqual(float((x + 1).sum()), 2.0 * ELEMENTS)
                ferry.stats()
                ferry.info()

        self.together(work)

    def test_nothing_turns_the_lock_on(self):
        if hasattr(sys, "_is_gil_enabled") and "free-threading" in sys.version:
            self.assertFalse(sys._is_gil_enabled())


if __name__ == "__main__":
    main()
