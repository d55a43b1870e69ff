"""PyTorch and ferry on one memory, and PyTorch's tensors allocated by ferry."""
import numpy as np

import ferry
from harness import MIB, Case, main, needs, run_python

torch = needs("torch")

ALLOCATED = """
import numpy as np, torch, ferry
torch.cuda.memory.change_current_allocator(ferry.torch_allocator())
t = torch.arange(1 << 20, dtype=torch.float64, device="cuda")
t += 1
torch.cuda.synchronize()
v = ferry.from_dlpack(t)
assert v.ctypes.data == t.data_ptr()
assert v.place == "device", v.place
np.testing.assert_array_equal(v, np.arange(1 << 20) + 1.0)
v[:] = 5.0
assert float(t.sum()) == 5.0 * (1 << 20)
for n in range(200):
    u = torch.full((1000 * n + 1,), float(n), device="cuda") * 2
    assert float(u[-1]) == 2 * n
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    for n in range(50):
        u = torch.ones(1 << 20, device="cuda") * n
        del u
torch.cuda.synchronize()
print("ok")
"""


class Torch(Case):
    def test_as_tensor_is_the_same_memory(self):
        v = ferry.arange(1.0 * MIB)
        t = torch.as_tensor(v, device="cuda")
        self.assertEqual(t.data_ptr(), v.ctypes.data)
        self.assertEqual(t.device.type, "cuda")
        t.mul_(2)
        torch.cuda.synchronize()
        np.testing.assert_array_equal(v, 2 * np.arange(1.0 * MIB))

    def test_plain_cuda_by_dlpack(self):
        v = ferry.arange(1.0 * MIB)
        t = torch.from_dlpack(v.cuda())
        self.assertEqual(t.data_ptr(), v.ctypes.data)
        self.assertEqual(v.place, "device")
        self.assertEqual(float(t[-1]), MIB - 1)
        t.add_(1)
        torch.cuda.synchronize()
        np.testing.assert_array_equal(v, np.arange(1.0 * MIB) + 1)
        self.assertEqual(ferry.from_dlpack(t).ctypes.data, v.ctypes.data)

    def test_on_the_cpu(self):
        v = ferry.arange(10.0)
        self.assertEqual(torch.from_numpy(v).data_ptr(), v.ctypes.data)

    def test_allocator(self):
        # It can be changed only before the device is used.
        done = run_python("-c", ALLOCATED)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "ok"), done.stderr)


if __name__ == "__main__":
    main()
