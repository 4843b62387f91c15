"""What a report shows and which files it writes, declared once (see `simjudge.core.settings`), and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simjudge.core.errors import Losses, UsageError
from simjudge.core.settings import Settings, TextForm, setting

HTML, RRD, FIFTYONE = "html", "rrd", "fiftyone"
"""What a report is written as: a page, a recording for rerun, a data set for FiftyOne."""
DEFAULT_OUT = {HTML: "report.html", RRD: "report.rrd", FIFTYONE: "fiftyone"}
"""Where it is written where no place is given."""

Labels = tuple[tuple[str, str], ...]
"""Pairs of "a", "b", the name of a set or of a result, and what the page calls it."""


def parse_labels(given: str | Mapping[str, str] | Iterable[str | tuple[str, str]]) -> Labels:
    """Read what the page calls sets and results."""
    rows = [given] if isinstance(given, str) else given.items() if isinstance(given, Mapping) else given
    labels: dict[str, str] = {}
    for row in rows:
        text = row if isinstance(row, str) else "=".join(row)
        old, _, new = row.partition("=") if isinstance(row, str) else (row[0], "=", row[1])
        old, new = old.strip(), new.strip()
        if not (old and new):
            raise UsageError(
                f"--label {text}: write OLD=NEW, such as a='Lab, camera 2'; OLD is a, b, a set or a result"
            )
        if old in labels:
            raise UsageError(f"--label {text}: {old} has a label already: {labels[old]}")
        labels[old] = new
    return tuple(labels.items())


_LABELS = TextForm(parse_labels, lambda pairs: ",".join(f"{old}={new}" for old, new in pairs), "OLD=NEW", several=True)


@dataclass(frozen=True, kw_only=True)
class ReportFileSettings(Settings, panel="Files beside the page"):
    """Which files are written beside the page."""

    csv: Path | None = setting(None, "Also write the numbers, one row a result and class.")
    latex: Path | None = setting(None, "Also write the table of each result as LaTeX, for papers.")
    figures: Path | None = setting(
        None, "Also write each figure as SVG, PDF, PNG and its numbers as CSV here; each result has a subfolder."
    )
    # whether files that no report wrote may be replaced; earlier pages and tables always are
    overwrite: bool = setting(default=False, help="Replace files that no report wrote.")


@dataclass(frozen=True, kw_only=True)
class RecordingPageSettings(Settings, panel="Page of a recording"):
    """What the page of a recording shows."""

    instants: int = setting(4, "How many instants show its clouds, spread evenly over it.", low=1, high=1000)
    # the instants that it shows in place of `instants` even ones, seconds from the first cloud
    at: tuple[float, ...] | None = setting(
        None, "These instants instead, from its first cloud, as 1.5,3.", unit="s", low=0
    )
    # metres around the sensor that its pictures of clouds show; None chooses
    radius: float | None = setting(
        None,
        "How far around the car its clouds are shown; by default a square with nearly all of it.",
        unit="m",
        low=0.01,
        high=100_000,
    )
    topic: str | None = setting(None, "Topic of the clouds; by default all that a sensor measured.")
    image_topic: str | None = setting(None, "Topic of the camera's pictures beside the clouds.")


@dataclass(frozen=True, kw_only=True)
class ReportSettings(ReportFileSettings, RecordingPageSettings):
    """What a report shows, and which files it writes beside the page."""

    to: str = setting(
        HTML,
        "What to write of a comparison: html, the page; rrd, a recording for rerun; fiftyone, a data set with W1, "
        "overlap and nearest contexts as fields.",
        choices=(HTML, RRD, FIFTYONE),
    )
    # heading of the page; empty for the question that it answers
    title: str = setting("", "Heading of the page; by default the question that it answers, or the recording's name.")
    # other names for sets and results
    label: Labels | None = setting(
        None, "Name on the page of a set (a, b or its name) or of a result; repeatable.", form=_LABELS
    )


@dataclass(frozen=True)
class Report:
    """A report that was written."""

    path: Path  # the page; it opens from disk
    sentences: list[str]  # the verdict of every result and class; of a recording, the numbers of every sensor
    losses: Losses = field(default_factory=Losses, repr=False)  # what could not be shown, such as damaged crops

    def __str__(self) -> str:
        """The sentences, one a line."""
        return "\n".join(self.sentences)
