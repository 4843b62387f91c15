"""A dossier of localizations and of trackers, and the script that checks it."""

import json
import shutil
import subprocess
import sys

import pytest
from track_samples import made_tracks
from trajectory_samples import made_run

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.judging import point_metrics
from simjudge.questions.certify import check_points
from simjudge.questions.certify.dossier import certify


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


def verify(folder):
    return subprocess.run([sys.executable, "-I", folder / "verify.py"], capture_output=True, text=True, check=False)


def test_a_dossier_agrees_with_its_samples(results, tmp_path):
    written = certify([results / "where", results / "tracked"], tmp_path / "dossier")
    assert "The root mean square of the APE translation" in written.sentences[0]
    assert "HOTA" in written.sentences[1]
    done = verify(tmp_path / "dossier")
    assert (done.returncode, done.stdout) == (0, "everything agrees\n"), done.stdout
    assert check_points.MOST_SAMPLES == point_metrics.MOST_SAMPLES


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("mean_w1", 0.5, "mean_w1: 0.5 is stated"),
        ("overlap_a", 0.1, "overlap_a: 0.1 is stated"),
        ("verdict", "predicts", "verdict predicts: large_gap follows"),
        ("units_b", 3, "units_b: 3 is stated"),
    ],
)
def test_a_number_that_was_changed_is_found(results, tmp_path, name, value, said):
    copy = tmp_path / "where"
    shutil.copytree(results / "where", copy)
    content = json.loads((copy / "trajectories.json").read_text())
    content["metrics"][0][name] = value
    (copy / "trajectories.json").write_text(json.dumps(content))
    with pytest.raises(SimjudgeError, match=f"does not say what its samples give: APE translation, {said}"):
        certify([copy], tmp_path / "dossier")
    certify([results / "where"], tmp_path / "dossier")
    shutil.copyfile(copy / "trajectories.json", tmp_path / "dossier" / "results" / "where" / "trajectories.json")
    done = verify(tmp_path / "dossier")
    assert done.returncode == 1
    assert "trajectories.json: has changed" in done.stdout
    assert said in done.stdout
