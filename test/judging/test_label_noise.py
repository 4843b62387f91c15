"""Errors of labels: read from text, added to boxes, and extrapolated to none."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from random_frames import made

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.object_tables import Masks, Objects
from simjudge.detectors.iou import box_iou
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.label_noise import LabelError, extrapolations, price_labels
from simjudge.judging.pair import compare_pair, judge_sets
from simjudge.method.verdicts import Verdict

SETTINGS = CompareSettings(patch=40, theta=0.4, draws=60, block=0.0)


@pytest.mark.parametrize(
    ("text", "edge_px", "missed"),
    [("1.5px,2%missed", 1.5, 0.02), ("2px", 2.0, 0.0), (" 5 % missed ", 0.0, 0.05), ("10%missed,3px", 3.0, 0.1)],
)
def test_an_error_is_read_and_written(text, edge_px, missed):
    error = LabelError.parse(text)
    assert (error.edge_px, error.missed) == (edge_px, pytest.approx(missed))
    assert LabelError.parse(str(error)) == error


@pytest.mark.parametrize(
    "text", ["", "1.5", "px", "1.5px,2px", "1..5px", ".px", "-1px", "0px", "200px", "95%missed", "2%"]
)
def test_what_is_no_error_is_refused_in_one_line(text):
    with pytest.raises(UsageError, match="label error") as caught:
        LabelError.parse(text)
    assert "\n" not in str(caught.value)


def test_added_error_has_its_variance_and_misses_its_share():
    box = np.tile([100.0, 100.0, 400.0, 300.0], (20_000, 1))
    objects = Objects.build(np.arange(20_000), np.zeros(20_000, np.int64), box)
    noisy, kept = LabelError(3.0, 0.1).apply(objects, 2.0, np.random.default_rng(0))
    np.testing.assert_allclose((noisy.box - box[kept]).std(0), 3 * math.sqrt(2), rtol=0.03)
    assert len(kept) / 20_000 == pytest.approx(0.81, abs=0.01)
    assert noisy.frame.tolist() == kept.tolist()


def test_small_boxes_stay_boxes():
    box = np.tile([10.0, 10.0, 12.0, 12.0], (500, 1))
    noisy, _ = LabelError(20.0).apply(
        Objects.build(np.arange(500), np.zeros(500, int), box), 1.0, np.random.default_rng(0)
    )
    assert ((noisy.box[:, 2:] - noisy.box[:, :2]) >= 1.0 - 1e-9).all()


def test_extrapolations_hit_a_parabola_of_the_variance_and_a_line_of_the_deviation():
    levels = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    variance = levels + 1
    parabola, line = extrapolations(levels)
    assert parabola @ (0.3 - 0.04 * variance + 0.002 * variance**2) == pytest.approx(0.3)
    assert line @ (0.3 - 0.04 * np.sqrt(variance)) == pytest.approx(0.3)
    for weights in (parabola, line):
        assert weights.sum() == pytest.approx(1.0)


def test_numbers_as_labelled_are_those_of_a_comparison_and_the_price_is_that_of_a_plain_loop():
    a, b = made(1, 20), made(2, 20)
    of_a, of_b, painted = judge_sets(a, b, SETTINGS, Losses(), precision=False)
    found = price_labels(of_a, of_b, LabelError(2.0), SETTINGS, painted)
    alone = compare_pair(a, b, SETTINGS, precision=False).numbers.overall
    assert found.as_labelled.mean_w1 == pytest.approx(alone.mean_w1)
    assert found.as_labelled.gap == pytest.approx(alone.gap)
    fallen = []
    for number in range(4):
        noisy, _ = LabelError(2.0).apply(b.objects, 1.0, np.random.default_rng([0, 4, number, 1]))
        judged = judge_sets(a, replace(b, objects=noisy), SETTINGS, Losses(), precision=False)[1]
        fallen.append(of_b.assignment.performance.mean() - judged.assignment.performance.mean())
    assert found.price == pytest.approx(np.mean(fallen))
    assert found.invented == 0.0
    assert found.price > 0
    assert box_iou(b.objects.box, b.objects.box).min() == 1.0


def test_missing_labels_make_inventions():
    a, b = made(1, 20), made(2, 20)
    of_a, of_b, painted = judge_sets(a, b, SETTINGS, Losses(), precision=False)
    found = price_labels(of_a, of_b, LabelError(missed=0.25), SETTINGS, painted)
    # Four objects a frame, nearly all found.
    assert found.invented == pytest.approx(1.0, abs=0.35)
    assert found.low <= found.gap <= found.high


def test_labels_that_are_no_boxes_are_refused():
    a, b = made(1, 8), made(2, 8)
    masked = replace(a, objects=replace(a.objects, masks=Masks.none(len(a.objects))))
    of_a, of_b, painted = judge_sets(masked, b, SETTINGS, Losses(), precision=False)
    with pytest.raises(SimjudgeError, match="boxes in pictures alone"):
        price_labels(of_a, of_b, LabelError(1.0), SETTINGS, painted)


def test_where_nothing_is_alike_nothing_is_corrected():
    of_a, of_b, painted = judge_sets(made(1, 8), made(2, 8, far=True), SETTINGS, Losses(), precision=False)
    found = price_labels(of_a, of_b, LabelError(0.1), SETTINGS, painted)
    assert found.gap is None
    assert found.verdict in (Verdict.NO_OVERLAP, Verdict.TOO_FEW)
