"""Whose detections come on a topic, and when that detector is changed: the parameters of the nodes that publish it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import ParameterEvent, ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import qos_profile_parameter_events

from simjudge.core.names import DetectorRecord
from simjudge.data.rosbag2.storage import format_seconds

from .runtime import SimjudgeNode

_ASKED = ("model", "min_score", "iou", "imgsz")
"""Parameters of a detection node that make its boxes what they are; another's node may have some of them."""
_NO_MATTER = {"use_sim_time", "start_type_description_service"}
_LOOK_PERIOD = 1.0  # Seconds between looks at who publishes


class DetectorWatch:
    """Follows the nodes that publish a topic of detections; all is called on the executor's thread.

    `on_found` takes the detector, once its node has said what it runs with; `on_change` takes a line that names node,
    stamp and settings, before and after.
    """

    def __init__(
        self,
        node: SimjudgeNode,
        topic: str,
        on_found: Callable[[DetectorRecord], None],
        on_change: Callable[[str], None],
    ) -> None:
        self._node, self._topic = node, topic
        self._on_found, self._on_change = on_found, on_change
        self._settings: dict[str, dict[str, object]] = {}
        node.create_subscription(ParameterEvent, "/parameter_events", self._changed, qos_profile_parameter_events)
        node.create_timer(_LOOK_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publishers(self) -> set[str]:
        found = self._node.get_publishers_info_by_topic(self._topic)
        return {f"{one.node_namespace.rstrip('/')}/{one.node_name}" for one in found}

    def _look(self) -> None:
        for name in self._publishers() - self._settings.keys():
            client: Any = self._node.create_client(GetParameters, f"{name}/get_parameters")
            if client.service_is_ready():
                self._settings[name] = {}
                # One by one: of several, one that a node lacks would leave all unanswered.
                waiting = list(_ASKED)
                for key in _ASKED:
                    future = client.call_async(GetParameters.Request(names=[key]))
                    future.add_done_callback(partial(self._known, name, key, client, waiting))
            else:
                self._node.destroy_client(client)

    def _known(self, name: str, key: str, client: Any, waiting: list[str], future: Any) -> None:
        for value in future.result().values if future.exception() is None else ():
            if value.type != ParameterType.PARAMETER_NOT_SET:
                self._settings[name].setdefault(key, parameter_value_to_python(value))
        waiting.remove(key)
        if not waiting:
            self._node.destroy_client(client)
            self._tell(name)

    def _tell(self, name: str) -> None:
        settings = {key: value for key, value in self._settings[name].items() if key != "model" and value}
        if size := settings.get("imgsz"):
            settings["imgsz"] = [size, size]
        model = self._settings[name].get("model")
        self._on_found(DetectorRecord(Path(str(model)).stem if model else name, settings=settings))

    def _changed(self, event: ParameterEvent) -> None:
        if event.node not in self._publishers():
            return
        known = self._settings.setdefault(event.node, {})
        ours = "model" in known
        for parameter in event.changed_parameters:
            value = parameter_value_to_python(parameter.value)
            if parameter.name in _NO_MATTER or (ours and parameter.name not in _ASKED):
                continue
            before = known.get(parameter.name)
            known[parameter.name] = value
            if before != value:
                was = "" if before is None else f" from {before}"
                stamp = format_seconds(event.stamp.sec * 10**9 + event.stamp.nanosec)
                self._on_change(f"{event.node}: {parameter.name} was changed{was} to {value} at {stamp}")
                self._tell(event.node)
