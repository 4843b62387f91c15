"""The bench of depth cameras, small: what was planted is mostly within the intervals."""

import importlib.util
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "bench/depth_cameras.py"


def test_intervals_of_a_few_trials_hold():
    spec = importlib.util.spec_from_file_location("depth_cameras", SOURCE)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    held = [bench.trial((bench.DESIGNS[1], seed)) for seed in range(6)]
    assert sum(map(sum, held)) >= 0.8 * 5 * len(held)
    (line,) = [line for line in bench.run(2, 0, 1) if line.startswith("pattern")]
    assert line.count("(") == 5
