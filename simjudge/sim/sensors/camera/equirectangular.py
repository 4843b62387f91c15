"""The equirectangular image: columns are angles to the right, rows angles downwards, both from the optical axis."""

from __future__ import annotations

import math

import numpy as np

from simjudge.core.arrays import FloatArray

ROUNDING = 1e-9
"""Share by which such an image may be rounded to more than all around."""


def rays_around(angles: FloatArray) -> FloatArray:
    """Rays (..., 3) of angles (..., 2) to the right and downwards, radians; NaN beyond the poles."""
    right, down = angles[..., 0], angles[..., 1]
    rays = np.stack([np.sin(right) * np.cos(down), np.sin(down), np.cos(right) * np.cos(down)], -1)
    rays[np.abs(down) > math.pi / 2 * (1 + ROUNDING)] = np.nan
    return rays


def angles_around(xyz: FloatArray) -> FloatArray:
    """Angles (..., 2) to the right and downwards of points, radians; NaN at the camera's centre."""
    x, y, z = np.moveaxis(xyz, -1, 0)
    angles = np.stack([np.arctan2(x, z), np.arctan2(y, np.hypot(x, z))], -1)
    angles[~np.any(xyz, axis=-1)] = np.nan
    return angles
