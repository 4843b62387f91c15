"""Makes the two sample recordings beside this script: `make samples`, or `python bags/make_samples.py [FOLDER]`.

Both show the same painted course of cones from the same drive. `sim` is the painting as it is, its camera replayed
from poses that are a little off. `real_stand_in` has an uneven floor and light, and is then seen through a camera:
lens blur, vignetting, noise, a white balance that is off. See painter.py for what is painted, and how little that is.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
from painter import GREEN, RED, Camera, Course, Look, Painted, Pose, paint

from simjudge.core.frames import FloatArray, FrameSet, Objects
from simjudge.data.rosbag2 import write_recording
from simjudge.sensors.camera.chain import FilteredImages, Step
from simjudge.sensors.camera.filters import as_uint8

FRAMES, RATE = 40, 2
"""Pictures in a recording, and how many a second."""
START = 1_700_000_000 * 1_000_000_000
CAMERA = Camera()
CLASS_NAMES = {RED: "red", GREEN: "green"}
LEAST_VISIBLE, LEAST_HEIGHT = 0.3, 8.0
"""A cone is labelled where at least this part of it shows, and from this many pixels of height."""

REAL_LOOK = Look(texture=0.3, gradient=0.4, floor=(0.60, 0.58, 0.53), wall=(0.78, 0.77, 0.72), seed=11)
SIM_LOOK = Look()
REAL_CAMERA = [
    Step("gaussian_blur", {"sigma": 0.8}),
    Step("vignetting", {"half_angle": 32}),
    Step("gaussian_noise", {"sigma": 5}),
    Step("white_balance", {"red": 0.9, "green": 1.0, "blue": 1.15}),
    Step("jpeg", {"quality": 85}),
]
SIM_CAMERA = [Step("jpeg", {"quality": 90})]


def course(rng: np.random.Generator) -> tuple[Course, FloatArray]:
    """A lane of cones that winds down a hall, red on the right and green on the left, and its middle line (N, 2)."""
    x = np.arange(0.0, 9.0, 0.05)
    middle = np.stack([x, 0.45 * np.sin(x * 0.9)], 1)
    place, classes = [], []
    for i in range(12, len(x), 9):
        ahead = middle[min(i + 1, len(x) - 1)] - middle[i - 1]
        left = np.array([-ahead[1], ahead[0]]) / np.linalg.norm(ahead)
        for side, class_id in ((1, GREEN), (-1, RED)):
            if rng.random() < 0.85:
                place.append(middle[i] + side * left * rng.normal(0.42, 0.05) + rng.normal(0, 0.04, 2))
                classes.append(class_id)
    return Course(np.array(place), np.array(classes, np.int64), (-1.5, -2.2, 10.5, 2.2)), middle


def drive(middle: FloatArray, rng: np.random.Generator) -> list[Pose]:
    """Where the camera was for every picture: along the middle line, swaying."""
    poses = []
    for along in np.linspace(0, len(middle) - 70, FRAMES):
        i = int(along)
        ahead = middle[i + 14] - middle[i]
        yaw = math.atan2(ahead[1], ahead[0]) + rng.normal(0, math.radians(4))
        x, y = middle[i] + rng.normal(0, 0.06, 2)
        poses.append(Pose(x, y, 0.185, yaw, 0.1 + rng.normal(0, 0.006), rng.normal(0, 0.006)))
    return poses


def replayed(pose: Pose, rng: np.random.Generator) -> Pose:
    """A recorded pose as motion capture would give it: off by a centimetre and half a degree."""
    x, y = rng.normal([pose.x, pose.y], 0.01)
    yaw, pitch, roll = rng.normal([pose.yaw, pose.pitch, pose.roll], math.radians(0.5))
    return Pose(x, y, pose.z, yaw, pitch, roll)


class PaintedImages:
    """Images painted when read, seen through no camera yet."""

    def __init__(self, scene: Course, poses: list[Pose], look: Look) -> None:
        """Keep what to paint."""
        self.scene, self.poses, self.look = scene, poses, look

    def __len__(self) -> int:
        """The number of images."""
        return len(self.poses)

    def has(self, index: int) -> bool:
        """Whether there is an image: always."""
        return 0 <= index < len(self)

    def painted(self, index: int) -> Painted:
        """Image `index` and what is in it."""
        return paint(self.scene, self.poses[index], CAMERA, self.look)

    def read(self, index: int) -> np.ndarray:
        """Image `index` in grey levels."""
        return as_uint8(self.painted(index).pixels)

    def read_encoded(self, index: int) -> None:
        """None: the pixels are raw."""
        del index


def recording(name: str, images: PaintedImages, camera: list[Step]) -> FrameSet:
    """A labelled set of the images seen through a camera."""
    frames, cones, boxes = [], [], []
    for index in range(len(images)):
        painted = images.painted(index)
        height = painted.box[:, 3] - painted.box[:, 1]
        labelled = (painted.visible >= LEAST_VISIBLE) & (height >= LEAST_HEIGHT)
        frames += [index] * int(labelled.sum())
        cones += painted.cone[labelled].tolist()
        boxes += painted.box[labelled].tolist()
    objects = Objects.build(frames, images.scene.class_id[np.array(cones, np.int64)], boxes, cones)
    size = [(CAMERA.width, CAMERA.height)] * len(images)
    stamp = START + np.arange(len(images), dtype=np.int64) * (1_000_000_000 // RATE)
    bare = FrameSet.build(name, size, objects, stamp=stamp, class_names=CLASS_NAMES)
    seen = FilteredImages(images, list(bare.frame_name), camera, seed=7)
    return FrameSet.build(name, size, objects, stamp=stamp, class_names=CLASS_NAMES, images=seen)


def main() -> None:
    """Write both recordings."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    rng = np.random.default_rng(2)
    scene, middle = course(rng)
    poses = drive(middle, rng)
    sets = {
        "real_stand_in": (PaintedImages(scene, poses, REAL_LOOK), REAL_CAMERA),
        "sim": (PaintedImages(scene, [replayed(p, rng) for p in poses], SIM_LOOK), SIM_CAMERA),
    }
    for name, (images, camera) in sets.items():
        made = recording(name, images, camera)
        (folder / f"{name}.mcap").unlink(missing_ok=True)
        write_recording(made, folder / f"{name}.mcap")
        sys.stderr.write(f"{name}: {len(made)} pictures, {len(made.objects)} cones\n")


if __name__ == "__main__":
    main()
