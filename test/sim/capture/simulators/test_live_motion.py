"""Poses as they come, message by message, against the whole recording; and what waits for what."""

import numpy as np
import pytest
from bag_samples import write_mcap
from space_worlds import STAMPS, camera_at, head, isaac, new, pose_message, transform

from simjudge.core.errors import Losses
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.simulators.label_messages import read_simulator
from simjudge.sim.capture.simulators.label_solids import CameraView, SolidLabels
from simjudge.sim.capture.simulators.motion_source import AwaitedError, LiveMotions, RecordedMotions

MS = 1_000_000


def pose_at(stamp, pose, topic="/pose"):
    return topic, stamp, new("geometry_msgs/msg/PoseStamped", head(stamp, "x"), pose_message(pose))


def chain_at(stamp):
    """Two moving links at times of their own, and a fixed one."""
    yield "/tf", stamp, transform(stamp, "map", "base", camera_at(stamp))
    if stamp // MS % 3 == 0:
        yield "/tf", stamp + 7, transform(stamp + 7, "base", "head", Pose.from_euler(0, 0, 0.3, yaw=stamp % 97 / 97))
    if stamp == STAMPS[0]:
        yield "/tf_static", stamp, transform(0, "head", "eye", Pose.from_euler(0.1, 0, 0, pitch=0.2))


def feed(motions, topic, message):
    if topic in ("/tf", "/tf_static"):
        motions.add_transforms(message, static=topic == "/tf_static")
    elif topic == "/camera_info":
        motions.add_camera_info(message)
    elif topic in motions.topics:
        motions.add_pose(topic, message, Losses())


def test_interpolated_poses_are_those_of_the_recording(tmp_path):
    """To the last bit, although live only the neighbours are looked at, and as soon as both have come."""
    times = [STAMPS[0] + index * 11 * MS for index in range(60)]
    every = [row for at in times for row in chain_at(at)]
    turns = np.random.default_rng(0).uniform(-2, 2, (len(times), 4))
    every += [pose_at(at + 3, Pose.from_euler(*each[:3], yaw=each[3])) for at, each in zip(times, turns, strict=True)]
    every += [pose_at(times[0], Pose.from_euler(1, 2, 3), "/once")]
    every.sort(key=lambda row: row[1])
    write_mcap(tmp_path / "a.mcap", every)
    whole, live = RecordedMotions(Recording(tmp_path / "a.mcap"), None), LiveMotions()
    asked = (
        [source.topic_motion("/pose") for source in (whole, live)],
        [source.frame_motion("map", "eye") for source in (whole, live)],
    )
    wanted = [times[0] - 5 * MS, *(times[3] + 9_777_777 * index for index in range(50)), times[30], times[40] + 3]
    waiting = [(motions, stamp) for stamp in sorted(wanted) for motions in asked]
    early = 0
    for topic, at, message in every:
        feed(live, topic, message)
        for pair in list(waiting):
            (recorded, coming), stamp = pair
            try:
                found = coming.pose(stamp)
            except AwaitedError:
                assert at <= stamp + 40 * MS
                continue
            early += at < times[-1]
            assert found == recorded.pose(stamp)
            waiting.remove(pair)
    assert early > 90
    live.last_chance = True
    for (recorded, coming), stamp in waiting:
        assert coming.pose(stamp) == recorded.pose(stamp)
    once = live.topic_motion("/once")
    live.add_pose("/once", pose_at(times[0], Pose.from_euler(1, 2, 3))[2], Losses())
    assert once.pose(times[-1]) == whole.topic_motion("/once").pose(times[-1])


def test_one_pose_alone_is_waited_for_once():
    motions = LiveMotions()
    rows = motions.topic_motion("/pose")
    with pytest.raises(AwaitedError):
        rows.pose(5)
    motions.add_pose("/pose", pose_at(3, Pose())[2], Losses())
    with pytest.raises(AwaitedError):
        rows.pose(5)
    motions.last_chance = True
    assert rows.pose(5) == Pose()
    motions.last_chance = False
    assert rows.pose(10**12) == Pose()
    motions.add_pose("/pose", pose_at(10**8, Pose.from_euler(1, 0, 0))[2], Losses())
    with pytest.raises(AwaitedError):
        rows.pose(10**12)
    assert rows.pose(10**8) == Pose.from_euler(1, 0, 0)


def test_a_clock_that_is_set_back_begins_anew():
    motions, losses = LiveMotions(), Losses()
    rows = motions.topic_motion("/pose")
    for stamp in (100, 101):
        motions.add_pose("/pose", pose_at(stamp * 10**9, Pose.from_euler(stamp, 0, 0))[2], losses)
        motions.add_transforms(transform(stamp * 10**9, "a", "b", Pose.from_euler(stamp, 0, 0)), static=False)
    for stamp in (1, 1.5):
        at = int(stamp * 10**9)
        motions.add_pose("/pose", pose_at(at, Pose.from_euler(stamp, 0, 0))[2], losses)
        motions.add_transforms(transform(at, "a", "b", Pose.from_euler(stamp, 0, 0)), static=False)
    for motion in (rows, motions.frame_motion("a", "b")):
        assert motion.pose(int(1.25e9)).position == pytest.approx((1.25, 0, 0))
    assert not losses


def test_poses_that_are_none_are_counted():
    motions, losses = LiveMotions(), Losses()
    motions.topic_motion("/pose")
    motions.add_pose("/pose", bad(1), losses)
    for x in (1.0, 4.0):
        motions.add_pose("/pose", pose_at(2, Pose.from_euler(x, 0, 0))[2], losses)
    assert losses.counts == {
        "poses with numbers that are not finite": 1,
        "poses that contradict another one of the same stamp": 1,
    }


def bad(stamp):
    message = pose_at(stamp, Pose())[2]
    message.pose.position.x = float("nan")
    return message


def test_boxes_in_space_are_labelled_as_in_the_recording(tmp_path):
    every = [(topic, at, message) for at in STAMPS for topic, message in isaac(at) if topic != "/tf"]
    times = [STAMPS[0] - 60 * MS + 70 * MS * index for index in range(6)]
    every += [("/tf", at, dict(isaac(at))["/tf"]) for at in times]
    every.sort(key=lambda row: row[1])
    write_mcap(tmp_path / "a.mcap", every)
    simulator = read_simulator("isaac_sim").content
    live = LiveMotions()
    reader = SolidLabels(simulator.solids, CameraView(live, simulator.images))
    other = SolidLabels(
        simulator.solids, CameraView(RecordedMotions(Recording(tmp_path / "a.mcap"), None), simulator.images)
    )
    names = {0: "car", 1: "truck"}
    waiting, done = [], 0
    for topic, _, message in every:
        feed(live, topic, message)
        waiting += [message] if topic == "/bbox_3d" else []
        while waiting:
            try:
                rows = reader.rows(waiting[0], "live", names, Losses())
            except AwaitedError:
                break
            wanted = other.rows(waiting.pop(0), "recorded", names, Losses())
            assert [(r.class_name, r.box, r.distance, r.visible) for r in rows] == [
                (r.class_name, r.box, r.distance, r.visible) for r in wanted
            ]
            assert len(rows) >= 2
            done += 1
    assert done == len(STAMPS)
