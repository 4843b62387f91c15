"""Glass against Snell and Fresnel, on both tracers."""

from dataclasses import replace

import numpy as np
import pytest
from light_scenes import ball, flat, lamp, looking, narrow, plain, scene, sheet, thing, white
from trimesh import creation

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.default_engine import RestingRays
from simjudge.sim.scene.forms import as_lidars_meet_it
from simjudge.sim.scene.model import Paint, Surface
from simjudge.sim.sensors.camera.lens import lens_with_field

BLACK, WHITE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
N = 1.5


def glass(index=N, colour=WHITE, **more):
    return Surface(colour, refractive_index=index, **more)


def slab(thickness, surface=None, size=40.0, **more):
    """A slab about z = 1, in the way of what looks down."""
    mesh = flat(creation.box((size, size, thickness)))
    return thing("slab", mesh, surface or glass(), Pose((0, 0, 1)), **more)


def ruler():
    """A floor of 20 m that shines: red is x / 20 + 1/2, green 1."""
    ramp = np.ones((1, 512, 3), np.float32)
    ramp[0, :, 0] = (np.arange(512) + 0.5) / 512
    return thing("floor", sheet(20, 20), Surface(BLACK, ramp, emission=WHITE), class_id=3, instance=9)


def fresnel(degrees, index=N):
    """Of light that is not polarized, by sines and tangents of the two angles."""
    i = np.radians(max(degrees, 1e-3))
    t = np.arcsin(np.sin(i) / index)
    return (np.sin(i - t) ** 2 / np.sin(i + t) ** 2 + np.tan(i - t) ** 2 / np.tan(i + t) ** 2) / 2


def seen(make, world, start, to):
    light = make(world)
    value, labels = light.render(narrow(), [looking(start, to)])[0, 0], light.labels(narrow(), looking(start, to))
    light.close()
    return value, labels


@pytest.mark.parametrize("degrees", [0, 30, 60])
@pytest.mark.parametrize("thickness", [0.05, 0.5])
def test_a_slab_displaces_rays_by_the_formula_and_takes_what_fresnel_takes(light_of, degrees, thickness):
    """D sin(i) (1 - cos(i) / sqrt(n^2 - sin(i)^2)) sideways; two surfaces let (1 - F)^2 pass."""
    i = np.radians(degrees)
    start = (-3 * np.tan(i), 0, 3)
    value, labels = seen(light_of, scene(slab(thickness), ruler()), start, (0, 0, 0))
    across = thickness * np.sin(i) * (1 - np.cos(i) / np.sqrt(N**2 - np.sin(i) ** 2))
    x = (value[0] / value[1] - 0.5) * 20
    assert x == pytest.approx(-across / np.cos(i), abs=2e-3)
    assert value[1] == pytest.approx((1 - fresnel(degrees)) ** 2, rel=2e-3)
    # The label is that of the floor, where the ray meets it.
    assert (labels.class_id[0, 0], labels.instance[0, 0]) == (3, 9)
    depth = np.dot(np.array([x, 0, 0]) - start, [np.sin(i), 0, -np.cos(i)])
    assert labels.depth[0, 0] == pytest.approx(depth, abs=2e-3)


@pytest.mark.parametrize(("ray_depth", "passes"), [(8, False), (10, True), (12, True)])
def test_a_ray_passes_as_many_surfaces_as_the_scene_says(light_of, ray_depth, passes):
    """Ten thin panes, each of transmittance (1 - F) / (1 + F), above a floor that shines; behind all is blue."""
    panes = [thing(f"pane_{n}", sheet(10, 10), glass(), Pose((0, 0, 0.5 + 0.1 * n))) for n in range(10)]
    world = replace(scene(*panes, ruler()), ray_depth=ray_depth, background=(0.0, 0.0, 0.5))
    value, _ = seen(light_of, world, (0, 0, 3), (0, 0, 0))
    passed = (1 - fresnel(0)) / (1 + fresnel(0))
    if passes:
        assert value[1] == pytest.approx(passed**10, rel=2e-3)
    else:
        assert value[1] == pytest.approx(0, abs=1e-3)
        assert value[2] == pytest.approx(0.5 * passed**ray_depth, abs=0.05), "and the first pane mirrors a little"


def test_a_surface_mirrors_what_fresnel_has_it_mirror(light_of):
    """Above a deep block over nothing: what is seen is F times a wall that shines."""
    wall = thing("wall", flat(creation.box((0.1, 80, 80))), Surface(BLACK, emission=WHITE), Pose((30, 0, 42)))
    for degrees in (45, 75):
        i = np.radians(degrees)
        value, _ = seen(light_of, scene(slab(0.5), wall), (-np.tan(i), 0, 2.25), (0, 0, 1.25))
        assert value[1] == pytest.approx(fresnel(degrees), rel=5e-3)


@pytest.mark.parametrize(("degrees", "total"), [(30, False), (41, False), (42.5, True), (60, True)])
def test_reflection_is_total_beyond_the_critical_angle(light_of, degrees, total):
    """From within glass of index 1.5: 41.8 degrees. Between parallel faces it never comes out."""
    i = np.radians(degrees)
    ceiling = thing("ceiling", sheet(400, 400), Surface(BLACK, emission=WHITE), Pose((0, 0, 5)))
    world = replace(scene(slab(1.0, size=400), ceiling), background=(0.25, 0.25, 0.25))
    value, _ = seen(light_of, world, (0, 0, 1), (np.sin(i), 0, 1 + np.cos(i)))
    inside = np.degrees(np.arcsin(min(N * np.sin(i), 1)))
    # What the upper face mirrors leaves through the lower one, where the background is.
    share = fresnel(inside)
    expected = 0.25 if total else 1 - share + share * (1 - share) * 0.25
    assert value[1] == pytest.approx(expected, rel=5e-3)


def test_glass_of_index_one_cannot_be_seen(light_of):
    floor = thing("floor", sheet(20, 20), plain((0.7, 0.3, 0.2), 0.3))
    without = scene(floor, lights=[lamp(2, 1, 4, 20)], ambient=(0.2, 0.2, 0.2), background=(0.1, 0.2, 0.4))
    within = replace(without, things=(floor, thing("ball", ball(0.7, 3), glass(1.0), Pose((0, 0, 1)))))
    lens, state = lens_with_field("pinhole", (32, 24), 60), looking((-3, 0, 1.5), (0, 0, 0.8))
    pictures = []
    for world in (without, within):
        light = light_of(world)
        pictures.append(light.render(lens, [state]))
        light.close()
    assert np.abs(pictures[0] - pictures[1]).max() < 2e-3


def test_a_pane_without_thickness_does_not_bend(light_of):
    pane = thing("pane", sheet(40, 40), glass(colour=(1.0, 0.5, 1.0)), Pose((0, 0, 1)))
    for degrees in (0, 60):
        i = np.radians(degrees)
        value, _ = seen(light_of, scene(pane, ruler()), (-3 * np.tan(i), 0, 3), (0, 0, 0))
        passed = (1 - fresnel(degrees)) / (1 + fresnel(degrees))
        assert value[1] == pytest.approx(0.5 * passed, rel=2e-3)
        assert value[0] == pytest.approx(0.5 * passed, rel=5e-3)


def test_a_ball_of_glass_turns_the_world_upside_down(light_of):
    """Through the middle rays go straight; beside it, right is seen on the left."""
    lens_ball = thing("ball", ball(1.0, 4), glass())
    wall = replace(ruler(), pose=Pose((0, 0, -6)))
    light = light_of(scene(lens_ball, wall))
    values = [light.render(narrow(), [looking((0, 0, 6), (x, 0, 0))])[0, 0] for x in (-0.3, 0.0, 0.3)]
    light.close()
    left, middle, right = (value[0] / value[1] for value in values)
    assert middle == pytest.approx(0.5, abs=2e-3)
    assert left > 0.51
    assert right < 0.49


def test_labels_see_through_glass_without_a_class_only(light_of):
    for surface, class_id, expected in ((glass(), 0, 3), (glass(), 5, 5), (white(), 0, 0)):
        labelled = slab(0.1, surface, class_id=class_id, instance=1 if class_id else 0)
        _, labels = seen(light_of, scene(labelled, ruler()), (0, 0, 3), (0, 0, 0))
        assert labels.class_id[0, 0] == expected


def test_glass_throws_no_shadow(light_of):
    floor = thing("floor", sheet(20, 20), white())
    lit, through, dark = (
        seen(light_of, scene(floor, *slabs, lights=[lamp(0, 0, 3, 10)]), (3, 0, 0.5), (0, 0, 0))[0][1]
        for slabs in ((), (slab(0.1, size=2),), (slab(0.1, white(), size=2),))
    )
    assert lit == pytest.approx(through, rel=1e-6)
    assert dark < 0.01 * lit


def test_lidars_pass_clear_glass_unless_it_has_a_reflectance():
    floor = ruler()
    down = np.array([[0.0, 0, 3]]), np.array([[0.0, 0, -1]])
    half = Paint((glass(), white()), (np.arange(12) >= 12).astype(np.int64))
    for pane, distance in (
        (slab(0.1), 3),
        (slab(0.1, glass(reflectance=0.05)), 1.95),
        (slab(0.1, white()), 1.95),
        (replace(slab(0.1), paint=half), 3),
    ):
        rays = RestingRays([as_lidars_meet_it(each) for each in (pane, floor)])
        hits = rays.cast(*down)
        rays.close()
        assert hits.distance[0] == pytest.approx(distance)
        assert hits.thing[0] == (1 if distance == 3 else 0)
