"""play_node waits for subscriptions of nodes that are named, whoever else subscribes."""

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from std_msgs.msg import String  # noqa: E402


def test_it_starts_once_the_named_node_takes_the_topic_whatever_its_own_are_remapped_to(graph, images):
    heard = []
    graph.node.create_subscription(String, "/played", lambda message: heard.append(message.data), 1000)
    renamed = ("--ros-args", "-r", "/note:=/played")
    waiting = ["test /played", "test note"]
    player = graph.start("play_node", *renamed, bag=images, rate=10.0, wait_for=waiting, topics=["/note"])
    graph.wait_for(player, "waits before it begins: test did not subscribe to /note so far; gives up after 30 s")
    assert not heard
    graph.node.create_subscription(String, "note", lambda _: None, 10)
    assert graph.until(lambda: player.poll() is not None, timeout=60)
    assert player.returncode == 0, graph.output(player)
    assert heard == [f"image {index}" for index in range(20)]


def test_told_to_end_before_it_began_is_no_success(graph, images):
    player = graph.start("play_node", bag=images, wait_for=["judge /note"])
    graph.wait_for(player, "judge did not subscribe to /note so far")
    assert graph.stop(player) == 130


@pytest.mark.parametrize(
    ("item", "message"),
    [("judge /note", "judge did not subscribe to /note within 0.5 s"), ("judge", "write each item as `NODE TOPIC`")],
)
def test_it_says_whom_it_waits_for(graph, images, item, message):
    code, output = graph.run("play_node", bag=images, wait_for=[item], wait_timeout=0.5)
    assert code == 1
    assert message in output
    assert "Traceback" not in output
