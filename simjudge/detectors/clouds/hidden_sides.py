"""Rectangles of known least size: a lidar sees the near sides of a thing, so what is missing lies behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.detectors.clouds.l_shapes import Rectangles


def lengthen_rectangles(rectangles: Rectangles, least: tuple[float, float]) -> Rectangles:
    """Lengthen sides that are shorter than they can be, away from the lidar.

    A side along the line of sight grows behind its rectangle, one across it to both ends alike; between the two the
    share goes with the cosine of the angle to the line of sight.

    Args:
        rectangles: in the lidar's frame, x and y from the lidar.
        least: of the longer and of the shorter side, metres.
    """
    yaw, centre = rectangles.yaw, rectangles.centre
    missing = np.maximum(np.array(least) - rectangles.size, 0.0)
    axes = np.stack([np.stack([np.cos(yaw), np.sin(yaw)], -1), np.stack([-np.sin(yaw), np.cos(yaw)], -1)], 1)
    along: FloatArray = np.einsum("kij,kj->ki", axes, centre)
    largest = np.abs(along).max(1, keepdims=True)
    away = np.divide(along, largest, out=np.zeros_like(along), where=largest > 0)
    moved = np.einsum("ki,kij->kj", missing / 2 * away, axes)
    return replace(rectangles, centre=centre + moved, size=rectangles.size + missing)
