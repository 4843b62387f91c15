"""Measured cones in a scene: in place of its own, where the table and the alignment put them."""

import re

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.read import read_scene
from simjudge.sim.scene.scene_changes import LAB_KINDS, parse_kinds, read_replay_scene, scene_with_cones

SCENE = """
name: yard
classes: {1: red, 2: green}
kinds:
  red_cone: {cone: {radius: 0.1, height: 0.3}, surface: {colour: "#d32f1e"}, class: red}
  green_cone: {kind: red_cone, class: green}
  stone: {box: [0.2, 0.2, 0.2], surface: {colour: "#888888"}}
things:
  floor: {plane: [40, 40], surface: {colour: "#aaaaaa"}}
  loner: {kind: red_cone, at: [15, 15]}
lights:
  lamp: {at: [0, 0, 3], intensity: 8, range: 30}
placements:
  course: {path: {waypoints: [[-5, 0], [0, 1], [5, 0]], width: 1, spacing: 1, left: green_cone, right: red_cone}}
  stones: {random: {kinds: [stone], count: 5, area: [-9, 5, 9, 9], spacing: 0.5}}
"""
TABLE = "id\tcolour\tx\ty\n0\t0\t1.0\t-2.0\n1\t0\t2.0\t-2.0\n0\t1\t1.0\t-3.5\n"


@pytest.fixture
def yard(tmp_path):
    (tmp_path / "yard.yaml").write_text(SCENE)
    (tmp_path / "cones.txt").write_text(TABLE)
    return tmp_path


def places(scene, kind):
    return sorted(tuple(np.round(t.pose.position, 6)) for t in scene.labelled() if t.class_id == kind)


def test_the_scenes_own_placed_cones_go_and_the_rest_stays(yard):
    made = scene_with_cones(yard / "yard.yaml", yard / "cones.txt", LAB_KINDS, Pose(), seed=3)
    assert places(made, 1) == [(1, -2, 0), (2, -2, 0), (15, 15, 0)]
    assert places(made, 2) == [(1, -3.5, 0)]
    own = read_scene(yard / "yard.yaml", 3)
    assert len(own.labelled()) > 10
    stones = [[thing.pose for thing in scene.things if thing.name.startswith("stones")] for scene in (made, own)]
    assert stones[0] == stones[1]
    assert len(stones[0]) == 5
    assert (made.name, made.path, made.course, made.seed) == ("yard", yard / "yard.yaml", None, 3)
    instances = [thing.instance for thing in made.labelled()]
    assert len(set(instances)) == len(instances)


def test_the_table_is_in_the_recordings_frame(yard):
    """A quarter turn to the left and a shift: x goes to y, y to -x."""
    alignment = Pose.from_euler(10, 20, 0.3, yaw=np.pi / 2)
    made = scene_with_cones(yard / "yard.yaml", yard / "cones.txt", LAB_KINDS, alignment)
    assert places(made, 2) == [(13.5, 21, 0)]
    assert places(made, 1)[:2] == [(12, 21, 0), (12, 22, 0)]


def test_in_a_shipped_scene(tmp_path):
    (tmp_path / "cones.txt").write_text(TABLE.replace("-3.5", "-1.0"))
    made = read_replay_scene("lab", tmp_path / "cones.txt", None, Pose())
    assert (len(places(made, 1)), len(places(made, 2))) == (2, 1)
    assert len(read_replay_scene("lab", None, None, Pose()).labelled()) > 20


@pytest.mark.parametrize(
    ("kinds", "alignment", "error", "said"),
    [
        ({"0": "red_cone"}, Pose(), SimjudgeError, "no kind for colour 1"),
        (
            {"0": "red_cone", "1": "post"},
            Pose(),
            SimjudgeError,
            "has no kind post for the cones of colour 1; it has red_cone, green_cone, stone: choose with --cone-kinds",
        ),
        (LAB_KINDS, Pose.from_euler(0, 0, pitch=0.1), UsageError, "an alignment with pitch or roll tilts them"),
    ],
)
def test_what_does_not_fit(yard, kinds, alignment, error, said):
    with pytest.raises(error, match=re.escape(said)):
        scene_with_cones(yard / "yard.yaml", yard / "cones.txt", kinds, alignment)


def test_a_slip_in_the_table_is_found(yard):
    (yard / "cones.txt").write_text(TABLE + "7\t1\t995\t-1.34\n3\t0\t3\t-2\n")
    with pytest.raises(SimjudgeError, match=r"cones\.txt:5: id 7, colour 1 at x 995, y -1\.34 is .* a slip\?"):
        scene_with_cones(yard / "yard.yaml", yard / "cones.txt", LAB_KINDS, Pose())


def test_kinds_as_text():
    assert parse_kinds("0=red_cone, 1=green_cone") == LAB_KINDS
    for text in ("", "0", "0=", "=a", "0=a,,1=b"):
        with pytest.raises(UsageError, match="give COLOUR=KIND pairs"):
            parse_kinds(text)
    with pytest.raises(UsageError, match="says what the rows of --cones are; give a table"):
        read_replay_scene("lab", None, "0=red_cone", Pose())
