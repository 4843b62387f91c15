"""A comparison for programs that show data sets: a recording for rerun, a data set for FiftyOne."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.progress import Log, ProgressBar
from simjudge.page.report_settings import FIFTYONE, RRD, Report, ReportSettings
from simjudge.questions.compare.detector_sentences import verdicts_said
from simjudge.questions.report.fiftyone_export import write_fiftyone
from simjudge.questions.report.rerun_export import write_rrd
from simjudge.results.saved_result import RESULT, load_result

_USED = ("to", "overwrite")
_LOOK = {
    RRD: "rerun {out}",
    FIFTYONE: "python -c \"import fiftyone as fo; d = fo.Dataset.from_dir('{out}', "
    'dataset_type=fo.types.FiftyOneDataset); fo.launch_app(d).wait()"',
}
"""How to look at what was written."""


def export_report(
    folders: Sequence[Path], out: Path, settings: ReportSettings, log: Log, progress: ProgressBar
) -> Report:
    """Write a comparison as a recording for rerun, or as a data set for FiftyOne.

    Args:
        settings: which of both, and whether something else there may be replaced.
    """
    if len(folders) != 1 or not (folders[0] / RESULT).is_file():
        raise UsageError(f"--to {settings.to}: needs one folder that simjudge compare wrote")
    changed = [f.name for f in fields(settings) if f.name not in _USED and getattr(settings, f.name) != f.default]
    if changed:
        raise UsageError(f"--{changed[0].replace('_', '-')}: is for pages; --to {settings.to} has no use for it")
    result = load_result(folders[0])
    with progress("writing frames") as advance:
        if settings.to == RRD:
            losses = write_rrd(result, out, advance, overwrite=settings.overwrite)
        else:
            losses = write_fiftyone(result, out, advance)
    log(f"to look at it: {_LOOK[settings.to].format(out=out)}")
    return Report(out, [": ".join(said) for said in verdicts_said(result)], losses)
