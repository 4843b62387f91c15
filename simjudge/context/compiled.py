"""Whether the compiled loops are there already: the first run on a machine compiles them, which takes a while."""

from __future__ import annotations

from pathlib import Path

from simjudge.context.similarity_join import _fill_levels


def is_compiled() -> bool:
    """Whether an earlier run left the compiled join in numba's cache (its folder moves with NUMBA_CACHE_DIR)."""
    # Where numba keeps the cache is not public: without it, nothing is claimed.
    cache = getattr(getattr(_fill_levels, "_cache", None), "cache_path", None)
    return cache is None or any(Path(cache).glob("similarity_join._fill_levels*.nbi"))
