"""Search for the least value of a noisy function by CMA-ES (Hansen, arXiv 1604.00772), ask-tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.progress import ProgressBar

_FIRST_STEP = 1.0
"""Standard deviation with which the search begins."""
_POPULATION = 8


def search_minimum(
    objective: Callable[[FloatArray], float], start: FloatArray, evaluations: int, seed: int, words: str,
    progress: ProgressBar,
) -> tuple[FloatArray, list[float]]:  # fmt: skip
    """The best of what CMA-ES tries, and all values; the start is tried first. A seed tries the same points.

    Args:
        objective: of P coordinates, in units in which a step of 1 is about equally large for all.
        start: (P,).
        evaluations: values of the objective at most; below a population the start is kept.

    Returns:
        Coordinates (P,) and the values in the order in which they were tried.
    """
    best, value = start, objective(start)
    course = [value]
    if evaluations < _POPULATION or len(start) == 0:
        return best, course
    try:
        import cma  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise SimjudgeError("a fit needs cma: pip install 'simjudge[fit]'; --evaluations 0 does without") from error
    options = {"seed": seed + 1, "popsize": _POPULATION, "maxfevals": evaluations, "verbose": -9}
    strategy: Any = cma.CMAEvolutionStrategy(list(start), _FIRST_STEP, options)
    with progress(words) as advance:
        while not strategy.stop() and len(course) < evaluations:
            asked = strategy.ask()
            values = [objective(np.asarray(each)) for each in asked]
            strategy.tell(asked, values)
            course += values
            least = int(np.argmin(values))
            if values[least] < value:
                best, value = np.asarray(asked[least]), values[least]
            advance(min(len(course), evaluations), evaluations)
    return best, course
