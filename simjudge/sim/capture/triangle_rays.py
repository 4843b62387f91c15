"""Where rays from the camera's centre meet a triangle (Moeller and Trumbore, 1997), for compiled loops over pixels."""

from __future__ import annotations

from typing import TypeAlias

import numba

from simjudge.core.arrays import FloatArray

Corner: TypeAlias = tuple[float, float, float]
TriangleTerms: TypeAlias = tuple[Corner, Corner, Corner, Corner, float]
"""A triangle's first corner, two sides, and what of the formula does not depend on the ray."""


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def triangle_terms(corners: FloatArray) -> TriangleTerms:
    """What all rays from the origin share of a triangle.

    Args:
        corners: float64 (3, 3), in the camera's optical frame.
    """
    ax, ay, az = corners[0]
    ux, uy, uz = corners[1, 0] - ax, corners[1, 1] - ay, corners[1, 2] - az
    vx, vy, vz = corners[2, 0] - ax, corners[2, 1] - ay, corners[2, 2] - az
    # The rays start at the origin, so that s = -a, and s x u does not depend on the ray.
    qx, qy, qz = uy * az - uz * ay, uz * ax - ux * az, ux * ay - uy * ax
    return (ax, ay, az), (ux, uy, uz), (vx, vy, vz), (qx, qy, qz), vx * qx + vy * qy + vz * qz


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def meeting_point(terms: TriangleTerms, direction: FloatArray) -> float:
    """How far along a ray from the origin the triangle's plane is, if the ray meets it within the triangle.

    Args:
        direction: float64 (3,), of the ray.

    Returns:
        Multiples of the direction's length, negative behind the camera; 0 where the ray misses, and where it is NaN.
    """
    (ax, ay, az), (ux, uy, uz), (vx, vy, vz), (qx, qy, qz), reach = terms
    dx, dy, dz = direction
    px, py, pz = dy * vz - dz * vy, dz * vx - dx * vz, dx * vy - dy * vx
    determinant = ux * px + uy * py + uz * pz
    if not abs(determinant) > 1e-300:  # also where the ray is NaN
        return 0.0
    inverse = 1 / determinant
    b1 = -(ax * px + ay * py + az * pz) * inverse
    b2 = (dx * qx + dy * qy + dz * qz) * inverse
    return reach * inverse if b1 >= 0 and b2 >= 0 and b1 + b2 <= 1 else 0.0
