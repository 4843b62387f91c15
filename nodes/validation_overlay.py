"""The camera picture with the boxes coloured by their context's W1; made only while somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from sensor_msgs.msg import Image

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError, RgbImage
from simjudge.studies.live.judge import JudgedFrame

from .image_input import ImageInput
from .image_messages import image_message, stamp_of, to_rgb
from .overlay import draw_boxes
from .qos import images
from .runtime import SimjudgeNode
from .validation_messages import LARGEST_W1, OUTSIDE, context_colours, w1_colour

_LOOK = 0.5
_KEPT_PICTURES, _KEPT_FRAMES = 30, 120
_LEGEND_WIDTH, _STEPS = 0.25, 64


class ValidationOverlay:
    """Pictures and judged frames, brought together by stamp."""

    def __init__(self, node: SimjudgeNode, post: Callable[[Callable[[], None]], None]) -> None:
        """Publish `validation/overlay`.

        Args:
            node: with the parameters `transport` and `reliability` of the pictures.
            post: has something done on the thread that judges, which is where pictures are drawn.
        """
        self._node, self._post = node, post
        self._publisher = node.create_publisher(Image, "validation/overlay", images(depth=2))
        self._input: ImageInput | None = None
        self._pictures: dict[int, Any] = {}
        self._frames: dict[int, JudgedFrame] = {}
        self._lock = Lock()
        node.create_timer(_LOOK, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def wanted(self) -> bool:
        """Whether somebody looks."""
        return bool(self._publisher.get_subscription_count())

    def add(self, judged: JudgedFrame) -> None:
        """Take a judged frame in; its picture may have come before it or come after it."""
        if self._input is None or not self.wanted:
            return
        stamp = int(judged.frames.stamp[0])
        with self._lock:
            picture = self._pictures.pop(stamp, None)
            if picture is None:
                _keep(self._frames, stamp, judged, _KEPT_FRAMES)
        if picture is not None:
            self._draw(picture, judged)

    def _look(self) -> None:
        if self._input is None and self.wanted:
            self._input = ImageInput(self._node, "camera/image_raw", self._take, depth=5)

    def _take(self, message: Any) -> None:
        if not self.wanted:
            return
        stamp = stamp_of(message)
        with self._lock:
            judged = self._frames.pop(stamp, None)
            if judged is None:
                _keep(self._pictures, stamp, message, _KEPT_PICTURES)
        if judged is not None:
            frame = judged
            self._post(lambda: self._draw(message, frame))

    def _draw(self, message: Any, judged: JudgedFrame) -> None:
        try:
            picture = to_rgb(message, "camera/image_raw")
        except (ImageError, SimjudgeError) as error:
            self._node.get_logger().warning(f"no overlay: {error}")
            return
        self._publisher.publish(image_message(overlay_picture(picture, judged), message.header))


def overlay_picture(picture: RgbImage, judged: JudgedFrame) -> RgbImage:
    """A picture with the labelled boxes: coloured by W1, dashed where the reference shows nothing similar, a legend.

    Args:
        picture: (H, W, 3) RGB; boxes are scaled where the labels were made on another size.
        judged: the frame.
    """
    height, width = picture.shape[:2]
    scale = np.tile(np.array([width, height]) / judged.frames.size[0], 2)
    texts = ["" if np.isnan(w1) else f"{w1:.2f}" for w1 in judged.w1]
    out = draw_boxes(
        picture, judged.frames.objects.box * scale, context_colours(judged), texts, dashed=~judged.in_overlap
    )
    return _with_legend(out)


def _with_legend(picture: RgbImage) -> RgbImage:
    """The colour scale in the upper left corner, with its ends, and the sign for what is outside the overlap."""
    width = picture.shape[1]
    step = max(1, round(width * _LEGEND_WIDTH / _STEPS))
    bar = 4 * max(1, round(picture.shape[0] / 240))
    shown = picture[2 : 2 + bar, 2 : 2 + step * _STEPS]
    colours = [w1_colour(LARGEST_W1 * (column // step + 0.5) / _STEPS) for column in range(shown.shape[1])]
    shown[:] = np.array(colours, np.uint8).reshape(1, -1, 3)
    ends = [w1_colour(0.0), w1_colour(LARGEST_W1), OUTSIDE]
    left = [2, 2 + step * (_STEPS - 12), 2 + step * (_STEPS + 4)]
    below = 4 + bar
    boxes = [(x, below, x + bar, below + bar) for x in left]
    return draw_boxes(picture, boxes, ends, ("W1 0", f"{LARGEST_W1:g}+", "no overlap"), dashed=[False, False, True])


def _keep(kept: dict[int, Any], stamp: int, item: Any, most: int) -> None:
    kept[stamp] = item
    while len(kept) > most:
        del kept[next(iter(kept))]
