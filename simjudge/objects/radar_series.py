"""What a radar says over time: how many detections, how strong, and how well their range rates fit standing things.

The range rates of standing things are -(v_x cos a + v_y sin a) of the radar's own velocity v. Least squares over the
detections of a frame gives v; what is off by more than `MOVES` is left out and v found anew, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Log, Losses, SimjudgeError, no_log
from simjudge.data.clouds import CloudSet, Table, radar_fields
from simjudge.objects.series import WHOLE, Series, stamps_to_seconds

_NARROW = 0.02  # Radians of directions' spread: of less, detections do not tell the speed across them
MOVES = 0.5  # m/s off what standing things have
_TURNS = 20  # Of leaving out what moves, at most
_TO_DEVIATION = 1.4826  # Of a normal distribution, over the median of what is off, without sign
METRICS = {
    "detections": "",
    "rcs": "dB m^2",
    "rcs spread": "dB",
    "own speed": "m/s",
    "speed residual": "m/s",
    "moving": "",
}
_OWN_SPEED = list(METRICS).index("own speed")


def is_radar(clouds: CloudSet) -> bool:
    """Whether clouds are a radar's detections: the first with points has range rates and radar cross sections."""
    for index in range(len(clouds)):
        try:
            table = clouds[index].table
        except SimjudgeError:
            continue
        radar = radar_fields(table.dtype.names or ()) is not None
        if radar or len(table):
            return radar
    return False


def radar_series(clouds: CloudSet, losses: Losses, log: Log = no_log) -> list[Series]:
    """The metrics of a radar's frames over time. `log` gets a line about frames that do not tell the own speed."""
    order = np.argsort(clouds.stamp, kind="stable")
    values = np.full((len(order), len(METRICS)), np.nan)
    for place, index in enumerate(order.tolist()):
        try:
            table = clouds[index].table
        except SimjudgeError as error:
            losses.add("clouds that cannot be read", str(error))
            continue
        values[place] = _measured(table)
    silent = int(((values[:, 0] > 0) & np.isnan(values[:, _OWN_SPEED])).sum())
    if silent:
        log(
            f"note: {clouds.name}: {silent} of {len(order)} frames do not tell the radar's own speed: few detections,"
            " or all in one direction"
        )
    time = stamps_to_seconds(clouds.stamp[order])
    return [Series(metric, unit, WHOLE, time, values[:, k]) for k, (metric, unit) in enumerate(METRICS.items())]


def own_velocity(azimuth: FloatArray, speed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of a radar by azimuths and range rates (N,): x and y, m/s, and what each range rate is off standing things'.

    NaN where fewer than three stand, or all in nearly one direction.
    """
    across = np.stack([np.cos(azimuth), np.sin(azimuth)], 1)
    standing = np.ones(len(speed), np.bool_)
    off = np.full(len(speed), np.nan)
    velocity = np.full(2, np.nan)
    for _ in range(_TURNS):
        # The least singular value is the spread of directions about their mean.
        if standing.sum() < 3 or np.linalg.svd(across[standing], compute_uv=False)[1] < _NARROW * standing.sum() ** 0.5:
            return np.full(2, np.nan), np.full(len(speed), np.nan)
        velocity = np.linalg.lstsq(across[standing], -speed[standing], rcond=None)[0]
        off = speed + across @ velocity
        # Far outliers pull the first fits: begin with the better half.
        still = np.abs(off) <= max(MOVES, 2 * float(np.median(np.abs(off))))
        if np.array_equal(still, standing):
            break
        standing = still
    return velocity, off


def _measured(table: Table) -> Sequence[float]:
    fields = radar_fields(table.dtype.names or ())
    if fields is None:
        return [np.nan] * len(METRICS)
    speed_name, section_name = fields
    x, y, speed, section = (
        np.asarray(table[name], np.float64).ravel() for name in ("x", "y", speed_name, section_name)
    )
    known = np.isfinite(x) & np.isfinite(y) & np.isfinite(speed) & np.isfinite(section)
    x, y, speed, section = x[known], y[known], speed[known], section[known]
    if not len(x):
        return [0.0, *[np.nan] * (len(METRICS) - 1)]
    velocity, off = own_velocity(np.arctan2(y, x), speed)
    moving = np.nan if np.isnan(off).any() else float((np.abs(off) > MOVES).mean())
    return [
        float(len(x)),
        float(section.mean()),
        float(section.std()),
        float(np.hypot(*velocity)),
        float(_TO_DEVIATION * np.median(np.abs(off))),
        moving,
    ]
