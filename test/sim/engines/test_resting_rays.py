"""Rays at what rests: what is taken away is not met, what is put somewhere is met there."""

import numpy as np
import pytest
from light_scenes import sheet, thing, white

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.default_engine import RestingRays


def test_things_are_met_where_they_were_put_last(light_of):  # noqa: ARG001 - chooses what traces
    floor = thing("floor", sheet(20, 20), white())
    table = thing("table", sheet(2, 2), white(), Pose((0, 0, 1)), motion="free")
    down = np.array([[0.1, 0.2, 3], [5.1, 0.2, 3]]), np.array([[0.0, 0, -1]] * 2)
    rays = RestingRays([floor, table])
    try:
        for pose, distance, met in (
            (Pose((0, 0, 1)), (2, 3), (1, 0)),
            (Pose((5, 0, 0.5)), (3, 2.5), (0, 1)),
            (None, (3, 3), (0, 0)),
            (Pose.from_euler(0, 0, 2, yaw=1), (1, 3), (1, 0)),
        ):
            rays.place([1], [pose])
            hits = rays.cast(*down)
            assert hits.distance == pytest.approx(distance, abs=1e-12)
            assert hits.thing.tolist() == list(met)
            assert hits.normal == pytest.approx(np.array([[0, 0, 1]] * 2), abs=1e-12)
    finally:
        rays.close()
