"""Which metric sees what: photographs against degraded copies, `python bench/degraded_photographs.py FOLDER...`.

Each folder holds image files. Each photograph is degraded by simjudge's own camera filters, and each metric is taken of
both. The table shows the mean change of a metric in standard deviations of the photographs: docs/measurements/
explain.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from simjudge.core.frames import FrameSet
from simjudge.core.images import IMAGE_SUFFIXES, ArrayImages, RgbImage, decode_image
from simjudge.objects.image_quality.colour_histograms import colour_histograms, histogram_distance
from simjudge.objects.image_quality.quality import picture_quality, read_quality_models
from simjudge.objects.image_quality.scene_statistics import brisque_features, gray_levels
from simjudge.objects.picture_series import hu_moments
from simjudge.objects.settings import ImageQualitySettings
from simjudge.sim.sensors.camera.chain import Step, apply_steps

LARGE = 0.8
"""Standard deviations from which a change is printed bold (Cohen 1988: a large effect)."""
MODELS = read_quality_models(ImageQualitySettings())


def chain(*steps: Step) -> Callable[[RgbImage], RgbImage]:
    """A degradation by camera filters, with the same noise in each run."""
    return lambda pixels: apply_steps(pixels, steps, seed=1)


def gains(red: float, green: float, blue: float) -> tuple[Step, Step]:
    """Gains in linear light."""
    return Step("white_balance", {"red": red, "green": green, "blue": blue}), Step("srgb")


def half_resolution(pixels: RgbImage) -> RgbImage:
    """Half the pixels in each direction, enlarged again."""
    height, width = pixels.shape[:2]
    small = cv2.resize(pixels, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)


DEGRADATIONS: dict[str, Callable[[RgbImage], RgbImage]] = {
    "blur, 1 px": chain(Step("gaussian_blur", {"sigma": 1.0})),
    "blur, 3 px": chain(Step("gaussian_blur", {"sigma": 3.0})),
    "half resolution, enlarged": half_resolution,
    "noise, 5 levels": chain(Step("gaussian_noise", {"sigma": 5.0})),
    "noise, 20 levels": chain(Step("gaussian_noise", {"sigma": 20.0})),
    "JPEG 50": chain(Step("jpeg", {"quality": 50})),
    "JPEG 15": chain(Step("jpeg", {"quality": 15})),
    "Bayer mosaic": chain(Step("bayer")),
    "4 bits": chain(Step("quantization", {"bits": 4})),
    "over-exposed, light x 3": chain(*gains(3, 3, 3)),
    "under-exposed, light x 0.25": chain(*gains(0.25, 0.25, 0.25)),
    "wrong white balance": chain(*gains(1.5, 1.0, 0.6)),
    "vignetting, 35 degrees": chain(Step("vignetting", {"half_angle": 35.0})),
    "gray": chain(Step("gray")),
}


def metrics(pixels: RgbImage) -> dict[str, float]:
    """Each metric of a picture."""
    quality = picture_quality(pixels, MODELS)
    shape, variance = brisque_features(pixels)[:2]
    return {
        "PIQE": quality["piqe"],
        "active": quality["piqe active share"],
        "artifact": quality["piqe artifact share"],
        "noise": quality["piqe noise share"],
        "NIQE": quality["niqe"],
        "BRISQUE shape": float(shape),
        "BRISQUE variance": float(variance),
        "Hu I1": float(hu_moments(gray_levels(pixels).astype(np.uint8))[0]),
    }


def colours(pictures: list[RgbImage]) -> dict[str, np.ndarray]:
    """Shares of hue, saturation and value of all pictures."""
    size = [each.shape[1::-1] for each in pictures]
    found = colour_histograms(FrameSet.build("photographs", size, images=ArrayImages(pictures)))
    return {each.channel: each.shares for each in found}


def cell(value: float) -> str:
    """A change, bold where it is large."""
    return f"**{value:+.1f}**" if abs(value) >= LARGE else f"{value:+.1f}"


def distances(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> str:
    """Cells of hue, saturation and value."""
    cells = []
    for channel, digits in (("hue", 0), ("saturation", 2), ("value", 2)):
        known = channel in a and channel in b
        cells.append(f"{histogram_distance(a[channel], b[channel], channel):.{digits}f}" if known else "none")
    return " | ".join(cells)


def table(folder: Path) -> None:
    """Print the table of a folder."""
    files = sorted(each for each in folder.iterdir() if each.suffix.lower() in IMAGE_SUFFIXES)
    photographs = [decode_image(file.read_bytes(), str(file)) for file in files]
    before = [metrics(each) for each in photographs]
    names = list(before[0])
    original = np.array([list(row.values()) for row in before])
    mean, spread = np.nanmean(original, axis=0), np.nanstd(original, axis=0, ddof=1)
    shares = colours(photographs)
    print(f"\n{len(files)} photographs of {photographs[0].shape[1]} x {photographs[0].shape[0]} pixels, {folder.name}")
    print(f"| | {' | '.join(names)} | hue, degrees | saturation | value |")
    print("|" + " --- |" * (len(names) + 4))
    print(f"| photographs: mean | {' | '.join(f'{v:.3g}' for v in mean)} | | | |")
    print(f"| photographs: standard deviation | {' | '.join(f'{v:.2g}' for v in spread)} | | | |", flush=True)
    for name, degrade in DEGRADATIONS.items():
        copies = [degrade(each) for each in photographs]
        change = np.array([list(metrics(each).values()) for each in copies]) - original
        cells = " | ".join(cell(v) for v in np.nanmean(change, axis=0) / spread)
        print(f"| {name} | {cells} | {distances(shares, colours(copies))} |", flush=True)


def main() -> None:
    """Print a table for each folder."""
    for folder in sys.argv[1:]:
        table(Path(folder))


if __name__ == "__main__":
    main()
