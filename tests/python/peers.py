"""benchmarks/peers.py on small arrays: what its file says, that a wrong result has no time, that time is kept to."""
import contextlib
import io
import json
import os
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import peer_libraries  # noqa: E402
import peers  # noqa: E402
from harness import Case, main  # noqa: E402
from measuring import UFUNCS  # noqa: E402
from result_file import quantile  # noqa: E402


class Wrong(peer_libraries.Peer):
    """NumPy, but that its logarithm is off by little, and that it cannot take a sum."""
    name = "wrong"

    def __init__(self):
        self.xp = peer_libraries.Functions(np, log=lambda x: np.log(x) * (1 + 1e-4), sum=None)


class Full(peer_libraries.Peer):
    """One whose memory is full."""
    name = "full"

    def give(self, x):
        raise MemoryError("no room")


class Dumb(peer_libraries.Peer):
    """One that keeps its results."""
    name = "dumb"

    def take(self, result):
        raise OSError("no way home")


def run(*arguments):
    """Exit status, what was printed, and the file."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed, \
            mock.patch.dict(os.environ, FERRY_COMMIT="abc"), mock.patch("peer_limits.LIMIT_BYTES", 1 << 20), \
            mock.patch("peer_limits.PRODUCT_SIDE", 64):
        path = Path(folder, "peers.json")
        status = peers.main([*arguments, "--json", str(path)])
        return status, printed.getvalue(), json.loads(path.read_text(encoding="utf-8"))


class Peers(Case):
    def test_every_case_of_numpy_and_ferry(self):
        status, printed, results = run("--elements", "20000", "--time", "20",
                                       *[f"--peer={name}" for name in ("numpy", "ferry", "ferry.ndarray")])
        self.assertEqual((status, results["left_out"], results["skipped"]), (0, [], {}))
        self.assertEqual((results["suite"], results["commit"], results["cases_left"]), ("peers", "abc", 0))
        for fact in ("device", "driver", "cuda", "cpu", "date", "backend", "sm_clock", "memory_clock", "numpy",
                     "limits"):
            self.assertTrue(results[fact], fact)
        strategies = {}
        for row in results["cases"]:
            strategies.setdefault(row["case"], []).append(row["strategy"])
            self.assertGreaterEqual(row["runs"], 3)
            times = [row[f"{name}_ms"] for name in ("min", "q1", "median", "q3", "max")]
            self.assertEqual(times, sorted(times), row["case"])
            if "limit_ms" in row:
                self.assertAlmostEqual(row["share"], row["limit_ms"] / row["median_ms"])
        self.assertEqual({tuple(names) for names in strategies.values()}, {("numpy", "ferry", "ferry.ndarray")})
        ways = [f", {way}" for way in ("host to host", "resident")]
        self.assertLessEqual({f"{name} of {dtype}{way}" for name in UFUNCS for dtype in ("float64", "float32")
                              for way in ways}, set(strategies))
        self.assertEqual(len(strategies), 2 * (20 + 4 + 4 + 1) + 5)
        self.assertIn("ten ufuncs of float32, resident", printed)
        self.assertEqual("simulator" in printed, results["backend"] == "sim")

    def test_a_wrong_result_has_no_time_and_fails(self):
        with mock.patch.object(peer_libraries, "PEERS", [peer_libraries.Peer, Wrong]):
            status, printed, results = run("--elements", "1000", "--part", "ufuncs", "--part", "reductions")
        self.assertEqual(status, 1)
        void = [row for row in results["cases"] if row.get("valid") is False]
        self.assertEqual({(row["case"].split(" ")[0], row["strategy"]) for row in void}, {("log", "wrong")})
        self.assertEqual(len(void), 4)
        self.assertFalse(any("median_ms" in row for row in void))
        self.assertEqual({row["strategy"] for row in results["left_out"]}, {"wrong"}, "it has no sum")
        self.assertIn("wrong WRONG", printed)

    def test_an_absent_library_is_skipped_with_what_it_says(self):
        class Absent(peer_libraries.CuPy):
            name = "absent"

            def __init__(self):
                raise RuntimeError("it is on strike")

        with mock.patch.object(peer_libraries, "PEERS", [peer_libraries.Peer, Absent]):
            status, printed, results = run("--elements", "100", "--part", "products")
        self.assertEqual((status, results["skipped"]), (0, {"absent": "it is on strike"}))
        self.assertIn("skipped: absent: it is on strike", printed)

    def test_what_a_library_cannot_do_ends_nobody_elses_case(self):
        with mock.patch.object(peer_libraries, "PEERS", [peer_libraries.Peer, Full, Dumb]):
            status, _, results = run("--elements", "100", "--part", "products")
        self.assertEqual(status, 0)
        self.assertEqual({row["strategy"] for row in results["cases"]}, {"numpy"})
        self.assertEqual({(row["strategy"], row["why"]) for row in results["left_out"]},
                         {("full", "MemoryError: no room"), ("dumb", "OSError: no way home")})
        self.assertEqual(len(results["left_out"]), 4)

    def test_a_run_that_is_cut_short_has_left_what_it_had(self):
        class Fatal(peer_libraries.Ferry):
            name = "fatal"
            calls = 0

            def give(self, x):
                Fatal.calls += 1
                if Fatal.calls > 40:
                    raise KeyboardInterrupt
                return x

        with tempfile.TemporaryDirectory() as folder, mock.patch.object(peer_libraries, "PEERS", [Fatal]), \
                contextlib.redirect_stdout(io.StringIO()):
            path = Path(folder, "peers.json")
            with self.assertRaises(KeyboardInterrupt):
                peers.main(["--elements", "100", "--part", "products", "--part", "ufuncs", "--json", str(path)])
            results = json.loads(path.read_text(encoding="utf-8"))
        self.assertGreater(len(results["cases"]), 0)
        self.assertGreater(results["cases_left"], 0)

    def test_without_time_cases_are_left_out_and_said_to_be(self):
        status, printed, results = run("--elements", "100", "--part", "products", "--time", "0", "--peer", "numpy")
        self.assertEqual((status, results["cases"], len(results["left_out"])), (1, [], 2))
        self.assertIn("no time left", printed)

    def test_the_two_ways_have_lines_of_their_own(self):
        """Where a result is born is learnt by line."""
        read, left = peers.load_cases().reductions(100), peers.load_cases().reductions(100)
        for one, other in zip(read, left):
            self.assertIsNot(one.apply.__code__, other.apply.__code__)

    def test_quantiles_are_numpys(self):
        values = np.random.default_rng(3).random(10).tolist()
        for share in (0, 0.25, 0.5, 0.75, 1):
            self.assertAlmostEqual(quantile(values, share), np.quantile(values, share))

    def test_limits_are_the_slower_of_bus_and_memory(self):
        limits = peers.Limits(1e9, 2e9, 4e9, 5e9, 50e9, 1e12)
        work = types.SimpleNamespace(in_bytes=2e9, out_bytes=8e9, operations=0, units=1)
        self.assertAlmostEqual(limits.of(work, True, True), 2000)
        self.assertAlmostEqual(limits.of(work, False, True), 100)
        self.assertAlmostEqual(limits.of(work, False, False), 5000)
        work.operations = 3e12
        self.assertAlmostEqual(limits.of(work, True, True), 3000)
        self.assertIsNone(limits.of(work, False, False))


if __name__ == "__main__":
    main()
