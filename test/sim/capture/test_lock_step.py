"""A camera in lock-step: every due frame once, after its lag; the world where it was at those instants."""

from dataclasses import replace
from itertools import pairwise, takewhile

import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose, interpolate_pose
from simjudge.sim.capture.lock_step import FrameEvent, LockStep, MotionSample
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.rig import Follow, MountedCamera
from simjudge.sim.vehicle.vehicle import VehicleState

SECOND = 1_000_000_000
MOUNT = Pose.from_euler(0.4, 0.0, 0.2, pitch=0.1)
PLAIN = read_camera("plain")


class Slide:
    """An engine of which only the time matters: the car at x = v t + a t^2 / 2, a cone that turns."""

    def __init__(self, step=0.002, speed=1.5, push=0.8):
        self.step_size, self._speed, self._push, self._steps = step, speed, push, 0

    @property
    def time(self):
        return self._steps * self.step_size

    def step(self, seconds):
        steps = round(seconds / self.step_size)
        if steps < 1 or abs(steps * self.step_size - seconds) > 1e-9:
            raise UsageError("no whole steps")
        self._steps += steps

    def x(self, time):
        return self._speed * time + self._push * time * time / 2

    def poses(self):
        return {"vehicle": Pose((self.x(self.time), 0, 0)), "cone": Pose.from_euler(1, 1, yaw=0.5 * self.time)}

    def vehicle_state(self):
        speed = self._speed + self._push * self.time
        pose = Pose((self.x(self.time), 0, 0))
        return VehicleState(self.time, pose, (speed, 0, 0), (0, 0, 0), (self._push, 0, 0), 0.0, (0, 0, 0, 0))


def run(camera, seconds, **engine):
    made = Slide(**engine)
    lock = LockStep(made, [MountedCamera("camera", camera, MOUNT)])
    return made, list(takewhile(lambda event: event.time <= seconds * SECOND, lock.events()))


CAMERAS = {
    "30 Hz": replace(PLAIN, rate=30.0, lag=0.0333),
    "10 Hz, no lag": replace(PLAIN, rate=10.0, lag=0.0),
    "29.97 Hz, lag of many frames": replace(PLAIN, rate=29.97, lag=0.25),
    "blurred": replace(PLAIN, rate=30.0, lag=0.01, exposure_time=0.02, exposure_samples=5),
    "open all the time": replace(PLAIN, rate=25.0, lag=0.0, exposure_time=0.04, exposure_samples=3),
    "faster than physics": replace(PLAIN, rate=700.0, lag=0.001),
}


@pytest.mark.parametrize("name", CAMERAS)
def test_every_due_frame_comes_once_with_its_stamp_and_not_before_its_time(name):
    camera = CAMERAS[name]
    _, events = run(camera, 2.0)
    frames = [event for event in events if isinstance(event, FrameEvent)]
    assert [frame.number for frame in frames] == list(range(len(frames)))
    for frame in frames:
        assert frame.stamp == round((frame.number + 1) * SECOND / camera.rate)
        wait = max(camera.lag, camera.exposure_time)
        assert frame.time >= frame.stamp + wait * SECOND - 1
        assert frame.time < frame.stamp + (wait + 0.002) * SECOND + 1
        assert frame.time % 2_000_000 == 0
    due = 2.0 - max(camera.lag, camera.exposure_time)
    assert abs(len(frames) - due * camera.rate) < 2


@pytest.mark.parametrize("name", CAMERAS)
def test_time_never_goes_back_and_each_sample_comes_once(name):
    camera = CAMERAS[name]
    _, events = run(camera, 1.0)
    times = [event.time for event in events]
    assert times == sorted(times)
    samples = [event.time for event in events if isinstance(event, MotionSample)]
    assert len(set(samples)) == len(samples)
    assert samples[0] == 0
    assert np.max(np.diff(samples)) <= 20_000_000
    for event in events:
        if isinstance(event, FrameEvent):
            assert event.stamp in samples, "odometry at every stamp"
            assert event.time in samples, "and at every handing over"


@pytest.mark.parametrize("name", ["30 Hz", "blurred", "29.97 Hz, lag of many frames", "open all the time"])
def test_the_world_is_where_it_was_at_the_scene_states_of_the_exposure(name):
    camera = CAMERAS[name]
    engine, events = run(camera, 1.0)
    error = 0.8 * 0.002**2 / 8 + 1e-9
    for frame in (event for event in events if isinstance(event, FrameEvent)):
        stamp = frame.stamp / SECOND
        assert frame.state.time == pytest.approx(stamp, abs=1e-9)
        assert frame.state.pose.position[0] == pytest.approx(engine.x(stamp), abs=error)
        assert frame.state.velocity[0] == pytest.approx(1.5 + 0.8 * stamp, abs=1e-9)
        exposure = camera.exposure_time
        shares = (np.arange(camera.exposure_samples) + 0.5) / camera.exposure_samples
        scene_states = zip(frame.exposure.scene_states, stamp + shares * exposure, strict=True)
        for scene_state, time in [*scene_states, (frame.exposure.middle, stamp + exposure / 2)]:
            seat = Pose((engine.x(time), 0, 0)) @ MOUNT.optical_frame()
            np.testing.assert_allclose(scene_state.camera.position, seat.position, atol=error)
            np.testing.assert_allclose(scene_state.camera.orientation, seat.orientation, atol=1e-12)
            assert scene_state.bodies["cone"].angles()[0] == pytest.approx(0.5 * time, abs=1e-8)
            assert scene_state.bodies["vehicle"].position[0] == pytest.approx(engine.x(time), abs=error)


def test_samples_of_the_motion_are_what_the_engine_says_then():
    engine, events = run(CAMERAS["30 Hz"], 0.5)
    for event in events:
        if isinstance(event, MotionSample):
            assert event.state.pose.position[0] == pytest.approx(engine.x(event.time / SECOND), abs=1e-6)


def test_the_world_stands_still_while_an_event_is_taken():
    engine = Slide()
    lock = LockStep(engine, [MountedCamera("camera", CAMERAS["30 Hz"], MOUNT)])
    for event, _ in zip(lock.events(), range(50), strict=False):
        assert event.time <= round(engine.time * SECOND) < event.time + 2_000_000
        before = engine.time
        assert engine.time == before


def test_it_begins_where_the_engine_is():
    engine = Slide()
    engine.step(0.5)
    lock = LockStep(engine, [MountedCamera("camera", CAMERAS["10 Hz, no lag"], MOUNT)])
    frames = (event for event in lock.events() if isinstance(event, FrameEvent))
    assert next(frames).stamp == 600_000_000


def test_poses_turn_the_short_way():
    begin, end = Pose.from_euler(0, 0, yaw=3.0), Pose.from_euler(0, 0, yaw=-3.0)
    yaw = interpolate_pose(begin, end, 0.25).angles()[0]
    assert yaw == pytest.approx(3.0 + 0.25 * (2 * np.pi - 6))
    assert interpolate_pose(begin, begin, 0.7) == begin


REAR = Pose.from_euler(-0.1, 0.0, 0.2, yaw=np.pi)
CHASE = Follow(2.0, 1.0, 0.3, 0.1)
RIG = (
    MountedCamera("front", CAMERAS["blurred"], MOUNT),
    MountedCamera("rear", CAMERAS["29.97 Hz, lag of many frames"], REAR),
    MountedCamera("chase", CAMERAS["10 Hz, no lag"], follow=CHASE),
    MountedCamera("also_front", CAMERAS["blurred"], MOUNT),
)


def events_of(cameras, seconds):
    lock = LockStep(Slide(), cameras)
    return list(takewhile(lambda event: event.time <= seconds * SECOND, lock.events()))


def test_each_of_several_cameras_sees_what_it_sees_alone():
    together = events_of(RIG, 1.5)
    times = [event.time for event in together]
    assert times == sorted(times)
    samples = [event.time for event in together if isinstance(event, MotionSample)]
    assert len(set(samples)) == len(samples)
    for mounted in RIG:
        mine = [each for each in together if isinstance(each, FrameEvent) and each.camera == mounted.name]
        alone = [each for each in events_of([mounted], 1.5) if isinstance(each, FrameEvent)]
        assert [each.stamp for each in mine] == [each.stamp for each in alone]
        assert {each.stamp for each in mine} <= set(samples), "odometry at every stamp of every camera"
        for one, other in zip(mine, alone, strict=True):
            assert (one.number, one.time) == (other.number, other.time)
            assert one.state.pose.position[0] == pytest.approx(other.state.pose.position[0], abs=1e-6)
            for seen, expected in zip(one.exposure.scene_states, other.exposure.scene_states, strict=True):
                np.testing.assert_allclose(seen.camera.position, expected.camera.position, atol=1e-5)


def test_frames_of_one_instant_come_in_the_order_of_the_cameras_and_share_the_bodies():
    frames = [event for event in events_of(RIG, 0.5) if isinstance(event, FrameEvent)]
    for one, other in pairwise(frames):
        if one.camera == "front":
            assert (other.camera, other.time) == ("also_front", one.time)
            assert other.exposure.middle.bodies is one.exposure.middle.bodies
