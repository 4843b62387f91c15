"""Render the simulated pictures of `simjudge demo`: scene `signs`, seen from places like those of the photographs.

Height in the picture and place in it of each sign follow the photographs that trained the detector: they are never
judged. Labels get the margin that people left around those of the photographs. The places are kept in `poses.csv`
beside the pictures, and can be given in place of the data set: the pictures are then the same.

    scripts/make_demo_pictures.py ../shared/data/real_signals signs_plain 160 1 demo/plain
    scripts/make_demo_pictures.py demo/poses.csv signs_glare 160 1 demo/glare
    scripts/make_demo_pictures.py demo/poses.csv signs_plain 160 1 mujoco_plain mujoco    # by another engine
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.questions.engines.photographs import write_as_photographs
from simjudge.sim.capture.render_record import render_record_path

SIZE, FIELD = (320, 240), 66.0
FOCAL = SIZE[0] / 2 / math.tan(math.radians(FIELD / 2))
HEIGHT = (0.12, 0.015)
"""Metres of the camera above the ground, mean and standard deviation. In the photographs the horizon is at about row
30: signs are centred 0.3, lights 0.6 of their height below it, so the camera is 2 to 4 cm above their middle."""
MIDDLE, TALL = 0.11, 0.07
"""Metres: height of a sign's or light's middle above the ground, and of its label."""
HEADING = 12.0
"""Degrees, standard deviation of the camera's direction from the course's."""


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
        write_as_photographs(rendered, out)
        # Where the camera stood: fit and explain render the light again.
        record = json.loads(render_record_path(rendered).read_text())
        for part in ("scene", "camera"):
            record[part]["path"] = f"config/{part}s/{Path(record[part]['path']).name}"
        render_record_path(out).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
