"""How often the nearer of several simulations is named, in a few trials of the bench."""

import importlib.util
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


def bench_module(name):
    """A module of bench/, under its own name: its neighbours import it so."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


bench_module("verdict_recordings")
bench_module("verdict_designs")
simulations = bench_module("simulations")
try_once, SIMULATIONS = simulations.try_once, simulations.SIMULATIONS


@pytest.mark.parametrize("name", ["frames_60_equal_0.1", "poses_60_equal_0.1", "frames_60_three_equal"])
def test_simulations_of_one_gap_are_seldom_told_apart(name):
    found = [try_once(name, number, seed=3, draws=100) for number in range(20)]
    assert sum(one.false for one in found) <= 3
    assert sum(one.held for one in found) >= 0.85 * sum(one.pairs for one in found)


def test_a_simulation_that_is_nearer_by_a_tenth_is_named():
    found = [try_once("poses_60_0.1", number, seed=3, draws=100) for number in range(8)]
    assert sum(one.named for one in found) >= 7
    assert not any(one.false for one in found)


def test_gaps_of_the_designs_are_known():
    assert SIMULATIONS["frames_60_equal_unlike"].truth() == pytest.approx([0.098, 0.098], abs=0.004)
