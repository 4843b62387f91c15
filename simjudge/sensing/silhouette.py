"""How many pixels a thing would cover if nothing stood before it and the picture had no edges."""

from __future__ import annotations

from collections import OrderedDict

import numba
import numpy as np
import numpy.typing as npt

from simjudge.frames import FloatArray
from simjudge.poses import Pose
from simjudge.sensing.lens import Lens
from simjudge.world.scene.model import Mesh

_MARGIN, _BEND = 2.0, 0.05
"""A triangle is looked for in the box around its projected corners, widened by so many pixels and by this share of its
size: through a lens that bends lines it may bulge out of it."""
_LENSES = 2
_kept: OrderedDict[Lens, FloatArray] = OrderedDict()


def pixels_alone(mesh: Mesh, pose: Pose, camera: Pose, lens: Lens) -> int:
    """Pixels whose centre's ray hits a thing that is alone in the world, on a picture that goes on beyond its edges.

    Beyond means one picture's width and height on each side; rays that the lens cannot take in do not count.

    Args:
        mesh: the thing's triangles.
        pose: of the thing in the world.
        camera: pose of the optical frame in the world.
        lens: bends the rays.
    """
    corners = camera.to_body(pose.to_world(mesh.vertices))[mesh.faces]  # (F, 3, 3), optical frame
    pixels = lens.project(corners)
    projectable = np.isfinite(pixels).all((1, 2))
    width, height = lens.size
    whole = np.array([-width, -height, 2 * width - 1, 2 * height - 1], np.float64)
    box = np.tile(whole, (len(corners), 1))
    seen = pixels[projectable]
    margin = _MARGIN + _BEND * (seen.max(1) - seen.min(1))
    box[projectable] = np.concatenate([seen.min(1) - margin, seen.max(1) + margin], 1)
    kept = (corners[:, :, 2] > 0).any(1)
    corners, box = corners[kept], box[kept]
    box = np.stack([np.clip(box[:, k], whole[k % 2], whole[2 + k % 2]) for k in range(4)], 1)
    box = np.concatenate([np.floor(box[:, :2]), np.ceil(box[:, 2:])], 1).astype(np.int64)
    if not len(box):
        return 0
    low, high = box[:, :2].min(0), box[:, 2:].max(0)
    rays = _rays(lens, low, high)
    return int(_covered(rays, corners, box - np.tile(low, 2)))


def _rays(lens: Lens, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> FloatArray:
    """Rays (h, w, 3) through the centres of the pixels from `low` to `high`, both (x, y) and included."""
    inside = (low >= 0).all() and (high < lens.size).all()
    if not inside:
        x, y = np.arange(low[0], high[0] + 1), np.arange(low[1], high[1] + 1)
        return lens.rays_at(np.stack(np.meshgrid(x, y), -1))
    if lens not in _kept:
        _kept[lens] = lens.rays()
        while len(_kept) > _LENSES:
            _kept.popitem(last=False)
    return np.ascontiguousarray(_kept[lens][low[1] : high[1] + 1, low[0] : high[0] + 1])


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _covered(rays: FloatArray, corners: FloatArray, box: npt.NDArray[np.int64]) -> int:
    """Pixels whose ray hits a triangle (Moeller and Trumbore, 1997), each triangle tried within its box."""
    hit = np.zeros(rays.shape[:2], np.uint8)
    for i in range(len(corners)):
        ax, ay, az = corners[i, 0]
        ux, uy, uz = corners[i, 1, 0] - ax, corners[i, 1, 1] - ay, corners[i, 1, 2] - az
        vx, vy, vz = corners[i, 2, 0] - ax, corners[i, 2, 1] - ay, corners[i, 2, 2] - az
        # The rays start at the origin, so that s = -a, and s x u does not depend on the ray.
        qx, qy, qz = uy * az - uz * ay, uz * ax - ux * az, ux * ay - uy * ax
        reach = vx * qx + vy * qy + vz * qz
        for y in range(box[i, 1], box[i, 3] + 1):
            for x in range(box[i, 0], box[i, 2] + 1):
                if hit[y, x]:
                    continue
                dx, dy, dz = rays[y, x]
                px, py, pz = dy * vz - dz * vy, dz * vx - dx * vz, dx * vy - dy * vx
                determinant = ux * px + uy * py + uz * pz
                if not abs(determinant) > 1e-300:  # also where the ray is NaN
                    continue
                inverse = 1 / determinant
                b1 = -(ax * px + ay * py + az * pz) * inverse
                b2 = (dx * qx + dy * qy + dz * qz) * inverse
                if b1 >= 0 and b2 >= 0 and b1 + b2 <= 1 and reach * inverse > 0:
                    hit[y, x] = 1
    covered: int = hit.sum()
    return covered
