"""The benches of localizations and trackers in a small form: false gaps are rare, planted ones are found."""

from dataclasses import replace

import pytest
from test_verdict_designs import bench_module

runs, sequences = bench_module("trajectory_runs"), bench_module("track_sequences")


def gaps(line):
    found, _, total = line.split(" gap in " if " gap in " in line else " found in ")[1].split()[:3]
    return int(found), int(total)


@pytest.mark.slow
def test_false_gaps_of_localizations_are_rare_and_planted_ones_are_found():
    designs = [replace(runs.DESIGNS[k], seconds=seconds) for k, seconds in ((2, 30), (6, 30))]
    like, differs = runs.run_designs(designs, 4, 0, 1)
    assert "false gap" in like
    assert gaps(like)[0] <= 1
    assert gaps(differs)[0] >= 4


@pytest.mark.slow
def test_false_gaps_of_trackers_are_rare_and_planted_ones_are_found():
    alike = replace(sequences.DESIGNS[0], frames=120)
    designs = [alike, replace(alike, sim_switch=0.4)]
    like, differs = sequences.run_designs(designs, 4, 0, 1)
    assert gaps(like)[0] <= 1
    assert gaps(differs)[0] >= 3
