"""The examples: each proves its point, plain and under `python -m ferry`, and the manual shows what they print."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
import run as driver  # noqa: E402
from harness import Case, main  # noqa: E402

WITH_FERRY = ["-m", "ferry", "--length", "0", "--threshold", "0"]


class Examples(Case):
    def test_each_holds_and_prints_what_the_manual_shows(self):
        manual = (ROOT / "docs" / "examples.md").read_text()
        paths = [path for path in driver.programs().values() if not driver.is_script(path)]
        self.assertEqual(len(paths), 5)
        for path in paths:
            with self.subTest(path.stem), tempfile.TemporaryDirectory() as folder:
                plain, ferry = (driver.run(path, Path(folder), before, None) for before in ([], WITH_FERRY))
                self.assertIsNone(driver.difference(plain, ferry))
                self.assertIn("redundant bytes", plain.out)
                self.assertIn(plain.out, manual)

    def test_an_example_whose_point_does_not_hold_fails(self):
        """The same array read by kernels twice, across the bus each time."""
        text = ("import numpy as np, ferry; from proof import prove; ferry.install(length=0); x = np.ones(1 << 20)\n"
                "with ferry.policy('remote'), ferry.crossings() as c: np.sin(x), np.cos(x)\n"
                "prove(('redundant bytes', c.redundant, 0), ('launches', c.launches, 2))")
        done = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env={
            **os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "examples" / "python"), os.environ["PYTHONPATH"]])})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"redundant bytes +8,388,608 +0  differs\nlaunches +2 +2\n$")


if __name__ == "__main__":
    main()
