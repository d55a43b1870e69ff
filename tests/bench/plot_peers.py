"""What benchmarks/plot_peers.py draws of files of peers.py and numpy_speed.py; the picture itself where matplotlib is.

    plot_peers.py SOURCE
"""
import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

SOURCE = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "benchmarks"))
import plot_peers  # noqa: E402

try:
    import matplotlib
except ImportError:
    matplotlib = None


def row(name, strategy, ms, way=", host to host", dtype="float64", **more):
    return {"case": f"{name} of {dtype}{way}", "strategy": strategy, "bytes": 8000, "runs": 3, "median_ms": ms,
            "q1_ms": ms, "q3_ms": ms, **more}


def results(cases):
    return {"device": "D", "commit": "c0ffee" * 7, "date": "2030-01-01T00:00:00Z", "cases": cases}


class Bars(unittest.TestCase):
    def setUp(self):
        names = plot_peers.UFUNCS
        self.cases = [row(name, "numpy", 4.0) for name in names] + \
                     [row(name, "ferry", 1.0 if name == "cos" else 2.0, limit_ms=0.5) for name in names] + \
                     [row(name, "numba", 3.0) for name in names if name != "log"]

    def test_means_of_those_that_have_all_ten_slowest_first(self):
        drawn = plot_peers.bars(results(self.cases), "{name} of {dtype}, host to host", "float64")
        self.assertEqual([name for name, _, _ in drawn], ["numpy", "ferry"])
        self.assertAlmostEqual(drawn[1][1], 2 ** 0.9)
        self.assertEqual((drawn[0][2], round(drawn[1][2], 9)), (None, 0.5))

    def test_a_void_result_is_not_drawn(self):
        void = [{**one, "valid": False} if one["strategy"] == "ferry" and one["case"].startswith("tan") else one
                for one in self.cases]
        self.assertEqual([title for title, drawn in plot_peers.panels(results(void)) for _ in drawn],
                         ["float64, host to host"])

    def test_a_panel_for_each_way_and_type(self):
        more = [row(name, "ferry", 1.0, ", resident", "float32") for name in plot_peers.UFUNCS]
        self.assertEqual([title for title, _ in plot_peers.panels(results(self.cases + more))],
                         ["float64, host to host", "float32, resident"])

    def test_the_committed_file(self):
        path = SOURCE / "benchmarks" / "results" / "h200" / "numpy.json"
        drawn = dict(plot_peers.panels(json.loads(path.read_text(encoding="utf-8"))))
        self.assertEqual(list(drawn), ["float64, host to host", "float32, host to host"])
        limits = {name: limit for name, _, limit in drawn["float64, host to host"]}
        self.assertIsNone(limits["numpy"])
        self.assertTrue(all(limits[name] for name in limits if not name.startswith("numpy")))


class Picture(unittest.TestCase):
    def draw(self, content):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as said:
            source, picture = Path(folder, "r.json"), Path(folder, "r.svg")
            source.write_text(json.dumps(content), encoding="utf-8")
            with mock.patch.object(sys, "argv", ["plot_peers.py", str(source), str(picture)]):
                status = plot_peers.main()
            return status, said.getvalue(), picture.read_text(encoding="utf-8") if picture.exists() else None

    @unittest.skipIf(matplotlib is None, "no matplotlib")
    def test_it_is_an_image_that_says_what_it_is_of(self):
        status, _, text = self.draw(results([row(name, "ferry", 1.25) for name in plot_peers.UFUNCS]))
        self.assertEqual(status, 0)
        self.assertTrue(ElementTree.fromstring(text).tag.endswith("svg"))
        for words in ("c0ffeec0ff", "float64, host to host", "1.25"):
            self.assertIn(words, text)

    def test_a_file_without_the_ten_is_refused(self):
        status, said, text = self.draw(results([row("cos", "ferry", 1.0)]))
        self.assertEqual((status, text), (1, None))
        self.assertIn("all ten", said)

    @unittest.skipIf(matplotlib is not None, "matplotlib is here")
    def test_without_matplotlib_it_says_so(self):
        status, said, _ = self.draw(results([row(name, "ferry", 1.0) for name in plot_peers.UFUNCS]))
        self.assertEqual(status, 1)
        self.assertIn("matplotlib", said)


if __name__ == "__main__":
    unittest.main(verbosity=1)
