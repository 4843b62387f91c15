"""A lidar's scan: what it measures of what its rays hit, the truth beside it, and its clouds and LaserScan messages.

Noise lies on what the device measures (range, azimuth, elevation, intensity); only then come x, y and z.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import UsageError
from simjudge.data.clouds import Table
from simjudge.geometry.keyframes import Keyframes
from simjudge.sim.sensors.lidar.cloud_filters import NO_FILTERS, CloudFilters, MeasuredCloud
from simjudge.sim.sensors.lidar.lidar import Beams, Lidar, lidar_beams, unit_directions
from simjudge.sim.sensors.lidar.lidar_weather import Device, through_weather
from simjudge.sim.sensors.lidar.rays import BeamReturns, beam_returns

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class RayHits(ShortRepr):
    """What the S rays of each of N beams hit, beam by beam."""

    distance: FloatArray  # (N S,), metres along the ray; inf where nothing is hit
    thing: Indices  # int64 (N S,), a number of what was hit; -1 where nothing is
    # (N S,), the share of the light that comes back from there: reflectance times |cosine| of the angle between the ray
    # and the surface's normal.
    reflected: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Scan(ShortRepr):
    """The points of one turn, in the order in which they were measured. Columns of P points."""

    # (P, 3), x, y, z, metres, in the sensor's frame at the point's own instant; where the lidar deskews, at the stamp.
    points: FloatArray
    intensity: FloatArray  # (P,), as the device reports it
    # ring, column: int64 (P,), of the beam.
    ring: Indices
    column: Indices
    time: FloatArray  # (P,), seconds from the stamp, 0 or before
    # range, azimuth, elevation: (P,), what was measured, metres and radians, in the sensor's frame at the point's own
    # instant.
    range: FloatArray
    azimuth: FloatArray
    elevation: FloatArray
    true_points: FloatArray  # (P, 3), the points without noise, in the frame of `points`
    # int64 (P,), what was hit (of several things in one return, the one that gave the most light of one ray).
    thing: Indices
    beams: int  # number of beams that were fired

    def __len__(self) -> int:
        return len(self.range)


def measure(
    lidar: Lidar, hits: RayHits, sensor: Keyframes, random: np.random.Generator, filters: CloudFilters = NO_FILTERS
) -> Scan | None:
    """Make a scan of what the rays of one turn hit.

    `sensor`: poses of the sensor's frame, seconds from the stamp; used where the lidar deskews; `random`: makes the
    noise. The same numbers are drawn whatever was hit. Returns the points; None where a filter loses the whole cloud.
    Beams that hit nothing between the lidar's nearest and farthest range, or from which too little light comes back,
    have none.
    """
    beams = lidar_beams(lidar)
    ranges, power = hits.distance.reshape(len(beams), -1), hits.reflected.reshape(len(beams), -1)
    thing = hits.thing.reshape(len(beams), -1)
    weather_random = _aside(random)
    if lidar.weather:
        device = Device(lidar.range, lidar.returns, lidar.threshold)
        ranges, power, of_air = through_weather(lidar.weather, device, beams.directions, ranges, power, weather_random)
        thing = np.where(of_air, -1, thing)
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
    truth = _exact_cloud(lidar, beams, returns, seen, filters.stamp)
    cloud = filters.run(truth, "generate")
    if cloud is not None and lidar.weather.rain is not None:
        strayed = weather_random.normal(size=seen.shape)[seen][cloud.row]
        cloud = replace(cloud, range=cloud.range + strayed * lidar.weather.rain.deviation(cloud.range))
    cloud = None if cloud is None else filters.run(_noisy(lidar, cloud, seen, random), "filter")
    cloud = None if cloud is None else filters.run(cloud, "access")
    if cloud is None:
        return None
    exact = truth.take(cloud.row)
    points = unit_directions(cloud.azimuth, cloud.elevation) * cloud.range[:, None]
    true_points = unit_directions(exact.azimuth, exact.elevation) * exact.range[:, None]
    if lidar.deskew:
        points, true_points = (deskewed(cloud_points, cloud.time, sensor) for cloud_points in (points, true_points))
    thing = thing[np.nonzero(seen)[0], returns.sample[seen]]
    return Scan(
        points,
        cloud.intensity,
        cloud.ring,
        cloud.column,
        cloud.time,
        cloud.range,
        cloud.azimuth,
        cloud.elevation,
        true_points,
        thing[cloud.row],
        len(beams),
    )


def _aside(random: np.random.Generator) -> np.random.Generator:
    """A generator for the weather, so that a lidar's own noise is the same in all weathers."""
    kind: Any = random.bit_generator
    return np.random.Generator(kind.jumped())


def _exact_cloud(
    lidar: Lidar, beams: Beams, returns: BeamReturns, seen: npt.NDArray[np.bool_], stamp: int
) -> MeasuredCloud:
    """What a lidar without noise would measure."""
    row = np.nonzero(seen)[0]
    ranges, about = returns.range[seen], lidar.intensity
    intensity = returns.intensity[seen]
    if about.calibrated and np.isfinite(about.falloff):
        intensity = intensity / np.minimum((about.falloff / ranges) ** 2, 1.0)
    return MeasuredCloud(
        lidar.name,
        stamp,
        ranges,
        beams.azimuth[row],
        beams.elevation[row],
        intensity * about.scale,
        beams.ring[row],
        beams.column[row],
        beams.time[row] - lidar.window,
        np.arange(len(row)),
    )


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
    lidar: Lidar, cloud: MeasuredCloud, seen: npt.NDArray[np.bool_], random: np.random.Generator
) -> MeasuredCloud:
    """The cloud with what is measured and reported of it: noise on ranges, angles and intensities, whole numbers."""
    noise, levels = lidar.noise, lidar.intensity.levels

    def drawn() -> FloatArray:
        """One number for each return of the cloud; as many are drawn whatever was hit and filtered."""
        numbers: FloatArray = random.normal(size=seen.shape)[seen][cloud.row]
        return numbers

    measured = cloud.range
    if any(noise.range):
        measured = measured + drawn() * (noise.range[0] + noise.range[1] * measured)
    azimuth = cloud.azimuth + drawn() * noise.azimuth if noise.azimuth else cloud.azimuth
    elevation = cloud.elevation + drawn() * noise.elevation if noise.elevation else cloud.elevation
    intensity = cloud.intensity + drawn() * noise.intensity if noise.intensity else cloud.intensity
    intensity = np.maximum(intensity, 0.0)
    intensity = np.minimum(np.rint(intensity), levels) if levels else intensity
    return replace(cloud, range=measured, azimuth=azimuth, elevation=elevation, intensity=intensity)


def deskewed(points: FloatArray, time: FloatArray, sensor: Keyframes) -> FloatArray:
    """Move points of their own instants to the sensor's frame at the stamp: (P, 3); points (P, 3); time (P,)."""
    rotation, position = sensor.at(time)
    (end_rotation,), (end_position,) = sensor.at(np.zeros(1))
    world = np.einsum("nij,nj->ni", rotation, points) + position
    moved: FloatArray = (world - end_position) @ end_rotation
    return moved


# As velodyne_pointcloud publishes its points: `time` is in seconds from the message's stamp.
POINT = np.dtype(
    [("x", "f4"), ("y", "f4"), ("z", "f4"), ("intensity", "f4"), ("ring", "u2"), ("time", "f4")], align=False
)
# The truth beside each point, in the same order.
TRUE_POINT = np.dtype(
    [("x", "f4"), ("y", "f4"), ("z", "f4"), ("class_id", "u2"), ("instance", "u2"), ("ring", "u2"), ("time", "f4")]
)


def point_table(scan: Scan) -> Table:
    """The points of a scan as a driver publishes them."""
    table = np.empty(len(scan), POINT)
    table["x"], table["y"], table["z"] = scan.points.T
    table["intensity"], table["ring"], table["time"] = scan.intensity, scan.ring, scan.time
    return table


def true_point_table(scan: Scan, class_id: npt.NDArray[np.int64], instance: npt.NDArray[np.int64]) -> Table:
    """The points of a scan without noise, and what they lie on (class_id, instance (P,))."""
    table = np.empty(len(scan), TRUE_POINT)
    table["x"], table["y"], table["z"] = scan.true_points.T
    table["class_id"], table["instance"] = class_id, instance
    table["ring"], table["time"] = scan.ring, scan.time
    return table


SCAN_TYPE = "sensor_msgs/msg/LaserScan"


def makes_laser_scans(lidar: Lidar) -> bool:
    """Whether a lidar's scans can be LaserScans: one level ring, one return a beam."""
    return lidar.elevation == (0.0,) and lidar.returns != "dual"


def scan_message(find: Callable[[str], Any], header: Any, lidar: Lidar, scan: Scan) -> Any:
    """Make a LaserScan; beams with nothing in reach read +inf (REP 117). The stamp is the first beam's."""
    if not makes_laser_scans(lidar):
        raise UsageError(f"{lidar.name}: a LaserScan needs one ring at elevation 0 and one return a beam")
    sense = -1.0 if lidar.clockwise else 1.0
    parts = lidar.columns if lidar.full_turn else max(lidar.columns - 1, 1)
    increment = sense * lidar.field_of_view / parts
    start = lidar.start if lidar.start is not None else -sense * lidar.field_of_view / 2
    ranges = np.full(lidar.columns, math.inf, np.float32)
    intensities = np.zeros(lidar.columns, np.float32)
    ranges[scan.column], intensities[scan.column] = scan.range, scan.intensity
    return find(SCAN_TYPE)(
        header=header,
        angle_min=start,
        angle_max=start + increment * (lidar.columns - 1),
        angle_increment=increment,
        time_increment=lidar.window / lidar.columns,
        scan_time=1 / lidar.rate,
        range_min=lidar.range[0],
        range_max=lidar.range[1],
        ranges=ranges,
        intensities=intensities,
    )


def scan_points(message: Any) -> FloatArray:
    """The points of a LaserScan: (N, 3)."""
    ranges = np.asarray(message.ranges, np.float64)
    angle = message.angle_min + message.angle_increment * np.arange(len(ranges))
    hit = np.isfinite(ranges) & (ranges >= message.range_min) & (ranges <= message.range_max)
    points = np.stack([ranges * np.cos(angle), ranges * np.sin(angle), np.zeros(len(ranges))], -1)
    return np.asarray(points[hit])
