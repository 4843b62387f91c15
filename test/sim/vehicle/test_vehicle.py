"""The car to be seen: parts where physics has them, faces that look outwards, nothing before the camera."""

import math

import numpy as np
import pytest

from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.lens import lens_with_field
from simjudge.sim.vehicle.vehicle import PARTS, MeshBuilder, body_box, car_things, read_vehicle, wheel_poses

trimesh = pytest.importorskip("trimesh")
CAR = read_vehicle("art1")


def solid(thing):
    return trimesh.Trimesh(thing.mesh.vertices, thing.mesh.faces, process=False)


def test_the_parts_are_there():
    base = Pose.from_euler(3, -2, yaw=0.7)
    things = car_things(CAR, base)
    assert [thing.name for thing in things] == list(PARTS)
    assert all((thing.class_id, thing.instance, thing.collider.kind) == (0, 0, "none") for thing in things)
    assert things[0].pose == base
    for name, pose in wheel_poses(CAR, Pose()).items():
        x, y, z = pose.position
        assert (x > 0.4) == ("front" in name)
        assert (y > 0) == name.endswith("left")
        assert z == CAR.wheel_radius


def test_sizes_are_the_cars():
    body, wheel = car_things(CAR)[:2]
    (x0, _, z0), (x1, y1, z1) = body.mesh.vertices.min(0), body.mesh.vertices.max(0)
    assert -0.2 < x0 < -0.05
    assert 0.55 < x1 < 0.65
    assert y1 < CAR.track / 2
    assert z0 > 0.02
    assert z1 < 0.3
    half = [CAR.wheel_radius, CAR.wheel_width / 2, CAR.wheel_radius]
    assert wheel.mesh.vertices.max(0) == pytest.approx(half, rel=0.01)
    assert wheel.mesh.vertices.min(0) == pytest.approx(np.negative(half), rel=0.01)
    centre, size = body_box(CAR)
    assert centre[0] + size[0] / 2 == pytest.approx(x1, abs=0.01)
    assert centre[2] - size[2] / 2 == pytest.approx(z0, abs=0.01)


@pytest.mark.parametrize("thing", car_things(CAR)[:2], ids=PARTS[:2])
def test_meshes_are_sound(thing):
    mesh = thing.mesh
    assert np.isfinite(mesh.vertices).all()
    assert np.linalg.norm(mesh.normals, axis=1) == pytest.approx(np.ones(len(mesh.normals)), abs=1e-6)
    corners = mesh.vertices[mesh.faces]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    assert (np.einsum("fci,fi->fc", mesh.normals[mesh.faces], flat) > 0).mean() > 0.99, "normals on the faces' side"
    height, width = thing.surface.texture.shape[:2]
    assert (height, width) == (8, 48)
    columns = np.unique(np.floor(mesh.uv[:, 0] * width) // 8)
    assert set(columns) <= set(range(6))


def test_faces_look_outwards():
    """Rays from all around first hit faces that look back at them."""
    random = np.random.default_rng(0)
    for thing in car_things(CAR)[:2]:
        mesh = solid(thing)
        centre = mesh.bounds.mean(axis=0)
        ways = random.normal(size=(500, 3))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        aims = centre + random.normal(size=(500, 3)) * np.ptp(mesh.bounds, axis=0) / 8
        faces = mesh.ray.intersects_first(aims - 3 * ways, ways)
        rays = np.flatnonzero(faces >= 0)
        assert len(rays) > 200
        assert (np.einsum("ni,ni->n", mesh.face_normals[faces[rays]], ways[rays]) < 0).mean() > 0.99


@pytest.mark.parametrize(
    "lens", [lens_with_field("pinhole", (160, 90), 80), read_camera("art1").lens], ids=["plain", "art1"]
)
def test_its_own_camera_does_not_see_it(lens):
    view = CAR.mounts["camera"].optical_frame()
    width, height = lens.size
    columns, rows = np.meshgrid(np.linspace(-0.5, width - 0.5, 81), np.linspace(-0.5, height - 0.5, 46))
    ways = lens.rays_at(np.stack([columns, rows], -1)).reshape(-1, 3) @ view.rotation_matrix().T
    origins = np.tile(view.position, (len(ways), 1))
    poses = wheel_poses(CAR, Pose())
    for thing in car_things(CAR):
        for turned in (0, CAR.steering_limit, -CAR.steering_limit):
            mesh = solid(thing)
            if thing.name in poses:
                mesh.apply_transform(poses[thing.name].matrix() @ Pose.from_euler(0, 0, yaw=turned).matrix())
            assert not mesh.ray.intersects_any(origins, ways).any(), thing.name


def test_a_box_is_a_box():
    shape = MeshBuilder(2)
    pose = Pose.from_euler(1, 2, 3, yaw=0.5, pitch=0.2, roll=0.1)
    shape.box((0, 1), (-1, 1), (2, 5), 1, pose)
    mesh = shape.mesh()
    assert trimesh.Trimesh(mesh.vertices, mesh.faces).volume == pytest.approx(6)
    inside = pose.to_body(mesh.vertices)
    assert inside.min(0) == pytest.approx([0, -1, 2])
    assert inside.max(0) == pytest.approx([1, 1, 5])
    assert np.unique(mesh.uv[:, 0]) == pytest.approx([0.75])


def test_a_sheet_is_smooth_and_keeps_its_side():
    turn = np.linspace(0, 2 * math.pi, 33)
    low, high = (np.stack([np.cos(turn), np.sin(turn), np.full(33, z)], -1) for z in (0.0, 2.0))
    shape = MeshBuilder(1)
    shape.sheet(np.stack([low, high], 1), 0)
    mesh = shape.mesh()
    outward = mesh.vertices * [1, 1, 0]
    assert np.einsum("vi,vi->v", mesh.normals, outward).min() > 0.99
    closed = MeshBuilder(1)
    closed.sheet(np.stack([low, high], 0)[:, ::-1], 0, closed=True)
    seam = closed.mesh()
    at_seam = np.isclose(seam.vertices[:, 1], 0) & (seam.vertices[:, 0] > 0)
    assert seam.normals[at_seam] == pytest.approx(np.tile([1.0, 0, 0], (at_seam.sum(), 1)), abs=1e-9)
