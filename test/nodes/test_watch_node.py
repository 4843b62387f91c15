"""watch_node by itself: a file that is full takes no more images, and says so."""

import math
from array import array

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("rerun", reason="rerun is not installed: pip install simjudge[watch]")

pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: make setup-ros")

from sensor_msgs.msg import CompressedImage  # noqa: E402
from simjudge_msgs.msg import KindDifference, SequentialVerdict, ValidationSummary  # noqa: E402

from simjudge.nodes.watch_node import shown_so_far  # noqa: E402


def test_a_full_file_takes_no_more_images(graph, tmp_path):
    saved = tmp_path / "shown.rrd"
    node = graph.start("watch_node", save=saved, max_mb=1)
    publisher = graph.node.create_publisher(CompressedImage, "camera/image_raw/compressed", 10)
    assert graph.until(publisher.get_subscription_count), graph.output(node)
    data = np.random.default_rng(0).integers(0, 256, 200_000, np.uint8)
    image = CompressedImage(format="jpeg", data=array("B", data.tobytes()))

    def full():
        image.header.stamp.sec += 1
        publisher.publish(image)
        return "has no room for, the first one: /camera/image_raw/compressed" in graph.output(node)

    assert graph.until(full), graph.output(node)
    sent = image.header.stamp.sec
    assert graph.stop(node) == 3
    assert "has no room for: /camera/image_raw/compressed; max_mb is its size" in graph.output(node)
    # It is written on the way: what is on its way when it is full is written too.
    assert 1e6 <= saved.stat().st_size < 200_000 * sent


def test_what_the_verdict_hides_and_what_is_certain_so_far_are_shown_only_where_they_are_there():
    message = ValidationSummary()
    assert shown_so_far(message) == {}
    message.hidden_gap = KindDifference(kind="cone, on the left", difference=-0.25, p=0.004, tested=90)
    message.sequential = SequentialVerdict(blocks=0, difference=math.nan, low=-1.0, high=1.0, verdict="open")
    assert shown_so_far(message) == {
        "but not everywhere": "in cone, on the left the gap is 0.25 (p = 0.004)",
        "at every look": "no block of time is whole yet",
    }
    message.sequential = SequentialVerdict(blocks=40, difference=-0.1, low=-0.2, high=-0.05, verdict="gap")
    words = "gap after 40 blocks: live less reference -0.100 (-0.200 to -0.050 at every look)"
    assert shown_so_far(message)["at every look"] == words
