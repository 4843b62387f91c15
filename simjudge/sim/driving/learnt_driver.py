"""A small driver that is trained in `simjudge/ConeCourse-v0`: a few weights on the boxes of the nearest cones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.detectors.detector import Detections

START = (-3.0, -1.0, 0.0, 1.0, 0.5)
"""Weights before training: steer against the gap's middle, near and far, a bias; speed, and less of it in bends."""
_NEAREST = 2
"""Cones of a side that are the near ones; as many again are the far ones."""
_ABSENT = {1.0: 0.1, -1.0: 0.9}
"""Where a cone of a side is taken to be, as a share of the width, while none is seen: at the edge."""


def detection_rows(found: Detections, sides: dict[int, float], size: tuple[int, int]) -> npt.NDArray[np.float32]:
    """Detections of the lane's two classes, largest first: left, top, right, bottom as shares, side, score."""
    kept = np.array([int(number) in sides for number in found.class_id], np.bool_)
    box = found.box[kept] / np.array([*size, *size])
    area = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    side = np.array([sides[int(number)] for number in found.class_id[kept]])
    rows = np.column_stack([np.clip(box, 0.0, 1.0), side, np.clip(found.score[kept], 0.0, 1.0)])
    return rows[np.argsort(-area, kind="stable")].astype(np.float32).reshape(-1, 6)


@dataclass(frozen=True)
class LearntDriver:
    """Steers for the middle between the nearest boxes of both sides.

    Attributes:
        weights: as START has them.
        episodes: that it was trained for.
    """

    weights: tuple[float, ...] = START
    episodes: int = 0

    def act(self, rows: npt.NDArray[np.float32], speed: float) -> tuple[float, float]:
        """Steering and pedal, -1 to 1, by detections (largest first; rows of 0 do not count) and speed, m/s."""
        near, far = (self._middle(rows, first) for first in (0, _NEAREST))
        a, b, bias, fast, slow = self.weights
        steering = a * near + b * far + bias
        target = max(fast - slow * abs(far) * 4, 0.3)
        return float(np.clip(steering, -1, 1)), float(np.clip(0.5 * target + 0.6 * (target - speed), -1, 1))

    @staticmethod
    def _middle(rows: npt.NDArray[np.float32], first: int) -> float:
        places = []
        for side, absent in _ABSENT.items():
            own = rows[rows[:, 4] == side][first : first + _NEAREST]
            places.append(float((own[:, 0] + own[:, 2]).mean() / 2) if len(own) else absent)
        return sum(places) / 2 - 0.5

    def save(self, path: Path) -> None:
        """Write as JSON."""
        with atomic_file(path) as file:
            file.write_text(json.dumps(vars(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> LearntDriver:
        """Read what `save` has written."""
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            return cls(tuple(map(float, held["weights"])), int(held["episodes"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SimjudgeError(f"{path}: holds no weights of a driver ({error})") from error
