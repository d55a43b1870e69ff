"""
Another package's own tests with everything in ferry memory and through ferry's loops, and without: who fails with us?

    suite.py numpy|pandas|scipy [ARGUMENTS of pytest's]

Needs pytest and hypothesis beside the package. Takes many minutes. Exit status: 0 no more fail, 1 some do, 77 skipped.
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SUITES = {
    # All but the slow tests, the typing tests, and those of a compiler of Fortran.
    "numpy": ["--pyargs", "numpy", "-m", "not slow", "--ignore-glob=*typing*", "--ignore-glob=*f2py*"],
    "pandas": ["--pyargs", "pandas.tests.arithmetic", "pandas.tests.reductions", "pandas.tests.frame",
               "-m", "not slow"],
    "scipy": ["--pyargs", "scipy.special", "scipy.ndimage", "-m", "not slow"],
}


def run(mode, arguments, folder):
    outcomes = os.path.join(folder, mode + ".json")
    environment = {**os.environ, "FERRY_SUITE": mode, "FERRY_SUITE_OUTCOMES": outcomes,
                   "PYTHONPATH": os.pathsep.join([os.path.join(HERE, "plugins"), os.environ.get("PYTHONPATH", "")])}
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "suite_plugin", "-p", "no:cacheprovider",
                    "--continue-on-collection-errors", "--color=no", *arguments], cwd=folder, env=environment)
    with open(outcomes) as file:
        return json.load(file)


def main():
    name, arguments = sys.argv[1], sys.argv[2:]
    if any(importlib.util.find_spec(needed) is None for needed in ("pytest", "hypothesis", name)):
        print(f"skipped: pytest, hypothesis and {name} are needed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        ours = run("ferry", SUITES[name] + arguments, folder)
        plain = run("plain", SUITES[name] + arguments, folder)
    more = {test: text for test, text in ours["failed"].items() if test not in plain["failed"]}
    for test, text in more.items():
        print(f"\n==== {test}\n{text}")
    print(f"{name}: {ours['passed']} passed with {ours['launches']} launches, {plain['passed']} without; "
          f"{len(more)} fail with ferry only:")
    print("\n".join(more))
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
