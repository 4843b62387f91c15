"""Light against formulas: fall-off, cosine, the whole reflection, uniform surroundings, shadows, mirrors."""

from functools import cache

import numpy as np
import pytest
from light_scenes import ball, flat, lamp, looking, narrow, plain, scene, sheet, smooth, thing, white
from trimesh import creation

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.scene.model import PointLight, Surface
from simjudge.sim.sensors.camera.lens import lens_with_field

BLACK = (0.0, 0.0, 0.0)


def seen(make, world, scene_state, lens=None, rays=1):
    light = make(world)
    picture = light.render(lens or narrow(), [scene_state], rays)
    light.close()
    return picture


def spot(make, surface, place, strength=1.0, reach=1000.0, camera=(0, 0, 5), ambient=BLACK):
    """What one pixel sees of the origin of a large sheet under one lamp."""
    world = scene(thing("floor", sheet(), surface), lights=[lamp(*place, strength, reach)], ambient=ambient)
    return float(seen(make, world, looking(camera, (0, 0, 0)))[0, 0, 1])


def cook_torrance(colour, roughness, metallic, way, view):
    """Reflection of the default engine's surfaces at the normal z, textbook terms one by one, in float64.

    D: Walter et al. 2007, equation 33; G2: Heitz 2014, equation 99; F: Schlick 1994. The base by sums over the
    hemisphere, not by the engine's tables; what facets throw at one another: Kulla and Conty 2017.
    """
    alpha = max(roughness**2, 0.02)
    half = (way + view) / np.linalg.norm(way + view)
    dielectric = colour * base(alpha, 0.04, way[2], view[2]) + lobe(alpha, 0.04, way[2], view[2], half[2], half @ way)
    lost, mean = base(alpha, 1, way[2], view[2], with_mean=True)
    favg = colour + (1 - colour) / 21
    metal = lobe(alpha, colour, way[2], view[2], half[2], half @ way) + lost * favg**2 * (1 - mean) / (1 - favg * mean)
    return (1 - metallic) * dielectric + metallic * metal


def lobe(alpha, f0, n_l, n_v, n_h, l_h):
    tangent = (1 - n_h**2) / n_h**2
    d = alpha**2 / (np.pi * n_h**4 * (alpha**2 + tangent) ** 2)
    smith = [(-1 + np.sqrt(1 + alpha**2 * (1 - c**2) / c**2)) / 2 for c in (n_l, n_v)]
    f = f0 + (1 - f0) * (1 - l_h) ** 5
    return d * f / (1 + smith[0] + smith[1]) / (4 * n_l * n_v)


@cache
def base(alpha, f0, n_l, n_v, with_mean=False):
    """What the gloss of a reflectance leaves on the way in and out, over its mean and pi; and that mean."""
    z = (np.arange(200) + 0.5) / 200

    def left(mu):
        """One less what the gloss sends everywhere from a viewer at mu."""
        m, phi = np.meshgrid((np.arange(300) + 0.5) / 300, (np.arange(300) + 0.5) / 300 * 2 * np.pi)
        way = np.stack([np.sqrt(1 - m**2) * np.cos(phi), np.sqrt(1 - m**2) * np.sin(phi), m], -1)
        view = np.array([np.sqrt(1 - mu**2), 0, mu])
        half = (way + view) / np.linalg.norm(way + view, axis=-1, keepdims=True)
        return 1 - np.mean(lobe(alpha, f0, m, mu, half[..., 2], np.sum(half * way, -1)) * m) * 2 * np.pi

    coarse = [left(mu) for mu in z[::20]]
    mean = np.mean(np.interp(z, z[::20], coarse) * 2 * z)
    shared = left(n_l) * left(n_v) / mean / np.pi
    return (shared, mean) if with_mean else shared


@pytest.mark.parametrize("distance", [0.25, 0.5, 2.0, 7.0])
def test_a_lamp_falls_off_with_the_square_of_its_distance(light_of, distance):
    at_1, there = (spot(light_of, white(), (0, 0, d), camera=(3, 0, 3)) for d in (1, distance))
    assert there == pytest.approx(at_1 / distance**2, rel=1e-4)


@pytest.mark.parametrize(("part", "factor"), [(0.5, 1), (0.899, 1), (0.95, 0.5), (1.0, 0), (1.2, 0)])
def test_a_lamp_ends_at_its_range(light_of, part, factor):
    without, within = (spot(light_of, white(), (0, 0, 2), reach=r, camera=(3, 0, 3)) for r in (1000, 2 / part))
    assert within == pytest.approx(factor * without, rel=1e-3, abs=1e-7)


def test_a_white_surface_that_faces_a_lamp_has_the_radiance_that_the_scene_promises(light_of):
    assert spot(light_of, white(), (0, 0, 2), 3.0, camera=(0, 0.01, 1)) == pytest.approx(3 / (np.pi * 4), rel=0.01)


@pytest.mark.parametrize("degrees", [20, 40, 60, 75])
def test_a_matt_base_follows_the_cosine(light_of, degrees):
    """White less black is the base alone; the gloss above it takes a little more at low angles, here up to 5 %."""
    angle = np.radians(degrees)
    under, aslant = (
        spot(light_of, white(), place, camera=(0, 2, 2)) - spot(light_of, plain(BLACK), place, camera=(0, 2, 2))
        for place in ((0, 0, 2), (2 * np.sin(angle), 0, 2 * np.cos(angle)))
    )
    assert aslant / under == pytest.approx(np.cos(angle), rel=0.05)


@pytest.mark.parametrize("roughness", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("metallic", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("degrees", [10, 50, 70])
def test_a_lamp_is_reflected_as_cook_and_torrance_have_it(light_of, roughness, metallic, degrees):
    angle = np.radians(degrees)
    way = np.array([np.sin(angle) * np.cos(0.3), np.sin(angle) * np.sin(0.3), np.cos(angle)])
    view = np.array([-np.sin(0.7), 0, np.cos(0.7)])
    surface = Surface((0.6, 0.6, 0.6), None, roughness, metallic)
    measured = spot(light_of, surface, tuple(2 * way), 10.0, camera=tuple(5 * view))
    expected = cook_torrance(0.6, roughness, metallic, way, view) * 10 / 4 * way[2]
    assert measured == pytest.approx(expected, rel=1e-2, abs=1e-5)


def test_lamps_of_all_colours_add_up(light_of):
    lamps = [PointLight((0, 0, 2), (1, 0, 0), 100), PointLight((1, 0, 2), (0, 2, 0), 100), lamp(0, 1, 2)]
    floor, camera = thing("floor", sheet(), Surface((0.9, 0.5, 0.2), None, 0.4)), looking((0, 0, 5), (0, 0, 0))
    each = [seen(light_of, scene(floor, lights=[one]), camera) for one in lamps]
    assert seen(light_of, scene(floor, lights=lamps), camera) == pytest.approx(sum(each), rel=1e-5)


@pytest.mark.parametrize("metallic", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("roughness", [0.0, 0.3, 0.55, 1.0])
def test_a_white_ball_in_white_surroundings_cannot_be_seen(light_of, roughness, metallic):
    """The white furnace; two balls, so that they see each other."""
    surface = white(roughness, metallic)
    balls = [thing(name, ball(1, 4), surface, Pose((x, 0, 0))) for name, x in (("a", -1.1), ("b", 1.1))]
    world = scene(*balls, ambient=(1, 1, 1), background=(1, 1, 1))
    picture = seen(light_of, world, looking((0, -6, 0.5), (0, 0, 0)), lens_with_field("pinhole", (48, 32), 50))
    assert picture == pytest.approx(np.ones_like(picture), abs=1e-5)


@pytest.mark.parametrize("metallic", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("roughness", [0.0, 0.3, 0.8])
def test_a_grey_ball_in_white_surroundings_is_darker_than_they_are(light_of, metallic, roughness):
    grey = Surface((0.5, 0.5, 0.5), None, roughness, metallic)
    world = scene(thing("ball", ball(1, 4), grey), ambient=(1, 1, 1), background=(1, 1, 1))
    picture = seen(light_of, world, looking((0, -6, 0.5), (0, 0, 0)), lens_with_field("pinhole", (48, 48), 22))
    assert picture.max() <= 1 + 1e-5
    assert 0.35 < picture[20:28, 20:28].mean() < 0.6


@pytest.mark.parametrize("roughness", [0.5, 1.0])
def test_many_lamps_all_around_are_like_white_surroundings(mitsuba_light, roughness):
    """Lamps evenly on a ball of radius 10 that together give every surface the irradiance pi."""
    count, k = 1500, np.arange(1500) + 0.5
    z, turn = 1 - 2 * k / count, np.pi * (3 - np.sqrt(5)) * k
    places = 10 * np.stack([np.sqrt(1 - z**2) * np.cos(turn), np.sqrt(1 - z**2) * np.sin(turn), z], 1)
    strength = 4 * np.pi * 10**2 / count
    lamps = [lamp(*place, strength) for place in places.tolist()]
    # Far smaller than the lamps' distance, so that they come from infinity, almost.
    world = scene(thing("ball", ball(0.05, 5), white(roughness)), lights=lamps)
    picture = seen(mitsuba_light, world, looking((0, -1, 0.2), (0, 0, 0)), lens_with_field("pinhole", (16, 16), 3))
    assert picture == pytest.approx(np.ones_like(picture), abs=0.025)


def test_the_shadow_of_a_plate_is_where_geometry_has_it(light_of):
    """A square of 0.4 m, 1 m above the floor under a lamp at 3 m, throws a square of 0.6 m."""
    plate = thing("plate", flat(creation.box([0.4, 0.4, 0.001])), plain(BLACK), Pose((0.3, -0.2, 1.0)))
    world = scene(thing("floor", sheet(), white()), plate, lights=[lamp(0, 0, 3)])
    lens = lens_with_field("pinhole", (200, 200), 60)
    camera = looking((2.5, 0, 0.9), (0.45, -0.3, 0))
    picture = seen(light_of, world, camera, lens)[..., 0]
    rays = lens.rays() @ camera.camera.rotation_matrix().T
    down = rays[..., 2] < 0
    start = np.array(camera.camera.position)
    floor = start + rays * np.where(down, -start[2] / np.where(down, rays[..., 2], 1), 0)[..., None]
    beside = np.maximum(np.abs(floor[..., 0] - 0.45), np.abs(floor[..., 1] + 0.3)) - 0.3
    # The camera is lower than the plate: nothing but floor is below its horizon.
    near = down & (np.abs(floor[..., :2] - [0.45, -0.3]).max(-1) < 1.0)
    assert np.sum(near & (beside < 0)) > 500
    assert np.all(picture[near & (beside < -1e-3)] == 0)
    assert np.all(picture[near & (beside > 1e-3)] > 0)


def test_no_lamp_shines_through_or_on_the_dark_side(light_of):
    box = thing("box", flat(creation.box([1, 1, 1])), white())
    world = scene(box, lights=[lamp(0, 0, 3)])
    lens = narrow()
    assert seen(light_of, world, looking((0.1, 0, 5), (0.1, 0, 0)), lens).min() > 0
    assert seen(light_of, world, looking((5, 0.1, 0), (0, 0.1, 0)), lens).max() == 0
    assert seen(light_of, world, looking((0.1, 0, -5), (0.1, 0, 0)), lens).max() == 0


def test_a_lamp_within_a_solid_lights_nothing_outside(light_of):
    things = thing("box", flat(creation.box([1, 1, 1]))), thing("floor", sheet(), white(), Pose((0, 0, -0.5)))
    picture = seen(light_of, scene(*things, lights=[lamp(0, 0, 0.2)]), looking((3, 0, 3), (1.5, 0, -0.5)))
    assert picture.max() == 0


def test_a_mirror_shows_things_where_the_law_of_reflection_has_them(light_of):
    """The picture of a small ball in the floor is that of a ball below the floor."""
    place = np.array([1.5, 0.4, 0.5])
    world = scene(
        thing("floor", sheet(20, 20), white(0.0, 1.0)),
        thing("ball", ball(0.02, 3), plain((1.0, 0, 0)), Pose(tuple(place))),
        ambient=(0.5, 0.5, 0.5),
        background=(0, 0, 1),
    )
    lens, scene_state = lens_with_field("pinhole", (320, 240), 40), looking((-1, -0.3, 0.8), (1.5, 0, 0))
    red = seen(light_of, world, scene_state, lens, 16)[..., 0]
    for point in (place, place * [1, 1, -1]):
        x, y = lens.project(scene_state.camera.to_body(point))
        rows, columns = np.mgrid[int(y) - 6 : int(y) + 8, int(x) - 6 : int(x) + 8]
        weight = red[rows, columns]
        assert weight.sum() > 5
        assert np.sum(columns * weight) / weight.sum() == pytest.approx(x, abs=0.04)
        assert np.sum(rows * weight) / weight.sum() == pytest.approx(y, abs=0.04)


def test_a_mirror_sees_one_more_mirror_but_no_further(light_of):
    """The second surface shows lamps and ambient light; what it would mirror is taken to be ambient light."""
    world = scene(
        thing("floor", sheet(), white(0.0, 1.0)),
        thing("ceiling", sheet(), white(0.0, 1.0), Pose.from_euler(0, 0, 3, roll=np.pi)),
        ambient=(0.3, 0.3, 0.3),
        background=(1, 0, 0),
    )
    assert seen(light_of, world, looking((0, 0, 1), (1, 0, 0)))[0, 0] == pytest.approx([0.3] * 3, rel=0.02)


def test_rough_surfaces_mirror_less_sharply(light_of):
    """The edge of a dark half of the surroundings, in floors of growing roughness."""
    wall = thing("wall", flat(creation.box([0.1, 40, 40])), plain(BLACK), Pose((20, 20, 0)))
    widths = []
    for roughness in (0.0, 0.15, 0.3):
        world = scene(thing("floor", sheet(60, 60), white(roughness, 1.0)), wall, background=(1, 1, 1))
        lens = lens_with_field("pinhole", (256, 64), 50)
        picture = seen(light_of, world, looking((0, 0, 1), (3, 0, 0)), lens, 16)[40:, :, 0].mean(0)
        widths.append(np.sum((picture > 0.15) & (picture < 0.85)))
    assert widths[0] <= 2
    assert widths[0] < widths[1] < widths[2]


def test_where_nothing_is_there_is_the_background(light_of):
    world = scene(thing("floor", sheet(1, 1)), lights=[lamp(0, 0, 1)], background=(0.1, 0.2, 0.3))
    assert seen(light_of, world, looking((0, 0, 1), (0, 0, 2)))[0, 0] == pytest.approx([0.1, 0.2, 0.3])
    assert seen(light_of, scene(background=(0.1, 0.2, 0.3)), looking((0, 0, 1), (1, 0, 2)))[0, 0, 2] == pytest.approx(
        0.3
    )


def test_both_sides_of_a_sheet_are_lit_from_their_own_side(light_of):
    world = scene(thing("sheet", sheet(), white()), lights=[lamp(0, 0, -2)])
    assert seen(light_of, world, looking((0.1, 0, 3), (0, 0, 0))).max() == 0
    assert seen(light_of, world, looking((0.1, 0, -3), (0, 0, 0))).min() == pytest.approx(1 / (4 * np.pi), rel=0.01)


def test_smooth_normals_are_shaded_as_the_ball_that_they_stand_for(light_of):
    """A ball of few triangles with a ball's normals, against one of many: no facets."""

    def picture(subdivisions):
        world = scene(thing("ball", ball(1, subdivisions), white()), lights=[lamp(0, -8, 8, 200)])
        return seen(light_of, world, looking((0, -5, 0), (0, 0, 0)), lens_with_field("pinhole", (64, 64), 16), 4)

    assert picture(3) == pytest.approx(picture(6), rel=0.02, abs=0.01)


@pytest.mark.parametrize("solid", [creation.cone(0.04, 0.077, sections=12), creation.cylinder(0.5, 1, sections=8)])
def test_no_pixel_is_anything_but_a_finite_number(light_of, solid):
    """Also where a lamp touches a surface, normals vanish, triangles have no area, and rays run along a wall."""
    mesh = smooth(solid)
    mesh.normals[:3] = 0
    mesh.faces[0] = mesh.faces[0, 0]
    world = scene(
        thing("solid", mesh, white(0.0)),
        thing("floor", sheet(), white(0.1, 0.5)),
        lights=[lamp(0, 0, 0), lamp(0.1, 0, 0.0), lamp(0, 0, 0.5)],
        ambient=(0.1, 0.1, 0.1),
    )
    for camera in (
        looking((-1, 0, 0.0), (0, 0, 0)),
        looking((-1, 0, 0.2), (0, 0, 0)),
        looking((0, 0, 0.02), (1, 0, 0)),
    ):
        picture = seen(light_of, world, camera, lens_with_field("pinhole", (64, 48), 60), 4)
        assert np.isfinite(picture).all()
        assert picture.min() >= 0


def test_a_picture_is_upright_and_not_mirrored(light_of):
    """Red on the left (y > 0), green on the right, blue above, for a camera at the origin that looks along x."""

    def post(name, y, z, colour):
        return thing(name, flat(creation.box([0.2, 0.2, 0.2])), plain(colour), Pose((3, y, z)))

    world = scene(
        post("left", 0.7, 0, (1, 0, 0)),
        post("right", -0.7, 0, (0, 1, 0)),
        post("above", 0, 0.5, (0, 0, 1)),
        ambient=(1, 1, 1),
    )
    picture = seen(light_of, world, SceneState(Pose().optical_frame()), lens_with_field("pinhole", (90, 60), 50))
    places = [np.argwhere(picture[..., k] > picture.sum(-1) * 0.8).mean(0) for k in range(3)]
    assert places[0][1] < 30
    assert places[1][1] > 60
    assert places[2][0] < 20
    assert places[0][0] == pytest.approx(29.5, abs=1)
