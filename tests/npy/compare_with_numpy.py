"""Files that NumPy wrote are loaded and saved again, whole or as a view, and compared byte for byte with numpy.save's."""
import io
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
from numpy.lib import format as npy_format

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [(), (0,), (1,), (7,), (3, 4), (4, 0, 2), (5, 1, 3), (2, 3, 4, 5), (2, 1, 2, 1, 2, 1, 2, 3), (1,) * 32]


def saved(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def native(array):
    """In native byte order, axes as they lie in memory."""
    return array.astype(array.dtype.newbyteorder("="), order="K")


class Comparison:
    def __init__(self, program, folder, seed):
        self.random = random.Random(seed)
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.bits = np.random.default_rng(seed)
        self.source, self.target = os.path.join(folder, "in.npy"), os.path.join(folder, "out.npy")
        self.count = 0

    def array(self, dtype, shape, order="C"):
        """Any bits at all, NaNs of all kinds among them, but bools are 0 and 1."""
        n = int(np.prod(shape, dtype=object))
        dtype = np.dtype(dtype)
        data = self.bits.integers(0, 2 if dtype.kind == "b" else 256, n * dtype.itemsize, dtype=np.uint8)
        return np.array(data.view(dtype).reshape(shape), order=order)

    def write(self, array, version=None):
        with open(self.source, "wb") as stream:
            npy_format.write_array(stream, array, version=version)

    def compare(self, expected, what, slices="", axes=""):
        self.process.stdin.write("\t".join((self.source, self.target, slices, axes)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        assert answer == "ok", f"{what}: {answer or 'the program ended'}"
        with open(self.target, "rb") as stream:
            got = stream.read()
        assert got == saved(expected), f"{what}: the file differs from numpy.save's: {got[:128]!r}"
        self.count += 1

    def whole_files(self):
        for dtype in DTYPES:
            for shape in SHAPES:
                for byte_order in "<>":
                    for order in "CF":
                        version = self.random.choice([(1, 0), (2, 0), (3, 0)])
                        array = self.array(np.dtype(dtype).newbyteorder(byte_order), shape, order)
                        self.write(array, version)
                        self.compare(native(array), f"{byte_order}{dtype} {shape} {order} {version}")

    def slice(self, extent):
        def end():
            return self.random.choice([None, self.random.randint(-extent - 2, extent + 2)])
        return slice(end(), end(), self.random.choice([None, 1, 1, 2, 3, -1, -1, -2]))

    def views(self, rounds):
        for _ in range(rounds):
            shape = tuple(self.random.randint(1, 9) for _ in range(self.random.randint(1, 5)))
            array = self.array(self.random.choice(DTYPES), shape, self.random.choice("CF"))
            slices = tuple(self.slice(n) for n in shape)
            axes = self.random.sample(range(len(shape)), len(shape))
            self.write(array)
            spelt = ",".join(":".join("" if x is None else str(x) for x in (s.start, s.stop, s.step)) for s in slices)
            self.compare(array[slices].transpose(axes), f"{shape} {slices} {axes}", spelt, ",".join(map(str, axes)))

    def large(self):
        """More than the reader's and the writer's pieces and the gathering buffer, with ragged ends."""
        for dtype in (">f8", "<f8", ">c8", "<i2"):
            array = self.array(dtype, (3, 1000003))
            self.write(array)
            self.compare(native(array), f"large {dtype}")
            self.compare(native(array)[::-1, ::2], f"large strided {dtype}", "::-1,::2")

    def trailing_bytes(self):
        """numpy.load reads the first of several arrays in a file."""
        array = self.array("f8", (5,))
        self.write(array)
        with open(self.source, "ab") as stream:
            np.save(stream, array)
        self.compare(array, "two arrays in a file")


def main():
    seed = int(os.environ.get("FERRY_TEST_SEED") or "2024", 0)
    print(f"FERRY_TEST_SEED={seed} NumPy {np.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(sys.argv[1], folder, seed)
        comparison.whole_files()
        comparison.views(250)
        comparison.large()
        comparison.trailing_bytes()
        comparison.process.stdin.close()
        assert comparison.process.wait() == 0
        assert sorted(os.listdir(folder)) == ["in.npy", "out.npy"], os.listdir(folder)
        print(comparison.count, "files are numpy.save's to the byte")


main()
