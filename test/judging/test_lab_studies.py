"""The study of arXiv 2208.01022 on a lab and a hall: what its file asks for."""

import numpy as np
import pytest

from simjudge.core.installed import STUDY, find_file
from simjudge.questions.many_sets.sets_findings import PARTS
from simjudge.questions.study.file import read_study
from simjudge.questions.study.study import VERBS
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.filtering import Bend

COMPARED = {"two_nets": (2, 2, 2), "splits": (6, 2, 30), "all_vs_all": (4, 2, 12), "pointwise": (3, 1, 2)}
"""Sets, nets, and ordered pairs of each part."""


def lab_steps(size="small"):
    return {step.name: step for step in read_study("lab", VERBS, size).steps}


@pytest.mark.parametrize("size", ["tiny", "small", "full"])
def test_every_part_is_compared_and_found(size):
    study, steps = read_study("lab", VERBS, size), lab_steps(size)
    assert "stand in for the real" in study.stands_in
    assert list(steps["findings"].arguments["compared"]) == list(PARTS)
    for part, (sets, nets, pairs) in COMPARED.items():
        compared = steps[part].arguments
        assert len(compared["predictions"]) == len(compared["domains"]) == sets
        assert all(len(seen) == nets for seen in compared["predictions"].values())
        assert len(compared.get("pairs", [None] * sets * (sets - 1))) == pairs


def test_both_nets_are_trained_the_same_way_on_one_domain_each():
    steps = lab_steps()
    sim, real = (dict(steps[f"net_{domain}"].arguments) for domain in ("sim", "real"))
    assert (sim.pop("data").step, real.pop("data").step) == ("pictures_sim", "pictures_real")
    assert sim == real
    drawn = [steps[f"pictures_{domain}"].arguments for domain in ("sim", "real")]
    assert all(pictures["valid"] > 0 for pictures in drawn), "a validation set of its own"


def test_the_real_lab_is_driven_and_the_simulated_one_rendered_at_its_poses_with_pose_error():
    steps = lab_steps()
    assert steps["RLab"].verb == "drive"
    replayed = steps["SLab"].arguments
    assert replayed["recording"].step == "RLab"
    assert (replayed["noise"], replayed["noise_angle"], replayed["noise_position"]) == (True, 1.0, 0.01)
    assert "noise" not in steps["exact"].arguments


def test_the_halls_are_no_twins():
    """Twins have equal labels, so that contexts without a counterpart could not exist."""
    steps = lab_steps()
    assert steps["RHall"].arguments["seed"] != steps["SHall"].arguments["seed"]
    assert steps["all_vs_all"].arguments["twins"] == [["RLab", "SLab"]]


def test_all_pairs_of_the_pointwise_part_are_simulated_and_seen_by_net_sim():
    pointwise = lab_steps()["pointwise"].arguments
    assert set(pointwise["domains"].values()) == {"sim"}
    assert {net for seen in pointwise["predictions"].values() for net in seen} == {"net_sim"}


@pytest.mark.parametrize("size", ["small", "full"])
def test_pictures_and_patches_have_the_papers_sizes(size):
    steps = lab_steps(size)
    for step in steps.values():
        if step.verb in ("render", "drive", "replay"):
            assert tuple(read_camera(step.arguments["camera"]).lens.size) == (1280, 720), step.name
    for part in COMPARED:
        assert steps[part].arguments["patch"] == 120
    swept = steps["sweep-net_sim"].arguments
    assert (swept["patches"][0], swept["patches"][-1], swept["patch"]) == (80, 180, 120)


def test_cones_of_every_scene_are_38_mm_high():
    scenes = {step.arguments["scene"] for step in lab_steps().values() if "scene" in step.arguments}
    assert len(scenes) == 6
    for path in scenes:
        cones = read_scene(path, seed=3).labelled()
        assert len(cones) > 20
        for cone in cones:
            assert np.ptp(cone.mesh.vertices[:, 2]) == pytest.approx(0.038, abs=1e-5), (path, cone.name)


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
