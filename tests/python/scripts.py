"""The scripts that know nothing of ferry: the same tables and plots, plain and under `python -m ferry`."""
import re
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
import run as driver  # noqa: E402
from harness import Case, main  # noqa: E402

EVERYTHING = ["-m", "ferry", "--report", "--length", "0", "--threshold", "0"]
SCRIPTS = {name: path for name, path in driver.programs().items() if driver.is_script(path)}


class Scripts(Case):
    def same(self, name, size):
        missing = driver.lacks(name)
        if missing:
            self.skipTest(f"no {missing[0]}")
        with tempfile.TemporaryDirectory() as folder:
            plain, ferry = (driver.run(SCRIPTS[name], Path(folder), before, size) for before in ([], EVERYTHING))
            self.assertIsNone(driver.difference(plain, ferry))
        launches = int(re.search(r"^ferry: (\d+) launches", ferry.error, re.MULTILINE).group(1))
        self.assertGreater(launches, 20, "so many loops at least have been ferry's")

    def test_feature_table(self):
        self.same("feature_table", 300_000)

    def test_image_stack(self):
        self.same("image_stack", 600_000)

    def test_option_price(self):
        self.same("option_price", 200_000)

    def test_they_know_nothing_of_ferry(self):
        self.assertEqual(sorted(SCRIPTS), ["feature_table", "image_stack", "option_price"])
        for path in SCRIPTS.values():
            self.assertNotIn("ferry", path.read_text())


class Comparing(unittest.TestCase):
    """The driver tells what is the same from what is not."""

    def test_numbers(self):
        for one, two, same in [
            ("1.25", "1.25", True), ("1.25", "1.26", True), ("-0.00", "0.00", True), ("9.99", "10.00", True),
            ("7", "8", True), ("7", "9", False), ("1.25", "1.27", False), ("1.25", "1.250", False),
            ("1.25", "-1.25", False),
        ]:
            self.assertEqual(driver.same_numbers(one, two), same, (one, two))

    def test_texts(self):
        same, other = driver.difference_of_texts, self.assertIsNotNone
        self.assertIsNone(same("a  9.99 ±0.1\nb", "a 10.00 ±0.1\nb"))
        other(same("a 1.0", "b 1.0"))
        other(same("a 1.0", "a 1.0\n2"))
        other(same("a 1.0 2.0", "a 1.0"))
        other(same("a 1.0", "a 1.3"))
        other(same("a 1.0", "a nan"))

    def test_programs_that_fail(self):
        well, ill = driver.Run("1", "", 0, None, []), driver.Run("1", "no memory", 1, None, [])
        self.assertIsNone(driver.difference(well, well))
        self.assertIn("no memory", driver.difference(well, ill))
        self.assertIn("plain", driver.difference(ill, well))

    def test_plots(self):
        try:
            from matplotlib import image
        except ImportError:
            self.skipTest("no matplotlib")
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{i}.png" for i in range(4)]
            black = np.zeros((4, 5, 3), np.uint8)
            near, far = black.copy(), black.copy()
            near[1, 2, 0], far[1, 2, 0] = driver.PIXEL_TOLERANCE, driver.PIXEL_TOLERANCE + 1
            for path, picture in zip(paths, (black, near, far, black[:3])):
                image.imsave(path, picture)
            self.assertIsNone(driver.difference_of_plots(paths[0], paths[1]))
            self.assertIn("differ by 3", driver.difference_of_plots(paths[0], paths[2]))
            self.assertIn("(3, 5", driver.difference_of_plots(paths[0], paths[3]))


if __name__ == "__main__":
    main()
