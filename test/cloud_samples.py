"""Small sets of clouds whose right answers are known."""

import numpy as np

from simjudge.core.names import NO_STAMP
from simjudge.data.clouds import Cloud, CloudSet

FIELDS = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("intensity", "f4")])
HEIGHT = 1.5
"""Metres of the lidar above its ground."""


def table(points, intensity=1.0, **more):
    """A cloud of points, with further fields as they are named."""
    layout = np.dtype([*FIELDS.descr, *((name, np.asarray(value).dtype.str) for name, value in more.items())])
    out = np.zeros(len(points), layout)
    if len(points):
        out["x"], out["y"], out["z"] = np.asarray(points, float).T
    out["intensity"] = intensity
    for name, value in more.items():
        out[name] = value
    return out


def ground(count=400, seed=0):
    """Points on level ground around the lidar."""
    random = np.random.default_rng(seed)
    radius, angle = random.uniform(2, 12, count), random.uniform(-np.pi, np.pi, count)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(count, -HEIGHT)], 1)


def cloud_set(tables, poses=(), *, name="real", stamp=None, **more):
    """Tables as a set, 0.1 s apart."""
    count = len(tables)
    stamps = np.arange(count) * 100_000_000 + 10**9 if stamp is None else np.asarray(stamp)
    clouds = [each if isinstance(each, Cloud) else Cloud(each, where=f"{name} {i}") for i, each in enumerate(tables)]
    return CloudSet(
        name, [f"{i:06d}" for i in range(count)], stamps.astype(np.int64), clouds.__getitem__, poses=list(poses), **more
    )


def unstamped(count):
    """Stamps of a set that has none."""
    return np.full(count, NO_STAMP)
