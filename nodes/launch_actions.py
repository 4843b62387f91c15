"""A graph's description as actions of ROS 2's launch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from launch import Event, LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import DeclareLaunchArgument, EmitEvent, GroupAction, LogInfo, OpaqueFunction, RegisterEventHandler
from launch.event_handler import EventHandler
from launch.event_handlers import OnProcessExit, OnShutdown
from launch.events import Shutdown, matches_action
from launch.events.process import ProcessExited, ShutdownProcess
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.parameter_descriptions import ParameterValue

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import need_ros
from simjudge.core.processes import DONE, EXIT_STOPPED
from simjudge.ros.description import CLOSING, YES_NO, Argument, Graph, Process, missing_viewers, normalize_namespace

_KINDS: dict[type, Any] = {bool: bool, int: int, float: float, str: str, list: list[str]}
_ENCLOSING = "ros_namespace"  # The launch configuration in which PushRosNamespace keeps the namespace


def launch_description(graph: Graph) -> LaunchDescription:
    """The launch description of a graph: its arguments, and its programs once the arguments are known."""
    return LaunchDescription(
        [*map(_declaration, graph.arguments), OpaqueFunction(function=_GraphLaunch(graph).actions)]
    )


def _declaration(argument: Argument) -> DeclareLaunchArgument:
    # Launch compares texts: it would refuse "True", which is how launch itself writes a truth.
    choices = () if set(YES_NO) <= set(argument.choices) else argument.choices
    named = "" if choices == argument.choices else f" One of: {', '.join(argument.choices)}."
    return DeclareLaunchArgument(
        argument.name,
        default_value=argument.default,
        description=argument.description + named,
        choices=list(choices) or None,
    )


class _Failure(Event):  # type: ignore[misc]  # launch has no types
    """The launch ends, and a graph in it has failed."""

    name = "simjudge.Failure"


class _GraphLaunch:
    """A graph in a launch, which may hold others: what fails or is over here ends the programs of this graph alone.

    Launch's one way to an exit code of 1 is an exception, which ends everything. So it is raised when the launch is
    ending anyway: at once, where it holds nothing but this graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._processes: tuple[Process, ...] = ()
        self._nodes: list[Node] = []
        self._led: set[str] = set()
        self._is_ending = self._ends_all = False
        self._failure = ""

    def actions(self, context: LaunchContext) -> list[Action]:
        at_the_end = [
            RegisterEventHandler(OnShutdown(on_shutdown=self._say_failure)),
            RegisterEventHandler(EventHandler(matcher=_is_failure, entities=[OpaqueFunction(function=self._raise)])),
        ]
        try:
            return [*at_the_end, *self._start(context)]
        except SimjudgeError as error:
            return [*at_the_end, *self._fail(str(error))]

    def _start(self, context: LaunchContext) -> list[Action]:
        given = {
            argument.name: LaunchConfiguration(argument.name).perform(context) for argument in self._graph.arguments
        }
        self._ends_all = given["on_exit"] == "shutdown"
        values = self._graph.complete(given)
        need_ros()
        namespace = normalize_namespace(values["robot_ns"])
        # Below an enclosing namespace all names are relative ones, as below one of the graph's own.
        values["robot_ns"] = (context.launch_configurations.get(_ENCLOSING) or "").rstrip("/") + namespace
        self._processes = self._graph.processes(values)
        self._led = {process.name for process in self._processes if process.is_led}
        self._nodes = [_node(process) for process in self._processes]
        space = [PushRosNamespace(namespace.lstrip("/"))] if namespace else []
        # Launch hands on what nobody declares, and says nothing.
        said = [*self._misspelled(context), *missing_viewers(values)]
        ending = RegisterEventHandler(OnProcessExit(on_exit=self._on_exit))
        # Who takes data starts first, who makes it last.
        return [*(LogInfo(msg=line) for line in said), ending, GroupAction([*space, *reversed(self._nodes)])]

    def _misspelled(self, context: LaunchContext) -> list[str]:
        """Warnings, where this graph is what was launched: other words are for the launch file that includes it."""
        own = Path(context.get_locals_as_dict().get("current_launch_file_path", "")).resolve()
        pairs = zip(sys.argv, sys.argv[1:], strict=False)
        if any(Path(word).resolve() == own or (before, word) == (Process.package, own.name) for before, word in pairs):
            return self._graph.misspelled_arguments(context.argv)
        return []

    def _on_exit(self, event: ProcessExited, context: LaunchContext) -> list[Action]:
        """Once the work is done, or a program dies, tell all to end; each does after those that feed it."""
        if event.action not in self._nodes:
            return []
        process = self._processes[self._nodes.index(event.action)]
        done = event.returncode in DONE
        self._led.discard(process.name)
        told = self._is_ending or context.is_shutdown
        if told and (done or event.returncode == EXIT_STOPPED or event.returncode < 0):
            return []
        if done and (process.leads or (process.is_led and not self._led)):
            return self._end()
        if done and process.is_led:
            return []
        return self._fail(f"{process.name} ended with exit code {event.returncode}")

    def _fail(self, why: str) -> list[Action]:
        self._failure = self._failure or why
        get_logger(Process.package).error(f"{self._graph.name}: {why}")
        return self._end()

    def _end(self) -> list[Action]:
        self._is_ending = True
        if self._ends_all:
            return [EmitEvent(event=Shutdown(reason=self._failure or "the work is done"))]
        return [EmitEvent(event=ShutdownProcess(process_matcher=matches_action(node))) for node in self._nodes]

    def _say_failure(self, _event: Event, _context: LaunchContext) -> list[Action]:
        # Raised here, it would keep the other programs from learning of the end.
        return [EmitEvent(event=_Failure())] if self._failure else []

    def _raise(self, _context: LaunchContext) -> None:
        failure, self._failure = self._failure, ""
        if failure:
            raise SimjudgeError(f"{self._graph.name}: {failure}")


def _is_failure(event: Event) -> bool:
    return isinstance(event, _Failure)


def _node(process: Process) -> Node:
    return Node(
        package=process.package,
        executable=process.executable,
        name=process.name,
        exec_name=process.name,
        arguments=list(process.arguments),
        parameters=[
            {name: ParameterValue(value, value_type=_KINDS[type(value)]) for name, value in process.parameters.items()},
            *process.parameter_files,
        ],
        remappings=list(process.remappings),
        sigterm_timeout=str(process.patience),
        sigkill_timeout=str(CLOSING),
        output="screen",
    )
