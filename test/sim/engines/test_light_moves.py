"""Pictures that repeat to the byte, bodies that move and come back, exposures over several instants, and refusals."""

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from light_scenes import ball, flat, lamp, looking, plain, scene, sheet, thing, white
from trimesh import creation

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.default.light import Light
from simjudge.sim.sensors.camera.lens import lens_with_field

LENS = lens_with_field("radial", (75, 50), 70, (-0.2, 0.02, 0))
CAMERA = looking((-2, 0.3, 1), (1, 0, 0)).camera
ELSEWHERE = {"ball": Pose((1, -0.5, 0.6)), "box": Pose.from_euler(1.5, 0.8, 0.4, yaw=0.5, roll=0.4)}
IN_A_PROCESS = """
import sys, hashlib
sys.path[:0] = {folders!r}
import test_light_moves as t
from simjudge.sim.engines.default.light import Light
print(t.digest(Light(t.world())))
"""


def free(name, mesh, surface, pose, number):
    return thing(name, mesh, surface, pose, class_id=number, instance=number, motion="free", mass=1.0)


def world(**poses):
    at_first = {"ball": Pose((0.5, 0.4, 0.3)), "box": Pose((0.8, -0.4, 0.25)), **poses}
    rng = np.random.default_rng(0)
    texture = rng.random((32, 32, 3)).astype(np.float32)
    return scene(
        thing("floor", sheet(8, 8), white(0.3, texture=texture)),
        free("ball", ball(0.3, 3), plain((0.8, 0.1, 0.1), 0.4), at_first["ball"], 1),
        free("box", flat(creation.box([0.4, 0.3, 0.5])), plain((0.1, 0.2, 0.8)), at_first["box"], 2),
        lights=[lamp(0, 0, 3, 3), lamp(2, 2, 2, 3)],
        ambient=(0.1, 0.1, 0.1),
        background=(0.2, 0.3, 0.4),
    )


def digest(light):
    """Of a picture with moved bodies and motion blur, and of labels."""
    scene_states = [SceneState(CAMERA), SceneState(CAMERA, ELSEWHERE)]
    picture, labels = light.render(LENS, scene_states, 4), light.labels(LENS, scene_states[1])
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in (picture, *labels))).hexdigest()


def test_the_same_arguments_give_the_same_bytes(light_of):
    first, second = light_of(world()), light_of(world())
    assert digest(first) == digest(first) == digest(second)


def test_another_process_gives_the_same_bytes(mitsuba_light):
    code = IN_A_PROCESS.format(folders=[str(folder) for folder in Path(__file__).parents[:3]])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(mitsuba_light(world()))


def test_bodies_move_and_come_back(light_of):
    light = light_of(world())
    at_first, elsewhere = SceneState(CAMERA), SceneState(CAMERA, ELSEWHERE)
    before, labels = light.render(LENS, [at_first]), light.labels(LENS, at_first)
    moved, moved_labels = light.render(LENS, [elsewhere]), light.labels(LENS, elsewhere)
    there = light_of(world(**ELSEWHERE))
    assert np.mean(moved_labels.instance == there.labels(LENS, at_first).instance) > 0.998
    assert moved == pytest.approx(there.render(LENS, [at_first]), abs=0.05)
    assert np.mean(np.abs(moved - there.render(LENS, [at_first]))) < 1e-4
    assert np.mean(moved_labels.instance != labels.instance) > 0.02
    assert light.render(LENS, [at_first]).tobytes() == before.tobytes()
    again = light.labels(LENS, at_first)
    assert all(np.array_equal(a, b) for a, b in zip(again, labels, strict=True))


def test_one_body_moves_alone(light_of):
    light = light_of(world())
    light.labels(LENS, SceneState(CAMERA, ELSEWHERE))
    one = light.labels(LENS, SceneState(CAMERA, {"box": ELSEWHERE["box"]}))
    assert np.array_equal(one.instance, light_of(world(box=ELSEWHERE["box"])).labels(LENS, SceneState(CAMERA)).instance)


def test_rays_find_bodies_where_they_are_said_to_be(light_of):
    light = light_of(world())
    down = [[0, 0, -1]]
    assert light.cast_rays([[0.5, 0.4, 5]], down).distance == pytest.approx([5 - 0.6], abs=5e-3)
    assert light.cast_rays([[0.5, 0.4, 5]], down, {"ball": Pose((1, 1, 1))}).distance == pytest.approx([5])
    assert light.cast_rays([[1, 1, 5]], down, {"ball": Pose((1, 1, 1))}).thing == [1]
    turned = light.cast_rays([[0.8, -0.4, 5]], down, {"box": Pose.from_euler(0.8, -0.4, 1, roll=np.pi / 4)})
    assert np.abs(turned.normal[0]) == pytest.approx([0, np.sqrt(0.5), np.sqrt(0.5)], abs=1e-5)


def test_an_exposure_is_the_mean_of_its_scene_states(light_of):
    light = light_of(world())
    scene_states = [
        SceneState(CAMERA),
        SceneState(CAMERA, ELSEWHERE),
        SceneState(looking((-2, 0.4, 1), (1, 0, 0)).camera),
    ]
    each = [light.render(LENS, [scene_state]) for scene_state in scene_states]
    assert light.render(LENS, scene_states) == pytest.approx(np.mean(each, axis=0), abs=1e-6)


def test_rays_are_dealt_to_the_scene_states(light_of):
    """Each instant gets its share of the rays of a pixel, all that there are together."""
    light = light_of(world())
    still = light.render(LENS, [SceneState(CAMERA)], 4)
    for count in (2, 4):
        assert light.render(LENS, [SceneState(CAMERA)] * count, 4) == pytest.approx(still, abs=1e-5)
    apart = [
        light.render(LENS, [scene_state] * 2, 4) for scene_state in (SceneState(CAMERA), SceneState(CAMERA, ELSEWHERE))
    ]
    both = light.render(LENS, [SceneState(CAMERA), SceneState(CAMERA, ELSEWHERE)], 4)
    assert np.abs(both - np.mean(apart, axis=0)).mean() < 0.02


def test_more_rays_sharpen_what_one_ray_aliases(light_of):
    """The mean of 64 rays differs less from that of 16 than from one ray alone."""
    light = light_of(world())
    one, some, many = (light.render(LENS, [SceneState(CAMERA)], rays) for rays in (1, 16, 64))
    assert np.abs(many - some).mean() < 0.35 * np.abs(many - one).mean()


def test_subsamples_lie_on_the_grid_that_is_documented(light_of):
    """Four rays a pixel are one ray a pixel of a lens twice as fine, averaged; matt surfaces, which have no grain."""
    matt = scene(
        thing("floor", sheet(8, 8), plain((0.5, 0.4, 0.3), 1.0)),
        thing("box", flat(creation.box([1, 1, 1])), plain((0.1, 0.2, 0.8), 1.0)),
        lights=[lamp(-2, 1, 3, 3)],
    )
    light = light_of(matt)
    coarse = light.render(lens_with_field("pinhole", (40, 30), 60), [SceneState(CAMERA)], 4)
    fine = light.render(lens_with_field("pinhole", (80, 60), 60), [SceneState(CAMERA)], 1)
    assert coarse == pytest.approx(fine.reshape(30, 2, 40, 2, 3).mean((1, 3)), abs=2e-5)


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (5, 7), (17, 13)])
def test_pictures_of_any_size(light_of, size):
    lens = lens_with_field("pinhole", size, 40)
    light = light_of(world())
    assert light.render(lens, [SceneState(CAMERA)], 9).shape == (size[1], size[0], 3)
    assert light.labels(lens, SceneState(CAMERA)).depth.shape == (size[1], size[0])


def test_a_wavefront_more_changes_nothing(light_of, monkeypatch):
    whole = light_of(world()).render(LENS, [SceneState(CAMERA)], 4)
    light = light_of(world())
    monkeypatch.setattr(type(light._tracer), "wavefront", 1000)
    assert light.render(LENS, [SceneState(CAMERA)], 4).tobytes() == whole.tobytes()


def test_both_tracers_paint_the_same_picture(mitsuba_light, monkeypatch):
    scene_states = [SceneState(CAMERA), SceneState(CAMERA, ELSEWHERE)]
    picture = mitsuba_light(world()).render(LENS, scene_states, 4)
    monkeypatch.setattr("simjudge.sim.engines.default.light.choose_variant", lambda: "numpy")
    other = Light(world()).render(LENS, scene_states, 4)
    assert np.abs(picture - other).mean() < 1e-4
    assert np.mean(np.abs(picture - other) > 2e-3) < 5e-3


@pytest.mark.parametrize("rays", [0, -4, 2, 3, 8])
def test_numbers_of_rays_that_fit_no_grid_are_refused(rays):
    with pytest.raises(UsageError, match="rays per pixel"):
        Light(world()).render(LENS, [SceneState(CAMERA)], rays)


def test_what_makes_no_sense_is_refused():
    light = Light(world())
    with pytest.raises(UsageError, match="instant"):
        light.render(LENS, [])
    with pytest.raises(UsageError, match="'nobody'"):
        light.labels(LENS, SceneState(CAMERA, {"nobody": Pose()}))
    with pytest.raises(UsageError, match="'nobody'"):
        light.render(LENS, [SceneState(CAMERA), SceneState(CAMERA, {"nobody": Pose()})])


def test_names_are_the_scenes_and_then_the_extra_ones():
    extra = thing("vehicle", ball(0.1, 1)), thing("vehicle/wheel", ball(0.1, 1))
    light = Light(world(), extra)
    assert light.names == ("floor", "ball", "box", "vehicle", "vehicle/wheel")
    assert light.cast_rays([[5, 5, 5]], [[0, 0, -1]], {"vehicle": Pose((5, 5, 0))}).thing == [3]
