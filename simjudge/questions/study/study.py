"""A study from its file to its page: what `simjudge study` runs, lists and shows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from simjudge.core.errors import Log, Losses, ProgressBar, no_log, no_progress
from simjudge.core.files import output_path
from simjudge.core.frames import FrameSet
from simjudge.core.images import encode_jpeg
from simjudge.core.installed import need_module
from simjudge.core.text import list_some
from simjudge.data.set_parts import join, split
from simjudge.data.sets import read_set
from simjudge.detectors.detection import detect
from simjudge.detectors.semantic_net import predict_semantic
from simjudge.detectors.training import need_trainer, train
from simjudge.page import kit
from simjudge.page.chart_data import Cell
from simjudge.page.kit import FigureEmbedder, ResultPage, data_uri, element, write_page
from simjudge.page.report_settings import ReportSettings
from simjudge.questions.ablation import ablation_sections, compare_variants, is_ablation, load_ablation
from simjudge.questions.compare.facts import overlap_sentences, performance_sentences
from simjudge.questions.compare.figures import neighbour_figures
from simjudge.questions.compare.overall_words import overall_headline, overall_meaning
from simjudge.questions.compare.page import sweep_sections, write_report
from simjudge.questions.compare.result import compare, sweep
from simjudge.questions.compare.words import SetNames
from simjudge.questions.engines import photographs
from simjudge.questions.many_sets.page import sets_sections
from simjudge.questions.many_sets.result import load_many_sets
from simjudge.questions.many_sets.run import compare_many_sets
from simjudge.questions.many_sets.sets_findings import find_sets
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
from simjudge.questions.study.run import FailedStep, StudyResult, StudyRunOptions, run_steps, seconds_left
from simjudge.questions.study.work import PlannedStep, StepRecord, is_running, kept_record, log_path, read_plan
from simjudge.questions.study.workers import FAILED_LINE, TIME_FORMAT
from simjudge.results.gallery import HIGHEST
from simjudge.results.gate import NamedComparison
from simjudge.results.metric_rows import verdict_words
from simjudge.results.saved_result import POLICIES, RESULT, SETS, SWEEP, Result, StudyFinding, load_result
from simjudge.sim.capture.rendering import render
from simjudge.sim.capture.replaying import replay
from simjudge.sim.driving.drive import drive
from simjudge.sim.driving.trial_drives import measure_errors
from simjudge.sim.engines.registry import check_engine
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


def write_study_page(result: StudyResult, out: Path, log: Log = no_log) -> None:
    """Write the page."""
    embedder, study, folder = FigureEmbedder(), result.study, out.parent
    sets = {step.name: read_set(step.path) for step in result.steps if step.verb in _RECORDING_VERBS}
    paths = {step.name: step.path for step in result.steps}
    page = kit.page(
        study.title,
        f"study {study.name}, size {study.size}",
        kit.lost((study.stands_in,), "Reality is simulated in this study.") if study.stands_in else "",
        *(_failure(failed) for failed in result.failed),
        *(
            section
            for name, rows in result.findings.items()
            for section in _found_sections(rows, paths[name], f": {name}" if len(result.findings) > 1 else "")
        ),
        *(
            ablation_sections(load_ablation(step.path), step.name, embedder)
            for step in result.steps
            if is_ablation(step.path)
        ),
        *(
            sets_sections(load_many_sets(step.path), step.name.replace("_", " "), embedder)
            for step in result.steps
            if _is_many_sets(step.path)
        ),
        *(_compared(step, folder, log) for step in result.steps if is_object_result(step.path)),
        *(_policies(step, folder, log) for step in result.steps if (step.path / POLICIES).is_file()),
        *(_by_contexts(step, folder, log, embedder) for step in result.steps if _holds_contexts(step.path)),
        *_picture_rows(sets),
        kit.section(
            "Steps",
            kit.table(
                ("step", "what", "made"),
                [(step.name, step.verb, _lines(step.path.name, *step.losses)) for step in result.steps],
                words=range(3),
                row_heads=True,
                kind="rows wrapped",
            ),
        ),
    )
    write_page(out, page)


def _lines(*lines: str) -> Markup:
    return element("br").join(lines)


def _failure(failed: FailedStep) -> Markup:
    behind = f"Not done, because they need it: {', '.join(failed.behind)}." if failed.behind else ""
    return kit.lost((failed.error, *([behind] if behind else [])), f"Step {failed.name} failed.")


_AGREEMENT = {"yes": "predicts", "no": "gap"}
"""Whether a study agrees with its source, to the name of a colour."""
_MAP_COLOURS = {
    "#ffffff": "occupied in both",
    "#000000": "free in both",
    "#ff0000": "only in the real map",
    "#00ffff": "only in the virtual map",
    "#707070": "known to none; other greys and pale colours: known to one",
}


def _found_sections(rows: Sequence[StudyFinding], folder: Path, which: str) -> Iterator[Markup]:
    """What a step has found, and its pictures."""
    cells = [
        (row.name, row.source, row.here, Cell(row.agrees, colour=_AGREEMENT.get(row.agrees, "cannot-tell")))
        for row in rows
    ]
    yield kit.section(
        f"What the source found, and what was found here{which}",
        kit.table(("", "the source", "here", "agrees"), cells, words=range(4), row_heads=True, kind="rows wrapped"),
    )
    maps = [
        element("h3", name) + kit.image(data_uri(picture, "png"), name, "map")
        for name, picture in ((path.stem.replace("_", " "), path.read_bytes()) for path in sorted(folder.glob("*.png")))
    ]
    colours = (kit.dot(colour) + f"{words} " for colour, words in _MAP_COLOURS.items())
    if maps:
        yield kit.section(
            "Occupancy maps laid over each other",
            kit.note("Driven from left to right, 10 cells a metre. ", *colours),
            *maps,
        )


def _own_section(
    step: StepRecord, page: str, what: str, verdict: str, said: str, facts: Sequence[str], *shown: Markup
) -> Markup:
    """What the page says of a comparison that has its own page, which stands beside this one."""
    link = element("a", f"{what}: {page}", href=page)
    heading = f"{step.name.replace('_', ' ')}: {verdict}"
    return kit.section(heading, kit.paragraph(said), *map(kit.paragraph, facts), *shown, kit.paragraph(link))


def _compared(step: StepRecord, folder: Path, log: Log) -> Markup:
    """A comparison by objects, and what it shows."""
    saved, page = load_object_result(step.path), _own_page(step, folder, OBJECTS_PAGE, log)
    what = "Every metric of every object, over time"
    return _own_section(step, page, what, headline(saved), lead(saved), fact_lines(saved))


def _policies(step: StepRecord, folder: Path, log: Log) -> Markup:
    """A comparison of policies, and what it shows."""
    saved, page = load_policies(step.path), _own_page(step, folder, POLICIES_PAGE, log)
    what, verdict = "Rates, ranking and choice of policies", policy_words.headline(saved)
    return _own_section(step, page, what, verdict, policy_words.lead(saved), policy_words.sentences(saved))


def _own_page(step: StepRecord, folder: Path, kind: ResultPage[Any], log: Log) -> str:
    """Write the page of a comparison, unless it is newer than the result; its name."""
    page = folder / f"{step.name}.html"
    if not (step.kept and page.is_file()):
        kind.report(step.path, page, ReportSettings(title=step.name.replace("_", " ")), log)
    return page.name


def _holds_contexts(path: Path) -> bool:
    return (path / RESULT).is_file() or (path / SWEEP).is_file()


def _by_contexts(step: StepRecord, folder: Path, log: Log, embedder: FigureEmbedder) -> Markup:
    """Write the page of a comparison or a sweep, unless it is newer than the result, and say what it shows."""
    page = folder / f"{step.name}.html"
    if not (step.kept and page.is_file()):
        write_report([step.path], page, step.name.replace("_", " "))
        log(f"wrote {page}")
    saved = load_result(step.path)
    if saved.overall is None:
        points, charts = f"{len(saved.curves)} settings of theta and patch", sweep_sections(saved, embedder)
        return _own_section(step, page.name, "Its own page, with all numbers", "a sweep", points, [], charts)
    names = SetNames.of_result(saved)
    facts = [*overlap_sentences(saved.overall, names), *performance_sentences(saved.overall, names)]
    what, verdict = "Verdicts, figures and galleries by class", verdict_words(saved.verdict, saved.overall.margin)
    said = f"{overall_headline(saved)}: {overall_meaning(saved)}"
    return _own_section(step, page.name, what, verdict, said, facts, *_worst_contexts(saved, embedder))


def _worst_contexts(saved: Result, embedder: FigureEmbedder) -> list[Markup]:
    """The context of the highest W1 with its neighbours, for each of the classes that have them."""
    labels = {entry.key: entry.label for entry in saved.classes}
    worst = [(key, draw) for (key, kind), draw in neighbour_figures(saved).items() if kind == HIGHEST]
    return [
        element("h3", f"{labels.get(key, key)}: a context where both sets differ most, with similar ones")
        + element("div", embedder.embed(draw()), class_="scroll")
        for key, draw in worst[:_WORST]
    ]


def _is_many_sets(path: Path) -> bool:
    """Whether a folder holds a comparison of many sets that has no page of its own kind."""
    return (path / SETS).is_file() and not is_ablation(path)


def _picture_rows(sets: dict[str, FrameSet]) -> Iterator[Markup]:
    """Pictures of all recordings at a few times of the first one."""
    shown = {name: frames for name, frames in sets.items() if frames.images is not None and len(frames)}
    if not shown:
        return
    stamps, rows = next(iter(shown.values())).stamp, []
    for stamp in (stamps[round(share * (len(stamps) - 1))] for share in _INSTANTS):
        pictures = []
        for name, frames in shown.items():
            numbers = np.flatnonzero(frames.stamp == stamp)
            if len(numbers) and frames.images is not None:
                jpeg = encode_jpeg(frames.images.read(int(numbers[0])), _JPEG_QUALITY)
                pictures.append((name, data_uri(jpeg, "jpeg")))
        rows += [kit.note(f"{float(stamp - stamps[0]) / 1e9:.1f} s"), kit.gallery(pictures)]
    yield kit.section("Pictures at the same times", *rows)


PAGE = "index.html"
_AS_MANY_AS_FIT = StudyRunOptions()


def run_study(
    study: str | Path,
    out: str | Path,
    *,
    size: str = DEFAULT_SIZE,
    inputs: Mapping[str, str | Path] | None = None,
    trust: Collection[str | Path] = (),
    options: StudyRunOptions = _AS_MANY_AS_FIT,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> StudyResult:
    """Run a study, and write its page. Run again, only what is missing or changed is done.

    `trust`: model files (`.pt`) whose code the steps may run, or "all"; the study's file cannot give it.
    """
    read = read_study(study, VERBS, size, inputs, trust)
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


def write_as_photographs(rendered: Path, out: Path) -> FrameSet:
    """Write rendered pictures of scene `signs` as JPEG files labelled like the photographs of `simjudge demo`."""
    written, left_out = photographs.write_as_photographs(rendered, out)
    losses = Losses()
    losses.add("pictures without a sign", f"{rendered.name}, {written} others are written", left_out)
    return replace(read_set(out), losses=losses)


def learn_driver(scenes: Sequence[str | Path], out: Path, *, generations: int, drivers: int, log: Log = no_log) -> None:
    """Train a driver in the Gymnasium environment, which only this verb needs."""
    from simjudge.sim.driving import driver_training  # noqa: PLC0415

    driver_training.learn_driver(scenes, out, generations=generations, drivers=drivers, log=log)


def need_engine(arguments: Mapping[str, object]) -> None:
    """Make sure that the engine of a step can run here; one that the step names is looked at as its digest is made."""
    if "engine" not in arguments:
        check_engine("default")


def need_driver_training(_arguments: Mapping[str, object]) -> None:
    """Make sure that a driver can be trained here."""
    need_module("gymnasium", "the training of a driver needs gymnasium")


def need_training(arguments: Mapping[str, object]) -> None:
    """Make sure that what a training step takes is installed."""
    need_trainer(str(arguments.get("task", "")))


VERBS = {
    "drive": Verb(drive, ".mcap", check=need_engine, reuse=ANY_NAME),
    "replay": Verb(replay, ".mcap", check=need_engine, reuse=ANY_NAME),
    "render": Verb(render, "", _RECORDINGS, check=need_engine, reuse=ANY_NAME),
    "filter": Verb(filter_images, "", _RECORDINGS, _FOLDER, reuse=ANY_NAME),
    "split": Verb(split, "", reuse=ANY_NAME),
    "join": Verb(join_sets, "", _SETS, _FOLDER, reuse=SAME_NAMES),
    "train": Verb(train, ".onnx", check=need_training, reuse=ANY_NAME),
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
    "learn_driver": Verb(learn_driver, ".json", check=need_driver_training),
    "as_photographs": Verb(write_as_photographs, "", reuse=ANY_NAME),
    "drive_trials": Verb(drive_trials, ".csv", check=need_engine, reuse=ANY_NAME),
    "policy_findings": Verb(find_policies, ""),
    "sets_findings": Verb(find_sets, ""),
}
"""What steps can do, by their names in a study's file."""


def study_comparisons(result: StudyResult) -> list[NamedComparison]:
    """Read the comparisons of a study, single ones and those of many sets."""
    found: list[NamedComparison] = []
    for step in result.steps:
        if (step.path / RESULT).is_file():
            found.append(replace(NamedComparison.of_result(load_result(step.path)), name=step.name))
        elif (step.path / POLICIES).is_file():
            found.append(replace(compared_policies(load_policies(step.path)), name=step.name))
        elif (step.path / SETS).is_file():
            found += [
                NamedComparison(f"{step.name}: {one.net}, {one.b} predicts {one.a}", one.entries)
                for one in load_many_sets(step.path).comparisons
            ]
    return found
