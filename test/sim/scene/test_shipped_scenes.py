"""The scenes that come with simjudge: light enough to render, bright enough to see, drivable, fair to both classes."""

import math
from collections import Counter

import numpy as np
import pytest
import yaml
from public_data import PUBLIC_DATA, missing

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import SCENE, shipped_files
from simjudge.sim.scene.ground import tightest_radius
from simjudge.sim.scene.read import read_scene
from simjudge.sim.vehicle.vehicle import read_vehicle

STAND_INS = {"lab_stand_in": "lab", "hall_stand_in": "hall"}
ELSEWHERE = ("lab_cones", "lab_stand_in_random", "hall_cones", "hall_stand_in_cones")
CONE_SCENES = ("lab", "lab_random", "hall", "hall_random")
NAMES = (*CONE_SCENES, "track")
RANDOM = {"lab_random", "hall_random"}
MEASURED = PUBLIC_DATA / "art1/cone_path_iros.csv"


def test_there_are_these():
    assert set(shipped_files(SCENE)) == {
        *NAMES,
        *STAND_INS,
        *ELSEWHERE,
        "street",
        "street_stand_in",
        "formula",
        "krc",
        "krc_stand_in",
        "hallway",
        "signs",
    }


@pytest.mark.parametrize("name", CONE_SCENES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_they_are_light_and_whole(name, seed):
    scene = read_scene(name, seed)
    assert (scene.name, scene.seed) == (name, seed)
    assert scene.class_names == {1: "red", 2: "green"}
    assert len(scene.things) < 200
    assert sum(len(thing.mesh.faces) for thing in scene.things) < 60_000
    assert len(scene.lights) <= 20
    instances = [thing.instance for thing in scene.labelled()]
    assert instances == list(range(1, len(instances) + 1))
    textures = {id(thing.surface.texture): thing.surface.texture for thing in scene.things}
    assert sum(texture.nbytes for texture in textures.values() if texture is not None) < 80e6
    assert sum(thing.collider.kind == "plane" for thing in scene.things) == 1
    for cone in scene.labelled():
        assert cone.motion == "free"
        assert cone.pose.position[2] == 0
        assert np.ptp(cone.mesh.vertices, axis=0) == pytest.approx([0.08, 0.08, 0.077], abs=1e-6)  # ART-1's
    x0, y0, x1, y1 = scene.area
    at = np.array([cone.pose.position for cone in scene.labelled()])
    assert np.all((at[:, :2] > [x0, y0]) & (at[:, :2] < [x1, y1]))


@pytest.mark.parametrize(("stand_in", "place"), STAND_INS.items())
def test_a_stand_in_has_the_same_cones_in_the_same_places_and_looks_different(stand_in, place):
    one, other = read_scene(place, 3), read_scene(stand_in, 3)
    for cone, twin in zip(one.labelled(), other.labelled(), strict=True):
        assert (cone.name, cone.class_id, cone.instance) == (twin.name, twin.class_id, twin.instance)
        assert np.array_equal(cone.pose.position, twin.pose.position)
        assert np.array_equal(cone.pose.orientation, twin.pose.orientation)
        assert not np.array_equal(cone.surface.texture, twin.surface.texture)
    assert (one.bounces, other.bounces) == (0, 2)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_scenes_for_training_have_as_many_red_cones_as_green_and_no_course(name):
    scene = read_scene(name, 1)
    count = Counter(cone.class_id for cone in scene.labelled())
    assert count[1] == count[2] > 0
    assert scene.course is None


@pytest.mark.parametrize("name", NAMES)
def test_a_floor_is_about_as_bright_as_mid_grey(name):
    """Radiance of the floor by the lamps' formula, without shadows: albedo (sum of I cos / d^2 / pi + ambient)."""
    for seed in range(4):
        scene = read_scene(name, seed)
        floor = next(thing for thing in scene.things if thing.name == "floor")
        albedo = floor.surface.texture.mean((0, 1)) * floor.surface.colour
        x0, y0, x1, y1 = scene.area
        x, y = np.meshgrid(np.linspace(x0, x1, 15), np.linspace(y0, y1, 15))
        total = np.zeros((15, 15))
        for lamp in scene.lights:
            u, v, height = lamp.position
            # What stands outside is behind walls and windows.
            if abs(u - floor.pose.position[0]) < np.ptp(floor.mesh.vertices[:, 0]) / 2:
                distance = np.sqrt((x - u) ** 2 + (y - v) ** 2 + height**2)
                total += np.where(distance < lamp.range, np.mean(lamp.intensity) * height / distance**3, 0)
        radiance = np.mean(albedo) * (total / math.pi + np.mean(scene.ambient))
        assert 0.04 < np.median(radiance) < 0.6
        if name not in RANDOM:
            assert 0.1 < np.median(radiance) < 0.4
            assert radiance.max() < 1


@pytest.mark.parametrize("name", sorted(set(CONE_SCENES) - RANDOM))
def test_courses_can_be_driven(name):
    scene, car = read_scene(name), read_vehicle("art1")
    line = scene.course.centre_line
    assert 12 < np.sum(np.linalg.norm(np.diff(line, axis=0), axis=1)) < 21
    assert tightest_radius(line) > 1.6 > 1.5 * car.tightest_radius
    assert 0.9 <= scene.course.width <= 1.0
    # All that is solid leaves the lane to the car.
    for thing in scene.things:
        if thing.motion == "free" or thing.collider.kind in {"none", "plane"}:
            continue
        corners = thing.pose.to_world(thing.mesh.vertices)
        if corners[:, 2].min() < 0.5:
            gap = np.linalg.norm(line[:, None] - corners[None, :, :2], axis=2).min()
            assert gap > 0.6, thing.name


@pytest.mark.parametrize("name", sorted(set(CONE_SCENES) - RANDOM))
def test_another_seed_moves_cones_a_little(name):
    one, other = (np.array([c.pose.position for c in read_scene(name, seed).labelled()]) for seed in (0, 1))
    assert 0 < np.abs(one - other).max() <= 0.04


def test_a_track_goes_around_between_barriers_without_a_gap():
    scene, car = read_scene("track"), read_vehicle("art1")
    course = scene.course
    assert course.closed
    assert tightest_radius(course.centre_line, closed=True) > 1.5 * car.tightest_radius
    ahead = np.diff(course.centre_line, axis=0)
    turn = np.diff(np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0])))
    assert min(np.sum(turn[turn > 0]), -np.sum(turn[turn < 0])) > 1.5, "it turns both ways"
    pieces = [piece.pose.to_world(piece.mesh.vertices) for piece in scene.labelled()]
    assert np.ptp(np.concatenate(pieces)[:, 2]) == pytest.approx(0.16)
    for side in ("left", "right"):
        own = [c for c, piece in zip(pieces, scene.labelled(), strict=True) if piece.name.startswith(f"course_{side}")]
        for one, other in zip(own, own[1:] + own[:1], strict=True):
            assert np.linalg.norm(one[:, None, :2] - other[None, :, :2], axis=2).min() < 0.04
    for thing in scene.things:
        if thing.collider.kind not in {"none", "plane"}:
            corners = thing.pose.to_world(thing.mesh.vertices)[:, :2]
            gap = np.linalg.norm(course.centre_line[:, None] - corners[None], axis=2).min()
            assert gap > course.width / 2 - 0.06, thing.name


def test_the_labs_measured_course_fits_into_the_lab(tmp_path):
    if not MEASURED.is_file():
        pytest.skip(missing("art1"))
    table = {"file": str(MEASURED), "kinds": {0: "red_cone", 1: "green_cone"}}
    path = tmp_path / "measured.yaml"
    scene = {"extends": "lab", "placements": {"course": None, "cones": {"table": table}}}
    path.write_text(yaml.safe_dump(scene))
    with pytest.raises(SimjudgeError, match=r"cone_path_iros\.csv:10: id 9, colour 1 at x 995.* a slip\?"):
        read_scene(path)
    table["leave_out"] = [[9, 1]]
    path.write_text(yaml.safe_dump(scene))
    assert len(read_scene(path).labelled()) == 34


@pytest.mark.parametrize(("name", "fewest"), [("lab_random", 10), ("hall_random", 25)])
def test_random_cones_are_as_many_red_as_green(name, fewest):
    looks = set()
    for seed in range(8):
        scene = read_scene(name, seed)
        counts = Counter(cone.class_id for cone in scene.labelled())
        assert counts[1] == counts[2] >= fewest
        assert scene.course is None
        floor = next(thing for thing in scene.things if thing.name == "floor")
        looks.add((id(floor.surface.texture), round(scene.lights[0].intensity[0], 3)))
    assert len({texture for texture, _ in looks}) >= 3
    assert len(looks) == 8


@pytest.mark.parametrize("name", ["hall_random", "hall_cones", "hall_stand_in_cones"])
def test_the_hall_has_50_cones_anywhere(name):
    one, other = (read_scene(name, seed) for seed in (0, 1))
    assert Counter(cone.class_id for cone in one.labelled()) == {1: 25, 2: 25}
    at = [np.array([cone.pose.position[:2] for cone in scene.labelled()]) for scene in (one, other)]
    assert len(at[0]) == len(at[1]) == 50
    assert np.ptp(at[0], axis=0) == pytest.approx([21, 2.2], rel=0.15)  # all over the area
    assert np.linalg.norm(at[0] - at[1], axis=1).min() > 0.01


@pytest.mark.parametrize("scene", ["lab", "hall"])
def test_small_cones_are_3_8_cm_high_and_otherwise_the_large_ones(tmp_path, scene):
    path = tmp_path / "small.yaml"
    stands = {"small": {"kind": "small_red_cone", "at": [3, 1]}, "large": {"kind": "red_cone", "at": [3, 0.8]}}
    path.write_text(yaml.safe_dump({"extends": scene, "placements": {"course": None}, "things": stands}))
    things = {thing.name: thing for thing in read_scene(path).things}
    small, large = things["small"], things["large"]
    share = 0.038 / 0.077
    assert np.ptp(small.mesh.vertices, axis=0) == pytest.approx([0.08 * share, 0.08 * share, 0.038], abs=1e-5)
    assert small.mass == pytest.approx(large.mass * share**3, rel=0.3)
    assert small.surface is large.surface
    assert (small.class_id, small.motion) == (large.class_id, "free")
