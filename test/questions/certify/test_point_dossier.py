"""A dossier of localizations and of trackers, and the script that checks it."""

import math
import shutil

import pytest
from forged import edit_json, sign_again, verify
from track_samples import made_tracks
from trajectory_samples import made_run

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.judging import point_metrics
from simjudge.questions.certify import check_points
from simjudge.questions.certify.dossier import certify
from simjudge.questions.certify.remake import check_again


def as_set(name, boxes):
    objects = Objects.build(boxes.frame, boxes.class_id, boxes.box, boxes.track)
    return FrameSet.build(name, [[500, 500]] * 100, objects)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    sj.compare_trajectories([made_run(1, 200)], [made_run(2, 200, error=0.6)], folder / "where", draws=100)
    pairs = [tuple(as_set(f"{k}", boxes) for k, boxes in enumerate(made_tracks(seed))) for seed in range(4)]
    sj.compare_tracks(pairs[:2], pairs[2:], folder / "tracked", draws=100)
    return folder


@pytest.fixture(scope="module")
def dossier(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "dossier"
    written = certify([results / "where", results / "tracked"], folder)
    assert "The root mean square of the APE translation" in written.sentences[0]
    assert "HOTA" in written.sentences[1]
    return folder


def test_a_dossier_agrees_with_its_samples_and_is_made_again_to_the_byte(dossier):
    done = verify(dossier)
    assert done.returncode == 0, done.stdout
    assert "NOT CHECKED: whether blocks of time are in doubt" in done.stdout
    lines, wrong = check_again(dossier)
    assert wrong == []
    assert "results/where/index.html, results/where/samples.csv" in lines[-1]
    assert check_points.MOST_SAMPLES == point_metrics.MOST_SAMPLES


@pytest.mark.parametrize(
    ("file", "path", "value", "said"),
    [
        ("where/trajectories.json", ("metrics", 0, "mean_w1"), 0.5, "mean_w1: 0.5 is stated"),
        ("where/trajectories.json", ("metrics", 0, "overlap_a"), 0.1, "overlap_a: 0.1 is stated"),
        ("where/trajectories.json", ("metrics", 0, "verdict"), "predicts", "verdict: predicts is stated, large_gap"),
        ("where/trajectories.json", ("metrics", 0, "verdict"), "too_few", "verdict: too_few is stated, large_gap"),
        ("where/trajectories.json", ("metrics", 0, "units_b"), 3, "units_b: 3 is stated"),
        ("where/trajectories.json", ("metrics", 0, "p_value"), None, "p_value: None is stated"),
        ("where/trajectories.json", ("metrics", 0, "p_value"), ..., "p_value: nothing is stated"),
        ("where/trajectories.json", ("metrics", 0, "gap_low"), 0.01, "gap_low: 0.01 is stated"),
        ("where/trajectories.json", ("metrics", 0, "gap_high"), math.inf, "holds Infinity, which is no number"),
        ("where/trajectories.json", ("metrics", 1, "p_adjusted"), 0.5, "p_adjusted: 0.5 is stated"),
        ("where/trajectories.json", ("metrics", 0, "margin"), 0.9, "margin: 0.9 is stated"),
        ("where/trajectories.json", ("metrics", 0, "reach"), 9.0, "reach: 9.0 is stated"),
        ("where/trajectories.json", ("metrics", 0), ..., "metrics are APE translation"),
        ("tracked/tracks.json", ("metrics", 0, "noise"), 0.5, "noise: 0.5 is stated"),
        ("tracked/tracks.json", ("metrics", 2, "detectable_gap"), 0.01, "detectable_gap: 0.01 is stated"),
        ("tracked/tracks.json", ("parameters", "margin"), 0.9, "margin: 0.05 is stated, 0.9 is found"),
    ],
)
def test_a_number_that_was_changed_is_found(dossier, tmp_path, file, path, value, said):
    shutil.copytree(dossier / "results" / file.partition("/")[0], tmp_path / "part")
    edit_json(tmp_path / "part" / file.partition("/")[2], path, value)
    wrong = check_points.check_points(tmp_path / "part")[1]
    assert any(said in line for line in wrong), wrong


def test_a_result_that_its_samples_do_not_give_is_not_certified(results, tmp_path):
    shutil.copytree(results / "where", tmp_path / "where")
    edit_json(tmp_path / "where/trajectories.json", ("metrics", 0, "mean_w1"), 0.5)
    with pytest.raises(SimjudgeError, match=r"does not say what its samples give: APE translation, mean_w1: 0\.5 is"):
        certify([tmp_path / "where"], tmp_path / "dossier")


def test_results_that_were_taken_away_and_pages_that_say_more_are_found(dossier, tmp_path):
    shutil.copytree(dossier, tmp_path / "forged")
    page = tmp_path / "forged/results/where/index.html"
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", "<!-- Predicts --></body>"), encoding="utf-8")
    sign_again(tmp_path / "forged")
    assert check_again(tmp_path / "forged")[1] == ["results/where/index.html is not what simjudge makes of the results"]
    shutil.rmtree(tmp_path / "forged/results")
    sign_again(tmp_path / "forged")
    assert "WRONG: there are no results: nothing was checked" in verify(tmp_path / "forged").stdout
