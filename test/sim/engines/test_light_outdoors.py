"""Sun, sky, fog and what shines, against formulas, on both tracers."""

from dataclasses import replace

import numpy as np
import pytest
from light_scenes import ball, lamp, looking, narrow, plain, scene, sheet, thing, white

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.default.packed import sky_light
from simjudge.sim.scene.model import Fog, Sky, Sun, Surface
from simjudge.sim.sensors.camera.lens import lens_with_field

BLACK = (0.0, 0.0, 0.0)


def sun(azimuth=0.0, elevation=60.0, irradiance=3.0):
    a, e = np.radians([azimuth, elevation])
    towards = (np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e))
    return Sun(tuple(float(x) for x in towards), (irradiance,) * 3)


def pixel(make, world, start, to):
    light = make(world)
    value = light.render(narrow(), [looking(start, to)])[0, 0]
    light.close()
    return value


def uneven_sky(rows=128, seed=0):
    """Bright above, dark below, a small very bright place, and grain."""
    random = np.random.default_rng(seed)
    elevation = (0.5 - (np.arange(rows) + 0.5) / rows) * np.pi
    image = np.where(elevation[:, None, None] > 0, [0.4, 0.6, 1.0], [0.2, 0.15, 0.1]) * np.ones((rows, 2 * rows, 1))
    image *= random.uniform(0.5, 1.5, (rows, 2 * rows, 1))
    image[rows // 4 : rows // 4 + 4, rows // 2 : rows // 2 + 4] = 60.0
    return image.astype(np.float32)


def full_integral(image, normal):
    """Irradiance / pi of a surface: the sum over each of the panorama's own texels, in float64."""
    rows, columns = image.shape[:2]
    elevation = (0.5 - (np.arange(rows) + 0.5) / rows)[:, None] * np.pi
    azimuth = (0.5 - (np.arange(columns) + 0.5) / columns)[None] * 2 * np.pi
    towards = [
        np.cos(elevation) * np.cos(azimuth),
        np.cos(elevation) * np.sin(azimuth),
        np.sin(elevation) + 0 * azimuth,
    ]
    cosine = np.maximum(sum(n * d for n, d in zip(normal, towards, strict=True)), 0)
    solid_angle = np.cos(elevation) * (np.pi / rows) * (2 * np.pi / columns)
    return np.einsum("hw,hwc->c", cosine * solid_angle, image.astype(np.float64)) / np.pi


@pytest.mark.parametrize("elevation", [90, 50, 20])
def test_the_sun_is_a_lamp_far_away(light_of, elevation):
    surface, camera = Surface((0.6, 0.4, 0.2), None, 0.4), ((-3, 1, 4), (0, 0, 0))
    floor, there = thing("floor", sheet(), surface), sun(25, elevation)
    far = lamp(*(1e4 * np.array(there.direction)), 3.0 * 1e8, 1e9)
    by_lamp = pixel(light_of, scene(floor, lights=[far]), *camera)
    assert pixel(light_of, replace(scene(floor), sun=there), *camera) == pytest.approx(by_lamp, rel=1e-3)


def test_a_white_surface_that_faces_the_sun_has_the_radiance_that_the_scene_promises(light_of):
    world = replace(scene(thing("floor", sheet(), white())), sun=sun(0, 90, 2.0))
    assert pixel(light_of, world, (0, 0.01, 3), (0, 0, 0)) == pytest.approx(2 / np.pi, rel=0.01)


@pytest.mark.parametrize(("azimuth", "elevation"), [(0, 45), (120, 60), (-70, 30)])
def test_a_plate_throws_its_shadow_where_the_angles_have_it(light_of, azimuth, elevation):
    """A plate of 1 x 1 m, 2 m up: its shadow is 2 / tan(elevation) away, opposite to the sun, with hard edges."""
    plate = thing("plate", sheet(1, 1), plain(BLACK), Pose((0, 0, 2)))
    world = replace(scene(thing("floor", sheet(), white()), plate), sun=sun(azimuth, elevation))
    a = np.radians(azimuth)
    centre = -2 / np.tan(np.radians(elevation)) * np.array([np.cos(a), np.sin(a)])
    for shift, lit in ((0.495, False), (0.505, True)):
        for step in ((shift, 0), (-shift, 0), (0, shift), (0, -shift)):
            x, y = centre + step
            # From below the plate, nearly level, so that it hides nothing.
            value = pixel(light_of, world, (x + 1e-3, y, 0.02), (x, y, 0))
            assert (value[1] > 0.05) == lit


@pytest.mark.parametrize(("yaw", "azimuth"), [(0, 0), (0, 90), (0, -135), (40, 90)])
def test_the_sky_is_seen_where_its_picture_has_it(light_of, yaw, azimuth):
    """One texel shines: its column is the azimuth, to the left of the middle, its row the elevation."""
    image = np.zeros((90, 180, 3), np.float32)
    column, row = round((180 - azimuth) / 2 - 0.5), round((90 - 31) / 2 - 0.5)
    image[row, column % 180] = (5, 6, 7)
    a, e = np.radians(180 - (column + 0.5) * 2 + yaw), np.radians(90 - (row + 0.5) * 2)
    towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    world = replace(scene(thing("far", sheet(1, 1), pose=Pose((0, 0, -50)))), sky=Sky(image, np.radians(yaw)))
    beside = np.array([np.cos(e) * np.cos(a + 0.05), np.cos(e) * np.sin(a + 0.05), np.sin(e)])
    light = light_of(world)
    for direction, value in ((towards, (5, 6, 7)), (beside, (0, 0, 0))):
        seen = light.render(narrow(), [looking((0, 0, 0), direction)])[0, 0]
        assert seen == pytest.approx(value, rel=1e-3, abs=1e-4)
    light.close()


def test_straight_up_and_down_and_the_seam_show_no_other_edge(light_of):
    image = np.zeros((32, 64, 3), np.float32)
    image[:16] = 1.0
    light = light_of(replace(scene(thing("far", sheet(1, 1), pose=Pose((0, 0, -500)))), sky=Sky(image)))
    for towards, value in (((0, 0, 1), 1), ((0, 0, -1), 0), ((-1, 1e-4, 0.3), 1), ((-1, -1e-4, 0.3), 1)):
        seen = light.render(lens_with_field("pinhole", (4, 4), 4), [looking((9, 9, 0), np.add((9, 9, 0), towards))])
        assert seen == pytest.approx(np.full_like(seen, value), abs=1e-5)
    light.close()


def test_the_sky_lights_as_its_full_integral_has_it(light_of):
    """To 1 % of the mean: irradiance of 60 normals against the sum over all texels."""
    image = uneven_sky()
    random = np.random.default_rng(1)
    normals = random.normal(size=(60, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    light = light_of(replace(scene(thing("a", sheet())), sky=Sky(image)))
    t = light._tracer
    (measured,) = t.host(light._integrator._surroundings.ambient(t.given(normals.astype(np.float32))))
    light.close()
    expected = np.array([full_integral(image, normal) for normal in normals])
    assert np.abs(measured - expected).max() < 0.01 * expected.mean()


def test_an_even_sky_lights_evenly():
    assert sky_light(np.full((2, 4, 3), 0.7, np.float32)) == pytest.approx(np.full((32, 128, 3), 0.7), rel=1e-6)


@pytest.mark.parametrize("roughness", [0.0, 0.4, 1.0])
def test_a_white_ball_under_an_even_white_sky_cannot_be_seen(light_of, roughness):
    world = scene(thing("ball", ball(1, 4), white(roughness)))
    light = light_of(replace(world, sky=Sky(np.ones((2, 4, 3), np.float32))))
    picture = light.render(lens_with_field("pinhole", (24, 16), 50), [looking((0, -4, 0.5), (0, 0, 0))])
    light.close()
    assert picture == pytest.approx(np.ones_like(picture), abs=1e-5)


@pytest.mark.parametrize("distance", [1.0, 20.0, 150.0])
def test_fog_takes_what_koschmieder_says(light_of, distance):
    fog = Fog(0.02, (0.5, 0.6, 0.7))
    world = scene(thing("lamp", sheet(), Surface(BLACK, emission=(2.0, 1.0, 0.5))))
    clear = np.exp(-0.02 * distance)
    expected = np.array([2.0, 1.0, 0.5]) * clear + np.array(fog.radiance) * (1 - clear)
    assert pixel(light_of, replace(world, fog=fog), (0, 0, distance), (0, 0, 0)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("height", "elevation"), [(0, 90), (0, 10), (4, 30), (20, 30), (0, -1e-3), (20, -20)])
def test_fog_ends_at_its_ceiling(light_of, height, elevation):
    """A ray to the sky passes as much fog as lies below 10 m; one that goes down below it never leaves it."""
    world = replace(scene(thing("far", sheet(1, 1), pose=Pose((0, 999, 0)))), background=(1.0, 1.0, 1.0))
    world = replace(world, fog=Fog(0.1, BLACK, 10.0))
    e = np.radians(elevation)
    inside = (10 - height) / np.sin(e) if height < 10 and e > 0 else 0.0 if height > 10 and e > 0 else np.inf
    value = pixel(light_of, world, (0, 0, height), (np.cos(e), 0, height + np.sin(e)))
    assert value == pytest.approx(np.full(3, np.exp(-0.1 * inside)), rel=1e-3, abs=1e-6)


def test_what_shines_has_its_radiance_everywhere_and_multiplies_its_texture(light_of):
    texture = np.array([[[1.0, 0.5, 0.25]]], np.float32)
    shining = Surface(BLACK, texture, emission=(0.8, 0.8, 0.8))
    world = scene(thing("screen", sheet(), shining), thing("other", sheet(1, 1), plain(BLACK), Pose((0, 50, 1))))
    for start in ((0, 0, 5), (3, 0, 1)):
        assert pixel(light_of, world, start, (0, 0, 0)) == pytest.approx([0.8, 0.4, 0.2], rel=1e-4)
    dark = pixel(light_of, world, (0, 50, 5), (0, 50, 1))
    assert dark == pytest.approx(np.zeros(3), abs=1e-6)


def test_a_mirror_shows_the_sky_the_sun_lit_and_the_fog(light_of):
    """A perfect mirror on the floor: what is seen in it is what is seen in its direction, times its reflectance."""
    image = uneven_sky(16)
    mirror = thing("mirror", sheet(), Surface((1.0, 1.0, 1.0), None, 0.0, 1.0))
    world = replace(scene(mirror), sky=Sky(image))
    towards = np.array([0.6, 0.3, 0.5])
    direct = pixel(light_of, world, (0, 0, 1), np.add((0, 0, 1), towards))
    mirrored = pixel(light_of, world, towards * (-1, -1, 1), (0, 0, 0))
    assert mirrored == pytest.approx(direct, rel=0.02)


def test_labels_are_what_they_were(light_of):
    things = (thing("floor", sheet()), thing("ball", ball(1, 2), class_id=2, instance=7, pose=Pose((0, 0, 1))))
    bare = scene(*things)
    dressed = replace(
        bare,
        sun=sun(),
        sky=Sky(uneven_sky(8)),
        fog=Fog(0.5, (1, 1, 1)),
        things=tuple(replace(each, surface=Surface(emission=(1, 1, 1))) for each in things),
    )
    lens, state = lens_with_field("pinhole", (32, 24), 60), SceneState(looking((-4, 0, 1), (0, 0, 1)).camera)
    before, after = (light_of(world).labels(lens, state) for world in (bare, dressed))
    for one, other in zip(before, after, strict=True):
        assert np.array_equal(one, other)
