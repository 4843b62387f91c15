"""Turns another simulator's ground truth into labels while it runs, by the rules of `simjudge convert --simulator`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from simjudge_msgs.msg import Box, ClassName, InstanceMask, LabelledObject, LabelledObjectArray

from simjudge.capture.label_rules import Labelling
from simjudge.capture.simulators.label_names import LabelNames
from simjudge.capture.simulators.label_rows import ClassNumbers, LabelRow, settle_rows
from simjudge.capture.simulators.labelling import parse_classes, with_classes
from simjudge.capture.simulators.recorded_labels import LabelReader, image_reader
from simjudge.capture.simulators.simulator_file import read_simulator
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError
from simjudge.graph.node_interfaces import NODES
from simjudge.graph.node_settings import BOXES, GroundTruthSettings

from .diagnostics import OK, WARN, TaskState, ThroughputCounter
from .endpoints import declared_publisher, declared_subscription
from .headers import describe_message, message_stamp
from .parameters import settings_parameters
from .runtime import SimjudgeNode, run_node

_NAMES_WAIT = 5
"""Messages that may wait for the names of their stamp."""
_NAMES_KEPT = 100
"""Tables of names that are kept."""


class GroundTruthNode(SimjudgeNode):
    """Labels by another simulator's ground truth: its pictures or boxes in, camera/ground_truth out."""

    NAME = "ground_truth_node"
    INTERFACE = NODES["ground_truth_node"]
    PARAMETERS = settings_parameters(GroundTruthSettings)

    def __init__(self) -> None:
        """Read the simulator's file and subscribe.

        Raises:
            SimjudgeError: there is no such simulator, or it has no such form of ground truth.
        """
        super().__init__()
        given = self.settings["simulator"]
        simulator = with_classes(read_simulator(given).content, parse_classes(self.settings["classes"]))
        self._boxes = self.settings["form"] == BOXES
        fields = simulator.boxes if self._boxes else simulator.pictures
        if fields is None:
            raise SimjudgeError(f"{given}: has no {self.settings['form']}; choose another form, or record and convert")
        self._reader: LabelReader = image_reader(fields)
        self._limits = Labelling(self.settings["min_size"], self.settings["min_visible"])
        self._numbers = ClassNumbers.of([fields])
        self._size = (0, 0)
        self._names = LabelNames()
        self._waits_for_names = fields.names_from is not None
        self._waiting: deque[Any] = deque()
        self._throughput = ThroughputCounter()
        self._labels = declared_publisher(self, "camera/ground_truth")
        topic = "simulator/boxes" if self._boxes else "simulator/pictures"
        self._topic = str(self.resolve_topic_name(topic))
        declared_subscription(self, topic, self._take)
        if self._boxes:
            declared_subscription(self, "camera/camera_info", self._take_size)
        if self._waits_for_names:
            declared_subscription(self, "simulator/names", self._take_names)
        self.diagnostics.add_task("labels", self._report)

    def close(self) -> None:
        """Label what waits for its names by those that are there."""
        self._settle(0)

    def counts(self) -> Mapping[str, int]:
        """Messages that came and became labels."""
        return {"messages received": self._throughput.received, "labelled": self._throughput.done}

    @property
    def pending(self) -> int:
        """Messages that wait for their names."""
        return len(self._waiting)

    def _take(self, message: Any) -> None:
        self._throughput.received += 1
        self._waiting.append(message)
        self._settle(_NAMES_WAIT if self._waits_for_names else 0)

    def _take_size(self, message: Any) -> None:
        self._size = (int(message.width), int(message.height))

    def _take_names(self, message: Any) -> None:
        at = f"{self.resolve_topic_name('simulator/names')}"
        before = self.losses.counts.total()
        self._names.add(str(message.data), time.monotonic_ns(), at, self.losses)
        if self.losses.counts.total() > before:
            self.get_logger().warning(f"{at}: no JSON table of numbers")
        self._names.forget(_NAMES_KEPT)
        self._settle(_NAMES_WAIT)

    def _settle(self, most: int) -> None:
        """Label the messages that have names of their stamp, and the oldest of those that are too many."""
        while self._waiting:
            known = not self._waits_for_names or message_stamp(self._waiting[0]) in self._names.by_stamp
            if not known and len(self._waiting) <= most:
                return
            self._label(self._waiting.popleft())

    def _label(self, message: Any) -> None:
        begin = time.monotonic()
        where = describe_message(message, self._topic)
        size = self._size if self._boxes else (int(message.width), int(message.height))
        if size == (0, 0):
            self.lose("boxes that came before the first camera_info", where)
            self._throughput.dropped += 1
            return
        names = self._names.at(message_stamp(message), time.monotonic_ns())
        kinds = set(self.losses.counts)
        try:
            found = self._reader.rows(message, where, names, self.losses)
        except ImageError as error:
            self.lose("label pictures that cannot be read", str(error))
            self._throughput.dropped += 1
            return
        except SimjudgeError as error:
            self.fail(error)
            return
        rows = settle_rows(found, size, self._limits, where, self.losses)
        for kind in set(self.losses.counts) - kinds:
            self.get_logger().warning(f"{kind}, the first one: {self.losses.examples[kind][0]}")
        self._labels.publish(self._message(message, rows, size))
        self._throughput.add(time.monotonic() - begin)

    def _message(self, source: Any, rows: list[LabelRow], size: tuple[int, int]) -> LabelledObjectArray:
        objects = [
            LabelledObject(
                class_id=self._numbers.number(row.class_name), class_name=row.class_name,
                box=Box(x0=row.box[0], y0=row.box[1], x1=row.box[2], y1=row.box[3]), instance_id=row.instance,
                distance=row.distance, visible=row.visible, mask=_mask(row),
            )
            for row in rows
        ]  # fmt: skip
        names = [ClassName(id=number, name=name) for number, name in sorted(self._numbers.names.items())]
        return LabelledObjectArray(
            header=source.header, image_width=size[0], image_height=size[1], class_names=names, objects=objects
        )

    def _report(self) -> TaskState:
        values = {**self._throughput.diagnostic_values(), "waiting for names": len(self._waiting)}
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
