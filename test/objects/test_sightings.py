"""Labels and predictions as sightings, followed between frames; centroids against a naive loop and scikit-image."""

from itertools import permutations

import numpy as np
import pytest
from moving_boxes import SIZE, moving_set, stamps, steady

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.objects.sightings import (
    follow,
    instance_tracks,
    label_sightings,
    pair_instances,
    pair_tracks,
    predicted_sightings,
    track_similarity,
)

WIDTH, HEIGHT = 30, 20


def drawn_masks(seed=1, count=5):
    rng = np.random.default_rng(seed)
    pictures = []
    for _ in range(count):
        x, y = rng.integers(0, 15, 2)
        picture = np.zeros((HEIGHT, WIDTH), np.bool_)
        picture[y : y + 5, x : x + 8] = rng.random((5, 8)) < 0.6
        pictures.append(picture)
    return pictures


def test_the_centroid_is_the_mean_of_the_pixels_centres():
    measure = pytest.importorskip("skimage.measure")
    pictures = drawn_masks()
    box = [[0, 0, WIDTH, HEIGHT]] * len(pictures)
    objects = Objects.build(np.arange(len(pictures)), [0] * len(pictures), box, masks=Masks.from_images(pictures))
    seen = label_sightings(FrameSet.build("s", [(WIDTH, HEIGHT)] * len(pictures), objects))
    for i, picture in enumerate(pictures):
        points = [(x + 0.5, y + 0.5) for y in range(HEIGHT) for x in range(WIDTH) if picture[y, x]]
        assert seen.centroid[i] == pytest.approx(np.mean(points, axis=0))
        (region,) = measure.regionprops(picture.astype(np.uint8))
        assert seen.centroid[i] == pytest.approx(np.array(region.centroid[::-1]) + 0.5)
        assert seen.pixels[i] == region.area == len(points)
        assert np.array_equal(seen.region(i, WIDTH, HEIGHT), picture)


def test_boxes_are_cut_to_the_picture_and_those_outside_left_out():
    box = [[-10, -10, 10, 10], [-9, 0, 0, 5], [25, 15, 40, 40], [3, 3, 3, 9]]
    seen = label_sightings(FrameSet.build("s", [(WIDTH, HEIGHT)], Objects.build([0] * 4, [0] * 4, box)))
    assert seen.box.tolist() == [[0, 0, 10, 10], [25, 15, 30, 20]]
    assert seen.centroid.tolist() == [[5, 5], [27.5, 17.5]]
    assert np.isnan(seen.pixels).all()
    assert seen.region(1, WIDTH, HEIGHT).sum() == 25


def test_predictions_by_score_and_by_frames_looked_at():
    table = Predictions.build([0, 0, 2], [0, 1, 1], [[0, 0, 9, 9]] * 3, [0.9, 0.1, 0.5])
    names = {0: "Red_cone", 1: "b"}
    frames = FrameSet.build(
        "s", [(WIDTH, HEIGHT)] * 3, predictions=table, predicted=[True, False, True], class_names=names
    )
    seen = predicted_sightings(frames, 0.3)
    assert seen.class_name.tolist() == ["red cone", "b"]
    assert seen.frame.tolist() == [0, 2]
    assert seen.looked_at.tolist() == [True, False, True]


def test_no_predictions_at_all():
    seen = predicted_sightings(FrameSet.build("s", [(WIDTH, HEIGHT)]))
    assert len(seen) == 0
    assert not seen.looked_at.any()


PLAIN = {"gap": 0.5, "reach": 1.0, "least_frames": 1}


def followed(frames, **settings):
    seen = predicted_sightings(frames)
    return follow(seen, frames.stamp, **{**PLAIN, **settings})


def drawn_number(tracks, count):
    """By track, the drawn objects that it holds: boxes of drawn object i start in row i of each frame."""
    return [sorted(set((np.flatnonzero(tracks.track == t) % count).tolist())) for t in range(len(tracks))]


@pytest.mark.parametrize(
    "paths",
    [
        [steady(100, 100), steady(300, 200)],
        [steady(100, 100, 25), steady(100, 300, -5, 5), steady(500, 100, -20)],
        # Two that pass through each other keep their tracks by their velocities.
        [steady(100, 100, 20), steady(330, 100, -20)],
    ],
    ids=["standing", "moving", "crossing"],
)
def test_each_object_is_one_track(paths):
    tracks = followed(moving_set(paths, kind="predictions"))
    assert tracks.name == tuple(range(1, len(paths) + 1))
    assert drawn_number(tracks, len(paths)) == [[i] for i in range(len(paths))]


def test_objects_of_two_classes_are_never_one():
    frames = moving_set([steady(100, 100), steady(104, 100)], kind="predictions", classes=[0, 1])
    tracks = followed(frames)
    assert tracks.class_name == ("cone", "barrier")
    assert tracks.name == (1, 1)
    assert drawn_number(tracks, 2) == [[0], [1]]


@pytest.mark.parametrize(("gap", "count"), [(0.5, 1), (0.25, 2), (0.0, 12 - 2)])
def test_a_track_outlives_a_gap_of_so_long(gap, count):
    frames = moving_set([steady(100, 100, 15)], kind="predictions", hidden={(0, 5), (0, 6)})
    assert len(followed(frames, gap=gap)) == count


def test_beyond_reach_it_is_another_object():
    def jumping(frame):
        return (100 if frame < 6 else 300, 100)

    assert len(followed(moving_set([jumping], kind="predictions"))) == 2
    assert len(followed(moving_set([jumping], kind="predictions"), reach=5)) == 1


def test_short_tracks_are_taken_away():
    frames = moving_set([steady(100, 100), steady(400, 300)], kind="predictions", hidden={(1, f) for f in range(2, 12)})
    tracks = followed(frames, least_frames=3)
    assert len(tracks) == 1
    assert np.count_nonzero(tracks.track == -1) == 2


def test_the_assignment_of_two_frames_is_the_cheapest_of_all():
    rng = np.random.default_rng(4)
    for _ in range(20):
        first = rng.uniform(100, 220, (4, 2))
        second = first + rng.normal(0, 15, (4, 2))
        paths = [lambda f, a=a, b=b: tuple(b if f else a) for a, b in zip(first, second, strict=True)]
        frames = moving_set(paths, count=2, kind="predictions")
        tracks = followed(frames, reach=100)
        box = frames.predictions.box

        def cost(i, j, box=box):
            width, height = np.maximum(0, np.minimum(box[i, 2:], box[j, 2:]) - np.maximum(box[i, :2], box[j, :2]))
            overlap = width * height / (2 * 40 * 60 - width * height)
            middle = (box[i] - box[j])[:2]
            return np.hypot(*middle) / np.hypot(40, 60) + 1 - overlap

        best = min(permutations(range(4)), key=lambda order: sum(cost(i, 4 + j) for i, j in enumerate(order)))
        found = [int(np.flatnonzero(tracks.track[4:] == tracks.track[i])[0]) for i in range(4)]
        assert found == list(best)


def test_instances_are_tracks():
    frames = moving_set([steady(100, 100), steady(300, 200), steady(400, 200)], instances=[7, -1, 3], hidden={(0, 0)})
    tracks = instance_tracks(label_sightings(frames))
    assert tracks.name == (3, 7)
    table = tracks.by_frame()
    assert np.count_nonzero(table >= 0, axis=1).tolist() == [12, 11]
    assert table[1, 0] == -1
    assert np.count_nonzero(tracks.track == -1) == 12


def test_one_instance_twice_in_a_frame_counts_once():
    objects = Objects.build([0, 0], [0, 0], [[0, 0, 9, 9], [20, 0, 29, 9]], [5, 5])
    frames = FrameSet.build("s", [(64, 48)], objects, stamp=stamps(1))
    assert instance_tracks(label_sightings(frames)).track.tolist() == [0, -1]


def test_nothing_to_follow():
    frames = FrameSet.build("s", [(64, 48)] * 3, Objects.empty(), stamp=stamps(3))
    seen = label_sightings(frames)
    assert len(instance_tracks(seen)) == 0
    assert len(follow(seen, frames.stamp, **PLAIN)) == 0


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
