"""The page of a comparison of drives: one self-contained HTML file, from the saved result alone."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.files import atomic_file, check_output
from simjudge.core.progress import Log
from simjudge.core.version import version
from simjudge.page.figures import save_drawn
from simjudge.page.html import FigureEmbedder, is_report, load_template
from simjudge.page.palette import VERDICT_COLOURS
from simjudge.page.report_settings import Report, ReportSettings
from simjudge.questions.drives.figures import course_figure, drive_figures, lines_figure, w1_figure
from simjudge.questions.drives.saved import SavedDrives, load_drive_result
from simjudge.questions.drives.words import (
    COLUMNS,
    headline,
    lead,
    metric_sentence,
    misleading_places,
    table_row,
    worst_verdict,
)


def report_drives(folder: Path, out: Path, settings: ReportSettings, log: Log) -> Report:
    """Make the page of a comparison of drives."""
    unused = [name for name in ("csv", "latex", "label") if getattr(settings, name) is not None]
    if unused:
        raise UsageError(f"--{unused[0]} is for results of compare and sweep; {folder} is one of compare-drives, whose"
                         " tables lie in it as .parquet")  # fmt: skip
    if check_output(out, is_report, overwrite=settings.overwrite):
        log(f"note: {out} is there already and will be replaced")
    if settings.figures is not None and not settings.overwrite:
        check_output(settings.figures)
    result = load_drive_result(folder)
    page = render_drives_page(result, settings.title)
    with atomic_file(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    if settings.figures is not None:
        log(f"wrote {len(save_drawn(drive_figures(result), settings.figures))} files into {settings.figures}")
    return Report(out, [f"{headline(result)}: {lead(result)}", *map(metric_sentence, result.metrics)])


def render_drives_page(result: SavedDrives, title: str = "") -> str:
    """Render the page."""
    embedder, content = FigureEmbedder(), result.content
    return load_template("drives.html").render(
        title=title or "Does the simulated car drive like the real one?",
        name=result.name,
        version=version(),
        headline=headline(result),
        colour=VERDICT_COLOURS[worst_verdict(result)],
        lead=lead(result),
        sentences=[metric_sentence(row) for row in result.metrics],
        heads=COLUMNS,
        rows=[(table_row(row), VERDICT_COLOURS[row["verdict"]]) for row in result.metrics],
        lines=embedder.embed(lines_figure(result)),
        course=embedder.embed(course_figure(result)),
        places=misleading_places(result),
        misleads=[embedder.embed(w1_figure(result, row["metric"])) for row in result.metrics if row["compared"]],
        closed=content["course"]["closed"],
        inputs=content["inputs"],
        drawn=content["drawn"],
        notes=content["notes"],
        losses=content["losses"],
        parameters=content["parameters"],
    )
