"""Things and cameras for tests of light, made by trimesh and by hand."""

import numpy as np
import trimesh

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.scene.model import Mesh, PointLight, Scene, Surface, Thing
from simjudge.sim.sensors.camera.lens import lens_with_field

DOWN = Pose.from_euler(0, 0, 0, pitch=np.pi / 2)
"""The turn of a camera's body that looks straight down, x of the world upwards in its picture."""


def flat(solid):
    """A trimesh as a mesh with sharp edges; texture coordinates are x and y."""
    vertices = np.asarray(solid.vertices, float)[solid.faces].reshape(-1, 3)
    faces = np.arange(len(vertices)).reshape(-1, 3)
    return Mesh(vertices, faces, vertices[:, :2].copy(), np.repeat(solid.face_normals, 3, 0))


def smooth(solid):
    """A trimesh as a mesh that looks round."""
    vertices = np.array(solid.vertices, float)
    return Mesh(vertices, np.array(solid.faces, np.int64), vertices[:, :2].copy(), np.array(solid.vertex_normals))


def ball(radius=1.0, subdivisions=5):
    """A ball whose normals are exactly those of a ball."""
    solid = trimesh.creation.icosphere(subdivisions, radius)
    mesh = smooth(solid)
    return Mesh(mesh.vertices, mesh.faces, mesh.uv, mesh.vertices / radius)


def sheet(width=100.0, height=100.0):
    """A rectangle in the plane z = 0 that looks up, with texture coordinates 0..1 along x and y."""
    corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    return Mesh(corners * [width / 2, height / 2, 1], faces, (corners[:, :2] + 1) / 2, np.tile([0.0, 0, 1], (4, 1)))


def white(roughness=1.0, metallic=0.0, texture=None):
    return Surface((1.0, 1.0, 1.0), texture, roughness, metallic)


def plain(colour, roughness=1.0):
    return Surface(colour, None, roughness)


def scene(*things, lights=(), ambient=(0.0, 0.0, 0.0), background=(0.0, 0.0, 0.0)):
    return Scene("test", tuple(things), tuple(lights), ambient, background)


def lamp(x, y, z, strength=1.0, reach=1000.0):
    return PointLight((x, y, z), (strength, strength, strength), reach)


def narrow(pixels=1, field=0.2):
    """A lens with one pixel, or a few, that look nearly the same way."""
    return lens_with_field("pinhole", (pixels, pixels), field)


def looking(start, to):
    """The instant of a camera at a place that looks at another, upright where it can be."""
    start, ahead = np.asarray(start, float), np.asarray(to, float) - np.asarray(start, float)
    x = ahead / np.linalg.norm(ahead)
    aside = np.array([0.0, 0, 1]) if abs(x[2]) < 0.999 else np.array([1.0, 0, 0])
    y = np.cross(aside, x)
    y /= np.linalg.norm(y)
    return SceneState(Pose.from_matrix(np.column_stack([x, y, np.cross(x, y), start])).optical_frame())


def thing(name, mesh, surface=None, pose=None, **more):
    return Thing(name, mesh, surface or white(), pose or Pose(), **more)
