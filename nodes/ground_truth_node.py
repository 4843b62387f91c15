"""Turns another simulator's ground truth into labels live, by the rules of `simjudge data convert --simulator`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from simjudge_msgs.msg import Box, ClassName, InstanceMask, LabelledObject, LabelledObjectArray

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError
from simjudge.data.rosbag2.image_messages import picture_size
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.node_settings import BOXES, PICTURES, SOLIDS, THINGS, GroundTruthSettings
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.simulators.label_messages import (
    ClassNumbers,
    LabelFields,
    LabelNames,
    LabelRow,
    SimulatorFile,
    SolidFields,
    read_simulator,
    settle_rows,
)
from simjudge.sim.capture.simulators.label_solids import CameraView, SolidLabels, ThingLabels
from simjudge.sim.capture.simulators.labelling import LabelReader, image_reader, parse_classes, with_classes
from simjudge.sim.capture.simulators.motion_source import AwaitedError, LiveMotions

from .diagnostics import OK, WARN, TaskState, ThroughputCounter
from .messages import describe_message, message_stamp
from .parameters import settings_parameters
from .pose_input import MotionInput, listen_to_images
from .runtime import SimjudgeNode, declared_publisher, declared_subscription, run_node

_NAMES_WAIT = 5  # Messages that may wait for the names of their stamp
_NAMES_KEPT = 100  # Tables of names that are kept
_POSES_WAIT = 100  # Messages that may wait for poses


class _Waiting(NamedTuple):
    """A message that waits for names or poses, and when it came, seconds."""

    message: Any
    arrived: float


class GroundTruthNode(SimjudgeNode):
    """Labels by another simulator's ground truth: pictures, boxes or poses in, camera/ground_truth out."""

    NAME = "ground_truth_node"
    INTERFACE = NODES["ground_truth_node"]
    PARAMETERS = settings_parameters(GroundTruthSettings)

    def __init__(self) -> None:
        super().__init__()
        given, self._form = self.settings["simulator"], self.settings["form"]
        simulator = with_classes(read_simulator(given).content, parse_classes(self.settings["classes"]))
        if getattr(simulator, self._form) is None:
            raise SimjudgeError(f"{given}: has no {self._form}; choose another form, or describe them in a copy of it")
        self._limits = Labelling(self.settings["min_size"], self.settings["min_visible"])
        self._size = (0, 0)
        self._names = LabelNames()
        self._waiting: deque[_Waiting] = deque()
        self._throughput = ThroughputCounter()
        self._labels = declared_publisher(self, "camera/ground_truth")
        self._motions = LiveMotions()
        fields = None if self._form == THINGS else getattr(simulator, self._form)
        self._numbers = ClassNumbers.of([fields] if fields is not None else [])
        self._waits_for_names = fields is not None and fields.names_from is not None
        self._things, self._reader = self._readers(simulator, fields)
        self._topic = self._listen()
        self.diagnostics.add_task("labels", self._report)

    def _readers(
        self, simulator: SimulatorFile, fields: LabelFields | None
    ) -> tuple[ThingLabels | None, LabelReader | None]:
        self._view = CameraView(self._motions, simulator.images)
        if self._form in (SOLIDS, THINGS) and simulator.images.body is not None:
            self._motions.topic_motion(simulator.images.body)
        if fields is None:
            return ThingLabels(self._motions, simulator.things or {}, self._view, simulator.world), None
        return None, SolidLabels(fields, self._view) if isinstance(fields, SolidFields) else image_reader(fields)

    def _listen(self) -> str:
        """Subscribe; the topic that labels are made from."""
        if self._form in (SOLIDS, THINGS):
            self._poses = MotionInput(self, self._motions, self._settle_all)
        if self._form == BOXES:
            declared_subscription(self, "camera/camera_info", self._take_size)
        if self._waits_for_names:
            declared_subscription(self, "simulator/names", self._take_names)
        if self._form == THINGS:
            return listen_to_images(self, self._take)
        topic = f"simulator/{self._form}"
        declared_subscription(self, topic, self._take)
        return str(self.resolve_topic_name(topic))

    def close(self) -> None:
        """Label what waits by the names and poses that are there."""
        self._settle(0, patience=0.0)

    def counts(self) -> Mapping[str, int]:
        """Messages that came and became labels."""
        return {"messages received": self._throughput.received, "labelled": self._throughput.done}

    @property
    def pending(self) -> int:
        """Messages that wait for their names or poses; none once nothing comes any more: `close` labels them."""
        return 0 if self.draining else len(self._waiting)

    def _take(self, message: Any) -> None:
        self._throughput.received += 1
        self._waiting.append(_Waiting(message, time.monotonic()))
        self._settle_all()

    def _take_size(self, message: Any) -> None:
        self._size = picture_size(message)

    def _take_names(self, message: Any) -> None:
        at = f"{self.resolve_topic_name('simulator/names')}"
        before = self.losses.counts.total()
        self._names.add(str(message.data), time.monotonic_ns(), at, self.losses)
        if self.losses.counts.total() > before:
            self.get_logger().warning(f"{at}: no JSON table of numbers")
        self._names.forget(_NAMES_KEPT)
        self._settle_all()

    def _settle_all(self) -> None:
        self._settle(_NAMES_WAIT if self._waits_for_names else 0, self.settings["wait"])

    def _settle(self, most: int, patience: float) -> None:
        """Label the messages that have names of their stamp and poses, and the oldest of those that are too many."""
        while self._waiting:
            message, arrived = self._waiting[0]
            known = not self._waits_for_names or message_stamp(message) in self._names.by_stamp
            if not known and len(self._waiting) <= most:
                return
            late = time.monotonic() - arrived >= patience or len(self._waiting) > _POSES_WAIT
            self._motions.last_chance = late
            try:
                self._label(message)
            except AwaitedError:
                if not late:
                    return
                self.lose("messages before the first camera_info", describe_message(message, self._topic))
                self._throughput.dropped += 1
            self._waiting.popleft()

    def _label(self, message: Any) -> None:
        begin = time.monotonic()
        where = describe_message(message, self._topic)
        kinds = set(self.losses.counts)
        try:
            found = self._read(message, where)
            size = self._image_size(message)
        except ImageError as error:
            found, size = None, (1, 1)
            self.losses.add("label pictures that cannot be read", str(error))
        except SimjudgeError as error:
            self.fail(error)
            return
        if size == (0, 0):
            found = None
            self.losses.add("boxes that came before the first camera_info", where)
        rows = settle_rows(found or [], size, self._limits, where, self.losses)
        for kind in set(self.losses.counts) - kinds:
            self.get_logger().warning(f"{kind}, the first one: {self.losses.examples[kind][0]}")
        if found is None:
            self._throughput.dropped += 1
            return
        self._labels.publish(self._message(message, rows, size))
        self._throughput.add(time.monotonic() - begin)

    def _read(self, message: Any, where: str) -> list[LabelRow] | None:
        """The objects of a message, or the things at its stamp; None where poses are missing."""
        stamp = message_stamp(message)
        if self._things is None:
            assert self._reader is not None  # noqa: S101 - one of the two is there
            return self._reader.rows(message, where, self._names.at(stamp, time.monotonic_ns()), self.losses)
        found = self._things.rows(stamp)
        if found is None:
            self.losses.add("images at a time without the poses of camera and things", where)
        return found

    def _image_size(self, message: Any) -> tuple[int, int]:
        """Width and height of the image, pixels; zeros where nothing says them yet."""
        if self._form == PICTURES:
            return int(message.width), int(message.height)
        return self._size if self._form == BOXES else self._view.lens.size

    def _message(self, source: Any, rows: list[LabelRow], size: tuple[int, int]) -> LabelledObjectArray:
        objects = [
            LabelledObject(
                class_id=self._numbers.number(row.class_name),
                class_name=row.class_name,
                box=Box(x0=row.box[0], y0=row.box[1], x1=row.box[2], y1=row.box[3]),
                instance_id=row.instance,
                distance=row.distance,
                visible=row.visible,
                mask=_mask(row),
            )
            for row in rows
        ]
        names = [ClassName(id=number, name=name) for number, name in sorted(self._numbers.names.items())]
        return LabelledObjectArray(
            header=source.header, image_width=size[0], image_height=size[1], class_names=names, objects=objects
        )

    def _report(self) -> TaskState:
        values = {**self._throughput.diagnostic_values(), "waiting for names or poses": len(self._waiting)}
        values |= dict(self.losses.counts)
        if not self._throughput.received:
            return TaskState(WARN, f"nothing on {self._topic} yet; remap it to the simulator's topic", values)
        if self.losses:
            return TaskState(WARN, "left out: " + "; ".join(self.losses.lines()), values)
        return TaskState(OK, f"labels from {self._topic}", values)


def _mask(row: LabelRow) -> InstanceMask:
    if row.mask is None:
        return InstanceMask()
    height, width = row.mask.shape
    bits = np.packbits(row.mask).tobytes()
    return InstanceMask(x=int(row.box[0]), y=int(row.box[1]), width=width, height=height, bits=bits)


def main() -> None:
    """The executable."""
    run_node(GroundTruthNode)


if __name__ == "__main__":
    main()
