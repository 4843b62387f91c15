"""Laps between barriers by lidar, on the default engine: driven, counted, repeated, recorded, refused."""

import itertools
from pathlib import Path

import pytest
from driving_scenes import camera_file, lidar_file, scene_file, track_file
from rosbags.highlevel import AnyReader

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.sim.capture.lock_step import MotionSample
from simjudge.sim.capture.sensor_feed import SensorBatch
from simjudge.sim.driving.closed_loop import DriveLimits, DrivenCommand, DrivenFrame
from simjudge.sim.driving.course import start_pose
from simjudge.sim.driving.drive import DriveOptions, drive, make_closed_loop
from simjudge.sim.scene.read import read_scene
from simjudge.sim.vehicle.vehicle import Command

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

BENCH = Path(__file__).resolve().parents[3] / "bench"


@pytest.fixture
def made():
    loops = []

    def make(folder, limits=None, **changes):
        wanted = {"scene": str(track_file(folder)), "sensors": str(lidar_file(folder)), "images": False, **changes}
        loops.append(make_closed_loop(DriveOptions(camera=str(camera_file(folder)), driver="lidar", **wanted), limits))
        return loops[-1]

    yield make
    for loop in loops:
        loop.engine.close()


def test_commands_answer_scans_and_come_no_sooner_than_their_lag(made, tmp_path):
    loop = made(tmp_path, sensors=str(lidar_file(tmp_path, "late", lag=0.033)))
    events = list(itertools.islice(loop.run(), 60))
    assert not any(isinstance(event, DrivenFrame) for event in events), "nobody looks at pictures"
    scans = [event for event in events if isinstance(event, SensorBatch)]
    commands = [event for event in events if isinstance(event, DrivenCommand)]
    assert [command.time for command in commands] == [scan.time for scan in scans][: len(commands)]
    assert len(commands) > 5
    for scan in scans:
        (event,) = scan.events
        assert event.stamp + 33_000_000 <= scan.time < event.stamp + 35_000_000
        assert any(isinstance(each, MotionSample) and each.time == scan.time for each in events)


def test_the_same_seed_is_the_same_drive_and_another_starts_elsewhere(made, tmp_path):
    def samples(seed):
        run = itertools.islice(made(tmp_path, seed=seed).run(), 40)
        return [(event.time, event.state) for event in run if isinstance(event, MotionSample)]

    assert samples(5) == samples(5)
    course = read_scene(track_file(tmp_path)).course
    starts = [start_pose(course, seed).position for seed in range(30)]
    assert max(x for x, _, _ in starts) > 2
    assert min(x for x, _, _ in starts) < -2


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("sensors", ["lidar_ideal.yaml", "lidar_noisy.yaml"])
def test_two_laps_of_the_track_without_contact(made, tmp_path, sensors):
    loop = made(tmp_path, DriveLimits(laps=2), scene="track", sensors=str(BENCH / sensors), seed=3)
    for _ in loop.run():
        pass
    outcome = loop.outcome()
    assert outcome.clean, outcome
    assert len(outcome.lap_times) == 2
    assert sum(outcome.lap_times) == pytest.approx(outcome.seconds, abs=0.05)
    assert outcome.distance == pytest.approx(2 * 22.06, abs=0.1)
    assert outcome.clearance > 0.15


def test_a_barrier_that_is_touched_is_named(made, tmp_path):
    loop = made(tmp_path, DriveLimits(duration=4.0))
    loop.pilot.driver.drive = lambda *_: Command(1.0, 0.8, 0.0)
    for _ in loop.run():
        pass
    outcome = loop.outcome()
    assert outcome.touched
    assert all(name.startswith("course_left") for name in outcome.touched)
    assert outcome.clearance < 0.01
    assert not outcome.clean


def test_a_recorded_drive_has_scans_commands_and_pictures_that_nobody_detected_in(tmp_path):
    out = tmp_path / "laps.mcap"
    result = drive(
        track_file(tmp_path),
        out,
        camera=camera_file(tmp_path, size=[96, 64]),
        driver="lidar",
        limit=1.0,
        sensors=lidar_file(tmp_path),
    )
    assert result.outcome.timed_out
    with AnyReader([out]) as recording:
        counts = {topic: info.msgcount for topic, info in recording.topics.items()}
    assert counts["/scan/points"] == counts["/vehicle/input"] == 10
    assert counts["/camera/image_raw/compressed"] == 10
    assert "/camera/detections" not in counts


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sensors": "mti300"}, "driver lidar: sensors mti300 has no lidar on the car; add one, or take vlp16"),
        ({"driver": "sonar"}, "driver sonar: one of cones, lidar"),
        ({"detector": "cones_red_green"}, "driver lidar looks for no cones"),
    ],
)
def test_what_does_not_go_together(tmp_path, changes, words):
    with pytest.raises(UsageError, match=words):
        drive(track_file(tmp_path), camera=camera_file(tmp_path), **{"driver": "lidar", **changes})


def test_laps_need_a_closed_course(tmp_path):
    with pytest.raises(UsageError, match=r"2 laps: the course of .*bend\.yaml is not closed"):
        drive(scene_file(tmp_path), camera=camera_file(tmp_path), laps=2)
    with pytest.raises(UsageError, match="laps 0: must be at least 1"):
        drive(track_file(tmp_path), camera=camera_file(tmp_path), driver="lidar", laps=0)


def test_a_track_has_no_cones_to_drive_by(tmp_path):
    with pytest.raises(SimjudgeError, match="between barriers a car drives by its lidar"):
        drive(track_file(tmp_path), camera=camera_file(tmp_path))
