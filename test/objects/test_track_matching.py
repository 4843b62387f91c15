"""Which tracks of two sets are the same: against a naive loop over frames and all assignments."""

from itertools import permutations

import numpy as np
import pytest
from moving_boxes import SIZE, moving_set, steady

from simjudge.objects.sightings import label_sightings
from simjudge.objects.tracking import instance_tracks, pair_instances, pair_tracks, track_similarity

PATHS = [steady(100, 100, 10), steady(160, 100, 10), steady(400, 300, -8, 3), steady(320, 60, 0, 12)]


def tracks_of(frames):
    return instance_tracks(label_sightings(frames))


@pytest.mark.parametrize(
    ("offset", "scale"), [((0, 0), 1), ((25, -10), 1), ((0, 0), 2)], ids=["same", "turned camera", "other resolution"]
)
def test_shuffled_tracks_find_their_partners(offset, scale):
    order = [2, 0, 3, 1]
    real = moving_set(PATHS, instances=range(4))
    moved = [lambda f, p=PATHS[i]: tuple((np.array(p(f)) + offset) * scale) for i in order]
    virtual = moving_set(moved, instances=range(4))
    object.__setattr__(virtual, "size", virtual.size * scale)
    pairs = pair_tracks(tracks_of(real), tracks_of(virtual), real, virtual, 0.1)
    assert pairs == [(i, order.index(i)) for i in range(4)]


def test_similarity_against_a_naive_loop():
    rng = np.random.default_rng(2)
    hidden = {(int(a), int(f)) for a, f in zip(rng.integers(0, 4, 12), rng.integers(0, 12, 12), strict=True)}
    real = moving_set(PATHS, instances=range(4), hidden=hidden)
    jittered = [lambda f, p=p: (p(f)[0] + 9, p(f)[1] - 4) for p in PATHS]
    virtual = moving_set(jittered, instances=range(4), hidden={(3, 1), (0, 2)}, classes=[0, 0, 0, 1])
    found = track_similarity(tracks_of(real), tracks_of(virtual), real, virtual, 0.2)
    for i in range(4):
        for j in range(4):
            total, either = 0.0, 0
            for f in range(12):
                a, b = (i, f) not in hidden, (j, f) not in {(3, 1), (0, 2)}
                either += a or b
                if a and b:
                    apart = np.hypot(*(np.array(PATHS[i](f)) - jittered[j](f))) / np.hypot(*SIZE)
                    total += max(0, 1 - apart / 0.2)
            assert found[i, j] == pytest.approx(0 if j == 3 else total / either)
    best = max(permutations(range(4)), key=lambda order: sum(found[i, j] for i, j in enumerate(order)))
    pairs = pair_tracks(tracks_of(real), tracks_of(virtual), real, virtual, 0.2)
    assert pairs == [(i, j) for i, j in enumerate(best) if found[i, j] >= 0.05]


def test_far_tracks_are_no_pair():
    real, virtual = (moving_set([steady(x, 100)], instances=[0]) for x in (100, 500))
    assert pair_tracks(tracks_of(real), tracks_of(virtual), real, virtual, 0.1) == []


def test_instances_pair_by_number():
    real, virtual = (moving_set([PATHS[0]] * len(ids), instances=ids) for ids in ([4, 2, 9], [9, 3, 4]))
    assert pair_instances(tracks_of(real), tracks_of(virtual)) == [(1, 1), (2, 2)]
