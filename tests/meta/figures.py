"""The pages' figures are those of the results, none is unmarked, and docs/figures.py notices when either is not so.

    figures.py SOURCE
"""
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "docs"))
import figures  # noqa: E402
import measured  # noqa: E402

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
                      "> said: 7 s", "thousands of faults", f"2.0 to <!--={LOG}-->{self.ms:.1f}<!--/--> ms",
                      "# The 9 ms", "it takes 22; or\nmore"):
            self.assertEqual(len(page(words + "\n")) >= 1, True, words)

    def test_what_is_no_figure_is_left_alone(self):
        for words in ("pages of 4 KiB", "PCIe 5", "16 elements", "`--time 100 s`", "three kernels", "[a link](of/5 ms)",
                      "    $ ferry bench\n    it printed 5 ms", "```\n5 ms\n```", "CUDA 13", "1 or 2 passes"):
            self.assertEqual(page(words + "\n"), [], words)

    def test_bare_numbers_in_a_table_are_figures(self):
        self.assertEqual(len(page(table("5"))), 1)
        self.assertEqual(len(page(table("**5.5**"))), 1)
        self.assertEqual(page(table("5", header="| what | default |")), [])
        self.assertEqual(page(table(f"<!--={LOG}-->{self.ms:.0f}<!--/-->")), [])
        self.assertEqual(page(table("five")), [])

    def test_what_a_command_prints_has_the_command_beside_it(self):
        for command, wrong in (("`ferry info` says", 0), ("`benchmarks/numpy_speed.py` says", 0), ("somebody says", 1),
                               ("`benchmarks/no_such.py` says", 1), ("`ferry` says", 1)):
            self.assertEqual(len(page(f"{command} <!--printed-->5<!--/--> ms.\n")), wrong, command)
        self.assertEqual(len(page("`ferry info` is there.\n\nIt says <!--printed-->5<!--/--> ms.\n")), 1)

    def test_what_is_set_needs_no_result(self):
        self.assertEqual(page("The limit is <!--set-->5<!--/--> ms.\n"), [])

    def test_a_line_does_not_begin_with_a_mark(self):
        self.assertEqual(len(page("so many as\n<!--set-->5<!--/--> ms\n")), 1)

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


if __name__ == "__main__":
    unittest.main(verbosity=1)
