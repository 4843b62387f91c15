"""Normal maps against surfaces that are really tilted, and against the cosine."""

from dataclasses import replace

import numpy as np
import pytest
from light_scenes import lamp, looking, narrow, scene, sheet, thing

from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import Surface

LAMP, CAMERA = (1.0, 2.0, 3.0), (-1.0, 1.0, 2.5)


def seen(make, mesh, surface, pose=None):
    light = make(scene(thing("quad", mesh, surface, pose), lights=[lamp(*LAMP, 10.0)]))
    value = light.render(narrow(), [looking(CAMERA, (0, 0, 0))])[0, 0, 1]
    light.close()
    return float(value)


def tilted(axis, degrees):
    """A map of one normal, tilted towards u or v."""
    angle = np.radians(degrees)
    normal = [0.0, 0.0, np.cos(angle)]
    normal["uv".index(axis)] = np.sin(angle)
    return np.full((4, 4, 3), normal, np.float32)


@pytest.mark.parametrize(("axis", "degrees"), [("u", 0), ("u", 25), ("v", 25), ("u", -30), ("v", -30)])
@pytest.mark.parametrize("roughness", [0.4, 1.0])
def test_a_constant_map_shades_like_a_quad_that_is_tilted(light_of, axis, degrees, roughness):
    surface = Surface((0.7, 0.7, 0.7), None, roughness)
    angle = np.radians(degrees)
    # u is x, v is y: towards u is pitch, nose down; towards v is roll to the left.
    pose = Pose.from_euler(0, 0, 0, pitch=angle) if axis == "u" else Pose.from_euler(0, 0, 0, roll=-angle)
    bumpy = replace(surface, normal_map=tilted(axis, degrees))
    assert seen(light_of, sheet(), bumpy) == pytest.approx(seen(light_of, sheet(1, 1), surface, pose), rel=1e-3)


@pytest.mark.parametrize("degrees", [-40, 20, 40])
def test_a_matt_base_follows_the_cosine_of_the_mapped_normal(light_of, degrees):
    """White less black is the base alone: it follows n.l of the formula to 4 %."""
    towards = np.array(LAMP) / np.linalg.norm(LAMP)

    def base(turn):
        each = [Surface(colour, normal_map=tilted("u", turn), roughness=1.0) for colour in ((1, 1, 1), (0, 0, 0))]
        return seen(light_of, sheet(), each[0]) - seen(light_of, sheet(), each[1])

    angle = np.radians(degrees)
    cosine = max(float(np.dot([np.sin(angle), 0, np.cos(angle)], towards)), 0)
    assert base(degrees) / base(0) == pytest.approx(cosine / towards[2], rel=0.04)


def test_tangents_follow_the_texture_coordinates(light_of):
    """Turned and mirrored texture coordinates turn and mirror the bumps."""
    mesh, surface = sheet(), Surface(normal_map=tilted("u", 25))
    x, y = mesh.uv.T
    along_y = replace(mesh, uv=np.stack([y, 1 - x], 1))
    mirrored = replace(mesh, uv=np.stack([1 - x, y], 1))
    up = Surface(normal_map=tilted("v", 25))
    assert seen(light_of, along_y, surface) == pytest.approx(seen(light_of, mesh, up), rel=1e-4)
    back = Surface(normal_map=tilted("u", -25))
    assert seen(light_of, mirrored, surface) == pytest.approx(seen(light_of, mesh, back), rel=1e-4)
    assert seen(light_of, mirrored, up) == pytest.approx(seen(light_of, mesh, up), rel=1e-4)


def test_the_back_and_what_has_no_coordinates_are_shaded_too(light_of):
    mesh, bumpy = sheet(), Surface(normal_map=tilted("u", 25))
    flat = replace(mesh, uv=np.zeros_like(mesh.uv))
    assert seen(light_of, flat, bumpy) == pytest.approx(seen(light_of, mesh, Surface()), rel=1e-5)
    # From behind, the same outward normal is turned around: its x looks the other way.
    behind = replace(mesh, faces=mesh.faces[:, ::-1].copy(), normals=-mesh.normals)
    value = seen(light_of, behind, bumpy)
    assert value > 0
    assert value == pytest.approx(seen(light_of, mesh, Surface(normal_map=tilted("u", -25))), rel=1e-4)
