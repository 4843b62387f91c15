"""Fitting a camera or a lidar, with what a person reads: figures before and after in one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup

from simjudge.core.errors import Log, ProgressBar, UsageError, no_log, no_progress
from simjudge.core.frames import FrameSet
from simjudge.core.settings import takes_setting_keywords
from simjudge.data.sets import as_frames
from simjudge.detectors.detector import Detector
from simjudge.judging.compare_settings import LIDAR
from simjudge.judging.comparison import Source
from simjudge.method.verdicts import SIGNIFICANCE
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT, format_number, format_p
from simjudge.page.figures import LINE_WIDTH, ReportFigure, add_axes, report_style, save_figure
from simjudge.page.kit import FigureEmbedder, frame_uris, write_page
from simjudge.questions.fit.result import (
    BEFORE_AND_AFTER,
    COURSE,
    DIVERGENCE,
    NOISE_OF_LIDAR,
    PAGE,
    CameraFit,
    FittedDivergence,
    LidarFit,
)
from simjudge.questions.fit.run import fit_camera
from simjudge.questions.fit.run_lidar import fit_lidar
from simjudge.questions.fit.settings import FitSettings
from simjudge.results.metric_rows import verdict_words
from simjudge.sim.sensors.camera.chain import filtered

_WIDTH, _HEIGHT = 640.0, 280.0
_MARGINS = (70.0, 20.0, 10.0, 46.0)
LIDAR_WORDS = ("A", "B before", "B fitted")
"""What the page calls A, B as it is, and B with the fitted numbers."""
_ROOM = 1.8
"""Height of the axes, in peaks of what is compared: B before may be far narrower."""
_COLOURS = (LIGHT["a"], LIGHT["floor"], LIGHT["b"])


def range_noise_figure(found: LidarFit) -> ReportFigure:
    """Draw how far the ranges of points lie off their neighbours in a ring, as histograms of held-out clouds."""
    given = found.distributions
    with report_style():
        figure = ReportFigure(_WIDTH, _HEIGHT, "Histograms of the range noise of A, of B, and of B as fitted.")
        axes = add_axes(figure, (0.0, 0.0, _WIDTH, _HEIGHT), _MARGINS)
        axes.set_xlabel("range off the neighbours' line, mm")
        axes.set_ylabel("share of points per mm, %")
        top = _ROOM * float(given.density[[0, 2]].max()) / 10
        for row, (name, colour, line) in enumerate(zip(LIDAR_WORDS, _COLOURS, ("-", "-", "--"), strict=True)):
            noise, peak = 1000 * given.statistics[row].range_noise, float(given.density[row].max()) / 10
            cut = f" (up to {peak:.1f}, cut off)" if peak > top else ""
            steps = axes.stairs(
                given.density[row] / 10,
                given.edges * 1000,
                color=colour,
                linewidth=LINE_WIDTH,
                linestyle=line,
                label=f"{name}: {noise:.1f} mm{cut}",
            )
            figure.add_tooltips(steps, [f"{name}: standard deviation {noise:.1f} mm"])
        axes.legend(loc="upper right")
        axes.set_ylim(0.0, top)
    return figure


def drop_out_figure(found: LidarFit) -> ReportFigure:
    """Draw the drop-out of each ring of held-out clouds."""
    given = found.distributions
    with report_style():
        figure = ReportFigure(_WIDTH, _HEIGHT, "Drop-out of each ring of A, of B, and of B as fitted.")
        axes = add_axes(figure, (0.0, 0.0, _WIDTH, _HEIGHT), _MARGINS)
        axes.set_xlabel("ring")
        axes.set_ylabel("drop-out, %")
        for row, (name, colour) in enumerate(zip(LIDAR_WORDS, _COLOURS, strict=True)):
            share = 100 * given.statistics[row].drop_out
            axes.plot(
                given.ring[row],
                100 * given.ring_drop_out[row],
                "o-",
                color=colour,
                markersize=4,
                linewidth=1.0,
                label=f"{name}: {share:.1f} %",
            )
        most = max((float(shares.max()) for shares in given.ring_drop_out if len(shares)), default=0.0)
        axes.set_ylim(0.0, max(1.0, 135 * most))
        axes.legend(loc="upper right", ncols=3)
    return figure


def divergence_figure(found: FittedDivergence) -> ReportFigure:
    """Draw the points on labelled things by distance, as a share of A's, for each rendering."""
    given = found.fit
    middle = (given.edges[1:] + given.edges[:-1]) / 2
    share = given.points[1:] / given.points[0]
    # Names stand where the curves are farthest apart.
    clear = int(np.argmax(np.diff(np.sort(share, axis=0), axis=0).min(axis=0)))
    with report_style():
        figure = ReportFigure(_WIDTH, _HEIGHT, "Points on labelled things by distance, as a share of A's.")
        axes = add_axes(figure, (0.0, 0.0, _WIDTH, _HEIGHT), _MARGINS)
        axes.set_xlabel("distance, m")
        axes.set_ylabel("points on a thing, B / A")
        axes.axhline(1.0, color=LIGHT["a"], linewidth=1.0)
        for row, file in enumerate(found.files):
            chosen = file == found.of
            width = f"{file.divergence[0]:g} mrad"
            axes.plot(
                middle,
                share[row],
                "o-",
                color=LIGHT["b" if chosen else "floor"],
                markersize=4,
                linewidth=LINE_WIDTH if chosen else 1.0,
                alpha=1.0 if chosen else 0.7,
                label=f"{width}: fitted on" if chosen else None,
            )
            axes.annotate(
                width,
                (middle[clear], share[row, clear]),
                xytext=(0, 5),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
        axes.set_ylim(0.0, 1.15 * float(share.max()))
        axes.set_xlim(0.0, float(given.edges[-1]) * 1.06)
        axes.legend(loc="lower left")
    return figure


_ROW = 40.0


def held_out_figure(found: CameraFit | LidarFit) -> ReportFigure:
    """Draw W1 of the frames or clouds that were not fitted, with B's own sensor, the starting values, and fitted."""
    rows = [(f"B's own {found.sensor}", found.before), ("starting values", found.start), ("fitted", found.after)]
    height = _ROW * len(rows) + 50.0
    with report_style():
        words = f"Mean W1 of held-out {found.items} before and after the fit, with the noise."
        figure = ReportFigure(_WIDTH, height, words)
        axes = add_axes(figure, (0.0, 0.0, _WIDTH, height), (150.0, 70.0, 6.0, 46.0))
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.tick_params(axis="y", labelcolor=LIGHT["ink"])
        axes.grid(visible=False, axis="y")
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(f"mean W1 of held-out {found.items}; black: what chance gives, up to its 95 % quantile")
        for row, (name, cell) in enumerate(rows):
            colour = LIGHT["a"] if name == "fitted" else LIGHT["band"]
            bars = axes.barh(row, cell.mean_w1, 0.5, color=colour, linewidth=0)
            figure.add_tooltips(bars[0], [f"{name}: {format_number(cell.mean_w1)}"])
            noise, high = cell.certainty.noise, cell.certainty.noise_q95
            if noise is not None:
                end = noise if high is None else high
                axes.plot([noise, end], [row, row], color=LIGHT["ink"], linewidth=LINE_WIDTH)
                axes.plot([noise, noise], [row - 0.25, row + 0.25], color=LIGHT["ink"], linewidth=LINE_WIDTH)
            axes.text(1.01, row, format_number(cell.mean_w1), transform=axes.get_yaxis_transform(), va="center")
        axes.set_xlim(left=0.0)
    return figure


def course_figure(found: CameraFit | LidarFit) -> ReportFigure:
    """Draw the mean W1 of every camera or lidar that was tried, and the best so far."""
    course = np.array(found.course)
    number = np.arange(1, len(course) + 1)
    with report_style():
        words = f"Mean W1 of the fitted {found.items} under every {found.sensor} that was tried."
        figure = ReportFigure(_WIDTH, 260.0, words)
        axes = add_axes(figure, (0.0, 0.0, _WIDTH, 260.0), (70.0, 30.0, 10.0, 46.0))
        axes.set_xlabel(f"{found.sensor}s tried")
        axes.set_ylabel(f"mean W1 of fitted {found.items}")
        axes.plot(number, course, "o", color=LIGHT["band"], markersize=4, label="tried")
        axes.plot(number, np.minimum.accumulate(course), color=LIGHT["a"], linewidth=LINE_WIDTH, label="best so far")
        axes.axhline(found.fitted_w1[0], color=LIGHT["soft"], linewidth=1.0, label=f"B's own {found.sensor}")
        axes.legend(loc="upper right", frameon=False)
        axes.set_ylim(0.0, 1.35 * max(*found.course, found.fitted_w1[0]) or 1.0)
    return figure


_PICTURES = 3


@takes_setting_keywords
def fit(  # noqa: PLR0913 - the options of the command
    a: Source,
    b: Source,
    out: str | Path | None = None,
    *,
    settings: FitSettings,
    camera: str | Path | None = None,
    scene: str | Path | None = None,
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
        scene: that B was rendered from through `camera`: a file or a name. Filters then act on B's light, which is
            rendered once, and glare is fitted too.
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
        if camera is not None or scene is not None:
            option = "--camera" if camera is not None else "--scene"
            raise UsageError(f"{option}: is of pictures; with --sensor lidar give --sensors")
        if detector is not None:
            raise UsageError("detector: is of pictures; with sensor lidar give a model")
        return _fit_lidar(a, b, out, settings, sensors, rendered, log, progress)
    if sensors is not None or rendered:
        option = "--sensors" if sensors is not None else "--rendered"
        raise UsageError(f"{option}: is of lidars; give --sensor lidar, or --camera")
    found = fit_camera(
        a, b, out, settings=settings, camera=camera, scene=scene, detector=detector, log=log, progress=progress
    )
    if out is not None:
        outside, thinning = settings.allow_outside, settings.thinning
        sets = tuple(as_frames(side, allow_outside=outside, thinning=thinning) for side in (a, b))  # type: ignore[arg-type]
        write_fit_page(found, (sets[0], sets[1]), Path(out), paired=settings.paired)
        save_figure(held_out_figure(found), Path(out) / BEFORE_AND_AFTER)
        save_figure(course_figure(found), Path(out) / COURSE)
    return found


def _fit_lidar(
    a: Source,
    b: Source,
    out: str | Path | None,
    settings: FitSettings,
    sensors: str | Path | None,
    rendered: Mapping[str | Path, Source] | None,
    log: Log,
    progress: ProgressBar,
) -> LidarFit:
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
    names = (sets[0].name, sets[1].name)
    words = (f"A: {names[0]}", f"B before: {names[1]}", "B after: through the fitted camera")
    trios = [kit.gallery(zip(words, trio, strict=True)) for trio in _trios(found, sets)]
    unlike = "" if paired else kit.note("The sets are no pairs: the pictures of a row show different places.")
    pictures = kit.section("Pictures", *trios, unlike, when=trios)
    _write(found, names, folder, FigureEmbedder(), found.sentences(), found.frames, after=(pictures,))


_NEVER_TOLD = (
    "Roughness of a surface counts as range noise, and a surface that sends no light back counts as drop-out.",
    (
        "A lidar that stores ranges in steps gives a range noise in steps too: 2.4 mm from one value to the next for "
        "ranges in steps of 4 mm. The interval does not hold this."
    ),
)


def write_lidar_fit_page(found: LidarFit, names: tuple[str, str], folder: Path) -> None:
    """Write the page of a lidar's fit."""
    embedder = FigureEmbedder()
    rings = [
        (
            name,
            f"{1000 * ring.range_noise:.1f} mm",
            f"{100 * share:.1f} %",
            f"{100 * ring.drop_out:.1f} %",
            f"{ring.triples:,}",
        )
        for name, ring, share in zip(
            LIDAR_WORDS, found.distributions.statistics, found.distributions.outside, strict=True
        )
    ]
    noise = kit.section(
        "Range noise and drop-out, on clouds that were not fitted",
        _drawn(embedder, range_noise_figure(found)),
        _drawn(embedder, drop_out_figure(found)),
        kit.table(("clouds", "range noise", "points beyond the histogram", "drop-out", "pairs of points"), rings),
        kit.note(
            "Points of one ring, one column apart on one surface, tell the range noise: how far the middle one lies "
            "off the line between its neighbours, divided by the root of 1.5. Of two points two columns apart on one "
            "surface, the share without a point between is the drop-out. B fitted: B's clouds with the fitted numbers "
            "and a draw of the noise that the search did not see."
        ),
    )
    unknown = kit.section(
        "What these clouds do not tell",
        kit.bullets(
            (
                *found.unknowns(),
                *_NEVER_TOLD,
            )
        ),
    )
    beams = "" if found.divergence is None else _divergence_section(found.divergence, embedder)
    _write(found, names, folder, embedder, found.outcome(), found.clouds, (noise, beams, unknown))


def _divergence_section(found: FittedDivergence, embedder: FigureEmbedder) -> Markup:
    rows = [
        (
            file.path.name + (" (fitted on)" if file == found.of else ""),
            f"{file.divergence[0]:g}",
            f"{file.divergence[1]:g}",
            f"{misfit:.2f}",
            format_number(w1),
        )
        for file, misfit, w1 in zip(found.files, found.fit.misfit, found.w1, strict=True)
    ]
    return kit.section(
        "Width of the beams",
        _drawn(embedder, divergence_figure(found)),
        kit.table(("B rendered with", "divergence, mrad", "vertical, mrad", "misfit", "W1, with A's noise"), rows),
        kit.note(
            "Points on labelled things, of the clouds of the fit. A wider beam adds points far away; things of another "
            "size, or with fewer returns, have as much more or fewer near by. So the divergence is the one at which "
            "the curve is level, at whatever height. Misfit: chi square of the curve about a level line, over its "
            "points less one. Its interval leaves out ten blocks of neighbouring clouds in turn. Where the judge "
            "prefers another rendering on four fresh draws of the noise (paired t test, 95 %), that one is taken, and "
            "the interval reaches as far as the value moved. Things that are partly hidden in A alone look like a "
            "narrow beam near by: W1 is the check."
        ),
    )


def _drawn(embedder: FigureEmbedder, figure: ReportFigure) -> Markup:
    return kit.figure(embedder.embed(figure), width_px=860)


def _write(
    found: CameraFit | LidarFit,
    names: tuple[str, str],
    folder: Path,
    embedder: FigureEmbedder,
    sentences: Sequence[str],
    counts: tuple[int, int],
    sections: Sequence[object] = (),
    after: Sequence[object] = (),
) -> None:
    """Write what the pages of a camera and of a lidar share, with their own sections before and after the course."""
    table, items, sensor = found.table(), found.items, found.sensor
    heads = (sensor, "W1, held out", "chance", "its 95 % quantile", "p", "verdict", f"W1, fitted {items}")
    told = "the rings of the clouds" if sensor == LIDAR else "the pictures"
    lidar = (
        " The interval is as wide as four groups of clouds differ, and at least as wide as the search moved. Noise and "
        "drop-out are added to what B's lidar has already; a divergence replaces B's, and changes nothing where it is "
        "B's own."
    )
    course = found.course
    page = kit.page(
        f"The {sensor} under which {names[1]} predicts {names[0]} best",
        f"a {sensor} fitted by the judge",
        kit.hero(
            fit_word(found),
            found.after.certainty.verdict.colour,
            sentences[0],
            kit.bullets(sentences[1:]),
        ),
        kit.section(
            f"Before and after, on {items} that were not fitted",
            _drawn(embedder, held_out_figure(found)),
            kit.table(heads, _rows(found)),
            kit.note(
                f"{counts[0]} {items} were fitted and {counts[1]} held out. The starting values come from {told} alone."
            ),
        ),
        kit.section(
            "Parameters",
            kit.table(table.columns, table.rows),
            kit.note(
                f"W1 without it: mean W1 of the fitted {items} if this number alone changes nothing. "
                f'"Cannot be told": the interval holds the value that changes nothing.{lidar * (sensor == LIDAR)}'
            ),
        ),
        *sections,
        kit.section("The course of the search", _drawn(embedder, course_figure(found))) if len(course) > 1 else "",
        *after,
        losses=found.losses.lines(),
        heading="Left out:",
    )
    write_page(folder / PAGE, page)


def fit_word(found: CameraFit | LidarFit) -> str:
    """The outcome in two or three words."""
    if found.after.mean_w1 > found.before.mean_w1:
        return "No better"
    p = found.after.certainty.p_adjusted
    return "A gap is left" if p is not None and p <= SIGNIFICANCE else "No gap can be told"


def _rows(found: CameraFit | LidarFit) -> list[tuple[str, ...]]:
    """Of each sensor: W1 of what was held out, noise and its quantile, p, and W1 of what was fitted."""
    held = zip(
        (f"B's own {found.sensor}", "starting values", "fitted"),
        (found.before, found.start, found.after),
        found.fitted_w1,
        strict=True,
    )
    return [
        (
            name,
            format_number(item.mean_w1),
            format_number(item.certainty.noise),
            format_number(item.certainty.noise_q95),
            format_p(item.certainty.p_value),
            verdict_words(item.certainty.verdict, item.certainty.margin),
            format_number(fitted),
        )
        for name, item, fitted in held
    ]


def _trios(found: CameraFit, sets: tuple[FrameSet, FrameSet]) -> list[list[str]]:
    """Frames of A, of B, and of B through the fitted camera."""
    a, b = sets
    changed = filtered(b, found.steps)
    return frame_uris((a, b, changed), _PICTURES)
