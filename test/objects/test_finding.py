"""What is followed, found by colour thresholds in drawn pictures: regions, lines, scores, and metrics of pictures."""

import cv2
import numpy as np
import pytest
from moving_boxes import stamps

from simjudge.core.errors import Losses, no_log, no_progress
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.detectors.detection import detect
from simjudge.objects.camera_series import camera_series
from simjudge.objects.series import WHOLE
from simjudge.objects.settings import CameraObjectSettings
from simjudge.objects.sightings import Finder

WIDTH, HEIGHT, COUNT = 160, 120, 6
COLOURS = """
closing_radius: 2
min_area: 60
classes:
  0: {name: orange, red: [200, 255], green: [60, 160], blue: [0, 90]}
  1: {name: white, red: [220, 255], green: [220, 255], blue: [220, 255], max_area: 900, line: 0}
"""
ORANGE, WHITE = (240, 110, 20), (235, 235, 235)


def barrier(frame, shift=0):
    """A slanting orange barrier: its centroid is not the middle of its box."""
    left = 20 + 4 * frame + shift
    return np.array([(left, 90), (left + 40, 90), (left + 40, 60)])


def drawn(shift):
    pictures = []
    for frame in range(COUNT):
        picture = np.full((HEIGHT, WIDTH, 3), (120, 130, 100), np.uint8)
        cv2.fillPoly(picture, [barrier(frame, shift)], ORANGE)
        picture[10:20, 20:40] = WHITE  # a cloud
        picture[70:80, 110 : 130 + shift] = WHITE
        pictures.append(picture)
    return pictures


def pictures(shift=0, labelled=True, name="set"):
    objects = None
    if labelled:
        box = [[20 + 4 * frame + shift, 60, 61 + 4 * frame + shift, 91] for frame in range(COUNT)]
        # Of class 2 no threshold knows.
        other = [[0, 100, 9, 109]] * COUNT
        objects = Objects.build([*range(COUNT)] * 2, [0] * COUNT + [2] * COUNT, box + other)
    return FrameSet.build(
        name,
        [(WIDTH, HEIGHT)] * COUNT,
        objects,
        stamp=stamps(COUNT),
        images=ArrayImages(drawn(shift)),
        class_names={0: "orange", 1: "white", 2: "pole"},
    )


@pytest.fixture
def compared(tmp_path):
    model = tmp_path / "colours.yaml"
    model.write_text(COLOURS)

    def compare(**settings):
        log, losses = [], Losses()
        sides = camera_series(
            pictures(), pictures(3), CameraObjectSettings(model=model, **settings), log=log.append, losses=losses
        )
        assert [(s.metric, s.subject) for s in sides[0]] == [(s.metric, s.subject) for s in sides[1]]
        return (*({(s.metric, s.subject): s.value for s in side} for side in sides), log)

    return compare


def test_regions_of_colour_are_followed(compared):
    real, virtual, _ = compared()
    assert {subject for _, subject in real} == {WHOLE, "orange 1", "white 1", "white 2"}
    for frame in range(COUNT):
        hit = np.argwhere(np.all(drawn(0)[frame] == ORANGE, axis=2))
        assert real["region pixels", "orange 1"][frame] == pytest.approx(len(hit), abs=6)  # closing fills the corners
        assert real["centroid x", "orange 1"][frame] == pytest.approx(hit[:, 1].mean() + 0.5, abs=0.3)
        # A triangle's centroid is a third from its upright side.
        assert real["centroid x", "orange 1"][frame] == pytest.approx(20 + 4 * frame + 40 * 2 / 3, abs=0.7)
    assert virtual["centroid x", "orange 1"] - real["centroid x", "orange 1"] == pytest.approx(3)
    assert real["centroid velocity x", "orange 1"] == pytest.approx(40)
    assert np.ptp(real["box width", "white 2"]) == 0
    assert virtual["box width", "white 2"] - real["box width", "white 2"] == pytest.approx(3)


def test_a_table_of_lines_takes_the_sky_away(compared, tmp_path):
    table = tmp_path / "lines.csv"
    table.write_text("frame,row\n0,40\n")
    real, _, _ = compared(real_line=table, virtual_line=table)
    assert {subject for _, subject in real} == {WHOLE, "orange 1", "white 1"}
    table.write_text("frame,row\n0,40\n3,85\n")
    real, _, _ = compared(real_line=table, virtual_line=table)
    # Orange has no line in the file of thresholds; white sinks below it from frame 3 on.
    assert real["objects (orange)", WHOLE].tolist() == [1] * COUNT
    assert real["objects (white)", WHOLE].tolist() == [1, 1, 1, 0, 0, 0]
    real, _, _ = compared(real_line=table, virtual_line=table, line_classes=["orange"])
    assert real["objects (orange)", WHOLE].tolist() == [1, 1, 1, 0, 0, 0]


def test_detections_are_held_against_labels(compared):
    real, _, _ = compared()
    # The cloud and the white barrier are not labelled.
    assert real["false positives", WHOLE].tolist() == [2] * COUNT
    assert real["precision", WHOLE] == pytest.approx([1 / 3] * COUNT)
    assert real["recall", WHOLE].tolist() == [1] * COUNT


def test_labels_can_be_followed_all_the_same(compared):
    real, _, _ = compared(follow="labels")
    assert {subject for _, subject in real} == {WHOLE, "orange 1", "pole 1"}
    assert real["box width", "orange 1"].tolist() == [41] * COUNT


def test_hu_of_gray_and_binary_pictures(compared):
    real, _, _ = compared(follow="labels")
    picture = drawn(0)[2].astype(np.float64)
    gray = np.floor(picture @ [0.2989, 0.5870, 0.1140] + 0.5).astype(np.uint8)
    binary = np.zeros((HEIGHT, WIDTH), np.uint8)
    binary[60:91, 28:69] = binary[100:109, 0:9] = 1
    for kind, expected in (("gray", gray), ("binary", binary)):
        found = [real[f"hu {i} ({kind})", WHOLE][2] for i in range(1, 8)]
        np.testing.assert_allclose(found, cv2.HuMoments(cv2.moments(expected)).ravel(), rtol=1e-9, atol=1e-24)


def test_a_detector_runs_on_a_set_once(tmp_path):
    (tmp_path / "colours.yaml").write_text(COLOURS)
    finder = Finder.of(CameraObjectSettings(model=tmp_path / "colours.yaml"))
    once = finder.detect(pictures(), no_log, no_progress)
    assert finder.detect(once, no_log, no_progress) is once
    # Without regions it has not found all that is needed.
    boxes = detect(pictures(), tmp_path / "colours.yaml")
    assert finder.detect(boxes, no_log, no_progress).predictions.masks is not None
    assert Finder.of(CameraObjectSettings(model=tmp_path / "colours.yaml", follow="labels")).detector is None


def test_pictures_that_cannot_be_read_are_counted():
    broken = pictures()
    broken.images.arrays[1] = None
    losses = Losses()
    real, _ = camera_series(broken, pictures(), losses=losses)
    hu = next(s.value for s in real if s.metric == "hu 1 (gray)")
    assert np.isnan(hu).tolist() == [False, True] + [False] * 4
    assert dict(losses.counts) == {"frames without a picture": 1}
