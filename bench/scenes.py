"""Made cone scenes for timing: boxes and performances alone, no pictures."""

from __future__ import annotations

from functools import cache

import numpy as np

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions


@cache
def cone_scenes(contexts: int, seed: int, per_frame: int = 10) -> tuple[FrameSet, np.ndarray]:
    """About `contexts` red and green cones at 0.6 to 6 m in 1280 x 720 frames, and a performance for each."""
    random = np.random.default_rng(seed)
    frames = -(-contexts // per_frame)
    count = frames * per_frame
    distance = random.uniform(0.6, 6, count)
    height = 96 / distance
    x, y = random.uniform(0, 1280, count), 324 + 150 / distance
    box = np.stack([x - 0.475 * height, y - height, x + 0.475 * height, y], axis=1)
    objects = Objects.build(np.repeat(np.arange(frames), per_frame), 1 + (x > 640), box)
    performance = np.clip(0.85 - 0.05 * distance + random.normal(0, 0.1, count), 0, 1)
    performance[random.random(count) < 0.2] = 0
    return FrameSet.build(f"scenes{seed}", np.tile([1280, 720], (frames, 1)), objects), performance


def with_predictions(frames: FrameSet, seed: int) -> FrameSet:
    """The same scenes with a prediction for most objects, some pixels off."""
    random = np.random.default_rng(seed)
    seen = np.flatnonzero(random.random(len(frames.objects)) < 0.85)
    objects = frames.objects.take(seen)
    box = objects.box + random.normal(0, 2, objects.box.shape)
    return frames.with_predictions(
        Predictions.build(objects.frame, objects.class_id, box, random.uniform(0.3, 1, len(seen)))
    )
