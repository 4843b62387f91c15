"""Making meshes in code: sheets and boxes in colours of a palette, put together into one mesh."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import Mesh


class MeshBuilder:
    """A mesh being put together. Its texture is a row of `colours` equal fields, one for each colour of a palette."""

    def __init__(self, colours: int) -> None:
        """Start with nothing."""
        self._colours = colours
        self._vertices: list[FloatArray] = []
        self._normals: list[FloatArray] = []
        self._uv: list[FloatArray] = []
        self._faces: list[npt.NDArray[np.int64]] = []
        self._count = 0

    def sheet(self, points: FloatArray, colour: npt.ArrayLike, *, closed: bool = False) -> None:
        """A smooth sheet over a grid of points.

        Args:
            points: (A, B, 3), metres; seen from outside, A goes to the right where B goes up.
            colour: number in the palette, one for all or (A - 1, B - 1).
        """
        a, b = points.shape[0] - 1, points.shape[1] - 1
        corners = np.stack([points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]], axis=2)
        flat = np.cross(corners[:, :, 2] - corners[:, :, 0], corners[:, :, 3] - corners[:, :, 1])
        around = np.zeros((a + 1, b + 1, 3))
        for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)):
            around[i : i + a, j : j + b] += flat
        if closed:
            around[:, 0] = around[:, -1] = around[:, 0] + around[:, -1]
        normals = np.stack([around[:-1, :-1], around[1:, :-1], around[1:, 1:], around[:-1, 1:]], axis=2)
        fields = np.broadcast_to(np.asarray(colour), (a, b))
        self._quads(corners.reshape(-1, 4, 3), normals.reshape(-1, 4, 3), fields.ravel())

    def box(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        z: tuple[float, float],
        colour: int,
        pose: Pose | None = None,
    ) -> None:
        """A box between two x, y and z, metres, in the frame of `pose`.

        Args:
            x, y, z: lowest and highest coordinate along each axis, metres.
            pose: of the box's frame in the mesh's; the same frame if None.
        """
        pose = pose or Pose()
        quads, normals = [], []
        for axis in range(3):
            for side in (0, 1):
                u, v = (axis + 1) % 3, (axis + 2) % 3
                ends = (x, y, z)
                quad = np.zeros((4, 3))
                quad[:, axis] = ends[axis][side]
                quad[:, u] = [ends[u][0], ends[u][1], ends[u][1], ends[u][0]]
                quad[:, v] = [ends[v][0], ends[v][0], ends[v][1], ends[v][1]]
                normal = np.zeros(3)
                normal[axis] = 2 * side - 1
                quads.append(pose.to_world(quad if side else quad[::-1]))
                normals.append(np.tile(pose.rotation_matrix() @ normal, (4, 1)))
        self._quads(np.array(quads), np.array(normals), np.full(6, colour))

    def mesh(self) -> Mesh:
        """All of it as one mesh."""
        vertices, normals, uv = (np.concatenate(each) for each in (self._vertices, self._normals, self._uv))
        return Mesh(vertices, np.concatenate(self._faces), uv, normals)

    def _quads(self, corners: FloatArray, normals: FloatArray, colour: npt.NDArray[np.int64]) -> None:
        """Quads (Q, 4, 3) counter-clockwise from outside; triangles without an area are left out."""
        four = self._count + np.arange(4 * len(corners)).reshape(-1, 4)
        faces = np.concatenate([four[:, [0, 1, 2]], four[:, [0, 2, 3]]])
        triangles = np.concatenate([corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]])
        area = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        length = np.linalg.norm(normals, axis=-1, keepdims=True)
        u = (np.repeat(colour, 4) + 0.5) / self._colours
        self._faces.append(faces[np.linalg.norm(area, axis=1) > 1e-12])
        self._vertices.append(corners.reshape(-1, 3))
        self._normals.append((normals / np.where(length > 0, length, 1)).reshape(-1, 3))
        self._uv.append(np.stack([u, np.full_like(u, 0.5)], axis=-1))
        self._count += 4 * len(corners)
