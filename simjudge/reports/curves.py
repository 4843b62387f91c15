"""Sweep curves: W1, overlap and batch size against theta and against the patch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from simjudge.reports.svg import Chart, number_text, round_up
from simjudge.reports.verdicts import entry_colours
from simjudge.reports.words import number, percent
from simjudge.results.saved_result import OVERALL, Curve, Entry

DEFAULT_THETA, DEFAULT_PATCH = 0.8, (120, 120)
SHOWN = 8


@dataclass(frozen=True)
class Sweep:
    """The charts along one axis.

    Attributes:
        heading: which axis, and what was held.
        charts: (name, chart) pairs.
    """

    heading: str
    charts: tuple[tuple[str, Markup], ...]


@dataclass(frozen=True)
class _Axis:
    """What is varied: its name, its default, how to get it from a curve, and what is held meanwhile."""

    label: str
    default: float
    of: Callable[[Curve], float]
    held: Callable[[Curve], str]


_THETA = _Axis("theta", DEFAULT_THETA, lambda c: c.theta, lambda c: f"patch {c.patch[1]} × {c.patch[0]}")
_PATCH = _Axis("patch height", float(DEFAULT_PATCH[0]), lambda c: float(c.patch[0]), lambda c: f"theta {c.theta:g}")
_DEFAULTS_HELD = (f"patch {DEFAULT_PATCH[1]} × {DEFAULT_PATCH[0]}", f"theta {DEFAULT_THETA:g}")


def sweeps(curves: Sequence[Curve]) -> list[Sweep]:
    """Charts for each axis along which at least two points share the other setting.

    Where there are several such lines, the fullest one; among equally full ones that which holds the default.
    """
    out = []
    for axis in (_THETA, _PATCH):
        groups: dict[str, dict[float, Curve]] = {}
        for curve in curves:
            groups.setdefault(axis.held(curve), {})[axis.of(curve)] = curve
        line = groups[max(groups, key=lambda held: (len(groups[held]), held in _DEFAULTS_HELD))]
        if len(line) > 1:
            points = [line[x] for x in sorted(line)]
            out.append(Sweep(f"{axis.label} varied, {axis.held(points[0])}", tuple(_charts(points, axis))))
    return out


def shown_keys(curves: Sequence[Curve]) -> list[tuple[str, str, str]]:
    """(key, label, colour) of what has a curve: all classes together, and the classes with most contexts in A."""
    entries = curves[0].entries
    ranked = sorted(entries, key=lambda e: (e.key != OVERALL, -e.count("n_a")))[:SHOWN]
    kept = {e.key for e in ranked}
    shown = [e for e in entries if e.key in kept]
    return [(e.key, e.label, colour) for e, colour in zip(shown, entry_colours(shown), strict=True)]


def _charts(points: Sequence[Curve], axis: _Axis) -> list[tuple[str, Markup]]:
    batch = _largest(points, ("mean_batch_a", "mean_batch_b"))
    w1 = _largest(points, ("mean_w1",))
    shares = [(v / 4, percent(v / 4)) for v in range(5)]
    batches = ("mean_batch_a", "mean_batch_b")
    return [
        ("mean W1", _chart(points, axis, "mean W1", round_up(max(w1, 0.05)), ("mean_w1",))),
        ("overlap", _chart(points, axis, "overlap", 1.0, ("overlap_a", "overlap_b"), shares)),
        ("batch size", _chart(points, axis, "batch size", round_up(max(batch, 1.0)), batches)),
    ]


def _largest(points: Sequence[Curve], fields: tuple[str, ...]) -> float:
    return max((e.number(f) or 0.0 for c in points for e in c.entries for f in fields), default=0.0)


def _chart(
    points: Sequence[Curve],
    axis: _Axis,
    y_label: str,
    top: float,
    fields: tuple[str, ...],
    y_ticks: Sequence[tuple[float, str]] | None = None,
) -> Markup:
    xs = [axis.of(c) for c in points]
    margin = (xs[-1] - xs[0]) * 0.03
    ticks = [(x, number_text(x)) for x in (xs if len(xs) <= 9 else xs[:: (len(xs) + 8) // 9])]
    chart = Chart(
        f"{y_label} against {axis.label}.", (xs[0] - margin, xs[-1] + margin), (0, top), axis.label, y_label,
        x_ticks=ticks, y_ticks=y_ticks,
    )  # fmt: skip
    if xs[0] <= axis.default <= xs[-1]:
        chart.upright(axis.default, "default", f"the default, {axis.default:g}")
    for key, label, colour in shown_keys(points):
        for field, dashed in zip(fields, ("", " dashed"), strict=False):
            _line(chart, points, axis, (key, label, field), f"{colour}{dashed}")
    return chart.svg()


def _line(chart: Chart, points: Sequence[Curve], axis: _Axis, what: tuple[str, str, str], css: str) -> None:
    key, label, field = what
    known: list[tuple[float, float, Entry]] = []
    for curve in points:
        entry = next((e for e in curve.entries if e.key == key), None)
        value = None if entry is None else entry.number(field)
        if entry is not None and value is not None:
            known.append((axis.of(curve), value, entry))
    chart.line([x for x, _, _ in known], [y for _, y, _ in known], css)
    for x, y, entry in known:
        chart.dot(x, y, f"point {css}", f"{label}, {axis.label} {x:g}: {_hover(entry, field, y)}", 3.0)


def _hover(entry: Entry, field: str, value: float) -> str:
    if field == "mean_w1":
        floor = entry.number("floor_mean")
        return f"mean W1 {number(value)}" + (f", floor {number(floor)}" if floor is not None else ", no floor computed")
    return f"{field} {number(value)}"
