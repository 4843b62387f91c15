"""A scene that differs from reality: its objects or its background are named, once the camera is undone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from painted_discs import RedDetector, paint, pictures, seen_by

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.data.sets import write_set
from simjudge.questions.explain.changed_sets import NO_PAIRS, paste_step
from simjudge.questions.explain.page import detail_sentences, filter_words, headline
from simjudge.questions.explain.result import UNLISTED
from simjudge.questions.explain.run import explain
from simjudge.sim.sensors.camera.chain import Step, apply_steps
from simjudge.sim.sensors.camera_matching.cause_names import SCENE_CAUSES

FAST = {"draws": 100, "patch": (24, 24), "theta": 0.6, "block": 0, "sample": 6}
SCENE = "objects,background"


class DazzledRedDetector(RedDetector):
    """Finds nothing in a picture whose first pixel is white."""

    def __call__(self, images):
        found = super().__call__(images)
        none = [image[0, 0].min() == 255 for image in images]
        empty = super().__call__([np.zeros_like(images[0])])[0]
        return [empty if dazzled else each for each, dazzled in zip(found, none, strict=True)]


def with_pictures(frames, changed):
    return FrameSet.build(
        "real", frames.size, frames.objects, class_names=frames.class_names, images=ArrayImages(changed)
    )


def paler_discs(frames):
    """Half of all discs are too pale for the detector; grey stays grey."""
    changed = []
    for number, whole in enumerate(pictures(frames)):
        image = whole.copy()
        objects = np.flatnonzero(frames.objects.frame == number)
        x0, y0, x1, y1 = frames.objects.box[objects[number % 2]].round().astype(int)
        part = image[y0:y1, x0:x1].astype(float)
        image[y0:y1, x0:x1] = (part + 0.8 * (part.mean(axis=2, keepdims=True) - part)).astype(np.uint8)
        changed.append(image)
    return with_pictures(frames, changed)


def dazzling_corners(frames):
    """A white pixel in the corner of every second picture, far from all discs."""
    changed = [image.copy() for image in pictures(frames)]
    for image in changed[::2]:
        image[0, 0] = 255
    return with_pictures(frames, changed)


@pytest.fixture(scope="module")
def scene():
    return paint(1)


@pytest.mark.parametrize(
    ("change", "detector", "first"),
    [(paler_discs, RedDetector(), "objects"), (dazzling_corners, DazzledRedDetector(), "background")],
)
def test_the_part_of_the_scene_that_differs_has_the_gap(scene, change, detector, first):
    found = explain(change(scene), scene, detector=detector, paired=True, causes=SCENE, **FAST)
    assert found.is_gap
    shares = {cause.name: cause.share.value for cause in found.causes}
    assert found.causes[0].verdict == UNLISTED, "A's pixels carry A's camera too"
    assert shares == pytest.approx({first: 1.0, ({"objects", "background"} - {first}).pop(): 0.0}, abs=1e-9)
    assert found.rest.value == pytest.approx(0, abs=0.02), "B's pictures are A's then"
    assert filter_words(found.causes[0]) == "A's pixels there"
    assert headline(found).startswith("No cause in the list has the gap: ")


def test_the_scene_comes_after_the_camera(scene):
    """A white balance and paler discs: the camera has its part, the discs the rest, and both make the whole."""
    hidden = [Step("white_balance", {"red": 0.72, "green": 1.0, "blue": 1.15})]
    real = seen_by(paler_discs(scene), hidden)
    found = explain(real, scene, detector=RedDetector(), paired=True, causes=f"white_balance,{SCENE}", **FAST)
    parts = {cause.name: cause.w1.value for cause in found.shared}
    assert parts["white_balance"] > 0.05
    assert parts["objects"] > 0.05
    assert abs(parts["background"]) < 0.02
    assert sum(parts.values()) + found.rest.value == pytest.approx(found.certainty.gap)
    camera = explain(real, scene, detector=RedDetector(), paired=True, causes="white_balance", **FAST)
    assert camera.causes[0].w1 == next(cause for cause in found.causes if cause.name == "white_balance").w1
    assert any("A's pixels come last" in line for line in detail_sentences(found))


def test_where_nothing_is_left_over_the_scene_is_not_asked(scene):
    balance = [Step("white_balance", {"red": 0.82, "green": 1.0, "blue": 1.15})]
    found = explain(seen_by(scene, balance), scene, detector=RedDetector(), paired=True, **FAST)
    assert found.is_gap
    assert not {cause.name for cause in found.causes} & {"objects", "background"}
    assert not found.not_tried.keys() & {"objects", "background"}


def test_without_pairs_it_says_what_would_help(scene):
    found = explain(paler_discs(scene), scene, detector=RedDetector(), causes=SCENE, **FAST)
    assert found.is_gap
    assert found.not_tried == {"objects": NO_PAIRS, "background": NO_PAIRS}
    words = f"{SCENE_CAUSES['objects']} and {SCENE_CAUSES['background']}"
    assert f"Not tried: {words}. They need pictures of the same scenes: --paired." in detail_sentences(found)


def test_it_goes_on_where_it_was_stopped(scene, tmp_path):
    for name, frames in (("a", paler_discs(scene)), ("b", scene), ("other", dazzling_corners(scene))):
        write_set(frames, tmp_path / name, "coco")
    given = {"detector": RedDetector(), "paired": True, "causes": SCENE, **FAST}
    first = explain(tmp_path / "a", tmp_path / "b", tmp_path / "out", **given)
    assert first.runs == 5, "two sets, and B with three choices of A's pixels"
    again = explain(tmp_path / "a", tmp_path / "b", tmp_path / "out", **given)
    assert again.runs == 0
    assert again.content() == first.content()
    assert explain(tmp_path / "other", tmp_path / "b", tmp_path / "out", **given).runs > 0, "another A"


@pytest.mark.parametrize("causes", [("objects",), ("background",), ("objects", "background")])
def test_pixels_are_those_of_a_naive_loop(causes):
    random = np.random.default_rng(3)
    a, b = random.integers(0, 256, (2, 20, 30, 3), np.uint8)
    box_a, box_b = [[4.4, 5.0, 9.2, 8.0], [25.0, -1.0, 31.0, 2.5]], [[11.0, 12.0, 14.0, 14.0]]
    labels = Objects.build([0, 0], [1, 1], box_a), Objects.build([0, 0], [1, 1], [*box_b, [4.4, 5.0, 9.2, 8.0]])
    frames = FrameSet.build("a", [[30, 20]], labels[0], images=ArrayImages([a]))
    step = paste_step(frames, labels, causes)
    made = apply_steps(b, [lambda image: step.function(0, image)])
    expected = b.copy()
    for y in range(20):
        for x in range(30):
            inside = any(
                np.floor(x0) - 2 <= x < np.ceil(x1) + 2 and np.floor(y0) - 2 <= y < np.ceil(y1) + 2
                for x0, y0, x1, y1 in [*box_a, *box_b]
            )
            if ("objects" if inside else "background") in causes:
                expected[y, x] = a[y, x]
    np.testing.assert_array_equal(made, expected)


def test_a_frame_without_labels_is_all_background(scene):
    bare = replace(scene.objects, frame=scene.objects.frame + 1)
    step = paste_step(scene, (bare, bare), ("objects",))
    image = np.zeros((128, 192, 3), np.float32)
    assert not step.function(0, image).any()
