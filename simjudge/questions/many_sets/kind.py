"""Result folders of a comparison of many sets."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.progress import Log
from simjudge.page.kept_result import ResultKind
from simjudge.page.report_settings import Report, ReportSettings
from simjudge.questions.many_sets.page import report_sets
from simjudge.questions.many_sets.result import SetsComparisonResult
from simjudge.questions.many_sets.saved import load_many_sets


class SetsKind(ResultKind):
    """Known by sets.json."""

    noun = "one of many sets"

    def load(self, folder: Path) -> SetsComparisonResult:
        """The comparison of many sets."""
        return SetsComparisonResult(load_many_sets(folder), folder)

    def report(self, folder: Path, out: Path, settings: ReportSettings, log: Log) -> Report:
        """Which set predicts which, for each net."""
        return report_sets(folder, out, settings, log)


KIND = SetsKind()
