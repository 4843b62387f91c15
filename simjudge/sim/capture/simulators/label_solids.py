"""Boxes in space and things whose poses are recorded, as labels: seen through the simulator's camera."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.numba_cache import njit
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.data.rosbag2.box_messages import best_guess, class_of_guess
from simjudge.data.rosbag2.interfaces import header_stamp
from simjudge.data.rosbag2.recorded_poses import pose_numbers
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.ground_truth import InstanceImage, distance_to, instance_extents, visible_shares
from simjudge.sim.capture.silhouette import meeting_point, pixels_alone, triangle_boxes, triangle_terms
from simjudge.sim.capture.simulators.label_messages import (
    CAMERA_FRAME,
    ClassKey,
    ClassLookup,
    ImageFields,
    LabelRow,
    RecordedThingFields,
    SolidFields,
    instance_of,
)
from simjudge.sim.capture.simulators.motion_source import MotionPoses, MotionSource
from simjudge.sim.scene.model import Mesh, box, cone, cylinder, move
from simjudge.sim.sensors.camera.calibration import message_calibration
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.lens import Lens, lens_from_calibration

_MOST = 65535  # Things that one image may show


@dataclass(frozen=True, repr=False, eq=False)
class Solid(ShortRepr):
    """A thing of known shape."""

    class_name: str  # what it is; "" for what hides others and has no label
    mesh: Mesh  # its shape
    pose: Pose  # of the mesh in the camera's optical frame
    instance: int = NO_INSTANCE


def solid_rows(solids: Sequence[Solid], lens: Lens) -> list[LabelRow]:
    """See things through a lens, with mask, distance and visible share; what is no solid (walls, ground) hides none."""
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
    for index, (corners, bounds) in enumerate(triangle_boxes(parts, Pose(), lens), start=1):
        inside = np.clip(bounds, 0, (width - 1, height - 1, width - 1, height - 1))
        met = (bounds[:, 0] < width) & (bounds[:, 1] < height) & (bounds[:, 2] >= 0) & (bounds[:, 3] >= 0)
        _draw(rays, corners[met], inside[met], index, depth, out)
    return out


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
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


# Pose of the optical frame in a camera's frame of such axes.
AXES: Mapping[str, Pose] = {
    "optical": Pose(),
    "body": Pose().optical_frame(),
    "opengl": Pose((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
}


class CameraView:
    """Where the camera of a simulator looks, and through which lens."""

    def __init__(self, source: MotionSource, images: ImageFields) -> None:
        self._source, self._images = source, images
        self._motions: dict[str, MotionPoses] = {}

    @cached_property
    def lens(self) -> Lens:
        """The lens of the photographs."""
        if self._camera is not None:
            return self._camera.lens
        lens = lens_from_calibration(message_calibration(self._info))
        if self._images.info_from == "corner":
            return replace(lens, centre=(lens.centre[0] - 0.5, lens.centre[1] - 0.5))
        return lens

    def pose(self, frame: str, axes: str, stamp: int) -> Pose | None:
        """Find the optical frame's pose in another frame: the pose (frame: a frame of tf; stamp: nanoseconds)."""
        if frame == CAMERA_FRAME:
            return AXES[axes]
        if frame not in self._motions:
            self._motions[frame] = self._motion(frame)
        pose = self._motions[frame].pose(stamp)
        if pose is None:
            return None
        mount = self._images.mount
        return pose @ (AXES[self._images.axes] if mount is None else mount.pose().optical_frame())

    def _motion(self, frame: str) -> MotionPoses:
        if self._images.body is not None:
            return self._source.topic_motion(self._images.body)
        carrier = self._images.body_frame or str(self._info.header.frame_id)
        return self._source.frame_motion(frame, carrier)

    @cached_property
    def _camera(self) -> Camera | None:
        given = self._images.camera
        return None if given is None else read_camera(given)

    @cached_property
    def _info(self) -> Any:
        return self._source.camera_info()


CARLA_OBJECTS = "derived_object_msgs/msg/ObjectArray"
_SIDES = 3  # Numbers of a box's size


class SolidLabels:
    """Reads vision_msgs/Detection3DArray, and CARLA's derived_object_msgs/ObjectArray."""

    def __init__(self, fields: SolidFields, view: CameraView) -> None:
        self._fields, self._view = fields, view
        self._lookup = ClassLookup(fields)

    def rows(self, message: Any, where: str, names: Mapping[int, str] | None, losses: Losses) -> list[LabelRow] | None:
        """See the boxes of a message through the camera's lens, nearer ones first; None where its pose is not known."""
        lens = self._view.lens
        camera = self._view.pose(self._fields.frame, self._fields.axes, header_stamp(message.header))
        if camera is None:
            losses.add("label messages at a time without a pose of the camera", where)
            return None
        to_camera = camera.inverse()
        solids = []
        for number, item in enumerate(message.objects if hasattr(message, "objects") else message.detections):
            named = f"{where}, box {number}"
            found = self._solid(item, named, names, losses)
            if found is not None:
                solids.append(Solid(found[0], found[1], to_camera @ found[2], found[3]))
        return solid_rows(solids, lens)

    def _solid(
        self, item: Any, where: str, names: Mapping[int, str] | None, losses: Losses
    ) -> tuple[str, Mesh, Pose, int] | None:
        """Class, shape, pose and instance of a box; None where it cannot be used."""
        if hasattr(item, "shape"):
            key: ClassKey = int(item.classification)
            instance, pose, size = int(item.id), item.pose, [float(dimension) for dimension in item.shape.dimensions]
        else:
            best = best_guess(item.results)
            key, instance, pose = "" if best is None else class_of_guess(best), instance_of(item), item.bbox.center
            size = [float(item.bbox.size.x), float(item.bbox.size.y), float(item.bbox.size.z)]
        if key == "":
            losses.add("boxes without a class", where)
            return None
        name = self._lookup.name(key, names)
        if name is None:
            losses.add("boxes of a class without a name", f"{where} (class {key})")
            return None
        if len(size) != _SIDES or not all(0 < side < 1e6 for side in size):
            losses.add("boxes in space without a size", where)
            return None
        x, y, z, *turn = pose_numbers(pose.position, pose.orientation)
        try:
            placed = Pose((x, y, z), (turn[0], turn[1], turn[2], turn[3]))
        except SimjudgeError:
            losses.add("boxes in space without a pose", where)
            return None
        mesh = box(*size)
        return name, mesh if name in self._fields.standing else _centred(mesh, size[2]), placed, instance


class ThingLabels:
    """Sees things whose shapes the simulator's file has, and whose poses a recording or a running simulator has."""

    def __init__(
        self, source: MotionSource, things: Mapping[str, RecordedThingFields], view: CameraView, world: str
    ) -> None:
        self._view, self._world = view, world
        self._things: list[tuple[str, Mesh, MotionPoses]] = []
        for fields in things.values():
            motion = (
                source.topic_motion(fields.topic)
                if fields.topic is not None
                else source.frame_motion(world, str(fields.frame))
            )
            self._things.append((fields.name, _shape(fields), motion))

    def rows(self, stamp: int) -> list[LabelRow] | None:
        """See the things at a stamp: what can be seen (stamp: nanoseconds)."""
        lens, camera = self._view.lens, self._view.pose(self._world, "optical", stamp)
        poses = [motion.pose(stamp) for _, _, motion in self._things]
        if camera is None or any(pose is None for pose in poses):
            return None
        to_camera = camera.inverse()
        solids = [
            Solid(name, mesh, to_camera @ pose, instance)
            for instance, ((name, mesh, _), pose) in enumerate(zip(self._things, poses, strict=True))
            if pose is not None
        ]
        return solid_rows(solids, lens)


def _shape(fields: RecordedThingFields) -> Mesh:
    if fields.box is not None:
        mesh, height = box(*fields.box), fields.box[2]
    elif fields.cylinder is not None:
        mesh, height = cylinder(*fields.cylinder), fields.cylinder[1]
    else:
        assert fields.cone is not None  # noqa: S101 - the file gives one of the three
        mesh, height = cone(*fields.cone), fields.cone[1]
    return _centred(mesh, height) if fields.centred else mesh


def _centred(mesh: Mesh, height: float) -> Mesh:
    """A solid, whose origin is the middle of its base, about its middle."""
    return move(mesh, Pose((0.0, 0.0, -height / 2)))
