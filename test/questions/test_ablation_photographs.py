"""The study ablation_photographs: its file, its scenes and cameras, and its calibration numbers."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from simjudge.core.installed import STUDY, find_file
from simjudge.data.sets import read_set
from simjudge.questions.ablation import DIFFERS, load_ablation
from simjudge.questions.study.file import read_study
from simjudge.questions.study.run import ONE_JOB
from simjudge.questions.study.study import VERBS, run_study
from simjudge.results.saved_result import ABLATION
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera

FILE = find_file("ablation_photographs", STUDY)
FOLDER = FILE.parent / "photographs"


@pytest.mark.parametrize("size", ["tiny", "small", "full"])
def test_every_look_and_filter_is_judged_by_one_net(size):
    values = yaml.safe_load(FILE.read_text())["sizes"][size]
    study = read_study("ablation_photographs", VERBS, size)
    steps = {step.name: step.arguments for step in study.steps}
    assert not study.stands_in  # reality is real
    made = {f"look-{name}": name for name in values["looks"]} | {
        f"filtered-{name}": name for name in values["filtered"]
    }
    sources = {name: steps[f"by_real-{name}"]["source"] for name in values["sets"]}
    shipped = {name: source.name for name, source in sources.items() if isinstance(source, Path)}
    assert shipped == {"baseline": "glare"} | ({} if size == "tiny" else {"no_glare": "plain"})
    assert {source.step: name for name, source in sources.items() if name not in shipped} == made
    detectors = {arguments["detector"] for arguments in steps.values() if "detector" in arguments}
    assert detectors == {"real_signals_yolo11n"}
    assert not any(step.verb == "train" for step in study.steps)
    ablation = steps["ablation"]
    assert set(ablation["predictions"]) == {"real", "by_real"}
    assert set(values["sets"]) - {"baseline"} <= set(ablation["changes"])
    assert ablation["real_is_twin"] is False


def test_a_filtered_variant_has_one_change():
    steps = {step.name: step.arguments for step in read_study("ablation_photographs", VERBS, "small").steps}
    for name, arguments in steps.items():
        if name.startswith("filtered-"):
            assert arguments["source"].name == "glare"
            given = {key for key, value in arguments.items() if value not in ("", False)} - {"source", "to"}
            assert len(given) == 1, name


def test_scenes_and_cameras_differ_from_those_of_the_demo_in_one_thing():
    glare, one_ray = read_camera("signs_glare"), read_camera(FOLDER / "one_ray.yaml")
    fitted, all_of_it = read_camera(FOLDER / "fitted_camera.yaml"), read_camera("signs_fitted")
    assert all_of_it.steps == (*glare.steps, *fitted.steps)
    assert replace(one_ray, name=glare.name, path=glare.path, supersampling=3) == glare
    for path in FOLDER.glob("*.yaml"):
        if "size:" in path.read_text():
            assert read_camera(path).lens.size == glare.lens.size
    for seed in (1000, 1004):  # a sign, a red light
        signs, dark, plain, empty, thrown = (
            read_scene(each, seed) for each in ("signs", *(FOLDER / f"{name}.yaml" for name in SCENES))
        )
        for scene in (dark, plain, empty, thrown):
            assert [_target(scene)] == [_target(signs)]
        assert any(max(each.surface.emission) > 0 for each in signs.things) == (seed == 1004)
        assert not any(max(each.surface.emission) > 0 for each in dark.things)
        names = [[each.name for each in scene.things] for scene in (signs, dark, plain, thrown, empty)]
        assert names[0] == names[1] == names[2] == names[3]
        assert set(names[4]) < set(names[0])
        assert (signs.bounces, thrown.bounces) == (0, 2)
        textured = [sum(each.surface.texture is not None for each in scene.things) for scene in (signs, plain)]
        assert textured[1] <= 1 < textured[0]


SCENES = ("dark_lamps", "plain_surfaces", "empty_room", "thrown_light")


def _target(scene):
    """Class and place of what is labelled."""
    return [(each.name, each.class_id, each.pose) for each in scene.things if each.class_id]


@pytest.mark.slow
def test_a_tiny_one_runs_to_its_page(tmp_path):
    pytest.importorskip("mitsuba", reason="the extra 'sim' is not installed")
    result = run_study("ablation_photographs", tmp_path / "out", size="tiny", options=ONE_JOB)
    assert not result.failed
    ablation = load_ablation(tmp_path / "out/ablation")
    assert (tmp_path / "out/ablation" / ABLATION).is_file()
    assert ablation.judge == "real"
    assert [each.variant for each in ablation.answers(DIFFERS)] == ["dark_lamps", "tone_map"]
    look = read_set(tmp_path / "out/look-dark_lamps")
    assert set(look.class_names.values()) == {"green", "left", "red", "right", "stop", "straight", "yellow"}
    assert "Does a variant predict reality?" in (tmp_path / "out/index.html").read_text()
