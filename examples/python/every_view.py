"""log of a view that is no whole array: every kernel takes every view, ferry's kernels and the user's own."""
import numpy as np

import ferry
from proof import prove

ferry.install(length=0)  # every loop over ferry memory is launched, so that the simulator shows what a device would do
SOURCE = """
__global__ void damp(const double *x, double *y, long long rows, long long columns, long long step) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < rows * columns) y[i] = exp(-x[i / columns * step + i % columns]);
}
"""


def damp_on_host(grid, block, x, y, rows, columns, step):  # what stands for the kernel on the simulator
    y[...] = np.exp(-x)


v = ferry.asarray(np.random.default_rng(3).random((1024, 1024)) + 1)
views = {"v[256:512]": v[256:512], "v[:, 1::2]": v[:, 1::2], "v.T": v.T, "v[::-1, ::-1]": v[::-1, ::-1],
         "v[5]": v[5], "v in 3 layers": np.broadcast_to(v, (3, *v.shape), subok=True)}
x, y = v[100:200, 256:768], ferry.empty((100, 512))
damp = ferry.kernel(SOURCE, access={"y": "w"}, host=damp_on_host)

with ferry.policy("prefetch"), ferry.crossings() as c:
    logarithms = {name: np.log(view) for name, view in views.items()}
    damp[200, 256](x, y, *x.shape, v.strides[0] // v.itemsize)

ferry.uninstall()  # NumPy's own loops check
errors = {name: np.abs(logarithms[name] - np.log(np.asarray(view))).max() for name, view in views.items()}
prove(*((f"log({name}) is NumPy's", bool(error < 1e-14), True) for name, error in errors.items()),
      ("the user's kernel on v[100:200, 256:768]", bool(np.allclose(y, np.exp(-x), 1e-14, 0)), True),
      ("kernels launched", c.launches, len(views) + 1),
      ("bytes to the device, for all views together", c.to_device, v.nbytes),
      ("redundant bytes", c.redundant, 0))
