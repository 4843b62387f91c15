"""Filters of a lidar's clouds by name: what a device, its driver or its network does to what was measured.

A filter is a function decorated with `cloud_filter`. It takes a cloud as the device measures it, ranges and angles and
not yet x, y and z, and keyword parameters. It returns another cloud, or None for one that is lost. With a parameter
`random` it gets a seeded generator of its own for each cloud, so that clouds do not depend on those before them.
`simjudge.sim.sensors.filter_registry` says how filters of one's own are found.

A filter acts on the exact cloud before noise ("generate"), on the noisy cloud ("filter"), or after those, on what is
handed over ("access").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.field_types import conflict
from simjudge.sim.sensors.filter_registry import STAGES, FilterRegistry, FilterStep, Stage


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredCloud(ShortRepr):
    """What a lidar measures in one turn, before it becomes x, y and z. Columns of P returns, in the order of time."""

    sensor: str
    stamp: int  # nanoseconds, the end of the turn
    range: FloatArray  # (P,), metres
    # azimuth, elevation: (P,), radians, in the sensor's frame at the return's own instant.
    azimuth: FloatArray
    elevation: FloatArray
    intensity: FloatArray  # (P,), as the device reports it
    # ring, column: int64 (P,), of the beam.
    ring: IntArray
    column: IntArray
    time: FloatArray  # (P,), seconds from the stamp, 0 or before
    row: IntArray  # int64 (P,), of the return in the truth that is kept beside the cloud. A filter keeps it as it is

    def __len__(self) -> int:
        return len(self.range)

    def where(self, kept: npt.NDArray[np.bool_]) -> MeasuredCloud:
        """The cloud with some of its returns (kept (P,), which ones)."""
        return self.take(np.flatnonzero(kept))

    def take(self, rows: IntArray) -> MeasuredCloud:
        """The cloud with the returns of some rows (rows: int64, in any order)."""
        columns: dict[str, Any] = {
            field.name: getattr(self, field.name)[rows]
            for field in fields(self)
            if field.name not in {"sensor", "stamp"}
        }
        return replace(self, **columns)


CloudFilter = Callable[..., MeasuredCloud | None]
# All filters of clouds.
CLOUD_FILTERS: FilterRegistry[CloudFilter] = FilterRegistry("filter of clouds", frozenset({"random"}))
cloud_filter = CLOUD_FILTERS.register  # The decorator that registers a filter under its function's name; see the module


@dataclass(frozen=True)
class CloudFilterStep(FilterStep):
    """One filter of a lidar; see `FilterStep`."""

    registry: ClassVar[FilterRegistry[Any]] = CLOUD_FILTERS


@dataclass(frozen=True)
class CloudFilters:
    """The filters of one cloud."""

    steps: tuple[FilterStep, ...] = ()
    stamp: int = 0  # of the cloud, nanoseconds
    seed: tuple[int, ...] = (0,)  # of the cloud; each filter draws numbers of its own

    def run(self, cloud: MeasuredCloud, stage: Stage) -> MeasuredCloud | None:
        """Send a cloud through the filters of one stage: as it comes out; None where it is lost."""
        current: MeasuredCloud | None = cloud
        for number, step in enumerate(self.steps):
            if step.stage != stage or current is None:
                continue
            given: dict[str, Any] = dict(step.parameters)
            if "random" in CLOUD_FILTERS.supplied(step.name):
                given["random"] = np.random.default_rng((*self.seed, number))
            current = CLOUD_FILTERS.find(step.name)(current, **given)
            if current is not None and not isinstance(current, MeasuredCloud):
                raise UsageError(f"filter {step.name}: returns a {type(current).__name__}; a MeasuredCloud is needed")
        return current


NO_FILTERS = CloudFilters()


def try_cloud_filters(steps: tuple[FilterStep, ...]) -> None:
    """Run filters on two returns, so that a sensor file's parameters that make no sense are told as it is read."""
    one, row = np.ones(2), np.arange(2)
    trial = MeasuredCloud("trial", 0, one, one, one, one, row, row, -one, row)
    try:
        for stage in STAGES:
            CloudFilters(steps).run(trial, stage)
    except (UsageError, ValueError, TypeError, ArithmeticError, AttributeError, IndexError) as error:
        raise conflict(" ".join(str(error).split()), "filters") from error


@cloud_filter
def drop(cloud: MeasuredCloud, *, probability: float, random: np.random.Generator) -> MeasuredCloud | None:
    """Lose whole clouds at random, as a network does, each with a probability from 0 to 1."""
    _check_probability("drop", probability)
    return None if random.random() < probability else cloud


@cloud_filter
def drop_returns(cloud: MeasuredCloud, *, probability: float, random: np.random.Generator) -> MeasuredCloud:
    """Lose returns at random, each on its own with a probability from 0 to 1."""
    _check_probability("drop_returns", probability)
    return cloud.where(random.random(len(cloud)) >= probability)


@cloud_filter
def quantize_range(cloud: MeasuredCloud, *, step: float) -> MeasuredCloud:
    """Round ranges to a multiple of the device's resolution `step`, metres, above 0."""
    if not step > 0:
        raise UsageError(f"filter quantize_range: step {step}; a number above 0 is needed")
    return replace(cloud, range=np.rint(cloud.range / step) * step)


@cloud_filter
def shift_range(cloud: MeasuredCloud, *, offset: float) -> MeasuredCloud:
    """Add a constant (metres) to ranges, as a device does that is not calibrated; none becomes negative."""
    return replace(cloud, range=np.maximum(cloud.range + offset, 0.0))


@cloud_filter
def cut_sector(cloud: MeasuredCloud, *, begin: float, end: float, nearer: float = np.inf) -> MeasuredCloud:
    """Lose returns nearer than `nearer` metres from azimuth `begin` counter-clockwise to `end`, degrees."""
    angle = (np.degrees(cloud.azimuth) - begin) % 360
    return cloud.where(~((angle <= (end - begin) % 360) & (cloud.range < nearer)))


def _check_probability(name: str, probability: float) -> None:
    if not 0 <= probability <= 1:
        raise UsageError(f"filter {name}: probability {probability}; a number from 0 to 1 is needed")
