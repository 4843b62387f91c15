"""Patches, pixel by pixel."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from naive_method import METHODS, frame_sets, naive_patch

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects
from simjudge.method.context_tree import context_planes
from simjudge.method.method import Method
from simjudge.method.patches import label_contexts, object_contexts
from simjudge.method.pool import ContextPool


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
    counted = context_planes(contexts).blocks
    height, width = method.patch
    for i in range(len(contexts)):
        for plane, pixels in zip(
            range(contexts.start[i], contexts.start[i + 1]), contexts.planes(i, method.patch).values(), strict=True
        ):
            down, across = -(-height // 8), -(-width // 8)
            blocks = np.zeros((down, across), int)
            for j, k in zip(*np.nonzero(pixels), strict=True):
                blocks[j // 8, k // 8] += 1
            np.testing.assert_array_equal(counted[plane][: down * across].reshape(down, across), blocks)


@pytest.mark.parametrize("box", [(10, 10, 20, 20), (10, 10, 21, 21)])
def test_an_odd_patch_of_the_public_tool(box):
    """Its half is w // 2 = 8 of 17 columns: the patch begins at int(15.0) - 8 = int(15.5) - 8 = 7."""
    first = 7
    frames = FrameSet.build("made", [[40, 40]], Objects.build([0], [1], [box]))
    method = Method(patch=(17, 17), integer_boxes=True)
    plane = object_contexts(frames, method, np.array([0])).planes(0, method.patch)[1]
    assert np.flatnonzero(plane.any(0))[[0, -1]].tolist() == [10 - first, min(box[2] - first - 1, 16)]
    everything = FrameSet.build("full", [[40, 40]], Objects.build([0, 0], [1, 1], [box, (0, 0, 39, 39)]))
    kept = object_contexts(everything, replace(method, mask_factor=1.0), np.array([0])).planes(0, method.patch)[1]
    half = (box[2] - box[0]) / 2
    assert np.flatnonzero(kept.any(0))[[0, -1]].tolist() == [int(8 - half), min(16, int(8 + half))]


def test_the_patch_is_centred_on_the_unclipped_anchor():
    # 20 px wide, half of it left of the picture: the patch's centre stays at x = 0.
    frames = FrameSet.build("made", [[40, 30]], Objects.build([0], [1], [[-10, 10, 10, 20]]))
    plane = object_contexts(frames, Method(patch=(20, 40)), np.array([0])).planes(0, (20, 40))[1]
    assert plane[:, :20].sum() == 0
    assert plane[5:15, 20:30].all()
    assert plane.sum() == 100


@pytest.mark.parametrize(
    "arguments",
    [
        {"patch": (0, 10)},
        {"patch": (10, 5000)},
        {"theta": float("nan")},
        {"mask_factor": 0.0},
        {"min_batch_size": 0},
        {"min_score": 1.5},
    ],
)
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


def turned_set(columns, width=50):
    """Random boxes and masks of two cyclic frames, all moved to the right around the turn."""
    random = np.random.default_rng(8)
    count = 24
    box = np.column_stack([random.integers(0, width, count), random.integers(0, 10, count)] * 2).astype(float)
    box[:, 2:] += np.column_stack([random.integers(1, 30, count), random.integers(1, 6, count)])
    crops = [random.random((int(b[3] - b[1]), int(b[2] - b[0]))) < 0.7 if random.random() < 0.5 else None for b in box]
    box[:, ::2] += ((box[:, 0] + columns) % width - box[:, 0])[:, None]
    masks = Masks.from_crops(crops, box[:, :2].astype(int))
    objects = Objects.build(np.arange(count) // 12, random.integers(0, 3, count), box, masks=masks)
    return replace(FrameSet.build("turn", [[width, 12]] * 2, objects), cyclic=True)


@pytest.mark.parametrize("patch", [(8, 16), (12, 50), (3, 1)])
def test_contexts_of_a_turn_do_not_depend_on_where_it_begins(patch):
    made = [turned_set(columns) for columns in (0, 1, 17, 49)]
    contexts = [object_contexts(frames, Method(patch=patch), np.arange(24)) for frames in made]
    assert contexts[0].area.sum() > 0
    for other in contexts[1:]:
        np.testing.assert_array_equal(other.plane_class, contexts[0].plane_class)
        np.testing.assert_array_equal(other.words, contexts[0].words)
        np.testing.assert_array_equal(other.area, contexts[0].area)
    flat = object_contexts(replace(made[0], cyclic=False), Method(patch=patch), np.arange(24))
    assert flat.area.sum() < contexts[0].area.sum()


@pytest.mark.parametrize(
    ("anchor", "columns"), [(0, [1, 4, 5, 6, 7, 10, 11]), (1, [0, 1, 2, 5, 6]), (2, [6, 9, 10, 11])]
)
def test_a_patch_shows_what_is_behind_the_seam(anchor, columns):
    objects = Objects.build([0, 0, 0], [1, 1, 1], [[98, 2, 102, 4], [4, 2, 6, 4], [95, 2, 96, 4]])
    frames = replace(FrameSet.build("turn", [[100, 6]], objects), cyclic=True)
    plane = object_contexts(frames, Method(patch=(2, 12)), np.array([anchor])).planes(0, (2, 12))[1]
    assert plane.any(0).nonzero()[0].tolist() == columns


def test_a_tree_takes_little_memory_beside_the_contexts():
    """A plane of 120 x 120 px takes 1856 bytes (29 cache lines) and its numbers; a distinct one 2.2 kB in the tree."""
    random = np.random.default_rng(0)
    corner = random.integers(100, 900, (3000, 2)).astype(float)
    box = np.concatenate([corner, corner + random.integers(4, 60, (3000, 2))], 1)
    frames = FrameSet.build("made", [[1280, 1280]] * 3000, Objects.build(np.arange(3000), np.ones(3000, int), box))
    halves = [object_contexts(frames, Method(), np.arange(3000)[half::2]) for half in (0, 1)]
    arrays = [value for part in halves for value in vars(part).values() if isinstance(value, np.ndarray)]
    assert sum(each.nbytes for each in arrays) < 3000 * (1856 + 48)
    ContextPool.of_sets(*halves)
    tracemalloc.start()
    try:
        pool = ContextPool.of_sets(*halves)
        largest = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(pool.tree) > 1500
    assert largest < 1.15 * len(pool.tree) * (1856 + 256 + 64 + 8 + 100)
