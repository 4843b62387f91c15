"""A stereo pair on rendered images: what is at depth Z is fx baseline / Z pixels further left in the right image."""

import numpy as np
import pytest
import yaml

from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import Capture, exposure_at
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Collider, Scene, Surface, Thing, box
from simjudge.sim.sensors.camera.rig import read_rig

pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

FOCAL, BASELINE = 48.0, 0.125  # half of 96 px, at 45 degrees to each side
DEPTHS = {1: 1.5, 2: 3.0}


def plate(number, depth, y):
    """A plate whose near side is at a depth before a left camera that looks along x from 1 m above the origin."""
    size = (0.02, 0.45, 0.3)
    pose = Pose((depth + 0.01, y, 1.0))
    return Thing(f"plate{number}", box(*size), Surface(), pose, 1, number, collider=Collider("box", size, (0, 0, 0)))


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    (folder / "small.yaml").write_text(yaml.safe_dump({"size": [96, 64], "field_of_view": 90, "rate": 10}))
    pair = {"camera": "small.yaml", "mount": {"position": [0, 0, 1]}, "baseline": BASELINE}
    (folder / "rig.yaml").write_text(yaml.safe_dump({"cameras": {"pair": pair}}))
    things = (plate(1, DEPTHS[1], 0.3), plate(2, DEPTHS[2], -0.5))
    engine = make_engine("default", Scene("s", things, (), class_names={1: "plate"}, ambient=(0.5, 0.5, 0.5)))
    seen = {}
    for mounted in read_rig(folder / "rig.yaml").mounted({}):
        poses = [mounted.mount.optical_frame()]
        exposure = exposure_at(mounted.camera, 0, "0", lambda stamps, poses=poses: poses * len(stamps))
        seen[mounted.name] = mounted, Capture(engine, mounted.camera).capture(exposure)
    yield seen
    engine.close()


@pytest.mark.parametrize("number", DEPTHS)
def test_the_disparity_is_focal_length_times_baseline_over_depth(frames, number):
    (_, left), (_, right) = frames["pair/left"], frames["pair/right"]
    disparity = FOCAL * BASELINE / DEPTHS[number]
    assert disparity == int(disparity) == {1: 4, 2: 2}[number]
    mask = left.labels.instance == number
    assert mask.sum() > 20
    np.testing.assert_array_equal(np.roll(mask, -int(disparity), 1), right.labels.instance == number)
    pixels = left.pixels()[mask].astype(int)
    np.testing.assert_allclose(np.roll(right.pixels(), int(disparity), 1)[mask], pixels, atol=2)
    np.testing.assert_allclose(left.labels.depth[mask], DEPTHS[number], atol=1e-4)


@pytest.mark.parametrize("number", DEPTHS)
def test_camera_info_projects_points_of_the_left_frame_onto_the_right_image(frames, number):
    (mounted, left), (other, right) = frames["pair/left"], frames["pair/right"]
    rows, columns = np.nonzero(left.labels.instance == number)
    depth = left.labels.depth[rows, columns].astype(float)
    (fx, _, cx, _), (_, fy, cy, _), _ = mounted.calibration().projection
    points = np.stack([(columns - cx) * depth / fx, (rows - cy) * depth / fy, depth, np.ones_like(depth)])
    u, v, w = other.calibration().projection @ points
    seen = right.labels.instance[np.rint(v / w).astype(int), np.rint(u / w).astype(int)]
    assert (seen == number).all()
