"""The examples of docs/guides/scenes.md and docs/reference/files_scene.md are scenes."""

import inspect
import re
from pathlib import Path

import pytest
import yaml

from simjudge.sim.scene.read import read_scene
from simjudge.sim.scene.textures import _PATTERNS, patterns

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "docs/guides/scenes.md", ROOT / "docs/reference/files_scene.md")
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


def example(words):
    """The one example of the pages that holds some words."""
    (found,) = [text for text in EXAMPLES if words in text]
    return found


def test_the_example_is_a_scene(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(EXAMPLES[0], encoding="utf-8")
    scene = read_scene(path, 3)
    names = [thing.name for thing in scene.things]
    assert names[:5] == ["floor", "wall", "tables_1", "tables_2", "crate"]
    assert len(scene.lights) == 7
    assert {cone.class_id for cone in scene.labelled()} == {1, 2}
    assert scene.course.width == 0.9
    assert sum(name.startswith("more") for name in names) == 6
    for line in EXAMPLES[0].splitlines():
        assert len(line) < 140


def test_other_cars_as_shown(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(example("another:"), encoding="utf-8")
    assert {"other", "another"} <= set(read_scene(path).scripted_poses(1.0))


def test_cars_with_physics_as_shown(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(example("leader:"), encoding="utf-8")
    leader, oncoming, parked = read_scene(path).cars
    assert leader.route.speeds.tolist() == [[0, 0], [0, 6], [5, 0]]
    assert oncoming.start.position == pytest.approx((30, 1.75, 0))
    assert (parked.route, parked.vehicle) == (None, "compact")


def test_the_example_of_a_leader_that_brakes_is_a_scene():
    scene = read_scene(ROOT / "examples/traffic/leader_brakes.yaml")
    assert [car.name for car in scene.cars] == ["leader", "oncoming", "parked"]


def test_what_moves_as_shown(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"classes": {1: "red"}} | yaml.safe_load(example("visitor:"))))
    scene = read_scene(path)
    assert list(scene.scripted_poses(4.0)) == ["cart", "visitor"]
    assert scene.scripted_poses(4.0)["visitor"].position == pytest.approx((0, 2, 0), abs=1e-5)


def test_the_example_outdoors_is_a_scene(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(example("fog:"), encoding="utf-8")
    scene = read_scene(path)
    assert scene.sun is not None
    assert scene.sky is not None
    assert scene.fog.density == pytest.approx(3.91 / 400, rel=1e-3)


def test_a_table_as_shown_leaves_out_the_slip(tmp_path):
    rows = "".join(f"{k}\t{c}\t{k * 0.5 - 1}\t{c - 0.5}\n" for c in (0, 1) for k in range(10)).replace(
        "9\t1\t3.5", "9\t1\t995"
    )
    (tmp_path / "cone_path_iros.csv").write_text(rows)
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"extends": "lab"} | yaml.safe_load(example("cone_path_iros.csv"))))
    content = yaml.safe_load(path.read_text())
    content["placements"]["course"] = None
    path.write_text(yaml.safe_dump(content))
    assert len(read_scene(path).labelled()) == 19


@pytest.mark.parametrize("seed", [0, 1])
def test_the_lab_extended(tmp_path, seed):
    path = tmp_path / "mine.yaml"
    path.write_text(example("lights: {ceiling:"), encoding="utf-8")
    scene = read_scene(path, seed)
    assert len(scene.labelled()) == 40
    assert scene.course is None


@pytest.mark.parametrize("name", patterns())
def test_every_pattern_has_its_row_with_its_parameters(name):
    (row,) = re.findall(rf"^\| `{name}` \|.*\| (.*) \|$", TEXT, re.MULTILINE)
    own = [key for key in inspect.signature(_PATTERNS[name]).parameters if key not in {"size", "seed", "colour"}]
    assert re.findall(r"`(\w+)`", row) == own
