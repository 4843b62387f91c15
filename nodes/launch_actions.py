"""A graph's description as actions of ROS 2's launch."""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    GroupAction,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.parameter_descriptions import ParameterValue

from simjudge.core.errors import SimjudgeError
from simjudge.core.exit_codes import DONE, EXIT_STOPPED
from simjudge.graph.description import CLOSING, Graph, Process, Value, normalize_namespace
from simjudge.graph.viewers import missing_viewers

_KINDS: dict[type, Any] = {bool: bool, int: int, float: float, str: str, list: list[str]}


def launch_description(graph: Graph) -> LaunchDescription:
    """The launch description of a graph: its arguments, and its programs once the arguments are known.

    Args:
        graph: the description that `simjudge run` reads too.
    """
    declared = [
        DeclareLaunchArgument(
            each.name, default_value=each.default, description=each.description, choices=list(each.choices) or None
        )
        for each in graph.arguments
    ]

    def build(context: LaunchContext) -> list[Action]:
        values = {each.name: LaunchConfiguration(each.name).perform(context) for each in graph.arguments}
        actions = _actions(graph.processes(values), normalize_namespace(values["robot_ns"]))
        # Launch hands on what nobody declares, and says nothing.
        said = [*graph.misspelled_arguments(context.argv), *missing_viewers(values)]
        return [*(LogInfo(msg=line) for line in said), *actions]

    return LaunchDescription([*declared, OpaqueFunction(function=build)])


def _actions(processes: tuple[Process, ...], namespace: str) -> list[Action]:
    nodes = [_node(process) for process in processes]
    space = [PushRosNamespace(namespace)] if namespace else []
    # Who takes data starts first, who makes it last.
    ending = RegisterEventHandler(OnProcessExit(on_exit=_Ending(processes, nodes)))
    return [ending, GroupAction([*space, *reversed(nodes)])]


def _node(process: Process) -> Node:
    return Node(
        package=process.package,
        executable=process.executable,
        name=process.name,
        exec_name=process.name,
        arguments=list(process.arguments),
        parameters=[{name: _value(value) for name, value in process.parameters.items()}, *process.parameter_files],
        remappings=list(process.remappings),
        sigterm_timeout=str(process.patience),
        sigkill_timeout=str(CLOSING),
        output="screen",
    )


def _value(value: Value) -> ParameterValue:
    # With its type: launch would take the text "1" for a number.
    return ParameterValue(value, value_type=_KINDS[type(value)])


class _Ending:
    """Tells all programs to end once the work is done, or one dies; each then ends after those that feed it."""

    def __init__(self, processes: tuple[Process, ...], nodes: list[Node]) -> None:
        self._processes, self._nodes = processes, nodes
        self._led = {process.name for process in processes if process.is_led}

    def __call__(self, event: ProcessExited, context: LaunchContext) -> list[Action]:
        """What to do when a program has ended.

        Raises:
            SimjudgeError: it failed, or ended too early. Launch says so, ends the others, and exits with 1: that is
                launch's one way to an exit code.
        """
        if event.action not in self._nodes:
            return []
        process = self._processes[self._nodes.index(event.action)]
        done = event.returncode in DONE
        self._led.discard(process.name)
        if context.is_shutdown and (done or event.returncode == EXIT_STOPPED or event.returncode < 0):
            return []
        if done and (process.leads or (process.is_led and not self._led)):
            return [EmitEvent(event=Shutdown(reason="the work is done"))]
        if done and process.is_led:
            return []
        raise SimjudgeError(f"{process.name} ended with exit code {event.returncode}")
