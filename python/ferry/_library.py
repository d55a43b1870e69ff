"""The C library under the package."""
from typing import Dict

import numpy as np

from . import _ferry


def library_path() -> str:
    """The file of the shared library, for ctypes and for others who load it themselves."""
    return _ferry.library_path()


def owns(array: np.ndarray) -> bool:
    """Whether the array's first element lies in ferry memory. TypeError for what is no array."""
    return _ferry.owns(array)


def trim() -> None:
    """Gives back to the system what is kept for reuse: recycled blocks, and regions that are wholly free."""
    _ferry.trim()


def calibrate(device: int = 0) -> Dict[str, float]:
    """Measures what crossing to the device costs, and keeps it for later processes. The device should be idle.

    Nanoseconds by name, as ferry/link.h explains them. ValueError for a device that is not there.
    """
    return _ferry.link_costs(device, True)
