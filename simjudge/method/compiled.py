"""The compiled loops as a whole: whether an earlier run left them, and what loading them need not bring along.

The first run on a machine compiles them, which takes a while.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from simjudge.method.similarity_join import _join_rows

_ASKS_FOR_BLAS = "numba.np.arraymath"
_BLAS = "scipy.linalg.cython_blas"


def is_compiled() -> bool:
    """Whether an earlier run left the compiled join in numba's cache (its folder moves with NUMBA_CACHE_DIR)."""
    # Where numba keeps the cache is not public: without it, nothing is claimed.
    cache = getattr(getattr(_join_rows, "_cache", None), "cache_path", None)
    return cache is None or any(Path(cache).glob("similarity_join._join_rows*.nbi"))


def forgo_blas() -> None:
    """Keep numba from importing scipy.linalg, which takes as long as comparing 1,400 contexts with 1,400.

    numba looks for BLAS when it loads the first compiled loop of a process, for loops that multiply matrices. None here
    does. SciPy stays usable.
    """
    if _ASKS_FOR_BLAS not in sys.modules and _BLAS not in sys.modules:
        # So Python marks what cannot be imported.
        sys.modules[_BLAS] = None  # type: ignore[assignment]
        try:
            import_module(_ASKS_FOR_BLAS)
        finally:
            del sys.modules[_BLAS]
