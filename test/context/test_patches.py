"""Patches, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from naive_method import METHODS, frame_sets, naive_patch

from simjudge.context.method import Method
from simjudge.context.patches import label_contexts, object_contexts
from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet, Objects


@settings(max_examples=100, deadline=None)
@given(frame_sets(), METHODS)
def test_every_pixel_equals_the_literal_painting(made, method):
    frames, _ = made
    anchors = np.arange(len(frames.objects))
    contexts = object_contexts(frames, method, anchors)
    for i in anchors:
        slow, fast = naive_patch(frames, int(i), method), contexts.planes(int(i), method.patch)
        assert sum(p.sum() for p in slow.values()) == contexts.area[i]
        for key, plane in slow.items():
            painted = fast.get(key, np.zeros(method.patch, bool))
            np.testing.assert_array_equal(painted, plane)


@settings(max_examples=60, deadline=None)
@given(frame_sets(), METHODS)
def test_block_counts_are_those_of_the_pixels(made, method):
    frames, _ = made
    contexts = object_contexts(frames, method, np.arange(len(frames.objects)))
    height, width = method.patch
    for i in range(len(contexts)):
        for plane, pixels in zip(
            range(contexts.start[i], contexts.start[i + 1]), contexts.planes(i, method.patch).values(), strict=True
        ):
            down, across = -(-height // 8), -(-width // 8)
            blocks = np.zeros((down, across), int)
            for j, k in zip(*np.nonzero(pixels), strict=True):
                blocks[j // 8, k // 8] += 1
            np.testing.assert_array_equal(contexts.blocks[plane][: down * across].reshape(down, across), blocks)


def test_the_patch_is_centred_on_the_unclipped_anchor():
    # 20 px wide, half of it left of the picture: the patch's centre stays at x = 0.
    frames = FrameSet.build("made", [[40, 30]], Objects.build([0], [1], [[-10, 10, 10, 20]]))
    plane = object_contexts(frames, Method(patch=(20, 40)), np.array([0])).planes(0, (20, 40))[1]
    assert plane[:, :20].sum() == 0
    assert plane[5:15, 20:30].all()
    assert plane.sum() == 100


@pytest.mark.parametrize(
    "arguments",
    [{"patch": (0, 10)}, {"patch": (10, 5000)}, {"theta": float("nan")}, {"mask_factor": 0.0}, {"min_batch_size": 0},
     {"min_score": 1.5}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(arguments):
    with pytest.raises(UsageError):
        Method(**arguments)


def test_label_patches_become_one_plane_a_class():
    random = np.random.default_rng(0)
    patches = random.integers(0, 4, (5, 9, 11))
    valid = random.random(patches.shape) < 0.8
    contexts = label_contexts(patches, valid)
    for i in range(5):
        planes = contexts.planes(i, (9, 11))
        for k in range(4):
            np.testing.assert_array_equal(planes.get(k, np.zeros((9, 11), bool)), (patches[i] == k) & valid[i])
