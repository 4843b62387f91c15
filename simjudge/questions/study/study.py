"""A study from its file to its page: what `simjudge study run` does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.questions.study.file import DEFAULT_SIZE, read_study
from simjudge.questions.study.listing import load_study
from simjudge.questions.study.page import write_study_page
from simjudge.questions.study.run import StudyResult, StudyRunOptions, run_steps
from simjudge.questions.study.verbs import VERBS

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
        size: one of the study's sizes.
        inputs: files and folders by the names that the study has for them.
        options: who does the steps, and what need not be done.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Returns:
        What was done.

    Raises:
        UsageError: there is no such study, size or input, or the folder holds something else.
        SimjudgeError: the file is damaged, or steps failed; what does not need them is done, and the page shows it.
    """
    read = read_study(study, VERBS, size, inputs)
    result = run_steps(read, Path(out), VERBS, options=options, log=log, progress=progress)
    write_study_page(result, result.folder / PAGE, log)
    result.check()
    return result


def report_study(folder: str | Path, *, log: Log = no_log) -> StudyResult:
    """Write the page of a study again, from what is done; nothing is run.

    Args:
        folder: that `run_study` has made.
        log: receives lines that a person should read.

    Returns:
        What is done.

    Raises:
        UsageError: it is no such folder.
        SimjudgeError: what a step has made cannot be read.
    """
    result = load_study(Path(folder))
    write_study_page(result, result.folder / PAGE, log)
    return result
