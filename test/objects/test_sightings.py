"""Labels and predictions as sightings; centroids against a naive loop and scikit-image."""

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.objects.sightings import label_sightings, predicted_sightings

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
