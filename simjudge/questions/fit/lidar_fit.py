"""What a fit of a lidar says: its numbers with intervals, and held-out clouds before and after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from simjudge.core.display import SummaryTable
from simjudge.core.errors import Losses
from simjudge.core.installed import version
from simjudge.questions.fit.camera_fit import PAGE_FILES, HeldOutW1, ParameterFit
from simjudge.questions.fit.divergence import DivergenceFit
from simjudge.questions.fit.lidar_renderings import LidarFile
from simjudge.questions.fit.ring_distributions import RingDistributions
from simjudge.sim.sensors.lidar.cloud_statistics import RingStatistics

FITTED_SENSORS, TRIED = "sensors.yaml", "tried.json"
"""Names of the fitted sensor file, and of what the judge said of every lidar that was tried, so that a fit goes on."""
NOISE_OF_LIDAR = ("range_noise", "drop_out")
"""Names of the numbers that are put on B's clouds, and of the figures of their distributions."""
DIVERGENCE = "divergence"
"""Name of the fitted width of beams, and of its figure."""
LIDAR_PAGE_FILES = (*PAGE_FILES, *(f"{name}{suffix}" for name in (*NOISE_OF_LIDAR, DIVERGENCE)
                                   for suffix in (".svg", ".pdf", ".png", ".csv")))  # fmt: skip
"""Names of all files of the page."""


@dataclass(frozen=True)
class FittedDivergence:
    """The width of beams, by B's clouds rendered with several.

    Attributes:
        fit: what points on labelled things tell.
        value, low, high: horizontal, full angle, mrad, with its interval: what points tell, or the rendering that the
            judge prefers; then the interval reaches as far as it moved.
        files: of the renderings, B's own among them, by divergence.
        of: the file on whose clouds noise and drop-out were fitted: of the nearest rendering.
        w1: mean W1 of the fitted clouds with each rendering, with A's noise and drop-out; over draws of the noise.
    """

    fit: DivergenceFit
    value: float
    low: float
    high: float
    by_judge: bool
    files: tuple[LidarFile, ...]
    of: LidarFile
    w1: tuple[float, ...]

    def content(self) -> dict[str, Any]:
        """The entry of fit.json."""
        files = [{"file": str(each.path), "divergence": list(each.divergence), "w1": w1}
                 for each, w1 in zip(self.files, self.w1, strict=True)]  # fmt: skip
        numbers = {"value": self.value, "low": self.low, "high": self.high, "by_judge": self.by_judge}
        return numbers | {"points": self.fit.content(), "renderings": files, "fitted_on": str(self.of.path)}


@dataclass(frozen=True)
class LidarFit:
    """The lidar under which B predicts A best.

    Attributes:
        parameters: range noise and drop-out that B's clouds get beside what they have; before them the divergence that
            replaces B's, where it was fitted.
        by_judge: whether the judge moved them; otherwise they are those of the rings' statistics.
        statistics: of A's and of B's clouds.
        before, start, after: W1 of held-out clouds as B is, with the statistics' values, and fitted.
        fitted_w1: of the clouds of the fit, likewise: means over draws of the noise that the search did not see.
        seen: whether the fitted clouds' W1 is lower with the fitted values than without.
        clouds: of the fit, and held out, of B.
        course: W1 of the fitted clouds for each lidar that was tried.
        distributions: of range noise and drop-out in held-out clouds, with a draw of the noise of their own.
        divergence: where B was rendered with several; else None.
        losses: what was left out.
        sensor, items: what was fitted, and what a set holds, as pages call them.
    """

    parameters: tuple[ParameterFit, ...]
    by_judge: bool
    statistics: tuple[RingStatistics, RingStatistics]
    before: HeldOutW1
    start: HeldOutW1
    after: HeldOutW1
    fitted_w1: tuple[float, float, float]
    seen: bool
    clouds: tuple[int, int]
    course: tuple[float, ...]
    distributions: RingDistributions
    divergence: FittedDivergence | None = None
    losses: Losses = field(default_factory=Losses)
    sensor: ClassVar[str] = "lidar"
    items: ClassVar[str] = "clouds"

    def content(self) -> dict[str, Any]:
        """The content of fit.json (docs/guides/explain.md)."""
        return {
            "version": version(),
            "sensor": "lidar",
            "parameters": [vars(each) | {"told": each.told} for each in self.parameters],
            "by_judge": self.by_judge,
            "statistics": dict(zip("ab", map(vars, self.statistics), strict=True)),
            "held_out": {name: getattr(self, name).content() for name in ("before", "start", "after")},
            "fitted_w1": dict(zip(("before", "start", "after"), self.fitted_w1, strict=True)),
            "held_out_rings": self.distributions.content(),
            "divergence": None if self.divergence is None else self.divergence.content(),
            "seen_by_judge": self.seen,
            "clouds": {"fitted": self.clouds[0], "held_out": self.clouds[1]},
            "course": list(self.course),
            "losses": self.losses.lines(),
        }

    def table(self) -> SummaryTable:
        """One line a parameter."""
        rows = [
            (each.name, each.unit, f"{each.start:.4f}", f"{each.value:.4f}", f"{each.low:.4f} to {each.high:.4f}",
             f"{each.w1_without:.3f}", _verdict(each))
            for each in self.parameters
        ]  # fmt: skip
        return SummaryTable(("parameter", "unit", "start", "fitted", "95 %", "W1 without it", "verdict"), rows, 2)

    def sentences(self) -> list[str]:
        """What the fit means."""
        return [*self.outcome(), *self.unknowns()]

    def outcome(self) -> list[str]:
        """What the fit found."""
        moved = f"W1 is {self.before.mean_w1:.3f} before and {self.after.mean_w1:.3f} after"
        floor = self.after.certainty.noise
        chance = "" if floor is None else f"; chance alone gives {floor:.3f}"
        words = [f"On {self.clouds[1]} clouds that were not fitted, {moved}{chance}."]
        if self.after.mean_w1 > self.before.mean_w1:
            words.append("The fitted lidar is no better there: do not use it.")
        if self.divergence is not None:
            found, told, own = self.divergence, self.divergence.fit, self.parameters[0].neutral
            words.append(f"Points on labelled things fall off with distance as with beams of {told.value:.2f} mrad"
                         f" ({told.low:.2f} to {told.high:.2f}); B's beams have {own:g}.")  # fmt: skip
            if found.by_judge:
                words.append(f"The judge prefers {found.value:g} mrad.")
        return words

    def unknowns(self) -> list[str]:
        """What the clouds do not tell."""
        words = []
        if not self.by_judge:
            words.append("The judge cannot tell the parameters: the values are those of the rings' statistics.")
        if not self.seen:
            words.append("The judge does not see that B lacks them: W1 of the fitted clouds is no lower with them.")
        open_names = [each.name for each in self.parameters if not each.told]
        if open_names:
            words.append(f"These clouds cannot tell {', '.join(open_names)}.")
        if self.divergence is None:
            words.append("Divergence is not fitted, because it needs rays: render B's scans with other divergences"
                         " (--rendered).")  # fmt: skip
        elif self.divergence.fit.at_edge:
            words.append("The divergence is at the edge of what was rendered: render B's scans with others beyond it.")
        return words


def _verdict(parameter: ParameterFit) -> str:
    by = "points on things" if parameter.name == DIVERGENCE else "the rings"
    return f"told by {by}" if parameter.told else "cannot be told"
