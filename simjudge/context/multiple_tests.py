"""Several tests at once: of twenty comparisons that do not differ, one has p <= 0.05 by chance.

Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p values for their number (Holm 1979).

    The chance that any adjusted value is at or below a level, where no comparison differs, is at most that level,
    however the comparisons depend on each other.

    Args:
        p_values: of the comparisons; None for one that was not tested, which does not count.

    Returns:
        The adjusted p values in the same order, each at most 1; None where none was given.
    """
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    largest, out = 0.0, list(p_values)
    for place, (p, i) in enumerate(known):
        largest = min(1.0, max(largest, (len(known) - place) * p))
        out[i] = largest
    return out
