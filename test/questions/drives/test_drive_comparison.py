"""Simulated drives against real ones: what is measured, against formulas; what is concluded, on made drives."""

from dataclasses import replace

import numpy as np
import pytest
from drive_samples import LAP, RADIUS, made_drive, write_csv

from simjudge.core.errors import SimjudgeError
from simjudge.data.drive_logs import RADIANS
from simjudge.method.verdicts import GAPS, Verdict
from simjudge.questions.drives.driven_line import (
    SPACING,
    cut_windows,
    driven_line,
    fine_line,
    line_curvature,
    line_length,
    mean_line,
    median_speed,
)
from simjudge.questions.drives.result import QUESTION
from simjudge.questions.drives.run import BLOCKS, DRIVES, compare_drive_sets
from simjudge.questions.drives.settings import HEADING, LATERAL, METRICS, SPEED, DriveComparisonSettings

QUICK = DriveComparisonSettings(draws=200)


def sets(count=6, laps=1.05, first=0, **changed):
    return (
        [made_drive(first + seed, laps=laps) for seed in range(count)],
        [made_drive(first + 100 + seed, laps=laps, **changed) for seed in range(count)],
    )


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
    found = [compare_drive_sets(*sets(10, bias=bias), wide).results[0] for bias in (0.0, 0.06, 0.25)]
    gaps = [each.certainty.gap for each in found]
    assert gaps == sorted(gaps)
    assert [each.certainty.verdict for each in found] == [Verdict.PREDICTS, Verdict.SMALL_GAP, Verdict.LARGE_GAP]
    # The gap that was made is inside of its interval.
    assert found[1].certainty.gap_low < 0.06 < found[1].certainty.gap_high
    assert found[2].certainty.gap_low < 0.25 < found[2].certainty.gap_high


def test_a_faster_car_shows_in_its_speed_alone():
    found = verdicts(compare_drive_sets(*sets(speed=1.1), QUICK))
    assert found[SPEED] in (Verdict.GAP, Verdict.LARGE_GAP)
    assert found[LATERAL] == Verdict.PREDICTS


def test_a_car_at_another_speed_drives_no_stretch_that_is_alike():
    result = compare_drive_sets(*sets(speed=2.0), QUICK)
    assert set(verdicts(result).values()) == {Verdict.NO_OVERLAP}


def test_three_drives_a_side_give_verdicts_and_four_show_a_gap_of_drives_like_these():
    few, more = (compare_drive_sets(*sets(count=count, laps=2.05, bias=0.3), QUICK) for count in (3, 4))
    assert [(each.drawn, each.units) for each in (few, more)] == [(DRIVES, (3, 3)), (DRIVES, (4, 4))]
    assert Verdict.TOO_FEW not in verdicts(few).values()
    assert verdicts(more)[LATERAL] in GAPS
    assert headline(more.content()) == "Large gap"


def test_fewer_drives_are_drawn_by_blocks_and_the_headline_speaks_of_these_alone():
    result = compare_drive_sets(*sets(count=1, laps=6.05, bias=0.3), QUICK)
    assert result.drawn == BLOCKS
    assert any("fewer than 3 drives" in note for note in result.notes)
    content = result.content()
    assert {row["scope"] for row in content["metrics"]} == {"these_recordings"}
    assert headline(content) == "Too few"  # on a circle of a few stretches
    content["metrics"][0]["verdict"] = "gap"
    assert headline({**content, "metrics": content["metrics"][:1]}) == "Gap, in these drives"


def headline(content):
    return QUESTION.saved("drives", content).headline


def test_a_scene_has_the_course(tmp_path):
    from driving_scenes import STRAIGHT, scene_file  # noqa: PLC0415

    real = [made_drive(seed, laps=0.14) for seed in range(5)]
    result = compare_drive_sets(real, real, replace(QUICK, course=str(scene_file(tmp_path, STRAIGHT)), draws=0))
    assert not result.course.closed
    assert [each.certainty.verdict for each in result.results] == [Verdict.NOT_TESTED] * 4
    assert [float(np.nanmax(each.comparison.w1)) for each in result.results] == [0.0] * 4  # of a set and itself


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
    short = replace(
        sim[0],
        **{name: getattr(sim[0], name)[:4] for name in ("time", "position", "yaw", "speed", "steering", "throttle")},
    )
    with pytest.raises(SimjudgeError, match=r"none passes a stretch of 0\.5 m"):
        compare_drive_sets(real, [short], QUICK)


def test_a_car_that_stands_has_no_stretch():
    real, sim = sets(count=1)
    stands = replace(
        sim[0],
        time=sim[0].time[:9],
        position=np.tile(sim[0].position[0], (9, 1)),
        yaw=np.zeros(9),
        speed=np.zeros(9),
        steering=np.zeros(9),
        throttle=np.zeros(9),
    )
    with pytest.raises(SimjudgeError, match="simulated drives: none passes a stretch"):
        compare_drive_sets(real, [stands], QUICK)
    moves = compare_drive_sets(real, [stands, *sim], QUICK)
    assert set(moves.windows[1].drive) == {1}


def test_spacing_divides_the_smallest_window():
    assert SPACING * 2 <= 0.1


def test_drives_of_one_open_course_may_end_at_unlike_places():
    """The line goes as far as the longest; one that goes on where the first ends had made a line without numbers."""
    drives = [made_drive(seed, laps=laps) for seed, laps in ((0, 0.5), (1, 0.6), (2, 0.9))]
    line = mean_line(drives)
    assert not line.closed
    assert np.isfinite(line.centre_line).all()
    assert line_length(line) == pytest.approx(0.9 * LAP, rel=0.05)


def rows(drive, kept):
    return drive[np.flatnonzero(kept)]


@pytest.mark.parametrize("counts", [(1, 1), (1, 10), (10, 1)])
def test_neither_side_errs_less_than_the_other_by_construction(counts):
    """Lateral deviations of equal drivers, whatever the numbers of drives: with the mean of one side one was 0."""
    spread = []
    for seed in range(12):
        real, sim = ([made_drive(1000 * seed + 100 * side + k) for k in range(n)] for side, n in enumerate(counts))
        course = mean_line([*real, *sim])
        lateral = [np.concatenate([driven_line(course, d).values[:, 0] for d in side]) for side in (real, sim)]
        spread.append([np.abs(values).mean() for values in lateral])
    ours, theirs = np.mean(spread, 0)
    assert ours == pytest.approx(theirs, rel=0.12)
    assert ours > 0.01


def test_the_line_does_not_follow_the_drive_that_is_recorded_most_often():
    drives = [made_drive(0, noise=0.0), made_drive(1, noise=0.0, bias=0.2)]
    often = np.linspace(0, len(drives[1]) - 1, 10 * len(drives[1]))
    columns = {
        name: np.interp(often, np.arange(len(drives[1])), getattr(drives[1], name))
        for name in ("time", "yaw", "speed", "steering", "throttle")
    }
    place = np.stack([np.interp(often, np.arange(len(drives[1])), axis) for axis in drives[1].position.T], 1)
    course = mean_line([drives[0], replace(drives[1], position=place, **columns)])
    assert driven_line(course, drives[0]).values[:, 0].mean() == pytest.approx(-0.1, abs=0.01)


def test_one_drive_a_side_that_does_not_differ_is_no_gap():
    """A real drive that was its own line never erred, and p was small in lateral and heading error of each."""
    found = [compare_drive_sets(*sets(1, laps=4, first=seed), QUICK) for seed in range(6)]
    p = [each.certainty.p_value for result in found for each in result.results]
    assert sum(value <= 0.05 for value in p) <= 3
    assert not any(each.certainty.verdict in GAPS for result in found for each in result.results)


def test_stretches_that_one_side_alone_passes_are_left_out_and_said():
    real, sim = [made_drive(0, laps=0.9)], [made_drive(1, laps=0.5)]
    result = compare_drive_sets(real, sim, QUICK)
    places = [set(np.round(held.place, 6)) for held in result.windows]
    assert places[0] == places[1]
    assert any("no drive of the other side passes there" in note for note in result.notes)


def test_a_hole_is_left_out_and_said():
    real, sim = sets(count=5)
    whole = compare_drive_sets(real, sim, QUICK)
    gone = (sim[0].time < 9) | (sim[0].time > 15)
    holed = compare_drive_sets(real, [rows(sim[0], gone), *sim[1:]], QUICK)
    assert holed.losses.lines() == ["1 hole in drives: drive_100: 6.1 s and 5.3 m after 8.950 s"]
    lost = len(whole.windows[1].drive) - len(holed.windows[1].drive)
    assert 11 <= lost <= 15
    # Where it was recorded nothing changes, and nowhere is it off the line by what a chord is off an arc: 1 m.
    before, after = (np.nanmean(each.results[0].comparison.w1) for each in (whole, holed))
    assert after == pytest.approx(before, abs=2e-3)
    assert np.abs(holed.windows[1].performance[:, 0]).max() < 0.3
    # The drawn line has the hole too.
    assert np.diff(holed.lines[5].distance).max() > 4.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: p + np.where(np.arange(len(p)) == 200, 100.0, 0.0)[:, None], "2 jumps in drives"),
        (lambda p: p + np.where(np.arange(len(p)) >= 300, 100.0, 0.0)[:, None], "instants more than 10 m beside"),
        (lambda p: p + np.where(np.arange(len(p)) == 200, 1e11, 0.0)[:, None], "2 jumps in drives"),
    ],
)
def test_a_jump_is_left_out_and_said(change, said):
    real, sim = sets(count=5)
    whole = compare_drive_sets(real, sim, QUICK)
    result = compare_drive_sets(real, [replace(sim[0], position=change(sim[0].position)), *sim[1:]], QUICK)
    assert any(said in line for line in result.losses.lines()), result.losses.lines()
    assert np.abs(result.windows[1].performance[:, 0]).max() < 0.3
    ours, theirs = (np.nanmean(each.results[0].comparison.w1) for each in (whole, result))
    assert ours == pytest.approx(theirs, abs=5e-3)


def test_a_standing_drive_counts_for_nothing_and_is_said():
    real, sim = sets(count=3)
    random = np.random.default_rng(0)
    still = replace(sim[0], position=sim[0].position[:1] + random.normal(0, 0.003, sim[0].position.shape))
    for both in ((real, [still, *sim[1:]]), ([still, *real[1:]], sim)):
        result = compare_drive_sets(*both, QUICK)
        assert "1 drive that passes no stretch of the course in full: drive_100" in result.losses.lines()
        assert result.drawn == BLOCKS
        assert np.isfinite(np.nanmean(result.results[0].comparison.w1))


def test_a_pause_with_noise_makes_no_line_of_its_own():
    drive = made_drive(0, noise=0.0, laps=0.8)
    stop, random = 150, np.random.default_rng(0)
    order = np.concatenate([np.arange(stop), np.full(400, stop), np.arange(stop, len(drive))])
    paused = replace(drive[order], time=0.05 * np.arange(len(order)))
    moved = paused.position + random.normal(0, 0.005, paused.position.shape) * (order == stop)[:, None]
    course = mean_line([replace(paused, position=moved)])
    assert line_length(course) == pytest.approx(0.8 * LAP, abs=0.6)


def test_a_drive_against_the_course_is_said():
    real, sim = sets(count=5)
    back = sim[0][np.arange(len(sim[0]))[::-1]]
    back = replace(back, time=sim[0].time, yaw=back.yaw + np.pi)
    for drives in ([back, *sim[1:]], [*sim[1:], back]):
        result = compare_drive_sets(real, drives, QUICK)
        assert any("against the direction of the course: drive_100" in line for line in result.losses.lines())
        assert np.abs(result.windows[1].performance[:, 1]).max() < 30
    with pytest.raises(SimjudgeError, match=r"simulated drives: none passes a stretch .* against the direction"):
        compare_drive_sets(real, [back], QUICK)


def test_a_clock_that_jumps_back_begins_another_piece():
    real, sim = sets(count=5)
    jumps = replace(sim[0], time=np.where(np.arange(len(sim[0])) < 200, sim[0].time, sim[0].time - 7))
    whole, result = (compare_drive_sets(real, [each, *sim[1:]], QUICK) for each in (sim[0], jumps))
    assert result.losses.lines()[0].startswith("1 clock of drives that jump back: drive_100: -6.95 s")
    assert len(whole.windows[1].drive) - len(result.windows[1].drive) <= 1


def test_laps_count_like_drives():
    """Ten laps of one drive against ten drives of a lap: the line is in the middle of both."""
    real, sim = [made_drive(0, laps=10.0)], [made_drive(100 + k, laps=1.0, bias=0.2) for k in range(10)]
    course = mean_line([*real, *sim])
    means = [np.concatenate([driven_line(course, d).values[:, 0] for d in side]).mean() for side in (real, sim)]
    np.testing.assert_allclose(means, [-0.1, 0.1], atol=0.02)
