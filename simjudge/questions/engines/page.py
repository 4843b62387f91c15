"""The page of two engines side by side: one self-contained HTML file."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from simjudge.core.files import atomic_file
from simjudge.core.images import RgbImage, encode_jpeg
from simjudge.core.version import version
from simjudge.page.html import load_template
from simjudge.page.palette import VERDICT_COLOURS
from simjudge.questions.compare.words import SetNames, verdict_sentence
from simjudge.questions.engines.comparison import (
    CORNER_LIMIT,
    LONELY_LIMIT,
    BoxDifferences,
    EngineView,
    image_difference,
)
from simjudge.results.saved_result import Result

_MAX_WIDTH = 640
"""Width of an image on the page, pixels."""
_MAX_POSES = 24
"""The most poses on the page."""
_JPEG_QUALITY = 85
"""JPEG quality of the images, percent."""
_COLOURS = {1: (220, 40, 40), 2: (30, 150, 60)}


@dataclass(frozen=True)
class PoseRow:
    """One pose on the page: three pictures as data URIs, and what differs."""

    title: str
    pictures: tuple[str, str, str]
    rms: float


def write_page(
    out: Path,
    title: str,
    engines: tuple[tuple[str, str], tuple[str, str]],
    views: tuple[Sequence[EngineView], Sequence[EngineView]],
    boxes: BoxDifferences,
    found: dict[str, Any],
    result: Result | None,
) -> None:
    """Write the page."""
    picked = np.unique(np.linspace(0, len(views[0]) - 1, min(_MAX_POSES, len(views[0]))).round().astype(int))
    verdicts = []
    if result is not None:
        names = SetNames.of_result(result)
        verdicts = [
            (entry.label, VERDICT_COLOURS[entry.verdict], entry.verdict_words, verdict_sentence(entry, names))
            for entry in result.entries
        ]
    page = load_template("engines.html").render(
        title=title,
        engines=engines,
        rows=[_row(views, number, found["picture_rms"][number]) for number in picked.tolist()],
        of=len(views[0]),
        found=found,
        boxes=boxes,
        median=None if math.isnan(boxes.median) else boxes.median,
        limits=(CORNER_LIMIT, LONELY_LIMIT),
        verdicts=verdicts,
        version=version(),
    )
    with atomic_file(out) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _row(views: tuple[Sequence[EngineView], Sequence[EngineView]], number: int, rms: float) -> PoseRow:
    a, b = views[0][number], views[1][number]
    drawn = (_boxed(a), _boxed(b), image_difference(a.image, b.image))
    return PoseRow(f"pose {number}", (_uri(drawn[0]), _uri(drawn[1]), _uri(drawn[2])), rms)


def _boxed(view: EngineView) -> RgbImage:
    picture = view.image.copy()
    for class_id, (x0, y0, x1, y1) in zip(
        view.objects.class_id.tolist(), view.objects.box.astype(int).tolist(), strict=True
    ):
        cv2.rectangle(picture, (x0 - 1, y0 - 1), (x1, y1), _COLOURS.get(class_id, (240, 200, 40)), 1)
    return picture


def _uri(picture: RgbImage) -> str:
    height, width = picture.shape[:2]
    if width > _MAX_WIDTH:
        size = (_MAX_WIDTH, max(1, round(height * _MAX_WIDTH / width)))
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    return "data:image/jpeg;base64," + base64.b64encode(encode_jpeg(picture, _JPEG_QUALITY)).decode("ascii")
