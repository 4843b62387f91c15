"""A scan in one plane as sensor_msgs/LaserScan."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.lidar.lidar import Lidar
from simjudge.sim.sensors.lidar.scan import RayHits, measure, scan_message

PLAIN = Lidar("front", 40, 5, (0.0,), (0.1, 30), field_of_view=math.pi, window=0.0125)
STILL = Keyframes.build([0.0], [[Pose()]])


def find(name):
    return standard_types().types[name]


def message(lidar, distance):
    hits = RayHits(np.array(distance, float), np.zeros(len(distance), np.int64), np.ones(len(distance)))
    header = find("std_msgs/msg/Header")(stamp=find("builtin_interfaces/msg/Time")(sec=0, nanosec=0), frame_id="f")
    return scan_message(find, header, lidar, measure(lidar, hits, STILL, np.random.default_rng(0)))


@pytest.mark.parametrize(("clockwise", "first", "step"), [(False, -90, 45), (True, 90, -45)])
def test_every_beam_has_its_place(clockwise, first, step):
    found = message(replace(PLAIN, clockwise=clockwise), [1, math.inf, 3, 0.05, 31])
    assert found.ranges.tolist() == [1, math.inf, 3, math.inf, math.inf]  # REP 117
    assert math.degrees(found.angle_min) == pytest.approx(first)
    assert math.degrees(found.angle_increment) == pytest.approx(step)
    assert math.degrees(found.angle_max) == pytest.approx(-first)
    assert (found.range_min, found.range_max, found.scan_time) == (0.1, 30, 0.025)
    assert found.time_increment == pytest.approx(0.0025)


@pytest.mark.parametrize("changes", [{"elevation": (0.0, 0.1)}, {"elevation": (0.1,)}, {"returns": "dual"}])
def test_what_is_no_plane_is_refused(changes):
    with pytest.raises(UsageError, match="front: a LaserScan needs one ring"):
        message(replace(PLAIN, **changes), [1.0] * 5 * len(changes.get("elevation", (0,))))
