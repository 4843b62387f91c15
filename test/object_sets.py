"""Sets of two moving cones with small pictures, for the tests of the second judge's frame, result folder and page."""

import numpy as np

from simjudge.core.frames import FrameSet, Objects
from simjudge.core.images import ArrayImages

SIZE = (64, 48)
START = 1_700_000_000_000_000_000
PERIOD = 100_000_000


def cone_set(name, seed, *, wider=0.0, blur=False, count=40, start=START, pictures=True, **more):
    """Two labelled cones that grow as they are approached, with noise of a tenth of a pixel; `wider` in pixels."""
    rng = np.random.default_rng(seed)
    boxes, frame, instance = [], [], []
    for i in range(count):
        for number, x in enumerate((20, 44)):
            width = 6 + 0.1 * i + wider + rng.normal(0, 0.1)
            height = 10 + 0.1 * i + rng.normal(0, 0.1)
            x_middle = x + 2 * np.sin(0.7 * i) + rng.normal(0, 0.1)
            boxes.append([x_middle - width / 2, 30 - height / 2, x_middle + width / 2, 30 + height / 2])
            frame.append(i)
            instance.append(number)
    given = {"stamp": start + PERIOD * np.arange(count), "class_names": {0: "cone"}, **more}
    objects = Objects.build(frame, np.zeros(len(frame)), boxes, instance)
    images = ArrayImages([_picture(rng, blur=blur) for _ in range(count)]) if pictures else None
    return FrameSet.build(name, [SIZE] * count, objects, images=images, **given)


def _picture(rng, *, blur):
    pixels = rng.integers(60, 200, (SIZE[1], SIZE[0], 3))
    return (
        np.repeat(np.repeat(pixels[::4, ::4], 4, axis=0), 4, axis=1).astype(np.uint8) if blur else pixels.astype("u1")
    )
