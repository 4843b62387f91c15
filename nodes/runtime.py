"""What every node does the same way: start, publish and subscribe by `simjudge.ros.node_interfaces`, spin, end.

SIGINT, SIGTERM and SIGHUP end a node with everything written and exit code 0; what a user can act on is one line on
stderr and exit code 1; input that was lost is counted and gives exit code 3. Heavy work has a thread of its own.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import os
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NoReturn

import rclpy
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rcl_interfaces.msg import ListParametersResult
from rclpy.exceptions import InvalidTopicNameException, NameValidationException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.service import Service
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription

from simjudge.core.errors import Losses, SimjudgeError, counted
from simjudge.core.processes import EXIT_FAILED, EXIT_LOST, EXIT_OK, EXIT_STOPPED
from simjudge.ros.node_interfaces import CAMERA, LATCHED, NODES, Endpoint, NodeInterface
from simjudge.terminal.printing import print_nothing_that_steers

from .diagnostics import Diagnostics, watch_clock, watch_types
from .ending import EndingNode, StopSignals, end_in_turn, wait_until_arrived
from .parameters import Parameter, ParameterValues, table_text
from .qos import (
    PROFILE_VARIABLES,
    QosOverrides,
    image_qos,
    latched_qos,
    publisher_events,
    reliable_qos,
    sensor_data_qos,
    subscription_events,
)
from .topic_ends import subscriptions_at

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
        return "; ".join(counted(count, kind) for kind, count in list(self.losses.counts.items()))

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
    print_nothing_that_steers()
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


def declared_publisher(node: SimjudgeNode, topic: str, *, reliability: str = "") -> Publisher[Any]:
    """The publisher of a declared topic; a subscriber whose request does not fit is reported in diagnostics."""
    return create_publisher(node, node.INTERFACE.publisher(topic), reliability=reliability)


def camera_publisher(node: SimjudgeNode, camera: str, topic: str, reliability: str = "") -> Publisher[Any]:
    """The publisher of a topic that is declared for a camera called `camera`, for a camera of another name."""
    endpoint = node.INTERFACE.publisher(f"camera/{topic}")
    return create_publisher(node, endpoint._replace(topic=f"{camera}/{topic}"), reliability=reliability)


def create_publisher(node: SimjudgeNode, endpoint: Endpoint, *, reliability: str = "") -> Publisher[Any]:
    """The publisher of an endpoint; see `declared_publisher`."""
    profile = publisher_qos(endpoint, reliability or _reliability(node, endpoint))
    events = publisher_events(node.diagnostics, endpoint.topic, endpoint.reliability_parameter or None)
    kind = _message_class(node, endpoint)
    made: Publisher[Any] = node.create_publisher(kind, endpoint.topic, profile, event_callbacks=events)
    return made


def declared_subscription(
    node: SimjudgeNode, topic: str, callback: Callable[[Any], None], *, message_type: str = "", raw: bool = False
) -> Subscription[Any]:
    """Subscribe to a declared topic; a publisher whose offer does not fit is reported in diagnostics."""
    endpoint = node.INTERFACE.subscription(topic)
    if message_type:
        endpoint = endpoint._replace(type=message_type, type_parameter="")
    profile = subscription_qos(endpoint, _reliability(node, endpoint))
    name = str(node.resolve_topic_name(topic))
    events = subscription_events(node.diagnostics, name, endpoint.reliability_parameter or None)
    kind = _message_class(node, endpoint)
    made: Subscription[Any] = node.create_subscription(kind, topic, callback, profile, event_callbacks=events, raw=raw)
    return made


def declared_service(node: SimjudgeNode, name: str, callback: Callable[..., Any]) -> Service[Any, Any]:
    """Create a declared service."""
    return node.create_service(message_class(node.INTERFACE.service(name).type), name, callback)


def publisher_qos(endpoint: Endpoint, reliability: str = "") -> QoSProfile:
    """The profile that a publisher offers."""
    if endpoint.qos == CAMERA:
        return image_qos(reliability or "auto", endpoint.depth)
    return latched_qos(endpoint.depth) if endpoint.qos == LATCHED else reliable_qos(endpoint.depth)


def subscription_qos(endpoint: Endpoint, reliability: str = "") -> QoSProfile:
    """The profile that a subscription requests."""
    best_effort = reliability == "best_effort" or (endpoint.qos == CAMERA and reliability != "reliable")
    if best_effort:
        return sensor_data_qos(endpoint.depth)
    return latched_qos(endpoint.depth) if endpoint.qos == LATCHED else reliable_qos(endpoint.depth)


def _message_class(node: SimjudgeNode, endpoint: Endpoint) -> type[Any]:
    return message_class(node.settings[endpoint.type_parameter] if endpoint.type_parameter else endpoint.type)


def _reliability(node: SimjudgeNode, endpoint: Endpoint) -> str:
    return str(node.settings[endpoint.reliability_parameter]) if endpoint.reliability_parameter else ""


_SETTLE = 0.5  # Seconds: a publisher may know of a subscriber before that knows of the publisher
_LOOK = 0.05  # Seconds between looks at the subscriptions
_SAY = 5.0  # Seconds after which a node that waits says for whom


def wait_for_subscriptions(
    node: SimjudgeNode, wanted: list[str], timeout: float, publishers: Iterable[Publisher[Any]] = ()
) -> bool:
    """Wait until subscriptions are there; on a thread other than the executor's (timeout: seconds).

    Returns:
        Whether they are; not where the node is told to end before.
    """
    pairs, unheard = [_pair(node, text) for text in wanted], list(publishers)
    waited, said, begin = bool(pairs or unheard), False, time.monotonic()
    while not node.leaving:
        pairs = [pair for pair in pairs if not _subscribes(node, *pair)]
        unheard = [publisher for publisher in unheard if not publisher.get_subscription_count()]
        if not pairs and not unheard:
            if waited:
                time.sleep(_SETTLE)
            return True
        passed = time.monotonic() - begin
        lacking = [f"nobody subscribed to {publisher.topic_name}" for publisher in unheard]
        lacking += [f"{name} did not subscribe to {topic}" for name, topic in pairs]
        who = ", ".join(lacking)
        if passed > timeout:
            setting = "wait_for_subscribers" if unheard else "wait_for"
            raise SimjudgeError(f"{who} within {timeout:g} s; start the subscriber, or run without {setting}")
        if passed > _SAY and not said:
            said = True
            node.get_logger().warning(f"waits before it begins: {who} so far; gives up after {timeout:g} s")
        time.sleep(_LOOK)
    return not waited


def _pair(node: SimjudgeNode, text: str) -> tuple[str, str]:
    """A node and the full name of a topic, to which no remapping applies any more."""
    name, _, topic = text.partition(" ")
    if not name or not topic.strip():
        raise SimjudgeError(f"parameter wait_for: {text!r}: write each item as `NODE TOPIC`")
    return name, str(node.resolve_topic_name(topic.strip(), only_expand=True))


def _subscribes(node: SimjudgeNode, name: str, topic: str) -> bool:
    return any(info.node_name == name for info in subscriptions_at(node, topic))


_MOST_NAMED = 5  # Topics that a message names


def similar_topics(node: Node, types: Collection[str], wanted: str) -> list[str]:
    """Topics of somebody else that may be meant; what simjudge's nodes make of a camera's images is nobody's input."""
    own = {name for name, _ in node.get_publisher_names_and_types_by_node(node.get_name(), node.get_namespace())}
    found = [
        name
        for name, held in node.get_topic_names_and_types()
        if set(types) & set(held)
        and name not in own
        and not name.endswith(tuple(f"/{topic}" for topic in _MADE_IMAGES))
        and node.count_publishers(name)
    ]
    found.sort(key=lambda name: difflib.SequenceMatcher(None, name, wanted).ratio(), reverse=True)
    return found[:_MOST_NAMED]


def remap_hint(node: Node, kind: str, wanted: str) -> str:
    """The end of a message that nobody publishes a topic: who publishes its type, and the remapping."""
    others = similar_topics(node, [kind], wanted)
    return f"; {others[0]} is of its type: remap with -r {wanted}:={others[0]}" if others else ""


def _made_images() -> frozenset[str]:
    """Images that the suite's nodes publish, without those that show what a camera saw."""
    images = {
        endpoint.topic
        for interface in NODES.values()
        for endpoint in interface.publishes
        if endpoint.type == "sensor_msgs/msg/Image"
    }
    return frozenset(images - {"camera/image_raw", "camera/image_rect", "NAME/image_raw"})


_MADE_IMAGES = _made_images()


_POLL = 0.002  # Seconds that the executor's thread gives a piece of work before it serves other callbacks again


class WorkAbandonedError(Exception):
    """A piece of work was given up because the node ends."""


class WorkResult:
    """The result of a piece of work; a coroutine callback of a node can await it."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def __await__(self) -> Generator[None, None, Any]:
        """Wait while other callbacks are served; rclpy resumes a waiting coroutine at once, so this takes time."""
        while not self._future.done():
            wait([self._future], _POLL)
            yield
        return self._future.result()


class Worker:
    """Does pieces of work one after the other on a thread of its own; among themselves they need no locks."""

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        """Start the thread (failed: called, on the worker's thread, with what a posted piece of work raised)."""
        self._failed = failed
        self._pool = ThreadPoolExecutor(1, "worker")
        self._posted = self._begun = 0

    @property
    def waiting(self) -> int:
        """Pieces of work that have not begun."""
        return self._posted - self._begun

    def post(self, piece: Callable[[], object]) -> None:
        """Queue a piece of work whose result nobody needs."""
        self._submit(piece).add_done_callback(self._check)

    def ask(self, piece: Callable[[], Any]) -> WorkResult:
        """Queue a piece of work and get its result."""
        return WorkResult(self._submit(piece))

    def finish(self) -> None:
        """Do all work that waits, then end the thread."""
        self._pool.shutdown(wait=True)

    def _submit(self, piece: Callable[[], Any]) -> Future[Any]:
        self._posted += 1
        return self._pool.submit(self._begin, piece)

    def _begin(self, piece: Callable[[], Any]) -> Any:
        self._begun += 1
        return piece()

    def _check(self, future: Future[Any]) -> None:
        error = future.exception()
        if isinstance(error, Exception) and not isinstance(error, WorkAbandonedError):
            self._failed(error)
