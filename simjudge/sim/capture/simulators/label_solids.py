"""Boxes in space of a simulator, and things whose poses are recorded, as labels: seen through the camera's lens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.box_messages import best_guess, class_of_guess
from simjudge.data.rosbag2.recorded_poses import header_stamp, pose_numbers
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.simulators.camera_view import CameraView
from simjudge.sim.capture.simulators.label_boxes import instance_of
from simjudge.sim.capture.simulators.label_rows import ClassKey, ClassLookup, LabelRow
from simjudge.sim.capture.simulators.motion_source import MotionPoses, MotionSource
from simjudge.sim.capture.simulators.seen_solids import Solid, solid_rows
from simjudge.sim.capture.simulators.simulator_file import RecordedThingFields, SolidFields
from simjudge.sim.scene.model import Mesh
from simjudge.sim.scene.solid_meshes import box, cone, cylinder, move

CARLA_OBJECTS = "derived_object_msgs/msg/ObjectArray"
_SIDES = 3
"""Numbers of a box's size."""


class SolidLabels:
    """Reads vision_msgs/Detection3DArray, and CARLA's derived_object_msgs/ObjectArray."""

    def __init__(self, fields: SolidFields, view: CameraView) -> None:
        """Take how the boxes are made, and the camera."""
        self._fields, self._view = fields, view
        self._lookup = ClassLookup(fields)

    def rows(self, message: Any, where: str, names: Mapping[int, str] | None, losses: Losses) -> list[LabelRow] | None:
        """See the boxes of a message through the camera's lens; nearer ones hide those behind.

        Args:
            names: what the simulator itself says of its numbers; None where it says nothing.
            losses: takes boxes that cannot be used, and messages without a pose of the camera.

        Returns:
            What can be seen, with distance and visible share; None where the camera's pose is not known.
        """
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
            instance, pose, size = int(item.id), item.pose, [float(each) for each in item.shape.dimensions]
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
        """Read the poses."""
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
        """See the things at a stamp.

        Args:
            stamp: nanoseconds.

        Returns:
            What can be seen; instances count the things from 0. None where a pose is missing at that time.
        """
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
