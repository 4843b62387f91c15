"""A drive as it goes on: what its messages say is what its recording says."""

import numpy as np
import pytest
from drive_samples import made_drive

from simjudge.core.errors import SimjudgeError
from simjudge.data.drive_logs import RADIANS
from simjudge.questions.drives.run import LiveDrives, compare_drive_sets, compare_live
from simjudge.questions.drives.settings import DriveComparisonSettings

START = 1_700_000_000_000_000_000
QUICK = DriveComparisonSettings(draws=50)


def feed(live, drive, begin=START, every=4):
    """Poses of a drive, and a command each few of them."""
    for n, time in enumerate(drive.time):
        stamp = begin + round(time * 1e9)
        if n % every == 0:
            live.add_command(stamp, drive.steering[n], drive.throttle[n])
        half = drive.yaw[n] / 2
        pose = (*drive.position[n], 0.0, 0.0, 0.0, np.sin(half), np.cos(half))
        live.add_pose(stamp, pose, (drive.speed[n], 0.0))


def test_a_live_drive_is_the_drive_with_each_command_held_until_the_next():
    drive, live = made_drive(3), LiveDrives()
    feed(live, drive)
    (log,) = live.logs()
    np.testing.assert_allclose(log.time, drive.time, atol=1e-9)
    np.testing.assert_array_equal(log.position, drive.position)
    np.testing.assert_allclose(np.cos(log.yaw - drive.yaw), 1)
    np.testing.assert_array_equal(log.speed, drive.speed)
    np.testing.assert_array_equal(log.steering, drive.steering[np.arange(len(drive)) // 4 * 4])


def test_steering_angles_keep_their_unit():
    live = LiveDrives(unit=RADIANS)
    feed(live, made_drive(3))
    assert live.logs()[0].steering_unit == RADIANS


def test_a_jump_back_begins_another_drive():
    live = LiveDrives()
    for seed in range(3):
        feed(live, made_drive(seed, laps=0.2))
    assert [log.name for log in live.logs()] == ["live drive", "live drive 2", "live drive 3"]
    # The first command of a drive comes before the pose that tells that it is another one.
    for seed, log in enumerate(live.logs()):
        np.testing.assert_array_equal(log.position, made_drive(seed, laps=0.2).position)


@pytest.mark.parametrize("live_is_real", [False, True])
@pytest.mark.parametrize("sure", [False, True])
def test_the_comparison_is_that_of_finished_drives(live_is_real, sure):
    reference, live = [made_drive(seed) for seed in range(5)], LiveDrives()
    for seed in range(5):
        feed(live, made_drive(100 + seed, bias=0.2))
    found = compare_live(reference, live.logs(), QUICK, live_is_real=live_is_real, sure=sure)
    sides = (live.logs(), reference) if live_is_real else (reference, live.logs())
    wanted = compare_drive_sets(*sides, QUICK)
    for ours, theirs in zip(found.results, wanted.results, strict=True):
        np.testing.assert_array_equal(ours.comparison.w1, theirs.comparison.w1)
        if sure:
            assert ours.certainty == theirs.certainty
        else:
            assert ours.certainty.p_value is None


def test_a_drive_of_no_stretch_has_nothing_to_compare():
    live = LiveDrives()
    assert live.logs() == []
    feed(live, made_drive(0, laps=0.002))
    with pytest.raises(SimjudgeError, match="none passes a stretch"):
        compare_live([made_drive(1)], live.logs(), QUICK, live_is_real=False, sure=False)
