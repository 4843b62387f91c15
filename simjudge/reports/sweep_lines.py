"""Which lines of a sweep can be drawn: points that share every setting but one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simjudge.context.method import Method
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import Curve, ResultEntry

DEFAULT_THETA = Method.theta
"""Similarity threshold that a sweep marks as the default."""
DEFAULT_PATCH = Method.patch
"""Patch height and width in pixels that a sweep marks as the default."""
MAX_SWEEP_CLASSES = 8
"""The most entries that a sweep draws."""


@dataclass(frozen=True)
class SweepAxis:
    """A setting that a sweep varies.

    Attributes:
        label: what it is called.
        default: its default.
        value: gets it from a point of the sweep.
        held: says in words what the other setting of this point is.
    """

    label: str
    default: float
    value: Callable[[Curve], float]
    held: Callable[[Curve], str]


THETA_AXIS = SweepAxis("theta", DEFAULT_THETA, lambda c: c.theta, lambda c: f"patch {c.patch[1]} × {c.patch[0]}")
PATCH_AXIS = SweepAxis(
    "patch height", float(DEFAULT_PATCH[0]), lambda c: float(c.patch[0]), lambda c: f"theta {c.theta:g}"
)
_DEFAULTS_HELD = (f"patch {DEFAULT_PATCH[1]} × {DEFAULT_PATCH[0]}", f"theta {DEFAULT_THETA:g}")


@dataclass(frozen=True)
class SweepLine:
    """Points of a sweep along one setting, by rising value; the other setting is held.

    Attributes:
        axis: the setting that varies.
        points: at least two points.
    """

    axis: SweepAxis
    points: tuple[Curve, ...]

    @property
    def heading(self) -> str:
        """Which setting varies, and what is held."""
        return f"{self.axis.label} varied, {self.axis.held(self.points[0])}"


def sweep_lines(curves: Sequence[Curve]) -> list[SweepLine]:
    """Find what a sweep can draw.

    Args:
        curves: all points of the sweep.

    Returns:
        A line for each setting along which two points or more share the other setting. Among several such lines it is
        the fullest one; among equally full ones the one that holds the other setting's default.
    """
    out = []
    for axis in (THETA_AXIS, PATCH_AXIS) if curves else ():
        groups: dict[str, dict[float, Curve]] = {}
        for curve in curves:
            groups.setdefault(axis.held(curve), {})[axis.value(curve)] = curve
        line = groups[max(groups, key=lambda held: (len(groups[held]), held in _DEFAULTS_HELD))]
        if len(line) > 1:
            out.append(SweepLine(axis, tuple(line[x] for x in sorted(line))))
    return out


def sweep_entries(curves: Sequence[Curve]) -> list[ResultEntry]:
    """Choose the entries that a sweep draws.

    Args:
        curves: all points of the sweep, at least one.

    Returns:
        All classes together and the classes with most contexts in A, MAX_SWEEP_CLASSES at most, in the file's order.
    """
    entries = curves[0].entries
    ranked = sorted(entries, key=lambda e: (e.key != OVERALL, -e.numbers.n_a))[:MAX_SWEEP_CLASSES]
    kept = {e.key for e in ranked}
    return [e for e in entries if e.key in kept]
