"""How well `simjudge sim calibrate sky` finds planted skies: `python bench/planted_skies.py FOLDER`.

krc is rendered under skies with known cloud cover, sun and fog, through a noisy camera, from other places than the
estimate looks from. The table has what was planted and what was found: docs/measurements/explain.md.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np
import yaml

from simjudge.questions.calibrate.sky import CalibratedSky, calibrate_sky
from simjudge.sim.capture.capture_settings import RenderingSettings
from simjudge.sim.capture.rendering import render

CAMERA = {"size": [192, 108], "field_of_view": 80, "supersampling": 2, "rate": 15}
NOISE = [{"shot_noise": {"shot": 6, "read": 0.9}}]
IRRADIANCE, RADIANCE, ELEVATION = 2.8, 0.85, 40.0
"""Of krc."""
FRAMES = 5


def planted(cover: float, sun: float, elevation: float, visibility: float = 0.0, ceiling: float = 0.0) -> dict:
    """Fields of a scene."""
    fields = {
        "extends": "krc",
        "sun": {"irradiance": IRRADIANCE * sun, "elevation": elevation},
        "sky": {"cloud_cover": cover},
    }
    if visibility:
        fields["fog"] = {"visibility": visibility, "radiance": 0.6} | ({"ceiling": ceiling} if ceiling else {})
    return fields


def found_in(folder: Path, number: int, fields: dict) -> CalibratedSky:
    """Render pictures under a sky, and look for it."""
    scene, pictures = folder / f"{number}.yaml", folder / f"{number}"
    scene.write_text(yaml.safe_dump(fields))
    if not pictures.exists():
        settings = RenderingSettings(poses="path", seed=number + 1)
        render(scene, pictures, camera=folder / "noisy.yaml", n=FRAMES, settings=settings)
    return calibrate_sky(pictures, folder / f"{number}_found.yaml", scene="krc", camera=folder / "plain.yaml")


def distances(found: CalibratedSky) -> tuple[float, float]:
    """Mean distance of the histograms of saturation and value, before and after."""
    rows = [row for row in found.colours if row.channel != "hue"]
    before, after = ([getattr(row, name) for row in rows] for name in ("distance_before", "distance_after"))
    return float(np.mean(before)), float(np.mean(after))


def main(folder: Path) -> None:
    """Print both tables."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plain.yaml").write_text(yaml.safe_dump(CAMERA))
    (folder / "noisy.yaml").write_text(yaml.safe_dump(CAMERA | {"filters": NOISE}))
    number, errors = 0, []
    print("| cover | sun | elevation, degrees | cover found | sun on level ground | sky | fog | before | after |")
    for cover, sun, elevation in product((0.0, 0.3, 0.6, 0.9), (0.7, 1.3), (25.0, 60.0)):
        made = found_in(folder, number, planted(cover, sun, elevation))
        level = np.sin(np.radians(elevation)) / np.sin(np.radians(ELEVATION))
        estimate, number = made.estimate, number + 1
        errors.append((estimate.cloud_cover - cover, estimate.sun / (sun * level) - 1, estimate.sky - 1))
        before, after = distances(made)
        print(
            f"| {cover} | {sun} | {elevation:.0f} | {estimate.cloud_cover:.3f} | {errors[-1][1]:+.1%} |"
            f" {errors[-1][2]:+.1%} | {'none' if estimate.fog is None else f'{estimate.fog.visibility:.0f} m'} |"
            f" {before:.3f} | {after:.3f} |",
            flush=True,
        )
    worst, mean = np.abs(errors).max(axis=0), np.abs(errors).mean(axis=0)
    print(f"mean and largest error: cover {mean[0]:.3f}, {worst[0]:.3f}; sun {mean[1]:.1%}, {worst[1]:.1%};", end=" ")
    print(f"sky {mean[2]:.1%}, {worst[2]:.1%}")
    print("| visibility, m | ends above, m | visibility found | ends above | cover found of 0.3 | before | after |")
    for visibility, ceiling in product((60.0, 200.0, 600.0), (0.0, 50.0)):
        made = found_in(folder, number, planted(0.3, 1.0, ELEVATION, visibility, ceiling))
        fog, number = made.estimate.fog, number + 1
        before, after = distances(made)
        seen = "none | " if fog is None else f"{fog.visibility:.0f} | {fog.ceiling:g}"
        print(
            f"| {visibility:.0f} | {ceiling or 'no end'} | {seen} | {made.estimate.cloud_cover:.2f} | {before:.3f} |"
            f" {after:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
