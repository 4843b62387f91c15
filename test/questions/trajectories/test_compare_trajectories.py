"""Errors of a localization, real and simulated: what is read, measured, concluded, written and said."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from pose_samples import odometry, pose_stamped, transforms, write_messages
from trajectory_samples import made_run, trajectory, write_euroc, write_kitti, write_tum
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.judging.point_metrics import PointSide, sampling_units
from simjudge.method.verdicts import GAPS, Verdict
from simjudge.questions.trajectories.page import TRAJECTORIES_PAGE, kinds_table, map_figure, path_figure
from simjudge.questions.trajectories.result import error_statistics, load_trajectories
from simjudge.questions.trajectories.run import compare_runs, earlier_passes
from simjudge.questions.trajectories.settings import (
    APE_ROTATION,
    APE_TRANSLATION,
    METRICS,
    RPE_TRANSLATION,
    TrajectorySettings,
)

QUICK = TrajectorySettings(draws=100)
SHORT = TrajectorySettings(draws=0)


def verdicts(found):
    return {each.metric.name: each.certainty.verdict for each in found.results}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A real and a simulated run as folders of TUM files; the simulated one errs more."""
    root, out = tmp_path_factory.mktemp("runs"), []
    for name, seed, error in (("real", 1, 0.3), ("sim", 2, 0.7)):
        folder = root / name
        folder.mkdir()
        for stem, held in zip(("truth", "estimate"), made_run(seed, 300, error=error), strict=True):
            write_tum(folder / f"{stem}.tum", held)
        out.append(str(folder))
    return out


@pytest.fixture(scope="module")
def result(folders, tmp_path_factory):
    out = tmp_path_factory.mktemp("result") / "out"
    words = ["compare-trajectories", folders[0], "--", folders[1], "--out", str(out), "--draws", "100"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output + str(done.exception)
    assert "Large gap: The root mean square of the APE translation is 0.4" in done.output
    return out


def test_every_form_of_a_trajectory_gives_the_same_errors(tmp_path):
    truth, estimate = made_run(1, 20)
    expected = compare_runs([(truth, estimate)], [(truth, estimate)], SHORT).runs[0][0].values
    pairs = {
        "tum": (write_tum(tmp_path / "a.tum", truth), write_tum(tmp_path / "b.tum", estimate)),
        "euroc": (write_euroc(tmp_path / "a.csv", truth), write_euroc(tmp_path / "b.csv", estimate)),
        "kitti": (write_kitti(tmp_path / "a.txt", truth), write_kitti(tmp_path / "b.txt", estimate)),
        "mixed": (write_tum(tmp_path / "c.tum", truth), write_kitti(tmp_path / "d.txt", estimate)),
    }
    for pair in pairs.values():
        for source in (pair, f"{pair[0]},{pair[1]}"):
            found = compare_runs([source], [(truth, estimate)], SHORT).runs[0][0].values
            np.testing.assert_allclose(found, expected, atol=1e-9)
    rows = []
    for one, other in zip(range(len(truth)), range(len(estimate)), strict=True):
        stamp = int(truth.stamp[one])
        rows += [
            ("/truth", stamp, pose_stamped(stamp, truth.pose(one))),
            ("/odometry", stamp, odometry(stamp, estimate.pose(other))),
            ("/tf", stamp, transforms((stamp, "map", "base_link", estimate.pose(other)))),
        ]
    bag = write_messages(tmp_path / "bag", rows)
    for topic in ("/odometry", "/tf:map.base_link"):
        settings = TrajectorySettings(draws=0, truth="/truth", estimate=topic)
        np.testing.assert_allclose(compare_runs([bag], [bag], settings).runs[0][0].values, expected, atol=1e-9)


def test_statistics_are_those_of_a_plain_loop():
    errors = np.array([0.1, 0.5, 0.2, 0.9, 0.4])
    found = error_statistics(errors)
    square = sum(value * value for value in errors.tolist())
    mean = sum(errors.tolist()) / 5
    assert found == pytest.approx(
        {
            "rmse": (square / 5) ** 0.5,
            "mean": mean,
            "median": 0.4,
            "std": (sum((value - mean) ** 2 for value in errors.tolist()) / 5) ** 0.5,
            "min": 0.1,
            "max": 0.9,
            "sse": square,
        }
    )


def test_stretches_say_curvature_speed_and_way_of_the_truth():
    angle = np.linspace(0, np.pi, 400)
    stamp = (np.arange(400) * 5e7).astype(np.int64)
    circle = trajectory("circle", 4 * np.stack([np.cos(angle), np.sin(angle)], 1), angle + np.pi / 2, stamp)
    run = compare_runs([(circle, circle)], [(circle, circle)], SHORT).runs[0][0]
    held = run.stretches()
    np.testing.assert_allclose(held["curvature"], 0.25, rtol=1e-3)
    np.testing.assert_allclose(held["speed"], 4 * np.pi / (399 * 0.05), rtol=1e-3)
    np.testing.assert_allclose(np.diff(held["distance"]), 1.0, atol=0.04)
    assert run.values.max() < 1e-5


def test_a_localization_that_errs_alike_is_told_apart_by_nothing_and_a_planted_gap_is_found():
    real = [made_run(seed, 60) for seed in range(6)]
    like = compare_runs(real, [made_run(100 + seed, 60) for seed in range(6)], QUICK)
    assert not set(verdicts(like).values()) & set(GAPS)
    worse = compare_runs(real, [made_run(100 + seed, 60, error=0.8) for seed in range(6)], QUICK)
    assert worse.results[0].units.lengths == (0, 0)
    assert verdicts(worse)[APE_TRANSLATION] == Verdict.LARGE_GAP
    assert verdicts(worse)[RPE_TRANSLATION] == Verdict.LARGE_GAP
    assert verdicts(worse)[APE_ROTATION] == Verdict.PREDICTS
    gap = worse.results[0].certainty
    assert gap.gap_low < 0.5 * np.sqrt(np.pi / 2) < gap.gap_high


def test_errors_beyond_the_reach_count_as_the_reach_and_it_is_said():
    real, lost = made_run(1, 60), made_run(2, 60, drift=1.0)
    found = compare_runs([real], [lost], QUICK)
    ape = found.results[0]
    assert ape.metric.reach == pytest.approx(2.0)
    assert ape.comparison.performance_b.max() == pytest.approx(2.0)
    assert any("APE translation: 0 real and " in note and "count as 2 (--reach)" in note for note in found.notes)
    assert found.runs[1][0].absolute[:, 0].max() > 50


def test_a_place_that_is_passed_again_is_one_unit_where_its_errors_come_again():
    random = np.random.default_rng(0)
    place, count = random.normal(size=40), 120
    earlier = np.where(np.arange(count) >= 40, np.arange(count) - 40, -1)

    def units(value):
        zero = np.zeros(count, np.int64)
        side = PointSide(zero, np.arange(count), np.zeros((count, 1)), value[:, np.newaxis], earlier)
        found = sampling_units((side, side), (value, value))
        return found.count, found.lengths[0]

    noise = 0.1 * random.normal(size=count)
    joined, length = units(np.tile(place, 3) + noise)
    assert joined == 2 * np.ceil(40 / length)
    # The second pass errs the other way round: it is none of the first again.
    apart, length = units(np.concatenate([place, -place, place]) + noise)
    assert apart == 2 * np.ceil(120 / length)


def test_passes_are_found_in_one_direction_only():
    along = np.concatenate([np.linspace(0, 20, 201), np.linspace(20, 0, 201)[1:], np.linspace(0, 20, 201)[1:]])
    yaw = np.concatenate([np.zeros(201), np.full(200, np.pi), np.zeros(200)])
    stamp = (np.arange(len(along)) * 1e8).astype(np.int64)
    there_and_back = trajectory("way", np.column_stack([along, np.zeros(len(along))]), yaw, stamp)
    run = compare_runs([(there_and_back, there_and_back)], [made_run(1, 20)], SHORT).runs[0][0]
    earlier = earlier_passes([run])
    place = run.truth.position[run.pairs[:, 1], 0]
    found = np.flatnonzero(earlier >= 0)
    assert len(found) >= 18
    np.testing.assert_allclose(place[found], place[earlier[found]], atol=1.0)
    assert run.pairs[found, 0].min() > 390  # the way back matches nothing


def test_frames_that_differ_are_spoken_of():
    truth, estimate = made_run(1, 60)
    away = trajectory("away", estimate.position[:, [1, 0]] + 100, np.zeros(len(estimate)), estimate.stamp)
    found = compare_runs([(truth, away)], [made_run(2, 60)], SHORT)
    assert any("away: the median error is 1" in note and "--align se3" in note for note in found.notes)


def test_the_command_equals_python(result, folders):
    found = sj.compare_trajectories([folders[0]], [folders[1]], draws=100)
    saved = json.loads((result / "trajectories.json").read_text())
    assert json.loads(json.dumps(found.content["metrics"])) == [
        {key: row.get(key) for key in found.content["metrics"][0]} for row in saved["metrics"]
    ]
    again = sj.load_result(result)
    assert str(again) == str(found)
    assert again.meaning == found.meaning
    table = again.saved.tables["samples.parquet"]
    for row in saved["metrics"]:
        assert np.nanmean(table[f"w1 {row['metric']}"]) == pytest.approx(row["mean_w1"], rel=1e-12)
    copy = result.parent / "copy"
    again.save(copy)
    assert sj.load_result(copy).content == again.content


def test_a_gap_fails_the_command_where_it_is_asked_to(folders, tmp_path):
    words = ["compare-trajectories", folders[0], "--", folders[1], "--out", str(tmp_path / "out"), "--draws", "100"]
    done = CliRunner().invoke(app, [*words, "--fail-on", "gap"])
    assert done.exit_code == 4
    assert "APE translation in shares of 2 m: gap 0." in done.output
    assert CliRunner().invoke(app, [*words, "--fail-on", "gap:0.9"]).exit_code == 0


def test_the_page_shows_courses_distributions_kinds_and_runs(result, tmp_path):
    done = CliRunner().invoke(app, ["report", str(result), "--out", str(tmp_path / "x.html")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "x.html").read_text()
    for words in (
        "Does the localization err in simulation as in reality?",
        "Large gap",
        "By kind of stretch",
        *METRICS,
    ):
        assert words in page
    saved = load_trajectories(result)
    rows = [row for row in kinds_table(saved) if not isinstance(row, str)]
    stretches = saved.tables["samples.parquet"]
    assert sum(int(row[1]) for row in rows) == (stretches["side"] == 0).sum()
    assert "<h1>Mine</h1>" in TRAJECTORIES_PAGE.render(saved, result, "Mine")


def test_paths_of_the_first_runs_lie_over_each_other_with_their_differences(result):
    saved = load_trajectories(result)
    poses = saved.tables["poses.parquet"]
    panels = path_figure(saved).axes
    assert len(panels) == 6
    for side in (0, 1):
        first = (poses["side"] == side) & (poses["run"] == 0)
        paths, position, orientation = panels[3 * side : 3 * side + 3]
        true, estimated = paths.get_lines()
        assert np.array_equal(true.get_xdata(), poses["x"][first])
        assert np.array_equal(estimated.get_ydata(), poses["estimated_y"][first])
        apart = [poses[f"estimated_{axis}"] - poses[axis] for axis in "xyz"]
        distance = np.sqrt(sum(part**2 for part in apart))[first]
        (line,) = position.get_lines()
        assert line.get_ydata() == pytest.approx(distance)
        assert np.array_equal(line.get_xdata(), poses["time"][first])
        assert np.array_equal(orientation.get_lines()[0].get_ydata(), poses["APE rotation"][first])


def long_drive(saved, count=60_000):
    """Poses of a drive of ten hours along a street, with a roundabout of four seconds and a spike of the error."""
    random = np.random.default_rng(0)
    time = np.linspace(0, 36_000, count)
    turn = slice(30_001, 30_008)
    x, y = time * 0.5, np.zeros(count)
    angle = np.linspace(0, 2 * np.pi, 9)[1:-1]
    x[turn] += 900 * np.sin(angle)
    y[turn] = 900 * (1 - np.cos(angle))
    error = random.uniform(0, 0.1, count)
    error[41_113] = 7.0
    one = {"x": x, "y": y, "z": 0 * x, "time": time, "APE translation": error, "APE rotation": error}
    one |= {"estimated_x": x, "estimated_y": y + error, "estimated_z": 0 * x, "run": np.zeros(count, np.int64)}
    table = {name: np.tile(values, 2) for name, values in one.items()} | {"side": np.repeat([0, 1], count)}
    return SimpleNamespace(file=saved.file, tables={**saved.tables, "poses.parquet": table})


def test_a_long_drive_keeps_its_loops_and_its_worst_error(result, tmp_path):
    saved = long_drive(load_trajectories(result))
    paths = path_figure(saved)
    for side in (0, 1):
        true, position = paths.axes[3 * side].get_lines()[0], paths.axes[3 * side + 1].get_lines()[0]
        assert true.get_ydata().max() == pytest.approx(1800, rel=0.06)
        assert position.get_ydata().max() == 7
    file = tmp_path / "paths.svg"
    paths.savefig(file, format="svg")
    # The line is simplified to what can be seen of it.
    assert file.stat().st_size < 1_000_000
    for axes in map_figure(saved).axes[:2]:
        drawn = np.concatenate([part.get_offsets() for part in axes.collections])
        assert len(drawn) < 3000
        assert drawn[:, 1].max() == pytest.approx(1800, rel=0.06)
        assert saved.tables["poses.parquet"]["x"][41_113] in axes.collections[-1].get_offsets()[:, 0]


@pytest.mark.parametrize(
    ("real", "said"),
    [
        ("nowhere.tum,nothing.tum", "nowhere.tum: does not exist; give a file of poses"),
        ("nowhere", "nowhere: does not exist; write TRUTH,ESTIMATE"),
        ("FOLDER", "holds 0 files truth"),
        ("FILE", "is the poses of one trajectory; write TRUTH,ESTIMATE"),
        ("LATE", "0 poses of the estimate have a true pose within 0.01 s"),
        ("STANDING", "is shorter than one stretch of 1 m; lower --delta"),
        ("UNEQUAL", "one has stamps and the other has none, and they hold 300 and 299 poses"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_line(real, said, tmp_path):
    truth, estimate = made_run(1, 30)
    (tmp_path / "folder").mkdir()
    a, b = write_tum(tmp_path / "a.tum", truth), write_tum(tmp_path / "b.tum", estimate.shifted(10**12))
    still = trajectory("still", np.zeros((300, 2)), np.zeros(300), truth.stamp)
    c = write_tum(tmp_path / "c.tum", still)
    d = write_kitti(tmp_path / "d.txt", trajectory("d", np.zeros((299, 2)), np.zeros(299), truth.stamp[:299]))
    forms = {
        "FOLDER": tmp_path / "folder",
        "FILE": a,
        "LATE": f"{a},{b}",
        "STANDING": f"{c},{c}",
        "UNEQUAL": f"{a},{d}",
    }
    with pytest.raises(SimjudgeError) as error:
        sj.compare_trajectories([forms.get(real, real)], [(truth, estimate)], draws=0)
    assert said in str(error.value)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(UsageError, match="--contexts light: name one or more of curvature"):
        TrajectorySettings(contexts=("light",))
    with pytest.raises(UsageError, match=r"--delta 0\.5: with --delta-unit frames a whole number"):
        TrajectorySettings(delta=0.5, delta_unit="frames")
