"""Where cameras stand: at random on the floor, along a course, as a file says."""

import math

import numpy as np
import pytest
from render_scenes import COURSE, scene_file

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.pose_text import read_pose_text
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.camera_poses import CoursePoses, FilePoses, RandomPoses
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Course
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera import SECOND
from simjudge.sim.sensors.camera.lens import lens_with_field

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

MOUNT = Pose.from_euler(0.3, 0, 0.2, pitch=0.1).optical_frame()


@pytest.fixture
def engine(tmp_path):
    made = make_engine("default", read_scene(scene_file(tmp_path), 3))
    yield made
    made.close()


def random_poses(count, **more):
    return RandomPoses("tiny", count, 10.0, MOUNT, 80.0, **more)


def bodies(poses, engine):
    back = Pose().optical_frame().inverse()
    return [poses.at(index, [0], engine)[0] @ back for index in range(len(poses.stamp))]


def test_random_cameras_stand_on_the_floor_as_the_mount_has_it(engine):
    stood = bodies(random_poses(300), engine)
    x, y, z = np.array([body.position for body in stood]).T
    assert x.min() >= -1.5
    assert x.max() <= 1.5
    assert y.min() >= -1.5
    assert y.max() <= 1.5
    assert z.min() >= 0.7 * 0.2
    assert z.max() <= 1.4 * 0.2
    _, pitch, roll = np.array([body.angles() for body in stood]).T
    assert pitch.mean() == pytest.approx(0.1, abs=0.01)
    assert pitch.std() == pytest.approx(math.radians(3), rel=0.15)
    assert roll.mean() == pytest.approx(0, abs=0.01)
    assert roll.std() == pytest.approx(math.radians(1.5), rel=0.15)


def test_random_cameras_are_never_within_a_thing_nor_at_its_face(engine):
    """The pillar is a box of 0.5 m: the distance to it by hand; cones' feet stand where the scene says."""
    cones = np.array([thing.pose.position[:2] for thing in engine.scene.labelled()])
    for body in bodies(random_poses(300, aimed=0.0), engine):
        x, y, z = body.position
        outside = np.hypot(max(abs(x) - 0.25, 0), max(abs(y) - 0.25, 0))
        assert outside >= 0.1
        narrow = 0.08 * (1 - z / 0.2)  # a cone's radius at the camera's height
        assert np.hypot(*(cones - (x, y)).T).min() >= 0.1 + narrow


def test_random_cameras_mostly_look_at_cones_of_both_classes_alike(engine):
    lens = lens_with_field("pinhole", (96, 64), 80)
    seen = {1: 0, 2: 0}
    poses = random_poses(300, aimed=1.0, tilt=(0, 0), heights=(1, 1))
    for body in bodies(poses, engine):
        nearest = {}
        for thing in engine.scene.labelled():
            pixel = lens.project(body.optical_frame().to_body(thing.pose.position))
            if np.isfinite(pixel).all() and -0.5 <= pixel[0] <= 95.5:
                nearest[thing.class_id] = True
        assert nearest
        for class_id in nearest:
            seen[class_id] += 1
    assert min(seen.values()) > 150


def test_random_poses_follow_from_seed_and_number_alone(engine):
    many, few = random_poses(20, seed=4), random_poses(5, seed=4)
    assert many.at(3, [0, 1, 2], engine) == few.at(3, [7, 7, 7], engine)
    assert many.at(3, [0], engine) != random_poses(20, seed=5).at(3, [0], engine)
    assert many.at(3, [0], engine) != many.at(4, [0], engine)
    assert many.frame_name[:2] == ["tiny_4_000000", "tiny_4_000001"]
    assert list(many.stamp[:3]) == [SECOND, SECOND + 10**8, SECOND + 2 * 10**8]


def test_random_poses_need_an_area_a_height_and_room(tmp_path):
    with pytest.raises(UsageError, match="camera above the floor"):
        RandomPoses("tiny", 3, 10.0, Pose(), 80.0)
    with pytest.raises(UsageError, match="0 frames"):
        random_poses(0)
    bare = make_engine("default", read_scene(scene_file(tmp_path, area=None, placements=None), 0))
    with pytest.raises(UsageError, match="scene tiny: has no area"):
        random_poses(1).at(0, [0], bare)
    full = {"pillar": {"box": [9, 9, 2], "surface": {"colour": "#d0d0d0"}}}
    inside = make_engine("default", read_scene(scene_file(tmp_path, things=full, placements=None), 0))
    with pytest.raises(SimjudgeError, match="found no free place for a camera"):
        random_poses(1).at(0, [0], inside)


STRAIGHT = Course(np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]]), 1.0)


def test_along_a_course_at_a_metre_a_second():
    poses = CoursePoses(STRAIGHT, MOUNT, 10.0)
    assert len(poses.stamp) == 31
    there = [poses.at(k, [stamp], None)[0] for k, stamp in enumerate(poses.stamp)]
    assert [pose.position[0] for pose in there] == pytest.approx(0.3 + 0.1 * np.arange(31))
    assert there[7].position == pytest.approx((1.0, 0, 0.2))
    assert (there[7] @ MOUNT.inverse()).orientation == pytest.approx((0, 0, 0, 1))
    assert poses.frame_name[10] == "2_000000000"


@pytest.mark.parametrize(("count", "length"), [(5, 5), (31, 31), (301, 301), (1, 1)])
def test_fewer_frames_are_thinned_and_more_are_driven_slower(count, length):
    poses = CoursePoses(STRAIGHT, MOUNT, 10.0, count)
    assert len(poses.stamp) == length
    ends = [(poses.at(k, [poses.stamp[k]], None)[0] @ MOUNT.inverse()).position[0] for k in (0, -1)]
    assert ends == pytest.approx([0.0, 3.0 if count > 1 else 0.0])
    assert {(stamp - SECOND) % 10**8 for stamp in poses.stamp} == {0}


def test_a_car_on_a_circle_faces_along_it():
    turn = np.linspace(0, np.pi, 400)
    circle = Course(2 * np.stack([np.cos(turn), np.sin(turn)], 1), 1.0)
    poses = CoursePoses(circle, Pose(), 30.0)
    for k in range(20, len(poses.stamp) - 20, 17):
        pose = poses.at(k, [poses.stamp[k]], None)[0]
        x, y, _ = pose.position
        ahead = pose.rotation_matrix()[:, 0]
        assert np.hypot(x, y) == pytest.approx(2, abs=1e-3)
        assert ahead @ [-y / 2, x / 2, 0] == pytest.approx(1, abs=1e-4)


def test_the_course_is_the_scene_s(tmp_path):
    course = read_scene(scene_file(tmp_path, placements={"course": COURSE}), 0).course
    poses = CoursePoses(course, Pose(), 10.0)
    assert poses.at(0, [SECOND], None)[0].position == pytest.approx((-1.4, -1, 0))


def pose_file(folder, rows):
    path = folder / "poses.txt"
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def test_poses_of_a_file_and_motion_between_them(tmp_path):
    rows = [
        "1.0 0 0 0 0 0 0 1",
        "1.1 1 0 0 0 0 0 1",
        "5.0 1 0 0 0 0 0 1",
        "5.1 2 0 0 0 0 0.7071067811865476 0.7071067811865476",
    ]
    body, losses = read_pose_text(pose_file(tmp_path, rows))
    assert not losses
    poses = FilePoses.of(body, Pose((0.5, 0, 0)))
    assert poses.frame_name == ["1_000000000", "1_100000000", "5_000000000", "5_100000000"]
    stamps = [SECOND, SECOND + 50_000_000]
    assert [p.position for p in poses.at(0, stamps, None)] == [pytest.approx((0.5, 0, 0)), pytest.approx((1, 0, 0))]
    # The next pose is 3.9 s away: what happens in between is nobody's knowledge.
    after = [1_100_000_000, 1_150_000_000]
    assert [p.position for p in poses.at(1, after, None)] == [pytest.approx((1.5, 0, 0))] * 2
    last = poses.at(3, [5_100_000_000, 5_150_000_000], None)
    assert [p.position for p in last] == [pytest.approx((2, 0.5, 0))] * 2


def test_the_camera_stands_at_poses_without_times(tmp_path):
    body, _ = read_pose_text(pose_file(tmp_path, [f"1 0 0 {k} 0 1 0 0 0 0 1 0" for k in range(4)]), untimed_rate=10)
    poses = FilePoses.of(body, Pose())
    assert poses.frame_name == ["0_000000000", "0_100000000", "0_200000000", "0_300000000"]
    assert poses.path() is None  # inertial sensors are refused
    assert [p.position for p in poses.at(1, [10**8, 10**8 + 50_000_000], None)] == [(1, 0, 0)] * 2


def test_some_poses_of_a_file(tmp_path):
    body, _ = read_pose_text(pose_file(tmp_path, [f"{k} {k} 0 0 0 0 0 1" for k in range(1, 11)]))
    assert list(FilePoses.of(body, Pose(), 4).rows) == [0, 3, 6, 9]
    one = FilePoses.of(body, Pose(), 1)
    assert one.at(0, [SECOND, SECOND + 1], None) == [Pose((1, 0, 0))] * 2
    for count in (0, 11):
        with pytest.raises(UsageError, match="10 poses; 1 to 10 can be had"):
            FilePoses.of(body, Pose(), count)


def test_a_file_of_one_pose_is_one_picture(tmp_path):
    body, _ = read_pose_text(pose_file(tmp_path, ["3 1 2 3 0 0 0 1"]))
    assert FilePoses.of(body, Pose()).at(0, [3 * SECOND, 3 * SECOND + 9], None) == [Pose((1, 2, 3))] * 2
