"""Processor times of the quality of whole pictures at 1280 x 720: `python bench/image_quality.py`.

Beside each time stands its ratio to the two Gaussian filters that all three metrics start from, by OpenCV alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
from skimage import data

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.objects.image_quality.colour_histograms import colour_histograms
from simjudge.objects.image_quality.compiled_loops import ACTIVE_BLOCK, ARTIFACT_BLOCK, NOISY_BLOCK
from simjudge.objects.image_quality.quality import niqe, piqe, read_niqe_model
from simjudge.objects.image_quality.scene_statistics import SIGMA, WINDOW, brisque_features, gray_levels

RUNS = 15
WIDTH, HEIGHT = 1280, 720
NIQE = Path(__file__).parent.parent / "models" / "niqe_open_photographs.json"


def shortest_time(work: Callable[[], object]) -> float:
    """Milliseconds of processor time of the shortest run; the first, which compiles, is left out."""
    times = []
    for _ in range(RUNS + 1):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times[1:]) * 1e3


def piqe_with_maps(pixels: np.ndarray) -> list[np.ndarray]:
    """The score and the three masks of pixels."""
    found = piqe(pixels)
    return [found.mask(kind) for kind in (ACTIVE_BLOCK, ARTIFACT_BLOCK, NOISY_BLOCK)]


def measured() -> Iterator[tuple[str, float, float]]:
    """What was timed, its milliseconds, and its ratio to the two filters, which come last."""
    photograph = cv2.resize(data.astronaut(), (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)
    gray = gray_levels(photograph)
    model = read_niqe_model(NIQE)
    boxes = Objects.build([0] * 20, [1] * 20, [[50 * i, 300, 50 * i + 60, 420] for i in range(20)])
    frames = FrameSet.build("one", [(WIDTH, HEIGHT)], boxes, images=ArrayImages([photograph]))

    def filters() -> None:
        for values in (gray, gray * gray):
            cv2.GaussianBlur(values, (WINDOW, WINDOW), SIGMA, borderType=cv2.BORDER_REPLICATE)

    alone = shortest_time(filters)
    timed: list[tuple[str, Callable[[], object]]] = [
        ("PIQE with its maps", lambda: piqe_with_maps(photograph)),
        ("NIQE", lambda: niqe(photograph, model)),
        ("features of BRISQUE", lambda: brisque_features(photograph)),
        ("hue, saturation, value of the picture and 20 objects", lambda: colour_histograms(frames)),
    ]
    for name, work in timed:
        took = shortest_time(work)
        yield name, took, took / alone
    yield "two Gaussian filters of OpenCV", alone, 1.0


def rows() -> Iterator[tuple[str, str, str, str]]:
    """The row of `make bench`."""
    name, took, ratio = next(measured())
    yield f"{name}, {WIDTH}x{HEIGHT}", f"{took:.0f} ms", "100 ms", f"{ratio:.1f} x two Gaussian filters of OpenCV"


def main() -> None:
    """Print the table of docs/measurements/speed.md."""
    print(f"| {WIDTH} x {HEIGHT} | time | beside two Gaussian filters of OpenCV |\n| --- | --- | --- |")
    for name, took, ratio in measured():
        print(f"| {name} | {took:.0f} ms | {ratio:.1f} x |", flush=True)


if __name__ == "__main__":
    main()
