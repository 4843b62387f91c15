"""A study from its file to its page: what `simjudge study` runs, lists and shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from simjudge.core.files import output_path
from simjudge.core.frames import FrameSet
from simjudge.core.images import encode_jpeg
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.text import list_some
from simjudge.data.set_parts import join, split
from simjudge.data.sets import read_set
from simjudge.detectors.detection import detect
from simjudge.detectors.semantic_net import predict_semantic
from simjudge.detectors.training import train
from simjudge.judging.study_findings import StudyFinding
from simjudge.page.html import FigureEmbedder, ResultPage, data_uri, load_template, write_page
from simjudge.page.report_settings import ReportSettings
from simjudge.questions.ablation import compare_variants, is_ablation, load_ablation, make_ablation_view
from simjudge.questions.compare.facts import overlap_sentences, performance_sentences
from simjudge.questions.compare.figures import neighbour_figures
from simjudge.questions.compare.page import SweepCharts, sweep_charts, write_report
from simjudge.questions.compare.result import compare, sweep
from simjudge.questions.compare.words import SetNames, overall_headline, overall_meaning
from simjudge.questions.many_sets.findings import find_sets
from simjudge.questions.many_sets.page import KIND_HEADS, PAIR_HEADS, SetsView, make_sets_view
from simjudge.questions.many_sets.result import load_many_sets
from simjudge.questions.many_sets.run import compare_many_sets
from simjudge.questions.objects.page import OBJECTS_PAGE
from simjudge.questions.objects.result import fact_lines, headline, is_object_result, lead, load_object_result
from simjudge.questions.objects.run import compare_objects
from simjudge.questions.policies import result as policy_words
from simjudge.questions.policies.page import POLICIES_PAGE
from simjudge.questions.policies.result import compared_policies, load_policies
from simjudge.questions.policies.run import compare_policies
from simjudge.questions.real_performance import estimate_real_performance
from simjudge.questions.study.file import ANY_NAME, DEFAULT_SIZE, SAME_NAMES, Study, Verb, read_study
from simjudge.questions.study.krc_findings import find_krc
from simjudge.questions.study.policy_study import drive_trials, find_policies
from simjudge.questions.study.run import StudyResult, StudyRunOptions, run_steps, seconds_left
from simjudge.questions.study.work import PlannedStep, StepRecord, is_running, kept_record, log_path, read_plan
from simjudge.questions.study.workers import FAILED_LINE, TIME_FORMAT
from simjudge.results.gallery import HIGHEST
from simjudge.results.saved_result import POLICIES, RESULT, SETS, SWEEP, NamedComparison, Result, load_result
from simjudge.results.verdict_words import verdict_words
from simjudge.sim.capture.rendering import render
from simjudge.sim.capture.replaying import replay
from simjudge.sim.driving.drive import drive
from simjudge.sim.driving.error_measurement import measure_errors
from simjudge.sim.sensors.camera.filtering import filter_images

DONE, FAILED, RUNNING, WAITING = "done", "failed", "running", "not done"


@dataclass(frozen=True)
class ListedStep:
    """A step of a study, and how far it is."""

    name: str
    verb: str
    state: str
    seconds: float | None  # that it took; None where it is not done
    # of a step that is done, where it was taken from and what was left out; of one that failed or runs, the last line
    # of its log; of one that waits, the steps that it waits for
    note: str
    log: Path | None  # path of the log; None where there is none


@dataclass(frozen=True)
class StudyListing:
    """What a study's folder holds."""

    study: Study
    steps: tuple[ListedStep, ...]
    seconds_left: float | None  # that the rest will take, one step after the other


def load_study(folder: Path) -> StudyResult:
    """What a study has made so far."""
    folder = output_path(folder)
    study, planned = read_plan(folder)
    return StudyResult(study, folder, tuple(_records(folder, planned).values()))


def list_study(folder: str | Path) -> StudyListing:
    """What is done of a study, what is not, and how long it took or will take."""
    folder = output_path(Path(folder))
    study, planned = read_plan(folder)
    records = _records(folder, planned)
    missing = {step.name: step.needs for step in planned if step.name not in records}
    verbs = {step.name: step.verb for step in planned}
    steps = tuple(_listed(folder, step, records) for step in planned)
    return StudyListing(study, steps, seconds_left(missing, verbs, list(records.values()), 1))


def _records(folder: Path, planned: list[PlannedStep]) -> dict[str, StepRecord]:
    """The records of the steps that are done, by their names."""
    kept = {step.name: kept_record(folder, step.name, step.verb, step.output, step.digest) for step in planned}
    return {name: item for name, item in kept.items() if item is not None}


def _listed(folder: Path, step: PlannedStep, records: dict[str, StepRecord]) -> ListedStep:
    """A step, and how far it is."""
    log = log_path(folder, step.name)
    logged = log if log.is_file() else None
    if step.name in records:
        done = records[step.name]
        taken = (f"taken from {done.taken_from}",) if done.taken_from else ()
        return ListedStep(step.name, step.verb, DONE, done.seconds, "; ".join((*taken, *done.losses)), logged)
    said = _last_line(log)
    if is_running(folder, step.name, step.digest):
        return ListedStep(step.name, step.verb, RUNNING, None, said, logged)
    if said.startswith(FAILED_LINE):
        return ListedStep(step.name, step.verb, FAILED, None, said.removeprefix(FAILED_LINE), logged)
    waits = [name for name in step.needs if name not in records]
    return ListedStep(step.name, step.verb, WAITING, None, f"needs {list_some(waits)}" if waits else "", logged)


def _last_line(log: Path) -> str:
    """The last line of a log, without its time."""
    if not log.is_file():
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    line = lines[-1] if lines else ""
    width = len(datetime.now().astimezone().strftime(TIME_FORMAT))
    return line[width + 1 :]


_INSTANTS = (0.12, 0.35, 0.6, 0.85)
"""Shares of a recording at which the page shows a picture."""
_RECORDING_VERBS = {"drive", "replay"}
_JPEG_QUALITY = 85
_WORST = 3
"""Contexts of a comparison that the page shows with their neighbours."""


@dataclass(frozen=True)
class PictureRow:
    """Pictures of all recordings at one time."""

    seconds: float
    pictures: tuple[tuple[str, str], ...]  # title and data URI, a picture a recording that has one then


@dataclass(frozen=True)
class FindingsView:
    """What a step has found."""

    name: str
    findings: list[StudyFinding]
    maps: list[tuple[str, str]]  # title and data URI of its pictures


@dataclass(frozen=True)
class ComparedView:
    """A comparison by objects, of policies or by contexts, or a sweep."""

    name: str
    page: str  # name of its own page, beside this one
    what: str
    headline: str  # the verdict in a few words
    lead: str
    facts: list[str]
    # title and figure of the contexts that differ most, with similar ones of both sets
    neighbours: list[tuple[str, Markup]] = field(default_factory=list)
    sweep: SweepCharts | None = None  # its charts; None for a comparison


def write_study_page(result: StudyResult, out: Path, log: Log = no_log) -> None:
    """Write the page."""
    sets = {step.name: read_set(step.path) for step in result.steps if step.verb in _RECORDING_VERBS}
    paths = {step.name: step.path for step in result.steps}
    found = [FindingsView(name, rows, list(_pictures(paths[name]))) for name, rows in result.findings.items()]
    embedder = FigureEmbedder()
    page = load_template("study.html").render(
        study=result.study,
        failed=result.failed,
        found=found,
        ablations=[
            make_ablation_view(load_ablation(step.path), step.name, embedder)
            for step in result.steps
            if is_ablation(step.path)
        ],
        many_sets=[_many_sets(step, embedder) for step in result.steps if _is_many_sets(step.path)],
        kind_heads=KIND_HEADS,
        pair_heads=PAIR_HEADS,
        compared=[_compared(step, out.parent, log) for step in result.steps if is_object_result(step.path)]
        + [_policies(step, out.parent, log) for step in result.steps if (step.path / POLICIES).is_file()]
        + [_by_contexts(step, out.parent, log, embedder) for step in result.steps if _holds_contexts(step.path)],
        rows=list(_rows(sets)),
        steps=result.steps,
    )
    write_page(out, page)


def _compared(step: StepRecord, folder: Path, log: Log) -> ComparedView:
    """A comparison by objects, and what it shows."""
    saved, page = load_object_result(step.path), _own_page(step, folder, OBJECTS_PAGE, log)
    what, name = "Every metric of every object, over time", step.name.replace("_", " ")
    return ComparedView(name, page, what, headline(saved), lead(saved), fact_lines(saved))


def _policies(step: StepRecord, folder: Path, log: Log) -> ComparedView:
    """A comparison of policies, and what it shows."""
    saved, page = load_policies(step.path), _own_page(step, folder, POLICIES_PAGE, log)
    what, name = "Rates, ranking and choice of policies", step.name.replace("_", " ")
    headline, lead = policy_words.headline(saved), policy_words.lead(saved)
    return ComparedView(name, page, what, headline, lead, policy_words.sentences(saved))


def _own_page(step: StepRecord, folder: Path, kind: ResultPage[Any], log: Log) -> str:
    """Write the page of a comparison, unless it is newer than the result; its name."""
    page = folder / f"{step.name}.html"
    if not (step.kept and page.is_file()):
        kind.report(step.path, page, ReportSettings(title=step.name.replace("_", " ")), log)
    return page.name


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
    labels = {entry.key: entry.label for entry in saved.classes}
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
                pictures.append((name, data_uri(jpeg, "jpeg")))
        yield PictureRow(float(stamp - stamps[0]) / 1e9, tuple(pictures))


def _pictures(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob("*.png")):
        yield path.stem.replace("_", " "), data_uri(path.read_bytes(), "png")


PAGE = "index.html"
_AS_MANY_AS_FIT = StudyRunOptions()


def run_study(
    study: str | Path,
    out: str | Path,
    *,
    size: str = DEFAULT_SIZE,
    inputs: Mapping[str, str | Path] | None = None,
    options: StudyRunOptions = _AS_MANY_AS_FIT,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> StudyResult:
    """Run a study, and write its page. Run again, only what is missing or changed is done."""
    read = read_study(study, VERBS, size, inputs)
    result = run_steps(read, Path(out), VERBS, options=options, log=log, progress=progress)
    write_study_page(result, result.folder / PAGE, log)
    result.check()
    return result


def report_study(folder: str | Path, *, log: Log = no_log) -> StudyResult:
    """Write the page of a study again, from what is done; nothing is run."""
    result = load_study(Path(folder))
    write_study_page(result, result.folder / PAGE, log)
    return result


_RECORDINGS = ("mcap", "db3")
_SETS = ("json", *_RECORDINGS)
_FOLDER = "yolo"


def join_sets(
    sources: Sequence[Path | str], out: Path, *, to: str | None = None, allow_outside: bool = False
) -> FrameSet:
    """Join data sets to one: `simjudge.join` with the sources as one argument, as a study's file has them."""
    return join(*sources, out=out, to=to, allow_outside=allow_outside)


def learn_driver(scenes: Sequence[str | Path], out: Path, *, generations: int, drivers: int, log: Log = no_log) -> None:
    """Train a driver in the Gymnasium environment, which only this verb needs."""
    from simjudge.sim.driving import driver_training  # noqa: PLC0415

    driver_training.learn_driver(scenes, out, generations=generations, drivers=drivers, log=log)


VERBS = {
    "drive": Verb(drive, ".mcap", reuse=ANY_NAME),
    "replay": Verb(replay, ".mcap", reuse=ANY_NAME),
    "render": Verb(render, "", _RECORDINGS, reuse=ANY_NAME),
    "filter": Verb(filter_images, "", _RECORDINGS, _FOLDER, reuse=ANY_NAME),
    "split": Verb(split, "", reuse=ANY_NAME),
    "join": Verb(join_sets, "", _SETS, _FOLDER, reuse=SAME_NAMES),
    "train": Verb(train, ".onnx", reuse=ANY_NAME),
    "detect": Verb(detect, ".json", _RECORDINGS, reuse=SAME_NAMES),
    "segment": Verb(predict_semantic, "", (), _FOLDER, reuse=SAME_NAMES),
    "compare": Verb(compare, ""),
    "sweep": Verb(sweep, ""),
    "objects": Verb(compare_objects, ""),
    "compare_sets": Verb(compare_many_sets, ""),
    "ablation": Verb(compare_variants, ""),
    "compare_policies": Verb(compare_policies, ""),
    "control_variates": Verb(estimate_real_performance, ""),
    "krc_findings": Verb(find_krc, ""),
    "detector_errors": Verb(measure_errors, ".json"),
    "learn_driver": Verb(learn_driver, ".json"),
    "drive_trials": Verb(drive_trials, ".csv", reuse=ANY_NAME),
    "policy_findings": Verb(find_policies, ""),
    "sets_findings": Verb(find_sets, ""),
}
"""What steps can do, by their names in a study's file."""


def study_comparisons(result: StudyResult) -> list[NamedComparison]:
    """Read the comparisons of a study, single ones and those of many sets."""
    found: list[NamedComparison] = []
    for step in result.steps:
        if (step.path / RESULT).is_file():
            saved = load_result(step.path)
            found.append(NamedComparison(step.name, saved.entries, saved.measures))
        elif (step.path / POLICIES).is_file():
            found.append(replace(compared_policies(load_policies(step.path)), name=step.name))
        elif (step.path / SETS).is_file():
            found += [
                NamedComparison(f"{step.name}: {one.net}, {one.b} predicts {one.a}", one.entries)
                for one in load_many_sets(step.path).comparisons
            ]
    return found
