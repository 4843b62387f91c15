"""A coverage search with what a person reads: sentences, the page, the curve, and what stays uncovered."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT
from simjudge.page.figures import LINE_WIDTH, ReportFigure, add_axes, report_style, save_figure
from simjudge.page.kit import FigureEmbedder, element, picture_uri, write_page
from simjudge.questions.cover.result import REASONS, CoverResult, NewlyCovered, UncoveredContext
from simjudge.results.metric_rows import verdict_words


def cover_sentences(found: CoverResult) -> list[str]:
    """Say how much the pictures cover, beside random ones, and what stays uncovered."""
    before, after = float(found.curve.overlap[0]), float(found.curve.overlap[-1])
    lines = [
        f"O_A rises from {before:.3f} to {after:.3f} with {_pictures(found.count)}",
        f"with {_pictures(len(found.random.overlap) - 1)} at random, O_A would be {found.random.overlap[-1]:.3f}",
    ]
    if not found.count:
        lines = [f"O_A is {before:.3f}; no picture of this scene that was tried covers more"]
    elif found.same_labels == found.count:
        lines.append("every picture has exactly the labels that were predicted")
    else:
        lines.append(f"{found.count - found.same_labels} of {found.count} pictures have other labels than predicted")
    if found.newly_covered is not None:
        lines.append(_judged(found.newly_covered))
    lines += [f"{number} contexts stay uncovered: {reason}" for reason, number in found.reasons().items()]
    return lines


def _judged(newly: NewlyCovered) -> str:
    """W1 on the newly covered contexts, beside what chance gives."""
    sure = newly.certainty
    verdict = verdict_words(sure.verdict, sure.margin)
    if newly.mean_w1 is None or sure.noise is None:
        return f"W1 on the {newly.contexts} newly covered contexts cannot be told: {verdict}"
    gap = "" if sure.gap is None else f"the gap is {sure.gap:.3f} (95 %: {sure.gap_low:.3f} to {sure.gap_high:.3f}), "
    return (
        f"on the {newly.contexts} newly covered contexts {gap}W1 {newly.mean_w1:.3f}, by chance {sure.noise:.3f}: "
        f"{verdict}"
    )


def _pictures(count: int) -> str:
    return f"{count} new picture" + ("" if count == 1 else "s")


PAGE = "cover.html"
"""Name of the page in the folder of a coverage search."""
FIGURE = "coverage"
"""Name of the curve's files, without the suffix."""
_SHOWN, _SIDE = 6, 180
_BOX_COLOUR, _ANCHOR_COLOUR = (120, 170, 255), (255, 210, 0)


def write_cover_page(found: CoverResult, frames: FrameSet, folder: Path) -> None:
    """Write the page, and its curve as files for papers."""
    reasons = found.reasons()
    uncovered = {reason: [context for context in found.uncovered if context.reason == reason] for reason in REASONS}
    page = kit.page(
        f"What to simulate next for {found.names[0]}",
        "what to simulate next",
        kit.section("Found", kit.bullets(cover_sentences(found))),
        kit.section(
            "How much of A the pictures cover",
            kit.figure(FigureEmbedder().embed(coverage_figure(found)), width_px=760),
            kit.note(
                "O_A is the share of A's contexts in the overlap, as in a comparison. The chosen pictures are "
                "rendered; their labels are measured. Random ones are those of simjudge sim render by the same seed, "
                "by the labels that they would have."
            ),
        ),
        kit.section(
            "What stays uncovered",
            kit.table(("Reason", "Contexts"), reasons.items())
            + kit.note(
                f'"Not found" is no proof: {found.candidates} pictures were looked at, and none of them resembles '
                "these contexts."
            )
            if reasons
            else kit.paragraph("Nothing: every context of A is resembled."),
            *(
                element("h3", reason) + kit.gallery((_card(found, frames, context) for context in _some(held)), "small")
                for reason, held in uncovered.items()
                if held
            ),
        ),
        losses=found.losses.lines(),
        heading="Left out:",
    )
    write_page(folder / PAGE, page)
    save_figure(coverage_figure(found), folder / FIGURE)


def coverage_figure(found: CoverResult) -> ReportFigure:
    """Draw O_A over the number of pictures, chosen and random."""
    with report_style():
        figure = ReportFigure(640.0, 320.0, "O_A over the number of new pictures, for chosen and for random ones.")
        axes = add_axes(figure, (0.0, 0.0, 640.0, 320.0), (64.0, 90.0, 12.0, 46.0))
        for name, values, colour in (("chosen", found.curve.overlap, "a"), ("random", found.random.overlap, "b")):
            axes.plot(np.arange(len(values)), values, color=LIGHT[colour], linewidth=LINE_WIDTH)
            axes.annotate(
                f"{name} {values[-1]:.2f}",
                (len(values) - 1, values[-1]),
                (6, 0),
                textcoords="offset points",
                va="center",
                annotation_clip=False,
            )
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


def _card(found: CoverResult, frames: FrameSet, context: UncoveredContext) -> tuple[str, str]:
    """What a context is, and its patch as a data URI: the picture where there is one, and the boxes."""
    objects, (height, width) = frames.objects, found.patch
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
    return f"{context.class_name} in {context.frame}", picture_uri(shown)
