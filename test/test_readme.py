"""The README's table is what simjudge prints of the recordings in bags/."""

from pathlib import Path

import pytest

import simjudge as sj

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_table_is_that_of_the_sample_recordings():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith(" class     n A / B"))
    detector = ROOT / "config" / "detectors" / "cones_red_green.yaml"
    judged = [sj.detect(ROOT / "bags" / name, detector) for name in ("real_stand_in.mcap", "sim.mcap")]
    printed = [line.split() for line in str(sj.compare(*judged)).splitlines()]
    for line in lines[head + 1 : head + 4]:
        words = line.split()
        assert any(row[: len(words)] == words for row in printed), (words, printed)
