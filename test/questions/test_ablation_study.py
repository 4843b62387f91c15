"""The study ablation: its file in all sizes, and one of its kind from images to the page."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from red_squares import paint_red_squares

from simjudge.core.installed import STUDY, find_file
from simjudge.data.sets import read_set
from simjudge.objects.image_quality.colour_histograms import level_distance, level_shares
from simjudge.questions.ablation import load_ablation
from simjudge.questions.study.file import read_study
from simjudge.questions.study.run import ONE_JOB
from simjudge.questions.study.study import VERBS, run_study
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera

FILE = find_file("ablation", STUDY)
OF_THE_SOURCE = {
    "one_lamp",
    "matte_floor",
    "one_ray",
    "fov_lens",
    "pinhole",
    "noise",
    "demosaicing",
    "white_balanced",
    "combined",
    "brightness",
    "brightness_of_twin",
    "exposure_by_channel",
    "rccc",
    "reinhard",
    "fourier",
}
PROCESSORS = {"denoise", "sharpen", "colour_correction", "tone_map"}
VARIANTS = OF_THE_SOURCE | PROCESSORS | {"appearance", "real_camera"}


@pytest.mark.parametrize("size", ["tiny", "small", "full"])
def test_the_file_has_a_step_for_each_bar(size):
    content = yaml.safe_load(FILE.read_text())
    values = content["sizes"][size]
    steps = {step.name: step for step in read_study("ablation", VERBS, size).steps}
    variants, trained = set(values["variants"]) - {"baseline"}, set(values["nets_of_variants"])
    assert variants == VARIANTS or size == "tiny"
    assert trained == variants or size == "tiny"
    assert trained <= variants
    assert set(values["nets"]) == trained | {"real", "baseline"}
    assert set(values["trained"]) == trained | {"baseline"}
    tables = steps["ablation"].arguments["predictions"]
    assert set(tables["by_real"]) == set(tables["by_baseline"]) == variants | {"baseline"}
    assert set(tables["by_itself"]) == set(tables["baseline_by"]) == trained
    assert set(tables["real"]) == set(values["nets"])
    assert variants <= set(steps["ablation"].arguments["changes"])


def test_only_what_a_variant_says_differs_from_the_baseline():
    steps = {step.name: step.arguments for step in read_study("ablation", VERBS, "full").steps}
    plain = dict(steps["test-baseline"])
    assert set(plain) == {"source", "gray_world", "match_colours", "match_by", "to"}
    changed = {
        name: {key for key in {**plain, **steps[f"test-{name}"]} if plain.get(key) != steps[f"test-{name}"].get(key)}
        for name in VARIANTS
    }
    looks = ("one_lamp", "matte_floor", "one_ray", "fov_lens", "pinhole", "appearance")
    assert {name: changed[name] for name in looks} == {key: {"source"} for key in looks}
    assert changed["noise"] == {"noise"}
    assert changed["demosaicing"] == {"bayer"}
    assert changed["white_balanced"] == {"gray_world", "match_colours"}
    assert changed["combined"] == {"source", "bayer", "match_exposure"}
    # The colours of the baseline's images are moved already.
    assert changed["brightness"] == {"source", "match_colours", "match_exposure"}
    assert changed["brightness_of_twin"] == {"source", "match_colours", "match_exposure", "match_by"}
    assert changed["exposure_by_channel"] == {"source", "match_colours", "match_channels"}
    filtered = ("rccc", *PROCESSORS)
    assert {name: changed[name] for name in filtered} == {
        key: {"source", "match_colours", "camera"} for key in filtered
    }
    assert changed["real_camera"] == {"match_colours", "camera"}
    assert changed["reinhard"] == {"source", "match_colours", "colour_transfer"}
    assert changed["fourier"] == {"source", "match_colours", "fourier_adaptation", "match_by"}
    assert steps["learn-brightness_of_twin"]["match_by"] == "random"
    assert steps["test-brightness_of_twin"]["match_by"] == "twin"
    baseline, ray = steps["look-plain"], steps["look-one_ray"]
    assert baseline == {**ray, "camera": baseline["camera"]}


def test_its_cameras_and_scenes_differ_in_one_thing():
    folder = FILE.parent / "ablation"
    cameras = {path.stem: read_camera(path) for path in folder.glob("*.yaml") if "size:" in path.read_text()}
    plain = cameras["calibrated"]
    linear = {"rccc", "colour_correction", "tone_map"}
    for name in ("rccc", *PROCESSORS, "real"):
        assert replace(cameras[name], name=plain.name, path=plain.path, steps=plain.steps) == plain
        if name != "real":
            assert [step.name for step in cameras[name].steps] == [name, "srgb"][: 2 if name in linear else 1]
    assert {name: each.supersampling for name, each in cameras.items()} == dict.fromkeys(cameras, 2) | {"one_ray": 1}
    models = {name: each.lens.model for name, each in cameras.items()}
    others = {name: models[name] for name in ("fov_lens", "pinhole")}
    assert others == {"fov_lens": "fov", "pinhole": "pinhole"}
    assert {models[name] for name in ("calibrated", "one_ray", "real")} == {plain.lens.model}
    lab, one_lamp, matte = (read_scene(each) for each in ("lab", folder / "one_lamp.yaml", folder / "matte_floor.yaml"))
    assert (len(lab.lights), len(one_lamp.lights)) == (20, 1)
    names = [[each.name for each in scene.things] for scene in (lab, one_lamp, matte)]
    assert names[0] == names[1] == names[2]
    floors = [next(each for each in scene.things if each.name == "floor") for scene in (lab, matte)]
    assert [each.surface.roughness for each in floors] == [0.2, 1.0]


def test_appearance_has_the_materials_and_lamps_of_the_stand_in_in_the_light_of_the_baseline():
    folder = FILE.parent / "ablation"
    for name, real, simulated in (
        ("appearance", "lab_stand_in", "lab"),
        ("appearance_cones", "lab_stand_in_random", "lab_cones"),
    ):
        own, stand_in, lab = read_scene(folder / f"{name}.yaml"), read_scene(real), read_scene(simulated)
        assert (own.bounces, stand_in.bounces, lab.bounces) == (0, 2, 0)
        assert (_looks(own), own.lights) == (_looks(stand_in), stand_in.lights)
        assert _looks(own) != _looks(lab)
        assert own.lights != lab.lights
        assert max(own.ambient) == max(lab.ambient)


def _looks(scene):
    """What is visible of the things of a scene."""
    return [
        (each.name, each.pose, each.surface.colour, each.surface.roughness, str(each.surface.texture))
        for each in scene.things
    ]


def test_channels_and_rccc_are_filtered_by_the_step_of_the_file(tmp_path):
    content = yaml.safe_load(FILE.read_text())
    shipped = content["sizes"]["small"]["variants"]
    paint_red_squares(tmp_path / "squares", "red")
    steps = {
        "learn-real": {"filter": {"source": "./squares", "white_balance": "1.2,1,0.8"}},
        "look-plain": {"filter": {"source": "./squares", "noise": 1}},
        "test": {
            "matrix": {"variant": {name: shipped[name] for name in ("baseline", "exposure_by_channel", "rccc")}},
            "filter": content["steps"]["test"]["filter"],
        },
    }
    text = yaml.safe_dump({"title": "Squares", "steps": steps}).replace("learnt-plain", "look-plain")
    (tmp_path / "squares.yaml").write_text(text)
    (tmp_path / "ablation").mkdir()
    (tmp_path / "ablation/rccc.yaml").write_text((FILE.parent / "ablation/rccc.yaml").read_text())
    run_study(tmp_path / "squares.yaml", tmp_path / "out", options=ONE_JOB)
    real, baseline, channels, rccc = (
        level_shares(read_set(tmp_path / "out" / name))
        for name in ("learn-real", "test-baseline", "test-exposure_by_channel", "test-rccc")
    )
    assert level_distance(real, channels).max() < level_distance(real, baseline).max()
    assert np.abs(rccc[1] - rccc[2]).max() < 1e-9  # green and blue are one
    assert np.abs(baseline[1] - baseline[2]).max() > 0.01


STUDY_OF_SQUARES = """
title: Which parts matter to a detector of squares?
stands_in: Painted squares stand in for reality.
steps:
  real: {filter: {source: ./squares, noise: 3}}
  test:
    matrix: {variant: {baseline: {noise: ""}, noisy: {noise: 60}}}
    filter: {source: ./squares, match_colours: {step: real}, noise: "${variant.noise}"}
  real_by:
    matrix: {net: [real, baseline, noisy]}
    detect: {source: {step: real}, detector: cones_red_green}
  by:
    matrix: {variant: [baseline, noisy]}
    detect: {source: {step: "test-${variant}"}, detector: cones_red_green}
  ablation:
    ablation:
      predictions:
        real: {steps: real_by}
        by_real: {steps: by}
        by_baseline: {steps: by}
        by_itself: {noisy: {step: by-noisy}}
        baseline_by: {noisy: {step: by-baseline}}
      changes: {noisy: strong noise}
      draws: 100
      block: 0
"""


@pytest.mark.slow
def test_from_images_to_the_page(tmp_path):
    paint_red_squares(tmp_path / "squares", "red")
    (tmp_path / "squares.yaml").write_text(STUDY_OF_SQUARES)
    done = run_study(tmp_path / "squares.yaml", tmp_path / "out", options=ONE_JOB)
    assert all(not each.kept for each in done.steps)
    result = load_ablation(tmp_path / "out" / "ablation")
    assert result.trained == ("baseline", "noisy")
    assert [each.variant for each in result.ranking()] == ["noisy"]
    assert "which parts of the camera model matter here" in (tmp_path / "out" / "index.html").read_text()
    page = (tmp_path / "out" / "index.html").read_text()
    assert all(page.count(f'alt="{name}"') == 1 for name in ("real", "baseline", "noisy"))
    again = run_study(tmp_path / "squares.yaml", tmp_path / "out", options=ONE_JOB)
    assert all(each.kept for each in again.steps)
