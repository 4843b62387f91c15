"""A lidar's scan: what it measures of what its rays hit, and the truth beside it.

Noise lies on what the device measures (range, azimuth, elevation, intensity); only then come x, y and z.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.geometry.keyframes import Keyframes
from simjudge.sensors.lidar.beams import Beams, lidar_beams, unit_directions
from simjudge.sensors.lidar.lidar import Lidar
from simjudge.sensors.lidar.returns import BeamReturns, beam_returns

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class RayHits(ShortRepr):
    """What the S rays of each of N beams hit, beam by beam.

    Attributes:
        distance: (N S,), metres along the ray; inf where nothing is hit.
        thing: int64 (N S,), a number of what was hit; -1 where nothing is.
        reflected: (N S,), the share of the light that comes back from there: reflectance times |cosine| of the angle
            between the ray and the surface's normal.
    """

    distance: FloatArray
    thing: Indices
    reflected: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Scan(ShortRepr):
    """The points of one turn, in the order in which they were measured. Columns of P points.

    Attributes:
        points: (P, 3), x, y, z, metres, in the sensor's frame at the point's own instant; where the lidar deskews, at
            the stamp.
        intensity: (P,), as the device reports it.
        ring, column: int64 (P,), of the beam.
        time: (P,), seconds from the stamp, 0 or before.
        range, azimuth, elevation: (P,), what was measured, metres and radians, in the sensor's frame at the point's own
            instant.
        true_points: (P, 3), the points without noise, in the frame of `points`.
        thing: int64 (P,), what was hit (of several things in one return, the one that gave the most light of one ray).
        beams: number of beams that were fired.
    """

    points: FloatArray
    intensity: FloatArray
    ring: Indices
    column: Indices
    time: FloatArray
    range: FloatArray
    azimuth: FloatArray
    elevation: FloatArray
    true_points: FloatArray
    thing: Indices
    beams: int

    def __len__(self) -> int:
        """The number of points."""
        return len(self.range)


def measure(lidar: Lidar, hits: RayHits, sensor: Keyframes, random: np.random.Generator) -> Scan:
    """Make a scan of what the rays of one turn hit.

    Args:
        lidar: the lidar.
        hits: of the rays of `simjudge.sensors.lidar.rays.turn_rays`, in their order.
        sensor: poses of the sensor's frame, seconds from the stamp; used where the lidar deskews.
        random: makes the noise. The same numbers are drawn whatever was hit.

    Returns:
        The points. Beams that hit nothing between the lidar's nearest and farthest range, or from which too little
        light comes back, have none.
    """
    beams = lidar_beams(lidar)
    ranges, power = hits.distance.reshape(len(beams), -1), hits.reflected.reshape(len(beams), -1)
    near, far = lidar.range
    ranges = np.where((ranges >= near) & (ranges <= far), ranges, np.inf)
    if np.isfinite(lidar.intensity.falloff):
        with np.errstate(divide="ignore"):
            power = power * np.minimum((lidar.intensity.falloff / ranges) ** 2, 1.0)
    returns = beam_returns(ranges, power, lidar.resolution, lidar.returns, lidar.threshold)
    # Of a beam with two returns the nearer comes first.
    returns = _by_range(returns)
    seen = np.isfinite(returns.range)
    if lidar.noise.drop_out:
        seen &= random.random(seen.shape) >= lidar.noise.drop_out
    row = np.nonzero(seen)[0]
    true_range, sample = returns.range[seen], returns.sample[seen]
    thing = hits.thing.reshape(len(beams), -1)[row, sample]
    range_, azimuth, elevation = _noisy(lidar, beams, returns, seen, random)
    intensity = _reported(lidar, returns.intensity, true_range, seen, random)
    points = unit_directions(azimuth, elevation) * range_[:, None]
    true_points = unit_directions(beams.azimuth[row], beams.elevation[row]) * true_range[:, None]
    time = beams.time[row] - lidar.window
    if lidar.deskew:
        points, true_points = (deskewed(each, time, sensor) for each in (points, true_points))
    return Scan(
        points, intensity, beams.ring[row], beams.column[row], time, range_, azimuth, elevation, true_points,
        thing, len(beams),
    )  # fmt: skip


def _by_range(returns: BeamReturns) -> BeamReturns:
    if returns.range.shape[1] == 1:
        return returns
    order = np.argsort(returns.range, axis=1, kind="stable")  # NaN comes last
    return BeamReturns(
        np.take_along_axis(returns.range, order, 1),
        np.take_along_axis(returns.intensity, order, 1),
        np.take_along_axis(returns.sample, order, 1),
    )


def _noisy(
    lidar: Lidar, beams: Beams, returns: BeamReturns, seen: npt.NDArray[np.bool_], random: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Range, azimuth and elevation as they are measured, of the returns that there are."""
    row = np.nonzero(seen)[0]
    true_range, azimuth, elevation = returns.range[seen], beams.azimuth[row], beams.elevation[row]
    noise = lidar.noise
    if any(noise.range):
        deviation = noise.range[0] + noise.range[1] * true_range
        true_range = true_range + random.normal(size=seen.shape)[seen] * deviation
    if noise.azimuth:
        azimuth = azimuth + random.normal(size=seen.shape)[seen] * noise.azimuth
    if noise.elevation:
        elevation = elevation + random.normal(size=seen.shape)[seen] * noise.elevation
    return true_range, azimuth, elevation


def _reported(
    lidar: Lidar, power: FloatArray, ranges: FloatArray, seen: npt.NDArray[np.bool_], random: np.random.Generator
) -> FloatArray:
    """The intensity that the device reports of each return."""
    about = lidar.intensity
    intensity = power[seen]
    if about.calibrated and np.isfinite(about.falloff):
        intensity = intensity / np.minimum((about.falloff / ranges) ** 2, 1.0)
    intensity = intensity * about.scale
    if lidar.noise.intensity:
        intensity = intensity + random.normal(size=seen.shape)[seen] * lidar.noise.intensity
    intensity = np.maximum(intensity, 0.0)
    return np.minimum(np.rint(intensity), about.levels) if about.levels else intensity


def deskewed(points: FloatArray, time: FloatArray, sensor: Keyframes) -> FloatArray:
    """Move points of their own instants to the sensor's frame at the stamp.

    Args:
        points: (P, 3), metres, each in the sensor's frame at its own instant.
        time: (P,), seconds from the stamp.
        sensor: poses of the sensor's frame, seconds from the stamp.

    Returns:
        (P, 3), metres, in the sensor's frame at the stamp.
    """
    rotation, position = sensor.at(time)
    (end_rotation,), (end_position,) = sensor.at(np.zeros(1))
    world = np.einsum("nij,nj->ni", rotation, points) + position
    moved: FloatArray = (world - end_position) @ end_rotation
    return moved
