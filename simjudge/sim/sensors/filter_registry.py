"""Filters of cameras and of readings: names, parameters from a file, other people's modules; and those of readings.

A package names its module in the entry point group `simjudge.filters`. A module without a package is named by
`simjudge --plugin MODULE`; child processes (nodes, workers) find it in the environment variable SIMJUDGE_PLUGINS. All
of them are imported when a filter is asked for that nobody knows yet; importing registers what they decorate.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.text import Json, JsonMapping, near_name, nearest_name, one_line

GROUP = "simjudge.filters"
VARIABLE = "SIMJUDGE_PLUGINS"


def add_plugin(module: str) -> None:
    """Import a module by name (the working folder counts too), here and in child processes."""
    known = _named_modules()
    if module not in known:
        os.environ[VARIABLE] = os.pathsep.join([*known, module])
    _load_named(module)


def load_plugins() -> None:
    """Import all modules that are named by the environment or by an entry point."""
    for module in _named_modules():
        _load_named(module)
    for entry in entry_points(group=GROUP):
        _load(entry.module)


def _named_modules() -> list[str]:
    return [module for module in os.environ.get(VARIABLE, "").split(os.pathsep) if module]


def _load_named(module: str) -> None:
    """Import a module that may lie where a person works, as `python -m` has it."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    _load(module)


def _load(module: str) -> None:
    try:
        importlib.import_module(module)
    except Exception as error:
        why = one_line(error) or type(error).__name__
        raise UsageError(f"plugin {one_line(module)}: cannot be imported ({why})") from error


AnyFilter = TypeVar("AnyFilter", bound=Callable[..., Any])
OneFilter = TypeVar("OneFilter", bound=Callable[..., Any])


class FilterRegistry(Generic[AnyFilter]):
    """Filters by name. A filter is a function of what it filters, its first parameter, and of keyword parameters.

    Attributes:
        functions: all filters that are loaded, by name.
    """

    def __init__(self, noun: str, supplied: frozenset[str], homes: tuple[str, ...] = ()) -> None:
        """Begin without filters.

        Args:
            noun: what messages call one.
            supplied: parameters that simjudge gives where a filter has them, a file cannot.
            homes: modules whose filters join those of the registry's own when one is asked for that is not there yet.
        """
        self.functions: dict[str, AnyFilter] = {}
        self._noun, self._supplied, self._homes = noun, supplied, homes

    def register(self, function: OneFilter) -> OneFilter:
        """Register a filter under its function's name; to be used as a decorator."""
        self.functions[function.__name__] = function  # type: ignore[assignment] # decorators keep the exact type
        return function

    def load_own(self) -> None:
        """Have all of simjudge's own."""
        for home in self._homes:
            importlib.import_module(home)

    def find(self, name: str) -> AnyFilter:
        """The filter of a name, from simjudge or from a plugin."""
        if name not in self.functions:
            self.load_own()
        if name not in self.functions:
            load_plugins()
        if name not in self.functions:
            raise UsageError(f"no {self._noun} is called {one_line(name)!r}{nearest_name(name, self.functions)}")
        return self.functions[name]

    def parameters(self, name: str) -> dict[str, inspect.Parameter]:
        """The parameters of a filter that a file can give."""
        _, *others = inspect.signature(self.find(name)).parameters.items()
        return {key: parameter for key, parameter in others if key not in self._supplied}

    def supplied(self, name: str) -> frozenset[str]:
        """The parameters of a filter that simjudge gives."""
        return self._supplied & inspect.signature(self.find(name)).parameters.keys()

    def parameter_types(self, name: str) -> dict[str, str]:
        """The parameters of a filter that are numbers or texts, with the type's name in JSON schemas."""
        hints = typing.get_type_hints(self.find(name))
        found = {parameter: _schema_type(hints.get(parameter)) for parameter in self.parameters(name)}
        return {parameter: kind for parameter, kind in found.items() if kind}

    def tables(self) -> list[Json]:
        """JSON schemas of simjudge's own filters with their parameters: `name: {parameter: value, ...}`."""
        self.load_own()
        tables: list[Json] = []
        for name, function in sorted(self.functions.items()):
            if not function.__module__.startswith("simjudge."):
                continue
            properties = {parameter: {"type": kind} for parameter, kind in self.parameter_types(name).items()}
            needed = [key for key, parameter in self.parameters(name).items() if parameter.default is parameter.empty]
            table = {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}
            tables.append(
                {
                    "type": "object",
                    "properties": {name: table},
                    "required": [name],
                    "additionalProperties": False,
                    "description": str(inspect.getdoc(function)).splitlines()[0],
                }
            )
        return tables

    def check(self, name: str, given: Mapping[str, object]) -> None:
        """Check that a filter exists, has the parameters that are given, and is given those that it needs."""
        known = self.parameters(name)
        unknown = next((key for key in given if key not in known), None)
        if unknown is not None:
            has = near_name(unknown, known) or f"; it has {', '.join(known) or 'none'}"
            raise UsageError(f"filter {name}: no parameter {one_line(unknown)!r}{has}")
        for key, parameter in known.items():
            if parameter.default is parameter.empty and key not in given:
                raise UsageError(f"filter {name}: {key} is missing")


def _schema_type(hint: Any) -> str:
    parts = {hint, *typing.get_args(hint)}
    return "number" if parts & {int, float} else "string" if str in parts else ""


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
    parameters: JsonMapping = field(default_factory=dict, hash=False)
    stage: Stage = "filter"

    def __post_init__(self) -> None:
        self.registry.check(self.name, self.parameters)


class FilterChain:
    """The filters of one stage of one sensor, with what they keep from reading to reading."""

    def __init__(self, steps: tuple[FilterStep, ...], stage: Stage, seed: tuple[int, ...]) -> None:
        self._steps: list[tuple[ReadingFilter, dict[str, object]]] = []
        for number, step in enumerate(steps):
            function = READING_FILTERS.find(step.name)
            given: Json = dict(step.parameters)
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
def low_pass(reading: SensorReading, *, cutoff: float, memory: Json) -> SensorReading:
    """Smooth as a first-order filter of cutoff Hz: each reading moves to the new value by 1 - exp(-2 pi cutoff dt)."""
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
    """Lose readings at random, each on its own with a probability from 0 to 1."""
    if not 0 <= probability <= 1:
        raise UsageError(f"filter drop: probability {probability}; a number from 0 to 1 is needed")
    return None if random.random() < probability else reading


def _require_positive(name: str, parameter: str, value: float) -> None:
    if not value > 0:
        raise UsageError(f"filter {name}: {parameter} {value}; a number above 0 is needed")
