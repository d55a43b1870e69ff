"""The libraries that peers.py compares, each as a Peer: whose arrays, which functions, how to and from the host's.

A library is imported when its peer is made; what it says when it cannot be used is why it is skipped.
"""
import contextlib
import importlib
import os
from typing import Any, ContextManager, Dict, List, Optional, Tuple, Type

import numpy as np

import ferry
from measuring import ordinary

# The card is shared by all of them.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# At most so much managed memory of anyone's but ferry's, which FERRY_LIMIT bounds.
MANAGED_BYTES = 1 << 30


class Functions:
    """Some functions by NumPy's names, then those of a module."""

    def __init__(self, module: Any, **own: Any) -> None:
        self.__dict__.update(own)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class Peer:
    """NumPy, whose arrays are the host's: the others say what differs."""
    name = "numpy"
    on_device = False

    def __init__(self) -> None:
        self.xp: Any = np

    def host_like(self, values: np.ndarray) -> np.ndarray:
        """An array of the user's, on the host, from which work begins."""
        return ordinary(values)

    def give(self, x: np.ndarray) -> Any:
        return x

    def take(self, result: Any) -> np.ndarray:
        return np.asarray(result)

    def wait(self, result: Any) -> None:
        """Until it has been computed."""

    def scope(self) -> ContextManager[Any]:
        """In force while it works."""
        return contextlib.nullcontext()


class Ferry(Peer):
    """Unmodified NumPy after ferry.install()."""
    name = "ferry"
    on_device = True

    def host_like(self, values: np.ndarray) -> np.ndarray:
        return values.copy()


class FerryArray(Ferry):
    name = "ferry.ndarray"

    def __init__(self) -> None:
        self.xp = Functions(np, empty=ferry.empty, zeros=ferry.zeros, arange=ferry.arange, array=ferry.array)

    def host_like(self, values: np.ndarray) -> np.ndarray:
        return ferry.array(values)


class CuPy(Peer):
    """Its default pool, and transfers from and to ordinary memory."""
    name = "cupy"
    on_device = True

    def __init__(self) -> None:
        self.xp = importlib.import_module("cupy")
        self.xp.cuda.runtime.getDeviceCount()

    def give(self, x: np.ndarray) -> Any:
        return self.xp.asarray(x)

    def take(self, result: Any) -> np.ndarray:
        return self.xp.asnumpy(result)

    def wait(self, result: Any) -> None:
        self.xp.cuda.Device().synchronize()


class CuPyPinned(CuPy):
    """The user's arrays, and those for results, are pinned once."""
    name = "cupy, pinned"

    def __init__(self) -> None:
        super().__init__()
        self.pinned = importlib.import_module("cupyx").empty_pinned
        self.results: Dict[Tuple[Any, Any], np.ndarray] = {}

    def host_like(self, values: np.ndarray) -> np.ndarray:
        array = self.pinned(values.shape, values.dtype)
        array[...] = values
        return array

    def take(self, result: Any) -> np.ndarray:
        key = result.shape, result.dtype
        if key not in self.results:
            self.results.clear()
            self.results[key] = self.pinned(*key)
        return result.get(out=self.results[key])


class CuPyManaged(CuPy):
    """Arrays in a pool of managed memory."""
    name = "cupy, managed"

    def __init__(self) -> None:
        super().__init__()
        self.pool = self.xp.cuda.MemoryPool(self.xp.cuda.malloc_managed)
        self.pool.set_limit(size=MANAGED_BYTES)

    def scope(self) -> ContextManager[Any]:
        return self.xp.cuda.using_allocator(self.pool.malloc)


class RMM(CuPy):
    """CuPy's functions, RMM's memory: a pool of the device's."""
    name = "rmm, pool"

    def __init__(self) -> None:
        super().__init__()
        self.resources = importlib.import_module("rmm.mr")
        self.allocator = importlib.import_module("rmm.allocators.cupy").rmm_cupy_allocator
        self.resource = self.made()

    def made(self) -> Any:
        return self.resources.PoolMemoryResource(self.resources.CudaMemoryResource(), initial_pool_size=MANAGED_BYTES,
                                                 maximum_pool_size=2 * MANAGED_BYTES)

    @contextlib.contextmanager
    def scope(self) -> Any:
        before = self.resources.get_current_device_resource()
        self.resources.set_current_device_resource(self.resource)
        try:
            with self.xp.cuda.using_allocator(self.allocator):
                yield
        finally:
            self.resources.set_current_device_resource(before)


class RMMManaged(RMM):
    name = "rmm, managed"

    def made(self) -> Any:
        return self.resources.PoolMemoryResource(self.resources.ManagedMemoryResource(),
                                                 initial_pool_size=MANAGED_BYTES // 2, maximum_pool_size=MANAGED_BYTES)


class RMMPrefetch(RMM):
    """Managed memory that is prefetched to the device when it is allocated."""
    name = "rmm, managed, prefetched"

    def made(self) -> Any:
        return self.resources.PrefetchResourceAdaptor(self.resources.ManagedMemoryResource())


class PyTorch(Peer):
    name = "pytorch"
    on_device = True

    def __init__(self) -> None:
        self.torch = torch = importlib.import_module("torch")
        if not torch.cuda.is_available():
            raise RuntimeError("it finds no device")
        how = {"dtype": torch.float64, "device": "cuda"}
        self.xp = Functions(
            torch, empty=lambda n: torch.empty(n, **how), zeros=lambda n: torch.zeros(n, **how),
            arange=lambda n: torch.arange(n, **how), array=lambda x: torch.tensor(x, **how))

    def give(self, x: np.ndarray) -> Any:
        return self.torch.from_numpy(x).cuda()

    def take(self, result: Any) -> np.ndarray:
        return result.cpu().numpy()

    def wait(self, result: Any) -> None:
        self.torch.cuda.synchronize()


class JAX(Peer):
    """Without a function compiled of many: each call by itself, as the others'."""
    name = "jax"
    on_device = True

    def __init__(self) -> None:
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        if self.jax.devices()[0].platform != "gpu":
            raise RuntimeError("it finds no device")
        self.xp = importlib.import_module("jax.numpy")

    def give(self, x: np.ndarray) -> Any:
        return self.jax.device_put(x)

    def take(self, result: Any) -> np.ndarray:
        return np.asarray(result)

    def wait(self, result: Any) -> None:
        result.block_until_ready()


class Numba(Peer):
    """Functions of one's own, as Numba is used: compiled from Python, one for each operation."""
    name = "numba"
    on_device = True

    def __init__(self) -> None:
        self.cuda = importlib.import_module("numba.cuda")
        if not self.cuda.is_available():
            raise RuntimeError("it finds no device")
        self.xp = importlib.import_module("peer_numba")

    def give(self, x: np.ndarray) -> Any:
        return self.cuda.to_device(x)

    def take(self, result: Any) -> np.ndarray:
        return result.copy_to_host() if hasattr(result, "copy_to_host") else np.asarray(result)

    def wait(self, result: Any) -> None:
        self.cuda.synchronize()


PEERS: List[Type[Peer]] = [Peer, Ferry, FerryArray, CuPy, CuPyPinned, CuPyManaged, RMM, RMMManaged, RMMPrefetch,
                           PyTorch, JAX, Numba]


def found(wanted: Optional[List[str]] = None) -> Tuple[List[Peer], Dict[str, str]]:
    """Those that can be used here, of those wanted, and why the others cannot."""
    peers, skipped = [], {}
    for make in PEERS:
        if wanted is not None and make.name not in wanted:
            continue
        try:
            peers.append(make())
        except Exception as error:  # noqa: B902: a package without its driver fails in its own way
            skipped[make.name] = f"{error}" or type(error).__name__
    return peers, skipped
