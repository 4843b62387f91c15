"""Scenes of simple solids, and what trimesh's ray caster sees of them: an answer of its own to every question."""

import numpy as np
import trimesh

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Labels
from simjudge.sim.scene.model import Mesh, Scene, Surface, Thing
from simjudge.sim.sensors.camera.lens import Lens, lens_with_field

RADIAL = (-0.369, 0.1257, -0.0194)
LENSES = {
    "pinhole": lens_with_field("pinhole", (60, 40), 80),
    "fov": lens_with_field("fov", (60, 40), 80),
    "radial": lens_with_field("radial", (60, 40), 80, RADIAL),
    "plumb_bob": Lens("plumb_bob", (60, 40), (36.0, 35.0), (31.5, 18.5), (-0.3, 0.09, 0.004, -0.006, 0.0)),
    "equidistant": lens_with_field("equidistant", (60, 40), 100, (0.01, -0.002, 0.0, 0.0)),
}
AT_ORIGIN = Pose().optical_frame()
"""A camera at the origin that looks along x."""


def mesh_of(solid):
    vertices = np.asarray(solid.vertices, float)[solid.faces].reshape(-1, 3)
    faces = np.arange(len(vertices)).reshape(-1, 3)
    return Mesh(vertices, faces, vertices[:, :2].copy(), np.repeat(solid.face_normals, 3, 0))


def box(name, size, pose, class_id=0, instance=0):
    return Thing(name, mesh_of(trimesh.creation.box(size)), Surface(), pose, class_id, instance)


def cone(name, radius, height, pose, class_id=0, instance=0):
    return Thing(name, mesh_of(trimesh.creation.cone(radius, height)), Surface(), pose, class_id, instance)


def random_scene(seed, count=6):
    """Boxes and cones, turned anyhow, before a camera at the origin that looks along x; some are not labelled."""
    random = np.random.default_rng(seed)
    things = []
    for number in range(1, count + 1):
        x = random.uniform(0.8, 4)
        pose = Pose((x, random.uniform(-x, x), random.uniform(-0.7 * x, 0.7 * x)), tuple(random.normal(size=4)))
        label = (int(random.integers(1, 3)), number) if number % 4 else (0, 0)
        make = (
            box(f"thing {number}", random.uniform(0.1, 0.8, 3), pose, *label)
            if number % 2
            else cone(f"thing {number}", random.uniform(0.1, 0.4), random.uniform(0.2, 0.8), pose, *label)
        )
        things.append(make)
    return scene_of(*things)


def scene_of(*things):
    return Scene("solids", tuple(things), (), class_names={1: "red", 2: "green"})


def cast(things, lens, pixels, camera=AT_ORIGIN):
    """Index of the thing that each pixel coordinate's ray hits first (-1: none), and its depth along the axis."""
    rays = lens.rays_at(np.reshape(pixels, (-1, 2))) @ camera.rotation_matrix().T
    first, depth = np.full(len(rays), -1), np.full(len(rays), np.inf)
    for index, thing in enumerate(things):
        solid = trimesh.Trimesh(thing.pose.to_world(thing.mesh.vertices), thing.mesh.faces, process=False)
        rows = rows_towards(solid, rays, camera)  # trimesh takes a millisecond for a ray
        if not len(rows):
            continue
        origins = np.tile(camera.position, (len(rows), 1))
        places, ray, _ = solid.ray.intersects_location(origins, rays[rows], multiple_hits=True)
        for row, z in zip(rows[ray], camera.to_body(places)[:, 2] if len(places) else [], strict=True):
            if z < depth[row]:
                first[row], depth[row] = index, z
    shape = np.shape(pixels)[:-1]
    return first.reshape(shape), depth.reshape(shape)


def rows_towards(solid, rays, camera):
    """The rays that go near the ball around a solid; all of them from within the ball."""
    centre = solid.bounds.mean(0)
    radius, away = np.linalg.norm(solid.vertices - centre, axis=1).max(), np.linalg.norm(centre - camera.position)
    known = np.isfinite(rays).all(1)
    if away > radius:
        known &= rays @ ((centre - camera.position) / away) > np.sqrt(1 - (radius / away) ** 2) - 1e-6
    return np.flatnonzero(known)


def grid(x0, y0, x1, y1):
    """Centres of the pixels from (x0, y0) to (x1, y1), the last ones not included."""
    return np.stack(np.meshgrid(np.arange(x0, x1), np.arange(y0, y1)), -1)


def labels_of(scene, lens, camera=AT_ORIGIN):
    """The label pictures as an engine would give them."""
    width, height = lens.size
    first, depth = cast(scene.things, lens, grid(0, 0, width, height), camera)
    classes = np.array([t.class_id for t in scene.things] + [0], np.uint8)
    instances = np.array([t.instance for t in scene.things] + [0], np.uint16)
    return Labels(classes[first], instances[first], depth.astype(np.float32))
