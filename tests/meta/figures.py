"""The pages' figures are those of the results, none is unmarked, and docs/figures.py notices when either is not so.

    figures.py SOURCE
"""
import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "docs"))
import figures  # noqa: E402
import measured  # noqa: E402
import performance  # noqa: E402
import performance_tables as tables  # noqa: E402
from performance_text import PARTS  # noqa: E402

RESULTS = measured.Results()
LOG = "placement/log, host to host/auto/1G"


def page(text):
    """What is wrong with a page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.md")
        path.write_text(text, encoding="utf-8")
        return [problem.split(":", 1)[1] for problem in figures.problems(path, RESULTS)]


def table(*cells, header="| what | auto |"):
    return f"{header}\n|---|---|\n| log | {' | '.join(cells)} |\n"


class Pages(unittest.TestCase):
    def test_the_pages_are_as_the_results_say(self):
        for path in figures.pages():
            self.assertEqual(figures.problems(path, RESULTS), [], f"docs/figures.py --write puts results in {path}")

    def test_the_pages_have_figures_of_results(self):
        marked = sum(len(figures.MARKED.findall(path.read_text(encoding="utf-8"))) for path in figures.pages())
        self.assertGreater(marked, 30)

    def test_every_figure_of_the_pages_is_looked_at(self):
        """Whichever is changed, its page is no longer right."""
        for path in figures.pages():
            text = path.read_text(encoding="utf-8")
            for match in figures.MARKED.finditer(text):
                mark, now = match.groups()
                if not mark.startswith("="):
                    continue
                other = now[:-1] + str((int(now[-1]) + 1) % 10) if now[-1:].isdigit() else "all"
                changed = text[:match.start(2)] + other + text[match.end(2):]
                self.assertEqual(len(figures.regenerate(changed, RESULTS)[1]), 1, f"{path}: {mark}")


class Marks(unittest.TestCase):
    def setUp(self):
        self.ms = measured.figure(RESULTS, LOG)

    def test_a_figure_has_as_many_decimals_as_are_written(self):
        for decimals in range(4):
            self.assertEqual(page(f"It took <!--={LOG}-->{self.ms:.{decimals}f}<!--/--> ms.\n"), [])

    def test_another_figure_is_found_and_replaced(self):
        text = f"It took <!--={LOG}-->{self.ms + 1:.1f}<!--/--> ms.\n"
        self.assertEqual(page(text), [f"1: {LOG} is {self.ms:.1f}, not {self.ms + 1:.1f}"])
        self.assertEqual(page(figures.regenerate(text, RESULTS)[0]), [])

    def test_commas_are_kept(self):
        self.assertEqual([figures.rendered(3367.4, text) for text in ("1,000", "1000", "1,000.0")],
                         ["3,367", "3367", "3,367.4"])

    def test_what_no_result_says_is_refused(self):
        for name in ("nothing", "none/such/case/1G", "placement/log, host to host/auto/3G", f"{LOG}/colour",
                     "run/no program/alone/work", "placement/check/none", "placement/limits/none"):
            self.assertEqual(len(page(f"It took <!--={name}-->1<!--/--> ms.\n")), 1, name)

    def test_an_unmarked_figure_is_found(self):
        for words in ("It takes 26.1 ms.", "at 84 GB/s", "5 to 10 times slower", "ten times faster", "80 % of it",
                      "- an item of 3 µs", "half the time", "a quarter of the speed", "3.5x faster", "12,000 ns",
                      "> said: 7 s", "thousands of faults", "20 × as many", "```\n5 ms\n```",
                      f"2.0 to <!--={LOG}-->{self.ms:.1f}<!--/--> ms",
                      "# The 9 ms", "it takes 22; or\nmore"):
            self.assertEqual(len(page(words + "\n")) >= 1, True, words)

    def test_what_is_no_figure_is_left_alone(self):
        for words in ("pages of 4 KiB", "PCIe 5", "16 elements", "`--time 100 s`", "three kernels", "[a link](of/5 ms)",
                      "    $ ferry bench\n    it printed 5 ms", "```\n$ ./x\n\n5 ms\n```", "CUDA 13", "1 or 2 passes",
                      "8192 × 8192"):
            self.assertEqual(page(words + "\n"), [], words)

    def test_bare_numbers_in_a_table_are_figures(self):
        self.assertEqual(len(page(table("5"))), 1)
        self.assertEqual(len(page(table("**5.5**"))), 1)
        self.assertEqual(page(table("5", header="| what | default |")), [])
        self.assertEqual(page(table(f"<!--={LOG}-->{self.ms:.0f}<!--/-->")), [])
        self.assertEqual(page(table("five")), [])

    def test_what_a_command_prints_has_the_command_beside_it(self):
        for command, wrong in (("`ferry info` says", 0), ("`benchmarks/numpy_speed.py` says", 0), ("somebody says", 1),
                               ("`benchmarks/no_such.py` says", 1), ("`ferry` says", 1), ("(`reuse.json`)", 0),
                               ("(`no_such.json`)", 1)):
            self.assertEqual(len(page(f"{command} <!--printed-->5<!--/--> ms.\n")), wrong, command)
        self.assertEqual(len(page("`ferry info` is there.\n\nIt says <!--printed-->5<!--/--> ms.\n")), 1)

    def test_what_is_set_needs_no_result(self):
        self.assertEqual(page("The limit is <!--set-->5<!--/--> ms.\n"), [])

    def test_a_line_does_not_begin_with_a_mark(self):
        self.assertEqual(len(page("so many as\n<!--set-->5<!--/--> ms\n")), 1)

    def test_a_comment_that_would_be_shown_is_refused(self):
        self.assertEqual(len(page("so <!--set-a--b-->5<!--/--> MiB\n")), 1)

    def test_lines_are_told(self):
        text = f"One\n\ntwo <!--={LOG}-->0.0<!--/--> ms\n\n- three of\n  4 ms\n\n| a | b |\n|---|---|\n| c | 5 |\n"
        found = page(text)
        self.assertEqual([problem.split(":")[0].strip() for problem in found], ["3", "6", "10"])


class Measured(unittest.TestCase):
    def test_void_rows_are_not_read(self):
        results = measured.Results()
        results.read["x.json"] = {"cases": [{"case": "a", "strategy": "b", "bytes": 1, "valid": False}]}
        self.assertRaises(measured.Unknown, results.ms, "x", "a", "b", 1)

    def test_parts_have_names(self):
        self.assertEqual([measured.part_in_words(share) for share in (0.5, 0.32, 0.24, 0.19, 0.09)],
                         ["half", "a third", "a quarter", "a fifth", "a tenth"])

    def test_bytes(self):
        self.assertEqual([measured.bytes_of(text) for text in ("7", "4K", "64M", "1G")], [7, 4096, 64 << 20, 1 << 30])
        self.assertRaises(measured.Unknown, measured.bytes_of, "1 G")


def case(name, strategy, **more):
    return {"case": name, "strategy": strategy, "bytes": 1 << 20, "runs": 3, "median_ms": 12.5, "q1_ms": 12,
            "q3_ms": 13, "min_ms": 11, "max_ms": 14, "limit_ms": 10, "share": 0.8, **more}


# A result of every suite that has none here yet, or may have.
SUITES = {
    "transfer": [case("round trip", "auto"), case("round trip", "pinned", bytes=4096)],
    "pingpong": [case("exchange", "auto")],
    "producer": [case("16 buffers", "auto")],
    "alloc": [case("pairs", "ferry", threads=1, operations=1000, ns=12500),
              case("replay", "ferry", footprint_over_live=1.25)],
    "launch": [case("launch", "bare", operands=3, operations=1000)],
    "stream": [case("triad", "device", gb_per_s=4000.0)],
    "peers": [case(f"{name} of {dtype}, {way}", "numpy") for name in measured.UFUNCS for dtype in ("float64", "float32")
              for way in ("host to host", "resident")] + [case("sum, resident", "numpy")],
    "programs": [case("heat", "explicit", lines=90), case("heat", "ferry", lines=60, median_ms=10.0, whole_ratio=0.5)],
}


class Performance(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def with_results(self, **suites):
        """The committed results, and others in place of some."""
        shutil.copytree(measured.RESULTS, self.folder, dirs_exist_ok=True)
        for suite, results in suites.items():
            (self.folder / f"{suite}.json").write_text(json.dumps(results), encoding="utf-8")
        return measured.Results(self.folder)

    def test_the_page_is_what_the_results_make_of_it(self):
        self.assertEqual(performance.problems(RESULTS), [])

    def test_a_result_that_changes_makes_another_page(self):
        placement = json.loads(json.dumps(RESULTS.suite("placement")))
        row = next(row for row in placement["cases"] if row["case"] == "ten kernels" and row["strategy"] == "auto")
        row["median_ms"] *= 2
        self.assertEqual(len(performance.problems(self.with_results(placement=placement))), 1)

    def test_a_suite_without_a_result_is_left_out(self):
        results = self.with_results()
        for path in self.folder.glob("reuse*"):
            path.unlink()
        page = performance.page(results)
        self.assertNotIn("Arrays that are used again", page)
        self.assertIn("Kernels in a row", page)

    def test_every_suite_is_taken_when_it_has_a_result(self):
        facts = {"device": "D", "driver": "1.2", "cpu": "C", "date": "2030-01-01T00:00:00Z", "commit": "c" * 40}
        results = {name: {**facts, "cases": cases} for name, cases in SUITES.items()}
        summary = {"strategy": "auto", "aspect": None, "cases": 9, "median_error": 0.071, "within": 0.88}
        results.update({f"model-{suite}": {"summaries": [summary], "cases": []} for suite in ("reuse", "transfer")})
        made = performance.page(self.with_results(**results))
        for part in PARTS:
            self.assertIn(f"# {part.title}\n", made)
        for words in ("- D, driver 1.2, C: 2030-01-01", "| 1 MiB |  | 12.5 (0.80) |",
                      "| heat | 12.5 | 10.0 | 0.80 | 0.50 | 90 | 60 |", "12.5 (1.25)", "4,000 (0.80)",
                      "| auto | 9 | 7.1 % | 88 % |",
                      "float32, resident | 12.5 (0.80)"):
            self.assertIn(words, made)
        path = self.folder / "performance.md"
        path.write_text(made, encoding="utf-8")
        self.assertEqual(figures.problems(path, measured.Results(self.folder)), [])

    def test_code_stays_code(self):
        self.assertIn("\n    build/default/tools/ferry bench\n", performance.page(RESULTS))
        self.assertEqual(performance.unwrapped("a\nb\n\n- c\n  d\n- e\n\n    f\n    g\n"),
                         "a b\n\n- c d\n- e\n\n    f\n    g")

    def test_second_runs_are_compared(self):
        results = self.with_results()
        self.assertNotIn("Second runs", performance.page(results))
        (self.folder / "again").mkdir()
        placement = json.loads(json.dumps(RESULTS.suite("placement")))
        for row in placement["cases"][:5]:
            row["median_ms"] *= 100
        (self.folder / "again" / "placement.json").write_text(json.dumps(placement), encoding="utf-8")
        count = len(placement["cases"])
        self.assertRegex(performance.page(results),
                         rf"\| placement \|.*\| {count} \| {100 * (count - 5) / count:.0f} % \|")

    def test_a_plot_of_another_commit_is_found(self):
        plot = self.folder / "reuse.svg"
        plot.write_text(f"<svg>{RESULTS.suite('reuse')['commit'][:10]}</svg>", encoding="utf-8")
        self.assertEqual(performance.problems(RESULTS, plots=self.folder), [])
        plot.write_text("<svg>another</svg>", encoding="utf-8")
        self.assertEqual(len(performance.problems(RESULTS, plots=self.folder)), 1)

    def test_numbers_have_three_digits(self):
        self.assertEqual([tables.short(value) for value in (0.0125, 26.04, 99.97, 160.4, 4075.83, 0.0001234, 1)],
                         ["0.0125", "26.0", "100", "160", "4,076", "0.000123", "1.00"])

    def test_only_that_page_is_made(self):
        self.assertEqual(len(page("so\n\n<!--made-->\n\n5 ms\n\n<!--/-->\n")), 1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
