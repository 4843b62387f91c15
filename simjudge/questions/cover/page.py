"""Covering what a simulation lacks, with what a person reads: the page, the curve, and what stays uncovered."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.core.frames import FrameSet
from simjudge.core.images import RgbImage, encode_jpeg
from simjudge.core.installed import DEFAULT_CAMERA
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.version import version
from simjudge.data.sources import as_frames
from simjudge.page.figure_files import save_figure
from simjudge.page.inline_svg import FigureEmbedder
from simjudge.page.page_templates import load_template
from simjudge.page.palette import LIGHT
from simjudge.page.report_figure import LINE_WIDTH, ReportFigure, add_axes, report_style
from simjudge.questions.cover.result import CoverResult, UncoveredContext
from simjudge.questions.cover.run import cover_contexts
from simjudge.questions.cover.settings import CoverSettings
from simjudge.questions.cover.unreachable import REASONS
from simjudge.questions.cover.words import cover_sentences
from simjudge.sim.sensors.camera.camera import Camera

PAGE = "cover.html"
"""Name of the page in the folder of a coverage search."""
FIGURE = "coverage"
"""Name of the curve's files, without the suffix."""
_SHOWN, _SIDE, _JPEG_QUALITY = 6, 180, 85
_BOX_COLOUR, _ANCHOR_COLOUR = (120, 170, 255), (255, 210, 0)


@dataclass(frozen=True)
class ContextCard:
    """The patch of a context with its boxes, as a data URI, and what it is."""

    picture: str
    text: str


@takes_setting_keywords
def cover(  # noqa: PLR0913 - the options of the command
    a: FrameSet | str | Path,
    out: str | Path,
    *,
    scene: str | Path,
    camera: str | Path | Camera = DEFAULT_CAMERA,
    n: int = 300,
    b: FrameSet | str | Path | None = None,
    vehicle: str | Path | None = None,
    mount: str | None = None,
    engine: str = "default",
    settings: CoverSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> CoverResult:
    """Render the pictures of a scene that resemble most of the contexts of A that B lacks, and write a page.

    Poses are tried by their labels alone, without light; only the chosen pictures are rendered.

    Args:
        a: the set to be predicted, with labels, or the path of one.
        out: folder for the pictures, poses.csv, cover.json, curve.csv, uncovered.csv and the page cover.html.
        scene: a scene's file, or the name of one that comes with simjudge.
        camera: a camera's file or name, or a camera.
        n: pictures at most; fewer where no further one would resemble anything new.
        b: simulated pictures that there are already; None for none.
        vehicle: file or name of the car that carries the camera; None for the scene's own, else art1.
        mount: the camera on the body, in place of a car, as in `simjudge.render`.
        engine: name of the engine, or `package:Class`.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Returns:
        O_A before and after, beside that of random pictures, and the contexts that stay uncovered.

    Raises:
        UsageError: an option makes no sense here.
        SimjudgeError: something cannot be read or written, or the sets have no class in common.
    """
    found = cover_contexts(
        a, out, scene=scene, camera=camera, n=n, b=b, vehicle=vehicle, mount=mount, engine=engine, settings=settings,
        log=log, progress=progress,
    )  # fmt: skip
    frames = as_frames(a)
    write_cover_page(found, frames if frames.labelled.all() else frames.take(frames.labelled), Path(out))
    return found


def write_cover_page(found: CoverResult, frames: FrameSet, folder: Path) -> None:
    """Write the page, and its curve as files for papers."""
    gallery = {
        reason: [_card(found, frames, each) for each in _some([c for c in found.uncovered if c.reason == reason])]
        for reason in REASONS
    }
    page = load_template("cover.html").render(
        found=found,
        title=f"What to simulate next for {found.names[0]}",
        sentences=cover_sentences(found),
        curve=FigureEmbedder().embed(coverage_figure(found)),
        reasons=found.reasons(),
        gallery={reason: cards for reason, cards in gallery.items() if cards},
        version=version(),
        losses=found.losses.lines(),
    )
    with atomic_file(folder / PAGE) as temporary:
        temporary.write_text(page, encoding="utf-8")
    save_figure(coverage_figure(found), folder / FIGURE)


def coverage_figure(found: CoverResult) -> ReportFigure:
    """Draw O_A over the number of pictures, chosen and random."""
    with report_style():
        figure = ReportFigure(640.0, 320.0, "O_A over the number of new pictures, for chosen and for random ones.")
        axes = add_axes(figure, (0.0, 0.0, 640.0, 320.0), (64.0, 90.0, 12.0, 46.0))
        for name, values, colour in (("chosen", found.curve.overlap, "a"), ("random", found.random.overlap, "b")):
            axes.plot(np.arange(len(values)), values, color=LIGHT[colour], linewidth=LINE_WIDTH)
            axes.annotate(f"{name} {values[-1]:.2f}", (len(values) - 1, values[-1]), (6, 0),
                          textcoords="offset points", va="center", annotation_clip=False)  # fmt: skip
        axes.set_ylim(0, 1)
        axes.set_xlim(0, max(found.count, len(found.random.overlap) - 1, 1))
        axes.set_xlabel("new pictures")
        axes.set_ylabel("O_A")
    return figure


def _some(contexts: list[UncoveredContext]) -> list[UncoveredContext]:
    """A few contexts, evenly chosen."""
    if len(contexts) <= _SHOWN:
        return contexts
    return [contexts[int(index)] for index in np.linspace(0, len(contexts) - 1, _SHOWN)]


def _card(found: CoverResult, frames: FrameSet, context: UncoveredContext) -> ContextCard:
    """The patch of a context: the picture where there is one, and the boxes."""
    objects, (height, width) = frames.objects, found.parameters["patch"]
    index = int(objects.frame[context.row])
    box = objects.box[context.row]
    left, top = int((box[0] + box[2] - width) // 2), int((box[1] + box[3] - height) // 2)
    patch = np.full((height, width, 3), 40, np.uint8)
    try:
        picture = None if frames.images is None else frames.images.read(index)
    except SimjudgeError:
        picture = None
    if picture is not None:
        rows, columns = picture.shape[:2]
        y0, y1, x0, x1 = max(top, 0), min(top + height, rows), max(left, 0), min(left + width, columns)
        if y0 < y1 and x0 < x1:
            patch[y0 - top : y1 - top, x0 - left : x1 - left] = picture[y0:y1, x0:x1]
    scale = _SIDE / max(height, width)
    size = (max(round(width * scale), 1), max(round(height * scale), 1))
    shown = np.ascontiguousarray(cv2.resize(patch, size, interpolation=cv2.INTER_AREA), np.uint8)
    for row in (*np.flatnonzero(objects.frame == index).tolist(), context.row):
        x0, y0, x1, y1 = ((objects.box[row] - [left, top, left, top]) * scale).round().astype(int).tolist()
        colour = _ANCHOR_COLOUR if row == context.row else _BOX_COLOUR
        cv2.rectangle(shown, (x0, y0), (x1 - 1, y1 - 1), colour, 1)
    return ContextCard(_uri(shown), f"{context.class_name} in {context.frame}")


def _uri(picture: RgbImage) -> str:
    return "data:image/jpeg;base64," + base64.b64encode(encode_jpeg(picture, _JPEG_QUALITY)).decode("ascii")
