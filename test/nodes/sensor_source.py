"""Readings of the shipped sensors, over and over, as an engine gives them."""

import threading
import time
from types import SimpleNamespace

import numpy as np

from simjudge.nodes.runtime import SimjudgeNode, run_node
from simjudge.nodes.sim_sensors import SimSensors
from simjudge.sim.capture.sensor_feed import SensorBatch, SensorEvent
from simjudge.sim.engines.chrono.other_sensors import Reading
from simjudge.sim.sensors.sensor_file import read_sensors

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
        sensors = read_sensors("art1")
        self.sensors = SimSensors(self, SimpleNamespace(name="chrono", scene=SimpleNamespace(class_names={})), sensors)
        specs = {spec.name: spec for spec in sensors}
        stamps = [round(each.time * 1e9) for each in READINGS]
        events = [SensorEvent(t, t, specs[each.sensor], each) for t, each in zip(stamps, READINGS, strict=True)]
        self.batch = SensorBatch(stamps[-1], tuple(events))
        threading.Thread(target=self.publish_all, daemon=True).start()

    def publish_all(self):
        while not self.ended:
            self.sensors.publish(self.batch, OFFSET)
            time.sleep(0.2)


if __name__ == "__main__":
    run_node(SensorSource)
