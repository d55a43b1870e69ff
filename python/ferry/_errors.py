"""Floating-point exceptions of calls that ferry computed, reported as NumPy reports those of its own."""
import sys
import warnings
from typing import Any, Dict

import numpy as np

# NumPy's order, names and words; the bits are its NPY_FPE_ values.
_EXCEPTIONS = (
    (1, "divide", "divide by zero"),
    (2, "over", "overflow"),
    (4, "under", "underflow"),
    (8, "invalid", "invalid value"),
)


def _report(how: str, text: str, exceptions: int) -> None:
    called: Any = np.geterrcall()
    if how == "warn":
        # Of the line that called the ufunc: past this function, its caller and report().
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    elif how == "raise":
        raise FloatingPointError(text)
    elif how == "print":
        print("Warning:", text, file=sys.stderr)
    elif how == "call":
        called(text.split(" encountered")[0], exceptions)
    elif how == "log":
        called.write(f"Warning: {text}\n")


def report(ufunc: str, exceptions: int) -> None:
    """Does with each exception what np.errstate says. FloatingPointError where it says "raise"."""
    state: Dict[str, Any] = {**np.geterr()}
    for bit, name, words in _EXCEPTIONS:
        if exceptions & bit and state[name] != "ignore":
            _report(state[name], f"{words} encountered in {ufunc}", exceptions)
