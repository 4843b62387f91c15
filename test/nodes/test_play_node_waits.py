"""play_node waits for subscriptions of nodes that are named, whoever else subscribes."""

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from std_msgs.msg import String  # noqa: E402


def test_it_starts_once_the_named_node_takes_the_topic(graph, images):
    heard = []
    graph.node.create_subscription(String, "/note", lambda message: heard.append(message.data), 1000)
    waiting = ["test /note", "test later"]
    player = graph.start("play_node", bag=images, rate=10.0, wait_for=waiting, topics=["/note"])
    assert not graph.until(lambda: heard or player.poll() is not None, timeout=3)
    graph.node.create_subscription(String, "later", lambda _: None, 10)
    assert graph.until(lambda: player.poll() is not None, timeout=60)
    assert player.returncode == 0, graph.output(player)
    assert heard == [f"image {index}" for index in range(20)]


@pytest.mark.parametrize(
    ("item", "message"),
    [("judge /note", "judge did not subscribe to /note within 0.5 s"), ("judge", "write each item as `NODE TOPIC`")],
)
def test_it_says_whom_it_waits_for(graph, images, item, message):
    code, output = graph.run("play_node", bag=images, wait_for=[item], wait_timeout=0.5)
    assert code == 1
    assert message in output
    assert "Traceback" not in output
