"""Fitting a camera or a lidar, with what a person reads: before and after in one page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import atomic_file
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.version import version
from simjudge.data.sources import as_frames
from simjudge.detectors.detector import Detector
from simjudge.method.verdicts import SIGNIFICANCE
from simjudge.page.figure_files import save_figure
from simjudge.page.inline_svg import FigureEmbedder
from simjudge.page.number_format import format_number, format_p
from simjudge.page.page_templates import frame_uri, load_template
from simjudge.page.palette import VERDICT_COLOURS
from simjudge.questions.fit.camera_fit import BEFORE_AND_AFTER, COURSE, PAGE, CameraFit
from simjudge.questions.fit.figures import course_figure, held_out_figure
from simjudge.questions.fit.lidar_figures import LIDAR_WORDS, divergence_figure, drop_out_figure, range_noise_figure
from simjudge.questions.fit.lidar_fit import DIVERGENCE, NOISE_OF_LIDAR, FittedDivergence, LidarFit
from simjudge.questions.fit.run import fit_camera
from simjudge.questions.fit.run_lidar import fit_lidar
from simjudge.questions.fit.settings import FitSettings
from simjudge.results.verdict_words import verdict_words
from simjudge.sim.sensors.camera.chain import filtered
from simjudge.studies.compare_settings import LIDAR
from simjudge.studies.comparison import Source

_PICTURES = 3


@dataclass(frozen=True)
class FitTrio:
    """One frame of A, of B, and of B through the fitted camera, as data URIs."""

    a: str
    b: str
    fitted: str


@takes_setting_keywords
def fit(  # noqa: PLR0913 - the options of the command
    a: Source,
    b: Source,
    out: str | Path | None = None,
    *,
    settings: FitSettings,
    camera: str | Path | None = None,
    sensors: str | Path | None = None,
    rendered: Mapping[str | Path, Source] | None = None,
    detector: Detector | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> CameraFit | LidarFit:
    """Fit B's camera, or its lidar, so that B predicts A best, and test it on frames or clouds that were not fitted.

    The search starts from what the pictures themselves tell. Where the fitted frames still show a gap then (p at most
    0.05), it goes on by CMA-ES (Hansen, arXiv 1604.00772) with their mean W1 as its objective. With sensor="lidar" the
    rings of the clouds tell range noise and drop-out, and the search goes on from there.

    Args:
        a: the set to be predicted, usually real: images with labels, or clouds with cuboids.
        b: the set that predicts it, usually simulated.
        out: folder for fit.json, the sensor's file, the page fit.html and its figures; None writes nothing. A fit that
            was stopped goes on there.
        settings: all settings at once; keywords change single ones.
        camera: that made B's pictures: a file or a name. Its file with the fitted filters is written to `out`.
        sensors: that made B's clouds: a file or a name. It is written to `out` with the fitted numbers.
        rendered: B's scans rendered with other divergences of the lidar: clouds by the sensor file that made them.
        detector: of pictures, loaded; None: that of the settings.
        log: receives what a person should know.
        progress: opens a progress bar.

    Returns:
        The parameters with intervals, and W1 before and after.

    Raises:
        UsageError: no detector is given, or a setting makes no sense here.
        SimjudgeError: a set cannot be read, has no images or clouds or too few, or cma is not installed.
    """
    if settings.sensor == LIDAR:
        if camera is not None:
            raise UsageError("--camera: is of pictures; with --sensor lidar give --sensors")
        if detector is not None:
            raise UsageError("detector: is of pictures; with sensor lidar give a model")
        return _fit_lidar(a, b, out, settings, sensors, rendered, log, progress)
    if sensors is not None or rendered:
        option = "--sensors" if sensors is not None else "--rendered"
        raise UsageError(f"{option}: is of lidars; give --sensor lidar, or --camera")
    found = fit_camera(a, b, out, settings=settings, camera=camera, detector=detector, log=log, progress=progress)
    if out is not None:
        sets = tuple(as_frames(each, allow_outside=settings.allow_outside) for each in (a, b))  # type: ignore[arg-type]
        write_fit_page(found, (sets[0], sets[1]), Path(out), paired=settings.paired)
        save_figure(held_out_figure(found), Path(out) / BEFORE_AND_AFTER)
        save_figure(course_figure(found), Path(out) / COURSE)
    return found


def _fit_lidar(
    a: Source, b: Source, out: str | Path | None, settings: FitSettings, sensors: str | Path | None,
    rendered: Mapping[str | Path, Source] | None, log: Log, progress: ProgressBar,
) -> LidarFit:  # fmt: skip
    found = fit_lidar(a, b, out, settings=settings, sensors=sensors, rendered=rendered, log=log, progress=progress)
    if out is not None:
        folder = Path(out)
        write_lidar_fit_page(found, (_name(a), _name(b)), folder)
        save_figure(held_out_figure(found), folder / BEFORE_AND_AFTER)
        save_figure(course_figure(found), folder / COURSE)
        for name, figure in zip(NOISE_OF_LIDAR, (range_noise_figure(found), drop_out_figure(found)), strict=True):
            save_figure(figure, folder / name)
        if found.divergence is not None:
            save_figure(divergence_figure(found.divergence), folder / DIVERGENCE)
    return found


def _name(source: Source) -> str:
    return Path(source).stem if isinstance(source, str | Path) else source.name


def write_fit_page(found: CameraFit, sets: tuple[FrameSet, FrameSet], folder: Path, *, paired: bool = False) -> None:
    """Write the page of a camera's fit."""
    content = _content(found, (sets[0].name, sets[1].name), FigureEmbedder())
    content |= {"sentences": found.sentences(), "counts": found.frames, "trios": _trios(found, sets), "paired": paired}
    _write(content, folder)


def write_lidar_fit_page(found: LidarFit, names: tuple[str, str], folder: Path) -> None:
    """Write the page of a lidar's fit."""
    embedder = FigureEmbedder()
    content = _content(found, names, embedder)
    content |= {
        "sentences": found.outcome(),
        "unknowns": found.unknowns(),
        "counts": found.clouds,
        "range_noise": embedder.embed(range_noise_figure(found)),
        "drop_out": embedder.embed(drop_out_figure(found)),
        "rings": [
            (name, f"{1000 * each.range_noise:.1f} mm", f"{100 * share:.1f} %", f"{100 * each.drop_out:.1f} %",
             f"{each.triples:,}")
            for name, each, share in zip(LIDAR_WORDS, found.distributions.statistics, found.distributions.outside,
                                         strict=True)
        ],
    }  # fmt: skip
    if found.divergence is not None:
        content |= _divergence_content(found.divergence, embedder)
    _write(content, folder)


def _divergence_content(found: FittedDivergence, embedder: FigureEmbedder) -> dict[str, Any]:
    rows = [
        (file.path.name + (" (fitted on)" if file == found.of else ""), f"{file.divergence[0]:g}",
         f"{file.divergence[1]:g}", f"{misfit:.2f}", format_number(w1))
        for file, misfit, w1 in zip(found.files, found.fit.misfit, found.w1, strict=True)
    ]  # fmt: skip
    return {"divergence": embedder.embed(divergence_figure(found)), "renderings": rows}


def _content(found: CameraFit | LidarFit, names: tuple[str, str], embedder: FigureEmbedder) -> dict[str, Any]:
    """What the pages of a camera and of a lidar share."""
    return {
        "found": found,
        "names": names,
        "title": f"The {found.sensor} under which {names[1]} predicts {names[0]} best",
        "colour": VERDICT_COLOURS[found.after.certainty.verdict],
        "word": fit_word(found),
        "rows": _rows(found),
        "table": found.table(),
        "held_out": embedder.embed(held_out_figure(found)),
        "course": embedder.embed(course_figure(found)) if len(found.course) > 1 else "",
        "version": version(),
        "losses": found.losses.lines(),
        "rings": [],
        "renderings": [],
        "unknowns": [],
        "trios": [],
    }


def _write(content: dict[str, Any], folder: Path) -> None:
    page = load_template("fit.html").render(content)
    with atomic_file(folder / PAGE) as temporary:
        temporary.write_text(page, encoding="utf-8")


def fit_word(found: CameraFit | LidarFit) -> str:
    """The outcome in two or three words."""
    if found.after.mean_w1 > found.before.mean_w1:
        return "No better"
    p = found.after.certainty.p_adjusted
    return "A gap is left" if p is not None and p <= SIGNIFICANCE else "No gap can be told"


def _rows(found: CameraFit | LidarFit) -> list[tuple[str, ...]]:
    """Of each sensor: W1 of what was held out, noise and its quantile, p, and W1 of what was fitted."""
    held = zip((f"B's own {found.sensor}", "starting values", "fitted"), (found.before, found.start, found.after),
               found.fitted_w1, strict=True)  # fmt: skip
    return [
        (name, format_number(each.mean_w1), format_number(each.certainty.noise),
         format_number(each.certainty.noise_q95), format_p(each.certainty.p_value),
         verdict_words(each.certainty.verdict, each.certainty.margin), format_number(fitted))
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
