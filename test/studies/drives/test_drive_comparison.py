"""Simulated drives against real ones: what is measured, against formulas; what is concluded, on made drives."""

from dataclasses import replace

import numpy as np
import pytest
from drive_samples import LAP, RADIUS, made_drive, write_csv

from simjudge.context.verdicts import GAPS, Verdict
from simjudge.core.errors import SimjudgeError
from simjudge.data.steering_units import RADIANS
from simjudge.studies.drives.course_line import SPACING, fine_line, line_curvature, line_length, mean_line
from simjudge.studies.drives.drive_comparison import BLOCKS, DRIVES, compare_drive_sets
from simjudge.studies.drives.drive_metrics import HEADING, LATERAL, METRICS, SPEED
from simjudge.studies.drives.drive_settings import DriveComparisonSettings
from simjudge.studies.drives.drive_windows import (
    cut_windows,
    driven_line,
    median_speed,
)

QUICK = DriveComparisonSettings(draws=200)


def sets(count=6, laps=1.05, **changed):
    return ([made_drive(seed, laps=laps) for seed in range(count)],
            [made_drive(100 + seed, laps=laps, **changed) for seed in range(count)])  # fmt: skip


def verdicts(result):
    return {each.metric: each.certainty.verdict for each in result.results}


def test_the_mean_line_of_drives_is_the_line_that_they_follow():
    course = mean_line([made_drive(seed) for seed in range(8)])
    assert course.closed
    assert line_length(course) == pytest.approx(LAP, abs=0.1)
    on_it = made_drive(0, noise=0.0, laps=1.5)
    line = driven_line(course, on_it)
    assert np.abs(line.values[:, 0]).max() < 0.05
    assert np.abs(line.values[:, 1]).max() < 3
    curvature = line_curvature(course)
    assert curvature.mean() * line_length(course) == pytest.approx(2 * np.pi, rel=3e-3)
    assert np.median(curvature[(curvature > 0.2)]) == pytest.approx(1 / RADIUS, rel=0.05)


def test_windows_say_where_how_fast_and_how_far_beside_the_line_a_car_is():
    course = mean_line([made_drive(0, noise=0.0)])
    lines = [driven_line(course, made_drive(1, noise=0.0, bias=0.2, speed=2.0, laps=2.3))]
    windows = cut_windows(course, lines, median_speed(course, lines), 0.5)
    per_lap = round(line_length(course) / 0.5)
    assert per_lap * 2 <= len(windows.drive) <= per_lap * 2.5
    assert np.all(np.diff(windows.window) == 1)
    np.testing.assert_allclose(windows.place, (windows.window % per_lap + 0.5) * line_length(course) / per_lap)
    # The car goes at 2 m/s; a car inside of a bend sees the line pass faster, but its own speed counts.
    np.testing.assert_allclose(windows.speed, 2.0, atol=1e-9)
    np.testing.assert_allclose(windows.performance[:, METRICS.index(LATERAL)], 0.2, atol=0.02)
    np.testing.assert_allclose(windows.performance[:, METRICS.index(HEADING)], 0.0, atol=2)
    np.testing.assert_allclose(windows.performance[:, METRICS.index(SPEED)], 0.0, atol=1e-9)
    curved = windows.curvature[:, 0] > 0.3
    assert curved.mean() == pytest.approx(2 * np.pi * RADIUS / LAP, abs=0.1)


def test_steering_effort_is_all_that_the_steering_changes_by_a_metre():
    drive = made_drive(0, noise=0.0, laps=1.0)
    steering = 0.1 * (np.arange(len(drive)) % 2)
    steering[:8] = np.nan  # no command yet
    zigzag = replace(drive, steering=steering)
    course = fine_line(mean_line([drive]))
    lines = [driven_line(course, zigzag)]
    windows = cut_windows(course, lines, median_speed(course, lines), 1.0)
    # 0.1 each 0.05 s at 1 m/s, which is 0.05 m: 2 per metre.
    np.testing.assert_allclose(windows.performance[:, 3], 2.0, rtol=0.06)


def test_like_drives_are_told_apart_by_nothing():
    result = compare_drive_sets(*sets(), QUICK)
    assert not set(verdicts(result).values()) & set(GAPS)
    assert (result.drawn, result.units) == (DRIVES, (6, 6))
    assert all(each.comparison.overlap_a.mean() > 0.95 for each in result.results)


def test_no_small_and_large_gaps_come_in_this_order():
    wide = replace(QUICK, margin_lateral=0.1)
    found = [compare_drive_sets(*sets(bias=bias), wide).results[0] for bias in (0.0, 0.05, 0.25)]
    excess = [each.certainty.gap for each in found]
    assert excess == sorted(excess)
    assert [each.certainty.verdict for each in found] == [Verdict.PREDICTS, Verdict.SMALL_GAP, Verdict.LARGE_GAP]
    # The gap that was made is inside of its interval.
    assert found[2].certainty.gap_low < 0.25 < found[2].certainty.gap_high


def test_a_faster_car_shows_in_its_speed_alone():
    found = verdicts(compare_drive_sets(*sets(speed=1.1), QUICK))
    assert found[SPEED] in (Verdict.GAP, Verdict.LARGE_GAP)
    assert found[LATERAL] == Verdict.PREDICTS


def test_a_car_at_another_speed_drives_no_stretch_that_is_alike():
    result = compare_drive_sets(*sets(speed=2.0), QUICK)
    assert set(verdicts(result).values()) == {Verdict.NO_OVERLAP}


def test_few_drives_are_drawn_by_blocks_and_it_is_said():
    result = compare_drive_sets(*sets(count=4, laps=2.05, bias=0.3), QUICK)
    assert result.drawn == BLOCKS
    assert min(result.units) > 5
    assert any("fewer than 5 drives" in note for note in result.notes)
    # Four drives may be too few; then that is the answer, and not that they are alike.
    assert verdicts(result)[LATERAL] in (Verdict.LARGE_GAP, Verdict.TOO_FEW)


def test_a_scene_has_the_course(tmp_path):
    from driving_scenes import STRAIGHT, scene_file  # noqa: PLC0415

    real = [made_drive(seed, laps=0.14) for seed in range(5)]
    result = compare_drive_sets(real, real, replace(QUICK, course=str(scene_file(tmp_path, STRAIGHT)), draws=0))
    assert not result.course.closed
    assert [each.certainty.gap <= 0 for each in result.results] == [True] * 4


def test_steering_in_two_units_is_refused():
    real, sim = sets(count=1)
    with pytest.raises(SimjudgeError, match="of full lock in drive_0 and rad in drive_100"):
        compare_drive_sets(real, [replace(sim[0], steering_unit=RADIANS)], QUICK)


def test_steering_that_nobody_says_is_left_out_and_said(tmp_path):
    real, sim = sets(count=5)
    blind = write_csv(tmp_path / "blind.csv", sim[0], ("time", "x", "y", "yaw", "speed"))
    result = compare_drive_sets(real, [*sim[1:], blind], QUICK)
    assert len(result.results) == 3
    assert any("steering effort: left out" in note for note in result.notes)


@pytest.mark.parametrize("which", [0, 1])
def test_a_side_without_drives_is_refused(which):
    both = [[made_drive(0, laps=0.3)], [made_drive(1, laps=0.3)]]
    both[which] = []
    with pytest.raises(SimjudgeError, match="at least one real drive"):
        compare_drive_sets(*both, QUICK)


def test_a_drive_elsewhere_is_said():
    real, sim = sets(count=1)
    short = replace(sim[0], **{name: getattr(sim[0], name)[:4] for name in
                               ("time", "position", "yaw", "speed", "steering", "throttle")})  # fmt: skip
    with pytest.raises(SimjudgeError, match=r"none passes a stretch of 0\.5 m"):
        compare_drive_sets(real, [short], QUICK)


def test_a_car_that_stands_has_no_stretch():
    real, sim = sets(count=1)
    stands = replace(sim[0], time=sim[0].time[:9], position=np.tile(sim[0].position[0], (9, 1)), yaw=np.zeros(9),
                     speed=np.zeros(9), steering=np.zeros(9), throttle=np.zeros(9))  # fmt: skip
    with pytest.raises(SimjudgeError, match="simulated drives: none passes a stretch"):
        compare_drive_sets(real, [stands], QUICK)
    moves = compare_drive_sets(real, [stands, *sim], QUICK)
    assert set(moves.windows[1].drive) == {1}


def test_spacing_divides_the_smallest_window():
    assert SPACING * 2 <= 0.1


def test_drives_of_one_open_course_may_end_at_unlike_places():
    """One that goes on for more than a metre where the first one ends had made a mean line without numbers."""
    drives = [made_drive(seed, laps=laps) for seed, laps in ((0, 0.5), (1, 0.6), (2, 0.9))]
    line = mean_line(drives)
    assert not line.closed
    assert np.isfinite(line.centre_line).all()
    assert line_length(line) == pytest.approx(0.5 * LAP, rel=0.05)
