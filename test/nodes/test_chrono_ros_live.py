"""A live camera of Chrono::ROS: rgba8, bottom row first, best effort, no camera_info, frame id the sensor's name."""

from array import array

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import Image  # noqa: E402
from simjudge_msgs.msg import DetectionArray  # noqa: E402
from std_msgs.msg import Header  # noqa: E402

TOPIC = "/chrono_ros_node/output/camera/data/image"
WIDTH, HEIGHT = 160, 120


def published(number):
    image = np.full((HEIGHT, WIDTH, 4), 120, np.uint8)
    image[80:110, 60:80] = (220, 10, 10, 255)
    header = Header(frame_id="Camera Sensor")
    header.stamp.sec = number
    data = array("B", image[::-1].tobytes())
    return Image(header=header, width=WIDTH, height=HEIGHT, step=4 * WIDTH, encoding="rgba8", data=data)


def test_it_is_turned_over_and_detected(graph):
    heard = []
    graph.node.create_subscription(DetectionArray, "camera/detections", heard.append, 100)
    camera = graph.node.create_publisher(Image, TOPIC, qos_profile_sensor_data)
    remap = ("--ros-args", "-r", f"image:={TOPIC}", "--")
    bridge = graph.start("camera_bridge_node", *remap, upside_down=True, transport="raw")
    detection = graph.start("detection_node", model="cones_red_green")
    numbers = iter(range(1, 1000))

    def answered():
        if camera.get_subscription_count() and graph.node.count_subscribers("/camera/image_raw"):
            camera.publish(published(next(numbers)))
            graph.until(lambda: False, timeout=0.1)
        return any(message.detections for message in heard)

    assert graph.until(answered, timeout=60), graph.output(bridge) + graph.output(detection)
    message = next(message for message in heard if message.detections)
    assert message.header.frame_id == "Camera Sensor"
    assert message.header.stamp.sec >= 1
    box = message.detections[0].box
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx((60, 80, 80, 110), abs=2)
