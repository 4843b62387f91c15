"""The world on the earth: metres east, north and up of a place as latitude and longitude, and the magnetic field there.

The ellipsoid is WGS 84's. Positions go through earth-centred coordinates, so that they are exact at any distance:
nothing is taken as flat.

Source:
    National Imagery and Mapping Agency, "Department of Defense World Geodetic System 1984", TR8350.2, 3rd edition.
    H. Vermeille, "Direct transformation from geocentric coordinates to geodetic coordinates", Journal of Geodesy 76
    (2002), 451-454.
"""

from __future__ import annotations

import importlib
import math

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.text import one_line
from simjudge.sim.sensors.inertial.noise import Triple

SEMI_MAJOR = 6378137.0
"""Metres."""
FLATTENING = 1 / 298.257223563
_SQUARED = FLATTENING * (2 - FLATTENING)
"""Square of the first eccentricity."""
_NANO = 1e-9


def geodetic_to_ecef(longitude: float, latitude: float, altitude: float) -> FloatArray:
    """Earth-centred, earth-fixed coordinates of a place.

    Args:
        longitude: degrees east.
        latitude: degrees north, on the ellipsoid.
        altitude: metres above the ellipsoid.

    Returns:
        float64 (3,), metres.
    """
    return _ecef(longitude, latitude, altitude)


def _ecef(longitude: npt.ArrayLike, latitude: npt.ArrayLike, altitude: npt.ArrayLike) -> FloatArray:
    """Of one place or of many: (..., 3)."""
    lam, phi, high = np.radians(longitude), np.radians(latitude), np.asarray(altitude, np.float64)
    normal = SEMI_MAJOR / np.sqrt(1 - _SQUARED * np.sin(phi) ** 2)
    around = (normal + high) * np.cos(phi)
    up = (normal * (1 - _SQUARED) + high) * np.sin(phi)
    return np.stack([around * np.cos(lam), around * np.sin(lam), up], -1)


def enu_to_geodetic(metres: FloatArray, reference: Triple) -> FloatArray:
    """Latitude, longitude and altitude of points near a place.

    Args:
        metres: (N, 3), east, north and up of the place, in its tangent plane.
        reference: longitude, latitude (degrees) and altitude (m) of the place.

    Returns:
        float64 (N, 3): latitude and longitude, degrees, and altitude above the ellipsoid, metres.
    """
    lam, phi = math.radians(reference[0]), math.radians(reference[1])
    east, north, up = metres[:, 0], metres[:, 1], metres[:, 2]
    outward = math.cos(phi) * up - math.sin(phi) * north
    x, y, z = geodetic_to_ecef(*reference)
    return ecef_to_geodetic(
        np.stack([
            x + math.cos(lam) * outward - math.sin(lam) * east,
            y + math.sin(lam) * outward + math.cos(lam) * east,
            z + math.cos(phi) * north + math.sin(phi) * up,
        ], -1)
    )  # fmt: skip


def geodetic_to_enu(places: FloatArray, reference: Triple) -> FloatArray:
    """Metres east, north and up of a place.

    Args:
        places: (N, 3): latitude and longitude, degrees, and altitude above the ellipsoid, metres.
        reference: longitude, latitude (degrees) and altitude (m) of the place.

    Returns:
        float64 (N, 3), in the tangent plane of the reference: the inverse of `enu_to_geodetic`.
    """
    lam, phi = math.radians(reference[0]), math.radians(reference[1])
    x, y, z = (_ecef(places[:, 1], places[:, 0], places[:, 2]) - geodetic_to_ecef(*reference)).T
    outward = math.cos(lam) * x + math.sin(lam) * y
    return np.stack([
        math.cos(lam) * y - math.sin(lam) * x,
        math.cos(phi) * z - math.sin(phi) * outward,
        math.sin(phi) * z + math.cos(phi) * outward,
    ], -1)  # fmt: skip


def ecef_to_geodetic(points: FloatArray) -> FloatArray:
    """Latitude, longitude and altitude of earth-centred points, by Vermeille's closed form.

    Args:
        points: (N, 3), metres, farther than 50 km from the earth's centre.

    Returns:
        float64 (N, 3): latitude and longitude, degrees, and altitude above the ellipsoid, metres.
    """
    x, y, z = points[:, 0], points[:, 1], points[:, 2]
    fourth = _SQUARED * _SQUARED
    p = (x * x + y * y) / SEMI_MAJOR**2
    q = (1 - _SQUARED) / SEMI_MAJOR**2 * (z * z)
    r = (p + q - fourth) / 6
    s = fourth * p * q / (4 * r * r * r)
    t = np.cbrt(1 + s + np.sqrt(s * (2 + s)))
    u = r * (1 + t + 1 / t)
    v = np.sqrt(u * u + fourth * q)
    w = _SQUARED * (u + v - q) / (2 * v)
    k = np.sqrt(u + v + w * w) - w
    around = np.sqrt(x * x + y * y)
    d = k * around / (k + _SQUARED)
    far = np.sqrt(d * d + z * z)
    latitude = 2 * np.arctan2(z, d + far)
    longitude = np.arctan2(y, x)
    altitude = (k + _SQUARED - 1) / k * far
    return np.stack([np.degrees(latitude), np.degrees(longitude), altitude], -1)


def magnetic_field(reference: Triple, year: float | None) -> Triple:
    """The earth's magnetic field by the World Magnetic Model, as the package pygeomag computes it.

    Args:
        reference: longitude, latitude (degrees) and altitude (m) of the place.
    """
    if year is None:
        raise SimjudgeError("magnetometer: the earth's field needs a year, or field: [east, north, up]")
    try:
        model = importlib.import_module("pygeomag").GeoMag()
    except ImportError as error:
        raise SimjudgeError(
            "magnetometer: the earth's field at a place and year needs pygeomag: pip install 'simjudge[sim]'; or give"
            " field: [east, north, up]"
        ) from error
    longitude, latitude, altitude = reference
    try:
        found = model.calculate(glat=latitude, glon=longitude, alt=altitude / 1000, time=year)
    except ValueError as error:
        raise SimjudgeError(f"magnetometer: year {year:g}: {one_line(error)}; give field: [east, north, up]") from error
    return found.y * _NANO, found.x * _NANO, -found.z * _NANO
