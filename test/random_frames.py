"""Small random sets of frames, labelled and predicted."""

import numpy as np

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions


def made(seed, frames=6, far=False, per_frame=4, stamps=None):
    """Boxes of two classes at random places, and predictions near them; far: so small that few contexts are alike."""
    random = np.random.default_rng(seed)
    count = frames * per_frame
    corner = random.uniform(0, 90, (count, 2))
    size = random.uniform(2, 3, (count, 2)) if far else random.uniform(20, 30, (count, 2))
    box = np.hstack([corner, corner + size])
    frame, kind = np.repeat(np.arange(frames), per_frame), random.integers(0, 2, count)
    return FrameSet.build(
        f"set {seed}",
        np.tile([640, 480], (frames, 1)),
        Objects.build(frame, kind, box),
        Predictions.build(frame, kind, box + random.normal(0, 4, box.shape), random.uniform(0.3, 1, count)),
        stamp=np.arange(frames) * 10**9 + seed if stamps is None else stamps,
        class_names={0: "cone", 1: "post"},
    )
