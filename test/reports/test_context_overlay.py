"""Live contexts on an image: fixed colours, boxes where the labels are, any image size."""

import dataclasses
import math

import numpy as np
from random_frames import made

from simjudge.context.method import Method
from simjudge.reports.context_overlay import NO_W1_COLOUR, OUTSIDE_COLOUR, context_colours, draw_contexts, w1_colour
from simjudge.studies.live.judge import LiveJudge


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
    left, _, _, bottom = np.floor(judged.frames.objects.box + 0.5).astype(int)[1]
    assert tuple(image[bottom - 1, left]) == (213, 94, 0)
    small = draw_contexts(np.zeros((240, 320, 3), np.uint8), judged)
    assert small.shape == (240, 320, 3)
