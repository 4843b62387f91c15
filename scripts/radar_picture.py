"""Paints docs/images/radar.jpg: a radar's detections from above, over the points of a lidar of the same recording.

simjudge sim render street --poses path -n 4 --sensors both.yaml --out street.mcap     # both.yaml: vlp16 and ars408
python scripts/radar_picture.py street.mcap [FRAME]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from simjudge.core.errors import Losses
from simjudge.data.rosbag2.cloud_writing import read_cloud
from simjudge.data.rosbag2.interfaces import header_stamp
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose

ROOT = Path(__file__).resolve().parents[1]
LIDAR, RADAR, TRUTH, TF = "/scan/points", "/radar/detections", "/radar/detections/ground_truth", "/tf"
MOVES = 0.5  # m/s beside what standing things have


def messages(path: Path, topic: str) -> list[Any]:
    """All messages of a topic."""
    return [message for _, message in decoded_messages(Recording(path), {topic}, Losses())]


def placed(path: Path, frame: str, stamp: int) -> Pose:
    """Where a sensor is in the scene."""
    for message in messages(path, TF):
        for link in message.transforms:
            if link.child_frame_id == frame and header_stamp(link.header) == stamp:
                p, q = link.transform.translation, link.transform.rotation
                return Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))
    raise SystemExit(f"{path}: {TF} does not say where {frame} is")


def main() -> None:
    """Paint one frame."""
    path, frame = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    radar, truth, lidar = (messages(path, topic)[frame] for topic in (RADAR, TRUTH, LIDAR))
    stamp = header_stamp(radar.header)
    here = placed(path, radar.header.frame_id, stamp)
    points = read_cloud(lidar, LIDAR)
    seen = here.to_body(
        placed(path, lidar.header.frame_id, stamp).to_world(np.stack([points[name] for name in "xyz"], 1))
    )
    found, known = read_cloud(radar, RADAR), read_cloud(truth, TRUTH)["false_alarm"] == 0
    across = np.stack([found["x"], found["y"]], 1) / np.hypot(found["x"], found["y"])[:, None]
    own, *_ = np.linalg.lstsq(across, found["radial_velocity"], rcond=None)
    for _ in range(10):  # without those that move
        standing = np.abs(found["radial_velocity"] - across @ own) < MOVES
        own, *_ = np.linalg.lstsq(across[standing], found["radial_velocity"][standing], rcond=None)
    figure, axes = plt.subplots(figsize=(7.2, 7.2), dpi=110)
    axes.scatter(-seen[:, 1], seen[:, 0], s=1.2, c="#b8b8b8", linewidths=0, label="lidar")
    size = 12 * 10 ** (np.clip(found["rcs"], -20, 20) / 25)
    shown = axes.scatter(
        -found["y"], found["x"], s=size, c=found["radial_velocity"] - across @ own, cmap="coolwarm", vmin=-8, vmax=8,
        edgecolors="#303030", linewidths=0.5, label="radar: area by cross section",
    )  # fmt: skip
    if not known.all():
        axes.scatter(-found["y"][~known], found["x"][~known], s=60, marker="x", c="black", label="false alarm")
    axes.plot(0, 0, marker="^", ms=11, c="black")
    axes.set(xlim=(-30, 30), ylim=(-3, 57), aspect="equal", xlabel="to the right, m", ylabel="ahead, m")
    axes.legend(loc="lower left", fontsize=8)
    figure.colorbar(shown, label="range rate less that of standing things, m/s", shrink=0.75)
    figure.savefig(ROOT / "docs" / "images" / "radar.jpg", bbox_inches="tight", pil_kwargs={"quality": 85})


if __name__ == "__main__":
    main()
