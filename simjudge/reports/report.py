"""`simjudge report` as a function: the page of saved results, their numbers as CSV, their figures as files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import check_output, output_path
from simjudge.core.progress import Log, no_log
from simjudge.reports.figure_files import save_figures
from simjudge.reports.latex import is_latex_table, write_latex
from simjudge.reports.number_table import is_number_table, write_csv
from simjudge.reports.page import is_report, write_report
from simjudge.reports.sentences import SetNames, headline, verdict_sentence


@dataclass(frozen=True)
class Report:
    """A report that was written.

    Attributes:
        path: the page; it opens from disk.
        verdicts: one sentence for every result and class.
        losses: what could not be shown, such as damaged crops.
    """

    path: Path
    verdicts: list[str]
    losses: Losses = field(default_factory=Losses, repr=False)

    def __str__(self) -> str:
        """The verdicts, one a line."""
        return "\n".join(self.verdicts)


def report(  # noqa: PLR0913 - one argument an option of the command
    folders: str | Path | Sequence[str | Path],
    out: str | Path = "report.html",
    *,
    title: str = "",
    labels: Mapping[str, str] | None = None,
    csv: str | Path | None = None,
    latex: str | Path | None = None,
    figures: str | Path | None = None,
    overwrite: bool = False,
    log: Log = no_log,
) -> Report:
    """Make one self-contained HTML page of saved results.

    Args:
        folders: folders that `compare` or `sweep` wrote, or one of them.
        out: the page to write.
        title: heading of the page; by default the question that it answers.
        labels: other names for sets and results, by "a", "b", the name of a set, or the name of a result.
        csv: also writes the numbers to this file, one row a result and class.
        latex: also writes the table of each result to this file.
        figures: also writes every figure as SVG, PDF and PNG into this folder.
        overwrite: whether files that no report wrote may be replaced; earlier pages and tables always are.
        log: receives a line for every file that was written.

    Returns:
        The report.

    Raises:
        UsageError: a label is for nothing that is there.
        SimjudgeError: a folder holds no result, a file in it is damaged, or something cannot be written.
    """
    given = [folders] if isinstance(folders, str | Path) else folders
    for path, is_own in ((out, is_report), (csv, is_number_table), (latex, is_latex_table)):
        if path is not None and check_output(Path(path), is_own, overwrite=overwrite):
            log(f"note: {path} is there already and will be replaced")
    if figures is not None and not overwrite:
        _refuse_files(Path(figures))
    results, losses = write_report([Path(folder) for folder in given], Path(out), title, labels)
    if csv is not None:
        write_csv(Path(csv), results)
        log(f"wrote {csv}")
    if latex is not None:
        write_latex(Path(latex), results)
        log(f"wrote {latex}")
    if figures is not None:
        log(f"wrote {len(save_figures(results, Path(figures)))} files into {figures}")
    verdicts = []
    for result in results:
        for entry in result.entries if result.overall is not None else ():
            sentence = verdict_sentence(entry, SetNames.of_result(result))
            verdicts.append(f"{result.name}: {entry.label}: {headline(entry)}: {sentence}")
    return Report(Path(out), verdicts, losses)


def _refuse_files(folder: Path) -> None:
    """Refuse a folder for figures in which something is, before anything is written."""
    folder = output_path(folder)
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise SimjudgeError(f"{folder}: exists already and is not empty; choose another folder, or give --overwrite")
