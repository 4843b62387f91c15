"""Colour thresholds on painted pictures."""

import colorsys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.installed import DETECTOR, shipped_files
from simjudge.data.sets import read_set
from simjudge.detectors.colour_detector import ColourClass, close_with_disk
from simjudge.detectors.detection import detect, load_detector

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


def in_limits(picture, red, green, blue):
    """Pixel by pixel."""
    out = np.zeros(picture.shape[:2], bool)
    for y, x in np.ndindex(out.shape):
        out[y, x] = all(low <= v <= high for v, (low, high) in zip(picture[y, x], (red, green, blue), strict=True))
    return out


def test_limits_of_red_green_and_blue_against_a_naive_loop():
    picture = np.random.default_rng(0).integers(0, 256, (24, 30, 3), np.uint8)
    limits = {"red": (99.5, 255), "green": (0, 180), "blue": (30, 200.5)}
    found = ColourClass(name="c", **limits).find_pixels(picture, None)
    assert np.array_equal(found, in_limits(picture, **limits))
    assert ColourClass(name="c", blue=(7, 200)).find_pixels(picture, None).sum() == np.sum(
        (picture[..., 2] >= 7) & (picture[..., 2] <= 200)
    )


@pytest.mark.parametrize("radius", [1, 2, 5, 16])
@pytest.mark.parametrize("share", [0.002, 0.05, 0.6, 0, 1])
def test_closing_with_a_disk_against_scikit_image_and_opencv(radius, share):
    morphology = pytest.importorskip("skimage.morphology")
    hit = (np.random.default_rng(radius).random((70, 90)) < share).astype(np.uint8)
    disk = morphology.disk(radius)
    found = close_with_disk(hit, radius)
    assert np.array_equal(found, cv2.morphologyEx(hit, cv2.MORPH_CLOSE, disk))
    # scikit-image closes beyond the edge, too, if there is room.
    middle = np.pad(hit, 2 * radius)
    wide = morphology.closing(middle, disk)
    assert np.array_equal(close_with_disk(middle, radius), wide)


def test_regions_against_scikit_image(tmp_path):
    measure, morphology = (pytest.importorskip(f"skimage.{part}") for part in ("measure", "morphology"))
    rng = np.random.default_rng(3)
    picture = painted(*((x, y, x + 6, y + 4, 120) for x, y in rng.integers(4, 70, (14, 2))))
    path = write(tmp_path, RED_GREEN.format(closing=0).replace("closing: 0", "closing_radius: 3"))
    (found,) = replace(load_detector(path), regions=True)([picture])
    closed = morphology.closing(np.pad(picture[..., 0] == 0, 8), morphology.disk(3))[8:-8, 8:-8]
    regions = [r for r in measure.regionprops(measure.label(closed, connectivity=2)) if 20 <= r.area <= 900]
    assert len(found) == len(regions) > 1
    expected = {tuple(r.bbox[i] for i in (1, 0, 3, 2)): r.image for r in regions}
    for i, box in enumerate(found.box):
        assert np.array_equal(found.masks.crop(i), expected[tuple(box.astype(int))])
        assert found.masks.origin[i].tolist() == box[:2].tolist()


def test_what_lies_above_the_line_is_left_out(tmp_path):
    # Middles at 15, 25 and 24.5.
    picture = painted((10, 10, 20, 20, 0), (30, 20, 40, 30, 0), (60, 20, 70, 29, 0))
    path = write(tmp_path, RED_GREEN.format(closing=0) + "line: 24.6")
    assert load_detector(path)([picture])[0].box[:, 0].tolist() == [30]
    path = write(tmp_path, RED_GREEN.format(closing=0).replace("value: [0.2, 1]}", "value: [0.2, 1], line: 24.5}", 1))
    assert load_detector(path)([picture])[0].box[:, 0].tolist() == [30, 60]


def test_pixels_of_regions_become_masks_of_predictions(tmp_path):
    pictures = [painted((10, 10, 30, 40, 0)), painted(), painted((50, 20, 60, 30, 120))]
    frames = FrameSet.build("s", [(100, 80)] * 3, images=ArrayImages(pictures))
    detector = load_detector(write(tmp_path))
    assert detect(frames, detector).predictions.masks is None
    masks = detect(frames, replace(detector, regions=True)).predictions.masks
    assert np.array_equal(masks.to_image(1, 100, 80), pictures[2][..., 1] == 255)
    assert len(masks) == 2


def test_shipped_barriers():
    detector = load_detector("krc_barriers")
    picture = np.full((360, 640, 3), (150, 140, 115), np.uint8)
    picture[:120] = (190, 210, 240)
    picture[200:260, 50:150] = (235, 90, 30)
    picture[200:260, 300:400] = (230, 228, 222)
    picture[300:310, 500:510] = (235, 90, 30)
    for row in range(80):  # a cone on its foot: higher than wide, and tapered
        half = row // 4 if row < 76 else 26
        picture[180 + row, 540 - half : 542 + half] = (235, 90, 30)
    (found,) = detector([picture])
    assert sorted(zip([detector.class_names[int(c)] for c in found.class_id], found.box.tolist(), strict=True)) == [
        ("cone", [514, 180, 568, 260]),
        ("orange barrier", [50, 200, 150, 260]),
        ("white barrier", [300, 200, 400, 260]),
    ]


def iou_table(a, b):
    """IoU of each box with each other one."""
    corner = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    both = np.prod(np.maximum(corner[1] - corner[0], 0), axis=2)
    area = [np.prod(box[:, 2:] - box[:, :2], axis=1) for box in (a, b)]
    return both / (area[0][:, None] + area[1] - both)


@pytest.mark.long
def test_cones_of_rendered_krc_frames_are_no_barriers(tmp_path):
    camera = tmp_path / "camera.yaml"
    camera.write_text("{size: [640, 360], field_of_view: 80, rate: 10, exposure_time: 0.008, filters: [srgb]}")
    sj.render("krc", tmp_path / "krc.mcap", camera=str(camera), poses="path", n=8)
    frames, detector = read_set(tmp_path / "krc.mcap"), load_detector("krc_barriers")
    # Radius and areas are for pictures about 1280 wide.
    half = {key: replace(each, closing_radius=8, min_area=250) for key, each in detector.classes.items()}
    detector = replace(detector, classes=half)
    told = 0
    for index in range(len(frames)):
        (found,) = detector([frames.images.read(index)])
        names = np.array([detector.class_names[int(each)] for each in found.class_id])
        own = frames.objects.frame == index
        boxes, kinds = frames.objects.box[own], frames.objects.class_id[own]
        overlap = iou_table(found.box, boxes)
        for row in np.flatnonzero(overlap.max(1, initial=0) > 0.5):
            labelled = frames.class_names[int(kinds[overlap[row].argmax()])]
            assert (names[row] == "cone") == (labelled == "cone"), (index, names[row], labelled)
            told += labelled == "cone"
        assert (overlap[names == "cone"].max(1, initial=0) > 0.5).all()
    assert told >= 3


SHAPED = """
classes:
  1: {name: tall, red: [200, 255], aspect: [1.5, 9]}
  2: {name: any, red: [200, 255]}
  3: {name: thin, red: [200, 255], fill: [0, 0.6]}
"""


def test_blobs_that_fit_a_shape_are_of_no_class_of_that_colour_without_one(tmp_path):
    picture = painted()
    picture[:] = 0
    picture[5:35, 5:15] = (255, 0, 0)  # tall, and full
    picture[5:15, 30:50] = (255, 0, 0)  # wide, and full
    picture[40, 5:25] = picture[40:60, 5] = (255, 0, 0)  # a corner, as high as wide
    detector = load_detector(write(tmp_path, SHAPED))
    (found,) = detector([picture])
    seen = sorted(zip([detector.class_names[int(c)] for c in found.class_id], found.box.tolist(), strict=True))
    assert seen == [("any", [30, 5, 50, 15]), ("tall", [5, 5, 15, 35]), ("thin", [5, 40, 25, 60])]


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
        ("classes: {1: {name: red}}", "classes\\.1: limits of a colour are needed: of hue, .* or blue"),
        ("classes: {1: {name: red, hue: 7}}", "classes\\.1\\.hue: 2 numbers"),
        ("classes: {1: {name: red, green: [0, 256]}}", "green: 2 numbers from 0 to 255"),
        ("classes: {1: {name: red, blue: [9, 8]}}", "blue: the lower comes first"),
        (f"closing_radius: -1\n{ONE}", "closing_radius: a whole number from 0 to 1000"),
        (f"line: -4\n{ONE}", "line: a number"),
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


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"closing": 5},
        {"closing": 4, "min_area": 3},
        {"closing_radius": 3},
        {"closing": 3, "closing_radius": 2, "line": 31.5},
        {"line": 40.0},
    ],
)
@pytest.mark.parametrize("size", [(57, 83), (120, 160), (720, 1280)])
def test_blobs_are_looked_for_where_hits_are_alone(monkeypatch, rules, size):
    """The same blobs, in the same order, with the same scores and pixels as in the whole picture."""
    random = np.random.default_rng(size[0])
    each = ColourClass(name="red", **rules)
    for chance in (0.0, 0.01, 0.3):
        hit = np.zeros(size, bool)
        y, x = random.integers(1, 30, 2)
        part = hit[y : y + size[0] // 2, x : x + size[1] // 2]
        part[:] = random.random(part.shape) < chance
        found = each.find_blobs(hit)
        with monkeypatch.context() as patch:
            patch.setattr(ColourClass, "_around", lambda self, whole: (whole, 0, 0))  # noqa: ARG005
            expected = each.find_blobs(hit)
        assert found.box == expected.box
        assert found.score == expected.score
        assert all(np.array_equal(a, b) for a, b in zip(found.crop, expected.crop, strict=True))
