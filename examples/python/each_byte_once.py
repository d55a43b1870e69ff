"""Double transfers in both directions: two ufuncs over one array and a read by the host: each byte crosses once."""
import math
import os

os.environ.setdefault("FERRY_SIM_TOUCH", "mprotect")  # the simulator is to notice what the host reads by itself
import numpy as np  # noqa: E402

import ferry  # noqa: E402
from proof import prove  # noqa: E402

ferry.install(length=0)  # every loop over ferry memory is launched, so that the simulator shows what a device would do

x = np.random.default_rng(5).random(1 << 20)
with ferry.policy("prefetch"), ferry.crossings(measured=True) as c:
    y = np.sin(x)                    # x goes to the device
    z = np.multiply(y, x)            # x and y are there; z is made there
    last = z.tolist()[-1]            # z comes home; y, which nobody reads, does not

with ferry.policy("prefetch"), ferry.crossings(measured=True) as again:
    z.tolist()                       # z is at home
    np.sin(x)                        # x, which nobody has written, is still on the device

prove(("kernels launched", c.launches, 2),
      ("the last product is right", math.isclose(last, math.sin(x[-1]) * x[-1]), True),
      ("bytes to the device", c.to_device, x.nbytes),
      ("bytes to the host", c.to_host, z.nbytes),
      ("redundant bytes", c.redundant, 0),
      ("bytes that cross when both look again", again.to_device + again.to_host, 0))
