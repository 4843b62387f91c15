"""`simjudge report` as a function: the page of saved results, their numbers as CSV, their figures as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simjudge.core.files import check_output
from simjudge.core.progress import Log, no_log
from simjudge.core.setting_keywords import takes_setting_keywords
from simjudge.reports.figure_files import save_figures
from simjudge.reports.latex import is_latex_table, write_latex
from simjudge.reports.number_table import is_number_table, write_csv
from simjudge.reports.page import is_report, write_report
from simjudge.reports.report_settings import Report, ReportSettings
from simjudge.reports.sentences import SetNames, headline, verdict_sentence


@takes_setting_keywords
def report(
    folders: str | Path | Sequence[str | Path],
    out: str | Path = "report.html",
    *,
    settings: ReportSettings,
    log: Log = no_log,
) -> Report:
    """Make one self-contained HTML page of saved results: verdicts, galleries, where the gap sits.

    Args:
        folders: folders that `compare` or `sweep` wrote, or one of them.
        out: the page to write; an earlier page there is replaced.
        settings: all settings at once; keywords change single ones.
        log: receives a line for every file that was written.

    Returns:
        The report.

    Raises:
        UsageError: a label is for nothing that is there.
        SimjudgeError: a folder holds no result, a file in it is damaged, or something cannot be written.
    """
    given = [folders] if isinstance(folders, str | Path) else folders
    csv, latex, figures = settings.csv, settings.latex, settings.figures
    for path, is_own in ((Path(out), is_report), (csv, is_number_table), (latex, is_latex_table)):
        if path is not None and check_output(path, is_own, overwrite=settings.overwrite):
            log(f"note: {path} is there already and will be replaced")
    if figures is not None and not settings.overwrite:
        check_output(figures)
    labels = dict(settings.label or ())
    results, losses = write_report([Path(folder) for folder in given], Path(out), settings.title, labels)
    if csv is not None:
        write_csv(csv, results)
        log(f"wrote {csv}")
    if latex is not None:
        write_latex(latex, results)
        log(f"wrote {latex}")
    if figures is not None:
        log(f"wrote {len(save_figures(results, figures))} files into {figures}")
    verdicts = []
    for result in results:
        for entry in result.entries if result.overall is not None else ():
            sentence = verdict_sentence(entry, SetNames.of_result(result))
            verdicts.append(f"{result.name}: {entry.label}: {headline(entry)}: {sentence}")
    return Report(Path(out), verdicts, losses)
