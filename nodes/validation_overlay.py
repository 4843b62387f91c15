"""The camera image with boxes coloured by their context's W1, and the numbers so far; made while somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError
from simjudge.questions.watch import SummaryLine, draw_contexts
from simjudge.studies.live.judge import JudgedFrame

from .endpoints import declared_publisher
from .headers import message_stamp
from .image_input import ImageInput
from .image_messages import image_message, to_rgb
from .runtime import SimjudgeNode

_CHECK_PERIOD = 0.5
"""Seconds between looks whether somebody subscribes."""
_KEPT_IMAGES = 30
"""Images that wait for their frames."""
_KEPT_FRAMES = 120
"""Frames that wait for their images."""


class ValidationOverlay:
    """Images and judged frames, brought together by stamp.

    Attributes:
        lines: the numbers so far, which stand on every image.
    """

    def __init__(self, node: SimjudgeNode, post: Callable[[Callable[[], None]], None]) -> None:
        """Publish `validation/overlay`.

        Args:
            node: with the parameters `transport` and `reliability` of the images.
            post: has something done on the thread that judges, which is where images are drawn.
        """
        self._node, self._post = node, post
        self._publisher = declared_publisher(node, "validation/overlay")
        self._input: ImageInput | None = None
        self._images: dict[int, Any] = {}
        self._frames: dict[int, JudgedFrame] = {}
        self._lock = Lock()
        self.lines: Sequence[SummaryLine] = ()
        node.create_timer(_CHECK_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def wanted(self) -> bool:
        """Whether somebody looks."""
        return bool(self._publisher.get_subscription_count())

    def add(self, judged: JudgedFrame) -> None:
        """Draw a judged frame once its image is there, which may come before it or after it."""
        if self._input is None or not self.wanted:
            return
        stamp = int(judged.frames.stamp[0])
        with self._lock:
            image = self._images.pop(stamp, None)
            if image is None:
                _keep(self._frames, stamp, judged, _KEPT_FRAMES)
        if image is not None:
            self._draw(image, judged)

    def _look(self) -> None:
        if self._input is None and self.wanted:
            self._input = ImageInput(self._node, "camera/image_raw", self._take, depth=5)

    def _take(self, message: Any) -> None:
        if not self.wanted:
            return
        stamp = message_stamp(message)
        with self._lock:
            judged = self._frames.pop(stamp, None)
            if judged is None:
                _keep(self._images, stamp, message, _KEPT_IMAGES)
        if judged is not None:
            frame = judged
            self._post(lambda: self._draw(message, frame))

    def _draw(self, message: Any, judged: JudgedFrame) -> None:
        try:
            image = to_rgb(message, "camera/image_raw")
        except (ImageError, SimjudgeError) as error:
            self._node.get_logger().warning(f"no overlay: {error}")
            return
        self._publisher.publish(image_message(draw_contexts(image, judged, self.lines), message.header))


def _keep(kept: dict[int, Any], stamp: int, item: Any, most: int) -> None:
    kept[stamp] = item
    while len(kept) > most:
        del kept[next(iter(kept))]
