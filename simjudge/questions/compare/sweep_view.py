"""What pages show of a sweep: its charts, and the key to their colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from simjudge.method.method import Method
from simjudge.page.inline_svg import FigureEmbedder
from simjudge.page.palette import entry_colours
from simjudge.questions.compare.figures import sweep_panels
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import Curve, Result, ResultEntry


@dataclass(frozen=True)
class SweepCharts:
    """How the answer depends on theta and on the patch.

    Attributes:
        axes: for each setting that was varied a heading, and its charts by name.
        keys: label and colour name of each class that is drawn.
        has_noise: whether noise was computed.
    """

    axes: list[tuple[str, list[tuple[str, Markup]]]]
    keys: list[tuple[str, str]]
    has_noise: bool


def sweep_charts(result: Result, embedder: FigureEmbedder) -> SweepCharts | None:
    """Draw the sweep of a result.

    Returns:
        The charts; None for a result without a sweep.
    """
    if not result.curves:
        return None
    shown = sweep_entries(result.curves)
    axes = [
        (heading, [(name, embedder.embed(figure)) for name, figure in drawn]) for heading, drawn in sweep_panels(result)
    ]
    keys = list(zip((e.label for e in shown), entry_colours(shown), strict=True))
    has_noise = any(e.numbers.noise is not None for c in result.curves for e in c.entries)
    return SweepCharts(axes, keys, has_noise)


DEFAULT_THETA = Method.theta
"""Similarity threshold that a sweep marks as the default."""
MAX_SWEEP_CLASSES = 8
"""The most entries that a sweep draws."""


@dataclass(frozen=True)
class SweepAxis:
    """A setting that a sweep varies.

    Attributes:
        label: what it is called.
        value: gets it from a point of the sweep.
        held: says in words what the other setting of this point is.
    """

    label: str
    value: Callable[[Curve], float]
    held: Callable[[Curve], str]


THETA_AXIS = SweepAxis("theta", lambda c: c.theta, lambda c: f"patch {c.patch[1]} × {c.patch[0]}")
PATCH_AXIS = SweepAxis("patch height", lambda c: float(c.patch[0]), lambda c: f"theta {c.theta:g}")
_PAPERS = (f"patch {Method.patch[1]} × {Method.patch[0]}", f"theta {DEFAULT_THETA:g}")
"""What is held in the paper's sweep."""


@dataclass(frozen=True)
class SweepLine:
    """Points of a sweep along one setting, by rising value; the other setting is held.

    Attributes:
        axis: the setting that varies.
        points: at least two points.
        mark: the value that a chart marks: the default theta, and the patch at which theta was varied; None for none.
    """

    axis: SweepAxis
    points: tuple[Curve, ...]
    mark: float | None

    @property
    def mark_text(self) -> str:
        """What the mark is, in words."""
        return f"{'the default' if self.axis is THETA_AXIS else 'the patch at which theta is varied'}, {self.mark:g}"

    @property
    def heading(self) -> str:
        """Which setting varies, and what is held."""
        return f"{self.axis.label} varied, {self.axis.held(self.points[0])}"


def sweep_lines(curves: Sequence[Curve]) -> list[SweepLine]:
    """Find what a sweep can draw.

    Returns:
        A line for each setting along which two points or more share the other setting. Among several such lines it is
        the fullest one; among equally full ones the one that holds the paper's setting.
    """
    out: list[SweepLine] = []
    for axis in (THETA_AXIS, PATCH_AXIS) if curves else ():
        groups: dict[str, dict[float, Curve]] = {}
        for curve in curves:
            groups.setdefault(axis.held(curve), {})[axis.value(curve)] = curve
        line = groups[max(groups, key=lambda held: (len(groups[held]), held in _PAPERS))]
        if len(line) > 1:
            at_patch = PATCH_AXIS.value(out[0].points[0]) if out else None
            mark = DEFAULT_THETA if axis is THETA_AXIS else at_patch
            out.append(SweepLine(axis, tuple(line[x] for x in sorted(line)), mark))
    return out


def sweep_entries(curves: Sequence[Curve]) -> list[ResultEntry]:
    """Choose the entries that a sweep draws.

    Returns:
        All classes together and the classes with most contexts in A, MAX_SWEEP_CLASSES at most, in the file's order.
    """
    entries = curves[0].entries
    ranked = sorted(entries, key=lambda e: (e.key != OVERALL, -e.numbers.n_a))[:MAX_SWEEP_CLASSES]
    kept = {e.key for e in ranked}
    return [e for e in entries if e.key in kept]
