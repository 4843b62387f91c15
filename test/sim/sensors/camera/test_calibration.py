"""Calibrations: read as ROS writes them, doubted, scaled, and applied as the distortion models say."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from simjudge.core.errors import SimjudgeError
from simjudge.sim.sensors.camera.calibration import message_calibration, read_calibration

ROOT = Path(__file__).parents[4]


def entry(size=(1280, 720), focal=800.0, centre=(639.5, 359.5), model="plumb_bob", distortion=(0.0,) * 5, **more):
    """A calibration as ROS's camera_calibration writes it."""
    k = [focal, 0.0, centre[0], 0.0, focal, centre[1], 0.0, 0.0, 1.0]
    p = [*k[:3], 0.0, *k[3:6], 0.0, *k[6:], 0.0]
    return {
        "image_width": size[0],
        "image_height": size[1],
        "camera_name": "front",
        "camera_matrix": {"rows": 3, "cols": 3, "data": k},
        "distortion_model": model,
        "distortion_coefficients": {"rows": 1, "cols": len(distortion), "data": list(distortion)},
        "rectification_matrix": {"rows": 3, "cols": 3, "data": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]},
        "projection_matrix": {"rows": 3, "cols": 4, "data": p},
        **more,
    }


def written(folder, **values):
    path = folder / "camera.yaml"
    path.write_text(yaml.safe_dump(entry(**values)))
    return path


def test_the_example_is_art1s_camera():
    camera = read_calibration(ROOT / "config" / "art1_camera.yaml")
    assert camera.size == (1280, 720)
    field_of_view = 2 * math.degrees(math.atan(640 / camera.matrix[0, 0]))
    assert field_of_view == pytest.approx(80, abs=1e-4)
    assert camera.doubt() is None


def test_every_field_is_read(tmp_path):
    camera = read_calibration(written(tmp_path, distortion=(0.1, -0.2, 0.01, 0.02, 0.3)))
    assert (camera.name, camera.size, camera.model) == ("front", (1280, 720), "plumb_bob")
    np.testing.assert_array_equal(camera.matrix, [[800, 0, 639.5], [0, 800, 359.5], [0, 0, 1]])
    np.testing.assert_array_equal(camera.distortion, [0.1, -0.2, 0.01, 0.02, 0.3])
    np.testing.assert_array_equal(camera.rectification, np.eye(3))
    np.testing.assert_array_equal(camera.projection[:, :3], camera.matrix)


@pytest.mark.parametrize(
    ("size", "centre", "wrong", "suits"),
    [
        ((1280, 720), (655.0, 340.0), None, ""),  # a real lens, a little off
        ((1280, 720), (319.5, 239.5), True, "640x480"),  # calibrated small, claimed large
        ((1280, 720), (639.5, 479.5), True, "1280x960"),  # the middle of a picture that was cropped
        ((1280, 720), (959.5, 539.5), True, "1920x1080"),
        ((640, 480), (639.5, 359.5), True, "1280x720"),
        ((1280, 720), (639.5, 399.5), False, "1280x800"),
        ((1280, 720), (560.0, 359.5), False, ""),
    ],
)
def test_a_principal_point_must_suit_the_size(tmp_path, size, centre, wrong, suits):
    doubt = read_calibration(written(tmp_path, size=size, centre=centre)).doubt()
    if wrong is None:
        assert doubt is None
        return
    assert doubt.wrong == wrong
    assert f"({centre[0]:.1f}, {centre[1]:.1f})" in doubt.message
    assert ("it suits images of " + suits in doubt.message) if suits else ("it suits" not in doubt.message)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"image_width": 0}, "image_width: a whole number from 1 to 1000000 is needed; this is 0"),
        ({"image_height": "720p"}, "image_height: a whole number from 1 to 1000000 is needed; this is 720p"),
        (
            {"distortion_model": "pinhole"},
            "distortion_model: there is no 'pinhole'; there are equidistant, fisheye, plumb_bob",
        ),
        ({"distortion_model": "equidistant"}, "distortion_coefficients: equidistant has 4 numbers; these are 5"),
        ({"camera_matrix": {"data": [0.0] * 9}}, "camera_matrix: no camera has it"),
        ({"camera_matrix": {"data": [1.0] * 8}}, "camera_matrix: 3x3 numbers are needed; these are 8"),
        ({"camera_matrix": {"data": [math.nan] * 9}}, "camera_matrix.data[0]: a finite number is needed"),
        ({"camera_matrix": [1, 2]}, "camera_matrix: fields (data) are needed"),
        ({"projection_matrix": {"data": [0.0] * 12}}, "projection_matrix: no camera has it"),
        (
            {"rectification_matrix": {"data": [2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]}},
            "rectification_matrix: this is no rotation",
        ),
    ],
)
def test_what_no_camera_has_is_refused(tmp_path, change, reason):
    path = written(tmp_path, **change)
    with pytest.raises(SimjudgeError, match=r"^[^\n]*$") as caught:
        read_calibration(path)
    assert str(caught.value).startswith(str(path))
    assert reason in str(caught.value)


@pytest.mark.parametrize("text", ["", "a: [", "just words", "%YAML:1.0\n---\nK: !!opencv-matrix\n", "\x00"])
def test_what_is_no_calibration_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "camera.yaml"
    path.write_text(text)
    with pytest.raises(SimjudgeError, match=r"^[^\n]*(no camera calibration|not valid YAML|OpenCV cannot)[^\n]*$"):
        read_calibration(path)
    with pytest.raises(SimjudgeError, match="cannot be read"):
        read_calibration(tmp_path / "absent.yaml")


@given(st.integers(0, 1279), st.integers(0, 719), st.sampled_from([0.25, 0.5, 1.5, 2.0]))
def test_a_scaled_calibration_sees_the_same_directions(tmp_path_factory, x, y, factor):
    camera = read_calibration(written(tmp_path_factory.mktemp("camera"), centre=(630.0, 365.0)))
    scaled = camera.scaled((round(1280 * factor), round(720 * factor)))
    ray = np.linalg.solve(camera.matrix, [x, y, 1])
    there = scaled.matrix @ ray
    # Seen from the picture's outer edge, everything is at the same share of width and height.
    np.testing.assert_allclose((there[:2] + 0.5) / scaled.size, (np.array([x, y]) + 0.5) / camera.size, atol=1e-12)


def test_another_shape_cannot_be_scaled_to(tmp_path):
    camera = read_calibration(written(tmp_path))
    with pytest.raises(SimjudgeError, match="cannot be scaled to 640x480"):
        camera.scaled((640, 480))


def plumb_bob(x, y, d):
    """Brown's model, as OpenCV's documentation states it."""
    k1, k2, p1, p2, k3 = d
    r2 = x * x + y * y
    radial = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3
    return x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x), y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y


def rational(x, y, d):
    k1, k2, p1, p2, k3, k4, k5, k6 = d
    r2 = x * x + y * y
    radial = (1 + k1 * r2 + k2 * r2**2 + k3 * r2**3) / (1 + k4 * r2 + k5 * r2**2 + k6 * r2**3)
    return x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x), y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y


def equidistant(x, y, d):
    r = np.hypot(x, y)
    theta = np.arctan(r)
    bent = theta * (1 + d[0] * theta**2 + d[1] * theta**4 + d[2] * theta**6 + d[3] * theta**8)
    factor = np.divide(bent, r, out=np.ones_like(r), where=r > 0)
    return x * factor, y * factor


@pytest.mark.parametrize(
    ("model", "formula", "distortion"),
    [
        ("plumb_bob", plumb_bob, (-0.2, 0.05, 0.002, -0.001, 0.01)),
        ("rational_polynomial", rational, (0.1, -0.05, 0.001, 0.002, 0.01, 0.3, -0.02, 0.005)),
        ("equidistant", equidistant, (-0.03, 0.01, -0.004, 0.001)),
    ],
)
def test_undistorted_pixels_come_from_where_the_model_says(tmp_path, model, formula, distortion):
    size, centre = (320, 240), (165.0, 115.0)
    path = written(tmp_path, size=size, focal=250.0, centre=centre, model=model, distortion=distortion)
    x, y = np.meshgrid(np.arange(320.0), np.arange(240.0))
    # A picture whose pixels tell their own column and row, at 0.75 and 1 a step.
    picture = np.stack([np.rint(x * 0.75), np.rint(y), np.zeros_like(x)], axis=2).astype(np.uint8)
    result = read_calibration(path).undistortion()(picture)
    bent = formula((x - centre[0]) / 250, (y - centre[1]) / 250, distortion)
    source_x, source_y = bent[0] * 250 + centre[0], bent[1] * 250 + centre[1]
    inside = (source_x > 1) & (source_x < 318) & (source_y > 1) & (source_y < 238)
    assert inside.mean() > 0.9
    assert np.abs(result[..., 0] - source_x * 0.75)[inside].max() <= 1.1
    assert np.abs(result[..., 1] - source_y)[inside].max() <= 1.1
    assert np.hypot(source_x - x, source_y - y).max() > 5, "there is something to undistort"


def test_pictures_of_another_size_are_not_undistorted(tmp_path):
    undistort = read_calibration(written(tmp_path)).undistortion()
    with pytest.raises(SimjudgeError, match="an image of 640x480 with a calibration for 1280x720"):
        undistort(np.zeros((480, 640, 3), np.uint8))


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize(("corner", "binning"), [((0, 0), 1), ((600, 300), 2)])
def test_the_principal_point_of_a_part_of_the_sensor_is_that_of_the_whole(corner, binning, copied):
    """image_pipeline's rule: K and size of a camera_info are of the whole sensor, before binning."""
    centre = (319.5, 239.5) if copied else (639.5, 399.5)
    region = SimpleNamespace(x_offset=corner[0], y_offset=corner[1], width=640, height=400)
    k = [500.0, 0, centre[0], 0, 500, centre[1], 0, 0, 1]
    info = SimpleNamespace(
        header=SimpleNamespace(frame_id="cam"),
        width=1280,
        height=800,
        binning_x=binning,
        binning_y=binning,
        roi=region,
        k=k,
        p=[*k[:3], 0, *k[3:6], 0, *k[6:], 0],
        r=np.eye(3).ravel(),
        d=[0.0] * 5,
        distortion_model="plumb_bob",
    )
    part = message_calibration(info)
    assert part.size == (640 // binning, 400 // binning)
    assert part.matrix[:2, 2].tolist() == [(c - at) / binning for c, at in zip(centre, corner, strict=True)]
    doubt = part.doubt()
    assert (doubt is not None) == copied
    assert not copied or (doubt.wrong and f"{1280 // binning}x{800 // binning}" in doubt.message)
