"""Runs `ferry bench` in an empty folder. Exit status: 0 passed, 1 failed, 77 skipped."""
import json
import math
import os
import subprocess
import sys
import tempfile

# At a fork jemalloc holds all its locks at once, more than thread sanitizer's deadlock detector counts.
os.environ["TSAN_OPTIONS"] = os.environ.get("TSAN_OPTIONS", "") + ":detect_deadlocks=0"


class Bench:
    def __init__(self, program, folder):
        self.program, self.folder = os.path.abspath(program), folder
        self.on_device = os.environ.get("FERRY_BACKEND") == "cuda"
        self.failures = self.checks = 0

    def run(self, *arguments, **environment):
        return subprocess.run([self.program, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **environment})

    def check(self, holds, message):
        self.checks += 1
        if not holds:
            self.failures += 1
            print("FAILED:", message)
        return holds

    def measure(self, *arguments, **environment):
        """A run that must succeed: what it printed, and its file."""
        path = os.path.join(self.folder, "results.json")
        result = self.run("bench", *arguments, "--json", path, **environment)
        self.check(result.returncode == 0 and not result.stderr, f"{arguments}: {result.returncode} {result.stderr}")
        return result.stdout, self.read(path)

    def read(self, path):
        with open(path) as stream:
            return json.load(stream)

    def refuse(self, arguments, status, words):
        result = self.run("bench", *arguments)
        self.check(result.returncode == status, f"{arguments}: status {result.returncode}")
        self.check(all(word in result.stderr for word in words), f"{arguments}: {result.stderr}")

    def check_facts(self, results, machine_clock=False):
        for name in ("device", "driver", "cuda", "cpu", "date", "commit", "backend", "clock", "suite", "sm_clock", "memory_clock"):
            self.check(results.get(name), f"the file has no {name}")
        self.check_limits(results["limits"])
        real = self.on_device or machine_clock
        self.check(results["clock"] == ("real" if real else "modelled"), f"clock {results['clock']}")
        for case in results["cases"]:
            spread = [case[f"{name}_ms"] for name in ("min", "q1", "median", "q3", "max")]
            self.check(0 <= spread[0] and spread == sorted(spread) and case["runs"] > 0, f"{case}")
            if "share" in case:
                self.check(math.isclose(case["share"] * case["median_ms"], case["limit_ms"], rel_tol=1e-6), f"{case}")

    def check_limits(self, limits):
        """Both directions together are at least one of them, and at most both; the device's own memory is faster."""
        there, home, both, copy = (limits[f"{name}_gb_per_s"] for name in ("to_device", "to_host", "both", "device_copy"))
        self.check(0 < max(there, home) <= 1.05 * both <= 1.1 * (there + home) and copy > both, f"{limits}")
        self.check(("pinned" in limits["source"]) == self.on_device, f"{limits}")


def figure(results, text):
    return next(entry["figure"] for entry in results["checks"] if entry["check"] == text)


def main(check):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sys.argv[1], folder)
        info = bench.run("info")
        if bench.on_device and info.returncode == 1:
            print("skipped:", info.stderr.strip())
            sys.exit(77)
        check(bench)
    print(bench.checks, "checks,", bench.failures, "failed")
    sys.exit(1 if bench.failures else 0)
