"""Numba's device arrays in ferry memory: NUMBA_CUDA_MEMORY_MANAGER=ferry.numba."""
from ._plugins import numba_emm

_numba_memory_manager = numba_emm()
