#!/usr/bin/env python3
"""Every operation of `ferry apply` on files that NumPy wrote, against NumPy.

    apply_numpy.py FERRY OPS.def [--backend B] [--json FILE] [--jobs N] [--large]

For each operation and dtype one file (two for binary operations) of random and special values goes through the command,
and the result is compared: integers and bools exactly, floats in units in the last place (at most 2 for float64, 4 for
float32). Where NumPy has no such loop the command must refuse, with exit status 1 and no output. Then `log` on every
layout that a file can have. Exit status 1 when something differs.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib

import numpy as np

DTYPES = ["float32", "float64", "int32", "int64", "uint8", "bool"]
ULPS = {"float16": 1, "float32": 4, "float64": 2}
COUNT = 20011
# Which of two zeros of different sign these give is up to NumPy's vector instructions.
EITHER_ZERO = {"maximum", "minimum", "fmax", "fmin"}


def operations(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r'^FERRY_OP\(\w+, "(\w+)", (\d)\)', file.read(), re.M)


def special_floats(dtype):
    info = np.finfo(dtype)
    tiny = [info.tiny, info.smallest_subnormal, 3 * info.smallest_subnormal, info.max, info.eps]
    values = [0.0, 0.5, 1.0, 2.0, 3.0, np.pi, np.inf, *tiny]
    return np.array([np.nan, *values, *[-v for v in values]], dtype=dtype)


def special_integers(dtype):
    info = np.iinfo(dtype)
    return np.array(sorted({0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min // 2, max(-1, info.min)}), dtype=dtype)


def operand(rng, dtype, op, second):
    if dtype == "bool":
        return rng.integers(0, 2, COUNT).astype(bool)
    if dtype.startswith("float"):
        special = special_floats(dtype)
        values = (rng.normal(size=COUNT) * 10.0 ** rng.uniform(-3, 3, COUNT)).astype(dtype)
    else:
        info = np.iinfo(dtype)
        special = special_integers(dtype)
        values = rng.integers(info.min, info.max, COUNT, dtype=dtype, endpoint=True)
        if second and op in ("left_shift", "right_shift"):
            return rng.integers(0, info.bits + 3, COUNT).astype(dtype)
        if second and op == "power":
            return rng.integers(0, 9, COUNT).astype(dtype)
    # Every pair of special values, then random ones.
    n = len(special)
    pairs = np.tile(special, n) if second else np.repeat(special, n)
    values[: n * n] = pairs
    return values


def ulps(got, want):
    """Distances in units in the last place; NaN matches NaN, and zeros of both signs are told apart."""
    kind = {2: np.int16, 4: np.int32, 8: np.int64}[want.dtype.itemsize]
    bits = lambda a: a.view(kind).astype(np.int64)
    lowest = np.int64(np.iinfo(kind).min)
    order = lambda b: np.where(b < 0, lowest - b, b).astype(object) if kind == np.int64 else np.where(b < 0, lowest - b, b)
    same = (np.isnan(got) & np.isnan(want)) | (bits(got) == bits(want))
    distance = np.zeros(want.shape, dtype=object)
    where = ~same
    distance[where] = np.abs(order(bits(got[where])) - order(bits(want[where])))
    zeros = where & (got == 0) & (want == 0)
    distance[zeros] = 1 << 40
    return distance


def expected(op, inputs):
    """What NumPy gives, None where it has no such loop; floor, ceil and trunc of integers as since NumPy 2.1."""
    if op in ("floor", "ceil", "trunc") and inputs[0].dtype.kind != "f":
        return inputs[0].copy()
    try:
        with np.errstate(all="ignore"):
            return getattr(np, op)(*inputs)
    except TypeError:
        return None


def correctly_rounded(op, inputs, dtype):
    """From extended precision: NumPy's own vector loops are up to 4 units off."""
    with np.errstate(all="ignore"):
        return getattr(np, op)(*[x.astype(dtype).astype(np.longdouble) for x in inputs]).astype(dtype)


def cancelled(op, inputs, got, want):
    """logaddexp cancels near 0, where it is as good as its larger term: distances in units of that."""
    got, want = got.ravel(), want.ravel()
    larger = np.maximum(1, np.maximum(*(np.abs(x.ravel()) for x in inputs))).astype(want.dtype)
    with np.errstate(all="ignore"):
        return np.ceil(np.abs(got.astype(np.longdouble) - want) / np.spacing(larger))


def compare(op, inputs, got, want):
    """None when they agree, else a sentence; and the largest distance."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"gives {got.dtype}{got.shape}, not {want.dtype}{want.shape}", None
    if want.dtype.kind != "f":
        wrong = int(np.count_nonzero(got != want))
        return (f"{wrong} elements differ" if wrong else None), 0
    if op in EITHER_ZERO:
        got, want = got + 0.0, want + 0.0
    distance = ulps(np.ascontiguousarray(got), np.ascontiguousarray(want)).ravel()
    far = distance > ULPS[want.dtype.name]
    if far.any():
        exact = correctly_rounded(op, [x.ravel()[far] for x in inputs], want.dtype)
        distance[far] = np.minimum(distance[far], ulps(np.ascontiguousarray(got).ravel()[far], exact))
    far = distance > ULPS[want.dtype.name]
    if far.any() and op.startswith("logaddexp"):
        near = cancelled(op, [x.ravel()[far] for x in inputs], got.ravel()[far], want.ravel()[far])
        distance[far] = np.where(np.isfinite(near), near, distance[far])
    worst = int(max(distance, default=0))
    if worst <= ULPS[want.dtype.name]:
        return None, worst
    i = int(np.argmax(distance))
    return f"element {i} is {got.ravel()[i]!r}, not {want.ravel()[i]!r}", worst


def apply(options, op, paths, out):
    command = [options.ferry, "apply", op, *paths, "-o", out, "--backend", options.backend, "--report=json"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "did not end in time")


def refused(done, out):
    if done.returncode != 1 or os.path.exists(out):
        return f"NumPy refuses; exit status {done.returncode}, output {'there' if os.path.exists(out) else 'not there'}"
    return None


def check_operation(options, folder, op, arity, dtype):
    rng = np.random.default_rng([options.seed, zlib.crc32(f"{op} {dtype}".encode())])
    inputs = [operand(rng, dtype, op, second) for second in range(arity)]
    paths = [os.path.join(folder, f"{op}-{dtype}-{i}.npy") for i in range(arity)]
    out = os.path.join(folder, f"{op}-{dtype}-out.npy")
    for path, array in zip(paths, inputs):
        np.save(path, array)
    want = expected(op, inputs)
    done = apply(options, op, paths, out)
    worst = None
    if want is None:
        problem = refused(done, out)
    elif done.returncode:
        problem = done.stderr.strip() or f"exit status {done.returncode}"
    else:
        problem, worst = compare(op, inputs, np.load(out), want)
    for path in [*paths, out]:
        if os.path.exists(path):
            os.remove(path)
    return {"case": op, "dtype": dtype, "ulps": worst, "refused": want is None, "problem": problem}


def layouts(large):
    x = np.linspace(1, 100, 27720)
    yield "c order", x.reshape(12, 2310)
    yield "fortran order", np.asfortranarray(x.reshape(12, 2310))
    yield "big-endian", x.astype(">f8")
    yield "0-d", np.array(2.5)
    yield "empty", np.zeros((3, 0, 2))
    yield "8-d", x[:6561].reshape((3,) * 8)
    yield "float16", x.astype("f2")
    if large:
        yield "1-d of 100,000,000", np.arange(1, 100_000_001, dtype="f8")


def check_layout(options, folder, name, array):
    path, out = os.path.join(folder, "layout.npy"), os.path.join(folder, "layout-out.npy")
    np.save(path, array)
    done = apply(options, "log", [path], out)
    result = {"case": f"log of {name}", "dtype": str(array.dtype), "ulps": None, "refused": False}
    if done.returncode:
        return {**result, "problem": done.stderr.strip() or f"exit status {done.returncode}"}
    got, native = np.load(out), array.astype(array.dtype.newbyteorder("="))
    report = {k: v for k, v in json.loads(done.stdout).items() if k not in ("inputs", "output")}
    if array.size > 1_000_000:  # sampled: the distances are computed in Python's integers
        got, native = got[::997], native[::997]
    problem, worst = compare("log", [native], got, np.log(native))
    return {**result, "ulps": worst, "problem": problem, "report": report}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferry")
    parser.add_argument("ops")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--json")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--large", action="store_true")
    return parser.parse_args()


def main():
    options = arguments()
    results = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [
            pool.submit(check_operation, options, folder, op, int(arity), dtype)
            for op, arity in operations(options.ops)
            for dtype in DTYPES
        ]
        results += [job.result() for job in jobs]
        results += [check_layout(options, folder, name, array) for name, array in layouts(options.large)]
    wrong = [r for r in results if r["problem"]]
    for r in wrong:
        print(f"{r['case']} {r['dtype']}: {r['problem']} (ulps: {r['ulps']})")
    for dtype in ("float32", "float64"):
        print(f"{dtype}: at most {max((r['ulps'] or 0 for r in results if r['dtype'] == dtype), default=0)} ulps")
    print(f"{len(results)} cases against NumPy {np.__version__}, {len(wrong)} wrong")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"numpy": np.__version__, "backend": options.backend, "wrong": len(wrong), "cases": results}, file, indent=1)
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
