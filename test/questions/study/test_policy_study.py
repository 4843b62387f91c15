"""The study `policies`: trials that are killed and gone on with, findings where the truth is known."""

import csv

import numpy as np
import pytest
from support import processes

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import CALIBRATION, STUDY, VEHICLE, find_file
from simjudge.questions.study.file import read_study
from simjudge.questions.study.policy_study import drive_trials, find_policies
from simjudge.questions.study.run import step_digests
from simjudge.questions.study.study import VERBS
from simjudge.results.saved_result import read_findings
from simjudge.sim.driving.trial_drives import TrialStart
from simjudge.sim.engines.registry import engine_availability

CAREFUL = {"careful": {"by": "cones", "fastest": 1.0}}


@pytest.mark.parametrize("size", ["tiny", "small", "chrono", "full"])
def test_the_shipped_study_can_be_read_in_every_size(size):
    study = read_study("policies", VERBS, size, None)
    assert "stand" in study.stands_in
    assert {step.name for step in study.steps} >= {"real", "sim", "truth_real", "truth_sim", "compared", "findings"}


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_trials_that_were_driven_stay_where_a_step_is_killed_and_worlds_share_starts(tmp_path):
    course = find_file("policies", STUDY).parent / "policies" / "straight.yaml"
    begun = tmp_path / ".sim.rows.csv"
    done = drive_trials(CAREFUL, {"straight": course}, "sim", tmp_path / "whole.csv", starts=2)
    assert done.rows == 2
    detail = rows(tmp_path / "whole.drives.csv")
    header = list(detail[0])
    begun.write_text(",".join(header) + "\n" + ",".join(detail[0].values()) + "\n" + "careful,stra")
    said = []
    drive_trials(CAREFUL, {"straight": course}, "sim", tmp_path / "sim.csv", starts=2, log=said.append)
    assert said[0] == "1 trials were driven before"
    assert rows(tmp_path / "sim.csv") == rows(tmp_path / "whole.csv"), "a drive depends on its start and seed alone"
    assert not begun.exists()
    assert [float(row["start_offset"]) for row in detail] == pytest.approx(
        [TrialStart.of_number(n).offset for n in range(2)], abs=1e-4
    )
    assert all(float(row["drive_progress"]) == 1 for row in detail)


def test_a_scene_counts_with_all_that_it_extends(tmp_path):
    shipped = find_file("policies", STUDY).parent / "policies"
    (tmp_path / "base.yaml").write_text(
        (shipped / "straight.yaml").read_text().replace("extends: ", f"extends: {shipped}/")
    )
    (tmp_path / "own.yaml").write_text("extends: base.yaml\n")
    (tmp_path / "x.yaml").write_text(
        "title: x\nsizes: {small: {}}\nsteps: {a: {drive_trials: {drivers: {}, courses: {own: own.yaml}, side: sim}}}\n"
    )

    def digest():
        return step_digests(read_study(tmp_path / "x.yaml", VERBS, "small", None))["a"]

    before = digest()
    assert digest() == before
    with (tmp_path / "base.yaml").open("a") as file:
        file.write("ambient: {radiance: 0.5}\n")
    assert digest() != before


def test_a_step_counts_with_the_cameras_of_its_rig_and_the_parts_of_its_vehicle(tmp_path):
    (tmp_path / "rig.yaml").write_text("cameras: {front: eye.yaml}\n")
    eye, part = tmp_path / "eye.yaml", tmp_path / "parts" / "car.json"
    eye.write_text("size: [96, 64]\nfield_of_view: 80\nrate: 10\n")
    part.parent.mkdir()
    part.write_text("{}")
    (tmp_path / "car.yaml").write_text(find_file("hmmwv", VEHICLE).read_text() + "  data: parts\n")
    (tmp_path / "x.yaml").write_text(
        "title: x\nsizes: {small: {}}\nsteps: {a: {drive: {scene: lab, camera: rig.yaml, vehicle: car.yaml}},"
        " named: {drive: {scene: lab, camera: stereo, vehicle: compact}}}\n"
    )

    def digests():
        return step_digests(read_study(tmp_path / "x.yaml", VERBS, "small", None))

    before = digests()
    assert digests() == before
    eye.write_text(eye.read_text().replace("80", "90"))
    seen = digests()
    assert (seen["a"] != before["a"], seen["named"] == before["named"]) == (True, True)
    part.write_text('{"Name": "another"}')
    assert digests()["a"] != seen["a"]


def test_a_filter_counts_with_the_calibration_of_its_lens_and_a_set_may_be_called_lens(tmp_path):
    calibration = tmp_path / "calibration.yaml"
    calibration.write_text(find_file("art1_camera", CALIBRATION).read_text())
    (tmp_path / "eye.yaml").write_text("calibration: calibration.yaml\nrate: 10\n")
    (tmp_path / "x.yaml").write_text(
        "title: x\nsizes: {small: {}}\nsteps:\n"
        "  a: {filter: {source: {step: c}, lens: eye.yaml}}\n"
        "  b: {ablation: {predictions: {net: {lens: {step: a}}}, changes: {lens: a radial lens}}}\n"
        "  c: {render: {scene: lab, n: 1}}\n"
    )

    def digests():
        return step_digests(read_study(tmp_path / "x.yaml", VERBS, "small", None))

    before = digests()
    calibration.write_text(calibration.read_text() + "# another one\n")
    after = digests()
    assert [name for name in after if after[name] != before[name]] == ["a", "b"]


@pytest.mark.long
def test_an_engine_that_is_not_there_is_refused_before_anything_is_driven(tmp_path):
    check = next(each for each in engine_availability() if each.name == "chrono")
    if check.runs:
        pytest.skip("PyChrono is there")
    command = [*processes.SIMJUDGE, "study", "run", "policies", "--size", "chrono", "--out", str(tmp_path / "out")]
    done = processes.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: step real: engine chrono: PyChrono is missing")
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_the_study_runs_from_its_first_step_to_its_page(tmp_path):
    """The real command in its tiny size, to the end; a second run does nothing."""
    command = [
        *processes.SIMJUDGE,
        "study",
        "run",
        "policies",
        "--size",
        "tiny",
        "--out",
        str(tmp_path / "out"),
        "-j",
        "1",
    ]
    done = processes.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {each.name for each in read_findings(tmp_path / "out/findings")}
    assert found >= {
        "All drivers",
        "Which correlations",
        "What pairs save",
        "When the sequence stops",
        "Rendered check",
    }
    page = (tmp_path / "out/index.html").read_text()
    assert "No real car was driven" in page
    assert "Which order can be told" in (tmp_path / "out/compared.html").read_text()
    assert len(rows(tmp_path / "out/truth_real.csv")) == 3 * 4
    again = processes.run(command, capture_output=True, text=True, check=False)
    assert again.stderr.count(": kept") == 11


def test_a_driver_nobody_knows_is_refused(tmp_path):
    with pytest.raises(SimjudgeError, match="driver a: by: one of cones, lidar, learnt, images is needed"):
        drive_trials({"a": {"by": "magic"}}, {}, "sim", tmp_path / "x.csv")


def table(path, rates, count, seed, shared):
    """Outcomes of paired trials: a start that is easy is easy on both sides."""
    random = np.random.default_rng(seed)
    lines = ["policy,task,outcome,pair"]
    for policy, rate in rates.items():
        luck = np.random.default_rng([shared, len(policy)]).random(count)
        for n in range(count):
            lines += [f"{policy},x,{int(0.8 * luck[n] + 0.2 * random.random() < rate)},x {n}"]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_findings_of_a_known_truth(tmp_path):
    real, sim = {"a": 0.8, "bb": 0.5, "ccc": 0.2}, {"a": 0.5, "bb": 0.7, "ccc": 0.2}
    paths = [
        table(tmp_path / f"{side}{count}.csv", rates, count, seed, 5)
        for count in (40, 1000)
        for seed, (side, rates) in enumerate((("real", real), ("sim", sim)))
    ]
    for side in ("r", "s"):
        (tmp_path / f"{side}.csv").write_text("policy,task,outcome,pair\n")
    rendered = {"real": tmp_path / "r.csv", "sim": tmp_path / "s.csv"}
    find_policies(*paths, rendered, tmp_path / "out", draws=80)
    found = {each.name: each for each in read_findings(tmp_path / "out")}
    winner = found["How often the winner is right"]
    assert "Really best is a; the simulation's true rates pick bb" in winner.source
    assert winner.agrees == "no"
    assert winner.numbers["points lost"] == pytest.approx(30, abs=5)
    assert winner.numbers["right by real 40"] > 0.95
    assert winner.numbers["right by sim 40"] < 0.2
    pairs = found["What pairs save"].numbers
    assert pairs["ccc correlation"] > 0.6
    assert pairs["ccc saved"] > 0
    sequence = found["When the sequence stops"]
    assert sequence.numbers["wrong"] == 0
    assert sequence.numbers["a pairs"] < sequence.numbers["runs"] * 100
    true = np.corrcoef([0.8, 0.5, 0.2], [0.5, 0.7, 0.2])[0, 1]
    assert found["Which correlations"].numbers["true r"] == pytest.approx(true, abs=0.1)
