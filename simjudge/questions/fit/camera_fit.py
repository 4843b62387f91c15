"""What a fit says: the parameters with their intervals, and W1 before and after on frames that were not fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import yaml

from simjudge.core.display import SummaryTable
from simjudge.core.errors import Losses
from simjudge.core.files import atomic_file
from simjudge.core.installed import CAMERA, find_file
from simjudge.core.version import version
from simjudge.core.yaml_file import read_yaml
from simjudge.method.certainty import Certainty
from simjudge.results.saved_result import write_json
from simjudge.sim.sensors.camera.calibration_file import holds_calibration
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import Step

FIT, FITTED_CAMERA = "fit.json", "camera.yaml"
"""Names of the files in the folder of a fit."""
PAGE, COURSE, BEFORE_AND_AFTER = "fit.html", "course", "held_out"
"""Names of the page and, without suffix, of its figures."""
PAGE_FILES = (PAGE, *(f"{name}{suffix}" for name in (COURSE, BEFORE_AND_AFTER)
                      for suffix in (".svg", ".pdf", ".png", ".csv")))  # fmt: skip
"""Names of all files of the page."""


@dataclass(frozen=True)
class ParameterFit:
    """One fitted number.

    Attributes:
        w1_without: W1 of the fitted frames if this number alone is neutral.
        at_end: whether the value is the end of the range that is looked for.
    """

    name: str
    unit: str
    neutral: float
    start: float
    value: float
    low: float
    high: float
    w1_without: float
    at_end: bool = False

    @property
    def told(self) -> bool:
        """Whether the frames tell it from the value that changes nothing."""
        return self.low > self.neutral or self.high < self.neutral


@dataclass(frozen=True)
class HeldOutW1:
    """W1 of the frames that the fit never saw."""

    mean_w1: float
    certainty: Certainty

    def content(self) -> dict[str, Any]:
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

    def content(self) -> dict[str, Any]:
        """The content of fit.json (docs/explain.md)."""
        return {
            "version": version(),
            "parameters": [vars(each) | {"told": each.told} for each in self.parameters],
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
            (each.name, each.unit, f"{each.start:.3g}", f"{each.value:.3g}", _ends(each.low, each.high),
             f"{each.w1_without:.3f}", "told" if each.told else "cannot be told")
            for each in self.parameters
        ]  # fmt: skip
        columns = ("parameter", "unit", "start", "fitted", "95 %", "W1 without it", "verdict")
        return SummaryTable(columns, rows, 2)

    def sentences(self) -> list[str]:
        """What the fit means."""
        before, after = self.before, self.after
        chance = f"{_shown(after.certainty.noise)} (95 % quantile {_shown(after.certainty.noise_q95)})"
        moved = f"W1 is {before.mean_w1:.3f} before and {after.mean_w1:.3f} after"
        words = [f"On {self.frames[1]} frames that were not fitted, {moved}; chance alone gives {chance}."]
        if after.mean_w1 > before.mean_w1:
            words.append("The fitted camera is no better there: do not use it.")
        if self.start_is_enough:
            words.append("With the starting values the fitted frames show no gap any more, so nothing was searched.")
        open_names = [each.name for each in self.parameters if not each.told]
        if open_names:
            words.append(f"These frames cannot tell {', '.join(open_names)}.")
        at_end = [each.name for each in self.parameters if each.at_end]
        if at_end:
            named = ", ".join(at_end)
            words.append(f"At the end of the range that is looked for: {named}. The true value may lie beyond.")
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
    """Write a camera's file with further filters behind its own.

    Args:
        camera: a file, or the name of one that comes with simjudge.
    """
    path = find_file(camera, CAMERA)
    read_camera(path)
    if holds_calibration(path):
        content: dict[str, Any] = {"calibration": str(path.resolve()), "rate": 30}
    else:
        content = dict(read_yaml(path).content)
        if isinstance(content.get("calibration"), str):
            content["calibration"] = str((path.parent / content["calibration"]).resolve())
    added = [{step.name: {name: _rounded(value) for name, value in step.parameters.items()}} for step in steps]
    content["filters"] = [*(content.get("filters") or []), *added]
    with atomic_file(out) as temporary:
        text = yaml.safe_dump(content, sort_keys=False)
        temporary.write_text(f"# {path.stem}, fitted by simjudge fit: its last filters.\n{text}", encoding="utf-8")
    read_camera(out)


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
