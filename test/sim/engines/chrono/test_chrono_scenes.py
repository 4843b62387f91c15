"""What Chrono is told of a scene: numbers by Chrono's own formulas, against ours."""

import math

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.scenes import (
    dim_lights,
    hull_points,
    plan_body,
    plan_light,
    plan_material,
    plan_scene,
    solid_inertia,
    wavefront,
)
from simjudge.sim.scene.model import Collider, Fog, Mesh, PointLight, Scene, Sky, Sun, Surface, Thing

CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], float)


def cuboid():
    """1 x 2 x 3, a corner at the origin; only its vertices matter here."""
    faces = np.array([[0, 1, 3], [0, 3, 2]])
    return Mesh(CORNERS, faces, np.zeros((8, 2)), np.tile([0.0, 0, 1], (8, 1)))


def thing(**more):
    return Thing("thing", cuboid(), Surface(), **more)


def lit_by_chrono(light, distance, albedo=1.0):
    """CheckVisibleAndSamplePointLight and the LEGACY shader's diffuse term at normal incidence, 10.0.0 on."""
    fall_off = 1.0 if light.const_color else 0.01 * light.max_range**2 / distance**2
    return albedo * light.colour[0] * fall_off


@pytest.mark.parametrize("age", ["10", "head"])
@pytest.mark.parametrize("distance", [0.3, 1.0, 7.5])
def test_a_lamp_lights_as_physics_has_it(age, distance):
    lamp = PointLight((0, 0, 2), (8.0, 4.0, 2.0), 20.0)
    planned = plan_light(lamp, age)
    assert lit_by_chrono(planned, distance) == pytest.approx(8 / (math.pi * distance**2))
    assert planned.colour[0] / planned.colour[2] == pytest.approx(4)


def test_up_to_9_a_lamp_is_right_at_one_distance():
    lamp = PointLight((0, 0, 2), (8.0, 8.0, 8.0), 20.0)
    planned = plan_light(lamp, "9")
    assert planned.const_color is None
    at = {d: planned.colour[0] * 400 / (d**2 + 400) for d in (2.0, 4.0)}
    assert at[2.0] == pytest.approx(8 / (math.pi * 4))
    assert at[4.0] > 1.5 * 8 / (math.pi * 16)


def test_ambient_light_is_right_on_the_mean_of_a_sphere():
    plan = plan_scene(Scene("s", (), (), ambient=(0.2, 0.3, 0.4), background=(0.1, 0.1, 0.1)), "head")
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 1, (2, 200_000))
    on = x**2 + y**2 < 1
    up, towards = y[on], np.sqrt(1 - x[on] ** 2 - y[on] ** 2)
    seen = plan.ambient[0] * (towards + up / 2 + 0.5)
    assert seen.mean() == pytest.approx(0.2, rel=0.005)
    assert plan.background == (0.1, 0.1, 0.1)


def test_the_sun_lights_what_faces_it_as_physics_has_it():
    """ChOptixDirectionalLight.cu: light_dir = (cos el cos az, cos el sin az, sin el), and no 1/pi, as of lamps."""
    direction = (-0.48, 0.64, 0.6)
    sun = plan_scene(Scene("s", (), (), sun=Sun(direction, (3.0, 2.0, 1.0))), "10").sun
    flat = math.cos(sun.elevation)
    towards = (flat * math.cos(sun.azimuth), flat * math.sin(sun.azimuth), math.sin(sun.elevation))
    assert towards == pytest.approx(direction)
    assert sun.colour == pytest.approx((3 / math.pi, 2 / math.pi, 1 / math.pi))


def test_a_gradient_is_chronos_own_and_lights_by_its_mean():
    """miss.cu: max(0, z) zenith + (1 - max(0, z)) horizon. Over all directions max(0, z) is 1/4 on the mean."""
    zenith, horizon = (0.2, 0.4, 0.8), (0.6, 0.6, 0.6)
    rows = 256
    z = np.sin((0.5 - (np.arange(rows) + 0.5) / rows) * np.pi)
    image = np.array(horizon) + np.maximum(z, 0)[:, None] * (np.array(zenith) - np.array(horizon))
    sky = Sky(np.repeat(image[:, None], 2 * rows, 1).astype(np.float32), gradient=(zenith, horizon))
    plan = plan_scene(Scene("s", (), (), sky=sky, ambient=(0.1, 0.1, 0.1)), "10")
    assert (plan.background, plan.horizon) == (zenith, horizon)
    mean = 0.25 * np.array(zenith) + 0.75 * np.array(horizon) + 0.1
    assert np.array(plan.ambient) * 7 / 6 == pytest.approx(mean, rel=1e-3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sky": Sky(np.ones((2, 4, 3), np.float32))}, "s: it does not show a picture of the sky: take a gradient"),
        ({"fog": Fog(0.1, (1, 1, 1))}, "s: it does not show fog: remove it"),
        (
            {"things": (Thing("lamp", cuboid(), Surface(emission=(1, 1, 1))),)},
            "s: it does not show emission: remove it from lamp",
        ),
        (
            {"things": (Thing("pane", cuboid(), Surface(refractive_index=1.5)),)},
            "s: it does not show glass: remove the refractive_index of pane",
        ),
        (
            {"things": (Thing("wall", cuboid(), Surface(normal_map=np.ones((1, 1, 3), np.float32))),)},
            "s: it does not show normal maps: remove that of wall",
        ),
    ],
)
def test_looks_that_chrono_has_not_are_refused(fields, message):
    with pytest.raises(SimjudgeError, match=message):
        plan_scene(Scene(**{"name": "s", "things": (), "lights": ()} | fields), "head")


def test_dimming_is_of_everything():
    lamp = PointLight((0, 0, 2), (8.0, 4.0, 2.0), 20.0)
    sun = Sun((0, 0, 1), (2.0, 2.0, 2.0))
    plan = plan_scene(Scene("s", (thing(),), (lamp,), ambient=(0.2,) * 3, background=(0.4,) * 3, sun=sun), "head")
    half = dim_lights(plan, 0.5)
    assert half.lights[0].colour == pytest.approx([c / 2 for c in plan.lights[0].colour])
    assert half.ambient == pytest.approx([c / 2 for c in plan.ambient])
    assert half.background == pytest.approx((0.2,) * 3)
    assert half.horizon == pytest.approx((0.2,) * 3)
    assert half.sun.colour == pytest.approx([c / 2 for c in plan.sun.colour])
    assert half.bodies == plan.bodies


def test_a_texture_is_baked_so_that_chrono_decodes_what_we_mean():
    texture = np.array([[[0.5, 0.25, 1.0], [0.0, 0.1, 0.9]]], np.float32)
    planned = plan_material(Surface((0.5, 1.0, 0.8), texture, 0.6), 1, 2, "cone")
    decoded = (planned.texture / 255.0) ** 2.2
    assert decoded == pytest.approx(texture * [0.5, 1.0, 0.8], abs=0.01)
    assert (planned.class_id, planned.instance, planned.roughness) == (1, 2, pytest.approx(0.36))
    assert plan_material(Surface(roughness=0.0), 0, 0, "mirror").roughness == 0.02


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(SimjudgeError, match="cone: class 1, instance 70000"):
        plan_material(Surface(), 1, 70000, "cone")


def test_free_things_have_mass_and_static_ones_none():
    free = plan_body(thing(motion="free", mass=2.0, collider=Collider("box", (1, 2, 3), (0.5, 1, 1.5))))
    fixed = plan_body(thing(mass=2.0))
    assert (free.fixed, free.mass, free.centre) == (False, 2.0, (0.5, 1, 1.5))
    assert (fixed.fixed, fixed.mass) == (True, 0.0)


def test_inertia_of_a_hull_is_its_boxs():
    centre, inertia = solid_inertia(Collider("hull"), cuboid(), 2.0)
    by_formula = 2.0 / 12 * np.diag([4 + 9, 1 + 9, 1 + 4])
    assert centre == pytest.approx((0.5, 1.0, 1.5))
    assert inertia == pytest.approx(by_formula, abs=1e-12)
    boxed = solid_inertia(Collider("box", (1, 2, 3), (0.5, 1, 1.5)), cuboid(), 2.0)
    assert boxed[0] == (0.5, 1, 1.5)
    assert boxed[1] == pytest.approx(by_formula)


def test_inertia_of_a_cylinder_and_of_nothing():
    _, inertia = solid_inertia(Collider("cylinder", (0.1, 0.4)), cuboid(), 3.0)
    assert np.diag(inertia) == pytest.approx([3 * (3 * 0.01 + 0.16) / 12] * 2 + [3 * 0.01 / 2])
    centre, ball = solid_inertia(Collider(), cuboid(), 1.0)
    assert centre == (0, 0, 0)
    assert (np.diag(ball) > 0).all()


def test_hulls_are_their_corners_only():
    mesh = cuboid()
    inside = Mesh(np.vstack([mesh.vertices, [[0.5, 1, 1]]]), mesh.faces, mesh.uv, mesh.normals)
    assert {tuple(p) for p in hull_points(inside).tolist()} == {tuple(p) for p in CORNERS.tolist()}


def test_wavefront_comes_back():
    rng = np.random.default_rng(0)
    vertices = rng.normal(size=(30, 3))
    normals = vertices / np.linalg.norm(vertices, axis=1, keepdims=True)
    mesh = Mesh(vertices, rng.permutation(30).reshape(-1, 3), rng.random((30, 2)), normals)
    rows = {"v": [], "vt": [], "vn": [], "f": []}
    for line in wavefront(mesh).splitlines():
        kind, *values = line.split()
        rows[kind].append(values)
    corners = np.array([[corner.split("/") for corner in face] for face in rows["f"]], int) - 1
    for column, (kind, given) in enumerate({"v": vertices, "vt": mesh.uv, "vn": normals}.items()):
        assert np.array(rows[kind], float)[corners[..., column]] == pytest.approx(given[mesh.faces], abs=1e-8)


def test_poses_and_things_go_over_in_order():
    things = tuple(Thing(name, cuboid(), Surface(), Pose((i, 0, 0))) for i, name in enumerate("abc"))
    plan = plan_scene(Scene("s", things, ()), "10")
    assert [body.name for body in plan.bodies] == list("abc")
    assert plan.bodies[2].pose.position == (2, 0, 0)
