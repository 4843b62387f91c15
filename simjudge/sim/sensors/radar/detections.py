"""A radar's detections: what it reports of the cells above its threshold, the truth beside it, and its messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.data.clouds import Table
from simjudge.data.rosbag2.interfaces import RADAR_SCAN
from simjudge.sim.sensors.lidar.cloud_filters import NO_FILTERS, CloudFilters, MeasuredCloud
from simjudge.sim.sensors.lidar.lidar import unit_directions
from simjudge.sim.sensors.radar.cells import Peaks, find_peaks, merged
from simjudge.sim.sensors.radar.echoes import Echoes
from simjudge.sim.sensors.radar.radar import Radar, decibels

_LEAST = 1e-3  # Of power over the noise, so that every detection has a radar cross section


@dataclass(frozen=True, eq=False, repr=False)
class RadarDetections(ShortRepr):
    """The detections of one reading. Columns of P."""

    points: FloatArray  # (P, 3), x, y, z, metres, in the sensor's frame
    # range, azimuth, elevation: (P,), metres and radians; elevation 0 where it is not measured.
    range: FloatArray
    azimuth: FloatArray
    elevation: FloatArray
    speed: FloatArray  # (P,), range rate, m/s, negative for what comes nearer
    rcs: FloatArray  # (P,), dB over 1 m^2, from SNR and range
    snr: FloatArray  # (P,), dB
    # true_points (P, 3), true_speed (P,), true_rcs (P,), thing int64 (P,): of the echo that gives most of the
    # detection; NaN and -1 of a false alarm.
    true_points: FloatArray
    true_speed: FloatArray
    true_rcs: FloatArray
    thing: IntArray

    def __len__(self) -> int:
        return len(self.range)


def detect(
    radar: Radar, echoes: Echoes, random: np.random.Generator, filters: CloudFilters = NO_FILTERS
) -> RadarDetections | None:
    """What a radar reports of echoes (random: makes phases, noise and false alarms); None where a filter loses it."""
    gathered, amplitude = merged(radar, echoes, random)
    peaks = find_peaks(radar, gathered, amplitude, random)
    elevation = _elevation(radar, gathered, peaks, random)
    distance = np.maximum(peaks.place[:, 0], radar.axes[0].low)
    azimuth = np.arcsin(np.clip(peaks.place[:, 2] / np.cos(elevation), -1.0, 1.0))
    rows, none = np.arange(len(peaks)), np.zeros(len(peaks), np.int64)
    snr = np.maximum(peaks.power - 1, _LEAST)
    exact = MeasuredCloud(
        radar.name, filters.stamp, distance, azimuth, elevation, decibels(snr), none, none, np.zeros(len(peaks)), rows
    )
    cloud = filters.run(exact, "generate")
    noise = radar.noise

    def drawn(deviation: float) -> FloatArray:
        """One number for each peak, whatever a filter has taken away."""
        numbers: FloatArray = random.normal(size=len(peaks)) * deviation
        return numbers

    off = [drawn(deviation) for deviation in (noise.range, noise.azimuth, noise.elevation or 0.0)]
    speed, strength = peaks.place[:, 1] + drawn(noise.speed), drawn(noise.rcs)
    if cloud is None:
        return None
    cloud = filters.run(_shifted(cloud, off, strength), "filter")
    cloud = None if cloud is None else filters.run(cloud, "access")
    if cloud is None:
        return None
    echo = peaks.echo[cloud.row]
    known = echo >= 0

    def truth(values: FloatArray) -> FloatArray:
        out = np.full((len(echo), *values.shape[1:]), np.nan)
        out[known] = values[echo[known]]
        return out

    thing = np.full(len(echo), -1, np.int64)
    thing[known] = gathered.thing[echo[known]]
    return RadarDetections(
        unit_directions(cloud.azimuth, cloud.elevation) * cloud.range[:, None],
        cloud.range,
        cloud.azimuth,
        cloud.elevation,
        speed[cloud.row],
        cloud.intensity + 40 * np.log10(cloud.range) - float(decibels(np.array(radar.sensitivity))),
        cloud.intensity,
        truth(gathered.position),
        truth(gathered.speed),
        truth(decibels(gathered.section)),
        thing,
    )


def _shifted(cloud: MeasuredCloud, off: list[FloatArray], strength: FloatArray) -> MeasuredCloud:
    """The cloud with noise on what is reported."""
    distance, azimuth, elevation = (values[cloud.row] for values in off)
    return MeasuredCloud(
        cloud.sensor,
        cloud.stamp,
        np.maximum(cloud.range + distance, _LEAST),
        cloud.azimuth + azimuth,
        cloud.elevation + elevation,
        cloud.intensity + strength[cloud.row],
        cloud.ring,
        cloud.column,
        cloud.time,
        cloud.row,
    )


def _elevation(radar: Radar, echoes: Echoes, peaks: Peaks, random: np.random.Generator) -> FloatArray:
    """Of the echo behind each peak, anywhere in the view for noise alone; 0 where it is not measured."""
    half = radar.field_of_view[1] / 2
    anywhere: FloatArray = random.uniform(-half, half, len(peaks))
    if radar.noise.elevation is None:
        return np.zeros(len(peaks))
    known = peaks.echo >= 0
    position = echoes.position[peaks.echo[known]]
    anywhere[known] = np.arctan2(position[:, 2], np.hypot(position[:, 0], position[:, 1]))
    return anywhere


# Range rate as `radial_velocity`, m/s; rcs in dB over 1 m^2, snr in dB.
DETECTION = np.dtype([(name, "<f4") for name in ("x", "y", "z", "radial_velocity", "rcs", "snr")])
# The truth beside each detection, in the same order; NaN, class and instance 0 of a false alarm.
TRUE_DETECTION = np.dtype(
    [
        *((name, "<f4") for name in ("x", "y", "z", "radial_velocity", "rcs")),
        ("class_id", "<u2"),
        ("instance", "<u2"),
        ("false_alarm", "u1"),
    ]
)


def detection_table(found: RadarDetections) -> Table:
    """The detections as a driver publishes them."""
    table = np.empty(len(found), DETECTION)
    table["x"], table["y"], table["z"] = found.points.T
    table["radial_velocity"], table["rcs"], table["snr"] = found.speed, found.rcs, found.snr
    return table


def true_detection_table(
    found: RadarDetections, class_id: npt.NDArray[np.int64], instance: npt.NDArray[np.int64]
) -> Table:
    """What the detections are of, where it is, how fast, and its radar cross section (class_id, instance (P,))."""
    table = np.empty(len(found), TRUE_DETECTION)
    table["x"], table["y"], table["z"] = found.true_points.T
    table["radial_velocity"], table["rcs"] = found.true_speed, found.true_rcs
    table["class_id"], table["instance"], table["false_alarm"] = class_id, instance, found.thing < 0
    return table


def has_radar_msgs() -> bool:
    """Whether ROS's package radar_msgs is installed here: only then can anybody show its messages."""
    return find_spec("radar_msgs") is not None


def radar_scan_message(find: Callable[[str], Any], header: Any, found: RadarDetections) -> Any:
    """Make a radar_msgs/RadarScan; amplitudes are SNRs in dB."""
    kind = find("radar_msgs/msg/RadarReturn")
    columns = (found.range, found.azimuth, found.elevation, found.speed, found.snr)
    returns = [
        kind(range=distance, azimuth=azimuth, elevation=elevation, doppler_velocity=speed, amplitude=snr)
        for distance, azimuth, elevation, speed, snr in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return find(RADAR_SCAN)(header=header, returns=returns)
