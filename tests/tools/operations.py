"""Every operation on files that NumPy wrote, in every layout, against NumPy itself."""
import io
import os
import random
import re

import harness
import numpy as np
import ulp

TOLERANCE = {2: 1, 4: 4, 8: 2}  # units in the last place, by item size
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.5, 1.0, -1.0]
LAYOUTS = {
    "C": lambda make: make((5, 7, 3)),
    "Fortran": lambda make: np.asfortranarray(make((5, 7, 3))),
    "big-endian": lambda make: foreign(make((11, 4))),
    "0-d": lambda make: make(()),
    "empty": lambda make: make((3, 0, 2)),
    "8-d": lambda make: make((2, 1, 3, 2, 1, 2, 2, 3)),
    "1-d": lambda make: make((1000,)),
}
ROUNDING = {"floor", "ceil", "trunc"}


def foreign(array):
    return array.astype(array.dtype.newbyteorder(">"))


def operations(tool):
    """Name, arity and types of each, as the command lists them."""
    lines = tool.run("apply", "--list").stdout.splitlines()[1:]
    for line in lines:
        name, arity, *types = re.sub("->.*?(?= |$)", "", line.split(" -> ")[0]).split()
        yield name, int(arity), types


def values(generator, dtype, shape, second):
    dtype = np.dtype(dtype)
    n = int(np.prod(shape))
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":  # neither overflowing powers nor divisions by zero: those are the kernels' own tests' business
        low = -7 if dtype.kind == "i" and not second else 1
        array = generator.integers(low, 8, shape)
        return np.where(array == 0, 3, array).astype(dtype).reshape(shape)
    array = generator.uniform(0.05, 4.0, n).astype(dtype)
    if n >= 2 * len(SPECIAL):
        array[generator.choice(n, len(SPECIAL), replace=False)] = SPECIAL
    return array.reshape(shape)


def header(content):
    return content[: 10 + int.from_bytes(content[8:10], "little")]


def agrees(content, want, exact):
    """Near NumPy's answer, or near the true one: NumPy 1.24's own sine of a float64 is off by three units."""
    if content == harness.saved(want):
        return True
    got = np.load(io.BytesIO(content))
    if header(content) != header(harness.saved(want)) or got.dtype.kind != "f":
        return False
    tolerance = TOLERANCE[got.dtype.itemsize]
    if ulp.distance(got, np.asarray(want)) <= tolerance:
        return True
    with np.errstate(all="ignore"):
        true = np.asarray(exact()).astype(got.dtype)
    return ulp.distance(got, true) <= tolerance


def in_long_double(name, inputs):
    return getattr(np, name)(*(x.astype(np.longdouble) for x in inputs))


def types_for(name, types):
    """Those that this NumPy knows too: its rounding of integers was by way of float64 before 2.1."""
    if name in ROUNDING and harness.NUMPY_VERSION < (2, 1):
        return [t for t in types if t.startswith("float")]
    return types


def check_operation(tool, generator, name, arity, types):
    cycle = random.sample(types, len(types))
    layouts = list(LAYOUTS.items())
    if tool.on_device:  # each run starts a device and compiles a kernel
        layouts = random.sample(layouts, 1)
    for i, (layout, arrange) in enumerate(layouts):
        dtype = cycle[i % len(cycle)]
        inputs = [arrange(lambda shape, k=k: values(generator, dtype, shape, k > 0)) for k in range(arity)]
        names = [tool.write(f"in{k}.npy", array) for k, array in enumerate(inputs)]
        with np.errstate(all="ignore"):
            want = getattr(np, name)(*inputs)
        tool.apply(name, *names, "-o", "out.npy")
        near = agrees(tool.read("out.npy"), want, lambda: in_long_double(name, inputs))
        tool.check(near, f"{name} of {layout} {dtype} differs from NumPy's")
        tool.check(sorted(os.listdir(tool.folder)) == sorted(names + ["out.npy"]), f"{name}: stray files")
        tool.clear()


def check(tool):
    generator = np.random.default_rng(tool.seed)
    listed = list(operations(tool))
    tool.check(len(listed) >= 57, f"{len(listed)} operations are listed")
    for name, arity, types in listed:
        tool.check(arity == getattr(np, name).nin, f"{name}: arity {arity}")
        check_operation(tool, generator, name, arity, types_for(name, types))


harness.main(check)
