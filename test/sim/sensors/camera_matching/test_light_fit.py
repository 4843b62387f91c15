"""Kinds of light whose brightness is known are found, and what all share is an exposure."""

from __future__ import annotations

import numpy as np
import pytest

from simjudge.sim.sensors.camera.chain import srgb_levels
from simjudge.sim.sensors.camera_matching.camera_estimation import fit_light


def lights(count: int = 4):
    """Smooth fields of light of three kinds."""
    random = np.random.default_rng(2)
    y, x = np.mgrid[0:96, 0:128] / 100
    found = []
    for _ in range(count):
        a, b, c = random.uniform(1, 4, 3)
        found.append(
            {
                "lamps": 0.3 * (1 + np.sin(a * x + b * y)),
                "ambient": np.full(x.shape, 0.1) + 0.05 * x,
                "sky": 0.2 * (1 + np.cos(c * x - a * y)),
            }
        )
    return found


def picture(light, **factors):
    plane = sum(factors.get(kind, 1.0) * value for kind, value in light.items())
    return srgb_levels(np.repeat(plane[:, :, None], 3, axis=2).astype(np.float32))


@pytest.mark.parametrize(
    ("factors", "gain", "changed"),
    [
        ({}, 1.0, {}),
        ({"lamps": 0.5}, 1.0, {"lamps": 0.5}),
        ({"sky": 0.3}, 1.0, {"sky": 0.3}),
        ({"lamps": 0.6, "ambient": 0.6, "sky": 0.6}, 0.6, {}),
        ({"lamps": 0.3, "ambient": 0.6, "sky": 0.6}, 0.6, {"lamps": 0.5}),
    ],
)
def test_factors_are_found(factors, gain, changed):
    given = lights()
    found = fit_light([picture(each, **factors) for each in given], given)
    assert found.gain == pytest.approx(gain, rel=0.03)
    assert found.factors == pytest.approx({"lamps": 1.0, "ambient": 1.0, "sky": 1.0} | changed, rel=0.05)


def test_pictures_that_tell_nothing_change_nothing():
    given = lights(2)
    black = [np.zeros((96, 128, 3), np.uint8)] * 2
    assert fit_light(black, given).factors == {"lamps": 1.0, "ambient": 1.0, "sky": 1.0}
    assert fit_light([], []).factors == {}
