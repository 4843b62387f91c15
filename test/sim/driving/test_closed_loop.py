"""Car, camera, detector and driver together on the default engine: drives, ends, repeats itself, is recorded."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import yaml
from driving_scenes import STRAIGHT, camera_file, scene_file

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import VEHICLE, find_file
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.data.sets import read_set
from simjudge.sim.capture.lock_step import MotionSample
from simjudge.sim.driving.closed_loop import DriveLimits, DrivenCommand, DrivenFrame, DriveRecorder, RecordingThread
from simjudge.sim.driving.course import lane_classes, start_pose
from simjudge.sim.driving.drive import DriveOptions, describe_drive, make_closed_loop
from simjudge.sim.driving.pilots import GROUND_TRUTH, load_frame_detector
from simjudge.sim.scene.read import read_scene
from simjudge.sim.vehicle.vehicle import Command

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

RED_GREEN = "cones_red_green"


@pytest.fixture
def made():
    loops = []

    def make(wanted, rules=None):
        loops.append(make_closed_loop(wanted, rules))
        return loops[-1]

    yield make
    for loop in loops:
        loop.engine.close()


def told(folder, **changes):
    scene = changes.pop("scene", None) or scene_file(folder)
    return DriveOptions(str(scene), str(camera_file(folder)), images=False, **changes)


@pytest.mark.parametrize("seed", range(3))
def test_told_the_truth_it_finishes_without_touching_a_cone(made, tmp_path, seed):
    loop = made(told(tmp_path, seed=seed))
    frames = [event for event in loop.run() if isinstance(event, DrivenFrame)]
    outcome = loop.outcome()
    assert outcome.finished, outcome
    assert outcome.clean
    assert outcome.distance == pytest.approx(outcome.length - loop.vehicle.wheelbase, abs=0.1)
    assert outcome.max_offset < 0.25
    assert outcome.frames == len(frames)
    assert all(frame.captured.image is None for frame in frames), "nobody looks at pictures"
    assert 2 < outcome.seconds < 15


@pytest.mark.slow
def test_a_detector_that_looks_finishes_too(made, tmp_path):
    wanted = replace(told(tmp_path), detector=RED_GREEN)
    loop = made(wanted)
    found = [len(event.detections) for event in loop.run() if isinstance(event, DrivenFrame)]
    assert loop.outcome().clean, loop.outcome()
    assert np.mean(found) > 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scene", "seed"),
    [("lab", 3), ("hall", 17), *(pytest.param(*each, marks=pytest.mark.long) for each in (("lab", 17), ("hall", 3)))],
)
def test_the_shipped_courses_are_driven(made, tmp_path, scene, seed):
    loop = made(told(tmp_path, scene=scene, seed=seed))
    list(loop.run())
    assert loop.outcome().clean, loop.outcome()
    assert loop.outcome().max_offset < 0.15


def test_the_same_seed_is_the_same_drive(made, tmp_path):
    wanted = told(tmp_path, seed=5)

    def track():
        return [
            (event.time, event.state)
            for event in itertools.islice(made(wanted).run(), 80)
            if isinstance(event, MotionSample)
        ]

    assert track() == track()
    other = made(replace(wanted, seed=6))
    assert next(other.run()).state.pose != track()[0][1].pose


def test_commands_hold_from_the_hand_over_on(made, tmp_path):
    loop = made(told(tmp_path))
    given = []
    loop.engine.drive = given.append
    events = list(itertools.islice(loop.run(), 60))
    frames = [event for event in events if isinstance(event, DrivenFrame)]
    commands = [event for event in events if isinstance(event, DrivenCommand)]
    assert given == [command.command for command in commands]
    assert [command.time for command in commands] == [frame.event.time for frame in frames]
    for frame in frames:
        assert frame.state.time == pytest.approx(frame.event.time / 1e9)
        assert any(isinstance(event, MotionSample) and event.time == frame.event.stamp for event in events)


@pytest.mark.parametrize(
    ("command", "rules", "why"),
    [
        (Command(0.0, 0.0, 1.0), DriveLimits(standstill=1.0), "stood still for 1 s"),
        (Command(1.0, 1.0, 0.0), DriveLimits(offset=0.4), "0.4 m beside the course"),
        (Command(0.0, 0.3, 0.0), DriveLimits(duration=1.0), "took longer than 1 s"),
    ],
)
def test_a_drive_ends_where_it_goes_wrong(made, tmp_path, command, rules, why):
    loop = made(told(tmp_path), rules)
    loop.pilot.driver.drive = lambda *_: command
    list(loop.run())
    outcome = loop.outcome()
    assert not outcome.finished
    assert not outcome.clean
    assert outcome.reason == why


def test_touched_cones_are_named(made, tmp_path):
    loop = made(told(tmp_path, scene=scene_file(tmp_path, STRAIGHT, width=0.44)))
    loop.pilot.driver.drive = lambda *_: Command(0.0, 0.6, 0.0)
    list(loop.run())
    outcome = loop.outcome()
    assert outcome.touched
    assert not outcome.clean
    assert set(outcome.touched) <= {thing.name for thing in loop.engine.scene.labelled()}


def test_the_recording_is_what_happened_and_the_judge_takes_it(made, tmp_path):
    loop = made(replace(told(tmp_path, scene=scene_file(tmp_path, STRAIGHT)), images=True), DriveLimits(duration=1.5))
    path = tmp_path / "drive.mcap"
    events = []
    with record_messages(path, {"simjudge": "{}"}) as recording:
        recorder = DriveRecorder(recording, loop)
        for event in loop.run():
            recorder.record(event)
            events.append(event)
    frames = [event for event in events if isinstance(event, DrivenFrame)]
    bag = read_set(path)
    assert not bag.losses
    assert bag.stamp.tolist() == [frame.event.stamp for frame in frames]
    assert bag.labelled.all()
    assert bag.predicted.all()
    assert bag.class_names == {1: "red", 2: "green"}
    assert len(bag.objects) == sum(len(frame.captured.truth) for frame in frames) > 20
    np.testing.assert_array_equal(bag.predictions.box, bag.objects.box)
    np.testing.assert_array_equal(bag.predictions.score, 1)
    np.testing.assert_array_equal(bag.images.read(3), frames[3].captured.pixels())
    poses = read_poses(path, "/vehicle/odometry").trajectory
    moved = [event for event in events if isinstance(event, MotionSample)]
    assert poses.stamp.tolist() == [event.time for event in moved]
    np.testing.assert_allclose(poses.position, [event.state.pose.position for event in moved])
    assert set(bag.stamp.tolist()) <= set(poses.stamp.tolist())
    eye = read_poses(path, "/tf", "odom", "camera_optical_frame").trajectory
    row = int(np.searchsorted(eye.stamp, frames[5].event.stamp))
    np.testing.assert_allclose(eye.position[row], frames[5].event.exposure.middle.camera.position, atol=1e-9)


@pytest.mark.parametrize("ending", [".mcap", ".db3"])
def test_a_recording_beside_the_drive_is_that_of_one_after_each_event_to_the_byte(made, tmp_path, ending):
    loop = made(replace(told(tmp_path, scene=scene_file(tmp_path, STRAIGHT)), images=True), DriveLimits(duration=1.0))
    paths = [tmp_path / side / f"drive{ending}" for side in "ab"]
    for path in paths:
        path.parent.mkdir()
    with record_messages(paths[0]) as one, record_messages(paths[1]) as other:
        direct, beside = DriveRecorder(one, loop), DriveRecorder(other, loop)
        with RecordingThread(beside.record) as thread:
            for event in loop.run():
                thread.record(event)
                direct.record(event)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].stat().st_size > 10_000


def test_other_cars_are_recorded_and_a_recorded_one_can_be_driven_again(made, tmp_path):
    scene = tmp_path / "cars.yaml"
    leader = {"start": 2, "drive": {"along": "course", "speed": 1}}
    content = {"extends": str(scene_file(tmp_path, STRAIGHT)), "cars": {"leader": leader}}
    scene.write_text(yaml.safe_dump(content))
    loop = made(told(tmp_path, scene=scene), DriveLimits(duration=1.5))
    path, events = tmp_path / "drive.mcap", []
    with record_messages(path) as recording, RecordingThread(DriveRecorder(recording, loop).record) as thread:
        for event in loop.run():
            thread.record(event)
            events.append(event)
    moved = [event for event in events if isinstance(event, MotionSample)]
    poses = read_poses(path, "/leader/vehicle/odometry").trajectory
    assert poses.stamp.tolist() == [event.time for event in moved]
    np.testing.assert_allclose(poses.position, [event.others["leader"].pose.position for event in moved])
    assert poses.position[-1, 0] - poses.position[0, 0] > 0.3
    seen = read_poses(path, "/tf", "odom", "leader/base_link").trajectory
    np.testing.assert_allclose(seen.position, poses.position)

    content["cars"] = {"again": {"drive": {"file": str(path), "topic": "/leader/vehicle/odometry"}}}
    scene.write_text(yaml.safe_dump(content))
    (again,) = read_scene(scene).cars
    assert again.start.position[:2] == pytest.approx(poses.position[0, :2], abs=1e-6)
    assert again.route.schedule[-1, 1] == pytest.approx(poses.position[-1, 0] - poses.position[0, 0], abs=0.01)


def record_all(record, events, end=None):
    with RecordingThread(record) as thread:
        for event in events:
            thread.record(event)
        if end is not None:
            raise end


@pytest.mark.parametrize("count", [1, 1000])
def test_what_fails_in_recording_ends_the_drive_with_its_error(count):
    def record(_):
        raise OSError("no space left")

    events = iter(range(count))
    with pytest.raises(OSError, match="no space left"):
        record_all(record, events)
    assert next(events, 0) < 100


def test_what_was_driven_before_an_interrupt_is_recorded():
    kept = []
    with pytest.raises(KeyboardInterrupt):
        record_all(kept.append, range(40), KeyboardInterrupt())
    assert kept == list(range(40))


def test_what_a_drive_depends_on_is_told(made, tmp_path):
    wanted = told(tmp_path, seed=3, rate=20.0)
    loop = made(wanted)
    assert loop.camera.rate == 20
    about = describe_drive(wanted, loop)
    assert about["detector"] == GROUND_TRUTH
    assert about["scene"]["seed"] == about["seed"] == 3
    assert about["camera"]["name"] == "small"
    assert len(about["scene"]["sha256"]) == 64
    assert "cars" not in about


def test_a_drive_depends_on_what_the_vehicles_of_other_cars_can_do(made, tmp_path):
    """Not only on how they look, which the scene's fingerprint says."""
    scene, figures = tmp_path / "cars.yaml", find_file("art1", VEHICLE).read_text(encoding="utf-8")
    it = {"at": [3, 3], "vehicle": "mine.yaml"}
    scene.write_text(yaml.safe_dump({"extends": str(scene_file(tmp_path, STRAIGHT)), "cars": {"it": it}}))
    wanted, seen = told(tmp_path, scene=scene), []
    for said in (figures, figures + "# nothing else\n", figures.replace("damping: 100", "damping: 90")):
        (tmp_path / "mine.yaml").write_text(said, encoding="utf-8")
        seen.append(describe_drive(wanted, made(wanted))["cars"]["it"])
    assert seen[0] == seen[1] != seen[2]


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"rate": 0.0}, UsageError, "more than 0"),
        ({"detector": "cones_blue_yellow"}, SimjudgeError, "no class in common"),
        ({"detector": "nothing.onnx"}, UsageError, "neither a file nor"),
        ({"scene": "moon"}, UsageError, "moon"),
        ({"vehicle": "tank"}, UsageError, "tank"),
        ({"engine": "steam"}, UsageError, "steam"),
    ],
)
def test_what_cannot_be_driven_is_said_in_a_line(tmp_path, changes, kind, words):
    with pytest.raises(kind, match=words) as caught:
        make_closed_loop(replace(told(tmp_path), **changes))
    assert "\n" not in str(caught.value)


def test_sides_are_found_by_where_the_cones_stand(tmp_path):
    assert lane_classes(read_scene(scene_file(tmp_path))) == (1, 2)
    swapped = scene_file(tmp_path, name="swapped", left="red_cone", right="green_cone")
    assert lane_classes(read_scene(swapped)) == (2, 1)
    same = scene_file(tmp_path, name="same", left="red_cone", right="red_cone")
    with pytest.raises(SimjudgeError, match="cannot be driven"):
        lane_classes(read_scene(same))


def test_a_scene_without_a_course_cannot_be_driven(tmp_path):
    file = scene_file(tmp_path)
    bare = tmp_path / "bare.yaml"
    bare.write_text(file.read_text().partition("placements:")[0])
    with pytest.raises(SimjudgeError, match="has no course"):
        load_frame_detector(GROUND_TRUTH, read_scene(bare))


def test_starts_differ_a_little_by_seed(tmp_path):
    course = read_scene(scene_file(tmp_path)).course
    exact = course.start()
    assert start_pose(course, None) == exact
    offs = [(exact.inverse() @ start_pose(course, seed)) for seed in range(200)]
    across, turn = np.array([pose.position[1] for pose in offs]), np.array([pose.angles()[0] for pose in offs])
    assert np.max(np.abs(across)) <= 0.12
    assert np.max(np.abs(turn)) <= 0.1
    assert 0.04 < across.std() < 0.07
    assert 0.03 < turn.std() < 0.06
    assert max(abs(pose.position[0]) for pose in offs) < 1e-12


@pytest.mark.parametrize("seconds", [0, -1, 86_401, 1e9, float("inf"), float("nan")])
def test_a_drive_takes_a_day_at_most(seconds):
    with pytest.raises(UsageError, match=r"--limit .*: must be above 0 s, and at most 86400 s \(a day\)"):
        DriveLimits(duration=seconds)
