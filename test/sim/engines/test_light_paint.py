"""A thing of several surfaces: to the eye it is as many things, to labels and rays one."""

from dataclasses import replace

import numpy as np
from light_scenes import lamp, looking, scene, sheet, thing
from trimesh import creation

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.scene.model import Mesh, Paint, Surface
from simjudge.sim.sensors.camera.lens import lens_with_field


def test_a_painted_thing_looks_like_its_parts_and_is_one(light_of):
    box = creation.box((1, 1, 1))
    corners = np.asarray(box.vertices)[box.faces].reshape(-1, 3)
    mesh = Mesh(corners, np.arange(36).reshape(-1, 3), corners[:, :2].copy(), np.repeat(box.face_normals, 3, 0))
    surfaces = (Surface((0.8, 0.1, 0.1)), Surface((0.1, 0.1, 0.8), roughness=0.2), Surface(emission=(0.3, 0.2, 0.1)))
    paint = Paint(surfaces, np.arange(12) // 2 % 3)
    painted = thing("box", mesh, surfaces[0], Pose.from_euler(0, 0, 1, yaw=0.4), class_id=1, instance=5, paint=paint)
    floor = thing("floor", sheet(8, 8))
    one = replace(scene(floor, painted, lights=[lamp(-2, 1, 3, 9)]), class_names={1: "box"})
    many = replace(one, things=(floor, *(replace(p, name=f"p{n}") for n, p in enumerate(painted.parts()))))
    lens, state = lens_with_field("pinhole", (48, 32), 50), SceneState(looking((-3, 1, 2), (0, 0, 1)).camera)
    lights = [light_of(world) for world in (one, many)]
    pictures = [light.render(lens, [state]) for light in lights]
    labels = [light.labels(lens, state) for light in lights]
    assert np.array_equal(*pictures)
    assert len(np.unique(pictures[0][labels[0].instance == 5], axis=0)) > 10
    for a, b in zip(*labels, strict=True):
        assert np.array_equal(a, b)
    hits = lights[0].cast_rays([[-3, 0, 1], [0, 0, 9], [3, 3, 1]], [[1, 0, 0], [0, 0, -1], [0, 0, 1]])
    assert hits.thing.tolist() == [1, 1, -1]
    # It moves as one.
    moved = Pose((0, 1, 1))
    poses = [{"box": moved}, {f"p{n}": moved for n in range(3)}]
    pictures = [light.render(lens, [SceneState(state.camera, p)]) for light, p in zip(lights, poses, strict=True)]
    assert np.array_equal(*pictures)
    for light in lights:
        light.close()
