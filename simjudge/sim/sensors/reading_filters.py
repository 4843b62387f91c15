"""Filters of readings by name: what a device, its driver or its network does to what was measured.

A filter is a function decorated with `reading_filter`. It takes a reading and keyword parameters and returns another
reading, or None for one that is lost. With a parameter `random` it gets the sensor's own seeded generator for this
filter; with a parameter `memory` it gets a dictionary that it keeps from reading to reading. `filter_registry` says how
filters of one's own are found.

A filter acts at one of three stages: on the truth before noise ("generate"), on the noisy reading ("filter"), or on
what is handed over when its lag is over ("access").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from simjudge.core.display import ShortRepr
from simjudge.core.errors import UsageError
from simjudge.sim.sensors.filter_registry import FilterRegistry

Stage = Literal["generate", "filter", "access"]
STAGES: tuple[Stage, ...] = ("generate", "filter", "access")


@dataclass(frozen=True, eq=False, repr=False)
class SensorReading(ShortRepr):
    """One reading of one sensor."""

    # sensor, kind: its name, and what it is.
    sensor: str
    kind: str
    stamp: int  # nanoseconds, the end of its window
    available: int  # nanoseconds from which on it can be read
    values: npt.NDArray[Any]  # what the sensor says; its shape and units depend on the kind
    truth: npt.NDArray[Any]  # the same without noise and filters


ReadingFilter = Callable[..., SensorReading | None]
# All filters of readings.
READING_FILTERS: FilterRegistry[ReadingFilter] = FilterRegistry("filter of readings", frozenset({"random", "memory"}))
# The decorator that registers a filter under its function's name; see the module.
reading_filter = READING_FILTERS.register


@dataclass(frozen=True)
class FilterStep:
    """One filter of a sensor."""

    registry: ClassVar[FilterRegistry[Any]] = READING_FILTERS

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    stage: Stage = "filter"

    def __post_init__(self) -> None:
        self.registry.check(self.name, self.parameters)


class FilterChain:
    """The filters of one stage of one sensor, with what they keep from reading to reading."""

    def __init__(self, steps: tuple[FilterStep, ...], stage: Stage, seed: tuple[int, ...]) -> None:
        self._steps: list[tuple[ReadingFilter, dict[str, object]]] = []
        for number, step in enumerate(steps):
            function = READING_FILTERS.find(step.name)
            given: dict[str, Any] = dict(step.parameters)
            wanted = READING_FILTERS.supplied(step.name)
            if "random" in wanted:
                given["random"] = np.random.default_rng((*seed, number))
            if "memory" in wanted:
                given["memory"] = {}
            if step.stage == stage:
                self._steps.append((function, given))

    def __bool__(self) -> bool:
        return bool(self._steps)

    def run(self, reading: SensorReading) -> SensorReading | None:
        """Send a reading through the filters: as it comes out; None where it is lost."""
        current: SensorReading | None = reading
        for function, given in self._steps:
            if current is None:
                return None
            current = function(current, **given)
        return current


@reading_filter
def saturate(reading: SensorReading, *, limit: float) -> SensorReading:
    """Keep each component within plus and minus a limit, as a device of limited range does."""
    _require_positive("saturate", "limit", limit)
    return replace(reading, values=np.clip(reading.values, -limit, limit))


@reading_filter
def quantize(reading: SensorReading, *, step: float) -> SensorReading:
    """Round each component to a multiple of the device's resolution."""
    _require_positive("quantize", "step", step)
    return replace(reading, values=np.rint(reading.values / step) * step)


@reading_filter
def low_pass(reading: SensorReading, *, cutoff: float, memory: dict[str, Any]) -> SensorReading:
    """Smooth as a first-order filter does: each reading moves towards the new value by 1 - exp(-2 pi cutoff dt).

    Args:
        cutoff: Hz, above 0: the frequency that is weakened by 3 dB.
    """
    _require_positive("low_pass", "cutoff", cutoff)
    values = reading.values
    if memory:
        share = -np.expm1(-2 * np.pi * cutoff * (reading.stamp - memory["stamp"]) * 1e-9)
        values = memory["values"] + share * (values - memory["values"])
    memory.update(values=values, stamp=reading.stamp)
    return replace(reading, values=values)


@reading_filter
def scale(reading: SensorReading, *, factor: float) -> SensorReading:
    """Multiply each component, as a wrong scale factor does."""
    return replace(reading, values=reading.values * factor)


@reading_filter
def drop(reading: SensorReading, *, probability: float, random: np.random.Generator) -> SensorReading | None:
    """Lose readings at random, each on its own.

    Args:
        probability: 0 to 1, of losing a reading.
    """
    if not 0 <= probability <= 1:
        raise UsageError(f"filter drop: probability {probability}; a number from 0 to 1 is needed")
    return None if random.random() < probability else reading


def _require_positive(name: str, parameter: str, value: float) -> None:
    if not value > 0:
        raise UsageError(f"filter {name}: {parameter} {value}; a number above 0 is needed")
