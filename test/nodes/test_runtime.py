"""How every node starts, runs and ends: parameters, signals, errors, diagnostics, QoS, simulated time."""

import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.qos import QoSProfile, ReliabilityPolicy  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from shared_memory import remove_orphaned_segments, segments_of  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from simjudge.core.errors import SimjudgeError  # noqa: E402
from simjudge.nodes import qos, runtime  # noqa: E402
from simjudge.nodes.diagnostics import patience  # noqa: E402
from simjudge.nodes.ending import PrintableLogger  # noqa: E402

SMALL = Path(__file__).with_name("small_node.py")


@pytest.fixture
def small(graph):
    """The small node, running, and what it says; speak to it with `small.tell`."""

    class Small:
        process = graph.start(SMALL)
        said: list[str] = []  # noqa: RUF012
        mouth = graph.node.create_publisher(String, "/heard", 10)

        def tell(self, word):
            assert graph.until(lambda: self.mouth.get_subscription_count() > 0), graph.output(self.process)
            graph.until(lambda: False, 0.3)
            self.mouth.publish(String(data=word))

    made = Small()
    graph.node.create_subscription(String, "/said", lambda m: made.said.append(m.data), 10)
    graph.wait_for(made.process, "{")
    return made


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_node_with_everything_closed(graph, small, number):
    segments = segments_of(small.process.pid) - segments_of("self")
    assert segments
    assert graph.stop(small.process, number, timeout=15) == 0
    assert not [path for path in segments if path.exists()], "shared memory is left"
    assert graph.output(small.process).endswith("closed\n")
    assert "Traceback" not in graph.output(small.process)


def test_shared_memory_of_a_killed_node_is_removed_and_that_of_a_living_one_is_not(graph):
    killed, alive = graph.start(SMALL), graph.start(SMALL)
    for node in (killed, alive):
        graph.wait_for(node, "{")
    of_killed = segments_of(killed.pid)
    killed.kill()
    killed.wait()
    of_alive = segments_of(alive.pid)
    assert of_killed - of_alive
    remove_orphaned_segments()
    assert [path.exists() for path in of_alive] == [True] * len(of_alive)
    assert not [path for path in of_killed - of_alive if path.exists()]
    assert graph.stop(alive) == 0
    remove_orphaned_segments()
    assert not [path for path in of_killed | of_alive if path.exists()]


def test_log_lines_cannot_steer_a_terminal(capfd):
    PrintableLogger("node").warning("class \x1b[2Jcone")
    assert r"class \x1b[2Jcone" in "".join(capfd.readouterr())


@pytest.mark.parametrize(("word", "code"), [("finish", 0), ("fail", 1), ("lose", 0)])
def test_ends_of_its_own(graph, small, word, code):
    small.tell(word)
    if word == "lose":
        assert graph.until(lambda: small.said)
        small.tell("finish")
        code = 3
    assert small.process.wait(15) == code
    output = graph.output(small.process)
    assert "closed\n" in output
    assert "Traceback" not in output
    if word == "fail":
        assert output.endswith("error: small_node: heard: fail; say something else\n")
    if word == "lose":
        assert output.endswith("warning: left out 1 word: lose\n")


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"rate": 2}, "parameter rate must be a double: write it with a decimal point, e.g. 1.0"),
        ({"rate": 99.0}, "parameter rate: Invalid parameter value (99.0)"),
        ({"rate": "fast"}, "parameter rate must be a double"),
        ({"count": 0}, "parameter count: Invalid parameter value (0)"),
        ({"count": 2.5}, "parameter count must be a integer"),
        ({"mode": "odd"}, "parameter mode must be one of kind, rude, not 'odd'"),
        ({"names": 3}, "parameter names must be a string array"),
        ({"loud": 1}, "parameter loud must be a bool"),
    ],
)
def test_bad_values_are_refused_at_the_start(graph, parameters, said):
    code, output = graph.run(SMALL, **parameters)
    assert code == 1
    (line,) = [line for line in output.splitlines() if line.startswith("error: small_node: ")]
    assert said in line
    assert "Traceback" not in output


def test_good_values_are_taken(graph):
    given = {"rate": 2.5, "count": 7, "mode": "rude", "names": ["a", "b"], "weights": [1.0, 2.0], "loud": True}
    process = graph.start(SMALL, **given)
    graph.wait_for(process, "}")
    shown = {**given, "reliability": "reliable"}
    assert str(shown) in graph.output(process)


def test_words_that_are_no_parameters_are_refused_and_help_lists_them(graph):
    code, output = graph.run(SMALL, "rate=3")
    assert (code, output.count("\n")) == (1, 1)
    assert "does not know 'rate=3'" in output
    code, output = graph.run(SMALL, "--help")
    assert code == 0
    assert "Says back what it hears." in output
    assert "mode (string, default 'kind'; one of kind, rude)" in output


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("rate", 3.0, None),
        ("rate", 99.0, "out of range"),
        ("mode", "rude", "never rude"),
        ("mode", "odd", "must be one of"),
        ("count", 4, "read-only"),
        ("rate", "x", "rong parameter type"),
    ],
)
def test_parameters_while_it_runs(graph, small, name, value, reason):
    request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    (result,) = graph.call(SetParameters, "/small_node/set_parameters", request).results
    assert result.successful == (reason is None), result.reason
    if reason is None:
        small.tell("hello")
        assert graph.until(lambda: small.said)
        assert small.said == ["hello 3.0"]
    else:
        assert reason in result.reason


def test_parameters_are_described(graph, small):
    assert small.process.poll() is None
    request = DescribeParameters.Request(names=["rate", "mode", "count"])
    rate, mode, count = graph.call(DescribeParameters, "/small_node/describe_parameters", request).descriptors
    assert (rate.description, rate.read_only) == ("how fast, Hz", False)
    assert (rate.floating_point_range[0].from_value, rate.floating_point_range[0].to_value) == (0.5, 10.0)
    assert mode.additional_constraints == "one of kind, rude"
    assert (count.integer_range[0].from_value, count.read_only) == (1, True)


def test_what_ros2_param_dump_asks_for_is_answered(graph, small):
    """It lists all names, then asks for their values in one request: one without a value would leave it with none."""
    assert small.process.poll() is None
    names = graph.call(ListParameters, "/small_node/list_parameters", ListParameters.Request()).result.names
    values = graph.call(GetParameters, "/small_node/get_parameters", GetParameters.Request(names=names)).values
    held = dict(zip(names, values, strict=True))
    assert "names" not in held, "declared with its type alone"
    assert (held["rate"].double_value, held["mode"].string_value) == (1.0, "kind")
    assert held.keys() >= {"count", "weights", "loud", "use_sim_time"}


def diagnostics(graph):
    """All states heard so far, by name."""
    heard = {}

    def hear(message):
        heard.update({status.name: status for status in message.status})

    graph.node.create_subscription(DiagnosticArray, "/diagnostics", hear, 100)
    return heard


def test_diagnostics_every_second(graph, small):
    heard = diagnostics(graph)
    small.tell("a")
    name = "small_node: hearing"
    assert graph.until(lambda: name in heard and ("received", "1") in [(v.key, v.value) for v in heard[name].values])
    values = {v.key: v.value for v in heard[name].values}
    assert values["done"] == "1"
    assert float(values["rate (Hz)"]) > 0
    assert values["latency mean (ms)"] == "1.0"


def test_a_qos_that_does_not_fit_ends_as_a_diagnostic_that_names_the_fix(graph, small):
    heard = diagnostics(graph)
    graph.node.create_publisher(String, "/heard", QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
    assert graph.until(lambda: "small_node: QoS of /heard" in heard, timeout=15)
    status = heard["small_node: QoS of /heard"]
    assert status.level == b"\x02"
    assert "set reliability:=best_effort here, or publish /heard reliably" in status.message
    assert small.process.poll() is None


def test_simulated_time_is_kept(graph):
    process = graph.start(SMALL, use_sim_time=True)
    said = []
    graph.node.create_subscription(String, "/said", lambda m: said.append(m.data), 10)
    mouth = graph.node.create_publisher(String, "/heard", 10)
    clock = graph.node.create_publisher(Clock, "/clock", 10)
    tick = Clock()
    tick.clock.sec = 77
    graph.wait_for(process, "{")

    def ask():
        clock.publish(tick)
        mouth.publish(String(data="now"))
        return any(text.startswith("77000000000 ") for text in said)

    assert graph.until(ask)
    assert graph.stop(process) == 0


def test_a_second_clock_is_noticed_and_named(graph):
    heard = diagnostics(graph)
    process = graph.start(SMALL, use_sim_time=True)
    clocks = [graph.node.create_publisher(Clock, "/clock", 10)]
    graph.wait_for(process, "{")
    assert not graph.until(lambda: "small_node: clock" in heard, timeout=2)
    clocks.append(graph.node.create_publisher(Clock, "/clock", 10))
    assert graph.until(lambda: "small_node: clock" in heard, timeout=15)
    said = heard["small_node: clock"].message
    assert said.startswith("/clock has 2 publishers, /test and /test: time jumps between them; end all but one")
    graph.node.destroy_publisher(clocks.pop())
    assert graph.until(lambda: heard["small_node: clock"].message == "one clock", timeout=30)
    assert graph.output(process).count("time jumps between them") == 1
    assert graph.stop(process) == 0


def test_diagnostics_are_stamped_by_the_wall_whatever_clock_a_node_has(graph):
    stamps = []
    graph.node.create_subscription(DiagnosticArray, "/diagnostics", lambda m: stamps.append(m.header.stamp.sec), 100)
    graph.start(SMALL, use_sim_time=True)
    assert graph.until(lambda: stamps)
    assert abs(stamps[-1] - time.time()) < 60


def test_simulated_time_without_a_clock_is_said(graph):
    process = graph.start(SMALL, use_sim_time=True)
    graph.wait_for(process, "use_sim_time is set and nobody publishes /clock: time stands still")


@pytest.mark.parametrize(
    ("others", "seconds"),
    [((), 5), (("detection_node", "my_node"), 5), (("drive_node", "sim_node"), 60), (("play_node",), 60)],
)
def test_a_clock_that_a_node_of_the_run_will_publish_is_not_missed_while_that_starts(others, seconds):
    assert patience(SimpleNamespace(ends_after=others)) == seconds


def test_shared_memory_profile(monkeypatch, tmp_path):
    for variable in qos.PROFILE_VARIABLES:
        monkeypatch.setenv(variable, "")
    assert not qos.shared_memory_is_set()
    assert qos.image_qos().reliability == ReliabilityPolicy.RELIABLE
    runtime.load_shared_memory_profile()
    assert qos.shared_memory_is_set()
    assert qos.image_qos().reliability == ReliabilityPolicy.BEST_EFFORT
    assert qos.image_qos("reliable").reliability == ReliabilityPolicy.RELIABLE
    other = tmp_path / "other.xml"
    other.write_text("<dds/>")
    monkeypatch.setenv(qos.PROFILE_VARIABLES[0], str(other))
    runtime.load_shared_memory_profile()
    assert not qos.shared_memory_is_set()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Image", "is no message type"),
        ("sensor_msgs/Image", "is no message type"),
        ("alien_msgs/msg/Thing", "the package alien_msgs is not installed"),
        ("sensor_msgs/msg/Nothing", "has no such type"),
    ],
)
def test_types_by_name(name, said):
    assert runtime.message_class("std_msgs/msg/String") is String
    with pytest.raises(SimjudgeError, match=said):
        runtime.message_class(name)
