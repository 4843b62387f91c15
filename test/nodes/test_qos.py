"""Parameters below `qos_overrides` count, as in other nodes, and one that cannot count is named."""

from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from rclpy.qos import DurabilityPolicy, ReliabilityPolicy  # noqa: E402

SMALL = Path(__file__).with_name("small_node.py")
HEARD = "qos_overrides./heard.subscription"
SAID = "qos_overrides./said.publisher"


def test_publishers_and_subscriptions_have_the_quality_that_parameters_ask_for(graph):
    graph.start(SMALL, **{f"{HEARD}.reliability": "best_effort", f"{SAID}.durability": "transient_local"})
    node = graph.node
    assert graph.until(lambda: node.count_subscribers("/heard") and node.count_publishers("/said"))
    (heard,) = node.get_subscriptions_info_by_topic("/heard")
    (said,) = node.get_publishers_info_by_topic("/said")
    assert heard.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
    assert said.qos_profile.reliability == ReliabilityPolicy.RELIABLE
    assert said.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (f"{HEARD}.relibility", "best_effort", "there is no policy relibility; there are history, depth, reliability"),
        (f"{HEARD}.reliability", "sometimes", "Unexpected QoS override for policy `reliability`: `sometimes`"),
        (f"{HEARD}.depth", "deep", "depth"),
        ("qos_overrides./heard.reliability", "best_effort", "must be qos_overrides./TOPIC.publisher.POLICY or"),
    ],
)
def test_an_override_that_cannot_be_is_refused(graph, name, value, message):
    code, output = graph.run(SMALL, **{name: value})
    assert code == 1
    assert "Traceback" not in output
    assert message in output


def test_an_override_of_a_topic_that_the_node_has_not_is_named_at_the_end(graph):
    names = {"qos_overrides./hearsay.subscription.depth": 3, f"{HEARD}.depth": 7}
    small = graph.start(SMALL, **names, **{"qos_overrides./clock.subscription.depth": 1})
    graph.wait_for(small, "{")
    assert graph.stop(small) == 0
    output = graph.output(small)
    assert "qos_overrides./hearsay.subscription.depth counted for nothing: this node had no such topic" in output
    assert output.count("counted for nothing") == 1
