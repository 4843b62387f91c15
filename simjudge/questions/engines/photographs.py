"""An engine's pictures of scene `signs` beside the photographs that come with simjudge: the gap that it leaves.

Height in the picture and place in it of each sign follow photographs that are never judged (demo/README.md). Labels get
the margin that people left around those of the photographs.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import ProgressBar, SimjudgeError, no_progress
from simjudge.core.installed import DETECTOR, find_file, installed_file, installed_folder
from simjudge.data.format_support.sidecar import write_sidecar
from simjudge.data.sets import read_set
from simjudge.detectors.detection import detect, load_detector
from simjudge.method.verdicts import Verdict
from simjudge.questions.compare.result import compare

MODEL = "real_signals_yolo11n"
"""Trained on other photographs of the same course."""
REAL = "photographs"
THETA = 0.7
"""At the default of 0.8 too few photographs have a like one for their halves to be compared. This is the next step of
0.1 at which the control has enough, chosen by these counts alone."""
CAMERAS = ("signs_plain", "signs_glare")
"""The pinhole, and the camera whose glare was measured in photographs that do not judge."""
_NAMES = ("green", "left", "red", "right", "stop", "straight", "yellow")
_LIGHTS = ("green", "red", "yellow")
_MARGINS = {True: (0.45, 0.13, 0.1), False: (0.08, 0.1, 0.04)}
"""What people left around lights and signs, as shares of width (each side) and height (above, below): read off 14
enlarged photographs by eye, and rounded."""
_JPEG = 80
_SEED = 1


@dataclass(frozen=True)
class PhotographGap:
    """What the judge of `simjudge demo` says of an engine's pictures.

    Attributes:
        pictures: rendered pictures that are judged.
        gap, low, high: the gap of performance and its 95 % interval; None where nothing can be said.
        verdict: None where nothing was compared.
        unlabelled: rendered pictures that show no sign, and are not judged.
        problem: why nothing was compared; empty where it was.
    """

    camera: str
    pictures: int = 0
    gap: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict | None = None
    unlabelled: int = 0
    problem: str = ""


def photograph_gap(
    engine: str, camera: str, count: int, folder: Path, progress: ProgressBar = no_progress
) -> PhotographGap:
    """Render scene `signs` by an engine and compare what the detector does with the photographs.

    Args:
        engine: name of the engine.
        camera: a camera's file or name.
        count: number of pictures, at most those of demo/poses.csv.
        folder: for pictures and result; it does not exist.
    """
    from simjudge.sim.capture.rendering import render  # noqa: PLC0415 - simjudge demo, which knows this module, has no engine

    detector = load_detector(find_file(MODEL, DETECTOR))  # before pictures, which take minutes
    folder.mkdir(parents=True)
    rows = installed_file("demo/poses.csv").read_text(encoding="utf-8").splitlines()[: count + 1]
    poses = folder / "poses.csv"
    poses.write_text("\n".join(rows) + "\n", encoding="utf-8")
    rendered = folder / "rendered"
    render(
        "signs", rendered, camera=camera, poses=str(poses), mount="body", engine=engine, seed=_SEED, progress=progress
    )
    pictures, unlabelled = write_as_photographs(rendered, folder / "pictures")
    shutil.rmtree(rendered)
    judged = [
        detect(read_set(place), detector, progress=progress)
        for place in (installed_folder(f"demo/{REAL}"), folder / "pictures")
    ]
    found = compare(*judged, folder / "result", theta=THETA, progress=progress).numbers.overall
    return PhotographGap(
        Path(camera).stem, pictures, found.gap, found.gap_low, found.gap_high, found.verdict, unlabelled
    )


def write_as_photographs(rendered: Path, out: Path) -> tuple[int, int]:
    """Write rendered pictures of scene `signs` as JPEG files, with labels as people drew those of the photographs.

    Returns:
        How many are written, and how many show no sign and are left out.
    """
    written = 0
    for kind in ("images", "labels"):
        (out / kind).mkdir(parents=True)
    for label in sorted((rendered / "labels").rglob("*.txt")):
        if not label.read_text().strip():
            continue
        rows = np.loadtxt(label, ndmin=2)
        picture = next((rendered / "images").rglob(label.stem + ".*"))
        written += 1
        lines = []
        for row in rows:
            number = int(row[0]) - 1  # the scene counts from 1
            box = _drawn_by_people(row[1:5], light=_NAMES[number] in _LIGHTS)
            lines.append(" ".join([str(number), *(f"{value:.6f}" for value in box)]) + "\n")
        (out / "labels" / label.name).write_text("".join(lines))
        jpeg = out / "images" / f"{label.stem}.jpg"
        cv2.imwrite(str(jpeg), np.asarray(cv2.imread(str(picture))), [cv2.IMWRITE_JPEG_QUALITY, _JPEG])
    left_out = sum(path.is_file() for path in (rendered / "images").rglob("*")) - written
    if not written:
        raise SimjudgeError(f"none of the {left_out} rendered pictures shows a sign")
    (out / "data.yaml").write_text(f"train: images\nval: images\nnc: 7\nnames: [{', '.join(_NAMES)}]\n")
    # Each picture is of a place and pose of its own: their order means nothing.
    frames = replace(read_set(out), independent=True)
    write_sidecar(frames, out, frames.frame_name, read_set)
    return written, left_out


def _drawn_by_people(box: FloatArray, *, light: bool) -> FloatArray:
    """A label as people drew it: centre x, centre y, width, height, as shares of the picture."""
    side, above, below = _MARGINS[light]
    left, right = box[0] - box[2] * (0.5 + side), box[0] + box[2] * (0.5 + side)
    top, bottom = box[1] - box[3] * (0.5 + above), box[1] + box[3] * (0.5 + below)
    left, top, right, bottom = np.clip((left, top, right, bottom), 0, 1)
    return np.array([(left + right) / 2, (top + bottom) / 2, right - left, bottom - top])
