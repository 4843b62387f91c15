"""The page of a study: one self-contained HTML file beside what its steps have made."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.core.files import atomic_file
from simjudge.core.frames import FrameSet
from simjudge.core.images import encode_jpeg
from simjudge.core.progress import Log, no_log
from simjudge.core.version import version
from simjudge.data.sets import read_set
from simjudge.reports.object_page import report_objects
from simjudge.reports.object_sentences import fact_lines, headline, lead
from simjudge.reports.page_templates import load_template
from simjudge.reports.report_settings import ReportSettings
from simjudge.results.object_result import is_object_result, load_object_result
from simjudge.studies.study_findings import Finding
from simjudge.studies.study_run import StepRecord, StudyResult

_INSTANTS = (0.12, 0.35, 0.6, 0.85)
"""Shares of a recording at which the page shows a picture."""
_RECORDINGS = {"drive", "replay"}
_JPEG_QUALITY = 85


@dataclass(frozen=True)
class PictureRow:
    """Pictures of all recordings at one time.

    Attributes:
        seconds: since the first one.
        pictures: title and data URI, a picture a recording that has one then.
    """

    seconds: float
    pictures: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FindingsView:
    """What a step has found.

    Attributes:
        name: of the step.
        findings: rows of the table.
        maps: title and data URI of its pictures.
    """

    name: str
    findings: list[Finding]
    maps: list[tuple[str, str]]


@dataclass(frozen=True)
class ComparedView:
    """A comparison by objects.

    Attributes:
        name: of the step.
        page: name of its own page, beside this one.
        headline: the verdict in a few words.
        lead: the verdict in sentences.
        facts: lines about whole recordings.
    """

    name: str
    page: str
    headline: str
    lead: str
    facts: list[str]


def write_study_page(result: StudyResult, out: Path, log: Log = no_log) -> None:
    """Write the page.

    Args:
        result: the study that was run.
        out: the page; an earlier one is replaced. Pages of comparisons by objects come beside it.
        log: receives a line for every other file that was written.

    Raises:
        SimjudgeError: what a step has made cannot be read.
    """
    sets = {each.name: read_set(each.path) for each in result.steps if each.verb in _RECORDINGS}
    paths = {each.name: each.path for each in result.steps}
    found = [FindingsView(name, rows, list(_pictures(paths[name]))) for name, rows in result.findings.items()]
    page = load_template("study.html").render(
        study=result.study,
        found=found,
        compared=[_compared(each, out.parent, log) for each in result.steps if is_object_result(each.path)],
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
    return ComparedView(step.name.replace("_", " "), page.name, headline(saved), lead(saved), fact_lines(saved))


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
