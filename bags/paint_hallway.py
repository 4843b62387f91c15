"""Paints a hallway with blue and yellow cones: `paint_hallway.py FOLDER [PICTURES [MARGIN]]`, a YOLO data set.

It stands beside real photographs of such a hallway, taken upright by a small car's telephone: 360x640 pixels, horizon
at 45 % of the height, the camera 1.46 cone heights above a dark tiled floor (measured in those photographs: two cones
of one picture give both). Lengths here are in units in which a cone is as high as the painter's, 0.077 m. Every picture
is another course, seen from another place. Labels are exact, or grown on each side by MARGIN of the box, as people draw
them. No camera effects but JPEG; see painter.py for how little is painted.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
from painter import CONE_HEIGHT, Camera, Course, Look, Pose, paint

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, RgbImage
from simjudge.core.object_tables import Objects
from simjudge.data.formats.yolo import write_yolo
from simjudge.sim.sensors.camera.filters import as_uint8

BLUE, YELLOW = 0, 1
CAMERA = Camera(360, 640, 2 * math.atan(180 / 520))
"""A telephone's wide camera filming upright: 520 pixels of focal length."""
EYE, HORIZON = 1.46 * CONE_HEIGHT, 0.45
"""Height above the floor; where the horizon is, as a part of the picture's height."""
LOOK = Look(
    floor=(0.36, 0.34, 0.32),
    wall=(0.84, 0.82, 0.76),
    cones={BLUE: (0.05, 0.33, 0.72), YELLOW: (0.86, 0.80, 0.05)},
    stripe=(0, 0),
    tile=0.2,
    texture=0.15,
    gradient=0.2,
    seed=3,
)
LEAST_VISIBLE, LEAST_HEIGHT = 0.3, 36.0
"""A cone is labelled where so much of it shows: people labelled the near cones and left the far ones."""


def scene(rng: np.random.Generator) -> tuple[Course, Pose]:
    """A hall with a lane of cones, blue on the left and yellow on the right, and a camera that is somewhere in it."""
    places, classes = [], []
    for x in np.arange(0.5, 3.0, 0.3):
        for side, class_id in ((1, BLUE), (-1, YELLOW)):
            if rng.random() < 0.6:
                places.append([x + rng.normal(0, 0.06), side * 0.22 + rng.normal(0, 0.06)])
                classes.append(class_id)
    places.append([0.6, rng.normal(0, 0.15)])  # at least one is near
    classes.append(int(rng.integers(2)))
    course = Course(np.array(places), np.array(classes, np.int64), (-0.5, -0.55, 3.4, 0.55))
    pitch = math.atan((0.5 - HORIZON) * CAMERA.height / CAMERA.focal) + rng.normal(0, 0.015)
    yaw, roll = rng.normal(0, math.radians(9)), rng.normal(0, math.radians(1.5))
    return course, Pose(rng.uniform(-0.2, 0.3), rng.normal(0, 0.08), EYE, yaw, pitch, roll)


def hallway(count: int, margin: float = 0.0, seed: int = 5) -> FrameSet:
    """`count` pictures with all near cones labelled, boxes grown on each side by `margin` of their width and height."""
    rng = np.random.default_rng(seed)
    pictures: list[RgbImage | None] = []
    frames, classes, boxes = [], [], []
    for index in range(count):
        course, pose = scene(rng)
        painted = paint(course, pose, CAMERA, LOOK)
        high = painted.box[:, 3] - painted.box[:, 1] >= LEAST_HEIGHT
        labelled = high & (painted.unhidden >= LEAST_VISIBLE)
        pictures.append(as_uint8(painted.pixels))
        frames += [index] * int(labelled.sum())
        classes += course.class_id[painted.cone[labelled]].tolist()
        box = painted.box[labelled]
        grow = margin * np.tile(box[:, 2:] - box[:, :2], 2) * [-1, -1, 1, 1]
        boxes += np.clip(box + grow, 0, np.tile([CAMERA.width, CAMERA.height], 2)).tolist()
    objects = Objects.build(frames, classes, boxes)
    names = {BLUE: "blue_cone", YELLOW: "yellow_cone"}
    size = [(CAMERA.width, CAMERA.height)] * count
    images = ArrayImages(pictures)
    return FrameSet.build("hallway", size, objects, class_names=names, images=images, independent=True)


def main() -> None:
    """Write the data set."""
    if not 2 <= len(sys.argv) <= 4:
        raise SystemExit("usage: python bags/paint_hallway.py FOLDER [PICTURES [MARGIN]]")
    folder, count, margin = (sys.argv[1:] + ["120", "0"][len(sys.argv) - 2 :])[:3]
    made = hallway(int(count), float(margin))
    write_yolo(made, Path(folder))
    sys.stderr.write(f"{folder}: {len(made)} pictures, {len(made.objects)} cones\n")


if __name__ == "__main__":
    main()
