"""Cameras as YAML: what is read is what is written there, and what is wrong is said by file and field."""

import math

import numpy as np
import pytest
import yaml

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import CAMERA, shipped_files
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import Step, apply_steps

GOOD = {"size": [640, 480], "field_of_view": 70, "rate": 10}
CALIBRATION = {
    "image_width": 640,
    "image_height": 480,
    "camera_name": "measured",
    "camera_matrix": {"rows": 3, "cols": 3, "data": [500.0, 0, 320, 0, 505, 238, 0, 0, 1]},
    "distortion_model": "plumb_bob",
    "distortion_coefficients": {"rows": 1, "cols": 5, "data": [-0.2, 0.05, 0, 0, 0.01]},
}


def written(folder, **changes):
    """A camera's file: the good one with changes; None removes a field."""
    path = folder / "mine.yaml"
    content = {field: value for field, value in (GOOD | changes).items() if value is not None}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def test_every_field_is_read(tmp_path):
    chain = ["gray_world", {"shot_noise": {"shot": 6, "read": 1.5}}, {"bayer": {"pattern": "GRBG"}}]
    path = written(
        tmp_path,
        name="own",
        lens={"model": "radial", "k1": -0.2, "k3": 0.01},
        lag=0.25,
        filters=chain,
        rate=7.5,
        supersampling=3,
        exposure_time=0.02,
        exposure_samples=5,
        gain=1.5,
    )
    camera = read_camera(path)
    assert (camera.supersampling, camera.rays_per_pixel) == (3, 9)
    assert (camera.exposure_time, camera.exposure_samples, camera.gain) == (0.02, 5, 1.5)
    assert (camera.name, camera.path, camera.rate, camera.lag) == ("own", path, 7.5, 0.25)
    assert camera.lens.model == "radial"
    assert camera.lens.size == (640, 480)
    assert camera.lens.coefficients == (-0.2, 0.0, 0.01)
    assert camera.lens.horizontal_field() == pytest.approx(70)
    assert camera.steps == (
        Step("gray_world", {}),
        Step("shot_noise", {"shot": 6, "read": 1.5}),
        Step("bayer", {"pattern": "GRBG"}),
    )


def test_what_may_be_left_out(tmp_path):
    camera = read_camera(str(written(tmp_path)))
    assert (camera.name, camera.lag, camera.steps, camera.lens.model) == ("mine", 0.0, (), "pinhole")
    assert (camera.supersampling, camera.exposure_time, camera.exposure_samples, camera.gain) == (2, 0.0, 1, 1.0)
    assert read_camera(written(tmp_path, exposure_time=0.01)).exposure_samples == 4
    assert read_camera(written(tmp_path, exposure_time=0.01, motion_blur="rays")).exposure_samples == 16
    assert read_camera(written(tmp_path, line_time=1e-4)).motion_blur == "rays"
    by_focal = read_camera(written(tmp_path, field_of_view=None, focal_length=320))
    assert by_focal.lens.horizontal_field() == pytest.approx(90)


def test_a_calibration_gives_the_lens(tmp_path):
    (tmp_path / "ros.yaml").write_text(yaml.safe_dump(CALIBRATION))
    camera = read_camera(written(tmp_path, size=None, field_of_view=None, calibration="ros.yaml"))
    assert (camera.lens.focal, camera.lens.centre) == ((500, 505), (320, 238))
    assert camera.lens.coefficients == (-0.2, 0.05, 0.01)
    folded = CALIBRATION | {"distortion_coefficients": {"data": [-0.9, 0, 0.01, 0, 0]}}
    (tmp_path / "ros.yaml").write_text(yaml.safe_dump(folded))
    with pytest.raises(SimjudgeError, match=r"mine\.yaml:\d+: calibration: .*before the corners"):
        read_camera(tmp_path / "mine.yaml")
    (tmp_path / "ros.yaml").write_text(yaml.safe_dump(CALIBRATION | {"image_width": 1280}))
    with pytest.raises(SimjudgeError, match=r"mine\.yaml:\d+: calibration: the principal point"):
        read_camera(tmp_path / "mine.yaml")
    with pytest.raises(SimjudgeError, match="size: comes from the calibration"):
        read_camera(written(tmp_path, field_of_view=None, calibration="ros.yaml"))


def test_the_shipped_cameras_are_whole():
    assert set(shipped_files(CAMERA)) >= {
        "art1",
        "plain",
        "reference",
        "lens_fov",
        "lens_radial",
        "noise",
        "motion_blur",
    }
    picture = np.random.default_rng(0).integers(0, 256, (36, 64, 3), np.uint8)
    for name in shipped_files(CAMERA):
        camera = read_camera(name)
        assert camera.name == name
        small = dict.fromkeys(("signs_plain", "signs_glare", "signs_fitted"), (320, 240))
        sizes = {"plain_half": (640, 360), "formula": (1024, 256), "hallway": (360, 640)} | small
        assert camera.lens.size == sizes.get(name, (1280, 720))
        field = {"formula": 70, "hallway": float(np.degrees(2 * np.arctan(180 / 520)))} | dict.fromkeys(small, 66)
        assert camera.lens.horizontal_field() == pytest.approx(field.get(name, 80))
        assert camera.lens.camera_info(name).error < 1e-3
        out = apply_steps(picture, camera.steps, seed=1)
        assert np.array_equal(out, apply_steps(picture, camera.steps, seed=1))
        assert np.array_equal(out, picture) == (not camera.steps)
    assert read_camera("art1").lens.model == "radial"
    assert [read_camera(name).exposure_time for name in ("art1", "reference", "plain")] == [0.01, 0.01, 0]
    assert math.radians(read_camera("art1").lens.horizontal_field()) == pytest.approx(1.396, abs=1e-3)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"size": None}, "size: 2 whole numbers .*nothing is given"),
        ({"size": [640]}, r"size: 2 whole numbers from 1 to 20000 \[width, height\] are needed; this is \[640\]"),
        ({"size": [0, 480]}, "size: "),
        ({"size": [640.5, 480]}, "size: "),
        ({"size": [True, 480]}, "size: "),
        ({"size": [10**9, 480]}, "size: "),
        ({"size": "640x480"}, "size: "),
        ({"field_of_view": None}, "a camera needs one of field_of_view, focal_length; none is given"),
        ({"focal_length": 500}, "a camera needs .*; field_of_view and focal_length are given"),
        ({"field_of_view": "wide"}, "field_of_view: a number is needed; this is wide"),
        ({"field_of_view": math.nan}, "field_of_view: a finite number is needed; this is nan"),
        ({"field_of_view": 10**400}, "field_of_view: a number is needed"),
        ({"field_of_view": 180}, "field_of_view: field of view 180"),
        ({"lens": "fov"}, "lens: fields .model, k1, k2, p1, p2, k3, k4, k5, k6. are needed; this is fov"),
        ({"lens": {"model": ["fov"]}}, "lens.model: one of pinhole, radial, fov, equidistant, plumb_bob, .* is needed"),
        ({"lens": {"model": "fvo"}}, "lens.model: there is no 'fvo'; is fov meant"),
        ({"lens": {"model": "radial", "p1": 1}}, "lens.p1: no such field of a radial lens; there is model, k1, k2, k3"),
        ({"lens": {"model": "plumb_bob", "p1": 0.001}}, "field_of_view: a plumb_bob lens .* by its focal length"),
        ({"lens": {"k1": 1}}, "lens.model: one of .* is needed; nothing is given"),
        ({"lens": {"model": "fov", "k1": 1}}, "lens.k1: no such field"),
        ({"lens": {"model": "radial", "k1": "x"}}, "lens.k1: a number is needed"),
        ({"lens": {"model": "radial", "k1": -1}}, "field_of_view: .*turns back"),
        ({"rate": None}, "rate: a number above 0 is needed; nothing is given"),
        ({"rate": 0}, "rate: a number above 0"),
        ({"rate": True}, "rate: a number above 0 is needed"),
        ({"lag": -0.1}, "lag: a number of 0 or more"),
        ({"name": 3}, "name: a text is needed"),
        ({"supersampling": 0}, "supersampling: a whole number from 1 to 16 is needed; this is 0"),
        ({"supersampling": 1.5}, "supersampling: a whole number"),
        ({"supersampling": True}, "supersampling: a whole number"),
        ({"exposure_time": -0.01}, "exposure_time: a number of 0 or more"),
        ({"exposure_time": 0.11}, "exposure_time: 0 to 0.1 seconds"),
        ({"exposure_time": math.nan}, "exposure_time: a finite number is needed"),
        ({"exposure_time": 0.01, "exposure_samples": 0}, "exposure_samples: a whole number from 1 to 256"),
        ({"exposure_samples": 4}, "exposure_samples: needs an exposure_time"),
        ({"motion_blur": "rays"}, "motion_blur: needs an exposure_time"),
        ({"motion_blur": "ray", "exposure_time": 0.01}, "motion_blur: there is no 'ray'; is rays meant"),
        ({"line_time": -1e-5}, "line_time: a number of 0 or more"),
        ({"line_time": 1e-5, "exposure_time": 0.01, "motion_blur": "moments"}, "line_time: rows of a rolling shutter"),
        ({"line_time": 1e-3}, "line_time: the last of 480 rows is exposed 0.479 seconds after .*; 0.0002088 at most"),
        ({"gain": 0}, "gain: a number above 0 is needed"),
        ({"gain": "auto"}, "gain: a number above 0 is needed"),
        ({"filters": ["srgb", "gray_world", "srgb"]}, "filters: filter srgb: 2 times in one chain"),
        ({"fps": 30}, "fps: no such field; (is|there are)"),
        ({"calibration": 3, "size": None, "field_of_view": None}, "calibration: the path of a file"),
        ({"calibration": "no.yaml", "size": None, "field_of_view": None}, "cannot be read"),
        ({"filters": "jpeg"}, "filters: a list is needed"),
        ({"filters": [3]}, r"filters\[0\]: a filter's name, or "),
        ({"filters": ["gray_world", {"gamma": {1: 2, "a": 3}}]}, r"filters\[1\]: a filter's name, or "),
        ({"filters": ["sepia"]}, r"filters\[0\]: no filter is called 'sepia'"),
        ({"filters": [{"gamma": {"sigma": 2}}]}, r"filters\[0\]: filter gamma: no parameter 'sigma'"),
        ({"filters": ["gamma"]}, r"filters\[0\]: filter gamma: exponent is missing"),
        ({"filters": [{"gamma": {"exponent": "2"}}]}, r"filters\[0\].gamma.exponent: a number is needed; this is 2"),
        ({"filters": [{"gamma": {"exponent": -2}}]}, r"filters\[0\]: gamma: exponent -2"),
        ({"filters": [{"bayer": {"pattern": 3}}]}, r"filters\[0\].bayer.pattern: a text is needed"),
        ({"filters": [{"gaussian_blur": {"sigma": 1e200}}]}, r"filters\[0\].gaussian_blur.sigma: 1e\+06 at most"),
        ({"filters": [{"shot_noise": {"shot": 1, "read": 1, "seed": 3}}]}, r"filters\[0\]: .*no parameter 'seed'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_by_file_and_field(tmp_path, changes, says):
    with pytest.raises(SimjudgeError, match=rf"(mine|no)\.yaml(:\d+)?: ?{says}") as caught:
        read_camera(written(tmp_path, **changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "- 1\n", "a: [", "size: \x00", "just words"])
def test_what_is_no_camera_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "mine.yaml"
    path.write_text(content)
    with pytest.raises(SimjudgeError, match=r"mine\.yaml(:\d+)?: (not valid YAML|no camera)") as caught:
        read_camera(path)
    assert "\n" not in str(caught.value)


def test_an_unknown_name_lists_those_that_there_are(tmp_path):
    for missing in ("pinhole", str(tmp_path / "gone.yaml"), str(tmp_path)):
        with pytest.raises(UsageError, match=r"neither a file nor the name of a camera .*art1, .*reference"):
            read_camera(missing)
