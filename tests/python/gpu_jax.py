"""JAX on ferry's memory, by DLPack."""
import numpy as np

import ferry
from harness import MIB, Case, main, needs

jax = needs("jax")
jax.config.update("jax_enable_x64", True)


class Jax(Case):
    def test_from_dlpack_is_the_same_memory(self):
        if jax.default_backend() != "gpu":
            self.skipTest("JAX has no GPU")
        v = ferry.arange(1.0 * MIB)
        j = jax.dlpack.from_dlpack(v.cuda())
        self.assertEqual(j.unsafe_buffer_pointer(), v.ctypes.data)
        self.assertEqual(float(j.sum()), float(np.arange(1.0 * MIB).sum()))
        back = ferry.from_dlpack(j)
        self.assertEqual(back.ctypes.data, v.ctypes.data)


if __name__ == "__main__":
    main()
