"""Cameras and sensors as other simulators read them: held against those simulators' own equations."""

import math
import re

import cv2
import numpy as np
import pytest
from defusedxml import ElementTree as ET  # noqa: N817
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import UsageError
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.exporting import export_camera, export_sensors
from simjudge.sim.sensors.sensor_file import read_sensors

POINTS = np.random.default_rng(1).uniform((-0.5, -0.3, 1), (0.5, 0.3, 1), (50, 3))
"""Ahead of the camera, x right, y down, inside all cameras here."""


def calibrated(model, *terms):
    """A camera_info.yaml of a camera off its middle."""
    return (
        f"image_width: 640\nimage_height: 480\ncamera_name: mine\ndistortion_model: {model}\n"
        "camera_matrix: {rows: 3, cols: 3, data: [500, 0, 300, 0, 510, 250, 0, 0, 1]}\n"
        f"distortion_coefficients: {{rows: 1, cols: {len(terms)}, data: {list(terms)}}}\n"
    )


@pytest.fixture
def odd(tmp_path):
    """A camera off its middle, with tangential distortion."""
    path = tmp_path / "camera_info.yaml"
    path.write_text(calibrated("plumb_bob", -0.2, 0.05, 0.001, -0.002, 0.01))
    return path


def numbers(element, *names):
    return [float(element.find(f".//{name}").text) for name in names]


def test_camera_info_is_the_same_lens_again(odd, tmp_path):
    for camera in (odd, "art1"):
        export_camera(camera, "ros").save(tmp_path / "again.yaml")
        lens, again = read_camera(camera).lens, read_camera(tmp_path / "again.yaml").lens
        np.testing.assert_allclose(again.project(POINTS), lens.project(POINTS), atol=1e-9)
        (tmp_path / "again.yaml").unlink()


def test_gazebo_draws_a_point_where_the_camera_does(odd):
    made = export_camera(odd, "sdf")
    root = ET.fromstring(made.text)
    fx, fy, cx, cy = numbers(root, "fx", "fy", "cx", "cy")
    k1, k2, k3, p1, p2 = numbers(root, "k1", "k2", "k3", "p1", "p2")
    matrix = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])
    drawn, _ = cv2.projectPoints(POINTS, np.zeros(3), np.zeros(3), matrix, np.array([k1, k2, p1, p2, k3]))
    np.testing.assert_allclose(drawn[:, 0] - 0.5, read_camera(odd).lens.project(POINTS), atol=1e-5)
    assert numbers(root, "horizontal_fov") == pytest.approx([2 * math.atan(320 / 500)])
    assert made.left_out == ()


def test_gazebo_gets_the_noise_at_the_end_of_the_chain_and_is_told_of_the_rest():
    made = export_camera("signs_fitted", "sdf")
    assert numbers(ET.fromstring(made.text), "stddev") == pytest.approx([2.5501 / 255])
    assert "filters: glare, chromatic_aberration, gaussian_blur" in made.left_out[0]
    assert "shot_noise" not in made.left_out[0]


def test_omniverse_has_the_terms_of_opencv(odd, tmp_path):
    text = export_camera(odd, "usd").text
    terms = dict(re.findall(r"float omni:lensdistortion:opencvPinhole:(\w+) = (\S+)", text))
    assert {name: float(value) for name, value in terms.items() if float(value)} == pytest.approx(
        {"fx": 500, "fy": 510, "cx": 300.5, "cy": 250.5, "k1": -0.2, "k2": 0.05, "p1": 0.001, "p2": -0.002, "k3": 0.01}
    )
    fisheye = tmp_path / "fisheye.yaml"
    fisheye.write_text(calibrated("equidistant", 0.01, 0.002, 0, 0))
    assert 'model = "opencvFisheye"' in export_camera(fisheye, "usd").text


def test_mujoco_sees_the_frustum_of_the_camera(odd):
    mujoco = pytest.importorskip("mujoco", reason="needs mujoco (pip install 'simjudge[sim]')")
    made = export_camera(odd, "mujoco")
    assert "distortion: MuJoCo has a pinhole" in made.left_out[0]
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{made.text}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene, camera = mujoco.MjvScene(model, 10), mujoco.MjvCamera()
    camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, 0
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, camera, 1, scene)
    seen = scene.camera[0]
    left = (seen.frustum_center - seen.frustum_width) / seen.frustum_near
    right = (seen.frustum_center + seen.frustum_width) / seen.frustum_near
    down, up = seen.frustum_bottom / seen.frustum_near, seen.frustum_top / seen.frustum_near
    # the edges of the picture lie half a pixel beyond the middles of the outer pixels
    assert (left, right) == pytest.approx(((-0.5 - 300) / 500, (639.5 - 300) / 500), abs=1e-5)
    assert (-up, -down) == pytest.approx(((-0.5 - 250) / 510, (479.5 - 250) / 510), abs=1e-5)


def test_a_lidar_has_the_angles_of_its_columns_and_rings():
    made = export_sensors("vlp16")
    root = ET.fromstring(made.text)
    horizontal, vertical = root.find(".//horizontal"), root.find(".//vertical")
    assert numbers(horizontal, "samples", "min_angle", "max_angle") == pytest.approx(
        [1800, -math.pi, math.pi - 2 * math.pi / 1800]
    )
    assert numbers(vertical, "samples", "min_angle", "max_angle") == pytest.approx(
        [16, math.radians(-15), math.radians(15)]
    )
    assert "delays and azimuths of rings" in made.left_out[0]
    assert "its place, roof" in made.left_out[1]


def test_the_bias_of_an_imu_walks_in_gazebo_as_it_was_measured():
    """Gazebo's Gauss-Markov bias (gz-sensors, GaussianNoiseModel) over 1,000 s against K^2 t."""
    root = ET.fromstring(export_sensors("mti300").text)
    walk, time = numbers(root, "dynamic_bias_stddev", "dynamic_bias_correlation_time")
    steps, dt = 400_000, 1 / 400
    phi = math.exp(-dt / time)
    variance = -(walk**2) * time / 2 * math.expm1(-2 * dt / time) * (1 - phi ** (2 * steps)) / (1 - phi**2)
    expected = read_sensors("mti300")[0].gyroscope.random_walk()[0] ** 2 * steps * dt
    assert variance == pytest.approx(expected, rel=0.002)


def test_sensors_without_a_place_in_sdf_are_named():
    with pytest.raises(UsageError, match=r"neither a lidar nor an IMU: encoders: .* not encoders"):
        export_sensors("as5048")


def test_the_command_says_what_is_left_out_and_keeps_files(tmp_path):
    out = tmp_path / "camera.sdf"
    done = CliRunner().invoke(app, ["export", "camera", "art1", "--to", "sdf", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "not in it: filters: vignetting, shot_noise" in " ".join(done.output.split())
    again = CliRunner().invoke(app, ["export", "camera", "plain", "--to", "sdf", "--out", str(out)])
    assert again.exit_code != 0
    assert "art1" in out.read_text()
