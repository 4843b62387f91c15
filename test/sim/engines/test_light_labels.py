"""Labels, depth and ray hits against trimesh's ray caster, formulas, and the lens's own projection."""

import cv2
import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from light_scenes import ball, flat, lamp, looking, plain, scene, sheet, smooth, thing, white
from trimesh import creation

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.default.light import Light
from simjudge.sim.scene.model import Scene, Surface
from simjudge.sim.sensors.camera.lens import lens_with_field

LENSES = {
    "pinhole": lens_with_field("pinhole", (320, 240), 80),
    "fov": lens_with_field("fov", (320, 240), 80),
    "radial": lens_with_field("radial", (320, 240), 80, (-0.25, 0.06, 0.0)),
}


def random_pose(rng, spread):
    turn = rng.normal(size=4)
    return Pose(tuple(rng.uniform(-spread, spread, 3) + np.array([4, 0, 0])), tuple(turn))


def random_things(seed, count=8):
    rng = np.random.default_rng(seed)
    makes = (
        lambda: flat(creation.box(rng.uniform(0.1, 1.5, 3))),
        lambda: smooth(creation.icosphere(2, rng.uniform(0.1, 0.8))),
        lambda: flat(creation.cone(rng.uniform(0.1, 0.6), rng.uniform(0.3, 1.5), sections=9)),
        lambda: flat(creation.cylinder(rng.uniform(0.1, 0.6), rng.uniform(0.3, 1.5), sections=7)),
    )
    return [
        thing(f"thing{k}", makes[k % 4](), pose=random_pose(rng, 2), class_id=k % 3, instance=(k % 3 > 0) * (k + 1))
        for k in range(count)
    ]


def cast_by_trimesh(things, origins, ways):
    """Index of the thing that each ray hits (-1: nothing), the distance, and the triangle's normal."""
    solids = [trimesh.Trimesh(t.pose.to_world(t.mesh.vertices), t.mesh.faces, process=False) for t in things]
    whole = trimesh.util.concatenate(solids)
    owner = np.repeat(np.arange(len(things)), [len(s.faces) for s in solids])
    face, ray, place = whole.ray.intersects_id(origins, ways, multiple_hits=False, return_locations=True)
    found, distance = np.full(len(origins), -1), np.full(len(origins), np.inf)
    normal = np.full((len(origins), 3), np.nan)
    found[ray], distance[ray] = owner[face], np.linalg.norm(place - origins[ray], axis=1)
    normal[ray] = whole.face_normals[face]
    return found, distance, normal


def test_what_is_behind_everything_has_the_class_of_the_background():
    ball_ahead = thing("ball", smooth(creation.icosphere(2, 0.5)), pose=Pose((2, 0, 0)), class_id=3, instance=4)
    light = Light(Scene("s", (ball_ahead,), (), background_class=9))
    found = light.labels(LENSES["pinhole"], SceneState(Pose().optical_frame()))
    assert set(np.unique(found.class_id)) == {3, 9}
    assert np.array_equal(found.class_id == 9, np.isinf(found.depth))
    assert np.array_equal(found.instance > 0, found.class_id == 3)
    light.close()


def inner(labels):
    """Mask of the pixels whose neighbours all have the same label."""
    same = np.ones(labels.shape, bool)
    padded = np.pad(labels, 1, mode="edge")
    for dy in range(3):
        for dx in range(3):
            same &= padded[dy : dy + labels.shape[0], dx : dx + labels.shape[1]] == labels
    return same


@pytest.mark.parametrize("model", LENSES)
@pytest.mark.parametrize("seed", range(4))
def test_labels_and_depth_are_those_of_another_ray_caster(light_of, model, seed):
    things = random_things(seed)
    small = lens_with_field(model, (48, 36), 75, LENSES[model].coefficients)
    scene_state = looking(np.random.default_rng(seed).uniform(-1, 1, 3), (4, 0, 0))
    labels = light_of(scene(*things)).labels(small, scene_state)
    rays = small.rays().reshape(-1, 3)
    ways = rays @ scene_state.camera.rotation_matrix().T
    found, distance, _ = cast_by_trimesh(things, np.tile(scene_state.camera.position, (len(ways), 1)), ways)
    instances = np.array([t.instance for t in things] + [0])[found].reshape(36, 48)
    classes = np.array([t.class_id for t in things] + [0])[found].reshape(36, 48)
    safe = inner(found.reshape(36, 48))
    assert safe.mean() > 0.5
    assert labels.class_id.dtype == np.uint8
    assert labels.instance.dtype == np.uint16
    assert labels.depth.dtype == np.float32
    assert np.array_equal(labels.instance[safe], instances[safe])
    assert np.array_equal(labels.class_id[safe], classes[safe])
    depth = (distance * rays[:, 2]).reshape(36, 48)
    assert labels.depth[safe] == pytest.approx(depth[safe], rel=1e-4)
    assert np.mean(labels.instance == instances) > 0.97


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_rays_hit_what_another_ray_caster_hits(seed):
    things = random_things(seed, 5)
    light = Light(scene(*things[:3]), things[3:])
    assert light.names == tuple(t.name for t in things)
    rng = np.random.default_rng(seed)
    origins, ways = rng.uniform(-3, 3, (300, 3)) + np.array([4, 0, 0]), rng.normal(size=(300, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    found, distance, normal = cast_by_trimesh(things, origins, ways)
    hits = light.cast_rays(origins, ways)
    assert hits.distance.dtype == np.float64
    assert hits.thing.dtype == np.int64
    agree = hits.thing == found
    assert agree.mean() > 0.98
    assert hits.distance[agree] == pytest.approx(distance[agree], rel=1e-4, abs=1e-4)
    hit = agree & (found >= 0)
    assert hits.normal[hit] == pytest.approx(normal[hit], abs=1e-4)
    assert np.isnan(hits.normal[hits.thing < 0]).all()
    assert np.isinf(hits.distance[hits.thing < 0]).all()


def test_normals_point_outward_also_for_who_is_inside(light_of):
    light = light_of(scene(thing("box", flat(creation.box([2, 2, 2])), pose=Pose.from_euler(1, 2, 3, yaw=0.4))))
    inside = light.cast_rays([[1, 2, 3]], [[0, 0, 1]])
    assert inside.distance == pytest.approx([1], abs=1e-5)
    assert inside.normal == pytest.approx(np.array([[0, 0, 1]]), abs=1e-6)
    assert light.cast_rays([[1, 2, 9]], [[0, 0, -1]]).normal == pytest.approx(np.array([[0, 0, 1]]), abs=1e-6)


def test_many_rays_and_none(light_of):
    light = light_of(scene(thing("ball", ball(1, 6), pose=Pose((0, 0, 5)))))
    away = np.random.default_rng(0).uniform(0, 0.9, 50_000)
    start = np.stack([away, 0 * away, 0 * away], 1)
    hits = light.cast_rays(start, np.tile([0.0, 0, 1], (len(away), 1)))
    assert hits.distance == pytest.approx(5 - np.sqrt(1 - away**2), abs=2e-3)
    empty = light.cast_rays(np.zeros((0, 3)), np.zeros((0, 3)))
    assert [part.shape for part in empty] == [(0,), (0,), (0, 3)]


@pytest.mark.parametrize(
    ("origins", "ways", "says"),
    [
        ([[0, 0, 0]], [[0, 0, 1], [0, 1, 0]], r"\(N, 3\)"),
        ([0, 0, 0], [0, 0, 1], r"\(N, 3\)"),
        ([[0, 0, np.nan]], [[0, 0, 1]], "finite"),
        ([[0, 0, 0]], [[0, 0, 0]], "unit"),
        ([[0, 0, 0]], [[0, 0, 2]], "unit"),
    ],
)
def test_rays_that_are_none_are_refused(origins, ways, says):
    with pytest.raises(UsageError, match=says):
        Light(scene(thing("floor", sheet()))).cast_rays(origins, ways)


def test_depth_is_along_the_axis_and_endless_where_nothing_is(light_of):
    light = light_of(scene(thing("wall", sheet(3, 3), pose=Pose.from_euler(5, 0, 0, pitch=-np.pi / 2))))
    labels = light.labels(lens_with_field("pinhole", (40, 30), 80), SceneState(Pose().optical_frame()))
    hit = np.isfinite(labels.depth)
    assert 0 < hit.mean() < 1
    assert labels.depth[hit] == pytest.approx(5, rel=1e-5)
    assert not labels.class_id.any()


def checkered(squares=8, texels=64):
    """A texture whose squares have corners at multiples of 1 / squares; black at u, v = 0."""
    rows, columns = np.mgrid[0 : squares * texels, 0 : squares * texels] // texels
    dark = ((squares - 1 - rows) + columns) % 2 == 0
    return np.repeat(np.where(dark, 0.02, 0.9)[..., None], 3, -1).astype(np.float32)


@pytest.mark.parametrize("model", LENSES)
def test_the_corners_of_a_checker_board_are_where_the_lens_projects_them(light_of, model):
    """Found in the picture by OpenCV to a tenth of a pixel, all over it."""
    lens, board = LENSES[model], Pose.from_euler(1.2, 0.1, 0.05, pitch=-np.pi / 2, roll=0.05)
    light = light_of(scene(thing("board", sheet(3, 3), white(1, texture=checkered(16, 32)), board), ambient=(1, 1, 1)))
    scene_state = SceneState(Pose.from_euler(0, 0, 0, yaw=0.05, pitch=-0.03).optical_frame())
    picture = light.render(lens, [scene_state], 16)
    grid = np.stack(np.meshgrid(np.arange(1, 16) / 16 - 0.5, np.arange(1, 16) / 16 - 0.5), -1).reshape(-1, 2) * 3
    corners = board.to_world(np.column_stack([grid, np.zeros(len(grid))]))
    expected = lens.project(scene_state.camera.to_body(corners))
    inside = np.all((expected > 8) & (expected < np.array(lens.size) - 9), axis=1)
    expected = expected[inside]
    assert len(expected) > 40
    grey = (255 * np.clip(picture[..., 0], 0, 1)).astype(np.uint8)
    criteria = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 100, 1e-4)
    guess = expected[:, None].astype(np.float32) + np.float32(0.7)
    found = cv2.cornerSubPix(grey, guess, (5, 5), (-1, -1), criteria)[:, 0]
    assert np.abs(found - expected).max() < 0.15
    assert np.abs((found - expected).mean(0)).max() < 0.02


def test_u_is_to_the_right_and_v_up(light_of):
    """Four texels, looked at squarely: row 0 of the texture is at v = 1."""
    texture = np.array([[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 1, 1]]], np.float32)
    light = light_of(scene(thing("sheet", sheet(2, 2), white(texture=texture)), ambient=(1, 1, 1)))
    # From above, x to the right and y up in the picture.
    above = SceneState(Pose.from_matrix([[1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 3], [0, 0, 0, 1]]))
    picture = light.render(lens_with_field("pinhole", (60, 60), 2 * np.degrees(np.arctan(1 / 3))), [above])
    for row, column, colour in ((14, 14, 0), (14, 45, 1), (45, 14, 2)):
        assert picture[row, column].argmax() == colour
        assert np.sort(picture[row, column])[1] < 0.1
    assert picture[45, 45].min() > 0.9


@pytest.mark.parametrize(("u", "v"), [(0.1, 0.2), (0.5, 0.5), (0.93, 0.02), (0.01, 0.99), (-1.3, 4.6)])
def test_textures_are_interpolated_and_repeat(light_of, u, v):
    texture = np.random.default_rng(3).random((5, 7, 3)).astype(np.float32)
    world = scene(thing("sheet", sheet(1, 1), white(texture=texture), Pose((-u + 0.5, -v + 0.5, 0))), ambient=(1, 1, 1))
    if not 0 < u < 1:
        mesh = sheet(1, 1)
        mesh.uv[:] += np.array([u - 0.5, v - 0.5])
        world = scene(thing("sheet", mesh, white(texture=texture)), ambient=(1, 1, 1))
    x, y = u % 1 * 7 - 0.5, (1 - v % 1) * 5 - 0.5
    left, top = int(np.floor(x)), int(np.floor(y))
    f, g = x - left, y - top
    rows, columns = np.array([top, top + 1]) % 5, np.array([left, left + 1]) % 7
    expected = np.einsum("i,j,ijk->k", [1 - g, g], [1 - f, f], texture[np.ix_(rows, columns)])
    picture = light_of(world).render(lens_with_field("pinhole", (1, 1), 0.01), [looking((0, 0, 1), (0, 0, 0))])
    # In white light: gloss and base together, straight from above.
    light = light_of(scene(thing("sheet", sheet(1, 1), plain((0, 0, 0))), ambient=(1, 1, 1)))
    gloss = light.render(lens_with_field("pinhole", (1, 1), 0.01), [looking((0, 0, 1), (0, 0, 0))])[0, 0]
    assert picture[0, 0] == pytest.approx(gloss + (1 - gloss) * expected, abs=1e-3)


def test_far_textures_do_not_flicker(light_of):
    """A fine checker far away is grey, not a moire: its levels take over."""
    floor = thing("floor", sheet(40, 40), Surface((1, 1, 1), checkered(256, 2)))
    picture = light_of(scene(floor, ambient=(1, 1, 1))).render(
        lens_with_field("pinhole", (160, 60), 60), [looking((-18, 0, 0.5), (0, 0, 0))]
    )
    far = picture[33:37, :, 0]
    assert far.std() < 0.1  # 0.4 nearby
    assert far.mean() == pytest.approx(picture[50:, :, 0].mean(), abs=0.12)


def test_lamps_do_not_show_in_labels(light_of):
    light = light_of(scene(thing("floor", sheet(), class_id=1, instance=7), lights=[lamp(0, 0, 1)]))
    labels = light.labels(lens_with_field("pinhole", (9, 9), 30), looking((0, 0, 3), (0, 0, 0)))
    assert set(labels.instance.ravel()) == {7}
    assert set(labels.class_id.ravel()) == {1}
