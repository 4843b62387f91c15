"""trials_node with a real publisher: outcomes come in, rows are on the disk at once, the state is published."""

import json
import signal

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from simjudge.nodes.qos import latched_qos, reliable_qos  # noqa: E402


def status(policy, **values):
    return DiagnosticStatus(name=policy, values=[KeyValue(key=k, value=str(v)) for k, v in values.items()])


def publisher(graph, kind, states):
    made = graph.node.create_publisher(kind, "policies/trials", reliable_qos(1000))
    graph.node.create_subscription(DiagnosticStatus, "policies/sequence", states.append, latched_qos(1))
    assert graph.until(made.get_subscription_count)
    assert graph.until(lambda: states)
    return made


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_trial_is_on_the_disk_when_the_node_is_killed_and_the_next_one_goes_on(graph, tmp_path):
    table, sim = tmp_path / "trials.jsonl", tmp_path / "sim.csv"
    sim.write_text("policy,task,success\n" + "a,x,1\n" * 60)
    states = []
    node = graph.start("trials_node", out=str(table), sim=str(sim))
    to = publisher(graph, DiagnosticStatus, states)
    for _ in range(3):
        to.publish(status("a", task="x", success="false"))
    to.publish(status("a", task="x", success="2"))
    assert graph.until(lambda: states[-1].values[-1].value == "3")
    graph.stop(node, signal.SIGKILL)
    assert [row["outcome"] for row in rows(table) if row["side"] == "real"] == [0.0] * 3
    with table.open("a") as file:
        file.write('{"policy": "a", "ta')
    node = graph.start("trials_node", out=str(table), sim=str(sim), until_certain=True)
    assert graph.until(lambda: "goes on after 63 trials" in graph.output(node))
    for _ in range(300):  # the publisher still counts the node that was killed: nothing says when the new one listens
        to.publish(status("a", task="x", success="false"))
        if graph.until(lambda: node.poll() is not None, timeout=0.3):
            break
    assert node.returncode == 0, graph.output(node)
    assert "Gap. The robot does worse than the simulation says" in graph.output(node)
    assert states[-1].level == DiagnosticStatus.WARN
    assert {row["side"] for row in rows(table)} == {"real", "sim"}


def test_json_strings_are_trials_too_and_what_is_none_is_counted(graph, tmp_path):
    table, states = tmp_path / "t.jsonl", []
    node = graph.start("trials_node", out=str(table), trial_type="std_msgs/msg/String")
    to = publisher(graph, String, states)
    for text in ('{"policy": "a", "task": "x", "progress": 0.25, "side": "sim"}', "nothing", '{"policy": "a"}'):
        to.publish(String(data=text))
    to.publish(String(data='{"policy": "a", "task": "x", "progress": 0.5, "unit": "s1"}'))
    assert graph.until(lambda: table.is_file() and len(rows(table)) == 2)
    assert graph.stop(node) == 3
    assert [(row["side"], row["outcome"], row["unit"]) for row in rows(table)] == [
        ("sim", 0.25, ""),
        ("real", 0.5, "s1"),
    ]
    assert "2 messages that are no trial" in graph.output(node)
    assert "1 differences were compared" in graph.output(node), "the block of the last unit is closed at the end"
