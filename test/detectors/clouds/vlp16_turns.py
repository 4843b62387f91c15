"""Turns of a VLP-16 over flat ground with boxes on it, by a ray caster of a few lines."""

from __future__ import annotations

import numpy as np

HEIGHT = 1.8
"""Metres, of the lidar above ground."""


def turn(boxes=(), columns=450, noise=0.0, ground=True, seed=0):
    """Points (N, 3) and rings of a turn, column by column; NaN where nothing is hit.

    `boxes`: x, y, length, width, height, yaw each; on the ground.
    """
    elevation = np.radians(np.linspace(-15, 15, 16))
    azimuth = (np.arange(columns) + 0.5) * 2 * np.pi / columns - np.pi
    a, e = (each.ravel() for each in np.meshgrid(azimuth, elevation, indexing="ij"))
    beam = np.stack([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where(beam[:, 2] < 0, -HEIGHT / beam[:, 2], np.inf) if ground else np.full(len(beam), np.inf)
        for x, y, length, width, height, yaw in boxes:
            turned = np.array([[np.cos(yaw), np.sin(yaw), 0], [-np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
            half = np.array([length, width, height]) / 2
            origin, direction = turned @ -np.array([x, y, height / 2 - HEIGHT]), beam @ turned.T
            near, far = (-half - origin) / direction, (half - origin) / direction
            enters, leaves = np.minimum(near, far).max(1), np.maximum(near, far).min(1)
            distance = np.where((enters < leaves) & (enters > 0), np.minimum(distance, enters), distance)
    distance[distance > 60] = np.nan
    distance += noise * np.random.default_rng(seed).standard_normal(len(distance))
    return beam * distance[:, None], np.tile(np.arange(16), columns)
