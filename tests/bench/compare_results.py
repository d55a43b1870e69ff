"""benchmarks/compare_results.py: what counts as the same, and when it fails.

    compare_results.py SOURCE
"""
import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "benchmarks"))
import compare_results  # noqa: E402


def row(median, case="a", **more):
    return {"case": case, "strategy": "s", "bytes": 64, "runs": 3, "median_ms": median, "min_ms": 0.9 * median,
            "max_ms": 1.2 * median, **more}


def void(case="a"):
    return {"case": case, "strategy": "s", "bytes": 64, "runs": 0, "valid": False}


def run(first, second, *options):
    """Exit status and what was printed."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out, \
            contextlib.redirect_stderr(out):
        paths = [Path(folder, name) for name in ("first.json", "second.json")]
        for path, cases in zip(paths, (first, second)):
            path.write_text(json.dumps({"device": "d", "cases": cases}), encoding="utf-8")
        return compare_results.main([*map(str, paths), *options]), out.getvalue()


class Compare(unittest.TestCase):
    def test_a_file_agrees_with_itself(self):
        for path in sorted((SOURCE / "benchmarks" / "results" / "h200").glob("[fnr]*.json")):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(compare_results.main([str(path), str(path), "--widen", "0"]), 0, path)
            self.assertIn("100.0 %", out.getvalue())

    def test_the_spread_is_of_the_runs_widened_by_a_part_of_the_median(self):
        for second, widen, status in ((9.0, "0", 0), (8.99, "0", 1), (12.0, "0", 0), (12.01, "0", 1),
                                      (8.0, "0.1", 0), (7.99, "0.1", 1), (13.0, "0.1", 0), (13.01, "0.1", 1)):
            self.assertEqual(run([row(10.0)], [row(second)], "--widen", widen)[0], status, (second, widen))

    def test_nine_in_ten_have_to_agree(self):
        first = [row(10.0, f"case {i}") for i in range(20)]
        for strange, status in ((2, 0), (3, 1)):
            second = [row(100.0 if i < strange else 10.0, f"case {i}") for i in range(20)]
            found, printed = run(first, second)
            self.assertEqual(found, status)
            self.assertIn(f"{20 - strange} of 20 cases", printed)
            self.assertEqual(printed.count("of the first median"), strange)
        self.assertEqual(run(first, second, "--share", "0.8")[0], 0)

    def test_cases_are_told_apart_by_all_that_names_them(self):
        for name, values in (("threads", (1, 2)), ("operands", (1, 2)), ("passes", (1, 16)), ("bytes", (1, 2))):
            first = [row(10.0, **{name: values[0]}), row(50.0, **{name: values[1]})]
            self.assertEqual(run(first, list(reversed(first)))[0], 0, name)

    def test_cases_of_one_name_stay_in_order(self):
        first = [row(10.0), row(50.0)]
        self.assertEqual((run(first, first)[0], run(first, list(reversed(first)))[0]), (0, 1))

    def test_what_one_file_lacks_is_said(self):
        status, printed = run([row(10.0), row(1.0, "b")], [row(10.0), row(1.0, "c")])
        self.assertEqual(status, 0)
        self.assertIn("only in the first: b", printed)
        self.assertIn("only in the second: c", printed)

    def test_a_result_that_has_become_wrong_fails(self):
        for first, second in (([row(10.0, "b"), row(10.0)], [row(10.0, "b"), void()]),
                              ([row(10.0, "b"), void()], [row(10.0, "b"), row(10.0)])):
            status, printed = run(first, second)
            self.assertEqual(status, 1)
            self.assertIn("void in the", printed)
        self.assertEqual(run([row(10.0, "b"), void()], [row(10.0, "b"), void()])[0], 0)

    def test_nothing_to_compare(self):
        for first, second in (([row(10.0)], [row(10.0, "b")]), ([], []), ([void()], [void()])):
            self.assertEqual(run(first, second)[0], 2)
        with contextlib.redirect_stderr(io.StringIO()) as out:
            self.assertEqual(compare_results.main(["no such file", "nor this"]), 2)
        self.assertIn("no such file", out.getvalue())


if __name__ == "__main__":
    unittest.main(verbosity=1)
