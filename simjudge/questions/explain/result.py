"""What an explanation says: the gap, the share of each cause (Shapley values), and how sure both are.

A game gives every set of causes the gap that is left once these causes are undone. The Shapley value of a cause
(Shapley, 1953) is by how much undoing it lowers the gap, on average over all orders in which causes can be undone.
The values of all causes add up to the gap before less the gap after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import factorial
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.installed import version
from simjudge.method.certainty import Certainty
from simjudge.method.verdicts import MARGIN
from simjudge.results.saved_result import write_json, write_rows
from simjudge.sim.sensors.camera_matching.cause_names import SCENE_CAUSES

SHAPLEY, FORWARD = "shapley", "forward order"
"""How the gap was shared."""
MOST_SHAPLEY = 5
"""Causes up to which all sets of them are tried: 2^5."""
Causes = frozenset[str]
"""A set of causes."""
Game = Mapping[Causes, FloatArray]
"""By set of causes that are undone, the gap that is left: (D,), the truth first, then under each resample."""


def all_subsets(causes: Sequence[str]) -> list[Causes]:
    """All sets of some causes, smaller ones first."""
    return [frozenset(chosen) for size in range(len(causes) + 1) for chosen in combinations(causes, size)]


def shapley_values(game: Game, causes: Sequence[str]) -> dict[str, FloatArray]:
    """Share a gap by Shapley values, in the truth and in every resample.

    Returns by cause, (D,): by how much it lowers the gap, averaged over orders. They add up to game[{}] - game[all].
    """
    count = len(causes)
    found = {}
    for cause in causes:
        others = [other for other in causes if other != cause]
        total = np.zeros_like(game[frozenset()], dtype=np.float64)
        for before in all_subsets(others):
            weight = factorial(len(before)) * factorial(count - len(before) - 1) / factorial(count)
            total += weight * (game[before] - game[before | {cause}])
        found[cause] = total
    return found


def forward_order(
    causes: Sequence[str], gaps: Callable[[Sequence[Causes]], Sequence[FloatArray]]
) -> dict[str, FloatArray]:
    """Share a gap step by step: at each step the cause is undone that lowers the gap most.

    `gaps`: gives the gap, (D,) each, for some sets of causes that are undone; returns by cause, in this order, (D,): by
    how much it lowered the gap in its turn.
    """
    undone: Causes = frozenset()
    [left] = gaps([undone])
    found: dict[str, FloatArray] = {}
    open_causes = list(causes)
    while open_causes:
        tried = gaps([undone | {cause} for cause in open_causes])
        best = int(np.argmin([attempt[0] for attempt in tried]))
        cause = open_causes.pop(best)
        found[cause] = left - tried[best]
        undone, left = undone | {cause}, tried[best]
    return found


def resampled_interval(values: FloatArray) -> tuple[float, float]:
    """A 95 % interval around the truth, as wide as resamples spread.

    Resamples of W1 are biased, so that their spread counts and not their place (method, section 6). `values`: (D,), the
    truth first.
    """
    draws = values[1:][np.isfinite(values[1:])]
    if not len(draws):
        return float(values[0]), float(values[0])
    spread = float(np.abs(np.quantile(draws, [0.025, 0.975]) - draws.mean()).max())
    return float(values[0] - spread), float(values[0] + spread)


def share_of_whole(value: FloatArray, whole: FloatArray) -> FloatArray:
    """A part as a share of the whole, to first order: a draw whose whole gap is next to 0 has no ratio.

    `value`: (D,) the part, the truth first; `whole`: (D,) the whole, whose truth is not 0; returns float64 (D,).
    """
    share = float(value[0] / whole[0])
    return np.asarray(share + (value - value[0] - share * (whole - whole[0])) / whole[0])


def order_certainty(shares: Mapping[str, FloatArray]) -> tuple[float | None, float | None]:
    """How sure the order of causes is.

    Resamples are moved so that their mean is the truth. `shares`: by cause, (D,), the truth first.
    """
    if len(shares) < 2:
        return None, None
    table = np.stack(list(shares.values()))
    truth, draws = table[:, 0], table[:, 1:]
    draws = draws[:, np.isfinite(draws).all(axis=0)]
    if not draws.shape[1]:
        return None, None
    moved = draws - draws.mean(axis=1, keepdims=True) + truth[:, None]
    order = np.argsort(-truth, kind="stable")
    first = moved.argmax(axis=0) == order[0]
    kept = (np.diff(moved[order], axis=0) <= 0).all(axis=0)
    return float(first.mean()), float(kept.mean())


EXPLANATION, EXPLANATION_TABLE = "explain.json", "explain.csv"
"""Names of the files in the folder of an explanation."""
EXPLAINS, WIDENS, CANNOT_TELL_CAUSE = "explains", "widens", "cannot be told"
"""What can be said of a cause: undoing it closes a part of the gap, widens it, or neither shows."""
UNLISTED = "not in the list"
"""What can be said where A's pixels close a part of the gap: no cause in the list does."""
RENDERED = "render"
"""Stands in place of a filter where B was rendered again."""
PIXELS_OF_A = "pixels_of_a"
"""Stands in place of a filter where A's pixels were put into B's pictures."""


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """1 or -1 where the interval lies on one side of 0, else 0."""
        return 1 if self.low > 0 else -1 if self.high < 0 else 0

    def content(self) -> list[float]:
        """Value, low and high."""
        return [self.value, self.low, self.high]


@dataclass(frozen=True)
class FilterUse:
    """A filter, or another change, that undoes a cause."""

    name: str
    parameters: Mapping[str, object]


@dataclass(frozen=True)
class CauseShare:
    """One cause of a gap."""

    name: str  # name, words: as files and as sentences write it
    words: str
    side: str  # whose pictures or labels were changed to undo it, "a" or "b"
    filters: tuple[FilterUse, ...]  # what undoes it
    alone: Interval  # by how much the gap falls if it alone is undone
    after_others: Interval  # by how much the gap falls if it is undone last
    # its part of the gap; None where it was left out of the sharing, because neither way showed anything
    w1: Interval | None = None
    share: Interval | None = None  # the same as a share of the gap; None where the gap itself cannot be told from 0
    at_end: tuple[str, ...] = ()  # names of parameters at the end of the range that is looked for

    @property
    def verdict(self) -> str:
        """EXPLAINS, WIDENS or CANNOT_TELL_CAUSE; UNLISTED in place of the first where A's pixels were put in."""
        sign = 0 if self.share is None else self.share.sign
        return {1: UNLISTED if self.name in SCENE_CAUSES else EXPLAINS, -1: WIDENS, 0: CANNOT_TELL_CAUSE}[sign]

    def content(self) -> dict[str, object]:
        """The cause as explain.json has it."""
        return {
            "cause": self.name,
            "changed": self.side,
            "filters": [dict(vars(filter_use)) for filter_use in self.filters],
            "alone": self.alone.content(),
            "after_others": self.after_others.content(),
            "w1": None if self.w1 is None else self.w1.content(),
            "share": None if self.share is None else self.share.content(),
            "verdict": self.verdict,
            "at_end": list(self.at_end),
        }


@dataclass(frozen=True)
class Explanation:
    """Why B predicts A badly.

    Attributes:
        names: of A and B.
        frames: of A and B, compared.
        mean_w1: of the comparison as it is.
        certainty: noise, gap, p and verdict of the comparison as it is.
        causes: the largest part first; those that were left out of the sharing last.
        rest: the gap that is left where every cause of the sharing is undone.
        rest_share: the same as a share of the gap; None where the gap cannot be told from 0.
        sharing: "shapley" or "forward order".
        first_sure, order_sure: share of resamples in which the first cause is first, and in which the order holds.
        without_effect: causes that were looked for and not found in the pictures.
        not_tried: causes that were not looked for, with the reason and what would help.
        rendered: whether B could be rendered again, so that what is left over is not the camera's.
        changed_b: B rendered with all of these causes undone; None where nothing was, or where it was not kept.
        runs: how often the detector ran over a set; what an earlier run left was not detected again.
        losses: what was left out.
    """

    names: tuple[str, str]
    frames: tuple[int, int]
    mean_w1: float | None
    certainty: Certainty
    causes: tuple[CauseShare, ...]
    rest: Interval
    rest_share: Interval | None
    sharing: str
    first_sure: float | None
    order_sure: float | None
    without_effect: tuple[str, ...]
    parameters: dict[str, object] = field(default_factory=dict)
    runs: int = 0
    losses: Losses = field(default_factory=Losses)
    not_tried: Mapping[str, str] = field(default_factory=dict)
    rendered: bool = False
    changed_b: FrameSet | None = field(default=None, repr=False, compare=False)

    @property
    def is_gap(self) -> bool:
        """Whether `compare` calls the difference a gap."""
        return self.certainty.verdict.differs and bool(self.certainty.gap)

    @property
    def margin(self) -> float:
        """Difference of performance from which a gap matters."""
        margin = self.parameters.get("margin", MARGIN)
        return margin if isinstance(margin, int | float) else MARGIN

    @property
    def shared(self) -> Sequence[CauseShare]:
        """The causes that have a part of the gap."""
        return [cause for cause in self.causes if cause.w1 is not None]

    def content(self) -> dict[str, object]:
        """The content of explain.json (docs/guides/explain.md)."""
        sure = self.certainty
        return {
            "version": version(),
            "a": {"name": self.names[0], "frames": self.frames[0]},
            "b": {"name": self.names[1], "frames": self.frames[1]},
            "parameters": self.parameters,
            "mean_w1": self.mean_w1,
            "noise": sure.noise,
            "noise_q95": sure.noise_q95,
            "gap": sure.gap,
            "gap_low": sure.gap_low,
            "gap_high": sure.gap_high,
            "p_value": sure.p_value,
            "verdict": sure.verdict,
            "is_gap": self.is_gap,
            "sharing": self.sharing,
            "causes": [cause.content() for cause in self.causes],
            "rest": self.rest.content(),
            "rest_share": None if self.rest_share is None else self.rest_share.content(),
            "first_sure": self.first_sure,
            "order_sure": self.order_sure,
            "without_effect": list(self.without_effect),
            "not_tried": dict(self.not_tried),
            "rendered": self.rendered,
            "losses": self.losses.lines(),
        }

    def save(self, folder: Path) -> None:
        """Write explain.json and explain.csv.

        Args:
            folder: where; it exists.

        Raises:
            SimjudgeError: a file cannot be written.
        """
        write_json(folder / EXPLANATION, self.content())
        write_rows(folder / EXPLANATION_TABLE, [self._row(cause) for cause in self.causes])

    @staticmethod
    def _row(cause: CauseShare) -> dict[str, object]:
        row: dict[str, object] = {
            "cause": cause.name,
            "changed": cause.side,
            "verdict": cause.verdict,
            "at_end": " ".join(cause.at_end),
        }
        for name, value in (
            ("alone", cause.alone),
            ("after_others", cause.after_others),
            ("w1", cause.w1),
            ("share", cause.share),
        ):
            for part in ("value", "low", "high"):
                column = name if part == "value" else f"{name}_{part}"
                row[column] = "" if value is None else getattr(value, part)
        return row
