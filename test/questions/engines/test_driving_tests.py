"""A car's figures in the default engine, against what its own figures say."""

import math

import pytest

from simjudge.questions.engines.run import flat_scene, measure_driving
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.vehicle.vehicle import read_vehicle


@pytest.mark.slow
def test_the_default_car():
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    car = read_vehicle("art1")
    engine = make_engine("default", flat_scene(), car)
    figures = measure_driving(engine, car, (1.0, -1.0))
    engine.close()
    assert 0.5 * car.top_wheel_speed * car.wheel_radius < figures.speed < car.top_wheel_speed * car.wheel_radius
    assert 0 < figures.to_half < 3
    assert abs(figures.drift) < 0.05
    # Rolling resistance alone: v^2 / (2 c g); bearings and slip make it no longer than that.
    assert figures.coast_distance == pytest.approx(figures.speed**2 / (2 * car.rolling_resistance * 9.81), rel=0.3)
    left, right = figures.circles[1.0], figures.circles[-1.0]
    assert left[0] == pytest.approx(-right[0], rel=0.05)
    assert left[0] == pytest.approx(left[1], rel=0.2)
    assert left[1] == pytest.approx(car.wheelbase / math.tan(car.steering_limit), rel=0.1)
    assert figures.as_record()["circles"]["+1.0"] == list(left)
