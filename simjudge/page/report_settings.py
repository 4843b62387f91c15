"""What a report shows and which files it writes, declared once (see `simjudge.core.settings`), and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simjudge.core.errors import Losses, UsageError
from simjudge.core.settings import Settings, TextForm, setting

HTML, RRD, MCAP, FIFTYONE = "html", "rrd", "mcap", "fiftyone"
"""What a report is written as: a page, a recording for rerun or for Foxglove, a data set for FiftyOne."""
DEFAULT_OUT = {HTML: "report.html", RRD: "report.rrd", MCAP: "report.mcap", FIFTYONE: "fiftyone"}
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

    csv: Path | None = setting(None, "Also write the numbers as CSV, one row per result and class.")
    latex: Path | None = setting(None, "Also write the table of each result as LaTeX, for papers.")
    figures: Path | None = setting(
        None, "Folder for each figure as SVG, PDF and PNG, with its numbers as CSV; one subfolder per result."
    )
    # whether files that no report wrote may be replaced; earlier pages and tables always are
    overwrite: bool = setting(default=False, help="Replace files that simjudge report did not write.")


@dataclass(frozen=True, kw_only=True)
class RecordingPageSettings(Settings, panel="Page of a recording"):
    """What the page of a recording shows."""

    instants: int = setting(4, "Number of instants at which clouds are shown, spread evenly.", low=1, high=1000)
    # the instants that it shows in place of `instants` even ones, seconds from the first cloud
    at: tuple[float, ...] | None = setting(
        None, "Instants at which clouds are shown, from the first cloud on, as 1.5,3.", unit="s", low=0
    )
    # metres around the sensor that its pictures of clouds show; None chooses
    radius: float | None = setting(
        None,
        "Range around the vehicle in which clouds are shown. Default: nearly all points.",
        unit="m",
        low=0.01,
        high=100_000,
    )
    topic: str | None = setting(None, "Point cloud topic. Default: all that a sensor measured.")
    image_topic: str | None = setting(
        None, "Image topic to show beside the clouds, or (also a rerun entity) to lay a result over."
    )


@dataclass(frozen=True, kw_only=True)
class LayerSettings(Settings, panel="Layer over your own recording"):
    """What a comparison is laid over."""

    # what the result is laid over: a recording (.rrd, .mcap, .db3, a folder), or the name of a FiftyOne data set
    onto: str | None = setting(
        None, "Own recording (or FiftyOne data set, by name) that the result is a layer for: same stamps and names."
    )
    # the set whose pictures the recording holds; None for the one that fits
    side: str | None = setting(
        None, "Set whose frames the recording holds. Default: the one that fits.", choices=("a", "b")
    )
    # write a copy of the recording with the layer in it, rather than a file beside it
    merged: bool = setting(default=False, help="Write a copy of the mcap recording with the layer's topics in it.")


@dataclass(frozen=True, kw_only=True)
class ReportSettings(ReportFileSettings, LayerSettings, RecordingPageSettings):
    """What a report shows, and which files it writes beside the page."""

    to: str = setting(
        HTML,
        "Output format of a comparison: html (page), rrd (rerun recording), mcap (topics for Foxglove and Lichtblick,"
        " with --onto), fiftyone (data set with W1, overlap and nearest contexts as fields).",
        choices=(HTML, RRD, MCAP, FIFTYONE),
    )
    # heading of the page; empty for the question that it answers
    title: str = setting("", "Heading of the page. Default: the question, or the recording's name.")
    # other names for sets and results
    label: Labels | None = setting(
        None, "Name of a set (a, b or its name) or of a result on the page; repeatable.", form=_LABELS
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
