"""What a fit of a lidar minimizes: W1 between A and B's clouds, made worse."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.text import load_json
from simjudge.data.clouds.cloud_set import CloudSet
from simjudge.detectors.clouds.cloud_detection import detect_clouds
from simjudge.questions.fit.camera_fit import HeldOutW1
from simjudge.results.result_folder import write_json
from simjudge.sim.sensors.lidar.cloud_degradation import CloudDegradation, degraded_clouds
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.comparison import compare_sets

_SEED = 15
REDRAWN = 4
"""Fresh draws of the noise on which the start and what the search chose are compared: its own draw flatters it."""


class LidarObjective:
    """Mean W1 of some clouds with noise and drop-out on B's; what was tried once is known.

    Args:
        kept: file of what was tried before; None keeps nothing.
    """

    def __init__(self, a: CloudSet, b: CloudSet, settings: CompareSettings, kept: Path | None, origin: str) -> None:
        """Run the detector on A, and read what was tried before."""
        assert settings.model is not None  # noqa: S101 - refused before
        self.b, self._model, self._kept, self._origin, self.name = b, settings.model, kept, origin, ""
        self.a = detect_clouds(a, settings.model)
        self._settings = replace(settings, model=None)
        self._known: dict[str, float] = {}
        if kept is not None and kept.exists():
            content = load_json(kept)
            if content.get("origin") != origin:
                raise SimjudgeError(f"{kept}: is of another fit; choose another --out")
            self._known = dict(content["tried"])

    def with_b(self, b: CloudSet, name: str) -> LidarObjective:
        """The same with other clouds of B; A's detections, and what was tried, are shared."""
        other = copy(self)
        other.b, other.name = b, name
        return other

    def value(self, numbers: FloatArray, draw: int = 0) -> float:
        """Of noise and drop-out.

        Args:
            numbers: (2,), metres and a probability.
        """
        key = f"{self.name} {numbers[0]:.6g} {numbers[1]:.6g} {draw}"
        if key not in self._known:
            quick = replace(self._settings, draws=0)
            self._known[key] = self._judge(numbers, draw, quick).mean_w1
            if self._kept is not None:
                write_json(self._kept, {"origin": self._origin, "tried": self._known})
        return self._known[key]

    def fresh(self, numbers: FloatArray) -> float:
        """Mean over draws that the search did not see.

        Args:
            numbers: (2,), metres and a probability.
        """
        return float(np.mean([self.value(numbers, draw) for draw in range(1, REDRAWN + 1)]))

    def compared(self, numbers: FloatArray) -> HeldOutW1:
        """With what stands beside W1.

        Args:
            numbers: (2,), metres and a probability.
        """
        return self._judge(numbers, 0, self._settings)

    def degraded(self, numbers: FloatArray, draw: int) -> CloudSet:
        """B's clouds with noise and drop-out.

        Args:
            numbers: (2,), metres and a probability.
        """
        return degraded_clouds(self.b, CloudDegradation(float(numbers[0]), float(numbers[1])), _SEED + draw)

    def _judge(self, numbers: FloatArray, draw: int, settings: CompareSettings) -> HeldOutW1:
        result = compare_sets(self.a, detect_clouds(self.degraded(numbers, draw), self._model), settings).result
        mean = result.numbers.overall.mean_w1
        if mean is None:
            raise SimjudgeError("no context of A has a like one in B: there is no W1 to fit")
        return HeldOutW1(float(mean), result.overall)


def is_better(one: tuple[LidarObjective, FloatArray], other: tuple[LidarObjective, FloatArray]) -> bool:
    """Whether one lidar's W1 is lower than another's on fresh draws of the noise, by a paired t test at 95 %."""
    if one[0] is other[0] and np.array_equal(one[1], other[1]):
        return False
    gain = np.array([other[0].value(other[1], draw) - one[0].value(one[1], draw) for draw in range(1, REDRAWN + 1)])
    return bool(gain.mean() > student.ppf(0.95, REDRAWN - 1) * gain.std(ddof=1) / np.sqrt(REDRAWN))
