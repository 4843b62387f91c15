"""CLEAR MOT and identity measures: by hand, and by a naive loop over frames and all assignments."""

from itertools import permutations

import numpy as np
import pytest
from moving_boxes import moving_set, stamps, steady

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.objects.camera_series import score_tracks
from simjudge.objects.sightings import instance_tracks, label_sightings

PATHS = [steady(100, 100, 5), steady(300, 200, 0, 4)]


def tracks_of(frames):
    return instance_tracks(label_sightings(frames))


def scored(labels, found):
    return score_tracks(tracks_of(labels), tracks_of(found))


def test_tracks_that_are_right():
    scores = scored(moving_set(PATHS, instances=[3, 4]), moving_set(PATHS, instances=[1, 2]))
    assert (scores.mota, scores.motp, scores.idf1) == (1, 1, 1)
    assert scores.switches.sum() == scores.misses.sum() == scores.false_positives.sum() == 0


def test_by_hand():
    # Object 3 is not found in frames 2 and 3; object 4 has another track from frame 6 on; 7 is a find of nothing.
    found = [*PATHS, PATHS[1], steady(500, 400)]
    hidden = {(0, 2), (0, 3), *((1, f) for f in range(6, 12)), *((2, f) for f in range(6)), *((3, f) for f in range(9))}
    scores = scored(moving_set(PATHS, instances=[3, 4]), moving_set(found, instances=[1, 2, 5, 7], hidden=hidden))
    assert np.flatnonzero(scores.switches).tolist() == [6]
    assert np.flatnonzero(scores.misses).tolist() == [2, 3]
    assert np.flatnonzero(scores.false_positives).tolist() == [9, 10, 11]
    assert scores.mota == pytest.approx(1 - (2 + 3 + 1) / 24)
    # Of its own track object 3 has 10 frames and object 4 has 6, of 24 labels and 25 finds.
    assert scores.idf1 == pytest.approx(2 * 16 / (24 + 25))


def random_tracks(seed):
    rng = np.random.default_rng(seed)
    rows = [
        (frame, track, [x, 10, x + 20, 30])
        for frame in range(15)
        for track in range(4)
        if rng.random() < 0.8
        for x in [12 * ((track + (frame > 7) * rng.integers(2)) % 4) + rng.normal(0, 3)]
    ]
    frame, instance, box = zip(*rows, strict=True)
    objects = Objects.build(frame, [0] * len(rows), box, instance)
    return FrameSet.build("s", [(200, 60)] * 15, objects, stamp=stamps(15))


def naive(labels, found):
    """Frame by frame with dictionaries, trying all assignments."""

    def at(frames, number):
        rows = np.flatnonzero(frames.objects.frame == number)
        return {int(frames.objects.instance[r]): np.clip(frames.objects.box[r], 0, [200, 60, 200, 60]) for r in rows}

    def overlap(a, b):
        width = max(0, min(a[2], b[2]) - max(a[0], b[0]))
        inter = width * 20
        union = (a[2] - a[0] + b[2] - b[0]) * 20 - inter
        return inter / union

    last, switches, misses, extra, total, together = {}, 0, 0, 0, 0, np.zeros((4, 4))
    for number in range(15):
        a, b = at(labels, number), at(found, number)
        near = {(i, j): overlap(a[i], b[j]) for i in a for j in b if overlap(a[i], b[j]) >= 0.5}
        for pair in near:
            together[pair] += 1
        now = {}
        for i in sorted(a):
            if i in last and (i, last[i]) in near and last[i] not in now.values():
                now[i] = last[i]
        free_a, free_b = [i for i in a if i not in now], [j for j in b if j not in now.values()]
        free_b += [None] * len(free_a)
        best = max(
            (dict(zip(free_a, order, strict=False)) for order in set(permutations(free_b, len(free_a)))),
            key=lambda chosen: sum(1 + near[p] / 100 for p in chosen.items() if p in near),
        )
        now |= {i: j for i, j in best.items() if (i, j) in near}
        switches += sum(i in last and last[i] != j for i, j in now.items())
        last |= now
        misses, extra, total = misses + len(a) - len(now), extra + len(b) - len(now), total + len(a)
    kept = max(sum(together[i, j] for i, j in enumerate(order)) for order in permutations(range(4)))
    return switches, misses, extra, 1 - (switches + misses + extra) / total, 2 * kept / (total + len(found.objects))


@pytest.mark.parametrize("seed", range(6))
def test_against_a_naive_loop(seed):
    labels, found = random_tracks(seed), random_tracks(seed + 50)
    scores = scored(labels, found)
    sums = [int(each.sum()) for each in (scores.switches, scores.misses, scores.false_positives)]
    assert (*sums, scores.mota, scores.idf1) == pytest.approx(naive(labels, found))
    assert sums[0] > 0


def test_without_objects_there_is_no_number():
    empty = FrameSet.build("s", [(640, 480)] * 12, Objects.empty(), stamp=stamps(12))
    scores = scored(empty, moving_set(PATHS, instances=[1, 2]))
    assert np.isnan([scores.mota, scores.motp]).all()
    assert scores.idf1 == 0
    assert np.isnan(scored(empty, empty).idf1)
    assert scored(moving_set(PATHS, instances=[1, 2]), empty).mota == 0
