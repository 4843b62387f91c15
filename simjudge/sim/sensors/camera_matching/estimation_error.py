"""How far the difference between two cameras, as it was estimated from some pictures, may be off.

Two ways tell it. The estimate on drawn pictures says how pictures spread it. The estimate on pictures whose cameras
differ by just what was found says by how much it errs where nothing spreads: levels are rounded, and searches stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from simjudge.core.images import RgbImage
from simjudge.core.progress import Advance
from simjudge.sim.sensors.camera.chain import apply_steps
from simjudge.sim.sensors.camera_matching.camera_difference import EXPONENTS, GAINS, SIZES, CameraDifference
from simjudge.sim.sensors.camera_matching.camera_estimation import estimate_difference

REFITS = 5
"""How often a difference is estimated anew on drawn pictures."""
_STREAM = 28


@dataclass(frozen=True)
class EstimationError:
    """What an estimate might have been.

    Attributes:
        corrected: the estimate, less by what it errs on pictures of a known difference.
    """

    refits: tuple[CameraDifference, ...]
    corrected: CameraDifference


def estimation_error(
    a: Sequence[RgbImage], b: Sequence[RgbImage], found: CameraDifference, *, paired: bool, seed: int,
    refits: int = REFITS, advance: Advance | None = None,
) -> EstimationError:  # fmt: skip
    """Estimate a difference again, on drawn pictures and on pictures for which it is known.

    Args:
        paired: whether pictures of one number show the same, so that they are drawn together.
    """
    random = np.random.default_rng([seed, _STREAM])
    drawn = []
    for number in range(refits):
        rows = random.integers(0, len(a), len(a))
        others = rows if paired and len(a) == len(b) else random.integers(0, len(b), len(b))
        drawn.append(estimate_difference([a[k] for k in rows], [b[k] for k in others], rounds=1, start=found))
        if advance is not None:
            advance(number + 1, refits + 1)
    known = [
        [apply_steps(image, found.steps(side), (seed, _STREAM, number)) for number, image in enumerate(b)]
        for side in ("b", "a")
    ]
    again = estimate_difference(known[0], known[1])
    return EstimationError(tuple(drawn), _reflected(found, again))


def _reflected(found: CameraDifference, again: CameraDifference) -> CameraDifference:
    """The estimate, less by what the second one is larger, inside the ranges that are looked for."""
    ends = {"gain": GAINS, "red": GAINS, "blue": GAINS, "exponent": EXPONENTS, "red_size": SIZES, "blue_size": SIZES,
            "shot": (0.0, np.inf), "read": (0.0, np.inf), "radius": (0.1, 10.0)}  # fmt: skip
    changed: dict[str, Any] = {}
    for each in fields(found):
        first, second = getattr(found, each.name), getattr(again, each.name)
        if isinstance(first, float):
            changed[each.name] = float(np.clip(2 * first - second, *ends.get(each.name, (-np.inf, np.inf))))
    moved = [2 * first - second for first, second in zip(found.motion, again.motion, strict=True)]
    # Opposite motions are the same one.
    if np.dot(found.motion, again.motion) < 0:
        moved = [2 * first + second for first, second in zip(found.motion, again.motion, strict=True)]
    same = again.motion_side == found.motion_side and any(again.motion)
    return replace(found, **changed, motion=(moved[0], moved[1]) if same else found.motion)
