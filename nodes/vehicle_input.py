"""What a driver asks of the simulated car: the latest command, and the answer to a frame."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from threading import Condition
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.vehicle.vehicle import Command

from .endpoints import declared_subscription
from .headers import describe_message, message_stamp
from .runtime import SimjudgeNode, message_class

_WAKE = 0.2
"""Seconds between looks whether waiting is given up."""
_FIELDS = {"steering": (-1.0, 1.0), "throttle": (0.0, 1.0), "braking": (0.0, 1.0)}


class VehicleInputs:
    """Takes commands from a topic; they are asked for on another thread.

    Attributes:
        received: messages that came.
    """

    def __init__(self, node: SimjudgeNode, topic: str) -> None:
        """Subscribe.

        Args:
            node: with the parameter `input_type`, the type of the commands: a header, and steering, throttle and
                braking as in simjudge_msgs/msg/VehicleInput. It counts what is left out.
            topic: of the commands.

        Raises:
            SimjudgeError: the type is not installed, or has other fields.
        """
        self.received = 0
        self._node, self._changed = node, Condition()
        self._latest: tuple[int, Command] | None = None
        kind = node.settings["input_type"]
        fields = message_class(kind).get_fields_and_field_types()
        lacking = [name for name in ("header", *_FIELDS) if name not in fields]
        if lacking:
            raise SimjudgeError(f"parameter input_type: {kind} has no {', '.join(lacking)}")
        self._topic = node.resolve_topic_name(topic)
        declared_subscription(node, topic, self._take)

    def latest(self) -> Command | None:
        """The last command that came, None before the first."""
        with self._changed:
            return None if self._latest is None else self._latest[1]

    def wait_for_answer(self, stamp: int, seconds: float, given_up: Callable[[], bool]) -> Command | None:
        """Wait for the command that answers a frame: whose stamp is not before the frame's, or that has none.

        Args:
            stamp: of the frame, nanoseconds.
            seconds: to wait at most, on the wall's clock.
            given_up: asked several times a second.

        Returns:
            None where none came.
        """
        end = time.monotonic() + seconds
        with self._changed:
            while not given_up():
                if self._latest is not None and (self._latest[0] >= stamp or self._latest[0] == 0):
                    return self._latest[1]
                left = end - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(min(left, _WAKE))
        return None

    def clear(self) -> None:
        """Commands so far were meant for something else."""
        with self._changed:
            self._latest = None

    def _take(self, message: Any) -> None:
        numbers = {name: float(getattr(message, name)) for name in _FIELDS}
        for name, (low, high) in _FIELDS.items():
            if not (math.isfinite(numbers[name]) and low <= numbers[name] <= high):
                value = f"{name} {numbers[name]:g}, not within {low:g} to {high:g}"
                where = f"{describe_message(message, self._topic)}: {value}"
                self._node.losses.add("commands that make no sense, not obeyed", where)
                return
        with self._changed:
            self.received += 1
            self._latest = (message_stamp(message), Command(**numbers))
            self._changed.notify_all()
