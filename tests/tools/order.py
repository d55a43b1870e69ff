"""Two inputs: broadcasting, mixed types, and the axis order of the result, all to the byte of what numpy.save writes."""
import random

import harness
import numpy as np


def operand(generator, shape, dtype):
    """The leading axes may be absent and any axis stretched; C or Fortran order."""
    own = [1 if random.random() < 0.25 else n for n in shape[random.choice([0, 0, 0, 1, len(shape)]):]]
    array = generator.integers(-100, 100, own).astype(dtype)
    return np.asarray(array, order=random.choice("CF"))


def random_pairs(tool, generator, rounds):
    for _ in range(rounds):
        shape = [random.randint(1, 6) for _ in range(random.randint(1, 5))]
        dtype = random.choice(["f8", "f4", "i4", "u1"])
        x, y = (operand(generator, shape, dtype) for _ in range(2))
        compare(tool, "add", x, y)


def compare(tool, name, *inputs):
    names = [tool.write(f"in{i}.npy", array) for i, array in enumerate(inputs)]
    tool.apply(name, *names, "-o", "out.npy")
    shapes = [(array.shape, array.dtype.str, "F" if array.flags.fnc else "C") for array in inputs]
    tool.check(tool.read("out.npy") == harness.saved(getattr(np, name)(*inputs)), f"{name} of {shapes} differs from NumPy's")


def mixed_types(tool, generator):
    types = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
    for first in random.sample(types, 4 if tool.on_device else len(types)):
        second = random.choice(types)
        x, y = (generator.integers(0, 2, (3, 4)).astype(dtype) for dtype in (first, second))
        compare(tool, "add", x, y)
        compare(tool, "divide", x, np.ones_like(y))


def same_file(tool):
    """A result may replace its input."""
    x = np.linspace(1, 2, 1000)
    tool.write("x.npy", x)
    tool.apply("add", "x.npy", "x.npy", "-o", "x.npy")
    tool.check(tool.read("x.npy") == harness.saved(x + x), "in place: the file differs")
    tool.apply("negative", "x.npy", "-o", "x.npy")
    tool.check(tool.read("x.npy") == harness.saved(-(x + x)), "in place again: the file differs")


def check(tool):
    generator = np.random.default_rng(tool.seed)
    random_pairs(tool, generator, 20 if tool.on_device else 120)
    mixed_types(tool, generator)
    same_file(tool)


harness.main(check)
