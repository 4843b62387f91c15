"""Files of several cameras: names, mounts, rates, the pair, the one that drives; and what is refused in a line."""

import numpy as np
import pytest
import yaml

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import CALIBRATION, RIG, find_file, shipped_files
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.rig import camera_digest, read_rig
from simjudge.sim.vehicle.vehicle import read_vehicle

MOUNTS = {"camera": Pose((0.4, 0, 0.2)), "rear": Pose.from_euler(-0.1, 0, 0.2, yaw=np.pi)}
CAMERA = {"size": [96, 64], "field_of_view": 90, "rate": 10}
HERE = {"position": [0.1, 0.2, 0.3]}


def rig(folder, cameras, **more):
    (folder / "small.yaml").write_text(yaml.safe_dump(CAMERA))
    path = folder / "rig.yaml"
    path.write_text(yaml.safe_dump({"cameras": cameras, **more}, sort_keys=False))
    return path


def test_cameras_sit_where_the_file_or_the_car_says(tmp_path):
    path = rig(
        tmp_path,
        {
            "front": "small.yaml",
            "rear": {"camera": "plain", "rate": 5},
            "roof": {"camera": "small.yaml", "mount": {**HERE, "yaw": 90}},
            "chase": {"camera": "small.yaml", "follow": {"distance": 3}},
        },
    )
    front, rear, roof, chase = read_rig(path).mounted(MOUNTS)
    assert [each.name for each in (front, rear, roof, chase)] == ["front", "rear", "roof", "chase"]
    assert front.mount == MOUNTS["camera"], "the one that drives sits where the car has its camera"
    assert front.camera == read_camera(tmp_path / "small.yaml")
    assert (rear.mount, rear.camera.rate, rear.camera.lens.size) == (MOUNTS["rear"], 5, (1280, 720))
    np.testing.assert_allclose(roof.mount.to_world([[1.0, 0, 0]]), [[0.1, 1.2, 0.3]], atol=1e-12)
    assert (chase.follow.distance, chase.follow.height, chase.follow.time_constant) == (3, 1, 0.3)


def test_a_camera_is_a_file_beside_the_rig_wherever_simjudge_runs(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = rig(tmp_path, {"front": "small.yaml"})
    monkeypatch.chdir(elsewhere)
    assert read_rig(path).cameras[0][0].camera.path == tmp_path / "small.yaml"
    (tmp_path / "small.yaml").rename(elsewhere / "small.yaml")
    with pytest.raises(SimjudgeError, match=r"cameras\.front: small\.yaml: neither a file nor"):
        read_rig(path)


def test_the_cameras_and_calibrations_of_a_rig_are_part_of_what_it_is(tmp_path):
    path = rig(tmp_path, {"front": "calibrated.yaml"})
    calibration = tmp_path / "lens.yaml"
    calibration.write_text(find_file("art1_camera", CALIBRATION).read_text())
    (tmp_path / "calibrated.yaml").write_text("calibration: lens.yaml\nrate: 10\n")
    before = camera_digest(path)
    assert camera_digest(path) == before
    assert camera_digest(tmp_path / "calibrated.yaml") != before
    calibration.write_text(calibration.read_text() + "# another one\n")
    assert camera_digest(path) != before


def test_which_camera_has_which_file_is_part_of_what_a_rig_is(tmp_path):
    path = rig(tmp_path, {"front": "a.yaml", "rear": {"camera": "b.yaml", "mount": HERE}})
    one, other = (yaml.safe_dump(CAMERA | {"field_of_view": degrees}) for degrees in (80, 120))
    (tmp_path / "a.yaml").write_text(one)
    (tmp_path / "b.yaml").write_text(other)
    before = camera_digest(path)
    (tmp_path / "a.yaml").write_text(other)
    (tmp_path / "b.yaml").write_text(one)
    assert camera_digest(path) != before


def test_a_calibration_without_a_value_is_none(tmp_path):
    path = tmp_path / "camera.yaml"
    path.write_text(yaml.safe_dump(CAMERA | {"calibration": None}))
    assert camera_digest(path)


def test_a_pair_is_two_cameras_and_camera_info_says_how_far_apart(tmp_path):
    path = rig(tmp_path, {"pair": {"camera": "small.yaml", "mount": {**HERE, "yaw": 90}, "baseline": 0.12}})
    left, right = read_rig(path).mounted({})
    assert (left.name, right.name) == ("pair/left", "pair/right")
    focal = 48.0  # half of 96 px, at 45 degrees to each side
    np.testing.assert_allclose(left.calibration().projection[:, 3], 0)
    np.testing.assert_allclose(right.calibration().projection[:, 3], [-focal * 0.12, 0, 0], atol=1e-9)
    np.testing.assert_allclose(right.calibration().projection[:, :3], left.calibration().projection[:, :3])
    np.testing.assert_allclose(right.mount.position, [0.1 + 0.12, 0.2, 0.3])
    # P projects a point of the left optical frame to where the right camera sees it (sensor_msgs/CameraInfo).
    point = np.array([0.3, -0.1, 2.0])
    u, v, w = right.calibration().projection @ [*point, 1]
    world = left.mount.optical_frame().to_world(point[None])
    seen = right.camera.lens.project(right.mount.optical_frame().to_body(world))[0]
    np.testing.assert_allclose([u / w, v / w], seen, atol=1e-9)


def test_the_driver_may_be_another_one(tmp_path):
    path = rig(tmp_path, {"rear": {"camera": "small.yaml", "mount": HERE}, "front": "small.yaml"}, driver="front")
    assert read_rig(path).names == ("front", "rear")


def test_a_camera_alone_is_called_camera(tmp_path):
    rig(tmp_path, {})
    for given in ("plain", tmp_path / "small.yaml", read_camera("plain")):
        (only,) = read_rig(given).mounted(MOUNTS)
        assert (only.name, only.mount, only.noise_seed(7)) == ("camera", MOUNTS["camera"], 7)


def test_cameras_of_one_rig_have_noise_of_their_own(tmp_path):
    path = rig(tmp_path, {"front": "small.yaml", "rear": {"camera": "small.yaml", "mount": HERE}})
    front, rear = read_rig(path).mounted(MOUNTS)
    assert len({front.noise_seed(3), rear.noise_seed(3), front.noise_seed(4), 3}) == 4


@pytest.mark.parametrize("name", shipped_files(RIG))
def test_the_shipped_rigs_fit_art1(name):
    assert len(read_rig(name).mounted(read_vehicle("art1").mounts)) >= 2


FOLLOWS = {"camera": "small.yaml", "follow": {}}
SITS = {"camera": "small.yaml", "mount": HERE}


@pytest.mark.parametrize(
    ("cameras", "more", "words"),
    [
        ({}, {}, "one camera or more"),
        ({"a b": "small.yaml"}, {}, "cameras.a b: a name of letters, digits and _"),
        ({"base": "small.yaml"}, {}, "the name of another frame"),
        ({"front": 3}, {}, "cameras.front"),
        ({"front": {"camera": "small.yaml", "mont": HERE}}, {}, "no such field; is mount meant"),
        ({"front": {"mount": HERE}}, {}, "a camera's file or name is needed; nothing is given"),
        ({"front": "smal.yaml"}, {}, "rig.yaml:2: cameras.front: smal.yaml: neither a file nor"),
        ({"front": {**SITS, "rate": 0}}, {}, "cameras.front.rate: a number above 0"),
        ({"front": {**SITS, "baseline": -1}}, {}, "cameras.front.baseline: a number of 1000 or less above 0"),
        ({"front": {**SITS, "follow": {}}}, {}, "cameras.front.mount: a camera that follows has none"),
        ({"pair": {"camera": "small.yaml", "baseline": 0.1}}, {}, "a stereo pair needs a mount"),
        ({"chase": FOLLOWS}, {}, "a camera that follows cannot drive"),
        ({"front": SITS}, {"driver": "frnt"}, "driver: there is no camera frnt; is front meant"),
        ({"front": SITS}, {"drivr": "front"}, "drivr: no such field; is driver meant"),
        ({"front": "rig.yaml"}, {}, "holds several cameras"),
    ],
)
def test_what_is_no_rig_is_said_in_a_line(tmp_path, cameras, more, words):
    with pytest.raises(SimjudgeError) as caught:
        read_rig(rig(tmp_path, cameras, **more))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_camera_without_a_mount_is_refused(tmp_path):
    path = rig(tmp_path, {"front": "small.yaml", "side": "small.yaml"})
    with pytest.raises(UsageError, match=r"camera side: needs a mount \(the car has camera, rear\), or follow"):
        read_rig(path).mounted(MOUNTS)


def test_where_one_camera_is_needed_a_rig_is_refused(tmp_path):
    with pytest.raises(UsageError, match="holds several cameras; one is needed here"):
        read_camera(rig(tmp_path, {"front": "small.yaml"}))
