"""Chrono's own lidar: which of a sensor file's lidars it can be, how it is asked for, and points of what it returns.

By src/chrono_sensor at 9.0.1, 10.0.0 and head (optix/shaders/lidar_raygen.cu, cuda/lidar_reduce.cu,
vulkan/ChFilterVulkanRTRender.cpp, filters/ChFilterLidarReduce.cpp):

* The lidar sweeps from right to left, both ends included: of a full turn, the last column is the first again. One more
  is asked for, and left out.
* The two shapes of a beam are exchanged: ELLIPTICAL is the grid of cells that a rectangle has, RECTANGULAR is round.
* Rays are traced to 1.5 times the farthest distance. Of several rays a beam, one beyond the range would move or take
  the beam's return: they are asked to end where the range does.
* Rays within 0.05 m are one return; how near they are weighs. No argument changes this.
* LAST_RETURN is there with Vulkan RT only; with OptiX it is silently the mean. Its intensity is its ray's own, not its
  share of the beam.
* DUAL_RETURN is the strongest and the first. Its buffer is twice as long, and Python's GetDIData hands out its first
  half. The three that make up our own dual are asked for one by one.
* No release wraps ChFilterLidarNoiseXYZI and ChFilterLidarIntensityClip for Python: noise and threshold are made here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarSpec, Returns, unit_directions

Ranges = npt.NDArray[np.float32]

KERNEL = 0.05  # Metres: rays of a beam that are closer than this are one return of Chrono's
_BEYOND = 1.5  # Chrono traces this many times as far as a lidar's farthest distance
_NEAREST = 1e-3  # Metres: Chrono's default; where nothing nearer is to be left out
_GRID = ("LidarBeamShape_ELLIPTICAL", 1)
# Names of Chrono's, and their values where a build's bindings do not wrap the enumeration.
_MODES: dict[Returns, tuple[str, int]] = {
    "strongest": ("LidarReturnMode_STRONGEST_RETURN", 0),
    "mean": ("LidarReturnMode_MEAN_RETURN", 1),
    "first": ("LidarReturnMode_FIRST_RETURN", 2),
    "last": ("LidarReturnMode_LAST_RETURN", 3),
}
_RESOLUTION = next(field.default for field in fields(Lidar) if field.name == "resolution")


def check_own_lidar(where: str, lidar: Lidar) -> None:
    """Make sure that Chrono's lidar can have these beams: a grid, cast at once, counter-clockwise."""
    steps = np.diff(lidar.elevation)
    wrong = {
        "rings at equal steps": len(steps) > 0 and not np.allclose(steps, steps[0], atol=1e-6),
        "no ring_azimuth, ring_delay and head_deviation": bool(
            lidar.ring_azimuth or lidar.ring_delay or lidar.head_deviation
        ),
        "no start, and counter-clockwise beams": lidar.start is not None or lidar.clockwise,
        "window: 0": lidar.window > 0,
    }
    _refuse(where, wrong)


def check_own_returns(where: str, lidar: Lidar, sensors: Any) -> None:
    """Make sure that Chrono's lidar can find these returns."""
    if lidar.samples == 1:
        return
    wrong = {f"one resolution, {KERNEL:g} m: leave resolution out": lidar.resolution != _RESOLUTION}
    _refuse(where, wrong)
    if lidar.returns in ("last", "dual") and hasattr(sensors, "ChOptixSensor"):
        raise UsageError(
            f"{where}: with OptiX, Chrono's lidar knows no last return (it gives the mean instead), which returns:"
            f" {lidar.returns} needs; take strongest, first or mean, a build with Vulkan RT, or source: simjudge"
        )


def check_single_rays(where: str, lidar: Lidar) -> None:
    """Make sure that a lidar asks for one ray a beam, and its one return."""
    _refuse(where, {"samples: 1 and returns: strongest": lidar.samples > 1 or lidar.returns != "strongest"})


def _refuse(where: str, wrong: dict[str, bool]) -> None:
    for needed, lacks in wrong.items():
        if lacks:
            raise UsageError(f"{where}: its own lidar has {needed}; change that, or take source: simjudge")


def asked_scans(spec: LidarSpec) -> tuple[LidarSpec, ...]:
    """The lidars of one return each that Chrono is asked for."""
    lidar = spec.model()
    if lidar.samples == 1 or lidar.returns != "dual":
        return (spec,)
    modes: tuple[Returns, ...] = ("strongest", "last", "first")
    return tuple(replace(spec, lidar=replace(lidar, returns=mode)) for mode in modes)


def lidar_arguments(sensors: Any, lidar: Lidar) -> tuple[Any, ...]:
    """What ChLidarSensor's constructor takes after the pose."""
    columns = lidar.columns + 1 if lidar.full_turn else lidar.columns
    grid = (columns, len(lidar.elevation), lidar.field_of_view, lidar.elevation[-1], lidar.elevation[0])
    near, far = lidar.range
    if lidar.samples == 1:
        return (*grid, far)
    across, upwards = lidar.divergence
    shape, mode = (getattr(sensors, *named) for named in (_GRID, _MODES[lidar.returns]))
    return (*grid, far / _BEYOND, shape, lidar.samples, upwards, across, mode, max(near, _NEAREST))


def beam_angles(lidar: Lidar) -> tuple[FloatArray, FloatArray]:
    """Azimuth and elevation (rings, columns), radians, of Chrono's lidar beams: right to left, lowest ring first."""
    steps = lidar.columns if lidar.full_turn else max(1, lidar.columns - 1)
    around = np.arange(lidar.columns) / steps * lidar.field_of_view - lidar.field_of_view / 2
    azimuth, elevation = np.meshgrid(around, np.array(lidar.elevation))
    return azimuth, elevation


def points(scans: Sequence[Ranges], lidar: Lidar, random: np.random.Generator) -> FloatArray:
    """Points (N, 4), x, y, z (metres) and intensity, of a lidar's returns, beam by beam, the nearer return first."""
    found = _dual(*scans) if len(scans) > 1 else scans[0][None].astype(np.float64)
    ranges, power = found[..., 0], found[..., 1]
    near, far = lidar.range
    met = (ranges > 0) & (ranges >= near) & (ranges <= far)
    about, noise = lidar.intensity, lidar.noise
    weaker = np.ones_like(ranges)
    if np.isfinite(about.falloff):
        weaker[met] = np.minimum((about.falloff / ranges[met]) ** 2, 1.0)
    met &= power * weaker >= lidar.threshold
    power = (power if about.calibrated else power * weaker) * about.scale
    drawn = random.normal(size=(4, *ranges.shape))
    if noise.drop_out:
        met &= random.random(met.shape) >= noise.drop_out
    azimuth, elevation = beam_angles(lidar)
    azimuth, elevation = azimuth + drawn[1] * noise.azimuth, elevation + drawn[2] * noise.elevation
    ranges = ranges + drawn[0] * (noise.range[0] + noise.range[1] * ranges)
    power = np.maximum(power + drawn[3] * noise.intensity, 0.0)
    if about.levels:
        power = np.minimum(np.rint(power), about.levels)
    # Beam by beam: the returns of a beam stand beside each other.
    places = unit_directions(azimuth, elevation) * ranges[..., None]
    table = np.moveaxis(np.concatenate([places, power[..., None]], axis=-1), 0, 2)
    cloud: FloatArray = table[np.moveaxis(met, 0, 2)]
    return cloud


def _dual(strongest: Ranges, last: Ranges, first: Ranges) -> FloatArray:
    """Each beam's strongest return and its last (or first): (2, rings, columns, 2), nearer first; range 0: none."""
    one, other = strongest.astype(np.float64), last.astype(np.float64)
    same = np.abs(other[..., 0] - one[..., 0]) < KERNEL
    other[same] = first[same]
    again = np.abs(other[..., 0] - one[..., 0]) < KERNEL
    other[again] = 0.0
    both = np.stack([one, other])
    order = np.argsort(np.where(both[..., 0] > 0, both[..., 0], math.inf), axis=0, kind="stable")
    sorted_returns: FloatArray = np.take_along_axis(both, order[..., None], axis=0)
    return sorted_returns
