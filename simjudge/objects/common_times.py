"""Which frames or scans of a real and of a virtual sensor show the same instant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError


@dataclass(frozen=True, eq=False, repr=False)
class CommonTimes(ShortRepr):
    """The frames of two sensors that show the same instants.

    Attributes:
        real, virtual: int64 (N,), numbers of frames; pairs, in order of time.
        tolerance: how far the two stamps of a pair may lie apart, seconds.
        farthest: how far they do at most, seconds.
    """

    real: IntArray
    virtual: IntArray
    tolerance: float
    farthest: float

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.real)


def common_times(real: FloatArray, virtual: FloatArray) -> CommonTimes:
    """Pair the frames of two sensors by time.

    Each frame is paired with the nearest one of the other sensor if each is the other's nearest. Equal stamps are
    always a pair. The tolerance is half the median period of the slower sensor.

    Args:
        real: float64 (R,), seconds, ascending.
        virtual: float64 (V,), seconds, ascending.

    Returns:
        The pairs; none where the two have no time in common.
    """
    tolerance = max(median_period(real), median_period(virtual)) / 2
    if not (len(real) and len(virtual)):
        return CommonTimes(np.empty(0, np.int64), np.empty(0, np.int64), tolerance, 0.0)
    partner, back = _nearest(real, virtual), _nearest(virtual, real)
    number = np.arange(len(real))
    apart = np.abs(virtual[partner] - real)
    # Stamps are float64 seconds of a clock that may count from 1970: half a microsecond of them is rounding.
    paired = (back[partner] == number) & (apart <= tolerance + 5e-7)
    farthest = float(apart[paired].max()) if paired.any() else 0.0
    return CommonTimes(number[paired], partner[paired], tolerance, farthest)


def median_period(time: FloatArray) -> float:
    """The median time between two frames.

    Args:
        time: float64 (N,), seconds, ascending.
    """
    return float(np.median(np.diff(time))) if len(time) > 1 else 0.0


def require_common_times(real: FloatArray, virtual: FloatArray, names: tuple[str, str]) -> None:
    """Refuse two sensors whose frames show no instant in common.

    Args:
        real: float64 (R,), seconds, ascending.
        virtual: float64 (V,), seconds, ascending.
    """
    if len(common_times(real, virtual)):
        return
    spans = [
        f"{name} has {f'{time[0]:.3f} to {time[-1]:.3f} s' if len(time) else 'no frame'}"
        for name, time in zip(names, (real, virtual), strict=True)
    ]
    offset = f"{real[0] - virtual[0]:.3f}" if len(real) and len(virtual) else "SECONDS"
    raise SimjudgeError(
        f"no common time: {spans[0]}, {spans[1]}; replay the real recording's poses (simjudge replay keeps its "
        f"stamps), or move the virtual stamps with --time-offset {offset} if both began together"
    )


def _nearest(time: FloatArray, other: FloatArray) -> IntArray:
    """The number of the frame of `other` that is nearest to each instant; the earlier of two that are equally near."""
    after = np.clip(np.searchsorted(other, time), 1, max(len(other) - 1, 1))
    if len(other) == 1:
        return np.zeros(len(time), np.int64)
    later = np.abs(other[after] - time) < np.abs(other[after - 1] - time)
    return np.asarray(after - 1 + later, np.int64)
