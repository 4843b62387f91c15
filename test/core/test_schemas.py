"""The JSON schemas for editors: as the models say it, and true of every file that comes with simjudge."""

import json
import re
import runpy
from pathlib import Path

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts/schemas.py"))
SHIPPED = {
    "calibration": "config/*_camera.yaml",
    "camera": "config/cameras/*.yaml",
    "rig": "config/rigs/*.yaml",
    "colours": "config/detectors/cones_*.yaml",
    "cuboids": "config/detectors/lidar_cuboids.yaml",
    "robot": "config/art1.yaml",
    "scene": "config/scenes/*.yaml",
    "sensors": "config/sensors/*.yaml",
    "simulator": "config/simulators/*.yaml",
    "study": "config/studies/*.yaml",
    "vehicle": "config/vehicles/*.yaml",
}
FILES = [(name, path) for name, pattern in SHIPPED.items() for path in sorted(ROOT.glob(pattern))]


def validator(name):
    return jsonschema.Draft202012Validator(SCRIPT["schema"](name))


def content(text):
    """What a file says, with the keys that JSON has."""
    return json.loads(json.dumps(yaml.safe_load(text)))


def test_every_kind_of_file_has_a_schema_and_an_example():
    assert set(SHIPPED) == set(SCRIPT["MODELS"]) == {name for name, _ in FILES}


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_schemas_are_schemas(name):
    jsonschema.Draft202012Validator.check_schema(SCRIPT["schema"](name))


@pytest.mark.parametrize(("name", "path"), FILES, ids=lambda each: getattr(each, "stem", each))
def test_shipped_files_name_their_schema_and_hold_to_it(name, path):
    text = path.read_text(encoding="utf-8")
    found = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
    assert (path.parent / found[1]).resolve() == ROOT / f"config/schema/{name}.schema.json"
    validator(name).validate(content(text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("camera", "{size: [64, 48], field_of_view: 60}"),
        ("camera", "{size: [64, 48], field_of_view: 60, rate: 0}"),
        ("camera", "{size: [64, 48], field_of_view: 60, rate: 1, fps: 3}"),
        ("camera", "{size: [64, 48], field_of_view: 60, rate: 1, filters: [sepia]}"),
        ("camera", "{size: [64, 48], field_of_view: 60, rate: 1, filters: [{gamma: {sigma: 1}}]}"),
        ("scene", "{thinks: {}}"),
        ("scene", "{things: {a: {box: [1, 1]}}}"),
        ("scene", "{things: {a: {box: [1, 1, 1], motion: fre}}}"),
        ("scene", "{things: {a: {yaw: {betwen: [0, 1]}}}}"),
        ("sensors", "{a: {kind: sonar, rate: 3}}"),
        ("sensors", "{a: {kind: gps, rate: 3, range: 3}}"),
        ("vehicle", "{mass: 3}"),
        ("robot", "{remap: {}}"),
        ("colours", "{classes: {1: {name: red, hue: [0, 400], saturation: [0, 1], value: [0, 1]}}}"),
        ("calibration", "{image_width: 640}"),
    ],
)
def test_wrong_files_do_not_hold(name, text):
    assert not validator(name).is_valid(content(text))


@pytest.mark.parametrize(
    "text",
    [
        "{extends: lab, things: {crate: null, other: {one_of: [{box: [1, 1, 1]}, {kind: carton}]}}}",
        "{ambient: {between: [0, 1]}, lights: {a: {at: [0, {between: [0, 1]}, 2], intensity: 1, range: 3}}}",
    ],
)
def test_anything_of_a_scene_may_be_drawn_or_left_out(text):
    validator("scene").validate(content(text))
