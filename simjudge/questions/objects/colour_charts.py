"""Histograms of hue, saturation and value of a real and a virtual camera as figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simjudge.reports.palette import LIGHT
from simjudge.reports.report_figure import ReportFigure, add_axes, plain_text, report_style

_PANEL, _HEIGHT = 250.0, 190.0
"""Points: width and height of a panel."""
_MARGINS = (46.0, 10.0, 34.0, 42.0)


def colour_figure(rows: Sequence[Mapping[str, Any]]) -> ReportFigure:
    """Draw the histograms of one subject, a panel for each channel.

    Args:
        rows: of objects.json, `colours`, all of one subject.

    Returns:
        The figure.
    """
    subject = colour_subject(rows[0])
    with report_style():
        figure = ReportFigure(_PANEL * len(rows), _HEIGHT, f"Hue, saturation and value of {subject}, real and virtual.")
        for number, row in enumerate(rows):
            axes = add_axes(figure, (number * _PANEL, 0, _PANEL, _HEIGHT), _MARGINS)
            for side, colour in (("real", "a"), ("virtual", "b")):
                percent = [100 * share for share in row[side]]
                axes.stairs(percent, row["edges"], color=LIGHT[colour], linewidth=1.5, label=side)
            axes.set_xlim(row["edges"][0], row["edges"][-1])
            axes.set_ylim(bottom=0)
            axes.set_xlabel(f"{row['channel']} [{row['unit']}]" if row["unit"] else row["channel"])
            axes.locator_params(nbins=5)
            if number == 0:
                axes.set_title(plain_text(f"{subject}: share of the pixels [%]", 44), fontsize=11, loc="left")
    return figure


def colour_subject(row: Mapping[str, Any]) -> str:
    """What histograms are of, for a person.

    Args:
        row: of objects.json, `colours`.
    """
    return str(row["subject"]) or "whole pictures"
