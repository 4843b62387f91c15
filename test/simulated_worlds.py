"""Pictures of painted cones, and what a loop over their pixels says of them: the same for every simulator's form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from bag_samples import SECOND, TYPES, header

WIDTH, HEIGHT = 96, 64
RED, GREEN = 1, 2
COLOURS = {RED: (200, 20, 20), GREEN: (20, 160, 40)}
NAMES = {RED: "red", GREEN: "green"}


@dataclass(frozen=True)
class View:
    """One picture: the photograph, and class and instance of each pixel, 0 where nothing stands."""

    photograph: Any
    classes: Any
    instances: Any


def view(number: int, cones: int = 4) -> View:
    """A few cones, some before others, some over the edge, some tiny; the instance counts within its class."""
    rng = np.random.default_rng(number)
    photograph = np.full((HEIGHT, WIDTH, 3), 120, np.uint8)
    classes, instances = np.zeros((2, HEIGHT, WIDTH), np.int64)
    count = {RED: 0, GREEN: 0}
    for _ in range(cones):
        kind = int(rng.integers(RED, GREEN + 1))
        count[kind] += 1
        x, y, tall = int(rng.integers(0, WIDTH)), int(rng.integers(20, HEIGHT + 8)), int(rng.integers(4, 34))
        for row in range(max(y - tall, 0), min(y, HEIGHT)):
            half = (row - y + tall) // 3
            span = slice(max(x - half, 0), max(x + half + 1, 0))
            photograph[row, span], classes[row, span], instances[row, span] = COLOURS[kind], kind, count[kind]
    return View(photograph, classes, instances)


def boxes_by_loop(seen: View, min_size: float = 5.0) -> list[tuple[str, float, float, float, float]]:
    """Class and box of every instance that is large enough, by a loop over the pixels; sorted."""
    ends: dict[tuple[int, int], list[int]] = {}
    for y in range(HEIGHT):
        for x in range(WIDTH):
            key = int(seen.classes[y, x]), int(seen.instances[y, x])
            if key[0]:
                box = ends.setdefault(key, [x, y, x + 1, y + 1])
                ends[key] = [min(box[0], x), min(box[1], y), max(box[2], x + 1), max(box[3], y + 1)]
    large = [(key, box) for key, box in ends.items() if min(box[2] - box[0], box[3] - box[1]) >= min_size]
    return sorted((NAMES[key[0]], *map(float, box)) for key, box in large)


def boxes_of(frames: Any, index: int) -> list[tuple[str, float, float, float, float]]:
    """Class and box of a set's labels in a frame, sorted likewise."""
    objects = frames.objects
    rows = np.flatnonzero(objects.frame == index).tolist()
    return sorted((frames.class_names[int(objects.class_id[row])], *objects.box[row].tolist()) for row in rows)


def photograph(stamp: int, seen: View, encoding: str = "rgb8") -> Any:
    """The photograph as a raw image message."""
    return raw_image(stamp, seen.photograph[..., ::-1] if encoding.startswith("bgr") else seen.photograph, encoding)


def raw_image(stamp: int, values: Any, encoding: str) -> Any:
    """An image message of any encoding; a fourth channel is 255 where the encoding has one that `values` lacks."""
    values = np.asarray(values)
    if encoding in {"bgra8", "rgba8"} and values.shape[2] == 3:
        values = np.dstack([values, np.full(values.shape[:2], 255)])
    kind = {"16UC1": "<u2", "32SC1": "<i4"}.get(encoding, "u1")
    data = np.ascontiguousarray(values.astype(kind)).view(np.uint8).reshape(-1)
    step = len(data) // values.shape[0]
    return TYPES.types["sensor_msgs/msg/Image"](
        header(stamp), values.shape[0], values.shape[1], encoding, 0, step, data
    )


def stamps(count: int) -> list[int]:
    """A stamp for each of some pictures, ten a second."""
    return [SECOND + index * SECOND // 10 for index in range(count)]
