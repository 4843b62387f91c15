"""Render scene `hallway` from places like those of the phone's video in `real_rc_cones`, a YOLO data set.

Labels are exact, or grown on each side by MARGIN of the box, as people draw them.

    scripts/make_hallway_pictures.py FOLDER [COUNT [MARGIN]]
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.object_tables import Objects
from simjudge.data.formats.yolo import write_yolo
from simjudge.data.sets import read_set

HEIGHT = (0.46, 0.01)
"""Metres of the camera above the floor, mean and standard deviation: in the photographs a label's foot lies 1.79 of its
height below row 283 of 640, the horizon, and a label is some 3 % higher than the cone of 25 cm."""
PITCH = (math.atan((320 - 283) / 520), 0.015)
LEAST_HEIGHT = 36
"""Pixels from which a cone is labelled: people labelled the near cones and left the far ones."""
SEED = 9


def drawn_poses(count: int, seed: int = SEED) -> list[str]:
    """Rows of a pose file, each with a placement of the cones of its own."""
    random = np.random.default_rng(seed)
    rows = ["stamp,x,y,z,qx,qy,qz,qw,scene_seed"]
    for number in range(count):
        angles = (random.normal(0, math.radians(8)), random.normal(*PITCH), random.normal(0, math.radians(1.5)))
        turn = Rotation.from_euler("zyx", angles).as_quat()
        at = (random.uniform(-0.8, 0.2), random.normal(0, 0.15), random.normal(*HEIGHT))
        rows.append(f"{1 + number}," + ",".join(f"{value:.6f}" for value in (*at, *turn)) + f",{1000 * seed + number}")
    return rows


def main() -> None:
    """Render and write the data set."""
    out = Path(sys.argv[1])
    count, margin = int((*sys.argv[2:], "60")[0]), float((*sys.argv[3:], "0")[0])
    with tempfile.TemporaryDirectory() as folder:
        poses, rendered = Path(folder) / "poses.csv", Path(folder) / "rendered"
        poses.write_text("\n".join(drawn_poses(count)) + "\n")
        command = [
            sys.executable,
            "-m",
            "simjudge",
            "render",
            "hallway",
            "--camera",
            "hallway",
            "--poses",
            str(poses),
            "--mount",
            "body",
        ]
        subprocess.run([*command, "--out", str(rendered), "--seed", str(SEED)], check=True)
        frames = read_set(rendered)
        found = frames.objects
        high = found.box[:, 3] - found.box[:, 1] >= LEAST_HEIGHT
        size = np.tile(found.box[high, 2:] - found.box[high, :2], 2)
        box = np.clip(found.box[high] + margin * size * [-1, -1, 1, 1], 0, np.tile(frames.size[0], 2))
        objects = Objects.build(found.frame[high].tolist(), (found.class_id[high] - 1).tolist(), box.tolist())
        names = {0: "blue_cone", 1: "yellow_cone"}
        write_yolo(replace(frames, objects=objects, class_names=names, independent=True), out)


if __name__ == "__main__":
    main()
