"""Where two sets differ: the mean difference of each kind of contexts, tested over all kinds (method, section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.method.certainty import interval_width, p_value
from simjudge.method.kinds import KindSums
from simjudge.method.multiple_tests import step_down
from simjudge.method.verdicts import FEWEST_UNITS, SIGNIFICANCE

FEWEST_CONTEXTS = 20
"""Of a kind that is tested: of fewer, no difference would be shown."""


@dataclass(frozen=True)
class KindDifference:
    """One kind of contexts.

    Attributes:
        kind: such as "under 24 px high, on the left".
        parts: 1, or 2 where it is what two kinds have in common; 0 for all contexts.
        contexts: how many compared contexts of A are of it.
        performance_a, performance_b: means over them of the mean performance of A_c and of B_c.
        low, high: the 95 % interval of the difference.
        p: corrected over all kinds that were tested; of all contexts, its own.
    """

    kind: str
    parts: int
    contexts: int
    performance_a: float
    performance_b: float
    low: float
    high: float
    p: float

    @property
    def difference(self) -> float:
        """Mean performance in B less that in A."""
        return self.performance_b - self.performance_a

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> KindDifference:
        """Read an entry of a result file."""
        return cls(**{name: content[name] for name in cls.__dataclass_fields__})

    def to_json(self) -> dict[str, Any]:
        """An entry of a result file."""
        return dict(vars(self))


@dataclass(frozen=True)
class KindDifferences:
    """All kinds of contexts of a comparison.

    Attributes:
        tested: how many kinds were tested together.
        everywhere: all contexts.
        kinds: the single kinds, and the pairs that stand out: the most certain first, then the largest.
    """

    tested: int
    everywhere: KindDifference
    kinds: tuple[KindDifference, ...]

    @property
    def outstanding(self) -> list[KindDifference]:
        """The kinds that differ beyond chance, the largest difference first."""
        found = [each for each in self.kinds if each.p <= SIGNIFICANCE]
        return sorted(found, key=lambda each: -abs(each.difference))

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> KindDifferences:
        """Read what a result file says."""
        kinds = tuple(KindDifference.from_json(each) for each in content["kinds"])
        return cls(int(content["tested"]), KindDifference.from_json(content["everywhere"]), kinds)

    def to_json(self) -> dict[str, Any]:
        """What a result file says."""
        return {
            "tested": self.tested,
            "everywhere": self.everywhere.to_json(),
            "kinds": [each.to_json() for each in self.kinds],
        }


@dataclass(frozen=True)
class KindNames:
    """What K kinds are called; the first is all contexts.

    Attributes:
        names: of each.
        parents: the two kinds that each is common to; empty of single kinds.
    """

    names: Sequence[str]
    parents: Sequence[tuple[int, ...]]


def kind_differences(
    sums: KindSums, chance: FloatArray, noise: FloatArray, names: KindNames
) -> KindDifferences | None:
    """Test all kinds together: p is from the largest studentized difference of the draws, step by step.

    The draws are taken around the mean of both sides of a batch for p, and around that of each side for the interval.

    Args:
        sums: over the contexts of each kind, the first of which is all contexts.
        chance, noise: (K, draws), see `KindSums.drawn`.

    Returns:
        None where nothing carries draws.
    """
    if not sums.contexts[0] or not chance.shape[1]:
        return None
    mean, chance = sums.performance / np.maximum(sums.contexts, 1)[:, np.newaxis], np.abs(chance)
    difference, least = mean[:, 1] - mean[:, 0], sums.units.min(1)
    width = noise.std(1) * np.array([interval_width(max(1, int(each) - 1)) for each in least])
    enough = (sums.contexts >= FEWEST_CONTEXTS) & (least >= FEWEST_UNITS) & (chance.max(1) > 0)
    tested = [k for k in range(1, len(mean)) if enough[k]]
    p = dict(zip(tested, step_down(np.abs(difference[tested]).tolist(), list(chance[tested])), strict=True))
    p[0] = p_value(abs(float(difference[0])), chance[0])

    def made(k: int) -> KindDifference:
        a, b = (float(value) for value in mean[k])
        low, high = max(-1.0, b - a - float(width[k])), min(1.0, b - a + float(width[k]))
        parts = 0 if k == 0 else max(1, len(names.parents[k]))
        return KindDifference(names.names[k], parts, int(sums.contexts[k]), a, b, low, high, p[k])

    shown = [k for k in tested if not names.parents[k] or (p[k] <= SIGNIFICANCE and _adds(k, names, difference, width))]
    shown.sort(key=lambda k: (p[k], -abs(difference[k])))
    return KindDifferences(len(tested), made(0), tuple(made(k) for k in shown))


def _adds(k: int, names: KindNames, difference: FloatArray, width: FloatArray) -> bool:
    """Whether what two kinds have in common differs by more than either of them."""
    size, sign = abs(difference[k]), np.sign(difference[k])
    return all(size - width[k] > sign * difference[parent] for parent in names.parents[k])
