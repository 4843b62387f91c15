"""Explaining a gap, with what a person reads: the page, the waterfall, and the files beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.version import version
from simjudge.data.sources import as_frames
from simjudge.detectors.detector import Detector
from simjudge.method.verdicts import MARGIN
from simjudge.page.figure_files import save_figure
from simjudge.page.inline_svg import FigureEmbedder
from simjudge.page.page_templates import frame_uri, load_template
from simjudge.page.palette import VERDICT_COLOURS
from simjudge.questions.explain.explanation import CauseShare, Explanation
from simjudge.questions.explain.run import explain_sets
from simjudge.questions.explain.settings import ExplainSettings
from simjudge.questions.explain.waterfall import waterfall_figure
from simjudge.questions.explain.words import detail_sentences, explanation_table, headline, lead
from simjudge.results.verdict_words import verdict_words
from simjudge.sim.sensors.camera.chain import Step, filtered
from simjudge.sim.sensors.camera_matching.camera_difference import CAUSES
from simjudge.studies.comparison import Source

PAGE, WATERFALL = "explain.html", "waterfall"
"""Names of the page and, without suffix, of the figure in the folder of an explanation."""
_FILTERED = {cause.name for cause in CAUSES}
_PICTURES = 3


@dataclass(frozen=True)
class CameraTrio:
    """One frame of A, of B, and of B with all causes undone, as data URIs."""

    a: str
    b: str
    changed: str


@takes_setting_keywords
def explain(  # noqa: PLR0913 - the options of the command
    a: Source,
    b: Source,
    out: str | Path | None = None,
    *,
    settings: ExplainSettings,
    camera: str | Path | None = None,
    scene: str | Path | None = None,
    a_camera: str | Path | None = None,
    detector: Detector | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> Explanation:
    """Explain a gap: which differences of two cameras cause it, and what share each of them has.

    The difference of the cameras is estimated from the pictures. Each part of it is undone by a filter, alone and
    together with others, and the detector and the method say what is left of the gap.

    Args:
        a: the set to be predicted, usually real: with images and labels, or the path of one.
        b: the set that predicts it, usually simulated.
        out: folder for explain.json, explain.csv, the page explain.html and the figure; None writes nothing. An
            explanation that was stopped goes on there.
        settings: all settings at once; keywords change single ones.
        camera: that B was rendered through: a file or a name. With `scene`, lens, resolution, motion and lighting are
            tried too: B, which `simjudge render` or `simjudge replay` wrote, is rendered again.
        scene: that B was rendered from: a file or a name.
        a_camera: A's camera: a file, a name or a calibration; None: the camera_info of A's recording tells its lens.
        detector: a loaded detector; None: that of the settings.
        log: receives lines that a person should read; `print` does.
        progress: opens a progress bar.

    Returns:
        The share of each cause, with intervals, and how sure the order is.

    Raises:
        UsageError: no detector is given, or a setting makes no sense here.
        SimjudgeError: a set cannot be read, has no images, or cannot be compared.
    """
    found = explain_sets(a, b, out, settings=settings, camera=camera, scene=scene, a_camera=a_camera,
                         detector=detector, log=log, progress=progress)  # fmt: skip
    if out is not None:
        sets = tuple(as_frames(each, allow_outside=settings.allow_outside) for each in (a, b))  # type: ignore[arg-type]
        write_explanation_page(found, (sets[0], sets[1]), Path(out))
        save_figure(waterfall_figure(found), Path(out) / WATERFALL)
    return found


def write_explanation_page(found: Explanation, sets: tuple[FrameSet, FrameSet], folder: Path) -> None:
    """Write the page."""
    page = load_template("explain.html").render(
        found=found,
        title=f"Why does {found.names[1]} predict {found.names[0]} so badly?" if found.is_gap
        else f"Is there a gap between {found.names[0]} and {found.names[1]}?",
        colour=VERDICT_COLOURS[found.certainty.verdict],
        word=verdict_words(found.certainty.verdict, found.parameters.get("margin", MARGIN)).capitalize(),
        headline=headline(found),
        lead=lead(found),
        details=detail_sentences(found),
        table=explanation_table(found),
        waterfall=FigureEmbedder().embed(waterfall_figure(found)),
        trios=_trios(found, sets),
        version=version(),
        losses=found.losses.lines(),
    )  # fmt: skip
    with atomic_file(folder / PAGE) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _trios(found: Explanation, sets: tuple[FrameSet, FrameSet]) -> list[CameraTrio]:
    """Frames of A, of B, and of B behind the filters of all its causes."""
    a, b = sets
    steps = [Step(each["name"], each["parameters"])
             for cause in _in_camera_order(found) if cause.side == "b" and cause.name in _FILTERED
             for each in cause.filters]  # fmt: skip
    changed = filtered(b if found.changed_b is None else found.changed_b, steps)
    trios = []
    for share in np.linspace(0.15, 0.85, _PICTURES):
        try:
            pictures = [frame_uri(each, float(share)) for each in (a, b, changed)]
        except SimjudgeError:
            continue
        trios.append(CameraTrio(*pictures))
    return trios


def _in_camera_order(found: Explanation) -> list[CauseShare]:
    order = {cause.name: number for number, cause in enumerate(CAUSES)}
    return sorted(found.causes, key=lambda cause: order.get(cause.name, len(order)))
