"""Whether labels' errors are priced rightly, in a few trials of the bench."""

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
label_noise = bench_module("label_noise")


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_gap_without_the_labels_error_is_held_and_nearer_than_that_as_labelled(gap):
    design = label_noise.DESIGNS[f"60_1.5px,2%missed_own1_gap{gap:g}"]
    truth = 0.092 if gap else 0.0
    found = [design.try_once(number, seed=1, draws=60) for number in range(8)]
    off = [abs(one.gap - truth) for one in found]
    plain = [abs(one.as_labelled.gap - truth) for one in found]
    assert sum(one.low <= truth <= one.high for one in found) >= 7
    assert sum(off) < 0.6 * sum(plain)
    named = sum(one.p_value <= 0.05 for one in found)
    assert named >= 6 if gap else named <= 1


def test_true_gap_of_a_design_is_that_of_large_sets(monkeypatch):
    monkeypatch.setattr(label_noise, "_LARGE", 300)
    design = label_noise.DESIGNS["60_1.5px,2%missed_own1_gap0.2"]
    assert label_noise.true_gap.__wrapped__(design) == pytest.approx(0.184, abs=0.03)
    assert label_noise.true_gap(label_noise.DESIGNS["60_1.5px,2%missed_own1_gap0"]) == 0.0
