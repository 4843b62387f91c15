"""Things that move all the time: rays are brought to a tree that is never built anew, and meet what they always met."""

from dataclasses import replace

import numpy as np
import pytest
from light_scenes import lamp
from test_light_labels import LENSES, cast_by_trimesh, random_pose, random_things

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.default import light as light_module
from simjudge.sim.engines.default.baked_engine import BakedLight
from simjudge.sim.engines.default.light import Light
from simjudge.sim.engines.default.variant import choose_variant, load_mitsuba
from simjudge.sim.scene.model import Scene, Surface

needs_mitsuba = pytest.mark.skipif(choose_variant() == "numpy", reason="Mitsuba does not run here")


@pytest.fixture
def trees():
    load_mitsuba()
    from simjudge.sim.engines.default import mitsuba_tracer  # noqa: PLC0415 - needs its variant set

    return mitsuba_tracer


@needs_mitsuba
@pytest.mark.parametrize("count", [1, 5, 8])
def test_rays_meet_things_that_move_where_trimesh_says(count, trees):
    import drjit as dr  # noqa: PLC0415 - likewise
    import mitsuba as mi  # noqa: PLC0415 - likewise

    things, rng = random_things(3, count), np.random.default_rng(count)
    parts = [trees.Part(k, each.mesh.vertices, each.mesh.vertices, each.mesh.faces) for k, each in enumerate(things)]
    tree = trees.make_tree(parts, moving=True)
    assert isinstance(tree, trees.RigidTree)
    thing_of = {shape: index for index, shape in tree.shapes.items()}
    for _ in range(3):
        poses = [random_pose(rng, 2) for _ in things]
        tree.move({}, np.array([pose.rotation_matrix() for pose in poses]), np.array([pose.position for pose in poses]))
        origins, ways = rng.uniform(-1, 6, (2000, 3)), rng.normal(size=(2000, 3))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        moved = [type(each)(**{**vars(each), "pose": pose}) for each, pose in zip(things, poses, strict=True)]
        expected, distance, _ = cast_by_trimesh(moved, origins, ways)
        start, way = mi.Vector3f(origins.T.astype("f")), mi.Vector3f(ways.T.astype("f"))
        found = tree.first(start, way, dr.inf, mi.Bool(True), together=False)
        valid = np.array(found.valid)
        thing = np.where(valid, [thing_of.get(int(shape), -1) for shape in np.array(found.shape)], -1)
        assert np.mean(thing != expected) < 2e-3  # rays along an edge
        same = (thing == expected) & valid
        assert np.array(found.distance)[same] == pytest.approx(distance[same], abs=2e-5)
        half = mi.Float((np.where(np.isfinite(distance), distance, 4) / 2).astype("f"))
        assert not np.array(tree.any(start, way, half, mi.Bool(True), together=False))[same].any()
        beyond = mi.Float((np.where(np.isfinite(distance), distance, 4) * 1.01).astype("f"))
        assert np.array(tree.any(start, way, beyond, mi.Bool(True), together=False))[same].all()


@needs_mitsuba
def test_pictures_are_the_same_with_either_tree(monkeypatch, trees):
    things = [
        type(each)(**{**vars(each), "motion": "scripted"}) if k < 3 else each for k, each in enumerate(random_things(1))
    ]
    world = Scene("s", tuple(things), (lamp(1, 0, 4), lamp(4, 3, 2)))
    state = SceneState(Pose().optical_frame(), {"thing0": Pose((4, 0.5, 0.2)), "thing1": Pose((3, -0.5, 0))})
    pictures = []
    for most in (8, 0):
        monkeypatch.setattr(trees, "_MOST", most)
        light = Light(world)
        pictures.append((light.render(LENSES["radial"], [state]), *light.labels(LENSES["radial"], state)))
    for one, other in zip(*pictures, strict=True):
        off = ~np.isclose(one.astype(float), other.astype(float), rtol=0, atol=1e-3)
        assert off.mean() < 2e-3  # rays along an edge


@needs_mitsuba
@pytest.mark.parametrize(("kind", "n"), [(Light, 4), (BakedLight, 1)])
def test_one_scene_a_kernel_as_a_gpu_needs_it_shows_the_same_picture(kind, n, monkeypatch, trees):
    glass = Surface(colour=(0.9, 0.9, 1.0), roughness=0.02, refractive_index=1.5)
    changes = [{"motion": "scripted"}, {"motion": "scripted"}, {"surface": glass}]
    things = random_things(1)
    things[:3] = [replace(each, **change) for each, change in zip(things, changes, strict=False)]
    world = Scene("s", tuple(things), (lamp(1, 0, 4), lamp(4, 3, 2), lamp(3, -3, 3)))
    poses = ({"thing0": Pose((4, 0.5, 0.2)), "thing1": Pose((3, -0.5, 0))}, {"thing0": Pose((4, 0.1, 0.2))})
    pictures, kernels = [], [set()]
    meets, host = trees.MitsubaTracer._meets, trees.MitsubaTracer.host

    def meet(tracer, tree):
        kernels[-1].add(id(tree))
        return meets(tracer, tree)

    def to_host(tracer, *arrays, places=None):
        kernels.append(set())
        return host(tracer, *arrays, places=places)

    monkeypatch.setattr(trees.MitsubaTracer, "_meets", meet)
    monkeypatch.setattr(trees.MitsubaTracer, "host", to_host)
    for one_scene in (False, True):
        monkeypatch.setattr(trees, "one_scene_a_kernel", lambda one_scene=one_scene: one_scene)
        light, shown = kind(world), []
        kernels[:] = [set()]
        for bodies in poses:
            state = SceneState(Pose().optical_frame(), bodies)
            shown += [light.render(LENSES["radial"], [state], n), *light.labels(LENSES["radial"], state)]
        pictures.append(shown)
        assert max(map(len, kernels)) == (1 if one_scene else 3)
    for one, other in zip(*pictures, strict=True):
        off = ~np.isclose(one.astype(float), other.astype(float), rtol=0, atol=1e-3)
        assert off.mean() < 2e-3  # rays along an edge


@needs_mitsuba
def test_a_kernel_that_would_hold_two_scenes_ends_with_an_error(monkeypatch, trees):
    monkeypatch.setattr(trees, "one_scene_a_kernel", lambda: True)
    tracer = Light(Scene("s", tuple(random_things(1)), (lamp(1, 0, 4),)))._tracer
    way = tracer.given(np.array([[0.0, 0.0, 1.0]], np.float32))
    tracer.hit(way, way, tracer.everywhere)
    with pytest.raises(SimjudgeError, match="two scenes"):
        tracer.hidden(way, way, 1.0, tracer.everywhere)


def test_labels_after_a_picture_are_those_without_one():
    light, lens = Light(Scene("s", tuple(random_things(2)), (lamp(1, 0, 4),))), LENSES["fov"]
    states = [SceneState(Pose((x, 0, 0)).optical_frame(), {}) for x in (0.0, 0.4)]
    alone = [light.labels(lens, state) for state in states]
    light.render(lens, states[:1])
    assert light._known_labels is not None
    for state, expected in zip(states, alone, strict=True):
        for one, other in zip(light.labels(lens, state), expected, strict=True):
            assert np.array_equal(one, other)


def test_labels_of_a_picture_are_not_those_of_things_elsewhere():
    things = [
        type(random_thing)(**{**vars(random_thing), "motion": "free", "mass": 1.0}) for random_thing in random_things(2)
    ]
    light, lens = light_module.Light(Scene("s", tuple(things), (lamp(1, 0, 4),))), LENSES["fov"]
    here = SceneState(Pose().optical_frame(), {})
    moved = SceneState(Pose().optical_frame(), {"thing1": Pose((2, 0, 0))})
    expected = light.labels(lens, moved)
    light.render(lens, [here])
    assert np.array_equal(light.labels(lens, moved).instance, expected.instance)
    assert not np.array_equal(light.labels(lens, here).instance, expected.instance)
