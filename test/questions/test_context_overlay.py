"""Live contexts on an image: fixed colours, boxes where the labels are, any image size."""

import dataclasses
import math

import numpy as np
import pytest
from random_frames import made

from simjudge.judging.live.judge import LiveJudge
from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
from simjudge.method.method import Method
from simjudge.method.verdicts import Verdict
from simjudge.page.chart_data import DARK
from simjudge.questions.watch import (
    NO_W1_COLOUR,
    OUTSIDE_COLOUR,
    SummaryLine,
    context_colours,
    draw_contexts,
    summary_lines,
    w1_colour,
)
from simjudge.results.metric_rows import verdict_words


def test_colours_are_fixed_and_differ():
    assert [w1_colour(w) for w in (0.0, 0.25, 0.5, 1.0)] == [(0, 114, 178), (240, 228, 66), (213, 94, 0), (213, 94, 0)]
    assert w1_colour(0.125) == (120, 171, 122)
    assert w1_colour(math.nan) == NO_W1_COLOUR
    judge = LiveJudge(made(1), Method(theta=0.3))
    judged = judge.add_frame(made(2, frames=1))
    judged = dataclasses.replace(
        judged, w1=np.array([0.0, 0.5, np.nan, np.nan]), in_overlap=np.array([True, True, True, False])
    )
    assert context_colours(judged).tolist() == [[0, 114, 178], [213, 94, 0], list(NO_W1_COLOUR), list(OUTSIDE_COLOUR)]
    image = draw_contexts(np.zeros((480, 640, 3), np.uint8), judged)
    seen = {tuple(colour) for colour in image.reshape(-1, 3).tolist()}
    assert {(0, 114, 178), (213, 94, 0), NO_W1_COLOUR, OUTSIDE_COLOUR} <= seen
    left, _, _, bottom = np.floor(judged.frames.objects.box + 0.5).astype(int)[2]
    assert tuple(image[bottom - 1, left]) == NO_W1_COLOUR
    small = draw_contexts(np.zeros((240, 320, 3), np.uint8), judged)
    assert small.shape == (240, 320, 3)


def entry(verdict, w1=0.25, gap=0.125):
    gaps = {"gap": gap, "gap_low": 0.0625, "gap_high": 0.1875} if verdict != "not_tested" else {}
    return EntryNumbers(mean_w1=w1, overlap_a=1.0, overlap_b=0.5, verdict=Verdict(verdict), margin=0.05, **gaps)


def frame():
    return LiveJudge(made(1), Method(theta=0.3)).add_frame(made(2, frames=1))


@pytest.mark.parametrize("verdict", Verdict)
def test_an_image_says_the_verdict_in_the_words_and_the_colour_of_the_report(verdict):
    (line,) = summary_lines(ComparisonNumbers({"0": entry(verdict)}, entry(verdict)), {"0": "cone"})
    assert line.headline == f"all classes: {verdict_words(verdict, 0.05)}"
    gap = "" if verdict == Verdict.NOT_TESTED else "gap 0.125 IoU (95 %: 0.062 to 0.188), "
    assert line.text == f"{line.headline}, {gap}W1 0.250, overlap 1.000 / 0.500"
    red, green, blue = line.colour
    assert f"#{red:02x}{green:02x}{blue:02x}" == DARK[verdict.colour]
    plain, drawn = (draw_contexts(np.zeros((480, 640, 3), np.uint8), frame(), lines) for lines in ([], [line]))
    changed = np.argwhere((plain != drawn).any(2))
    assert changed[:, 0].min() > 400
    band = drawn[changed[:, 0].min() :]
    assert (band == line.colour).all(2).mean() > 0.8, "a band in the verdict's colour, as wide as the image"
    assert tuple(drawn[-1, -1]) == tuple(drawn[-1, 0]) == line.colour


@pytest.mark.parametrize("width", [320, 640, 1280])
def test_a_line_ends_before_the_edge_of_an_image_of_any_size(width):
    line = SummaryLine("all classes: " + "predicts " * 9, "gap 0.125 IoU (95 %: 0.062 to 0.188), " * 4, (0, 200, 0))
    blank = np.full((width * 9 // 16, width, 3), 7, np.uint8)
    plain, drawn = (draw_contexts(blank, frame(), lines) for lines in ([], [line]))
    top = np.flatnonzero((plain != drawn).any((1, 2))).min()
    assert (drawn[top:, -1] == line.colour).all()


def test_each_class_has_a_line_and_many_are_cut():
    numbers = ComparisonNumbers({str(k): entry("too_few", None, None) for k in range(40)}, entry("gap"))
    lines = summary_lines(numbers, {"0": "cone"}, "score")
    assert [line.text for line in lines[:3]] == [
        "all classes: gap, gap 0.125 score (95 %: 0.062 to 0.188), W1 0.250, overlap 1.000 / 0.500",
        "cone: too few, W1 -, overlap 1.000 / 0.500",
        "1: too few, W1 -, overlap 1.000 / 0.500",
    ]
    plain, drawn = (draw_contexts(np.zeros((240, 320, 3), np.uint8), frame(), cut) for cut in ([], lines))
    changed = np.flatnonzero((plain != drawn).any((1, 2)))
    assert 120 <= changed.min() < 140
    assert tuple(drawn[-1, 0]) == (255, 255, 255), "the last line counts the classes that are not shown"
