"""Masks on one side, boxes on the other: like contexts stay alike, and what was painted is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_pair import made

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks
from simjudge.judging.compare_settings import CompareSettings, SweepSettings
from simjudge.judging.comparison import compare_sets
from simjudge.judging.live.judge import LiveJudge
from simjudge.judging.pair import compare_pair
from simjudge.judging.sweep import sweep_sets

SETTINGS = {"draws": 0, "patch": (60, 60), "theta": 0.7}


def masked(frames: FrameSet, share: float = 1.0) -> FrameSet:
    """The set with a mask of every object, or of the first of them: the left half of its box."""
    objects = frames.objects
    crops, origins = [], []
    for row, (x0, y0, x1, y1) in enumerate(np.floor(objects.box + 0.5).astype(int).tolist()):
        crop = np.ones((max(1, y1 - y0), max(1, (x1 - x0) // 2)), np.bool_)
        crops.append(crop if row < share * len(objects) else None)
        origins.append((x0, y0))
    return replace(frames, objects=replace(objects, masks=Masks.from_crops(crops, origins)))


@pytest.mark.parametrize("preset", ["paper", "cpd"])
@pytest.mark.parametrize(
    ("of_a", "of_b", "choice", "painted"),
    [
        (1, 0, "auto", "boxes"),
        (0, 1, "auto", "boxes"),
        (0.5, 1, "auto", "boxes"),
        (1, 1, "auto", "masks"),
        (0, 0, "auto", "boxes"),
        (1, 0, "use", "masks and boxes"),
        (1, 1, "use", "masks"),
        (0, 0, "use", "boxes"),
        (1, 1, "ignore", "boxes"),
        (1, 0, "ignore", "boxes"),
    ],
)
def test_what_is_painted(of_a, of_b, choice, painted, preset):
    a, b = made(1), made(2)
    sets = [masked(frames, share) if share else frames for frames, share in ((a, of_a), (b, of_b))]
    lines: list[str] = []
    found = compare_sets(*sets, CompareSettings(masks=choice, preset=preset, **SETTINGS), log=lines.append)
    assert found.parameters["masks"] == choice
    assert found.parameters["painted"] == painted
    assert any("painted from" in line for line in lines) == bool(of_a or of_b)
    plain = compare_pair(a, b, CompareSettings(preset=preset, **SETTINGS)).numbers.overall
    if painted == "boxes":
        assert found.result.numbers.overall.overlap_a == plain.overlap_a
        assert found.result.numbers.overall.compared == plain.compared > 0
    if painted == "masks and boxes":
        assert any("mixed geometry" in line for line in lines)
        assert found.result.numbers.overall.overlap_a != plain.overlap_a


def test_a_sweep_paints_the_same():
    sets = (masked(made(1)), made(2))
    settings = SweepSettings(thetas=(0.7,), patches=((60, 60),), **SETTINGS)
    found = sweep_sets(*sets, settings)
    assert found.content["parameters"]["painted"] == "boxes"
    alone = compare_pair(*sets, CompareSettings(**SETTINGS)).numbers.overall
    assert found.content["curves"][0]["overall"]["mean_w1"] == alone.mean_w1


@pytest.mark.parametrize(
    ("of_reference", "of_live", "choice"),
    [(1, 1, "auto"), (1, 0, "auto"), (0, 1, "auto"), (1, 0, "use"), (1, 1, "ignore")],
)
@pytest.mark.parametrize("live_is_a", [False, True])
def test_live_frames_are_painted_as_files_are(of_reference, of_live, choice, live_is_a):
    reference, live = (masked(made(k), share) if share else made(k) for k, share in ((1, of_reference), (2, of_live)))
    settings = CompareSettings(masks=choice, **SETTINGS)
    judge = LiveJudge(reference, settings.method, live_is_a=live_is_a, masks=choice)
    for frame in range(len(live)):
        judge.add_frame(live.take([frame]))
    sets = (live, reference) if live_is_a else (reference, live)
    expected = compare_pair(*sets, settings)
    assert judge.numbers().overall.mean_w1 == expected.numbers.overall.mean_w1
    assert judge.painted == expected.painted


def test_a_live_object_without_a_mask_that_comes_late_is_counted():
    settings = CompareSettings(**SETTINGS)
    judge, live = LiveJudge(masked(made(1)), settings.method), made(2)
    for number in range(len(live)):
        frame = live.take([number])
        judge.add_frame(masked(frame) if number < 3 else frame)
    assert judge.painted.name == "masks and boxes"
    assert any("no mask, painted as boxes" in line for line in judge.losses.lines())
