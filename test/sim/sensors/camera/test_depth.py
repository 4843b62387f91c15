"""Depth images: metres against formulas and rays, in messages, files and recordings."""

import math

import cv2
import numpy as np
import pytest
from light_scenes import flat, scene, sheet, thing
from trimesh import creation

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, IMAGE, standard_types
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.depth_filters import (
    DEPTH_FILTERS,
    DepthCamera,
    DepthStep,
    depth_filter,
    encode_depth_png,
)
from simjudge.sim.sensors.camera.lens import Lens, lens_with_field
from simjudge.sim.sensors.sensor_messages import CameraMessages

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

SIZE = (60, 40)
LENSES = {
    "pinhole": lens_with_field("pinhole", SIZE, 80),
    "radial": lens_with_field("radial", SIZE, 80, (-0.2, 0.02, 0)),
    "plumb_bob": Lens("plumb_bob", SIZE, (36.0, 36.0), (30.1, 18.7), (-0.3, 0.09, 0.004, -0.006, 0.0)),
    "equidistant": lens_with_field("equidistant", SIZE, 100, (0.01, -0.002, 0.0, 0.0)),
    "equirectangular": lens_with_field("equirectangular", SIZE, 200),
}
CAMERA = Pose.from_euler(0.2, -0.1, 0.5, yaw=0.2, pitch=0.1).optical_frame()


def written(folder, **more):
    lines = {"size": "[60, 40]", "field_of_view": 80, "rate": 10, "supersampling": 1, **more}
    file = folder / "rgbd.yaml"
    file.write_text("".join(f"{key}: {value}\n" for key, value in lines.items()))
    return file


@pytest.fixture(scope="module")
def wall():
    """A wall 3 m ahead, and nothing else."""
    plate = thing("wall", flat(creation.box([0.2, 400, 400])), pose=Pose((3.1, 0, 0)))
    engine = make_engine("default", scene(plate, ambient=(1, 1, 1)))
    yield engine
    engine.close()


@pytest.mark.parametrize("model", LENSES)
def test_a_plane_at_a_known_distance(wall, model):
    """Along a ray d from o, the plane x = 3 is (3 - o_x) / d_x away; depth is that times the ray's z."""
    lens = LENSES[model]
    depth = DepthCamera(0.5, 9.0).measure(wall.labels(lens, SceneState(CAMERA)).depth, lens.focal[0], (0,))
    rays = lens.rays()
    towards = (rays @ CAMERA.rotation_matrix().T)[..., 0]
    with np.errstate(divide="ignore"):
        way = np.where(towards > 0, (3 - CAMERA.position[0]) / towards, np.inf)
    expected = way * (1 if lens.omnidirectional else rays[..., 2])
    seen = (expected <= 9) & (way < 150)
    assert depth[seen] == pytest.approx(expected[seen], rel=2e-5)
    assert np.isnan(depth[~seen]).all()
    assert depth.dtype == np.float32


def test_what_lies_in_the_range_is_measured():
    given = np.array([[0.2, 0.3, 5.0, 9.99, 10.01, np.inf]], np.float32)
    nan = math.nan
    assert DepthCamera(0.3, 10).measure(given, 1, (0,)) == pytest.approx(
        np.array([[nan, 0.3, 5, 9.99, nan, nan]], np.float32), nan_ok=True
    )
    assert np.isnan(DepthCamera().measure(given, 1, (0,))).tolist() == [[False] * 5 + [True]]


def test_filters_act_in_order_with_numbers_of_their_own(monkeypatch):
    monkeypatch.setattr(DEPTH_FILTERS, "functions", dict(DEPTH_FILTERS.functions))

    @depth_filter
    def spread(depth, sigma: float, *, seed):
        return depth + sigma * np.random.default_rng(seed).standard_normal(depth.shape).astype(np.float32)

    @depth_filter
    def in_steps(depth, baseline: float, *, focal):
        return baseline * focal / np.round(baseline * focal / depth)

    image = np.full((20, 20), 2.03, np.float32)
    camera = DepthCamera(steps=(DepthStep("in_steps", {"baseline": 0.1}),))
    assert camera.measure(image, 400.0, (1,)) == pytest.approx(np.full((20, 20), 40 / 20))
    camera = DepthCamera(1.9, 2.2, (DepthStep("spread", {"sigma": 0.1}), DepthStep("spread", {"sigma": 0.1})))
    first = camera.measure(image, 400.0, (1, 2))
    assert np.array_equal(first, camera.measure(image, 400.0, (1, 2)), equal_nan=True)
    assert not np.array_equal(first, camera.measure(image, 400.0, (1, 3)), equal_nan=True)
    assert np.isnan(first).any()  # the range is that of what is measured
    twice = DepthCamera(steps=camera.steps).measure(image, 400.0, (1, 2)) - 2.03
    assert twice.std() == pytest.approx(0.1 * math.sqrt(2), rel=0.15)  # the two draw different numbers
    with pytest.raises(UsageError, match="no filter of depth is called 'spred'; is spread meant"):
        DepthStep("spred")


def test_files_hold_millimetres_and_messages_metres(tmp_path):
    depth = np.array([[0.0004, 0.0006, 1.2344], [np.nan, 65.535, 65.54]], np.float32)
    data, far = encode_depth_png(depth)
    (tmp_path / "d.png").write_bytes(data)
    read = cv2.imread(str(tmp_path / "d.png"), cv2.IMREAD_UNCHANGED)
    assert read.dtype == np.uint16
    assert read.tolist() == [[0, 1, 1234], [0, 65535, 0]]
    assert far == 1
    messages = CameraMessages(LENSES["pinhole"].camera_info("c").calibration, "map")
    (topic, image), (other, info) = messages.depth(5_000_000_007, depth, "front")
    assert (topic, other) == ("/front/depth/image_raw", "/front/depth/camera_info")
    types = standard_types()
    again = types.deserialize_cdr(types.serialize_cdr(image, IMAGE), IMAGE)
    assert (again.encoding, again.step, again.height, again.width) == ("32FC1", 12, 2, 3)
    assert np.array_equal(again.data.view("<f4").reshape(2, 3), depth, equal_nan=True)
    assert (info.header.stamp.nanosec, info.__msgtype__) == (7, CAMERA_INFO)


@pytest.mark.parametrize(
    ("depth", "says"),
    [
        ("{range: [3, 1]}", "depth.range: nearest 3 is not below farthest 1"),
        ("{range: [-1, 1]}", "depth.range: 2 numbers of 0 or more"),
        ("{rang: [0, 1]}", "depth.rang: no such field; is range meant"),
        ("{filters: [{blur: {sigma: 1}}]}", r"depth.filters\[0\]: no filter of depth is called 'blur'"),
        ("{filters: [3]}", r"depth.filters\[0\]: a filter's name, or "),
    ],
)
def test_wrong_files_are_told(tmp_path, depth, says):
    with pytest.raises(SimjudgeError, match=says):
        read_camera(written(tmp_path, depth=depth))


def test_floors_are_seen_from_above():
    """A sheet seen straight from 2 m above is 2 m deep everywhere, whatever the ray's angle."""
    engine = make_engine("default", scene(thing("floor", sheet(50, 50)), ambient=(1, 1, 1)))
    above = Pose.from_euler(0, 0, 2, pitch=math.pi / 2).optical_frame()
    assert engine.labels(LENSES["pinhole"], SceneState(above)).depth == pytest.approx(np.full((40, 60), 2.0), rel=1e-5)
    engine.close()
