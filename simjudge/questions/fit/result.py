"""What a fit of a camera or a lidar says: numbers with intervals, and held-out data before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import yaml

from simjudge.core.arrays import SummaryTable
from simjudge.core.errors import Losses
from simjudge.core.files import atomic_file
from simjudge.core.installed import CAMERA, find_file, version
from simjudge.core.text import Json, read_yaml
from simjudge.method.certainty import Certainty
from simjudge.questions.fit.lidar_estimates import DivergenceFit, LidarFile, RingDistributions
from simjudge.results.saved_result import write_json
from simjudge.sim.sensors.camera.calibration import holds_calibration
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import Step, encodes, one_chain
from simjudge.sim.sensors.lidar.beam_estimation import RingStatistics

FIT, FITTED_CAMERA = "fit.json", "camera.yaml"
"""Names of the files in the folder of a fit."""
PAGE, COURSE, BEFORE_AND_AFTER = "fit.html", "course", "held_out"
"""Names of the page and, without suffix, of its figures."""
PAGE_FILES = (
    PAGE,
    *(f"{name}{suffix}" for name in (COURSE, BEFORE_AND_AFTER) for suffix in (".svg", ".pdf", ".png", ".csv")),
)
"""Names of all files of the page."""


@dataclass(frozen=True)
class ParameterFit:
    """One fitted number."""

    name: str
    unit: str
    neutral: float
    start: float
    value: float
    low: float
    high: float
    w1_without: float  # W1 of the fitted frames if this number alone is neutral
    at_end: bool = False  # whether its interval reaches the end of the range that is looked for

    @property
    def told(self) -> bool:
        """Whether the frames tell it from the value that changes nothing."""
        return self.low > self.neutral or self.high < self.neutral


@dataclass(frozen=True)
class HeldOutW1:
    """W1 of the frames that the fit never saw."""

    mean_w1: float
    certainty: Certainty

    def content(self) -> dict[str, object]:
        """The entry of fit.json."""
        return {"mean_w1": self.mean_w1} | vars(self.certainty)


@dataclass(frozen=True)
class CameraFit:
    """The camera under which B predicts A best.

    Attributes:
        parameters: in the order in which they act in a camera.
        steps: the filters that B's pictures need, behind those that its camera has.
        before, start, after: W1 of held-out frames with B's own camera, with the starting values, and fitted.
        fitted_w1: of the frames of the fit, before, at the start, and after.
        frames: of the fit, and held out.
        evaluations: cameras that the judge tried.
        course: W1 of the fitted frames under each of these cameras, in the order in which they were tried.
        start_is_enough: whether the fitted frames show no gap with the starting values, so that nothing was searched.
        not_fitted: what B has more of than A, which no filter takes away.
        losses: what was left out.
        sensor, items: what was fitted, and what a set holds, as pages call them.
    """

    parameters: tuple[ParameterFit, ...]
    steps: tuple[Step, ...]
    before: HeldOutW1
    start: HeldOutW1
    after: HeldOutW1
    fitted_w1: tuple[float, float, float]
    frames: tuple[int, int]
    evaluations: int
    course: tuple[float, ...] = ()
    start_is_enough: bool = False
    not_fitted: tuple[str, ...] = ()
    losses: Losses = field(default_factory=Losses)
    sensor: ClassVar[str] = "camera"
    items: ClassVar[str] = "frames"

    def content(self) -> dict[str, object]:
        """The content of fit.json (docs/guides/explain.md)."""
        return {
            "version": version(),
            "parameters": [vars(parameter) | {"told": parameter.told} for parameter in self.parameters],
            "filters": [{"name": step.name, "parameters": dict(step.parameters)} for step in self.steps],
            "held_out": {name: getattr(self, name).content() for name in ("before", "start", "after")},
            "fitted_w1": dict(zip(("before", "start", "after"), self.fitted_w1, strict=True)),
            "frames": {"fitted": self.frames[0], "held_out": self.frames[1]},
            "evaluations": self.evaluations,
            "course": list(self.course),
            "start_is_enough": self.start_is_enough,
            "not_fitted": list(self.not_fitted),
            "losses": self.losses.lines(),
        }

    def table(self) -> SummaryTable:
        """One line a parameter."""
        rows = [
            (
                parameter.name,
                parameter.unit,
                f"{parameter.start:.3g}",
                f"{parameter.value:.3g}",
                _ends(parameter.low, parameter.high),
                f"{parameter.w1_without:.3f}",
                "told" if parameter.told else "cannot be told",
            )
            for parameter in self.parameters
        ]
        columns = ("parameter", "unit", "start", "fitted", "95 %", "W1 without it", "verdict")
        return SummaryTable(columns, rows, 2)

    def sentences(self) -> list[str]:
        """What the fit means."""
        before, after = self.before, self.after
        sure = after.certainty
        gap = f"the gap is {_shown(before.certainty.gap)} before and {_shown(sure.gap)} after"
        ends = "" if sure.gap_low is None or sure.gap_high is None else f" ({sure.gap_low:.3f} to {sure.gap_high:.3f})"
        moved = f"W1 {before.mean_w1:.3f} and {after.mean_w1:.3f}, by chance {_shown(sure.noise)}"
        words = [f"On {self.frames[1]} frames that were not fitted, {gap}{ends}; {moved}."]
        if after.mean_w1 > before.mean_w1:
            words.append("The fitted camera is no better there: do not use it.")
        if self.start_is_enough:
            words.append("With the starting values the fitted frames show no gap any more, so nothing was searched.")
        open_names = [parameter.name for parameter in self.parameters if not parameter.told]
        if open_names:
            words.append(f"These frames cannot tell {', '.join(open_names)}.")
        at_end = [parameter.name for parameter in self.parameters if parameter.at_end]
        if at_end:
            named = ", ".join(at_end)
            words.append(f"Up to the end of the range that is looked for: {named}. The true value may lie beyond.")
        if self.not_fitted:
            named = ", ".join(self.not_fitted)
            words.append(f"B has more {named} than A. No filter takes it away: change it where B's pictures are made.")
        return words

    def save(self, folder: Path, camera: Path | None = None) -> None:
        """Write fit.json, and the camera's file where a camera is given.

        Args:
            folder: where; it exists.
            camera: that made B's pictures: a file, or the name of one that comes with simjudge.

        Raises:
            SimjudgeError: the camera cannot be read, or a file cannot be written.
        """
        if camera is not None:
            write_fitted_camera(camera, self.steps, folder / FITTED_CAMERA)
        write_json(folder / FIT, self.content())


def write_fitted_camera(camera: Path, steps: Sequence[Step], out: Path) -> None:
    """Write a camera's file with further filters behind its own."""
    path = find_file(camera, CAMERA)
    read_camera(path)
    if holds_calibration(path):
        content: Json = {"calibration": str(path.resolve()), "rate": 30}
    else:
        content = dict(read_yaml(path).content)
        if isinstance(content.get("calibration"), str):
            content["calibration"] = str((path.parent / content["calibration"]).resolve())
    own = content.get("filters") or []
    chain = one_chain(read_camera(path).steps, steps) if encodes(steps) else list(steps)
    written = [_written(step) for step in chain]
    content["filters"] = written if encodes(steps) else [*own, *written]
    with atomic_file(out) as temporary:
        text = yaml.safe_dump(content, sort_keys=False)
        temporary.write_text(f"# {path.stem}, fitted by simjudge fit: its last filters.\n{text}", encoding="utf-8")
    read_camera(out)


def _written(step: Step) -> Json | str:
    parameters: Json = {name: _rounded(value) for name, value in step.parameters.items()}
    return {step.name: parameters} if step.parameters else step.name


def _rounded(value: float | str) -> float | str:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _ends(low: float, high: float) -> str:
    """An interval with as many digits as tell its ends apart, six at most."""
    for digits in range(3, 7):
        shown = f"{low:.{digits}g}", f"{high:.{digits}g}"
        if shown[0] != shown[1]:
            break
    return " to ".join(shown)


FITTED_SENSORS, TRIED = "sensors.yaml", "tried.json"
"""Names of the fitted sensor file, and of what the judge said of every lidar that was tried, so that a fit goes on."""
NOISE_OF_LIDAR = ("range_noise", "drop_out")
"""Names of the numbers that are put on B's clouds, and of the figures of their distributions."""
DIVERGENCE = "divergence"
"""Name of the fitted width of beams, and of its figure."""
LIDAR_PAGE_FILES = (
    *PAGE_FILES,
    *(f"{name}{suffix}" for name in (*NOISE_OF_LIDAR, DIVERGENCE) for suffix in (".svg", ".pdf", ".png", ".csv")),
)
"""Names of all files of the page."""


@dataclass(frozen=True)
class FittedDivergence:
    """The width of beams, by B's clouds rendered with several."""

    fit: DivergenceFit  # what points on labelled things tell
    # value, low, high: horizontal, full angle, mrad, with its interval: what points tell, or the rendering that the
    # judge prefers; then the interval reaches as far as it moved
    value: float
    low: float
    high: float
    by_judge: bool
    files: tuple[LidarFile, ...]  # of the renderings, B's own among them, by divergence
    of: LidarFile  # the file on whose clouds noise and drop-out were fitted: of the nearest rendering
    # mean W1 of the fitted clouds with each rendering, with A's noise and drop-out; over draws of the noise
    w1: tuple[float, ...]

    def content(self) -> dict[str, object]:
        """The entry of fit.json."""
        files = [
            {"file": str(file.path), "divergence": list(file.divergence), "w1": w1}
            for file, w1 in zip(self.files, self.w1, strict=True)
        ]
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

    def content(self) -> dict[str, object]:
        """The content of fit.json (docs/guides/explain.md)."""
        return {
            "version": version(),
            "sensor": "lidar",
            "parameters": [vars(parameter) | {"told": parameter.told} for parameter in self.parameters],
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
            (
                parameter.name,
                parameter.unit,
                f"{parameter.start:.4f}",
                f"{parameter.value:.4f}",
                f"{parameter.low:.4f} to {parameter.high:.4f}",
                f"{parameter.w1_without:.3f}",
                _verdict(parameter),
            )
            for parameter in self.parameters
        ]
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
            words.append(
                f"Points on labelled things fall off with distance as with beams of {told.value:.2f} mrad"
                f" ({told.low:.2f} to {told.high:.2f}); B's beams have {own:g}."
            )
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
        open_names = [parameter.name for parameter in self.parameters if not parameter.told]
        if open_names:
            words.append(f"These clouds cannot tell {', '.join(open_names)}.")
        if self.divergence is None:
            words.append(
                "Divergence is not fitted, because it needs rays: render B's scans with other divergences (--rendered)."
            )
        elif self.divergence.fit.at_edge:
            words.append("The divergence is at the edge of what was rendered: render B's scans with others beyond it.")
        return words


def _verdict(parameter: ParameterFit) -> str:
    by = "points on things" if parameter.name == DIVERGENCE else "the rings"
    return f"told by {by}" if parameter.told else "cannot be told"
