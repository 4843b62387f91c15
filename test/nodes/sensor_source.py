"""Readings of the shipped sensors, over and over, as an engine gives them."""

import threading
import time

import numpy as np

from simjudge.engines.chrono.feed import Reading
from simjudge.nodes.runtime import SimjudgeNode, run_node
from simjudge.nodes.sensor_views import SensorViews
from simjudge.nodes.sim_sensors import SensorTopics
from simjudge.sensors.sensor_file import read_sensors

OFFSET = 5_000_000_000
READINGS = (
    Reading("gyroscope", "gyroscope", 0.001, np.array([0.1, 0.2, 0.3])),
    Reading("accelerometer", "accelerometer", 0.011, np.array([1.0, 2.0, 9.8])),
    Reading("gyroscope", "gyroscope", 0.011, np.array([0.4, 0.5, 0.6])),
    Reading("magnetometer", "magnetometer", 0.011, np.array([0.0, 2e-5, -4e-5])),
    Reading("gps", "gps", 0.011, np.array([43.07, -89.41, 260.0])),
    Reading("scan", "lidar", 0.011, np.arange(8.0).reshape(2, 4)),
)


class SensorSource(SimjudgeNode):
    NAME = "sensor_source"

    def __init__(self):
        super().__init__()
        specs = read_sensors("art1")
        self.topics = SensorTopics(self, specs, SensorViews(self, specs, {}, "odom"))
        threading.Thread(target=self.publish_all, daemon=True).start()

    def publish_all(self):
        while not self.ended:
            self.topics.publish(READINGS, OFFSET)
            time.sleep(0.2)


if __name__ == "__main__":
    run_node(SensorSource)
