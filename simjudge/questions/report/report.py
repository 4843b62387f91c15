"""`simjudge report` as a function: pages of saved results or of a recording, and exports of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simjudge.core.errors import Log, ProgressBar, UsageError, no_log, no_progress
from simjudge.core.settings import takes_setting_keywords
from simjudge.data.rosbag2.storage import is_recording
from simjudge.page.report_settings import DEFAULT_OUT, HTML, Report, ReportSettings
from simjudge.questions.compare.reporting import report_comparisons
from simjudge.questions.recording.page import report_recording
from simjudge.questions.report.kinds import kind_of
from simjudge.results.saved_result import RESULT, SETS, SWEEP, refuse_studies


@takes_setting_keywords
def report(
    folders: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    settings: ReportSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> Report:
    """Make one self-contained HTML page of saved results, or of a recording.

    Results: verdicts, galleries, where the gap sits; of `objects`, the table of metrics and all series over time. A
    recording: its point clouds from above and in perspective beside
    the camera's pictures, the course, GPS tracks, IMUs over time.

    Args:
        folders: folders that `compare` or `sweep` wrote, or one of them; or one folder of `objects`
            or `compare-drives`; or one recording.
        out: the page to write; an earlier page there is replaced. Of a recording also a folder for it. Where the
            settings say so, the recording for rerun or the folder of the FiftyOne data set. None for the default name.
        settings: all settings at once; keywords change single ones.
        log: receives a line for every file that was written.
        progress: opens a progress bar.

    Returns:
        The report.

    Raises:
        UsageError: a label is for nothing that is there, a recording stands beside something else, or a folder is that
            of a study.
        SimjudgeError: a folder holds no result, a file in it is damaged, or something cannot be written.
    """
    given = [folders] if isinstance(folders, str | Path) else folders
    refuse_studies([Path(folder) for folder in given], (SETS, RESULT, SWEEP))
    out = DEFAULT_OUT[settings.to] if out is None else out
    for name in ("onto", "side", "merged") if settings.to == HTML else ():
        if getattr(settings, name):
            raise UsageError(f"--{name}: is for a layer over a recording or data set; add --to rrd, mcap or fiftyone")
    recordings = [Path(folder) for folder in given if is_recording(Path(folder))] if settings.to == HTML else []
    if recordings:
        if len(given) > 1:
            raise UsageError(f"{recordings[0]}: a recording has a page of its own; report it alone")
        return report_recording(recordings[0], Path(out), settings, log, progress)
    for folder in map(Path, given) if settings.to == HTML else ():
        kind = kind_of(folder)
        if kind is not None and len(given) > 1:
            raise UsageError(f"{folder}: is {kind.noun}, which has a page of its own; report it alone")
        if kind is not None:
            return kind.report(folder, Path(out), settings, log)
    return report_comparisons([Path(folder) for folder in given], Path(out), settings, log, progress)
