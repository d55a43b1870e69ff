"""What crossed, and what the package says of itself."""
import ast
import json
import os
import sys
from pathlib import Path

import numpy as np

import ferry
from harness import Case, MIB, main, managed, run_python


class Counting(Case):
    def setUp(self):
        ferry.install(threshold=0, length=0)

    def test_one_ufunc_after_the_host_wrote(self):
        """Exactly the input goes to the device, and exactly the output comes home."""
        for policy in ("auto", "prefetch", "remote"):
            with self.subTest(policy=policy), ferry.policy(policy):
                x, y = np.empty(MIB), np.empty(MIB)
                x.fill(1.5), y.fill(0)
                with ferry.crossings(measured=True) as c:
                    np.exp(x, out=y)
                    content = y.tobytes()
                self.assertEqual((c.to_device, c.to_host, c.redundant, c.launches), (x.nbytes, y.nbytes, 0, 1))
                self.assertEqual(content, np.full(MIB, np.exp(1.5)).tobytes())

    def test_fresh_result(self):
        x = np.empty(MIB)
        x.fill(2.0)
        with ferry.crossings(measured=True) as c:
            content = np.sqrt(x).tobytes()
        self.assertEqual((c.to_device, c.to_host, c.redundant, c.launches), (x.nbytes, x.nbytes, 0, 1))
        self.assertEqual(content, np.full(MIB, np.sqrt(2)).tobytes())

    def test_chain_on_the_device(self):
        """Under prefetch nothing but the input crosses until the host looks."""
        x = np.empty(MIB)
        x.fill(2.0)
        with ferry.policy("prefetch"), ferry.crossings() as c:
            np.sqrt(x * x + x) - x
        self.assertEqual((c.to_device, c.to_host, c.redundant, c.launches), (x.nbytes, 0, 0, 4))

    def test_slice_moves_its_own_bytes(self):
        x = np.empty(4 * MIB)
        x.fill(1.0)
        with ferry.policy("prefetch"), ferry.crossings() as c:
            np.negative(x[:MIB])
        self.assertEqual(c.to_device, 8 * MIB)

    def test_measured(self):
        x = np.empty(MIB)
        x.fill(1.0)
        with ferry.crossings(measured=True) as c:
            self.assertTrue(c.measured)
            self.assertRaises(RuntimeError, ferry.crossings(measured=True).__enter__)
            with ferry.policy("prefetch"):
                np.negative(x)
        self.assertEqual((c.to_device, c.measured), (x.nbytes, True))
        with ferry.crossings() as c:
            pass
        self.assertFalse(c.measured)
        self.assertEqual(c.faults, 0)

    def test_block_that_fails(self):
        with self.assertRaises(KeyError), ferry.crossings(measured=True):
            raise KeyError
        with ferry.crossings(measured=True):
            pass

    def test_stats(self):
        before = ferry.stats()
        array = np.ones(1000)
        after = ferry.stats()
        self.assertGreaterEqual(after["live_bytes"] - before["live_bytes"], array.nbytes)
        self.assertGreater(after["allocations"], before["allocations"])
        self.assertIn("fallbacks", after)
        self.assertTrue(all(isinstance(value, int) for value in after.values()))

    def test_small_operations_leak_nothing(self):
        def work():
            for n in range(300):
                a = np.ones(n + 1)
                (a + 1) * a
                a.resize(2 * n + 2, refcheck=False)

        work()
        before = ferry.stats()["live_bytes"]
        work()
        self.assertEqual(ferry.stats()["live_bytes"], before)


def ferry_library():
    import ctypes
    return ctypes.CDLL(ferry.library_path())


class Scopes(Case):
    def setUp(self):
        ferry.install(threshold=0, length=0)

    def test_policies(self):
        with ferry.policy("remote"):
            with ferry.policy("prefetch"):
                x = managed(np.ones(MIB))
                with ferry.crossings() as c:
                    np.negative(x)
            self.assertEqual(c.to_host, 0)
            x = managed(np.ones(MIB))
            with ferry.crossings() as c:
                np.negative(x, out=x)
            self.assertEqual((c.to_device, c.to_host), (8 * MIB, 8 * MIB))
        self.assertRaisesRegex(ValueError, "prefetch", ferry.policy("whatever").__enter__)

    def test_results_that_the_host_reads_at_home_go_on_being_born_there(self):
        """Such a read leaves no trace: that none is seen must not count as none made."""
        x, sink = managed(np.ones(MIB)), np.frombuffer(bytearray(8 * MIB))
        went_home = 0
        for turn in range(30):
            np.copyto(x, turn + 1.0)
            with ferry.crossings() as c:
                y = np.sqrt(x)
            np.copyto(sink, y)
            went_home += c.to_host == y.nbytes if turn >= 4 else 0
            del y
        self.assertGreaterEqual(went_home, 24)

    def test_stream(self):
        x = managed(np.arange(1.0, 5000))
        with ferry.stream():
            y = np.log(x)
            for _ in range(20):
                y = y * 2 / 2
            with ferry.stream():
                z = np.exp(y)
            total = np.add.reduce(z)  # a number: it has to wait
        np.testing.assert_allclose(z, x)
        np.testing.assert_allclose(total, x.sum())

    def test_loops_that_do_not_wait_are_waited_for_by_those_of_numpy(self):
        x, half = managed(np.arange(1.0, 3000)), np.frombuffer(bytearray(8 * 2999))
        with ferry.stream():
            y = np.sqrt(x)
            z = np.add(y, half)  # half in ferry memory: NumPy's
        np.testing.assert_allclose(z * z, x)

    def test_elements_of_what_is_not_there_yet(self):
        """An element of a pending result, broadcast, is copied by the host when it is there."""
        x = managed(np.arange(1.0, 5001))
        results = []
        with ferry.stream():
            for at in range(30):
                y = np.sqrt(x)
                y *= y
                z = np.add(y[at:at + 1], x)
                results.append(np.multiply(z, 2, out=z))
        for at, z in enumerate(results):
            np.testing.assert_allclose(z, 2 * (x + at + 1))

    def test_sync(self):
        with ferry.stream():
            y = managed(np.ones(100)) + 1
            ferry.sync()
            self.assertEqual(y[5], 2)


class Sayings(Case):
    def test_info(self):
        ferry.install("2 MiB")
        info = ferry.info()
        self.assertEqual(info["threshold_bytes"], 2 * MIB)
        self.assertGreater(info["loops"], 500)
        self.assertEqual(info["version"], ferry.__version__)
        self.assertTrue(os.path.exists(info["library"]))
        self.assertGreaterEqual(len(info["devices"]), 1)
        json.dumps(info)
        ferry.uninstall()
        self.assertEqual((ferry.info()["threshold_bytes"], ferry.info()["loops"]), (None, 0))

    def test_the_stub_names_what_the_extension_has(self):
        stub = Path(__file__).resolve().parents[2] / "python" / "ferry" / "_ferry.pyi"
        named = {getattr(node, "name", None) or node.target.id for node in ast.parse(stub.read_text()).body
                 if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AnnAssign))}
        self.assertEqual(named, {name for name in dir(ferry._ferry) if not name.startswith("__")})

    def test_library_loads_by_path(self):
        library = ferry_library()
        self.assertEqual(library.ferry_device_count(), len(ferry.info()["devices"]))

    def test_explain(self):
        ferry.install(threshold=0, length=0)
        x = managed(np.ones(MIB))
        np.exp(x)
        self.assertRegex(ferry.explain(x), "host|device")
        self.assertRaises(TypeError, ferry.explain, np.array(["text"]))
        self.assertRaises(TypeError, ferry.explain, [1, 2])
        self.assertRaises(ValueError, ferry.explain, np.ones(3)[:0])

    def test_calibration(self):
        self.assertRaises(ValueError, ferry.calibrate, 99)
        self.assertGreater(ferry.calibrate()["to_device_ns_per_byte"], 0)

    def test_places_of_arrays_are_lines_of_python(self):
        """The reports of strict mode name the function and the file."""
        result = run_python("-c", """
import numpy as np, ferry
ferry.install(length=0)
def make():
    return np.full(1 << 18, 2.0)
def use(x):
    return np.sqrt(x)
x = make()
with ferry.policy("remote"):
    use(x)
    try:
        use(x)
    except RuntimeError as error:
        print(error)
    else:
        print("nothing was raised")
    print(use(x)[0])
""", FERRY_STRICT="1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("allocated in make (<string>:5)", result.stdout)
        self.assertIn("use (<string>:7)", result.stdout)
        self.assertIn("1.414", result.stdout)


class Running(Case):
    """python -m ferry."""

    def script(self, text):
        import tempfile
        file = tempfile.NamedTemporaryFile("w", suffix=".py", delete=False)
        self.addCleanup(os.unlink, file.name)
        with file:
            file.write(text)
        return file.name

    def run_ferry(self, *arguments):
        return run_python("-m", "ferry", *arguments)

    def test_script(self):
        path = self.script("""
import os, pickle, sys
import numpy as np, ferry
class Thing: pass
assert pickle.loads(pickle.dumps(Thing())).__class__ is Thing
assert __name__ == "__main__" and sys.argv[1:] == ["-x", "--length", "7"], sys.argv
assert os.path.samefile(sys.path[0], os.path.dirname(__file__))
assert os.path.samefile(sys.argv[0], __file__)
assert ferry.owns(np.empty(1 << 16, np.uint8))
np.exp(np.ones(1 << 17))
""")
        result = self.run_ferry("--threshold", "64K", "--length", "100", "--report", path, "-x", "--length", "7")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, "^ferry: 1 launches, ")

    def test_command_and_module(self):
        command = "import sys, numpy, ferry; print(sys.argv, ferry.owns(numpy.empty(1 << 20)))"
        result = self.run_ferry("-c", command, "a", "-b")
        self.assertEqual((result.stdout, result.returncode), ("['-c', 'a', '-b'] True\n", 0), result.stderr)
        result = self.run_ferry("-m", "timeit", "-n", "1", "-r", "1", "import ferry; assert ferry.info()['loops']")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("1 loop", result.stdout)
        self.assertEqual(self.run_ferry("-cimport sys; print(sys.argv)", "-x").stdout, "['-c', '-x']\n")

    def test_safe_path(self):
        """Python adds no folder to the path then, and none is taken from it."""
        if sys.version_info < (3, 11):
            self.skipTest("this Python always adds one")
        command = "import sys; print(sys.path)"
        plain, ferry_too = run_python("-P", "-c", command), run_python("-P", "-m", "ferry", "-c", command)
        self.assertEqual((ferry_too.stdout, ferry_too.returncode), (plain.stdout, 0), ferry_too.stderr)

    def test_the_programs_own_status_and_traceback(self):
        self.assertEqual(self.run_ferry("-c", "raise SystemExit(7)").returncode, 7)
        result = self.run_ferry(self.script("def f():\n    1 / 0\nf()\n"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("line 2, in f", result.stderr)
        self.assertTrue(result.stderr.endswith("ZeroDivisionError: division by zero\n"))

    def test_wrong_usage(self):
        for arguments in ([], ["--threshold", "much", "-c", "1"], ["--policy", "best", "-c", "1"],
                          ["--nonsense", "x.py"], ["--thresh", "1M", "-c", "1"]):
            result = self.run_ferry(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn("usage: python -m ferry", result.stderr)

    def test_help_and_version(self):
        self.assertEqual(self.run_ferry("--version").stdout, f"ferry {ferry.__version__}\n")
        self.assertIn("--threshold", self.run_ferry("--help").stdout)


if __name__ == "__main__":
    main()
