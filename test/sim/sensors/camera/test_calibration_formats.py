"""Calibrations of ROS, Kalibr, OpenCV and MATLAB, and those in recordings, wherever a camera is asked for."""

import cv2
import numpy as np
import pytest
from calibration_files import SIZE, D, K, kalibr, matlab, opencv, ros
from scipy.io import savemat

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.camera.calibration import Calibration, holds_calibration, plain_calibration, read_calibration
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.sensor_messages import CAMERA_INFO_TOPIC, CameraMessages


def recording(path, topics=(CAMERA_INFO_TOPIC,)):
    made = CameraMessages(plain_calibration("camera", SIZE, "plumb_bob", K, D), "map").info(1_000_000_000)
    with record_messages(path) as out:
        for topic in topics:
            out.write(topic, 1_000_000_000, made)


EIGHT = np.arange(8) / 100
SHIFTED = K + np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
WAYS = {
    "ROS": ("c.yaml", ros, {}, D, "plumb_bob"),
    "ROS fisheye": ("c.yaml", ros, {"distortion": D[:4], "model": "fisheye"}, D[:4], "equidistant"),
    "OpenCV's YAML": ("c.yml", opencv, {}, D, "plumb_bob"),
    "OpenCV's XML": ("c.xml", opencv, {}, D, "plumb_bob"),
    "OpenCV's JSON": ("c.json", opencv, {}, D, "plumb_bob"),
    "OpenCV, rational": ("c.yml", opencv, {"distortion": EIGHT}, EIGHT, "rational_polynomial"),
    "OpenCV, fisheye": ("c.yml", opencv, {"distortion": D[:4], "fisheye_model": 1}, D[:4], "equidistant"),
    "Kalibr": ("c.yaml", kalibr, {}, D[:4], "plumb_bob"),
    "Kalibr, fisheye": ("c.yaml", kalibr, {"model": "equidistant"}, D[:4], "equidistant"),
    "MATLAB before R2022b": ("c.mat", matlab, {}, D, "plumb_bob"),
    "MATLAB since R2022b": ("c.mat", matlab, {"K": SHIFTED, "IntrinsicMatrix": None}, D, "plumb_bob"),
    "MATLAB's cameraIntrinsics": (
        "c.mat",
        matlab,
        {"FocalLength": K[[0, 1], [0, 1]], "PrincipalPoint": SHIFTED[:2, 2], "IntrinsicMatrix": None},
        D,
        "plumb_bob",
    ),
    "a recording": ("c.mcap", recording, {}, D, "plumb_bob"),
}


@pytest.mark.parametrize("tool", WAYS)
def test_the_same_camera_by_every_tool(tmp_path, tool):
    name, write, options, distortion, model = WAYS[tool]
    write(tmp_path / name, **options)
    assert holds_calibration(tmp_path / name)
    found = read_calibration(tmp_path / name)
    assert isinstance(found, Calibration)
    assert (found.size, found.model) == (SIZE, model)
    assert found.matrix == pytest.approx(K, abs=1e-9)
    assert found.distortion == pytest.approx(distortion, abs=1e-12)


@pytest.mark.parametrize("tool", ["ROS", "OpenCV's YAML", "Kalibr", "MATLAB before R2022b", "a recording"])
def test_a_calibration_is_a_camera_wherever_one_is_asked_for(tmp_path, tool):
    name, write, options, distortion, _ = WAYS[tool]
    write(tmp_path / name, **options)
    camera = read_camera(tmp_path / name)
    assert (camera.lens.size, camera.rate, camera.steps) == (SIZE, 30.0, ())
    points = np.array([[0.2, -0.1, 1.0], [-0.4, 0.3, 1.2], [0.0, 0.0, 2.0]])
    seen = cv2.projectPoints(points, np.zeros(3), np.zeros(3), K, np.array(distortion))[0][:, 0]
    assert camera.lens.project(points) == pytest.approx(seen, abs=1e-9)
    (tmp_path / "mine.yaml").write_text(f"calibration: {name}\nrate: 10\nfilters: [srgb]\n")
    mine = read_camera(tmp_path / "mine.yaml")
    assert mine.lens == camera.lens
    assert mine.rate == 10


def test_of_several_cameras_one_is_named(tmp_path):
    kalibr(tmp_path / "chain.yaml", names=("cam0", "cam1"))
    recording(tmp_path / "two.mcap", topics=("/left/camera_info", "/right/camera_info"))
    for file, names in (("chain.yaml", "cam0, cam1"), ("two.mcap", "/left/camera_info, /right/camera_info")):
        with pytest.raises(SimjudgeError, match=f"{file}: 2 cameras in it; it has {names}.*calibration_name"):
            read_camera(tmp_path / file)
        last = names.split(", ")[1]
        (tmp_path / "mine.yaml").write_text(f"calibration: {file}\ncalibration_name: {last}\nrate: 10\n")
        assert read_camera(tmp_path / "mine.yaml").lens.size == SIZE
        (tmp_path / "mine.yaml").write_text(f"calibration: {file}\ncalibration_name: other\nrate: 10\n")
        with pytest.raises(SimjudgeError, match=r"mine\.yaml:1: calibration: .*no camera other"):
            read_camera(tmp_path / "mine.yaml")


def test_a_centre_of_another_size_is_said_and_mended_only_if_asked_to(tmp_path):
    ros(tmp_path / "c.yaml", size=(1280, 720))
    with pytest.raises(SimjudgeError, match=r"suits images of 640x480; .* true calibration_size.* rate: 30"):
        read_camera(tmp_path / "c.yaml")
    (tmp_path / "mine.yaml").write_text("calibration: c.yaml\nrate: 10\n")
    with pytest.raises(SimjudgeError, match=r"mine\.yaml:1: calibration: .*calibration_size"):
        read_camera(tmp_path / "mine.yaml")
    (tmp_path / "mine.yaml").write_text("calibration: c.yaml\ncalibration_size: [640, 480]\nrate: 10\n")
    assert read_camera(tmp_path / "mine.yaml").lens.size == (640, 480)


def test_a_part_of_the_sensor_may_have_its_centre_anywhere(tmp_path):
    ros(tmp_path / "c.yaml", size=(1280, 720))
    (tmp_path / "mine.yaml").write_text("calibration: c.yaml\ncalibration_size: [1280, 720]\nrate: 10\n")
    lens = read_camera(tmp_path / "mine.yaml").lens
    plain = tmp_path / "plain.yaml"
    ros(tmp_path / "d.yaml", size=(640, 480))
    plain.write_text("calibration: d.yaml\nrate: 10\n")
    whole = read_camera(plain).lens
    assert lens.size == (1280, 720)
    assert (lens.centre, lens.focal) == (whole.centre, whole.focal)
    (tmp_path / "mine.yaml").write_text("calibration: c.yaml\ncalibration_size: [1920, 1080]\nrate: 10\n")
    with pytest.raises(SimjudgeError, match=r"off the middle of the 1920x1080"):
        read_camera(tmp_path / "mine.yaml")


@pytest.mark.parametrize(
    ("name", "write", "says"),
    [
        ("c.mat", lambda path: path.write_bytes(b"MATLAB 7.3"), r"no whole \.mat file of version 7"),
        ("c.mat", lambda path: path.write_bytes(bytes(range(1, 127))), r"no whole \.mat file of version 7"),
        ("c.mat", lambda path: savemat(path, {"x": 1}), "toStruct"),
        ("c.mat", lambda path: matlab(path, ImageSize=[np.nan, 640]), "width and height .* no whole numbers"),
        ("c.mat", lambda path: matlab(path, IntrinsicMatrix=[1, 2, 3]), "no cameraParameters"),
        ("c.xml", lambda path: path.write_text("<opencv_storage><K>1</K></opencv_storage>"), "OpenCV cannot read it"),
        ("c.json", lambda path: path.write_text('{"K": "opencv-matrix"]'), "OpenCV cannot read it"),
        ("c.yaml", lambda path: kalibr(path, distortion=D), "radtan has 4 numbers; these are 5"),
        ("c.yaml", lambda path: kalibr(path, model="fov"), "distortion_model"),
    ],
)
def test_what_is_no_calibration_is_refused_in_one_line(tmp_path, name, write, says):
    write(tmp_path / name)
    with pytest.raises(SimjudgeError, match=says) as error:
        read_calibration(tmp_path / name)
    assert str(error.value).startswith(str(tmp_path / name))
    assert "\n" not in str(error.value)


def test_a_recording_without_camera_info_is_no_camera(tmp_path):
    made = CameraMessages(plain_calibration("camera", SIZE, "plumb_bob", K, D), "map").transform(1, Pose())
    with record_messages(tmp_path / "tf.mcap") as out:
        out.write("/tf", 1, made)
    with pytest.raises(SimjudgeError, match="no calibration of a camera in it"):
        read_camera(tmp_path / "tf.mcap")
