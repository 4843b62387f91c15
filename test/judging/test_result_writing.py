"""What result.json says beside the numbers: units and unlike objects, saved and read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from made_results import made_set

import simjudge as sj
from simjudge.core.frames import FrameSet
from simjudge.method.balance import UNBALANCED


def _mostly(frames: FrameSet, rng: np.random.Generator, *, small: bool) -> FrameSet:
    """The set with a fifth of its large objects, or of its small ones."""
    height = frames.objects.box[:, 3] - frames.objects.box[:, 1]
    kept = rng.random(len(height)) < np.where((height < 45) == small, 1.0, 0.2)
    return replace(frames, objects=frames.objects.take(np.flatnonzero(kept)))


def test_unlike_objects_and_units_are_saved_and_read_again(tmp_path: Path) -> None:
    a, b = (made_set(name, seed, 60, classes=(1,), pictures=False) for name, seed in (("a", 1), ("b", 2)))
    rng = np.random.default_rng(0)
    a, b = _mostly(a, rng, small=True), _mostly(b, rng, small=False)
    made = sj.compare(a, b, tmp_path / "r", theta=0.3, patch=60, draws=50)
    again = sj.load_result(tmp_path / "r")
    [saved] = again.content["balance"].values()
    [balance] = made.comparison.result.balance.values()
    assert saved == {"differences": balance.differences, "adjusted": balance.model is not None}
    assert saved["differences"]["log box area"] < -UNBALANCED
    assert saved["adjusted"]
    assert again.numbers.overall.adjusted_w1 is not None
    assert again.balance == made.balance
    assert "B's objects are larger than A's" in again.balance
    assert (again.inputs["a"]["units"], again.inputs["a"]["unit_kind"]) == (len(np.unique(a.objects.frame)), "frames")
