"""
Runs a script several times in one process and says on standard error what each run took.

    repeat.py TIMES SCRIPT [ARGUMENTS…]

The first run prints, and includes imports; in the later ones, ferry's placement has seen every line of the script.
"""
import contextlib
import os
import runpy
import sys
import time


def main() -> None:
    times, script = int(sys.argv[1]), sys.argv[2]
    sys.argv = sys.argv[2:]
    with open(os.devnull, "w") as nowhere:
        for out in [sys.stdout] + [nowhere] * (times - 1):
            begun = time.perf_counter()
            with contextlib.redirect_stdout(out):
                runpy.run_path(script, run_name="__main__")
            print(f"seconds {time.perf_counter() - begun:.4f}", file=sys.stderr)


if __name__ == "__main__":
    main()
