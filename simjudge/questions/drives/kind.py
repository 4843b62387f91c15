"""Result folders of `compare-drives`."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.progress import Log
from simjudge.page.kept_result import ResultKind
from simjudge.page.report_settings import Report, ReportSettings
from simjudge.questions.drives.page import report_drives
from simjudge.questions.drives.result import DriveComparisonResult
from simjudge.questions.drives.saved import load_drive_result


class DrivesKind(ResultKind):
    """Known by drives.json."""

    noun = "one of compare-drives"

    def load(self, folder: Path) -> DriveComparisonResult:
        """The comparison of drives."""
        return DriveComparisonResult(load_drive_result(folder), folder)

    def report(self, folder: Path, out: Path, settings: ReportSettings, log: Log) -> Report:
        """The lines of both drives, and where they differ."""
        return report_drives(folder, out, settings, log)


KIND = DrivesKind()
