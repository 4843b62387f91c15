"""Arrays by what they hold: the names that signatures of all rooms use."""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

# What NumPy raises for bytes that are no .npy or .npz file.
NO_ARRAYS = (
    ValueError,
    TypeError,
    OSError,
    LookupError,
    EOFError,
    NotImplementedError,
    MemoryError,
    AttributeError,
    OverflowError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
