"""Result folders of `objects`."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.progress import Log
from simjudge.page.kept_result import ResultKind
from simjudge.page.report_settings import Report, ReportSettings
from simjudge.questions.objects.page import report_objects
from simjudge.questions.objects.result import ObjectComparisonResult
from simjudge.questions.objects.saved import load_object_result


class ObjectsKind(ResultKind):
    """Known by objects.json."""

    noun = "one of objects"

    def load(self, folder: Path) -> ObjectComparisonResult:
        """The comparison by objects."""
        return ObjectComparisonResult(load_object_result(folder), folder)

    def report(self, folder: Path, out: Path, settings: ReportSettings, log: Log) -> Report:
        """The table of metrics, and all series over time."""
        return report_objects(folder, out, settings, log)


KIND = ObjectsKind()
