"""Scenes as YAML: what is read is what is written there."""

import math

import numpy as np
import pytest
from scene_files import TRIANGLE, scene_file, thing

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import SCENE, shipped_files
from simjudge.sim.scene.model import Collider
from simjudge.sim.scene.read import read_scene
from simjudge.sim.scene.scene_fields import to_linear


def names(scene):
    return [each.name for each in scene.things]


def test_what_is_written_is_read(tmp_path):
    path = scene_file(tmp_path, background={"radiance": 0.5, "colour": "#8080ff"})
    scene = read_scene(path, seed=3)
    assert (scene.name, scene.path, scene.seed, scene.area) == ("mine", path, 3, (-3, -2, 3, 2))
    assert scene.class_names == {1: "red", 2: "green"}
    assert scene.ambient == (0.1, 0.1, 0.1)
    assert scene.background == pytest.approx(0.5 * to_linear([128 / 255, 128 / 255, 1]))
    assert names(scene) == ["floor", "crate", "first"]
    crate, cone = thing(scene, "crate"), thing(scene, "first")
    assert crate.pose.position == (2, 1, 0)
    assert crate.pose.angles() == pytest.approx((math.radians(30), 0, 0))
    assert (crate.class_id, crate.instance, crate.motion, crate.mass) == (0, 0, "static", 0)
    assert crate.collider == Collider("box", (0.4, 0.3, 0.2), (0, 0, 0.1))
    assert (cone.class_id, cone.instance, cone.motion, cone.mass) == (1, 1, "free", 0.02)
    assert cone.collider.kind == "hull"
    assert cone.surface.colour == pytest.approx(to_linear([0xD0 / 255, 0x20 / 255, 0x10 / 255]))
    assert thing(scene, "floor").surface.roughness == 0.4
    (lamp,) = scene.lights
    assert (lamp.position, lamp.intensity, lamp.range) == ((0, 0, 2.5), (8, 8, 8), 10)
    assert scene.course is None
    assert scene.labelled() == (cone,)


def test_stuff_has_a_class_and_nobody_counts_it(tmp_path):
    scene = read_scene(
        scene_file(
            tmp_path,
            classes={1: "red", 2: "green", 7: "road", 23: "sky"},
            stuff=["road", 23],
            background_class="sky",
            things__floor__class="road",
        )
    )
    floor = thing(scene, "floor")
    assert (floor.class_id, floor.instance) == (7, 0)
    assert scene.background_class == 23
    assert [each.name for each in scene.labelled()] == ["first"]


def test_parts_of_several_surfaces_are_one_thing_that_is_counted(tmp_path):
    parts = [{"box": [1, 1, 1]}, {"box": [0.2, 0.2, 0.2], "at": [0, 0, 1], "surface": {"colour": "#ff0000"}}]
    scene = read_scene(scene_file(tmp_path, things__car={"class": "green", "parts": parts}))
    both = [each for each in scene.things if each.name.split("/")[0] == "car"]
    assert [(each.class_id, each.instance) for each in both] == [(2, 2)] * 2


def test_a_level_plane_at_height_0_is_the_ground_others_are_slabs(tmp_path):
    scene = read_scene(
        scene_file(
            tmp_path,
            things__table={"plane": [1, 2], "at": [0, 0, 0.7]},
            things__ceiling={"plane": [8, 6], "at": [0, 0, 3], "roll": 180},
        )
    )
    assert thing(scene, "floor").collider == Collider("plane")
    assert thing(scene, "table").collider == Collider("box", (1, 2, 0.05), (0, 0, -0.025))
    ceiling = thing(scene, "ceiling")
    assert ceiling.pose.to_world([0, 0, 1]) == pytest.approx([0, 0, 2])  # it faces down
    other = read_scene(scene_file(tmp_path, things__floor__collider="none", things__first=None))
    assert thing(other, "floor").collider == Collider("none")


def test_poses_by_angles_and_quaternion_are_the_same(tmp_path):
    half = math.radians(25)
    scene = read_scene(
        scene_file(
            tmp_path,
            things__one={"box": [1, 1, 1], "at": [0, 3, 0.5], "yaw": 50},
            things__other={"box": [1, 1, 1], "at": [0, 5, 0.5], "quaternion": [0, 0, math.sin(half), math.cos(half)]},
            things__nose={"box": [1, 1, 1], "at": [0, 7], "pitch": 90},
        )
    )
    assert thing(scene, "one").pose.orientation == pytest.approx(thing(scene, "other").pose.orientation)
    # REP 103: a positive pitch takes the nose, +x, down.
    assert thing(scene, "nose").pose.to_world([1, 0, 0]) == pytest.approx([0, 7, -1])


def test_kinds_are_taken_over_and_changed(tmp_path):
    scene = read_scene(
        scene_file(
            tmp_path,
            things__second={"kind": "green_cone", "at": [0, 0]},
            things__third={"kind": "green_cone", "at": [0, 1], "mass": 0.5, "class": "red"},
        )
    )
    first, second, third = (thing(scene, name) for name in ("first", "second", "third"))
    assert [each.instance for each in (first, second, third)] == [1, 2, 3]
    assert [each.class_id for each in (first, second, third)] == [1, 2, 1]
    assert [each.mass for each in (first, second, third)] == [0.02, 0.02, 0.5]
    assert second.surface is third.surface
    assert second.surface is not first.surface


def test_copies_share_one_mesh_and_have_numbers(tmp_path):
    copies = [{"at": [-1, 0]}, {"at": [-2, 0], "yaw": 90}]
    scene = read_scene(scene_file(tmp_path, things__more={"kind": "red_cone", "copies": copies}))
    assert names(scene)[-2:] == ["more_1", "more_2"]
    assert thing(scene, "more_1").mesh is thing(scene, "more_2").mesh
    assert thing(scene, "more_2").pose.position == (-2, 0, 0)
    assert [each.instance for each in scene.labelled()] == [1, 2, 3]


def test_asked_for_instance_ids_are_kept_and_avoided(tmp_path):
    scene = read_scene(
        scene_file(
            tmp_path,
            things__first__instance=2,
            things__second={"kind": "red_cone", "at": [0, 0]},
            things__third={"kind": "red_cone", "at": [0, 1]},
        )
    )
    assert [each.instance for each in scene.labelled()] == [2, 1, 3]


def test_parts_of_one_surface_are_one_mesh(tmp_path):
    table = {
        "surface": "grey",
        "parts": [
            {"box": [1.2, 0.6, 0.03], "at": [0, 0, 0.72], "surface": {"colour": "#a07040"}},
            {"box": [0.05, 0.05, 0.72], "copies": [[x, y, 0] for x in (-0.5, 0.5) for y in (-0.2, 0.2)]},
        ],
    }
    scene = read_scene(
        scene_file(
            tmp_path,
            kinds__table=table,
            things__table={"kind": "table", "at": [0, 2], "yaw": 90},
            things__white={"kind": "table", "at": [2, 2], "surface": {"colour": "#ffffff"}},
        )
    )
    top, legs = thing(scene, "table"), thing(scene, "table/2")
    assert len(legs.mesh.faces) == 4 * 12
    assert legs.mesh.vertices.min(0) == pytest.approx([-0.525, -0.225, 0])
    assert legs.mesh.vertices.max(0) == pytest.approx([0.525, 0.225, 0.72])
    assert legs.collider == Collider("hull")
    assert top.collider == Collider("box", (1.2, 0.6, 0.03), (0, 0, 0.735))
    assert top.pose == legs.pose
    # The whole's surface is that of the parts that have none.
    assert thing(scene, "white/2").surface.colour == (1, 1, 1)
    assert thing(scene, "white").surface is top.surface


def test_parts_of_parts_and_turned_parts(tmp_path):
    leg = {"box": [0.1, 0.2, 1]}
    scene = read_scene(
        scene_file(
            tmp_path,
            kinds__leg=leg,
            kinds__pair={"parts": [{"kind": "leg", "at": [1, 0, 0]}, {"kind": "leg", "at": [-1, 0, 0], "yaw": 90}]},
            things__four={"parts": [{"kind": "pair", "copies": [[0, 0, 0], [0, 5, 2]]}], "at": [0, 0, 1]},
        )
    )
    four = thing(scene, "four")
    assert four.mesh.vertices.min(0) == pytest.approx([-1.1, -0.1, 0])
    assert four.mesh.vertices.max(0) == pytest.approx([1.05, 5.1, 3])


def test_planes_side_by_side_fill_no_hull(tmp_path):
    parts = [{"plane": [1, 1], "copies": [[0, 0, 0], [2, 0, 0]]}]
    scene = read_scene(scene_file(tmp_path, things__signs={"parts": parts, "at": [0, 0, 2]}))
    assert thing(scene, "signs").collider == Collider("none")


def test_texture_coordinates_are_metres_over_repeat(tmp_path):
    surface = {"texture": {"pattern": "concrete", "size": 32}, "repeat": [2, 0.5]}
    scene = read_scene(scene_file(tmp_path, things__floor__surface=surface))
    floor = thing(scene, "floor")
    assert np.ptp(floor.mesh.uv, axis=0) == pytest.approx([4, 12])
    assert floor.surface.texture.shape == (32, 32, 3)
    assert floor.surface.colour == (1, 1, 1)  # a texture keeps its own colours


def test_meshes_come_from_obj_files_beside_the_scene(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "one.obj").write_text(TRIANGLE + "f 1 2 3\n")
    plain = {"mesh": "meshes/one.obj", "at": [0, 0, 1]}
    textured = {**plain, "uv": "box", "surface": {"texture": {"pattern": "wood", "size": 16}, "repeat": 0.5}}
    scene = read_scene(scene_file(tmp_path, things__one=plain, things__other=textured))
    assert np.array_equal(thing(scene, "one").mesh.vertices, [[0, 0, 0], [0, 1, 0], [1, 0, 0]])
    assert np.ptp(thing(scene, "other").mesh.uv, axis=0) == pytest.approx([2, 2])


def test_pictures_are_textures_in_linear_light(tmp_path):
    cv2 = pytest.importorskip("cv2")
    picture = np.zeros((2, 4, 3), np.uint8)
    picture[0, 0] = [0, 0, 188]  # blue, green, red: OpenCV's order
    cv2.imwrite(str(tmp_path / "sign.png"), picture)
    surface = {"texture": {"file": "sign.png"}, "repeat": [0.4, 0.2]}
    texture = thing(read_scene(scene_file(tmp_path, things__crate__surface=surface)), "crate").surface.texture
    assert texture.shape == (2, 4, 3)
    assert texture[0, 0] == pytest.approx([0.5029, 0, 0], abs=1e-4)  # IEC 61966-2-1
    assert texture[1, 1] == pytest.approx([0, 0, 0])


def test_lamps_in_a_grid_with_fixtures(tmp_path):
    grid = {"columns": 3, "rows": 2, "from": [-2, -1], "to": [2, 1], "height": 2.4}
    lights = {"ceiling": {"grid": grid, "intensity": 2, "range": 6, "fixture": "panel", "spread": 0.1}}
    parts = [{"box": [0.6, 0.3, 0.05], "at": [0, 0, 0.1]}]
    scene = read_scene(scene_file(tmp_path, lights=lights, kinds__panel={"parts": parts}))
    assert len(scene.lights) == 6
    assert scene.lights[0].position == (-2, -1, 2.4)
    assert scene.lights[-1].position == (2, 1, 2.4)
    strengths = np.array([lamp.intensity for lamp in scene.lights])
    assert np.all(np.abs(strengths / 2 - 1) <= 0.1)
    assert np.ptp(strengths) > 0.01
    fixture = thing(scene, "ceiling/fixture_1")
    assert len(fixture.mesh.faces) == 6 * 12
    assert fixture.mesh.vertices.min(0) == pytest.approx([-2.3, -1.15, 2.5])


def test_a_lamp_of_a_temperature_keeps_its_luminance(tmp_path):
    scene = read_scene(scene_file(tmp_path, lights__lamp__temperature=3000))
    red, green, blue = scene.lights[0].intensity
    assert 0.2126 * red + 0.7152 * green + 0.0722 * blue == pytest.approx(8, rel=1e-6)
    assert red > green > blue


def test_a_scene_extends_another(tmp_path):
    base = scene_file(tmp_path)
    (tmp_path / "base.yaml").write_text(base.read_text())
    changes = {"extends": "base.yaml", "ambient": 0.3, "things": {"crate": None, "first": {"at": [0, 0]}}}
    scene = read_scene(scene_file(tmp_path, changes))
    assert (scene.name, scene.ambient) == ("mine", (0.3, 0.3, 0.3))
    assert names(scene) == ["floor", "first"]
    assert thing(scene, "first").pose.position == (0, 0, 0)
    assert thing(scene, "first").class_id == 1


def test_paths_of_a_file_that_is_extended_are_relative_to_it(tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "one.obj").write_text(TRIANGLE + "f 1 2 3\n")
    base = scene_file(tmp_path / "library", {"things": {"one": {"mesh": "one.obj"}}})
    assert base.name == "mine.yaml"
    scene = read_scene(scene_file(tmp_path, {"extends": "library/mine.yaml"}))
    assert names(scene) == ["one"]


def test_a_scene_that_is_extended_or_a_mesh_that_is_drawn_is_not_looked_for_in_the_working_folder(
    tmp_path, monkeypatch
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for folder, faces in ((tmp_path, "f 1 2 3\n"), (elsewhere, "f 1 2 3\nf 3 2 1\n")):
        (folder / "one.obj").write_text(TRIANGLE + faces)
    (elsewhere / "base.yaml").write_text("ambient: 1\n")
    monkeypatch.chdir(elsewhere)
    scene = read_scene(scene_file(tmp_path, {"things": {"one": {"mesh": {"one_of": ["one.obj"]}}}}))
    assert len(scene.things[0].mesh.faces) == 1
    with pytest.raises(SimjudgeError, match=r"extends: base\.yaml: neither a file nor"):
        read_scene(scene_file(tmp_path, {"extends": "base.yaml"}))


def test_shipped_scenes_are_known_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert set(shipped_files(SCENE)) >= {"lab"}
    with pytest.raises(UsageError, match=r"nowhere: neither a file .*lab"):
        read_scene("nowhere")


def test_the_same_seed_gives_the_same_scene(tmp_path):
    strewn = {"random": {"kinds": ["red_cone", "green_cone"], "count": 12, "spacing": 0.3}}
    path = scene_file(tmp_path, placements={"strewn": strewn}, ambient={"between": [0.1, 0.2]})
    one, same, other = read_scene(path, 1), read_scene(path, 1), read_scene(path, 2)
    assert [each.pose for each in one.things] == [each.pose for each in same.things]
    assert one.ambient == same.ambient != other.ambient
    assert [each.pose for each in one.things] != [each.pose for each in other.things]
