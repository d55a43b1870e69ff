"""A hundred million elements."""
import json
import sys

import harness
import numpy as np

N = 100_000_000
PIECE = 10_000_000


def check(tool):
    x = np.lib.format.open_memmap(tool.path("x.npy"), mode="w+", dtype="f8", shape=(N,))
    for start in range(0, N, PIECE):
        x[start : start + PIECE] = np.arange(start + 1, start + PIECE + 1)
    x.flush()
    r = json.loads(tool.apply("sqrt", "x.npy", "-o", "y.npy", "--report=json").stdout)
    for name in ("bytes_to_device", "bytes_to_host"):
        tool.check(8 * N <= r[name] <= 8 * N + (2 << 20), f"{name}: {r[name]}")
    tool.check(r["redundant_bytes"] == 0, f"redundant: {r['redundant_bytes']}")
    y = np.load(tool.path("y.npy"), mmap_mode="r")
    tool.check(y.shape == (N,) and y.dtype == np.float64 and y.offset == 128, f"{y.shape} {y.dtype}")
    for start in range(0, N, PIECE):
        want = np.sqrt(np.arange(start + 1, start + PIECE + 1, dtype="f8"))
        if not tool.check(np.array_equal(y[start : start + PIECE], want), f"elements from {start} on differ"):
            sys.exit(1)


harness.main(check)
