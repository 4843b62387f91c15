"""What every node does the same way: start, spin, end.

SIGINT, SIGTERM and SIGHUP end a node with everything written and exit code 0; what a user can act on is one line on
stderr and exit code 1; input that was lost is counted and gives exit code 3.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import rclpy
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rcl_interfaces.msg import ListParametersResult
from rclpy.exceptions import InvalidTopicNameException, NameValidationException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.processes import EXIT_FAILED, EXIT_LOST, EXIT_OK, EXIT_STOPPED
from simjudge.ros.node_interfaces import NodeInterface

from .diagnostics import Diagnostics, watch_clock, watch_types
from .ending import EndingNode, StopSignals, end_in_turn, wait_until_arrived
from .parameters import Parameter, ParameterValues, table_text
from .qos import PROFILE_VARIABLES, QosOverrides

_WAKE = 0.1  # Seconds between looks whether the node ends
_RECENT = 10.0  # Seconds for which a loss is a warning in diagnostics
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where POSIX puts shared memory
_LEAST_SHARED_MEMORY = 256 << 20  # Bytes that must be free there for the profile with large shared memory
# Newer releases warn of the former name of the variable that names the profile.
_FORMER_NAME = {"humble", "iron", "jazzy"}


class SimjudgeNode(EndingNode):
    """A node with a parameter table, diagnostics and a proper end (see `simjudge.nodes.ending`).

    A subclass names itself (`NAME`), states its parameters (`PARAMETERS`), its topics and services (`INTERFACE`) and
    its purpose (the docstring), creates its topics in `__init__`, says what went through it (`counts`) and what waits
    in it (`pending`), and writes what is to be written in `close`.

    Attributes:
        settings: the current parameter values, by name.
        diagnostics: what the node says on /diagnostics.
        losses: input that was left out; any makes the exit code 3.
        unfinished: the node was told to end before what it is for was done; that makes the exit code 130.
    """

    NAME = ""
    PARAMETERS: tuple[Parameter, ...] = ()
    INTERFACE = NodeInterface()

    def __init__(self) -> None:
        self._qos_overrides: QosOverrides | None = None
        super().__init__(self.NAME)
        self.losses, self.unfinished = Losses(), False
        self._last_loss = float("-inf")
        self._qos_overrides = QosOverrides(self)
        self.settings = ParameterValues(self, self.PARAMETERS, self.on_parameter_change)
        self.diagnostics = Diagnostics(self)
        watch_clock(self, self.diagnostics)
        ends = (*self.INTERFACE.publishes, *self.INTERFACE.subscribes)
        watch_types(self, self.diagnostics, {end.topic: end.type_parameter for end in ends if end.type_parameter})

    def start(self) -> None:
        """Called once, when the node is up and before it is served."""

    def on_parameter_change(self, name: str, value: Any) -> None:
        """Called before a parameter changes while the node runs."""

    def list_parameters(self, prefixes: list[str], depth: int) -> ListParametersResult:
        """The parameters that have a value, as `ros2 param list` shows them.

        rclpy answers a request for values with none at all if one of the names has no value, so that `ros2 param dump`
        would print an empty file.
        """
        out = super().list_parameters(prefixes, depth)
        out.names = [name for name in out.names if self.get_parameter_or(name).value is not None]
        return out

    def create_publisher(self, *given: Any, **named: Any) -> Any:
        """The same as rclpy's; parameters below `qos_overrides` count."""
        make = super().create_publisher
        overrides = self._qos_overrides
        return overrides.create(make, "publisher", *given, **named) if overrides else make(*given, **named)

    def create_subscription(self, *given: Any, **named: Any) -> Any:
        """The same as rclpy's; parameters below `qos_overrides` count."""
        make = super().create_subscription
        overrides = self._qos_overrides
        return overrides.create(make, "subscription", *given, **named) if overrides else make(*given, **named)

    def warn_of_unmet_overrides(self) -> None:
        """Name the parameters `qos_overrides.` of topics that the node never had."""
        for name in self._qos_overrides.unmet if self._qos_overrides else ():
            self.get_logger().warning(f"{name} counted for nothing: this node had no such topic")

    def lose(self, kind: str, where: str, count: int = 1) -> None:
        """Count input that is left out; the log names the first piece of each kind."""
        self.losses.add(kind, where, count)
        self._last_loss = time.monotonic()
        if self.losses.counts[kind] == count:
            self.get_logger().warning(f"{kind}, the first one: {where}")

    @property
    def recent_losses(self) -> str:
        """The counts of all losses, for diagnostics; empty where the last one was long ago."""
        if time.monotonic() - self._last_loss > _RECENT:
            return ""
        return "; ".join(f"{count} {kind}" for kind, count in list(self.losses.counts.items()))

    @property
    def is_source(self) -> bool:
        """Whether the node makes data rather than taking it: told to end, it stops at once."""
        return all(row.name != "ends_after" for row in self.PARAMETERS)

    @property
    def ends_after(self) -> Sequence[str]:
        """The nodes that may feed this one."""
        return () if self.is_source else tuple(self.settings["ends_after"])


def run_node(node_class: type[SimjudgeNode], args: Sequence[str] | None = None) -> NoReturn:
    """Run a node until its work is done or a signal ends it, and exit."""
    arguments = list(sys.argv if args is None else args)
    if {"-h", "--help"} & set(arguments[1:]):
        sys.stdout.write(_help(node_class))
        sys.exit(EXIT_OK)
    load_shared_memory_profile()
    losses, problem, unfinished = Losses(), "", False
    try:
        _refuse_unknown_arguments(rclpy.utilities.remove_ros_args(arguments)[1:], node_class.NAME)
        unfinished = _run(node_class, arguments, losses)
    except SimjudgeError as error:
        problem = f"error: {node_class.NAME}: {error}\n"
    for line in losses.lines():
        sys.stderr.write(f"warning: left out {line}\n")
    sys.stderr.write(problem)
    sys.exit(EXIT_FAILED if problem else EXIT_STOPPED if unfinished else EXIT_LOST if losses else EXIT_OK)


def message_class(name: str) -> type[Any]:
    """The class of a message or service type."""
    package, _, rest = name.partition("/")
    kind, _, stem = rest.partition("/")
    if kind not in ("msg", "srv") or not stem.isidentifier() or not package.isidentifier():
        raise SimjudgeError(f"{name!r} is no message type; write it like sensor_msgs/msg/Image")
    try:
        found: type[Any] = getattr(importlib.import_module(f"{package}.{kind}"), stem)
    except ImportError as error:
        raise SimjudgeError(f"{name}: the package {package} is not installed") from error
    except AttributeError as error:
        raise SimjudgeError(f"{name}: the package {package} has no such type") from error
    return found


def config_file(name: str) -> Path:
    """A file of config/, in the checkout or as installed."""
    places = [Path(__file__).resolve().parents[1] / "config", Path(sys.prefix) / "share" / "simjudge" / "config"]
    # Without a ROS 2 installation there is no ament index to look into.
    with contextlib.suppress(PackageNotFoundError, LookupError, OSError):
        places.append(Path(get_package_share_directory("simjudge")) / "config")
    for place in places:
        if (place / name).is_file():
            return place / name
    raise SimjudgeError(f"config/{name} is not where simjudge is installed; install simjudge again")


def load_shared_memory_profile() -> None:
    """Have Fast DDS use the profile with large shared memory, unless the user chose one or there is no room for it."""
    if any(os.environ.get(variable) for variable in PROFILE_VARIABLES):
        return
    try:
        room = os.statvfs(_SHARED_MEMORY)
        if room.f_bavail * room.f_frsize < _LEAST_SHARED_MEMORY:
            return
        profile = str(config_file("fastdds.xml"))
    except (OSError, SimjudgeError):
        return
    current, former = PROFILE_VARIABLES
    os.environ[current] = profile
    if os.environ.get("ROS_DISTRO") in _FORMER_NAME:
        os.environ[former] = profile


def _run(node_class: type[SimjudgeNode], arguments: list[str], losses: Losses) -> bool:
    """Bring ROS up, run the node, bring ROS down; what the node lost is added to the losses, however it ends."""
    signals = StopSignals()
    signals.listen()
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:
        raise SimjudgeError(_one_line(error)) from error
    node = None
    try:
        node = node_class()
        node.signals = signals
        node.start()
        _spin(node)
    except (InvalidTopicNameException, NameValidationException) as error:
        raise SimjudgeError(_one_line(error)) from error
    except ExternalShutdownException:
        pass
    finally:
        if node is not None:
            losses.extend(node.losses)
            node.destroy_node()
        rclpy.try_shutdown()
    return node is not None and node.unfinished


def _spin(node: SimjudgeNode) -> None:
    """Serve the node until it is done, or told to end and its turn has come; then close it, whatever happened."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while not node.signals.asked and not node.ended:
            executor.spin_once(timeout_sec=_WAKE)
        if not node.ended and not node.is_source:
            end_in_turn(node, executor)
        node.raise_failure()
    finally:
        node.finish()
        try:
            node.close()
        finally:
            wait_until_arrived(node)
            node.warn_of_unmet_overrides()
            counts = [f"{count} {word}" for word, count in node.counts().items()]
            if counts:
                node.get_logger().info(f"ended: {', '.join(counts)}")
            executor.shutdown()


def _refuse_unknown_arguments(arguments: list[str], name: str) -> None:
    if arguments:
        raise SimjudgeError(
            f"does not know {arguments[0]!r}; parameters are given as --ros-args -p NAME:=VALUE"
            f" ({name} --help lists them)"
        )


def _help(node_class: type[SimjudgeNode]) -> str:
    purpose = (node_class.__doc__ or "").strip().partition("\n")[0]
    usage = f"{node_class.NAME} [--ros-args -p NAME:=VALUE ... -r FROM:=TO ... --params-file FILE]"
    return f"{purpose}\n\nusage: {usage}\n\nparameters:\n{table_text(node_class.PARAMETERS)}\n"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
