"""The studies of the papers on the lab and the hall: their files fit the verbs, and a tiny one runs from end to end."""

import numpy as np
import pytest

from simjudge.core.installed import STUDY, find_file
from simjudge.questions.many_sets.result import load_many_sets
from simjudge.questions.study.file import read_study
from simjudge.questions.study.run import ONE_JOB
from simjudge.questions.study.study import VERBS, run_study
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.filtering import Bend

SETS_OF_STUDY = {
    "two_nets": (2, 4),
    "splits": (6, 60),
    "all_vs_all": (4, 24),
    "pointwise": (3, 2),
    "sweep": (2, 0),
}
"""Sets, and comparisons of sets for all nets."""
SIMULATED = {"pointwise"}
"""Studies of simulated sets alone."""


@pytest.mark.parametrize("size", ["tiny", "small", "full"])
@pytest.mark.parametrize("name", SETS_OF_STUDY)
def test_their_files_fit_the_verbs_and_say_that_reality_is_a_stand_in(name, size):
    study = read_study(name, VERBS, size)
    steps = {step.name: step for step in study.steps}
    trained = [step for step in study.steps if step.verb == "train"]
    nets = {"net_sim"} if name in SIMULATED else {"net_sim", "net_real"}
    assert {step.name for step in trained} == nets
    if name in SIMULATED:
        assert not study.stands_in
        assert set(steps["compared"].arguments["domains"].values()) == {"sim"}
    else:
        assert "stand in for the real" in study.stands_in or "stands in for the real" in study.stands_in
        # Both nets are trained the same way, each on pictures of one domain.
        sim, real = (dict(step.arguments) for step in trained)
        assert sim.pop("data") != real.pop("data")
        assert sim == real
    if name != "sweep":
        compared = steps["compared"].arguments
        count, comparisons = SETS_OF_STUDY[name]
        assert len(compared["predictions"]) == len(compared["domains"]) == count
        assert all(set(seen) == nets for seen in compared["predictions"].values())
        pairs = compared.get("pairs")
        assert len(nets) * (count * (count - 1) if pairs is None else len(pairs)) == comparisons


def test_the_halls_of_all_against_all_are_no_twins():
    """Twins have equal labels, so that contexts without a counterpart could not exist."""
    steps = {step.name: step.arguments for step in read_study("all_vs_all", VERBS, "small").steps}
    assert steps["RHall"]["seed"] != steps["SHall"]["seed"]
    assert steps["compared"]["twins"] == [["RLab", "SLab"]]


@pytest.mark.parametrize("of", ["learn", "test"])
def test_brightness_of_the_streets_has_the_real_colours_too(of):
    steps = {step.name: step.arguments for step in read_study("streets", VERBS, "small").steps}
    exposed, brightness = steps[f"{of}-exposed"], steps[f"{of}-brightness"]
    assert exposed["source"] == steps[f"{of}-white_balance"]["source"]
    assert f"{of}-exposed" in str(brightness["source"])
    assert exposed["match_exposure"] == brightness["match_colours"] == steps[f"{of}-white_balance"]["match_colours"]


def test_the_lens_of_the_streets_is_the_indoor_one_and_bends_at_equal_size():
    folder = find_file("streets", STUDY).parent
    lens = read_camera(folder / "streets/lens.yaml")
    indoor = read_camera(folder / "ablation/calibrated.yaml").lens
    assert (lens.lens.model, lens.lens.coefficients) == (indoor.model, indoor.coefficients)
    assert lens.lens.coefficients == (-0.369, 0.1257, -0.0194)
    bend = Bend.of(lens)
    width, height = bend.size
    # Each pixel looks inside the straight image, the corners at its corners, and the inverse leads back.
    places = bend.look_up.reshape(-1, 2)
    assert places.min(0) == pytest.approx([0, 0], abs=1e-3)
    assert places.max(0) == pytest.approx([width - 1, height - 1], abs=1e-3)
    pixels = np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1).reshape(-1, 2)
    assert bend.bent_points(places.astype(np.float64)) == pytest.approx(pixels, abs=1e-3)


@pytest.mark.long
def test_two_nets_run_from_nothing_and_are_kept(tmp_path):
    pytest.importorskip("ultralytics")
    result = run_study("two_nets", tmp_path / "out", size="tiny", options=ONE_JOB)
    compared = load_many_sets(tmp_path / "out" / "compared")
    assert compared.nets == ("net_sim", "net_real")
    assert len(compared.comparisons) == 4
    for each in compared.comparisons:
        assert each.paired
        assert each.overall.numbers.overlap_a == 1.0  # the same cones from the same poses
    assert result.findings["findings"][0].name == "gap of both nets"
    again = run_study("two_nets", tmp_path / "out", size="tiny", options=ONE_JOB)
    assert all(step.kept for step in again.steps)
