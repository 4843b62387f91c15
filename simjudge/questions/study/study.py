"""A study from its file to its page: what `simjudge study run` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.data.set_join import join
from simjudge.data.splits import split
from simjudge.detectors.detection import detect
from simjudge.detectors.semantic.prediction import predict_semantic
from simjudge.detectors.training import train
from simjudge.questions.ablation.comparison import compare_variants
from simjudge.questions.compare.result import compare, sweep
from simjudge.questions.many_sets.comparison import compare_many_sets
from simjudge.questions.many_sets.findings import find_sets
from simjudge.questions.many_sets.saved import load_many_sets
from simjudge.questions.objects.result import compare_objects
from simjudge.questions.study.file import DEFAULT_SIZE, read_study
from simjudge.questions.study.listing import load_study
from simjudge.questions.study.page import write_study_page
from simjudge.questions.study.run import StudyResult, StudyRunOptions, run_steps
from simjudge.questions.study.steps import ANY_NAME, SAME_NAMES, Verb
from simjudge.results.saved_result import RESULT, SETS, NamedComparison, load_result
from simjudge.sim.capture.rendering import render
from simjudge.sim.capture.replaying import replay
from simjudge.sim.driving.drive import drive
from simjudge.sim.sensors.camera.filtering import filter_images
from simjudge.studies.krc_findings import find_krc
from simjudge.studies.real_performance import estimate_real_performance

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
    """Run a study, and write its page. Run again, only what is missing or changed is done.

    Args:
        study: a study's file, or the name of one that comes with simjudge.
        out: the folder of what its steps make, and of the pages: index.html, and one a comparison by objects.
        inputs: files and folders by the names that the study has for them.
    """
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
    """Join data sets to one: `simjudge.join` with the sources as one argument, as a study's file has them.

    Args:
        allow_outside: take pictures that lie outside of the folder of their data set.
    """
    return join(*sources, out=out, to=to, allow_outside=allow_outside)


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
    "control_variates": Verb(estimate_real_performance, ""),
    "krc_findings": Verb(find_krc, ""),
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
        elif (step.path / SETS).is_file():
            found += [
                NamedComparison(f"{step.name}: {one.net}, {one.b} predicts {one.a}", one.entries)
                for one in load_many_sets(step.path).comparisons
            ]
    return found
