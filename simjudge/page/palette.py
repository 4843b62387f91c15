"""Colours of the report, declared once: for the style sheet of the page and for the figures.

Figures are drawn in the light palette. The page replaces a colour of the palette by its CSS variable (inline_svg.py):
the same figure is readable in light mode, in dark mode and on paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simjudge.method.verdicts import Verdict
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import ResultEntry

LIGHT = {
    "page": "#f6f7f9",
    "panel": "#ffffff",
    "ink": "#1b2430",
    "soft": "#566173",
    "line": "#d9dee6",
    "grid": "#e8ebf0",
    "plane": "#e9ecf1",
    "a": "#1f6fc4",
    "b": "#d06010",
    "w1": "#7a4fb5",
    "band": "#c4cad4",
    "floor": "#6b7686",
    "large-gap": "#8c1220",
    "large-gap-tint": "#f8e1e3",
    "gap": "#b83a08",
    "gap-tint": "#fcebe0",
    "small-gap": "#8a6100",
    "small-gap-tint": "#faf0d6",
    "predicts": "#1b6e57",
    "predicts-tint": "#e6f3ee",
    "cannot-tell": "#2f5d9b",
    "cannot-tell-tint": "#e6eef8",
    "too-few": "#5a6472",
    "too-few-tint": "#eceff3",
    "none": "#5d4a8a",
    "none-tint": "#eeeaf7",
    "open": "#6a5b00",
    "open-tint": "#f7f1d2",
    "blue": "#1f6fc4",
    "orange": "#d06010",
    "green": "#1b8a5a",
    "magenta": "#a8327e",
    "yellow": "#a07c00",
    "indigo": "#5b5fc7",
    "teal": "#0e7c86",
    "red": "#c2291f",
}
"""CSS variable name to colour, on a light ground and on paper."""
DARK = {
    "page": "#12161c",
    "panel": "#1b2129",
    "ink": "#e6eaf0",
    "soft": "#9fabbb",
    "line": "#36404d",
    "grid": "#2a323d",
    "plane": "#79838f",
    "a": "#6fb1f5",
    "b": "#f59a4a",
    "w1": "#b998ee",
    "band": "#454f5d",
    "floor": "#a9b4c3",
    "large-gap": "#ff7f8c",
    "large-gap-tint": "#42181e",
    "gap": "#ff9d6b",
    "gap-tint": "#3d2415",
    "small-gap": "#e6bd55",
    "small-gap-tint": "#352b12",
    "predicts": "#6fd1b0",
    "predicts-tint": "#17322a",
    "cannot-tell": "#8fb8f0",
    "cannot-tell-tint": "#1b2a40",
    "too-few": "#aab4c2",
    "too-few-tint": "#2a3039",
    "none": "#b8a6e8",
    "none-tint": "#2a2440",
    "open": "#e3cd5c",
    "open-tint": "#34301a",
    "blue": "#6fb1f5",
    "orange": "#f59a4a",
    "green": "#63d09a",
    "magenta": "#f08cc8",
    "yellow": "#e8c93a",
    "indigo": "#a3a7f7",
    "teal": "#5fd0da",
    "red": "#ff7468",
}
"""The same names on a dark ground."""
SERIES = ("blue", "orange", "green", "magenta", "yellow", "indigo", "teal", "red")
"""Names of the colours that tell classes and results apart."""
VERDICT_COLOURS = {
    Verdict.LARGE_GAP: "large-gap",
    Verdict.GAP: "gap",
    Verdict.SMALL_GAP: "small-gap",
    Verdict.PREDICTS: "predicts",
    Verdict.CANNOT_TELL: "cannot-tell",
    Verdict.TOO_FEW: "too-few",
    Verdict.NO_OVERLAP: "none",
    Verdict.NOT_TESTED: "open",
}
"""Verdict to the name of its colour."""


def verdict_colour(verdict: str) -> tuple[int, int, int]:
    """The colour of a verdict on images and in RViz: that of the report on a dark ground."""
    return rgb(DARK[VERDICT_COLOURS[Verdict(verdict)]])


def class_colours(names: Iterable[str]) -> dict[str, tuple[int, int, int]]:
    """The colours of classes on images, clouds and in RViz: those of the report on a dark ground."""
    ordered = sorted(set(names))
    return {name: rgb(DARK[colour]) for name, colour in zip(ordered, series_colours(ordered), strict=True)}


def rgb(colour: str) -> tuple[int, int, int]:
    """Read a colour of a palette."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def css_variables(palette: dict[str, str]) -> str:
    """Declare the colours of a palette as CSS custom properties."""
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())


def series_colours(labels: Sequence[str]) -> list[str]:
    """Choose a colour for each label."""
    own = [next((w for w in label.lower().split() if w in SERIES), None) for label in labels]
    free = [c for c in SERIES if c not in own] or list(SERIES)
    taken = 0
    out = []
    for named in own:
        out.append(named or free[taken % len(free)])
        taken += named is None
    return out


def entry_colours(entries: Sequence[ResultEntry]) -> list[str]:
    """Choose a colour for each entry of one result."""
    given = iter(series_colours([e.label for e in entries if e.key != OVERALL]))
    return ["ink" if e.key == OVERALL else next(given) for e in entries]
