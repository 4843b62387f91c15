"""Colour thresholds on painted pictures."""

import colorsys
from pathlib import Path

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import DETECTOR, shipped_files
from simjudge.perception.loading import load_detector

RED_GREEN = """
closing: {closing}
min_area: 20
max_area: 900
classes:
  1: {{name: red, hue: [345, 15], saturation: [0.4, 1], value: [0.2, 1]}}
  2: {{name: green, hue: [90, 150], saturation: [0.4, 1], value: [0.2, 1]}}
"""


def write(tmp_path, text=None, closing=0):
    path = tmp_path / "colours.yaml"
    path.write_text(RED_GREEN.format(closing=closing) if text is None else text)
    return path


def painted(*patches, size=(100, 80)):
    """A grey picture with coloured rectangles (x0, y0, x1, y1, hue in degrees)."""
    picture = np.full((size[1], size[0], 3), 128, np.uint8)
    for x0, y0, x1, y1, hue in patches:
        picture[y0:y1, x0:x1] = np.array(colorsys.hsv_to_rgb(hue / 360, 1, 1)) * 255
    return picture


def test_boxes_classes_and_scores(tmp_path):
    picture = painted((10, 10, 30, 40, 0), (50, 20, 60, 30, 120), (70, 5, 74, 8, 0), (5, 45, 45, 75, 120))
    (found,) = load_detector(write(tmp_path))([picture])
    # The third is too small (12 pixels), the fourth too large (1200).
    assert found.class_id.tolist() == [1, 2]
    assert found.box.tolist() == [[10, 10, 30, 40], [50, 20, 60, 30]]
    assert found.score.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("hue", "classes"), [(350, [1]), (0, [1]), (10, [1]), (30, []), (120, [2]), (200, []), (330, [])]
)
def test_red_goes_through_zero(tmp_path, hue, classes):
    (found,) = load_detector(write(tmp_path))([painted((10, 10, 30, 30, hue))])
    assert found.class_id.tolist() == classes


def test_the_score_is_the_share_of_the_box_that_matches(tmp_path):
    picture = painted()
    for row in range(20):  # a right triangle, 1 + 2 + ... + 20 = 210 of 400 pixels
        picture[20 + row, 10 : 11 + row] = [255, 0, 0]
    (found,) = load_detector(write(tmp_path))([picture])
    assert found.score.tolist() == [210 / 400]
    (found,) = load_detector(write(tmp_path), min_score=0.6)([picture])
    assert len(found) == 0


def test_closing_joins_what_a_stripe_parts(tmp_path):
    picture = painted((10, 10, 30, 20, 0), (10, 22, 30, 32, 0))
    assert len(load_detector(write(tmp_path))([picture])[0]) == 2
    (found,) = load_detector(write(tmp_path, closing=5))([picture])
    assert found.box.tolist() == [[10, 10, 30, 32]]
    assert found.score.tolist() == [20 / 22]


def test_best_first_and_many_pictures(tmp_path):
    half = painted((10, 10, 20, 20, 120))
    half[10:15, 10:15] = 128
    picture = np.maximum(half, 0)
    picture[40:60, 40:60] = [255, 0, 0]
    first, second = load_detector(write(tmp_path))([picture, painted()])
    assert first.class_id.tolist() == [1, 2]
    assert first.score.tolist() == [1.0, 0.75]
    assert len(second) == 0


ONE = "classes: {1: {name: red, hue: [0, 9], saturation: [0, 1], value: [0, 1]}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no file of colour thresholds"),
        ("classes: {}", "classes: a list that is not empty is needed"),
        ("classes: [1, 2]", "classes: fields are needed"),
        ("a: [1", "not valid YAML"),
        ("classes: {red: {name: red}}", "classes\\.red: a whole number"),
        ("classes: {1: {hue: [0, 9]}}", "classes\\.1\\.name: a text is needed; nothing is given"),
        (f"closing: 2.5\n{ONE}", "closing: a whole number from 0 to 1000"),
        (f"closing: 1000000000\n{ONE}", "closing: a whole number from 0 to 1000"),
        ("classes: {1: {name: red}}", "classes\\.1\\.hue: 2 numbers"),
        ("classes: {1: {name: red, hue: [0, 400], saturation: [0, 1], value: [0, 1]}}", "hue: 2 numbers from 0 to 360"),
        ("classes: {1: {name: red, hue: [0, 40], saturation: [1, 0], value: [0, 1]}}", "saturation: the lower"),
        ("classes: {1: {name: red, hue: [0, 40], saturation: [0, 1], value: [0, 255]}}", "value: 2 numbers"),
        ("min_area: -1\nclasses: {1: {name: r, hue: [0, 4], saturation: [0, 1], value: [0, 1]}}", "min_area: a number"),
    ],
)
def test_files_that_make_no_sense(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(SimjudgeError, match=message) as caught:
        load_detector(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "hues"),
    [("cones_red_green", {0: "red", 120: "green"}), ("cones_blue_yellow", {220: "blue_cone", 55: "yellow_cone"})],
)
def test_shipped_thresholds_find_their_colours(name, hues):
    assert shipped_files(DETECTOR)[name].parent.parent == Path(__file__).parents[2] / "config"
    detector = load_detector(name)
    for hue, expected in hues.items():
        (found,) = detector([painted((10, 10, 40, 60, hue))])
        assert [detector.class_names[int(c)] for c in found.class_id] == [expected]
