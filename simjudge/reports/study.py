"""A study from its file to its page: what `simjudge study run` does."""

from __future__ import annotations

from pathlib import Path

from simjudge.capture.replaying import replay
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.driving.drive import drive
from simjudge.reports.object_comparison import compare_objects
from simjudge.reports.study_page import write_study_page
from simjudge.studies.krc_findings import find_krc
from simjudge.studies.study_file import DEFAULT_SIZE, read_study
from simjudge.studies.study_run import StudyResult, run_steps
from simjudge.studies.study_steps import Verb

VERBS = {
    "drive": Verb(drive, ".mcap"),
    "replay": Verb(replay, ".mcap"),
    "objects": Verb(compare_objects, ""),
    "krc_findings": Verb(find_krc, ""),
}
"""What steps can do, by their names in a study's file."""
PAGE = "index.html"


def run_study(
    study: str | Path,
    out: str | Path,
    *,
    size: str = DEFAULT_SIZE,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> StudyResult:
    """Run a study, and write its page. Run again, only what is missing or changed is done.

    Args:
        study: a study's file, or the name of one that comes with simjudge.
        out: the folder of what its steps make, and of the pages: index.html, and one a comparison by objects.
        size: one of the study's sizes.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Returns:
        What was done.

    Raises:
        UsageError: there is no such study or size, or the folder holds something else.
        SimjudgeError: the file is damaged, or a step failed.
    """
    result = run_steps(read_study(study, VERBS, size), Path(out), VERBS, log=log, progress=progress)
    write_study_page(result, result.folder / PAGE, log)
    return result
