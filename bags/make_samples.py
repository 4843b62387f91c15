"""Makes the sample recordings beside this script, and their scene: `make samples`, or `bags/make_samples.py [FOLDER]`.

Both show the same painted course of cones from the same drive. `sim` is the painting as it is, its camera replayed
from poses that are a little off. `real_stand_in` has an uneven floor and light, and is then seen through a camera:
lens blur, vignetting, noise, a white balance that is off. See painter.py for what is painted, and how little that is.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from painter import CONE_HEIGHT, FOOT_RADIUS, GREEN, RED, TOP_RADIUS, Camera, Course, Look, Painted, Pose, paint

from simjudge.core.arrays import FloatArray
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.writing import ExtraMessages, write_recording
from simjudge.geometry.poses import Pose as EnginePose
from simjudge.sim.capture.camera_poses import camera_mount
from simjudge.sim.sensors.camera.chain import FilteredImages, Step
from simjudge.sim.sensors.camera.filters import as_uint8
from simjudge.sim.vehicle.vehicle import VehicleState
from simjudge.sim.vehicle.vehicle_messages import ODOMETRY_TOPIC, VehicleMessages

FRAMES, RATE = 40, 2
"""Pictures in a recording, and how many a second."""
START = 1_700_000_000 * 1_000_000_000
CAMERA = Camera()
CLASS_NAMES = {RED: "red", GREEN: "green"}
LEAST_VISIBLE, LEAST_HEIGHT = 0.3, 8.0
"""A cone is labelled where at least this part of it within the picture shows, and from this many pixels of height."""

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
    frames, cones, boxes, distance, visible = [], [], [], [], []
    for index in range(len(images)):
        painted = images.painted(index)
        height = painted.box[:, 3] - painted.box[:, 1]
        labelled = (painted.unhidden >= LEAST_VISIBLE) & (height >= LEAST_HEIGHT)
        frames += [index] * int(labelled.sum())
        cones += painted.cone[labelled].tolist()
        boxes += painted.box[labelled].tolist()
        distance += painted.distance[labelled].tolist()
        visible += painted.visible[labelled].tolist()
    class_id = images.scene.class_id[np.array(cones, np.int64)]
    objects = Objects.build(frames, class_id, boxes, cones, distance=distance, visible=visible)
    size = [(CAMERA.width, CAMERA.height)] * len(images)
    stamp = START + np.arange(len(images), dtype=np.int64) * (1_000_000_000 // RATE)
    bare = FrameSet.build(name, size, objects, stamp=stamp, class_names=CLASS_NAMES)
    seen = FilteredImages(images, list(bare.frame_name), camera, seed=7)
    return FrameSet.build(name, size, objects, stamp=stamp, class_names=CLASS_NAMES, images=seen)


def odometry(poses: list[Pose], made: FrameSet) -> ExtraMessages:
    """Where ART-1 was that carried the camera: a message of /vehicle/odometry with each picture."""
    mount, _ = camera_mount("art1", None)
    types = standard_types().types
    messages = VehicleMessages(lambda name: types[name])

    def at(index: int) -> list[tuple[str, Any]]:
        pose = poses[index]
        camera = EnginePose.from_euler(pose.x, pose.y, pose.z, yaw=pose.yaw, pitch=pose.pitch, roll=pose.roll)
        still = (0.0, 0.0, 0.0)
        state = VehicleState(0.0, camera.optical_frame() @ mount.inverse(), still, still, still, 0.0, (*still, 0.0))
        return [(f"/{ODOMETRY_TOPIC}", messages.odometry(int(made.stamp[index]), state))]

    return at


def write_scene(path: Path, scene: Course) -> None:
    """Write the hall as a scene of the simulator: floor, walls, and the cones where the painter has them."""
    x0, y0, x1, y1 = scene.hall
    length, width = x1 - x0, y1 - y0
    middle = [(x0 + x1) / 2, (y0 + y1) / 2]
    floor, wall = ({"colour": list(colour)} for colour in (SIM_LOOK.floor, SIM_LOOK.wall))
    cone = {"radius": FOOT_RADIUS, "height": CONE_HEIGHT, "top": TOP_RADIUS}
    cones = zip(scene.class_id.tolist(), scene.place.tolist(), strict=True)
    content = {
        "classes": CLASS_NAMES,
        "area": list(scene.hall),
        "ambient": 0.3,
        "kinds": {
            f"{name}_cone": {"cone": cone, "surface": {"colour": list(SIM_LOOK.cones[k])}, "class": name}
            for k, name in CLASS_NAMES.items()
        },
        "things": {
            "floor": {"plane": [length, width], "at": middle, "surface": floor},
            "left": {"box": [length, 0.1, 2.5], "at": [middle[0], y1 + 0.05], "surface": wall},
            "right": {"box": [length, 0.1, 2.5], "at": [middle[0], y0 - 0.05], "surface": wall},
            "near": {"box": [0.1, width, 2.5], "at": [x0 - 0.05, middle[1]], "surface": wall},
            "far": {"box": [0.1, width, 2.5], "at": [x1 + 0.05, middle[1]], "surface": wall},
        },
        "lights": {
            "ceiling": {
                "grid": {"columns": 4, "rows": 1, "from": [x0 + 1, 0.0], "to": [x1 - 1, 0.0], "height": 2.4},
                "intensity": 4,
                "range": 8,
            }
        },
        "placements": {
            "cones": {
                "table": {
                    "kinds": {k: f"{name}_cone" for k, name in CLASS_NAMES.items()},
                    "rows": "".join(f"{number} {k} {x:.4f} {y:.4f}\n" for number, (k, (x, y)) in enumerate(cones)),
                }
            }
        },
    }
    head = "# The hall that the recordings beside this file were painted in. Written by make_samples.py.\n"
    path.write_text(head + yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def main() -> None:
    """Write both recordings and their scene."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    rng = np.random.default_rng(2)
    scene, middle = course(rng)
    poses = drive(middle, rng)
    write_scene(folder / "course.yaml", scene)
    sets = {
        "real_stand_in": (PaintedImages(scene, poses, REAL_LOOK), REAL_CAMERA),
        "sim": (PaintedImages(scene, [replayed(p, rng) for p in poses], SIM_LOOK), SIM_CAMERA),
    }
    for name, (images, camera) in sets.items():
        made = recording(name, images, camera)
        (folder / f"{name}.mcap").unlink(missing_ok=True)
        write_recording(made, folder / f"{name}.mcap", extra_messages=odometry(images.poses, made))
        sys.stderr.write(f"{name}: {len(made)} pictures, {len(made.objects)} cones\n")


if __name__ == "__main__":
    main()
