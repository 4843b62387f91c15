"""The page of a study: one self-contained HTML file beside what its steps have made."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from markupsafe import Markup

from simjudge.core.files import atomic_file
from simjudge.core.frames import FrameSet
from simjudge.core.images import encode_jpeg
from simjudge.core.progress import Log, no_log
from simjudge.core.version import version
from simjudge.data.sets import read_set
from simjudge.page.html import FigureEmbedder, load_template
from simjudge.page.report_settings import ReportSettings
from simjudge.questions.ablation.saved import is_ablation, load_ablation
from simjudge.questions.ablation.view import make_ablation_view
from simjudge.questions.compare.detector_sentences import overall_headline, overall_meaning
from simjudge.questions.compare.facts import overlap_sentences, performance_sentences
from simjudge.questions.compare.neighbour_figures import neighbour_figures
from simjudge.questions.compare.page import write_report
from simjudge.questions.compare.sweep_view import SweepCharts, sweep_charts
from simjudge.questions.compare.words import SetNames
from simjudge.questions.many_sets.saved import load_many_sets
from simjudge.questions.many_sets.view import KIND_HEADS, PAIR_HEADS, SetsView, make_sets_view
from simjudge.questions.objects.page import report_objects
from simjudge.questions.objects.saved import is_object_result, load_object_result
from simjudge.questions.objects.words import fact_lines, headline, lead
from simjudge.questions.study.records import StepRecord
from simjudge.questions.study.run import StudyResult
from simjudge.results.gallery import HIGHEST
from simjudge.results.saved_result import RESULT, SETS, SWEEP, Result, load_result
from simjudge.results.verdict_words import verdict_words
from simjudge.studies.study_findings import StudyFinding

_INSTANTS = (0.12, 0.35, 0.6, 0.85)
"""Shares of a recording at which the page shows a picture."""
_RECORDINGS = {"drive", "replay"}
_JPEG_QUALITY = 85
_WORST = 3
"""Contexts of a comparison that the page shows with their neighbours."""


@dataclass(frozen=True)
class PictureRow:
    """Pictures of all recordings at one time.

    Attributes:
        pictures: title and data URI, a picture a recording that has one then.
    """

    seconds: float
    pictures: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FindingsView:
    """What a step has found.

    Attributes:
        maps: title and data URI of its pictures.
    """

    name: str
    findings: list[StudyFinding]
    maps: list[tuple[str, str]]


@dataclass(frozen=True)
class ComparedView:
    """A comparison by objects, a comparison by contexts, or a sweep.

    Attributes:
        page: name of its own page, beside this one.
        headline: the verdict in a few words.
        neighbours: title and figure of the contexts that differ most, with similar ones of both sets.
        sweep: its charts; None for a comparison.
    """

    name: str
    page: str
    what: str
    headline: str
    lead: str
    facts: list[str]
    neighbours: list[tuple[str, Markup]] = field(default_factory=list)
    sweep: SweepCharts | None = None


def write_study_page(result: StudyResult, out: Path, log: Log = no_log) -> None:
    """Write the page.

    Args:
        out: the page; an earlier one is replaced. Pages of comparisons by objects come beside it.
    """
    sets = {each.name: read_set(each.path) for each in result.steps if each.verb in _RECORDINGS}
    paths = {each.name: each.path for each in result.steps}
    found = [FindingsView(name, rows, list(_pictures(paths[name]))) for name, rows in result.findings.items()]
    embedder = FigureEmbedder()
    page = load_template("study.html").render(
        study=result.study,
        failed=result.failed,
        found=found,
        ablations=[
            make_ablation_view(load_ablation(each.path), each.name, embedder)
            for each in result.steps
            if is_ablation(each.path)
        ],
        many_sets=[_many_sets(each, embedder) for each in result.steps if _is_many_sets(each.path)],
        kind_heads=KIND_HEADS,
        pair_heads=PAIR_HEADS,
        compared=[_compared(each, out.parent, log) for each in result.steps if is_object_result(each.path)]
        + [_by_contexts(each, out.parent, log, embedder) for each in result.steps if _holds_contexts(each.path)],
        rows=list(_rows(sets)),
        steps=result.steps,
        version=version(),
    )
    with atomic_file(out) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _compared(step: StepRecord, folder: Path, log: Log) -> ComparedView:
    """Write the page of a comparison by objects, unless it is newer than the result, and say what it shows."""
    page, saved = folder / f"{step.name}.html", load_object_result(step.path)
    if not (step.kept and page.is_file()):
        report_objects(step.path, page, ReportSettings(title=step.name.replace("_", " ")), log)
    what, name = "Every metric of every object, over time", step.name.replace("_", " ")
    return ComparedView(name, page.name, what, headline(saved), lead(saved), fact_lines(saved))


def _holds_contexts(path: Path) -> bool:
    return (path / RESULT).is_file() or (path / SWEEP).is_file()


def _by_contexts(step: StepRecord, folder: Path, log: Log, embedder: FigureEmbedder) -> ComparedView:
    """Write the page of a comparison or a sweep, unless it is newer than the result, and say what it shows."""
    page, name = folder / f"{step.name}.html", step.name.replace("_", " ")
    if not (step.kept and page.is_file()):
        write_report([step.path], page, name)
        log(f"wrote {page}")
    saved = load_result(step.path)
    if saved.overall is None:
        points = f"{len(saved.curves)} settings of theta and patch"
        charts = sweep_charts(saved, embedder)
        return ComparedView(name, page.name, "Its own page, with all numbers", "a sweep", points, [], sweep=charts)
    names = SetNames.of_result(saved)
    facts = [*overlap_sentences(saved.overall, names), *performance_sentences(saved.overall, names)]
    what, verdict = "Verdicts, figures and galleries by class", verdict_words(saved.verdict, saved.overall.margin)
    said = f"{overall_headline(saved)}: {overall_meaning(saved)}"
    return ComparedView(name, page.name, what, verdict, said, facts, _worst_contexts(saved, embedder))


def _worst_contexts(saved: Result, embedder: FigureEmbedder) -> list[tuple[str, Markup]]:
    """The context of the highest W1 with its neighbours, for each of the classes that have them."""
    drawn = neighbour_figures(saved)
    labels = {each.key: each.label for each in saved.classes}
    worst = [(labels.get(key, key), draw) for (key, kind), draw in drawn.items() if kind == HIGHEST]
    return [(label, embedder.embed(draw())) for label, draw in worst[:_WORST]]


def _is_many_sets(path: Path) -> bool:
    """Whether a folder holds a comparison of many sets that has no page of its own kind."""
    return (path / SETS).is_file() and not is_ablation(path)


def _many_sets(step: StepRecord, embedder: FigureEmbedder) -> SetsView:
    return make_sets_view(load_many_sets(step.path), step.name.replace("_", " "), embedder)


def _rows(sets: dict[str, FrameSet]) -> Iterator[PictureRow]:
    """Pictures of all recordings at a few times of the first one."""
    shown = {name: frames for name, frames in sets.items() if frames.images is not None and len(frames)}
    if not shown:
        return
    stamps = next(iter(shown.values())).stamp
    for share in _INSTANTS:
        stamp = stamps[round(share * (len(stamps) - 1))]
        pictures = []
        for name, frames in shown.items():
            rows = np.flatnonzero(frames.stamp == stamp)
            if len(rows) and frames.images is not None:
                jpeg = encode_jpeg(frames.images.read(int(rows[0])), _JPEG_QUALITY)
                pictures.append((name, _uri(jpeg, "jpeg")))
        yield PictureRow(float(stamp - stamps[0]) / 1e9, tuple(pictures))


def _pictures(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob("*.png")):
        yield path.stem.replace("_", " "), _uri(path.read_bytes(), "png")


def _uri(data: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
