"""Labels from single rays, for an engine that moves things and renders nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Hits, Labels
from simjudge.sim.scene.model import Thing
from simjudge.sim.sensors.camera.lens import Lens


def labels_of_rays(
    cast: Callable[[FloatArray, FloatArray], Hits], lens: Lens, camera: Pose, things: Sequence[Thing], background: int
) -> Labels:
    """Classes, instances and depth through the pixels' centres: see `Engine.labels`.

    Args:
        cast: what rays hit first, from origins and unit directions (N, 3), metres, world.

    Returns:
        Labels, (H, W) each.
    """
    rays = lens.rays()
    ahead = rays.reshape(-1, 3) @ camera.rotation_matrix().T
    hits = cast(np.broadcast_to(np.asarray(camera.position, np.float64), ahead.shape), ahead)
    # The last row is for -1: nothing is hit.
    classes = np.array([*(thing.class_id for thing in things), background], np.uint8)
    instances = np.array([*(thing.instance for thing in things), 0], np.uint16)
    along = np.ones(len(ahead)) if lens.omnidirectional else rays[..., 2].ravel()
    depth = np.full(len(ahead), np.inf)
    np.multiply(hits.distance, along, out=depth, where=np.isfinite(hits.distance))
    shape = rays.shape[:2]
    return Labels(
        classes[hits.thing].reshape(shape), instances[hits.thing].reshape(shape),
        depth.reshape(shape).astype(np.float32),
    )  # fmt: skip
