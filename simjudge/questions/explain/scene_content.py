"""What the scene itself does: A's pixels in B's pictures of the same places, in the boxes of objects or around them.

Nothing else makes B's objects or B's background look like A's. Where the frames are pairs, the pictures of A say how
both should look. A's pixels carry A's camera too, so that this is asked last, once the causes that lie in the camera
are undone: what a part of the picture then still does is scene content.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from simjudge.core.arrays import BoolArray
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.sim.sensors.camera.chain import FrameStep
from simjudge.sim.sensors.camera.filters import AnyImage
from simjudge.sim.sensors.camera_matching.cause_names import BACKGROUND, OBJECTS, SCENE_CAUSES

NO_PAIRS = "they need pictures of the same scenes: --paired"
OTHER_SIZE = "A's pictures have another size than B's"
"""Why scene content cannot be tried, and what would help."""
_MARGIN = 2
"""Pixels by which boxes are grown: edges of objects are blurred."""


def why_not_scene(a: FrameSet, b: FrameSet, *, paired: bool) -> str | None:
    """Why A's pixels cannot be put into B's pictures.

    Returns:
        The reason; None where they can.
    """
    if not paired:
        return NO_PAIRS
    return None if np.array_equal(a.size, b.size) else OTHER_SIZE


def paste_step(a: FrameSet, labels: tuple[Objects, Objects], causes: Collection[str]) -> FrameStep:
    """The last step of B's chain: A's pixels where the causes that are undone lie.

    Args:
        a: A, behind the filters that undo A's side of the other causes.
        labels: the objects of A and of B. What either calls an object is one.
    """
    if a.images is None:
        raise ValueError("A has no images")
    images = a.images

    def paste(number: int, image: AnyImage) -> AnyImage:
        taken = _object_mask(labels, number, (image.shape[0], image.shape[1]))
        if BACKGROUND in causes:
            taken = np.ones_like(taken) if OBJECTS in causes else ~taken
        pixels = images.read(number).astype(image.dtype) / 255
        return np.where(taken[:, :, None], pixels, image).astype(image.dtype)

    return FrameStep("pixels_of_a " + " ".join(name for name in SCENE_CAUSES if name in causes), paste)


def _object_mask(labels: tuple[Objects, Objects], number: int, shape: tuple[int, int]) -> BoolArray:
    """(H, W), True in the boxes of a frame, edges included."""
    mask = np.zeros(shape, np.bool_)
    for objects in labels:
        box = objects.box[objects.frame == number]
        low = np.maximum(np.floor(box[:, :2]).astype(int) - _MARGIN, 0)
        high = np.maximum(np.ceil(box[:, 2:]).astype(int) + _MARGIN, 0)
        for (x0, y0), (x1, y1) in zip(low, high, strict=True):
            mask[y0:y1, x0:x1] = True
    return mask
