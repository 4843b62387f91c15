"""Things of known shape and pose as labels: which pixels each covers, what hides it, how much of it can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.ground_truth import distance_to
from simjudge.sim.capture.label_rules import InstanceImage, instance_extents, visible_shares
from simjudge.sim.capture.silhouette import pixels_alone, triangle_boxes
from simjudge.sim.capture.simulators.label_rows import LabelRow
from simjudge.sim.capture.triangle_rays import meeting_point, triangle_terms
from simjudge.sim.scene.model import Mesh
from simjudge.sim.sensors.camera.lens import Lens

_MOST = 65535
"""Things that one image may show."""


@dataclass(frozen=True, repr=False, eq=False)
class Solid(ShortRepr):
    """A thing of known shape.

    Attributes:
        class_name: what it is; "" for what hides others and has no label.
        mesh: its shape.
        pose: of the mesh in the camera's optical frame.
    """

    class_name: str
    mesh: Mesh
    pose: Pose
    instance: int = NO_INSTANCE


def solid_rows(solids: Sequence[Solid], lens: Lens) -> list[LabelRow]:
    """See things through a lens; nearer ones hide those behind.

    What is not among the solids (walls, ground) hides nothing here.

    Returns:
        The things with a class of which a pixel can be seen, with mask, distance and visible share.
    """
    seen = _instances(solids[:_MOST], lens)
    extents = instance_extents(seen)
    visible = [k for k in np.flatnonzero(extents.pixels).tolist() if k and solids[k - 1].class_name]
    parts = [[(solids[k - 1].mesh, solids[k - 1].pose)] for k in visible]
    shares = visible_shares(extents.pixels[visible], pixels_alone(parts, Pose(), lens))
    rows = []
    for k, part, share in zip(visible, parts, shares.tolist(), strict=True):
        x0, y0, x1, y1 = extents.box[k].tolist()
        mask = seen[y0:y1, x0:x1] == k
        solid = solids[k - 1]
        distance = distance_to(part, Pose())
        rows.append(LabelRow(solid.class_name, (x0, y0, x1, y1), solid.instance, distance, share, mask))
    return rows


def _instances(solids: Sequence[Solid], lens: Lens) -> InstanceImage:
    """The nearest solid at each pixel, counted from 1."""
    width, height = lens.size
    depth, out = np.full((height, width), np.inf), np.zeros((height, width), np.uint16)
    rays = np.ascontiguousarray(lens.rays())
    parts = [[(solid.mesh, solid.pose)] for solid in solids]
    for index, (corners, box) in enumerate(triangle_boxes(parts, Pose(), lens), start=1):
        inside = np.clip(box, 0, (width - 1, height - 1, width - 1, height - 1))
        met = (box[:, 0] < width) & (box[:, 1] < height) & (box[:, 2] >= 0) & (box[:, 3] >= 0)
        _draw(rays, corners[met], inside[met], index, depth, out)
    return out


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _draw(
    rays: FloatArray, corners: FloatArray, box: IntArray, index: int, depth: FloatArray, out: npt.NDArray[np.uint16]
) -> None:
    """Enter a thing's triangles where they are the nearest, each tried within its box."""
    for i in range(len(corners)):
        terms = triangle_terms(corners[i])
        for y in range(box[i, 1], box[i, 3] + 1):
            for x in range(box[i, 0], box[i, 2] + 1):
                far = meeting_point(terms, rays[y, x])
                if 0 < far < depth[y, x]:
                    depth[y, x] = far
                    out[y, x] = index
