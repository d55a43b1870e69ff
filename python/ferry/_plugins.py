"""Ferry memory for other libraries' allocators. None of them is imported before it is asked for."""
from typing import Any, Dict, Optional

from . import _ferry


def _device_block(size: int, device: int, stream: int) -> Any:
    """(address, what frees it): memory that lives on the device, and that the host can read where it is."""
    return _ferry.device_block(size, device, stream)


def cupy_allocator(size: int) -> Any:
    """An allocator for CuPy: ``cupy.cuda.set_allocator(ferry.cupy_allocator)``.

    CuPy's arrays then live on their device in ferry memory, and ``ferry.from_dlpack(x)`` or ``ferry.asarray(x)`` is the
    same memory as a NumPy array. A block is recycled when the work has ended that was queued on the stream it was
    allocated on. ``size`` is in bytes; returns a ``cupy.cuda.MemoryPointer``. MemoryError where there is no room.
    """
    import cupy  # type: ignore[import-not-found, unused-ignore]
    device = cupy.cuda.Device().id
    address, block = _device_block(size, device, cupy.cuda.get_current_stream().ptr)
    return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(address, size, block, device), 0)


def torch_allocator() -> Any:
    """An allocator for PyTorch: ``torch.cuda.memory.change_current_allocator(ferry.torch_allocator())``, before PyTorch
    first uses the device.

    PyTorch's tensors then live on their device in ferry memory, and ``ferry.from_dlpack(t)`` is the same memory as a
    NumPy array. Returns a ``torch.cuda.memory.CUDAPluggableAllocator``.
    """
    import torch  # type: ignore[import-not-found, unused-ignore]
    return torch.cuda.memory.CUDAPluggableAllocator(_ferry.library_path(), "ferry_torch_malloc", "ferry_torch_free")


def _numba_manager() -> type:
    import ctypes

    from numba import cuda  # type: ignore[import-not-found, unused-ignore]

    class FerryMemoryManager(cuda.HostOnlyCUDAMemoryManager):  # type: ignore[misc, unused-ignore]
        """Numba's device arrays in ferry memory (its external memory management, version 1)."""

        interface_version = 1

        def memalloc(self, size: int) -> Any:
            address, block = _device_block(size, self.context.device.id, 0)
            blocks = self._ferry_blocks
            blocks[address] = block
            return cuda.MemoryPointer(self.context, ctypes.c_void_p(address), size,
                                      finalizer=lambda: blocks.pop(address, None))

        def initialize(self) -> None:
            super().initialize()
            if not hasattr(self, "_ferry_blocks"):
                self._ferry_blocks: Dict[int, Any] = {}

        def reset(self) -> None:
            super().reset()
            self._ferry_blocks.clear()

        def get_memory_info(self) -> Any:
            device = _ferry.devices()[self.context.device.id]
            return cuda.MemoryInfo(free=device["free_bytes"], total=device["total_bytes"])

        def get_ipc_handle(self, memory: Any) -> Any:
            raise NotImplementedError("managed memory cannot be shared between processes")

    return FerryMemoryManager


def numba_emm() -> type:
    """Numba's memory manager over ferry memory, a class: ``numba.cuda.set_memory_manager(ferry.numba_emm)``, before the
    device is first used; or NUMBA_CUDA_MEMORY_MANAGER=ferry.numba in the environment."""
    global _manager
    if _manager is None:
        _manager = _numba_manager()
    return _manager


_manager: Optional[type] = None
