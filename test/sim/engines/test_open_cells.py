"""Cells with lamps in sight: against a naive search for what is in the way, and pictures that stay the same."""

from dataclasses import replace

import numpy as np
import pytest
from light_scenes import ball, flat, lamp, looking, scene, sheet, thing, white
from trimesh import creation

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default import open_cells
from simjudge.sim.engines.default.open_cells import NO_CELLS, find_open_cells
from simjudge.sim.sensors.camera.lens import lens_with_field

LAMPS = [lamp(1, 1, 2.5, 3), lamp(-1.5, 0.5, 2.2, 2, reach=2.5), lamp(0.4, -1.6, 0.03)]


def room():
    """A floor, a wall with a board that stands out a little, a table and a ball."""
    top = flat(creation.box((0.8, 0.5, 0.04)))
    return (
        thing("floor", sheet(4, 4), white()),
        thing("wall", flat(creation.box((4, 0.2, 2.6))), white(), Pose((0, 2.1, 1.3))),
        thing("board", flat(creation.box((1.2, 0.02, 0.8))), white(0.3), Pose((0, 1.99, 1.4))),
        thing("table", top, white(0.2), Pose.from_euler(0.5, 0.3, 0.7, yaw=0.3)),
        thing("ball", ball(0.2, 2), white(), Pose((-0.6, -0.4, 0.2)), motion="free"),
    )


@pytest.fixture(scope="module")
def judged():
    """All triangles of the room, and its cells."""
    corners = np.concatenate([each.pose.to_world(each.mesh.vertices)[each.mesh.faces] for each in room()])
    lamps = np.array([[*each.position, each.range] for each in LAMPS])
    return corners, lamps, find_open_cells(corners, lamps)


def blocked(point, lamp_at, corners):
    """Whether a triangle is between two points, by its plane and the sides of its edges (a naive loop)."""
    a, b, c = corners.transpose(1, 0, 2)
    direction = lamp_at - point
    normal = np.cross(b - a, c - a)
    along = normal @ direction
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.einsum("ni,ni->n", normal, a - point) / along
    hit = point + share[:, None] * direction
    inside = np.ones(len(corners), bool)
    for one, other in ((a, b), (b, c), (c, a)):
        inside &= np.einsum("ni,ni->n", np.cross(other - one, hit - one), normal) >= 0
    return bool((inside & (share > 0) & (share < 1)).any())


def test_from_open_cells_lamps_are_in_sight(judged):
    corners, lamps, cells = judged
    random = np.random.default_rng(3)
    chosen = random.choice(np.flatnonzero(cells.lamps[:, 0]), 400)
    at = np.stack(np.unravel_index(chosen, cells.shape), 1)
    points = np.array(cells.low) + (at + random.random((400, 3))) * cells.edge
    planes = cells.planes[chosen].astype(float)
    # On the plane, where the surface is, and anywhere in the cell above it.
    height = np.einsum("ni,ni->n", planes[:, :3], points) - planes[:, 3]
    down = np.where(random.random(400) < 0.7, height - 1e-4, 0.0)[:, None]
    points -= planes[:, :3] * down
    height -= down[:, 0]
    asked = 0
    for point, cell, above in zip(points, chosen, height, strict=True):
        for number, row in enumerate(lamps):
            if above > 0 and cells.lamps[cell, 0] >> number & 1:
                assert not blocked(point, row[:3], corners)
                asked += 1
    assert asked > 400


def test_most_of_an_empty_floor_is_open(judged):
    _, _, cells = judged
    seen = cells.lamps.reshape(cells.shape)[:, :, 0]
    assert np.mean(seen & 1 > 0) > 0.5
    level = cells.planes.reshape(*cells.shape, 4)[:, :, 0, 2] == 1
    assert not (seen[level] & 4).any(), "the lamp 3 cm above the floor grazes it"


def test_pictures_stay_the_same(mitsuba_light, monkeypatch):
    lens = lens_with_field("pinhole", (64, 48), 80)
    whole = scene(*room(), lights=LAMPS, ambient=(0.1, 0.1, 0.1))
    camera = looking((-1.5, -1.8, 1.2), (0, 0.5, 0.4))
    states = [
        replace(camera, bodies=bodies)
        for bodies in ({}, {"ball": Pose((0.7, 0.2, 1.0))}, {"ball": Pose((-0.2, 1.0, 0.2))})
    ]
    found = []

    def find_and_keep(*given):
        found.append(find_open_cells(*given))
        return found[-1]

    monkeypatch.setattr("simjudge.sim.engines.default.light.find_open_cells", find_and_keep)
    monkeypatch.setattr("simjudge.sim.engines.default.light._WORTH_JUDGING", 64 * 48 * 4)
    light = mitsuba_light(whole)
    pictures = [[light.render(lens, [state], 4) for _ in range(5)] for state in states]
    light.close()
    assert len(found) == 3, "once for each place of the ball"
    assert all(np.count_nonzero(cells.lamps) > 100 for cells in found)
    monkeypatch.setattr("simjudge.sim.engines.default.light.find_open_cells", lambda *_: NO_CELLS)
    light = mitsuba_light(whole)
    for state, some in zip(states, pictures, strict=True):
        expected = light.render(lens, [state], 4)
        for picture in some:
            assert np.array_equal(picture, expected)
    light.close()


def test_nothing_is_known_without_lamps_or_things():
    assert find_open_cells(np.zeros((0, 3, 3)), np.ones((1, 4))) is NO_CELLS
    assert find_open_cells(np.ones((1, 3, 3)), np.ones((0, 4))) is NO_CELLS


def test_more_lamps_than_bits(judged):
    corners, lamps, _ = judged
    one = find_open_cells(corners, lamps[:1])
    many = find_open_cells(corners, np.concatenate([lamps[:1]] * (open_cells.LAMPS + 5)))
    assert many.lamps.min() >= 0
    assert np.array_equal(many.lamps > 0, one.lamps > 0)
