"""Baked light: samples against loops and single rays, look-ups against a linear field, pictures against full ones."""

import numpy as np
import pytest
from light_scenes import ball, flat, lamp, looking, plain, scene, sheet, thing, white
from test_light_moves import CAMERA, ELSEWHERE, LENS, free, world
from trimesh import creation

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.default.baked_engine import FACE, SPACING, BakedLight, LightSamples, find_light, lay_samples
from simjudge.sim.engines.default.tracer import Hit

FAR = looking((-2.5, 0.2, 1.2), (1.5, 0, 0))


def laid(things):
    return lay_samples(things, [each.pose for each in things], [True] * len(things))


def corners_of(face, grid, each):
    """The face's corners in the world in the order of its grid, and the steps along two sides."""
    first, across, down, corner = grid.faces[face]
    vertices = each.pose.to_world(each.mesh.vertices)[each.mesh.faces[face]]
    return int(first), int(across), int(down), np.roll(vertices, -int(corner), axis=0)


@pytest.mark.parametrize(
    "mesh", [sheet(0.5, 0.2), flat(creation.box([2.0, 0.01, 0.3])), ball(0.2, 2)], ids=["sheet", "strip", "ball"]
)
def test_samples_lie_on_their_face_no_farther_apart_than_said(mesh):
    each = thing("it", mesh, pose=Pose.from_euler(1.0, 2.0, 0.5, yaw=0.3, roll=0.2))
    grid = laid([each])
    total = 0
    for face in range(len(mesh.faces)):
        first, across, down, (p, q, r) = corners_of(face, grid, each)
        assert np.linalg.norm(q - p) / across <= SPACING * (1 + 1e-9)
        assert np.linalg.norm(r - p) / down <= SPACING * (1 + 1e-9)
        assert first == total
        normal = np.cross(q - p, r - p)
        normal /= np.linalg.norm(normal)
        for j in range(down + 1):
            for i in range(across + 1):
                s, u = i / across, j / down
                s, u = (s / (s + u), u / (s + u)) if s + u > 1 else (s, u)
                place = p + s * (q - p) + u * (r - p)
                row = first + j * (across + 1) + i
                assert grid.point[row] == pytest.approx(place, abs=2.5e-3)
                assert 0 < np.dot(grid.point[row] - place, normal) < 2e-3, "off the surface, on its outer side"
                assert grid.facet[row] == pytest.approx(normal, abs=1e-5)
        total += (across + 1) * (down + 1)
    assert total == len(grid.point)


def test_a_grid_begins_at_the_corner_that_makes_it_smallest():
    each = thing("strip", flat(creation.box([3.0, 0.01, 0.01])))
    assert len(laid([each]).point) < 12 * 2.2 * 3.0 / SPACING


def test_what_does_not_stand_has_no_samples():
    things = [thing("floor", sheet(1, 1)), thing("car", flat(creation.box([1, 1, 1])))]
    grid = lay_samples(things, [Pose(), Pose()], [True, False])
    assert grid.faces.shape == (2 + 12, FACE)
    assert np.all(grid.faces[:2, 1] > 0)
    assert not grid.faces[2:].any()


def test_too_many_samples_are_laid_farther_apart(monkeypatch):
    whole = len(laid([thing("floor", sheet(4, 4))]).point)
    monkeypatch.setattr("simjudge.sim.engines.default.baked_engine.MOST", whole // 4)
    assert len(laid([thing("floor", sheet(4, 4))]).point) == pytest.approx(whole / 4, rel=0.1)


def test_lamps_in_sight_are_those_that_single_rays_see(light_of):
    light = light_of(world(), kind=BakedLight)
    light.render(LENS, [SceneState(CAMERA)])
    grid = lay_samples(light._things, light._at, light._stands)
    found = find_light(light._tracer, grid, light._packed_lamps, light._integrator.sun)
    seen, shone = found.seen, found.light
    rows = np.random.default_rng(3).choice(len(grid.point), 300, replace=False)
    lamps = light._packed_lamps
    open_bits = total = 0
    for row in rows:
        expected = np.zeros(3)
        for number, each in enumerate(lamps):
            there = each[:3] - grid.point[row]
            distance = float(np.linalg.norm(there))
            direction = there.astype(np.float64) / np.linalg.norm(there.astype(np.float64))
            if direction @ grid.facet[row] <= 1e-4:
                continue
            hit = light.cast_rays(grid.point[row][None], direction[None])
            free_way = not hit.distance[0] < distance * (1 - 1e-5)
            total += 1
            open_bits += bool(seen[row, 0] >> number & 1) == free_way
            if free_way:
                expected += max(direction @ grid.normal[row], 0) / distance**2 * each[4:7]
        if row % 7 == 0:
            assert shone[row, :3] == pytest.approx(expected, rel=2e-3, abs=1e-4)
    assert total > 200
    assert open_bits >= total - 1, "a ray may graze an edge"


def test_between_samples_light_is_in_proportion(light_of):
    """A field that is linear over a face comes out as it is, wherever a ray hits it."""
    each = thing("floor", sheet(0.6, 0.4), pose=Pose.from_euler(0.2, 0.1, 0.3, yaw=0.4))
    light = light_of(scene(each, lights=[lamp(0, 0, 2)]), kind=BakedLight)
    grid = laid([each])
    field = np.zeros((len(grid.point), 4), np.float32)
    for face in range(2):
        first, across, down, _ = corners_of(face, grid, each)
        i, j = np.meshgrid(np.arange(across + 1) / across, np.arange(down + 1) / down)
        rows = first + np.arange(i.size)
        field[rows, 0], field[rows, 1], field[rows, 2] = i.ravel(), j.ravel(), 1.0
    t, integrator = light._tracer, light._integrator
    integrator.set_samples(LightSamples(grid.faces, np.zeros((len(field), 1), np.int32), field))
    random = np.random.default_rng(5)
    b = random.dirichlet([1, 1, 1], 200).astype(np.float32)
    face = random.integers(0, 2, 200).astype(np.float32)
    given = t.given(np.column_stack([face, b[:, 1], b[:, 2]]))
    hit = Hit(given[0] >= 0, given[0], t.whole(given[0]) * 0, t.whole(given[0]), given[1], given[2])
    cell = integrator._cell(hit, given[0] >= 0)
    numbers = [t.row(integrator._light_at, row, 4, cell.known) for row in cell.rows]
    sums = [sum(number[k] * weight for number, weight in zip(numbers, cell.weights, strict=True)) for k in range(3)]
    s, u, one = (np.ravel(each) for each in t.host(*sums))
    corner = grid.faces[face.astype(int), 3]
    row = np.arange(200)
    assert s == pytest.approx(b[row, (corner + 1) % 3], abs=1e-5)
    assert u == pytest.approx(b[row, (corner + 2) % 3], abs=1e-5)
    assert one == pytest.approx(1, abs=1e-5)


def test_pictures_are_nearly_the_full_ones(light_of):
    full = light_of(world()).render(LENS, [SceneState(CAMERA)])
    baked = light_of(world(), kind=BakedLight).render(LENS, [SceneState(CAMERA)])
    assert np.abs(full - baked).mean() < 4e-3
    assert np.mean(np.abs(full - baked).max(2) > 0.02) < 0.03


def test_without_mirrors_only_the_edges_of_shadows_may_differ(light_of):
    """Lamps that all four samples see, or none, need no ray; all others are traced as ever."""
    dull = scene(
        thing("floor", sheet(8, 8), plain((0.7, 0.7, 0.7))),
        thing("box", flat(creation.box([0.4, 0.3, 0.5])), plain((0.1, 0.2, 0.8)), Pose((0.8, -0.4, 0.25))),
        lights=[lamp(0, 0, 3, 3), lamp(2, 2, 2, 3)],
        ambient=(0.1, 0.1, 0.1),
    )
    full = light_of(dull).render(LENS, [SceneState(CAMERA)])
    baked = light_of(dull, kind=BakedLight).render(LENS, [SceneState(CAMERA)])
    assert np.mean(np.abs(full - baked).max(2) > 1e-5) < 0.005


def test_once_something_that_stood_has_moved_all_is_traced_until_it_has_stood(light_of, monkeypatch):
    light, full = light_of(world(), kind=BakedLight), light_of(world())
    light.render(LENS, [SceneState(CAMERA)])
    moved = [SceneState(CAMERA, ELSEWHERE)]
    assert light.render(LENS, moved).tobytes() == full.render(LENS, moved).tobytes()
    monkeypatch.setattr("simjudge.sim.engines.default.light._WORTH_JUDGING", 1)
    light.render(LENS, moved)
    again = light.render(LENS, moved)
    assert again.tobytes() != full.render(LENS, moved).tobytes(), "the light is baked again"
    assert np.abs(again - full.render(LENS, moved)).mean() < 4e-3


def test_what_moves_throws_its_shadow_as_ever(light_of):
    floor = scene(thing("floor", sheet(8, 8), plain((0.7, 0.7, 0.7))), lights=[lamp(0, 0, 3, 3)])
    car = free("car", flat(creation.box([0.6, 0.4, 0.3])), plain((0.1, 0.2, 0.8)), Pose((0.5, 0, 0.4)), 1)
    full, light = light_of(floor, [car]), light_of(floor, [car], kind=BakedLight)
    for x in (0.5, 1.1, 0.2):
        state = [SceneState(FAR.camera, {"car": Pose((x, 0.1, 0.4))})]
        assert np.mean(np.abs(light.render(LENS, state) - full.render(LENS, state)).max(2) > 1e-5) < 0.001
    assert light._integrator._known, "a car that moves takes nothing back"


def test_a_surface_is_lit_on_the_side_that_is_seen(light_of):
    """A sheet that looks down, seen from above: its samples are of the other side, and do not count."""
    upside = scene(
        thing("roof", sheet(4, 4), white(0.2), Pose.from_euler(0, 0, 0.5, roll=np.pi)),
        lights=[lamp(0.5, 0, 2, 3)],
        ambient=(0.05, 0.05, 0.05),
    )
    full = light_of(upside).render(LENS, [FAR])
    assert light_of(upside, kind=BakedLight).render(LENS, [FAR]) == pytest.approx(full, abs=1e-6)
    assert full.max() > 0.05
