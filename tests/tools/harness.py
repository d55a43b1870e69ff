"""Runs the command in an empty folder and reports what does not hold. Exit status: 0 passed, 1 failed, 77 skipped."""
import io
import os
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

NUMPY_VERSION = tuple(int(part) for part in re.findall(r"\d+", np.__version__)[:2])


def saved(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


class Tool:
    """The command, and a folder that holds nothing but what a check has put there."""

    def __init__(self, program, folder, seed):
        self.program, self.folder, self.seed = os.path.abspath(program), folder, seed
        self.on_device = os.environ.get("FERRY_BACKEND") == "cuda"
        self.failures = self.checks = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        """An array as numpy.save writes it, or bytes."""
        with open(self.path(name), "wb") as stream:
            stream.write(content if isinstance(content, bytes) else saved(content))
        return name

    def read(self, name):
        with open(self.path(name), "rb") as stream:
            return stream.read()

    def clear(self):
        for name in os.listdir(self.folder):
            os.unlink(self.path(name)) if not os.path.isdir(self.path(name)) else os.rmdir(self.path(name))

    def run(self, *arguments, program=None, environment=None, binary=False, **options):
        """The command, or another program that is to be run like it."""
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([program or self.program, *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, **(environment or {})}, text=None if binary else True,
                              errors=None if binary else "replace", **options)

    def check(self, holds, message):
        self.checks += 1
        if not holds:
            self.failures += 1
            if self.failures <= 20:
                print("FAILED:", message)
        return holds

    def apply(self, *arguments, **options):
        """A run that must succeed in silence."""
        result = self.run("apply", *arguments, **options)
        self.check(result.returncode == 0 and not result.stderr, f"{arguments}: {result.returncode} {result.stderr}")
        return result


def main(check):
    seed = int(os.environ.get("FERRY_TEST_SEED") or "2024", 0)
    print(f"FERRY_TEST_SEED={seed} NumPy {np.__version__}")
    random.seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(sys.argv[1], folder, seed)
        info = tool.run("info")
        if os.environ.get("FERRY_BACKEND") == "cuda" and info.returncode == 1:
            print("skipped:", info.stderr.strip())
            sys.exit(77)
        check(tool)
        tool.clear()
    print(tool.checks, "checks,", tool.failures, "failed")
    sys.exit(1 if tool.failures else 0)
