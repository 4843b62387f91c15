"""A camera for tests: a red box that moves a pixel to the right with every image, stamped 1 s, 2 s, 3 s, ..."""

import threading
import time
from array import array

import cv2
import numpy as np
from sensor_msgs.msg import CompressedImage, Image

from simjudge.nodes.parameters import Parameter
from simjudge.nodes.qos import image_qos
from simjudge.nodes.runtime import SimjudgeNode, run_node


class CameraSource(SimjudgeNode):
    """Publishes images once somebody subscribes."""

    NAME = "camera_source"
    PARAMETERS = (
        Parameter("topic", "camera/image_raw", "of the raw images"),
        Parameter("compressed", default=False, description="JPEG on {topic}/compressed instead"),
        Parameter("reliability", "reliable", "", choices=("reliable", "best_effort")),
        Parameter("count", 90, "images"),
        Parameter("rate", 30.0, "Hz"),
        Parameter("width", 320, "pixels"),
        Parameter("height", 240, "pixels"),
        Parameter("damaged", 0, "every so many-th JPEG is cut off; 0: none"),
        Parameter("stamped", default=True, description="false: all stamps are 0"),
        Parameter("alone", default=False, description="do not wait for a subscriber"),
    )

    def __init__(self):
        super().__init__()
        kind, topic = (CompressedImage, "/compressed") if self.settings["compressed"] else (Image, "")
        profile = image_qos(self.settings["reliability"], 100)
        self.out = self.create_publisher(kind, self.settings["topic"] + topic, profile)
        threading.Thread(target=self.publish_all, daemon=True).start()

    def publish_all(self):
        while not self.out.get_subscription_count() and not self.settings["alone"]:
            time.sleep(0.05)
        time.sleep(1.5)
        begin = time.monotonic()
        for number in range(1, self.settings["count"] + 1):
            message = self.message(number)
            time.sleep(max(0, begin + number / self.settings["rate"] - time.monotonic()))
            if self.ended:
                return
            self.out.publish(message)
        self.get_logger().info("all published")

    def message(self, number):
        image = np.full((self.settings["height"], self.settings["width"], 3), 128, np.uint8)
        image[80:120, number + 20 : number + 40] = (0, 0, 255)
        if self.settings["compressed"]:
            data = bytes(cv2.imencode(".jpg", image)[1])
            damaged = self.settings["damaged"] and number % self.settings["damaged"] == 0
            message = CompressedImage(format="jpeg", data=array("B", data[: len(data) // 2] if damaged else data))
        else:
            height, width = image.shape[:2]
            message = Image(height=height, width=width, step=3 * width, encoding="bgr8")
            message.data = array("B", image.tobytes())
        message.header.stamp.sec = number if self.settings["stamped"] else 0
        message.header.frame_id = "lens"
        return message


run_node(CameraSource)
