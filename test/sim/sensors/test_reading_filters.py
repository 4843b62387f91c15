"""Filters of readings: what each does, by hand."""

import math

import numpy as np
import pytest

from simjudge.sim.sensors import filter_registry as reading_filters
from simjudge.sim.sensors.filter_registry import FilterChain, FilterStep, SensorReading


def reading(values, stamp=0):
    values = np.asarray(values, float)
    return SensorReading("s", "gyroscope", stamp, stamp, values, values)


def chain(*steps, stage="filter", seed=(1, 2)):
    return FilterChain(tuple(FilterStep(name, parameters, stage) for name, parameters in steps), stage, seed)


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("saturate", {"limit": 1.5}, [1.0, -1.5, 1.5]),
        ("quantize", {"step": 0.5}, [1.0, -2.0, 2.5]),
        ("scale", {"factor": -2}, [-2.0, 4.0, -5.2]),
        ("low_pass", {"cutoff": 3}, [1.0, -2.0, 2.6]),
        ("drop", {"probability": 0}, [1.0, -2.0, 2.6]),
    ],
)
def test_one_reading(name, parameters, expected):
    assert chain((name, parameters)).run(reading([1.0, -2.0, 2.6])).values == pytest.approx(expected)


def test_filters_act_in_their_order():
    steps = ("scale", {"factor": 2.0}), ("saturate", {"limit": 1.0})
    assert chain(*steps).run(reading([0.8])).values == 1.0
    assert chain(*reversed(steps)).run(reading([0.8])).values == 1.6


def test_a_low_pass_answers_a_step_as_its_formula_says():
    """1 - exp(-2 pi f t) after the time t, whatever the rate."""
    smooth = chain(("low_pass", {"cutoff": 2.0}))
    smooth.run(reading([0.0]))
    for stamp in range(1_000_000, 101_000_000, 1_000_000):
        out = smooth.run(reading([1.0], stamp))
    assert out.values == pytest.approx(1 - math.exp(-2 * math.pi * 2.0 * 0.1))


def test_lost_readings_are_seeded_and_as_many_as_asked():
    def lost(seed):
        filters = chain(("drop", {"probability": 0.3}), seed=seed)
        return [filters.run(reading([0.0])) is None for _ in range(5000)]

    assert lost((1, 2)) == lost((1, 2)) != lost((2, 2))
    assert sum(lost((1, 2))) == pytest.approx(1500, abs=4 * math.sqrt(5000 * 0.3 * 0.7))


def test_a_stage_runs_its_own_filters_only():
    steps = (FilterStep("scale", {"factor": 2}, "generate"), FilterStep("scale", {"factor": 3}, "access"))
    values = {stage: FilterChain(steps, stage, (0,)).run(reading([1.0])).values for stage in reading_filters.STAGES}
    assert values == {"generate": 2, "filter": 1, "access": 3}
