"""The usual topic of a sensor where there is one of its kind, a name of its own where there are several."""

import pytest

from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.sensor_messages import sensor_topics
from simjudge.sim.sensors.sensor_spec import SensorSpec


def spec(name, kind, x=0.0):
    return SensorSpec(name, kind, 10, Pose((x, 0, 0)))


@pytest.mark.parametrize(
    ("specs", "topics"),
    [
        ((), {}),
        ((spec("a", "gyroscope"),), {"a": "imu/data"}),
        ((spec("a", "gyroscope"), spec("b", "accelerometer")), {"a": "imu/data", "b": "imu/data"}),
        ((spec("a", "gyroscope"), spec("b", "accelerometer", 0.1)), {"a": "a/data", "b": "b/data"}),
        ((spec("a", "gyroscope"), spec("b", "gyroscope")), {"a": "a/data", "b": "b/data"}),
        ((spec("a", "lidar"), spec("b", "lidar")), {"a": "a/points", "b": "b/points"}),
        ((spec("a", "magnetometer"), spec("b", "gps")), {"a": "imu/mag", "b": "gps/fix"}),
    ],
)
def test_the_usual_topic_where_there_is_one(specs, topics):
    assert sensor_topics(specs) == topics
