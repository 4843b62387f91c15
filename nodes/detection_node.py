"""Runs a detector over images as they come."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from threading import Thread
from typing import Any

from simjudge.core.box_drawing import class_colour, draw_boxes
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError, RgbImage
from simjudge.detectors.detection import load_detector
from simjudge.detectors.detector import Detections, Detector
from simjudge.judging.live.frame_builder import ImageQueue, QueuedImage
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.node_settings import DetectionSettings

from .diagnostics import OK, WARN, TaskState, ThroughputCounter
from .image_input import ImageInput
from .managed import UNDER_WAY, ManagedNode
from .messages import (
    describe_message,
    detection_array,
    image_message,
    message_stamp,
    to_rgb,
    vision_array,
    vision_types,
)
from .parameters import settings_parameters
from .runtime import declared_publisher, run_node, wait_for_subscriptions

_LIVE_DEPTH = 5  # Images that the middleware keeps in live work
_BAG_DEPTH = 100  # Images that the middleware keeps with every_frame
_RECENT = 10.0  # Seconds for which a full queue is a warning in diagnostics
_POLL = 0.002  # Seconds between looks at other work while one waits
_LATEST = 60.0
_EARLIEST = -1.0  # Seconds from an image's stamp to its arrival. Outside of them the stamp is from another clock.


class DetectionNode(ManagedNode):
    """Finds things in a camera's images: camera/image_raw[/compressed] in, camera/detections out."""

    NAME = "detection_node"
    INTERFACE = NODES["detection_node"]
    PARAMETERS = settings_parameters(DetectionSettings)

    def __init__(self) -> None:
        super().__init__()
        self._detector: Detector | None = None
        self._candidate: Detector | None = None
        self._input: ImageInput | None = None
        self._thread: Thread | None = None
        self._every = bool(self.settings["every_frame"])
        self._queue = ImageQueue(None)
        self._throughput = ThroughputCounter()
        self._skipped = self._lost_before = 0
        self._last_full = float("-inf")
        self._delays: deque[float] = deque(maxlen=100)
        self.add_post_set_parameters_callback(self._swap)

    def configure(self) -> None:
        """Load the model, and offer what is published."""
        self._detector = self._load(self.settings["model"])
        self._every = bool(self.settings["every_frame"])
        self._queue = ImageQueue(round(self.settings["queue_mb"] * 1e6) if self._every else None)
        self._detections = declared_publisher(self, "camera/detections")
        self._vision = vision_types()
        self._vision_detections = declared_publisher(self, "camera/detections/vision") if self._vision else None
        self._overlay = declared_publisher(self, "camera/detections/overlay")
        self.diagnostics.add_task("detection", self._report)

    def activate(self) -> None:
        """Subscribe, and detect."""
        self._input = ImageInput(
            self,
            "camera/image_raw",
            self._take,
            depth=_BAG_DEPTH if self._every else _LIVE_DEPTH,
            has_room=self._queue.has_room,
            on_lost=self._lost,
        )
        if self._thread is None:
            self._thread = Thread(target=self._work, name="detection", daemon=True)
            self._thread.start()

    def deactivate(self) -> None:
        """Take no more images. Those that have come are detected on, if need be after this."""
        if self._input is None:
            return
        end = time.monotonic() + UNDER_WAY
        while time.monotonic() < end or not self._queue.has_room():
            self._input.take_arrived()
            if not self.wait_until(self._queue.has_room):
                return
            time.sleep(_POLL)
        self._lost_before, self._input = self._lost_before + self._input.close(), None
        if not self.wait_until(lambda: self._unfinished <= 0, self.settings["drain"]):
            self.get_logger().info(f"{self._unfinished} images still wait, and are detected on")

    def cleanup(self) -> None:
        """Detect on all that has come, and forget the model."""
        self.wait_until(lambda: self._unfinished <= 0)
        self.close()
        self._detector = self._thread = None

    def on_parameter_change(self, name: str, value: Any) -> None:
        """Load a new model; detection goes on with the old one meanwhile."""
        if name == "model" and self._detector is not None:
            self._candidate = self._load_meanwhile(value)

    def close(self) -> None:
        """Count what is not finished."""
        if self._thread is None:
            return
        if not self._every:
            self._skipped += len(self._queue.clear())
        self._queue.close()
        while left := self._queue.clear():
            for item in left:
                self.losses.add("images that still waited when the node was ended", describe_message(item.message))
            if self._input is not None:
                self._input.take_arrived()
        self._thread.join()

    def counts(self) -> Mapping[str, int]:
        """Images that came, those that were detected on, and those that were not."""
        return {
            "images received": self._throughput.received,
            "detected on": self._throughput.done,
            "skipped for a newer one": self._skipped,
            "not detected on": self._throughput.received - self._throughput.done - self._skipped,
            "lost before arrival": self._lost_on_the_way,
        }

    @property
    def _lost_on_the_way(self) -> int:
        return self._lost_before + (self._input.lost if self._input is not None else 0)

    @property
    def _unfinished(self) -> int:
        """Images that have come and are neither detected on nor left out."""
        counter = self._throughput
        return counter.received - counter.done - counter.dropped - self._skipped

    @property
    def pending(self) -> int:
        """Images that wait."""
        return len(self._queue)

    @property
    def drain_seconds(self) -> float:
        """In live work nothing is owed to images that wait."""
        return float(self.settings["drain"]) if self._every else 0.0

    def _load(self, model: str) -> Detector:
        return load_detector(
            model,
            min_score=self.settings["min_score"],
            iou=self.settings["iou"],
            imgsz=self.settings["imgsz"] or None,
            device=self.settings["device"] or "",
        )

    def _load_meanwhile(self, model: str) -> Detector:
        """Load a model in another thread; this one goes on receiving."""
        result: list[Detector | Exception] = []

        def load() -> None:
            try:
                result.append(self._load(model))
            except Exception as error:  # noqa: BLE001 - raised below, in the thread that answers
                result.append(error)

        thread = Thread(target=load, name="loading", daemon=True)
        thread.start()
        while thread.is_alive():
            if self._input is not None:
                self._input.take_arrived()
            thread.join(_POLL)
        outcome = result[0]
        if isinstance(outcome, SimjudgeError):
            raise outcome
        if isinstance(outcome, Exception):
            raise SimjudgeError(f"{model}: cannot be loaded: {_first_line(outcome)}") from outcome
        return outcome

    def _swap(self, parameters: list[Any]) -> None:
        """Use what was accepted, from the next image on."""
        detector = self._detector
        if detector is None:
            return
        names = {parameter.name for parameter in parameters}
        if "model" in names and self._candidate is not None:
            detector, self._candidate = self._candidate, None
            self.get_logger().info(f"detecting with {detector.name} from now on")
        if names & {"model", "min_score"}:
            self._detector = replace(detector, min_score=self.settings["min_score"])  # type: ignore[type-var]

    def _take(self, message: Any) -> None:
        self._throughput.received += 1
        self._skipped += self._queue.put(QueuedImage(message, time.monotonic()))
        if not self._queue.has_room():
            self._last_full = time.monotonic()

    def _lost(self, topic: str, count: int) -> None:
        """Images that never arrived; in live work a few always do not."""
        if self._every:
            self._lose("images lost on the way here", topic, count)

    def _work(self) -> None:
        try:
            wait_for_subscriptions(self, self.settings["wait_for"], self.settings["wait_timeout"])
        except SimjudgeError as error:
            self.fail(error)
            return
        while (item := self._queue.take()) is not None:
            detector, topic = self._detector, "camera/image_raw" if self._input is None else self._input.topic
            assert detector is not None  # noqa: S101 - the thread ends before the model is forgotten
            try:
                image = to_rgb(item.message, topic)
            except ImageError as error:
                self._lose("damaged images, not looked at", str(error))
                continue
            try:
                found = detector([image])[0]
            except Exception as error:  # noqa: BLE001 - whatever a net raises for one image
                where = describe_message(item.message, topic)
                self._lose("images on which the detector failed", f"{where}: {_first_line(error)}")
                continue
            self._publish(item, image, found, detector.class_names)

    def _publish(self, item: QueuedImage, image: RgbImage, found: Detections, names: dict[int, str]) -> None:
        header = item.message.header
        height, width, _ = image.shape
        self._detections.publish(detection_array(found, names, header, (width, height)))
        if self._vision_detections is not None and self._vision is not None:
            self._vision_detections.publish(vision_array(self._vision, found, names, header))
        worked = time.monotonic() - item.arrived
        delay = (self.get_clock().now().nanoseconds - message_stamp(item.message)) / 1e9
        self._delays.append(delay if _EARLIEST < delay - worked < _LATEST else math.nan)
        self._throughput.add(worked)
        if self._overlay.get_subscription_count():
            self._overlay.publish(image_message(_drawn(image, found, names), header))

    def _lose(self, kind: str, where: str, count: int = 1) -> None:
        self.lose(kind, where, count)
        self._throughput.dropped += count

    def _report(self) -> TaskState:
        values = self._throughput.diagnostic_values()
        values["stamp to detections mean (ms)"] = self._stamp_delay()
        values["waiting"] = f"{len(self._queue)} ({self._queue.megabytes:.1f} MB)"
        values["skipped for a newer one"] = self._skipped
        values["lost before arrival"] = self._lost_on_the_way
        for kind, count in list(self.losses.counts.items()):
            values[kind] = count
        name = "no model" if self._detector is None else self._detector.name
        values.update(model=self.settings["model"], min_score=self.settings["min_score"], every_frame=self._every)
        if lost := self.recent_losses:
            return TaskState(WARN, lost, values)
        if time.monotonic() - self._last_full < _RECENT:
            text = (
                f"images come faster than {name} works: queue_mb is used up, and newer ones wait in the "
                "middleware until it drops them; play more slowly or raise queue_mb"
            )
            return TaskState(WARN, text, values)
        if self._input is None:
            return TaskState(OK, "inactive", values)
        return TaskState(OK, f"detecting with {name}", values)

    def _stamp_delay(self) -> str:
        delays = list(self._delays)
        if not delays:
            return "none yet"
        mean = sum(delays) / len(delays)
        return "unknown: the stamps are not of this node's clock" if math.isnan(mean) else f"{1e3 * mean:.1f}"


def _drawn(image: RgbImage, found: Detections, names: dict[int, str]) -> RgbImage:
    ids, scores = found.class_id.tolist(), found.score.tolist()
    colours = [class_colour(number, names.get(number, "")) for number in ids]
    labels = [f"{names.get(number, number)} {score:.2f}" for number, score in zip(ids, scores, strict=True)]
    return draw_boxes(image, found.box, colours, labels)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def main() -> None:
    """The executable."""
    run_node(DetectionNode)


if __name__ == "__main__":
    main()
