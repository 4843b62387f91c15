"""Takes a real camera's topics over under the names that the other nodes know."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image as PillowImage
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.node_settings import CameraBridgeSettings
from simjudge.sim.sensors.camera.calibration import Calibration, Undistortion, read_calibration

from .diagnostics import ERROR, OK, WARN, TaskState, ThroughputCounter
from .image_input import ImageInput
from .messages import camera_info_message, flip_rows, image_message, message_stamp, to_rgb
from .parameters import settings_parameters
from .runtime import SimjudgeNode, declared_publisher, run_node

_DEPTH = 30  # Images that the middleware keeps


@dataclass(frozen=True)
class _Camera:
    """What is said of images of one size."""

    info: CameraInfo
    undistortion: Undistortion


class CameraBridgeNode(SimjudgeNode):
    """Takes a real camera's images over: image[/compressed] in; camera/image_raw, camera_info, image_rect out."""

    NAME = "camera_bridge_node"
    INTERFACE = NODES["camera_bridge_node"]
    PARAMETERS = settings_parameters(CameraBridgeSettings)

    def __init__(self) -> None:
        super().__init__()
        self._calibration = self._read_calibration()
        self._cameras: dict[tuple[int, int], _Camera | None] = {}
        self._throughput = ThroughputCounter()
        self._decoded = self._unstamped = self._backward = 0
        self._last_stamp = -1
        self._raw = declared_publisher(self, "camera/image_raw")
        with_jpeg = self.settings["transport"] != "raw"
        self._compressed = declared_publisher(self, "camera/image_raw/compressed") if with_jpeg else None
        self._info = declared_publisher(self, "camera/camera_info") if self._calibration else None
        self._rect = declared_publisher(self, "camera/image_rect") if self._calibration else None
        self._input = ImageInput(self, "image", self._take, depth=_DEPTH)
        mine = {subscription.topic_name for subscription in (self._raw, self._compressed) if subscription is not None}
        loop = mine & set(self._input.topic.split(" or "))
        if loop:
            raise SimjudgeError(f"{min(loop)} is both taken and published; remap one of them")
        self.diagnostics.add_task("bridge", self._report)

    def counts(self) -> Mapping[str, int]:
        """Images that came and were taken over, and those that did not come."""
        return {"images taken over": self._throughput.done, "lost before arrival": self._input.lost}

    def _read_calibration(self) -> Calibration | None:
        if not self.settings["calibration"]:
            return None
        path = Path(self.settings["calibration"])
        calibration = read_calibration(path)
        doubt = calibration.doubt()
        if doubt is None:
            self.diagnostics.set_state("calibration", OK, f"{path}: {calibration.name}")
        elif doubt.wrong and self.settings["calibration_check"] == "refuse":
            remedy = "correct the file, or set calibration_check:=warn if a part of the sensor is read out"
            raise SimjudgeError(f"{path}: {doubt.message}; {remedy}")
        else:
            self.diagnostics.set_state("calibration", WARN, f"{path}: {doubt.message}")
        return calibration

    def _take(self, message: Any) -> None:
        begin = time.monotonic()
        self._throughput.received += 1
        self._settle_header(message)
        if isinstance(message, Image):
            if self.settings["upside_down"]:
                flip_rows(message)
            self._raw.publish(message)
        elif self._compressed is not None:
            self._compressed.publish(message)
        camera = self._camera(message)
        if camera is not None and self._info is not None:
            camera.info.header = message.header
            self._info.publish(camera.info)
        self._publish_decoded(message, camera)
        self._throughput.add(time.monotonic() - begin)

    def _settle_header(self, message: Any) -> None:
        """Frame and stamp as wanted; what is odd about the stamps is counted."""
        header = message.header
        if self.settings["frame_id"]:
            header.frame_id = self.settings["frame_id"]
        if self.settings["restamp"] == "arrival":
            header.stamp = self.get_clock().now().to_msg()
            return
        stamp = message_stamp(message)
        self._unstamped += stamp == 0
        self._backward += stamp < self._last_stamp
        self._last_stamp = stamp

    def _publish_decoded(self, message: Any, camera: _Camera | None) -> None:
        """What needs the pixels, where somebody wants it."""
        wants_raw = isinstance(message, CompressedImage) and self._raw.get_subscription_count() > 0
        wants_rect = camera is not None and self._rect is not None and self._rect.get_subscription_count() > 0
        if not wants_raw and not wants_rect:
            return
        try:
            image = to_rgb(message, self._input.topic)
        except ImageError as error:
            self.losses.add("damaged images, not decoded", str(error))
            self._throughput.dropped += 1
            return
        self._decoded += 1
        if wants_raw:
            self._raw.publish(image_message(image, message.header))
        if wants_rect and camera is not None and self._rect is not None:
            self._rect.publish(image_message(camera.undistortion(image), message.header))

    def _camera(self, message: Any) -> _Camera | None:
        """The calibration for an image; None where there is none that fits."""
        size = _size(message)
        if self._calibration is None or size is None:
            return None
        if size not in self._cameras:
            self._cameras[size] = self._fitted(self._calibration, size)
        return self._cameras[size]

    def _fitted(self, calibration: Calibration, size: tuple[int, int]) -> _Camera | None:
        """The calibration for images of a size, scaled where that is wanted; else it is said what is wrong."""
        have, want = (f"{width}x{height}" for width, height in (calibration.size, size))
        if size != calibration.size:
            task = f"calibration for {want}"
            if not self.settings["scale_calibration"]:
                self.diagnostics.set_state(
                    task,
                    ERROR,
                    f"the calibration is for {have} and the images are {want}: no camera_info for them; "
                    "calibrate at this size, or set scale_calibration:=true if they show the same scene, resized",
                )
                return None
            try:
                calibration = calibration.scaled(size)
            except SimjudgeError as error:
                self.diagnostics.set_state(task, ERROR, str(error))
                return None
            self.diagnostics.set_state(task, OK, f"the calibration is scaled from {have} to {want}")
        return _Camera(camera_info_message(calibration), calibration.undistortion())

    def _report(self) -> TaskState:
        values = self._throughput.diagnostic_values()
        values.update(
            {
                "decoded": self._decoded,
                "lost before arrival": self._input.lost,
                "without a stamp": self._unstamped,
                "stamps that jump back": self._backward,
            }
        )
        for kind, count in self.losses.counts.items():
            values[kind] = count
        if self._unstamped:
            return TaskState(WARN, "images come without a stamp: set restamp:=arrival", values)
        if self._backward:
            return TaskState(
                WARN, f"stamps jump back ({self._backward} times): a clock was set, or a recording loops", values
            )
        if self.losses:
            return TaskState(WARN, "; ".join(self.losses.lines()), values)
        return TaskState(OK, f"images of {self._input.topic} are taken over", values)


def _size(message: Any) -> tuple[int, int] | None:
    """Width and height of an image, from its message or its file's header; None where that is damaged."""
    if isinstance(message, Image):
        return int(message.width), int(message.height)
    try:
        with PillowImage.open(io.BytesIO(bytes(message.data))) as image:
            return image.size
    except (OSError, SyntaxError, ValueError):
        return None


def main() -> None:
    """The executable."""
    run_node(CameraBridgeNode)


if __name__ == "__main__":
    main()
