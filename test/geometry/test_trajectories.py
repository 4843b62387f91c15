"""Poses between poses, against SciPy and closed forms; what is not believed; every error and what it tells."""

import logging
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.geometry.poses import Pose, PoseNoise, Trajectory
from simjudge.geometry.trajectories import (
    FrameTiming,
    MotionLimits,
    TrajectoryInterpolator,
    clean_trajectory,
    frames_with_poses,
)

SECOND = 10**9
START = 1_700_000_000 * SECOND


def trajectory(seconds, position=None, orientation=None):
    """A drive along x at 1 m/s, unless poses are given."""
    at = np.asarray(seconds, np.float64)
    place = np.stack([at, 0 * at, 0 * at], 1) if position is None else np.asarray(position, np.float64)
    turned = np.tile([0, 0, 0, 1.0], (len(at), 1)) if orientation is None else np.asarray(orientation, np.float64)
    return Trajectory("run.mcap: /pose", "map", "car", START + np.round(at * 1e9).astype(np.int64), place, turned)


def frames(seconds):
    return START + np.round(np.asarray(seconds, np.float64) * 1e9).astype(np.int64)


def usable(track, seconds, limits=None, losses=None, **more):
    losses = Losses() if losses is None else losses
    return frames_with_poses(
        TrajectoryInterpolator(track, limits or MotionLimits()), frames(seconds), "frame {}".format, losses, **more
    )


def random_track(seed, count=20):
    rng = np.random.default_rng(seed)
    seconds = np.cumsum(rng.uniform(0.01, 0.4, count))
    orientation = Rotation.random(count, random_state=seed).as_quat() * rng.choice([-1, 1], (count, 1))
    return trajectory(seconds, rng.normal(0, 5, (count, 3)), orientation)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 30))
def test_positions_are_linear_and_orientations_slerp(seed, count):
    track = random_track(seed, count)
    times = np.random.default_rng(seed).integers(track.stamp[0], track.stamp[-1], 50, endpoint=True)
    position, orientation = TrajectoryInterpolator(track).sample(times)
    since = (track.stamp - START) / SECOND
    at = (times - START) / SECOND
    expected = np.stack([np.interp(at, since, column) for column in track.position.T], 1)
    np.testing.assert_allclose(position, expected, atol=1e-9)
    slerp = Slerp(since, Rotation.from_quat(track.orientation))(np.clip(at, since[0], since[-1]))
    difference = (slerp.inv() * Rotation.from_quat(orientation)).magnitude()
    np.testing.assert_allclose(difference, 0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(orientation, axis=1), 1, atol=1e-12)


def test_at_a_pose_it_is_that_pose():
    track = random_track(3)
    position, orientation = TrajectoryInterpolator(track).sample(track.stamp)
    np.testing.assert_array_equal(position, track.position)
    np.testing.assert_array_equal(orientation, track.orientation)
    cut = replace(track, stamp=track.stamp[:5], position=track.position[:5], orientation=track.orientation[:5])
    np.testing.assert_array_equal(TrajectoryInterpolator(cut).sample(track.stamp[4])[1][0], track.orientation[4])
    read = clean_trajectory(track, str, Losses())
    np.testing.assert_array_equal(read.orientation, track.orientation)


def test_a_steady_turn_goes_on_steadily():
    """Half way in time is half way in angle, the short way round, whatever the sign of the quaternions."""
    first, last = (Rotation.from_euler("Z", angle, degrees=True).as_quat() for angle in (170, -150))
    ends = [first, -last]
    track = trajectory([0, 0.4], [[0, 0, 0], [1, 2, 3]], ends)
    for share in (0.25, 0.5, 0.75):
        pose = TrajectoryInterpolator(track).poses(frames([0.4 * share]))[0]
        assert pose.position == pytest.approx((share, 2 * share, 3 * share))
        assert math.degrees(pose.angles()[0]) % 360 == pytest.approx(170 + 40 * share)


def test_nothing_is_made_up_outside():
    track = trajectory([0, 1, 2])
    with pytest.raises(SimjudgeError, match=r"has no pose at 1700000002\.500000 s; its poses are from"):
        TrajectoryInterpolator(track).sample(frames([1, 2.5]))
    with pytest.raises(SimjudgeError, match="holds one pose only"):
        TrajectoryInterpolator(trajectory([0]))


# What can be used.


def test_frames_outside_are_left_out_and_counted():
    losses = Losses()
    kept = usable(trajectory(np.arange(0, 3.01, 0.1)), [-1, 0, 1.05, 3, 3.01, 4], losses=losses)
    assert kept.tolist() == [False, True, True, True, False, False]
    assert losses.lines() == [
        "1 frame before the first pose of run.mcap: /pose: frame 0",
        "2 frames after the last pose of run.mcap: /pose: frame 4; frame 5",
    ]


def test_an_exposure_needs_poses_for_all_of_it():
    track = trajectory(np.arange(0, 1.01, 0.1))
    assert usable(track, [0.0, 0.5, 1.0], timing=FrameTiming(10**7, 10**7)).tolist() == [False, True, False]
    assert usable(track, [0.0, 0.5, 1.0], timing=FrameTiming(0, 10**7)).tolist() == [True, True, False]


def test_no_overlap_tells_the_offset_that_helps():
    track = trajectory(np.arange(0, 3.01, 0.1))
    with pytest.raises(SimjudgeError) as caught:
        usable(track, [100, 101])
    said = str(caught.value)
    assert "the poses are from 1700000000.000 s to 1700000003.000 s, the frames from 1700000100.000 s to" in said
    assert "--time-offset -100.000 would bring them together (if both begin together)" in said
    assert usable(track, [100, 101], timing=FrameTiming(offset=-100 * SECOND)).all()


def test_the_time_of_recording_tells_a_better_offset():
    track = trajectory(np.arange(0, 3.01, 0.1))
    with pytest.raises(SimjudgeError, match=r"--time-offset -99\.250 .* \(by the times at which both were recorded\)"):
        usable(track, [100, 101], clock_offset=lambda: round(-99.25 * SECOND))
    # One that would not help is not named.
    with pytest.raises(SimjudgeError, match=r"--time-offset -100\.000"):
        usable(track, [100, 101], clock_offset=lambda: 5 * SECOND)


def test_gaps_are_an_error_or_skipped():
    track = trajectory([0, 0.1, 0.2, 1.0, 1.1])
    at = [0.15, 0.2, 0.5, 0.9, 1.0]
    with pytest.raises(SimjudgeError) as caught:
        usable(track, at)
    assert str(caught.value) == (
        "run.mcap: /pose: has no pose for 0.8 s from 1700000000.200 s on, where frame 2 lies (and 1 more frames in"
        " gaps); poses further apart than 0.5 s are not believed: raise --max-gap, or leave such frames out with"
        " --skip-gaps"
    )
    losses = Losses()
    assert usable(track, at, MotionLimits(skip_gaps=True), losses).tolist() == [True, True, False, False, True]
    assert losses.lines() == ["2 frames in gaps of run.mcap: /pose: frame 2; frame 3"]
    assert usable(track, at, MotionLimits(max_gap=0.8)).all()
    with pytest.raises(SimjudgeError, match="every frame lies in a gap"):
        usable(track, [0.5], MotionLimits(skip_gaps=True))


def test_jumps_are_an_error_where_they_matter():
    place = [[0, 0, 0], [0.1, 0, 0], [5.1, 0, 0], [5.2, 0, 0]]
    track = trajectory([0, 0.1, 0.2, 0.3], place)
    with pytest.raises(SimjudgeError) as caught:
        usable(track, [0.05, 0.25])
    assert str(caught.value) == (
        "run.mcap: /pose: jumps at 1700000000.200 s by 5 m and 0 degrees in 0.1 s; more than 20 m/s or 720 degrees/s"
        " are not believed: replay the part before or after it, or raise --max-speed or --max-turn"
    )
    assert usable(track, [0.0, 0.1]).all()
    assert usable(track, [0.2, 0.3]).all()
    assert usable(track, [0.05, 0.25], MotionLimits(max_speed=50)).all()


def test_a_turn_may_be_a_jump_too():
    turn = Rotation.from_euler("Z", [[0], [0], [85], [85]], degrees=True).as_quat()
    track = trajectory([0, 0.1, 0.2, 0.3], np.zeros((4, 3)), turn)
    with pytest.raises(SimjudgeError, match=r"by 0 m and 85 degrees in 0\.1 s"):
        usable(track, [0.05, 0.25])
    assert usable(track, [0.05, 0.25], MotionLimits(max_turn=math.radians(750))).all()


def test_an_estimate_may_jitter():
    track = trajectory([0, 0.001, 0.5], [[0, 0, 0], [0.1, 0, 0], [0.2, 0, 0]])
    assert usable(track, [0.0, 0.4]).all()


@pytest.mark.parametrize("field", ["max_gap", "max_speed", "max_turn"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_limits_that_are_none(field, value):
    with pytest.raises(UsageError, match=f"{field} .*: must be above 0"):
        MotionLimits(**{field: value})


# Rows made clean.


def clean(seconds, position, orientation):
    losses = Losses()
    blank = Trajectory("t", "", "", frames(seconds), np.array(position, float), np.array(orientation, float))
    return clean_trajectory(blank, lambda row: f"row {row}", losses), losses


UP = [0, 0, 0, 1]


def test_rows_that_are_no_pose_are_counted():
    place = [[0, 0, 0], [1, math.nan, 0], [2, 0, 0], [3, 0, 0], [4, math.inf, 0], [5, 0, 0], [1e200, 0, 0]]
    rotation = [UP, UP, [0, 0, 0, 0], [0, 0, 2, 2], UP, [1e200, 0, 0, 1e200], UP]
    found, losses = clean([0, 1, 2, 3, 4, 5, 6], place, rotation)
    assert found.position[:, 0].tolist() == [0, 3]
    np.testing.assert_allclose(found.orientation, [UP, [0, 0, 0.5**0.5, 0.5**0.5]])
    assert losses.lines() == [
        "2 poses with numbers that are not finite: row 1; row 4",
        "2 poses with numbers beyond 1e+12: row 5; row 6",
        "1 pose with a zero quaternion: row 2",
    ]


def test_order_and_repeats(caplog):
    place = [[0, 0, 0], [2, 0, 0], [1, 0, 0], [2, 0, 0], [9, 0, 0]]
    with caplog.at_level(logging.WARNING):
        found, losses = clean([0, 2, 1, 2, 0], place, [UP] * 5)
    assert found.position[:, 0].tolist() == [0, 1, 2]
    assert (np.diff(found.stamp) > 0).all()
    # The second row of stamp 2 says the same again: nothing is lost. The one of stamp 0 contradicts.
    assert losses.lines() == ["1 pose that contradicts another one of the same stamp: row 4"]
    assert "t: 2 poses come later than their stamps say, the first: row 2; they are put in order" in caplog.text


def test_no_row_is_left():
    with pytest.raises(
        SimjudgeError, match=r"t: holds no pose that can be used \(1 pose with a zero quaternion: row 0\)"
    ):
        clean([0], [[0, 0, 0]], [[0, 0, 0, 0]])


# Noise.


def test_noise_follows_from_seed_and_name_alone():
    noise = PoseNoise()
    assert noise.error(1, "a") == noise.error(1, "a")
    assert noise.error(1, "a") != noise.error(2, "a")
    assert noise.error(1, "a") != noise.error(1, "b")
    assert PoseNoise(0, 0).error(1, "a") == Pose()


def test_noise_has_the_spread_that_is_asked_for():
    errors = [PoseNoise(math.radians(1), 0.01).error(7, f"frame {i}") for i in range(4000)]
    angles = np.degrees([error.angles() for error in errors])
    places = np.array([error.position for error in errors])
    np.testing.assert_allclose(angles.std(0), 1, rtol=0.05)
    np.testing.assert_allclose(places.std(0), 0.01, rtol=0.05)
    np.testing.assert_allclose(angles.mean(0), 0, atol=0.08)
    together = np.corrcoef(np.hstack([angles, places]).T) - np.eye(6)
    assert np.abs(together).max() < 0.06


@pytest.mark.parametrize("given", [(-1, 0), (0, -1), (math.nan, 0), (0, math.inf)])
def test_noise_that_is_none(given):
    with pytest.raises(UsageError, match="0 or more are needed"):
        PoseNoise(*given)
