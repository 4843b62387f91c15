"""The files of a calibration: a YAML file and, beside it, a plot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.files import atomic_file, begins_with, check_output, output_path
from simjudge.page.figures import ReportFigure


@dataclass(frozen=True)
class CalibrationFiles:
    """Where a calibration is written."""

    path: Path
    plot_path: Path

    @classmethod
    def check(cls, out: str | Path, first_words: str, noun: str, *, overwrite: bool) -> CalibrationFiles:
        """Make sure, before long work, that the files can be written.

        Args:
            first_words: how a file of the same command begins; it is replaced.
        """
        path = output_path(Path(out))
        if path.suffix not in (".yaml", ".yml"):
            raise UsageError(f"--out {out}: {noun} ends in .yaml")
        plot_path, ours = path.with_suffix(".svg"), begins_with(path, first_words)
        for each in (path, plot_path):
            check_output(each, lambda _: ours, overwrite=overwrite)
        return cls(path, plot_path)

    def write(self, text: str, figure: ReportFigure) -> None:
        """Write both."""
        with atomic_file(self.plot_path) as temporary:
            figure.savefig(temporary, format="svg")
        with atomic_file(self.path) as temporary:
            temporary.write_text(text, encoding="utf-8")
