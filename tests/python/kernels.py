"""Kernels from a string: what is read from the source, what an argument may be, and functions in their place."""
import numpy as np

import ferry
from ferry import _kernels
from harness import Case, main

SCALE = """
// scale: __global__ void wrong(int *y)
__global__ void scale(const float *__restrict__ x, float *y, float factor, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor * x[i];
}
"""


def scale_on_host(grid, block, x, y, factor, n):
    y[:n] = np.float32(factor) * x[:n]


class Source(Case):
    def parse(self, parameters):
        return _kernels._find_kernel(f"__global__ void f({parameters}) {{}}", None).parameters

    def test_parameters(self):
        for text, want in [
            ("const float *x", ("x", "float", True, True)), ("float const *x", ("x", "float", True, True)),
            ("float *const x", ("x", "float", True, False)),
            ("const float *const __restrict__ x", ("x", "float", True, True)),
            ("double x[]", ("x", "double", True, False)), ("const double x[16]", ("x", "double", True, True)),
            ("int n", ("n", "int", False, False)),
            ("const unsigned long long n", ("n", "unsigned long long", False, True)),
            ("size_t n", ("n", "size_t", False, False)), ("const std::int32_t n", ("n", "int32_t", False, True)),
            ("long unsigned int n", ("n", "unsigned long", False, False)), ("signed n", ("n", "int", False, False)),
            ("unsigned long long int n", ("n", "unsigned long long", False, False)),
            ("unsigned n", ("n", "unsigned", False, False)), ("unsigned int n", ("n", "unsigned", False, False)),
            ("int short n", ("n", "short", False, False)), ("signed char n", ("n", "signed char", False, False)),
            ("volatile int*p", ("p", "int", True, False)),
        ]:
            self.assertEqual(tuple(self.parse(text)[0]), want, text)
        self.assertEqual(self.parse(""), [])
        self.assertEqual(self.parse("void"), [])

    def test_kernels_are_found(self):
        found = _kernels._find_kernel(SCALE, None)
        self.assertEqual(found.name, "scale")
        self.assertIn('extern "C" __global__ void scale', found.source)
        two = '__global__ void a(int n) {}\nextern "C" __global__ void __launch_bounds__(128) b(float *x) {}'
        self.assertEqual(_kernels._find_kernel(two, "b").source, two)
        self.assertIn('extern "C" __global__ void a', _kernels._find_kernel(two, "a").source)
        inside = 'extern "C" {\n__global__ void a(int n) {}\n}'
        self.assertEqual(_kernels._find_kernel(inside, None).source, inside)
        declared = "__global__ void a(int n);\n__global__ void a(int n) {}"
        self.assertIn('\nextern "C" __global__ void a', _kernels._find_kernel(declared, None).source)
        for source, name in [("void f() {}", None), (two, None), (two, "c"), ("/* __global__ void f(int n) */", None)]:
            with self.assertRaises(ValueError):
                ferry.kernel(source, name)

    def test_accesses(self):
        parameters = self.parse("const float *x, float *y, int n, double *z")
        self.assertEqual(_kernels._find_accesses(parameters, None), [1, 3, 0, 3])
        self.assertEqual(_kernels._find_accesses(parameters, {"y": "w"}), [1, 2, 0, 3])
        self.assertEqual(_kernels._find_accesses(parameters, ["r", "w", "rw"]), [1, 2, 0, 3])
        for wrong in ({"n": "r"}, {"q": "r"}, {"y": "x"}, ["r"]):
            with self.assertRaises(ValueError):
                _kernels._find_accesses(parameters, wrong)


class Launches(Case):
    def setUp(self):
        self.scale = ferry.kernel(SCALE, passes=1, access={"y": "w"}, host=scale_on_host)
        self.x = ferry.arange(300000, dtype="f4")
        self.y = ferry.empty(300000, "f4")

    def check(self):
        np.testing.assert_array_equal(self.y, 2 * np.arange(300000, dtype="f4"))

    def test_both_ways_of_calling(self):
        self.scale((self.x.size + 255) // 256, 256, (self.x, self.y, 2.0, self.x.size))
        self.check()
        self.y[:] = 0
        self.scale[((self.x.size + 255) // 256,), (256, 1, 1)](self.x, self.y, np.float32(2), np.int64(self.x.size))
        self.check()
        self.assertIn("scale", repr(self.scale))

    def test_what_crosses(self):
        self.x[:] = np.arange(300000, dtype="f4")
        pages = -(-self.x.nbytes // 4096) * 4096
        with ferry.policy("prefetch"), ferry.crossings() as crossed:
            self.scale(1200, 256, (self.x, self.y, 2, self.x.size))
        self.assertEqual(crossed.to_device, pages)
        self.assertEqual((crossed.to_host, crossed.launches), (0, 1))
        self.assertEqual((self.x.place, self.y.place), ("device", "device"))
        self.check()

    def test_arguments(self):
        for error, arguments in [
            (TypeError, (self.x, self.y, 2)), (TypeError, (self.x, 5, 2.0, 1)),
            (ValueError, (self.x, np.ones(3), 2.0, 1)),
            (TypeError, (self.x, self.y, 1j, 1)), (TypeError, (self.x, self.y, 1.0, 2.5)),
            (ValueError, (self.x, self.y, 1.0, 1 << 63)), (TypeError, (self.x, self.y, self.x, 1)),
        ]:
            with self.assertRaises(error):
                self.scale(1, 1, arguments)
        for grid, block in [(0, 1), ((1, 1, 1, 1), 1), (1, -1), ((), 1)]:
            with self.assertRaises(ValueError):
                self.scale(grid, block, (self.x, self.y, 2.0, 1))
        frozen = self.y[:]
        frozen.flags.writeable = False
        with self.assertRaises(ValueError):
            self.scale(1, 1, (self.x, frozen, 2.0, 1))
        with self.assertRaises(TypeError):
            self.scale[1]

    def test_the_simulator_needs_a_function(self):
        if ferry.info()["backend"] != "sim":
            self.skipTest("the device has its own version")
        with self.assertRaisesRegex(RuntimeError, "scale has no version for the simulator"):
            ferry.kernel(SCALE)(1, 1, (self.x, self.y, 2.0, 1))

    def test_views_are_passed_by_their_first_element(self):
        self.scale(1200, 256, (self.x[10:], self.y[20:], 2.0, 100))
        np.testing.assert_array_equal(self.y[20:120], 2 * np.arange(10, 110, dtype="f4"))

    def test_asynchronous_launches(self):
        with ferry.stream():
            self.scale(1200, 256, (self.x, self.y, 2.0, self.x.size))
        self.check()


if __name__ == "__main__":
    main()
