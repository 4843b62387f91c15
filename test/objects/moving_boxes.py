"""Sets of boxes that move in known ways, for the tests of what follows them."""

import numpy as np

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions

SIZE = (640, 480)
START = 1_700_000_000_000_000_000
PERIOD = 100_000_000


def stamps(count, period=PERIOD, start=START):
    return start + period * np.arange(count)


def box_at(x, y, width=40, height=60):
    return [x - width / 2, y - height / 2, x + width / 2, y + height / 2]


def moving_set(paths, count=12, *, kind="labels", classes=None, instances=None, hidden=(), name="set", **more):
    """A set with one box an object; `paths` give (x, y) of its middle by frame, `hidden` names (object, frame)."""
    rows = [
        (frame, number, box_at(*path(frame)))
        for frame in range(count)
        for number, path in enumerate(paths)
        if (number, frame) not in hidden
    ]
    frame, number, box = (np.array([row[i] for row in rows]) for i in range(3))
    class_id = np.array(classes or [0] * len(paths))[number]
    given = {"stamp": stamps(count), "class_names": {0: "cone", 1: "Barrier"}, **more}
    if kind == "labels":
        ids = None if instances is None else np.array(instances)[number]
        return FrameSet.build(name, [SIZE] * count, Objects.build(frame, class_id, box, ids), **given)
    predictions = Predictions.build(frame, class_id, box, np.full(len(frame), 0.9))
    return FrameSet.build(name, [SIZE] * count, predictions=predictions, **given)


def steady(x, y, dx=0.0, dy=0.0):
    return lambda frame: (x + dx * frame, y + dy * frame)
