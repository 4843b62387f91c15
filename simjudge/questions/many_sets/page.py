"""The page of a comparison of many sets: one self-contained HTML file, from the saved result alone."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.files import atomic_file, check_output
from simjudge.core.progress import Log
from simjudge.core.version import version
from simjudge.page.figures import save_drawn
from simjudge.page.html import FigureEmbedder, is_report, load_template
from simjudge.page.report_settings import Report, ReportSettings
from simjudge.questions.many_sets.figures import set_figures
from simjudge.questions.many_sets.saved import load_many_sets
from simjudge.questions.many_sets.tables import KIND_COLUMNS, kind_sentences, write_kind_csv
from simjudge.questions.many_sets.view import KIND_HEADS, PAIR_HEADS, make_sets_view


def report_sets(folder: Path, out: Path, settings: ReportSettings, log: Log) -> Report:
    """Make the page of a comparison of many sets.

    Args:
        settings: title, and where tables and figures go. The table is that by kind of pair.
    """
    unused = [name for name in ("latex", "label") if getattr(settings, name) is not None]
    if unused:
        raise UsageError(f"--{unused[0]} is for results of compare and sweep; {folder} is one of many sets")
    for path, is_own in ((out, is_report), (settings.csv, _is_table)):
        if path is not None and check_output(path, is_own, overwrite=settings.overwrite):
            log(f"note: {path} is there already and will be replaced")
    if settings.figures is not None and not settings.overwrite:
        check_output(settings.figures)
    result = load_many_sets(folder)
    page = load_template("sets_page.html").render(
        title=settings.title or f"{len(result.sets)} sets, {len(result.nets)} nets: which set predicts which?",
        view=make_sets_view(result, folder.resolve().name, FigureEmbedder()),
        kind_heads=KIND_HEADS,
        pair_heads=PAIR_HEADS,
        version=version(),
    )
    with atomic_file(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    if settings.csv is not None:
        write_kind_csv(result, settings.csv)
        log(f"wrote {settings.csv}")
    if settings.figures is not None:
        log(f"wrote {len(save_drawn(set_figures(result), settings.figures))} files into {settings.figures}")
    return Report(out, kind_sentences(result))


def _is_table(path: Path) -> bool:
    start = ",".join(KIND_COLUMNS).encode()
    with path.open("rb") as stream:
        return stream.read(len(start)) == start
