"""What a report shows and which files it writes, declared once (see `simjudge.core.settings`), and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simjudge.core.errors import Losses, UsageError
from simjudge.core.settings import Settings, TextForm, setting

Labels = tuple[tuple[str, str], ...]
"""Pairs of "a", "b", the name of a set or of a result, and what the page calls it."""


def parse_labels(given: str | Mapping[str, str] | Iterable[str | tuple[str, str]]) -> Labels:
    """Read what the page calls sets and results.

    Args:
        given: a text such as "a=Lab, camera 2", several of them, or names by names.

    Returns:
        A pair for each label: the old name and the new one.

    Raises:
        UsageError: a text is not of this form, or a thing gets two labels.
    """
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


_LABELS = TextForm(
    parse_labels, lambda pairs: ",".join(f"{old}={new}" for old, new in pairs), "OLD=NEW", several=True
)


@dataclass(frozen=True, kw_only=True)
class ReportSettings(Settings):
    """What a report shows, and which files it writes beside the page.

    Attributes:
        title: heading of the page; empty for the question that it answers.
        label: other names for sets and results.
        csv, latex: files for the numbers and for the tables; None for none.
        figures: folder for the figures; None for none.
        overwrite: whether files that no report wrote may be replaced; earlier pages and tables always are.
    """

    title: str = setting("", "Heading of the page; by default the question that it answers.")
    label: Labels | None = setting(
        None, "Name on the page of a set (a, b or its name) or of a result; repeatable.", form=_LABELS
    )
    csv: Path | None = setting(None, "Also write the numbers, one row a result and class.")
    latex: Path | None = setting(None, "Also write the table of each result as LaTeX, for papers.")
    figures: Path | None = setting(
        None, "Also write each figure as SVG, PDF and PNG, into a subfolder a result of this folder."
    )
    overwrite: bool = setting(default=False, help="Replace files that no report wrote.")


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
