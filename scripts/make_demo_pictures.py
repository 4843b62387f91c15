"""Render the simulated pictures of `simjudge demo`: scene `signs`, seen from places like those of the photographs.

Height in the picture and place in it of each sign follow the photographs that trained the detector: they are never
judged. Labels get the margin that people left around those of the photographs. The places are kept in `poses.csv`
beside the pictures, and can be given in place of the data set: the pictures are then the same.

    scripts/make_demo_pictures.py ../shared/data/real_signals signs_plain 160 1 demo/plain
    scripts/make_demo_pictures.py demo/poses.csv signs_glare 160 1 demo/glare
    scripts/make_demo_pictures.py demo/poses.csv signs_plain 160 1 /tmp/plain mujoco      # by another engine
"""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.data.format_support.sidecar import write_sidecar
from simjudge.data.sets import read_set

SIZE, FIELD = (320, 240), 66.0
FOCAL = SIZE[0] / 2 / math.tan(math.radians(FIELD / 2))
HEIGHT = (0.12, 0.015)
"""Metres of the camera above the ground, mean and standard deviation. In the photographs the horizon is at about row
30: signs are centred 0.3, lights 0.6 of their height below it, so the camera is 2 to 4 cm above their middle."""
MIDDLE, TALL = 0.11, 0.07
"""Metres: height of a sign's or light's middle above the ground, and of its label."""
HEADING = 12.0
"""Degrees, standard deviation of the camera's direction from the course's."""
LIGHTS = ("green", "red", "yellow")
MARGINS = {True: (0.45, 0.13, 0.1), False: (0.08, 0.1, 0.04)}
"""What people left around lights and signs, as shares of width (each side) and height (above, below): read off 14
enlarged photographs by eye, and rounded."""
JPEG = 80


def drawn_poses(source: Path, count: int, seed: int) -> list[str]:
    """Rows of a pose file: a camera for each frame, that sees the sign where a photograph has it."""
    random = np.random.default_rng(seed)
    labels = [np.loadtxt(file, ndmin=2)[0, 1:5] for file in sorted((source / "train/labels").glob("*.txt"))]
    rows = ["stamp,x,y,z,qx,qy,qz,qw,scene_seed"]
    for number in range(count):
        u, v, _, tall = labels[random.integers(len(labels))] * np.tile(SIZE, 2)
        distance = FOCAL * TALL / tall
        height = float(np.clip(random.normal(*HEIGHT), 0.08, 0.17))
        pitch = math.atan2(height - MIDDLE, distance) - math.atan2(v - SIZE[1] / 2, FOCAL)
        heading = math.radians(random.normal(0, HEADING))
        right = math.atan2(u - SIZE[0] / 2, FOCAL)
        across = heading - right
        at = (-distance * math.cos(across), -distance * math.sin(across), height)
        turn = Rotation.from_euler("zyx", (heading, pitch, math.radians(random.normal(0, 1.5)))).as_quat()
        rows.append(f"{1 + number}," + ",".join(f"{value:.6f}" for value in (*at, *turn)) + f",{1000 * seed + number}")
    return rows


def grow(box: np.ndarray, *, light: bool) -> np.ndarray:
    """A label as people drew it: centre x, centre y, width, height, as shares of the picture."""
    side, above, below = MARGINS[light]
    left, right = box[0] - box[2] * (0.5 + side), box[0] + box[2] * (0.5 + side)
    top, bottom = box[1] - box[3] * (0.5 + above), box[1] + box[3] * (0.5 + below)
    left, top, right, bottom = np.clip((left, top, right, bottom), 0, 1)
    return np.array([(left + right) / 2, (top + bottom) / 2, right - left, bottom - top])


def main() -> None:
    """Render, draw the labels anew, and write a data set of JPEG pictures."""
    source, camera, count, seed, out = (*sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
    engine = sys.argv[6] if len(sys.argv) > 6 else "default"
    kept = out.parent / "poses.csv"
    if Path(source).is_dir():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text("\n".join(drawn_poses(Path(source), count, seed)) + "\n")
        source = str(kept)
    render(Path(source).read_text().splitlines()[: count + 1], camera, seed, out, engine)


def render(rows: list[str], camera: str, seed: int, out: Path, engine: str = "default") -> None:
    """Write the pictures of some rows of a pose file, its header first."""
    names = ["green", "left", "red", "right", "stop", "straight", "yellow"]
    with tempfile.TemporaryDirectory() as folder:
        poses, rendered = Path(folder) / "poses.csv", Path(folder) / "rendered"
        poses.write_text("\n".join(rows) + "\n")
        command = [
            sys.executable,
            "-m",
            "simjudge",
            "render",
            "signs",
            "--camera",
            camera,
            "--poses",
            str(poses),
            "--mount",
            "body",
        ]
        subprocess.run([*command, "--engine", engine, "--out", str(rendered), "--seed", str(seed)], check=True)
        shutil.rmtree(out, ignore_errors=True)
        for kind in ("images", "labels"):
            (out / kind).mkdir(parents=True)
        for label in sorted((rendered / "labels").rglob("*.txt")):
            rows = np.loadtxt(label, ndmin=2)
            picture = next((rendered / "images").rglob(label.stem + ".*"))
            if not len(rows):
                continue
            lines = []
            for row in rows:
                number = int(row[0]) - 1  # the scene counts from 1
                box = grow(row[1:5], light=names[number] in LIGHTS)
                lines.append(" ".join([str(number), *(f"{value:.6f}" for value in box)]) + "\n")
            (out / "labels" / label.name).write_text("".join(lines))
            jpeg = out / "images" / f"{label.stem}.jpg"
            cv2.imwrite(str(jpeg), cv2.imread(str(picture)), [cv2.IMWRITE_JPEG_QUALITY, JPEG])
    (out / "data.yaml").write_text(f"train: images\nval: images\nnc: 7\nnames: [{', '.join(names)}]\n")
    # Each picture is of a place and pose of its own: their order means nothing.
    frames = replace(read_set(out), independent=True)
    write_sidecar(frames, out, frames.frame_name, read_set)


if __name__ == "__main__":
    main()
