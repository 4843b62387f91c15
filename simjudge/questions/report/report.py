"""`simjudge report` as a function: the page of saved results, with tables and figures, or the page of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.files import check_output
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.settings import takes_setting_keywords
from simjudge.data.rosbag2.recording_files import is_recording
from simjudge.page.kept_result import kind_of
from simjudge.page.page_templates import is_report
from simjudge.page.report_settings import DEFAULT_OUT, HTML, Report, ReportSettings
from simjudge.questions.compare.detector_sentences import verdicts_said
from simjudge.questions.compare.number_table import is_number_table, write_csv
from simjudge.questions.compare.page import write_report
from simjudge.questions.compare.result_figures import save_figures
from simjudge.questions.compare.result_tables import is_latex_table, write_latex
from simjudge.questions.recording.recording_view import report_recording
from simjudge.questions.report.report_export import export_report
from simjudge.results.result_folder import RESULT, SETS, SWEEP, refuse_studies


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
    refuse_studies([Path(each) for each in given], (SETS, RESULT, SWEEP))
    out = DEFAULT_OUT[settings.to] if out is None else out
    if settings.to != HTML:
        return export_report([Path(each) for each in given], Path(out), settings, log, progress)
    recordings = [Path(each) for each in given if is_recording(Path(each))]
    if recordings:
        if len(given) > 1:
            raise UsageError(f"{recordings[0]}: a recording has a page of its own; report it alone")
        return report_recording(recordings[0], Path(out), settings, log, progress)
    for folder in map(Path, given):
        kind = kind_of(folder)
        if kind is not None and len(given) > 1:
            raise UsageError(f"{folder}: is {kind.noun}, which has a page of its own; report it alone")
        if kind is not None:
            return kind.report(folder, Path(out), settings, log)
    return _report_results([Path(each) for each in given], Path(out), settings, log)


def _report_results(folders: Sequence[Path], out: Path, settings: ReportSettings, log: Log) -> Report:
    csv, latex, figures = settings.csv, settings.latex, settings.figures
    for path, is_own in ((out, is_report), (csv, is_number_table), (latex, is_latex_table)):
        if path is not None and check_output(path, is_own, overwrite=settings.overwrite):
            log(f"note: {path} is there already and will be replaced")
    if figures is not None and not settings.overwrite:
        check_output(figures)
    labels = dict(settings.label or ())
    results, losses = write_report(folders, out, settings.title, labels)
    if csv is not None:
        write_csv(csv, results)
        log(f"wrote {csv}")
    if latex is not None:
        write_latex(latex, results)
        log(f"wrote {latex}")
    if figures is not None:
        log(f"wrote {len(save_figures(results, figures))} files into {figures}")
    sentences = []
    for result in results:
        sentences += [": ".join((result.name, *said)) for said in verdicts_said(result)]
    return Report(out, sentences, losses)
