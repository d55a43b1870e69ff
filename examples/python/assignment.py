"""view_host[:] = data_np: every assignment of NumPy's, with slices, broadcasting and casts, and no copy beside it."""
import numpy as np

import ferry
from proof import prove


def assign(view: np.ndarray, data: np.ndarray) -> None:
    view[:] = data                              # all of it, from an ordinary array
    view[2:5, ::-1] = 3                         # a number, through a reversed slice
    view[10:20] = data[0]                       # a row, broadcast over ten others
    view[:, 7] = np.arange(len(view))           # a column of integers, cast
    view[data < 0.001] = 0                      # through a mask
    view[[30, 32, 34], :100] += view[40, 100:200]  # through a list of indices, from a part of its own


ferry.install(length=0)  # every loop over ferry memory is launched, so that the simulator shows what a device would do
data = np.random.default_rng(2).random((1024, 1024))
view, plain = ferry.empty(data.shape, "f4"), np.empty(data.shape, "f4")
before = ferry.stats()["live_bytes"]
assign(view, data)
assign(plain, data)
taken = ferry.stats()["live_bytes"] - before

with ferry.crossings() as c:
    root = np.sqrt(view)

prove(("elements unlike NumPy's", int(np.count_nonzero(view != plain)), 0),
      ("bytes that assigning left allocated", taken, 0),
      ("roots unlike NumPy's", int(np.count_nonzero(np.abs(root - np.sqrt(plain)) > 1e-6 * root)), 0),
      ("bytes to the device", c.to_device, view.nbytes),
      ("redundant bytes", c.redundant, 0))
