"""Pose errors against matrices in plain loops, and against evo where it is installed."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.error_names import ALIGNMENTS, DELTA_UNITS, FRAMES, METRES, NONE, ORIGIN, SE3, SECONDS, SIM3
from simjudge.geometry.poses import Trajectory
from simjudge.geometry.trajectory_errors import (
    absolute_errors,
    align_poses,
    associate_poses,
    pose_pairs,
    relative_errors,
    take_poses,
)

START = 1_700_000_000_000_000_000


def made_pair(seed, count=300, scale=1.0):
    """A curved way in space and an estimate of it, turned, moved, scaled and noisy."""
    random = np.random.default_rng(seed)
    time = np.arange(count) * 0.05
    position = np.stack([8 * np.sin(0.3 * time), 5 * np.cos(0.5 * time), 0.4 * np.sin(time)], 1)
    rotation = Rotation.from_euler("ZYX", np.stack([0.3 * time, 0.1 * np.sin(time), 0.05 * np.cos(time)], 1))
    stamp = START + (time * 1e9).astype(np.int64)
    truth = Trajectory("truth", "map", "base", stamp, position, rotation.as_quat())
    turn = Rotation.from_euler("ZYX", [0.7, 0.1, -0.2])
    drift = np.cumsum(random.normal(0, 0.003, position.shape), 0)
    felt = rotation * Rotation.from_rotvec(np.cumsum(random.normal(0, 0.002, position.shape), 0))
    jitter = random.integers(-4_000_000, 4_000_000, count)
    estimate = Trajectory(
        "estimate",
        "odom",
        "base",
        stamp + jitter,
        turn.apply(position + drift) / scale + [3.0, -2.0, 0.5],
        (turn * felt).as_quat(),
    )
    return truth, estimate


def matrices(trajectory):
    out = np.tile(np.eye(4), (len(trajectory), 1, 1))
    out[:, :3, :3] = Rotation.from_quat(trajectory.orientation).as_matrix()
    out[:, :3, 3] = trajectory.position
    return out


def angle(rotation):
    """Degrees of a rotation matrix, by its trace and its skew part."""
    skew = np.array([rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]])
    return math.degrees(math.atan2(np.linalg.norm(skew) / 2, (np.trace(rotation) - 1) / 2))


def aligned(truth, estimate, kind):
    return align_poses(truth, estimate, kind).apply(estimate)


@pytest.mark.parametrize("kind", ALIGNMENTS)
def test_absolute_errors_are_those_of_matrices(kind):
    truth, estimate = made_pair(1)
    estimate = aligned(truth, estimate, kind)
    found = absolute_errors(truth, estimate)
    for row, (q, p) in enumerate(zip(matrices(truth), matrices(estimate), strict=True)):
        error = np.linalg.inv(p) @ q
        assert found[row] == pytest.approx([np.linalg.norm(error[:3, 3]), angle(error[:3, :3])], abs=1e-9)


@pytest.mark.parametrize(("delta", "unit"), [(1, FRAMES), (7, FRAMES), (0.5, METRES), (0.4, SECONDS)])
def test_relative_errors_are_those_of_matrices_whatever_the_alignment(delta, unit):
    truth, estimate = made_pair(2)
    pairs = pose_pairs(truth, delta, unit)
    found = relative_errors(truth, estimate, pairs)
    np.testing.assert_allclose(relative_errors(truth, aligned(truth, estimate, SE3), pairs), found, atol=1e-9)
    q, p = matrices(truth), matrices(estimate)
    for (i, j), row in zip(pairs.tolist(), found, strict=True):
        error = np.linalg.inv(np.linalg.inv(q[i]) @ q[j]) @ (np.linalg.inv(p[i]) @ p[j])
        assert row == pytest.approx([np.linalg.norm(error[:3, 3]), angle(error[:3, :3])], abs=1e-9)


def test_pairs_follow_each_other_and_are_delta_apart():
    truth, _ = made_pair(3)
    for delta, unit in ((3, FRAMES), (0.7, METRES), (0.33, SECONDS)):
        pairs = pose_pairs(truth, delta, unit)
        np.testing.assert_array_equal(pairs[1:, 0], pairs[:-1, 1])
        for i, j in pairs.tolist():
            step = np.linalg.norm(np.diff(truth.position[i : j + 1], axis=0), axis=1)
            passed = {
                FRAMES: j - i,
                METRES: step.sum(),
                SECONDS: (truth.stamp[j] - truth.stamp[i]) / 1e9,
            }[unit]
            before = {FRAMES: j - 1 - i, METRES: step[:-1].sum(), SECONDS: (truth.stamp[j - 1] - truth.stamp[i]) / 1e9}
            assert passed >= delta - 1e-9 > before[unit] - 1e-6


def test_the_alignment_finds_the_transform_that_was_made():
    truth, _ = made_pair(4)
    turn = Rotation.from_euler("ZYX", [1.0, -0.3, 0.2])
    moved = Trajectory(
        "moved",
        "",
        "",
        truth.stamp,
        turn.inv().apply(truth.position - [1.0, 2.0, 3.0]) / 1.7,
        (turn.inv() * Rotation.from_quat(truth.orientation)).as_quat(),
    )
    found = align_poses(truth, moved, SIM3)
    assert found.scale == pytest.approx(1.7, abs=1e-12)
    np.testing.assert_allclose(found.translation, [1.0, 2.0, 3.0], atol=1e-10)
    assert (found.rotation.inv() * turn).magnitude() < 1e-10
    assert absolute_errors(truth, found.apply(moved)).max() < 1e-6


def test_the_origin_is_brought_to_the_origin():
    truth, estimate = made_pair(5)
    assert absolute_errors(truth, aligned(truth, estimate, ORIGIN))[0] == pytest.approx([0, 0], abs=1e-6)
    assert absolute_errors(truth, aligned(truth, estimate, NONE))[0, 0] > 1


def test_poses_on_a_line_have_no_rotation():
    truth, estimate = made_pair(6)
    line = np.outer(np.linspace(0, 5, len(truth)), [1.0, 0.0, 0.0])
    straight = Trajectory("line", "", "", truth.stamp, line, truth.orientation)
    with pytest.raises(SimjudgeError, match=r"line: its poses lie at one place or on one line.*--align origin"):
        align_poses(straight, straight, SE3)
    assert align_poses(straight, estimate, ORIGIN).scale == 1


def test_each_pose_of_the_sparser_one_is_matched_with_the_nearest():
    truth, estimate = made_pair(7)
    sparse = take_poses(estimate, np.arange(3, 290, 6))
    for one, other in ((truth, sparse), (sparse, truth)):
        rows = associate_poses(one, other, 3_000_000)
        few, many = (0, 1) if len(one) < len(other) else (1, 0)
        stamps = (one.stamp, other.stamp)
        expected = []
        for row, stamp in enumerate(stamps[few].tolist()):
            away = np.abs(stamps[many] - stamp)
            if away.min() <= 3_000_000:
                expected.append((row, int(away.argmin())))
        assert list(zip(rows[few].tolist(), rows[many].tolist(), strict=True)) == expected
        assert 10 < len(expected) < len(sparse)
    late = Trajectory("late", "", "", truth.stamp + 10**12, truth.position, truth.orientation)
    assert not len(associate_poses(truth, late, 10_000_000)[0])


@pytest.mark.parametrize("kind", ALIGNMENTS)
@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_errors_are_those_of_evo(kind, scale):
    pytest.importorskip("evo")
    from evo.core import metrics, sync  # noqa: PLC0415
    from evo.core.trajectory import PoseTrajectory3D  # noqa: PLC0415

    truth, estimate = made_pair(8, scale=scale)
    truth = take_poses(truth, np.arange(0, 300, 2))

    def of_evo(t):
        # Seconds from the first: floats since 1970 hold no nanoseconds.
        return PoseTrajectory3D(t.position, t.orientation[:, [3, 0, 1, 2]], (t.stamp - START) / 1e9)

    reference, seen = sync.associate_trajectories(of_evo(truth), of_evo(estimate), max_diff=0.01)
    rows = associate_poses(truth, estimate, 10_000_000)
    ours = take_poses(truth, rows[0]), take_poses(estimate, rows[1])
    assert len(ours[0]) == reference.num_poses == 150
    if kind == ORIGIN:
        seen.align_origin(reference)
    elif kind != NONE:
        seen.align(reference, correct_scale=kind == SIM3)
    fitted = aligned(*ours, kind)
    relations = (metrics.PoseRelation.translation_part, metrics.PoseRelation.rotation_angle_deg)
    for column, relation in enumerate(relations):
        absolute = metrics.APE(relation)
        absolute.process_data((reference, seen))
        np.testing.assert_allclose(absolute_errors(ours[0], fitted)[:, column], absolute.error, atol=1e-9)
        for delta, unit, name in ((1, FRAMES, "frames"), (5, FRAMES, "frames"), (0.6, METRES, "meters")):
            relative = metrics.RPE(relation, delta, metrics.Unit[name], pairs_from_reference=True)
            relative.process_data((reference, seen))
            found = relative_errors(ours[0], fitted, pose_pairs(ours[0], delta, unit))
            np.testing.assert_allclose(found[:, column], relative.error, atol=1e-9)
    assert set(DELTA_UNITS) == {FRAMES, METRES, SECONDS}
