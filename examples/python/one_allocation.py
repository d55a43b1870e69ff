"""An extra host allocation per view: there is one allocation, whoever uses the view, and from wherever."""
import numpy as np

import ferry
from proof import prove

ferry.install(length=0)  # every loop over ferry memory is launched, so that the simulator shows what a device would do
N = 1 << 20


def live() -> int:
    return ferry.stats()["live_bytes"]


before = live()
x = np.random.default_rng(4).random(N)
born = live() - before

views = [x[::2], x.reshape(1024, 1024).T, x[::-1], ferry.asarray(x), memoryview(x)]
viewed = live() - before

with ferry.crossings() as c:
    np.negative(x, out=x)  # a kernel writes it
    last = float(x[-1])    # the host reads it
used = live() - before
prove(("bytes allocated when x is born", born, N * x.itemsize),
      (f"and with {len(views)} views of it", viewed, N * x.itemsize),
      ("and after a kernel and the host", used, N * x.itemsize),
      ("kernels launched", c.launches, 1),
      ("the host read what the kernel wrote", last < 0, True),
      ("bytes to the device", c.to_device, x.nbytes),
      ("redundant bytes", c.redundant, 0))
del x, views
