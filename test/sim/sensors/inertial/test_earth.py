"""Places on the ellipsoid and the magnetic field, against published values, iteration and other libraries."""

import math

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.sim.sensors.inertial.motion import (
    FLATTENING,
    SEMI_MAJOR,
    ecef_to_geodetic,
    enu_to_geodetic,
    geodetic_to_ecef,
    magnetic_field,
)

PLACES = [(-89.412, 43.0717, 260.0), (11.58, 48.14, 520.0), (0.0, 0.0, 0.0), (151.2, -33.9, 5.0), (30.0, 89.99, 10.0)]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        # The ellipsoid's axes, and 45 degrees by hand: N = a / sqrt(1 - e^2 / 2).
        ((0, 0, 0), (6378137.0, 0, 0)),
        ((90, 0, 1000), (0, 6379137.0, 0)),
        ((0, 90, 0), (0, 0, 6356752.314245)),
        ((0, 45, 0), (4517590.8789, 0, 4487348.4089)),
    ],
)
def test_published_places(place, expected):
    assert geodetic_to_ecef(*place) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("place", PLACES)
def test_there_and_back(place):
    """To 1e-8 m: 1e-13 degrees and metres of a number of six million in double precision."""
    longitude, latitude, altitude = place
    for height in (altitude, -3000.0, 30_000.0):
        found = ecef_to_geodetic(geodetic_to_ecef(longitude, latitude, height)[None])[0]
        assert found[:2] == pytest.approx([latitude, longitude], abs=1e-12)
        assert found[2] == pytest.approx(height, abs=1e-8)


@pytest.mark.parametrize("place", PLACES)
def test_metres_become_degrees_as_by_iteration(place):
    """Against rotation matrices and a fixed-point iteration of the latitude."""
    longitude, latitude, _ = place
    metres = np.random.default_rng(1).normal(size=(40, 3)) * [5000, 5000, 300]
    lam, phi = math.radians(longitude), math.radians(latitude)
    east = [-math.sin(lam), math.cos(lam), 0]
    north = [-math.sin(phi) * math.cos(lam), -math.sin(phi) * math.sin(lam), math.cos(phi)]
    up = [math.cos(phi) * math.cos(lam), math.cos(phi) * math.sin(lam), math.sin(phi)]
    points = geodetic_to_ecef(*place) + metres @ np.array([east, north, up])
    squared = FLATTENING * (2 - FLATTENING)
    for (x, y, z), found in zip(points, enu_to_geodetic(metres, place), strict=True):
        angle = math.atan2(z, math.hypot(x, y))
        for _ in range(30):
            normal = SEMI_MAJOR / math.sqrt(1 - squared * math.sin(angle) ** 2)
            angle = math.atan2(z + squared * normal * math.sin(angle), math.hypot(x, y))
        height = math.hypot(x, y) * math.cos(angle) + z * math.sin(angle) - SEMI_MAJOR**2 / normal
        assert found[0] == pytest.approx(math.degrees(angle), abs=1e-11)
        assert found[1] == pytest.approx(math.degrees(math.atan2(y, x)), abs=1e-11)
        assert found[2] == pytest.approx(height, abs=1e-7)


@pytest.mark.parametrize("place", PLACES)
def test_metres_become_degrees_as_pymap3d_has_it(place):
    pymap3d = pytest.importorskip("pymap3d", reason="pymap3d is not installed")
    longitude, latitude, altitude = place
    metres = np.random.default_rng(2).normal(size=(100, 3)) * [5000, 5000, 300]
    other = np.stack(pymap3d.enu2geodetic(*metres.T, latitude, longitude, altitude), -1)
    found = enu_to_geodetic(metres, place)
    assert found[:, :2] == pytest.approx(other[:, :2], abs=1e-9)
    assert found[:, 2] == pytest.approx(other[:, 2], abs=1e-4)


@pytest.mark.parametrize(
    ("latitude", "longitude", "kilometres", "north", "east", "down"),
    [
        # NOAA, WMM2025 test values for 2025.0 (nT).
        (80.0, 0.0, 0.0, 6521.6, 145.9, 54791.5),
        (0.0, 120.0, 0.0, 39677.8, -109.6, -10580.2),
        (-80.0, 240.0, 0.0, 6117.5, 15751.9, -52022.5),
    ],
)
def test_the_world_magnetic_model(latitude, longitude, kilometres, north, east, down):
    pytest.importorskip("pygeomag", reason="pygeomag is not installed: pip install simjudge[sim]")
    found = magnetic_field((longitude, latitude, kilometres * 1000), 2025.0)
    assert np.array(found) * 1e9 == pytest.approx([east, north, -down], abs=0.1)


def test_a_year_that_no_model_covers_is_told():
    pytest.importorskip("pygeomag", reason="pygeomag is not installed: pip install simjudge[sim]")
    with pytest.raises(SimjudgeError, match=r"magnetometer: year 1950: .*; give field") as caught:
        magnetic_field((0.0, 45.0, 0.0), 1950.0)
    assert "\n" not in str(caught.value)


def test_without_pygeomag_one_line_says_what_to_do(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pygeomag", None)
    with pytest.raises(SimjudgeError, match=r"pip install 'simjudge\[sim\]'; or give field"):
        magnetic_field((0.0, 45.0, 0.0), 2026.0)
