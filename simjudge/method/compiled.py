"""The compiled loops as a whole: whether an earlier run left them, and what loading them need not bring along.

The first run on a machine compiles them, which takes a while. NumPy does the same for small sets until then.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from simjudge.method.loop_choice import FEW_CONTEXTS, use_numpy_loops
from simjudge.method.similarity_join import _join_rows

_ASKS_FOR_BLAS = "numba.np.arraymath"
_BLAS = "scipy.linalg.cython_blas"


def is_compiled() -> bool:
    """Whether an earlier run left the compiled join in numba's cache (its folder moves with NUMBA_CACHE_DIR)."""
    # Where numba keeps the cache is not public: without it, nothing is claimed.
    compiled = getattr(_join_rows, "__wrapped__", None)
    cache = getattr(getattr(compiled, "_cache", None), "cache_path", None)
    return cache is None or any(Path(cache).glob("similarity_join._join_rows*.nbi"))


def choose_loops(contexts: int | None = None) -> bool:
    """Load the compiled loops, or let NumPy do the work where compiling would take longer.

    Args:
        contexts: of both sets, of one comparison; None where they are compared many times.

    Returns:
        Whether the loops are about to be compiled.
    """
    _forgo_blas()
    missing, few = not is_compiled(), contexts is not None and contexts <= FEW_CONTEXTS
    use_numpy_loops(missing and few)
    return missing and not few


def _forgo_blas() -> None:
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
