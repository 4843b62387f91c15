"""The known answers: a slow literal oracle's (to 1e-9) and the authors' own tool's (to 1e-6)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from simjudge.data.sets import read_set
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.pair import PairResult, compare_pair

GOLDEN = Path(__file__).parents[1] / "golden"
NUMBERS = (
    "n_a",
    "n_b",
    "compared",
    "mean_w1",
    "median_w1",
    "max_w1",
    "weighted_w1",
    "mean_abs_mean_diff",
    "overlap_a",
    "overlap_b",
    "n_overlap_a",
    "n_overlap_b",
    "mean_batch_a",
    "mean_batch_b",
    "mean_performance_a",
    "mean_performance_b",
)
CHANGES = {
    "class_blind": {"class_blind": True},
    "mask_1.5": {"mask_factor": 1.5},
    "cpd": {"preset": "cpd"},
}


@pytest.fixture(scope="module")
def expected() -> dict:
    return json.loads((GOLDEN / "expected.json").read_text())


def _compare(**settings) -> PairResult:
    a, b = (read_set(GOLDEN / name) for name in ("a.json", "b.json"))
    return compare_pair(a, b, CompareSettings(draws=0, **settings), precision=False)


@pytest.mark.parametrize("name", ["default", "theta_0.6", "patch_80", "class_blind", "mask_1.5", "cpd"])
def test_every_setting_equals_the_oracle(expected, name):
    oracle = expected["oracle"][name]
    result = _compare(theta=oracle["theta"], patch=oracle["patch"], **CHANGES.get(name, {}))
    assert result.numbers.by_class.keys() == oracle["by_class"].keys()
    for key, known in oracle["by_class"].items():
        ours = result.numbers.by_class[key]
        for field in NUMBERS:
            assert getattr(ours, field) == pytest.approx(known[field], abs=1e-9), field
        one = result.classes[int(key)]
        compared = one.comparison.compared
        np.testing.assert_allclose(one.comparison.w1[compared], known["w1"], atol=1e-9)
        np.testing.assert_array_equal(one.comparison.batch[compared], known["batch_sizes"])
        frame = result.a.frames.objects.frame
        rows = one.rows_a[compared]
        assert [[int(frame[r]), int(r - np.searchsorted(frame, frame[r]))] for r in rows] == known["anchors"]


def test_the_cpd_preset_equals_the_authors_tool(expected):
    tool = expected["cpd_tool"]
    for key, known in tool.items():
        result = _compare(preset="cpd", theta=known["theta"], patch=known["patch"])
        ours, comparison = result.numbers.by_class[key], result.classes[int(key)].comparison
        for field in ("compared", "mean_w1", "weighted_w1", "mean_abs_mean_diff"):
            assert getattr(ours, field) == pytest.approx(known[field], abs=1e-6), field
        assert [ours.mean_batch_a, ours.mean_batch_b] == pytest.approx(known["mean_batch"], abs=1e-6)
        np.testing.assert_allclose(np.sort(comparison.w1[comparison.compared]), known["w1_sorted"], atol=1e-6)
