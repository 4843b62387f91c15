"""Fitting a camera, with what a person reads: before and after in one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.context.verdicts import SIGNIFICANCE
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.setting_keywords import takes_setting_keywords
from simjudge.core.version import version
from simjudge.data.sources import as_frames
from simjudge.perception.detector import Detector
from simjudge.reports.figure_files import save_figure
from simjudge.reports.fit_figures import course_figure, held_out_figure
from simjudge.reports.inline_svg import FigureEmbedder
from simjudge.reports.number_format import format_number, format_p
from simjudge.reports.page_templates import load_template
from simjudge.reports.palette import VERDICT_COLOURS
from simjudge.reports.small_pictures import frame_uri
from simjudge.sensors.camera.chain import filtered
from simjudge.studies.comparison import Source
from simjudge.studies.fitting.camera_fit import BEFORE_AND_AFTER, COURSE, PAGE, CameraFit
from simjudge.studies.fitting.fit import fit_camera
from simjudge.studies.fitting.fit_settings import FitSettings

_PICTURES = 3


@dataclass(frozen=True)
class FitTrio:
    """One frame of A, of B, and of B through the fitted camera, as data URIs."""

    a: str
    b: str
    fitted: str


@takes_setting_keywords
def fit(
    a: Source,
    b: Source,
    out: str | Path | None = None,
    *,
    settings: FitSettings,
    camera: str | Path | None = None,
    detector: Detector | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> CameraFit:
    """Fit the parameters of B's camera so that B predicts A best, and test them on frames that were not fitted.

    The search starts from what the pictures themselves tell. Where the fitted frames still show a gap then (p at most
    0.05), it goes on by CMA-ES (Hansen, arXiv 1604.00772) with their mean W1 as its objective.

    Args:
        a: the set to be predicted, usually real, with images and labels.
        b: the set that predicts it, usually simulated.
        out: folder for fit.json, the camera's file, the page fit.html and its figures; None writes nothing. A fit that
            was stopped goes on there.
        settings: all settings at once; keywords change single ones.
        camera: that made B's pictures: a file or a name. Its file with the fitted filters is written to `out`.
        detector: a loaded detector; None: that of the settings.
        log: receives what a person should know.
        progress: opens a progress bar.

    Returns:
        The parameters with intervals, and W1 before and after.

    Raises:
        UsageError: no detector is given, or a setting makes no sense here.
        SimjudgeError: a set cannot be read, has no images or too few, or cma is not installed.
    """
    found = fit_camera(a, b, out, settings=settings, camera=camera, detector=detector, log=log, progress=progress)
    if out is not None:
        sets = tuple(as_frames(each, allow_outside=settings.allow_outside) for each in (a, b))  # type: ignore[arg-type]
        write_fit_page(found, (sets[0], sets[1]), Path(out), paired=settings.paired)
        save_figure(held_out_figure(found), Path(out) / BEFORE_AND_AFTER)
        save_figure(course_figure(found), Path(out) / COURSE)
    return found


def write_fit_page(found: CameraFit, sets: tuple[FrameSet, FrameSet], folder: Path, *, paired: bool = False) -> None:
    """Write the page.

    Args:
        found: the fit.
        sets: A and B, with images.
        folder: where; it exists.
        paired: whether frames of the two sets show the same.

    Raises:
        SimjudgeError: the page cannot be written.
    """
    embedder = FigureEmbedder()
    page = load_template("fit.html").render(
        found=found,
        names=[each.name for each in sets],
        title=f"The camera under which {sets[1].name} predicts {sets[0].name} best",
        colour=VERDICT_COLOURS[found.after.certainty.verdict],
        word=fit_word(found),
        sentences=found.sentences(),
        rows=_rows(found),
        table=found.table(),
        held_out=embedder.embed(held_out_figure(found)),
        course=embedder.embed(course_figure(found)) if len(found.course) > 1 else "",
        trios=_trios(found, sets),
        paired=paired,
        version=version(),
        losses=found.losses.lines(),
    )  # fmt: skip
    with atomic_file(folder / PAGE) as temporary:
        temporary.write_text(page, encoding="utf-8")


def fit_word(found: CameraFit) -> str:
    """The outcome in two or three words.

    Args:
        found: the fit.
    """
    if found.after.mean_w1 > found.before.mean_w1:
        return "No better"
    p = found.after.certainty.p_adjusted
    return "A gap is left" if p is not None and p <= SIGNIFICANCE else "No gap can be told"


def _rows(found: CameraFit) -> list[tuple[str, ...]]:
    """Of each camera: W1 of held-out frames, floor and its quantile, p, and W1 of the fitted frames."""
    held = zip(("B's own camera", "starting values", "fitted"), (found.before, found.start, found.after),
               found.fitted_w1, strict=True)  # fmt: skip
    return [
        (name, format_number(each.mean_w1), format_number(each.certainty.floor_mean),
         format_number(each.certainty.floor_q95), format_p(each.certainty.p_value), each.certainty.verdict,
         format_number(fitted))
        for name, each, fitted in held
    ]  # fmt: skip


def _trios(found: CameraFit, sets: tuple[FrameSet, FrameSet]) -> list[FitTrio]:
    """Frames of A, of B, and of B through the fitted camera."""
    a, b = sets
    changed = filtered(b, found.steps)
    trios = []
    for share in np.linspace(0.15, 0.85, _PICTURES):
        try:
            pictures = [frame_uri(each, float(share)) for each in (a, b, changed)]
        except SimjudgeError:
            continue
        trios.append(FitTrio(*pictures))
    return trios
