"""Two cones in small pictures and two blocks in clouds: sets for the tests of the second judge's frame and page."""

import numpy as np
from cloud_samples import cloud_set, table

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.data.clouds import CloudBoxes
from simjudge.geometry.poses import Pose

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


def block_drive(name, seed=0, *, shift=0.0, bright=1.0, count=8, poses=True, start=(0.0, 0.0)):
    """Scans 0.5 m apart of two labelled blocks on level ground; the virtual ones may be shifted or brighter."""
    random = np.random.default_rng(seed)
    lidar = [Pose.from_euler(start[0] + 0.5 * i, start[1], 1.5) for i in range(count)]
    x, y = np.meshgrid(np.arange(-4, 14, 0.4), np.arange(-8, 8, 0.4))
    ground = np.stack([start[0] + x.ravel(), start[1] + y.ravel(), random.normal(0, 0.01, x.size)], 1)
    places = [(start[0] + 6.0, start[1] + 3.0), (start[0] + 10.0, start[1] - 3.0)]
    tables = []
    for pose in lidar:
        blocks = [random.uniform(-0.5, 0.5, (80, 3)) * (1, 0.6, 1) + (px + shift, py, 0.5) for px, py in places]
        tables.append(table(pose.to_body(np.concatenate([ground, *blocks])), bright * random.uniform(0.9, 1.1)))
    boxes = CloudBoxes(
        np.repeat(np.arange(count), 2),
        np.zeros(2 * count, np.int64),
        np.tile([3, 8], count),
        np.array([pose.to_body([px, py, 0.5]) for pose in lidar for px, py in places]),
        np.tile([0.0, 0, 0, 1], (2 * count, 1)),
        np.tile([1.0, 0.6, 1.0], (2 * count, 1)),
    )
    stamp = START + PERIOD * np.arange(count)
    return cloud_set(tables, lidar if poses else (), name=name, boxes=boxes, class_names={0: "block"}, stamp=stamp)
