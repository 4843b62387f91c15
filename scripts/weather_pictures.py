"""Paints docs/images/weather_*.jpg: the street in rain, dust and spray, by `simjudge sim render`, and a lidar's turn.

python scripts/weather_pictures.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import yaml

from simjudge.data.sets import read_clouds, read_set

ROOT = Path(__file__).resolve().parents[1]
CAMERA = {"size": [640, 360], "field_of_view": 80, "rate": 10, "exposure_time": 0.008, "filters": ["srgb"]}
LIDAR = yaml.safe_load((ROOT / "config/sensors/vlp16.yaml").read_text())["roof"]
# What stands in the camera's file, and what in the lidar's.
WEATHER: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "clear": ([], {}),
    "rain": ([{"rain": {"rate": 60, "speed": 8}}], {"rain": {"rate": 60, "reach": 100}}),
    "dust": ([{"dust": {"visibility": 40}}], {"dust": {"visibility": 40}}),
    "spray": (
        [{"spray": {"density": 0.3, "ahead": 9, "up": 0.2, "length": 2, "width": 1.2, "height": 0.7}}],
        {"spray": {"density": 0.3, "position": [9, 0, -0.2], "size": [2, 1.2, 0.7]}},
    ),
}
FRAME = 1
REACH, SIDE = 25.0, 360  # Metres, and pixels of the scan's picture


def render(name: str, folder: Path) -> Path:
    """A recording of one frame of the street in a weather."""
    before, around = WEATHER[name]
    camera, sensors, out = folder / f"{name}.yaml", folder / f"{name}_lidar.yaml", folder / f"{name}.mcap"
    camera.write_text(yaml.safe_dump({**CAMERA, "before_exposure": before}))
    sensors.write_text(yaml.safe_dump({"roof": {**LIDAR, **around}}))
    given = ["--camera", camera, "--sensors", sensors, "--poses", "path", "-n", "3", "--out", out]
    subprocess.run([sys.executable, "-m", "simjudge", "render", "street", *map(str, given)], check=True)
    return out


def from_above(points: np.ndarray) -> np.ndarray:
    """The points of a scan from above, ahead up, coloured by height."""
    picture = np.full((SIDE, SIDE, 3), 20, np.uint8)
    row = np.rint(SIDE / 2 - points[:, 0] / REACH * SIDE / 2).astype(int)
    column = np.rint(SIDE / 2 - points[:, 1] / REACH * SIDE / 2).astype(int)
    inside = (row >= 0) & (row < SIDE) & (column >= 0) & (column < SIDE)
    level = np.clip((points[:, 2] + 2) / 4 * 255, 0, 255).astype(np.uint8)
    colour = cv2.applyColorMap(level[:, None], cv2.COLORMAP_TURBO)[:, 0]
    picture[row[inside], column[inside]] = colour[inside]
    return picture


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name in WEATHER:
            recording = render(name, Path(folder))
            images = read_set(recording).images
            if images is None:
                raise SystemExit(f"{recording}: holds no pictures")
            table = read_clouds(recording)[FRAME].table
            cloud = np.stack([table[axis] for axis in "xyz"], -1)
            pair = np.hstack([images.read(FRAME)[:, :, ::-1], from_above(cloud)])
            cv2.imwrite(str(ROOT / f"docs/images/weather_{name}.jpg"), pair, [cv2.IMWRITE_JPEG_QUALITY, 88])
