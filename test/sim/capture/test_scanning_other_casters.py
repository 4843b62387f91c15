"""A turn of a lidar in the lab against the ray casters of other libraries."""

import math

import numpy as np
import pytest

from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.sensor_feed import LidarCapture
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.lidar.lidar import Lidar, lidar_beams

pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

LIDAR = Lidar("roof", 10, 40, tuple(math.radians(-15 + 2 * k) for k in range(16)), (0.0, 100.0))
POSE = Pose.from_euler(0.3, -0.2, 0.4, yaw=0.7)


@pytest.fixture(scope="module")
def ours():
    """Range and thing of every beam: 640 beams, from the middle of a room with cones."""
    engine = make_engine("default", read_scene("lab"))
    try:
        scan = LidarCapture(engine, LIDAR).capture(0, Keyframes.build([0.0], [[POSE]])).scan
        corners = [(thing.pose.to_world(thing.mesh.vertices), thing.mesh.faces) for thing in engine.things]
    finally:
        engine.close()
    count = len(lidar_beams(LIDAR))
    ranges, thing = np.full(count, np.inf), np.full(count, -1)
    # A snapshot: beams fire in the order of columns and rings.
    row = scan.column * len(LIDAR.elevation) + scan.ring
    ranges[row], thing[row] = scan.range, scan.thing
    origins = np.tile(POSE.position, (count, 1))
    return ranges, thing, origins, lidar_beams(LIDAR).directions[:, 0] @ POSE.rotation_matrix().T, corners


def held_to(ranges, thing, distance, other):
    """The same to 1e-5 m and the same things, but for beams that pass an edge within float32."""
    same = thing == other
    assert same.mean() > 0.995
    seen = same & np.isfinite(ranges)
    assert seen.mean() > 0.9
    assert np.abs(ranges[seen] - distance[seen]).max() < 1e-5


def test_trimesh(ours):
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
    ranges, thing, origins, directions, corners = ours
    meshes = [trimesh.Trimesh(vertices, faces, process=False) for vertices, faces in corners]
    owner = np.repeat(np.arange(len(meshes)), [len(mesh.faces) for mesh in meshes])
    whole = trimesh.util.concatenate(meshes)
    caster = trimesh.ray.ray_triangle.RayMeshIntersector(whole)
    points, rays, faces = caster.intersects_location(origins, directions, multiple_hits=True)
    faces, rays, points = np.asarray(faces), np.asarray(rays), np.asarray(points)
    far = np.einsum("ni,ni->n", points - origins[rays], directions[rays])
    distance, other = np.full(len(ranges), np.inf), np.full(len(ranges), -1)
    for k in np.argsort(-far):
        distance[rays[k]], other[rays[k]] = far[k], owner[faces[k] if k < len(faces) else 0]
    held_to(ranges, thing, distance, other)


def test_open3d(ours):
    o3d = pytest.importorskip("open3d", reason="Open3D is not installed")
    ranges, thing, origins, directions, corners = ours
    scene = o3d.t.geometry.RaycastingScene()
    for vertices, faces in corners:
        scene.add_triangles(o3d.core.Tensor(vertices.astype(np.float32)), o3d.core.Tensor(faces.astype(np.uint32)))
    found = scene.cast_rays(o3d.core.Tensor(np.hstack([origins, directions]).astype(np.float32)))
    distance = found["t_hit"].numpy().astype(float)
    other = found["geometry_ids"].numpy().astype(np.int64)
    held_to(ranges, thing, distance, np.where(np.isfinite(distance), other, -1))
