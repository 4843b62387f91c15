"""A radar on a body of a scene: readings when they are due, and the messages that hold them."""

import math

import numpy as np
import pytest

from simjudge.data.rosbag2.cloud_writing import read_cloud
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.geometry.poses import Pose
from simjudge.sim.capture import sensor_record
from simjudge.sim.capture.sensor_feed import SensorFeed
from simjudge.sim.capture.sensor_record import SensorMessages
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Collider, Scene, Surface, Thing, box
from simjudge.sim.sensors import sensor_messages
from simjudge.sim.sensors.sensor_file import sensor_from_fields
from simjudge.sim.sensors.sensor_messages import published_topics

pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

FIELDS = {
    "kind": "radar",
    "rate": 10,
    "mount": {"body": "trolley", "position": [0.6, 0, 0.5]},
    "lag": 0.03,
    "field_of_view": {"horizontal": 90, "vertical": 10},
    "range": [0.5, 60],
    "speed": [-30, 30],
    "resolution": {"range": 0.5, "speed": 0.3, "azimuth": 4},
    "sensitivity": {"range": 60, "snr": 13},
    "false_alarms": 3.0,
}


@pytest.fixture(scope="module")
def events():
    """A trolley that goes to a metal wall 30 m away at 5 m/s, a step of 5 ms at a time."""
    trolley = Thing(
        "trolley", box(1.0, 1.0, 0.2), Surface(), Pose(), motion="free", mass=1.0, collider=Collider("box", (1, 1, 0.2))
    )
    wall = Thing("wall", box(0.2, 4.0, 3.0), Surface(metallic=1.0), Pose((30.1, 0, 0)), 5, 8)
    engine = make_engine("default", Scene("s", (trolley, wall), ()))
    spec = sensor_from_fields("front", FIELDS)
    feed, out = SensorFeed(engine, [spec], 3), []
    for step in range(1, 61):
        engine.set_pose("trolley", Pose((5 * 0.005 * step, 0, 0)))
        feed.observe(5_000_000 * step)
        batch = feed.take(5_000_000 * step)
        out += [] if batch is None else batch.events
    engine.close()
    return spec, out


def test_readings_come_at_the_rate_and_after_the_lag(events):
    _, found = events
    assert [event.stamp for event in found] == [20_000_000, 120_000_000, 220_000_000]
    assert [event.time - event.stamp for event in found] == [30_000_000] * 3


def test_a_wall_comes_nearer_as_fast_as_the_trolley_goes(events):
    _, found = events
    reading = found[-1].reading
    best = reading.found.snr.argmax()
    assert reading.found.speed[best] == pytest.approx(-5, abs=0.1)
    assert reading.found.range[best] == pytest.approx(30 - 0.6 - 5 * 0.21, abs=0.2)
    assert reading.instance[best] == 8


@pytest.mark.parametrize("installed", [False, True])
def test_messages_hold_the_detections_the_truth_and_the_scan_where_it_can_be(events, installed, monkeypatch):
    spec, found = events
    for module in (sensor_record, sensor_messages):
        monkeypatch.setattr(module, "has_radar_msgs", lambda: installed)
    types = standard_types().types
    made = {name: message for name, _, message in SensorMessages(types.__getitem__, [spec]).messages(found[-1:])}
    topics = {"radar/detections", "radar/detections/ground_truth"} | ({"radar/scan"} if installed else set())
    assert set(made) == set(published_topics([spec])) == topics
    reading = found[-1].reading
    table, truth = (read_cloud(made[name], name) for name in ("radar/detections", "radar/detections/ground_truth"))
    assert made["radar/detections"].header.frame_id == "front_link"
    assert table.dtype.names == ("x", "y", "z", "radial_velocity", "rcs", "snr")
    assert len(table) == len(truth) == len(reading.found)
    assert np.hypot(table["x"], table["y"]) == pytest.approx(reading.found.range, rel=1e-5)
    assert table["rcs"] == pytest.approx(reading.found.rcs, abs=1e-3)
    assert np.array_equal(truth["false_alarm"] == 1, reading.found.thing < 0)
    assert np.array_equal(truth["instance"], reading.instance)
    if installed:
        returns = made["radar/scan"].returns
        assert [one.doppler_velocity for one in returns] == pytest.approx(reading.found.speed.tolist())
        assert [one.azimuth for one in returns] == pytest.approx(reading.found.azimuth.tolist())
        assert all(abs(one.azimuth) <= math.pi / 4 + 0.05 for one in returns)
