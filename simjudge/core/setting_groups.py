"""Groups of settings that several rooms ask for (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.errors import UsageError
from simjudge.core.settings import Settings, TextForm, setting
from simjudge.core.thinning import Thinning


def file_or_name(metavar: str = "FILE|NAME") -> TextForm:
    """How a file is written, or the name of one that comes with simjudge; or what else a text may stand for."""

    def parse(given: Any) -> Any:
        if isinstance(given, str | Path):
            return given
        raise UsageError(f"{given!r}: must be a text or a path ({metavar})")

    return TextForm(parse, str, metavar)


@dataclass(frozen=True, kw_only=True)
class ReadSettings(Settings, panel="Reading files"):
    """How data sets are read, whatever is done with them afterwards."""

    allow_outside: bool = setting(
        default=False,
        help="Allow images outside the data set's folder (default: refused, since a file may name any path).",
    )
    every: int = setting(1, "Take every N-th frame alone.", low=1, high=10**6)
    rate: float | None = setting(
        None, "Take as many frames a second alone, by their times.", unit="Hz", low=1e-6, high=1e6
    )

    def __post_init__(self) -> None:
        """Check the values, one by one and together."""
        super().__post_init__()
        _ = self.thinning

    @property
    def thinning(self) -> Thinning:
        """Which frames of each input are taken."""
        return Thinning(self.every, self.rate)


@dataclass(frozen=True, kw_only=True)
class LabelSettings(Settings, panel="Labels"):
    """Which things of a simulated picture are labelled; `simjudge.sim.capture.ground_truth.Labelling` applies it."""

    min_size: float = setting(5.0, "Smallest width and height of a labelled object.", unit="px", low=0, high=1e5)
    min_visible: float = setting(0.25, "Smallest visible share of a labelled object.", low=0, high=1)


@dataclass(frozen=True, kw_only=True)
class MotionLimitSettings(Settings, panel="Poses"):
    """Which poses are believed; `simjudge.geometry.trajectories.MotionLimits` applies it."""

    max_gap: float = setting(0.5, "Largest gap between poses to interpolate.", unit="s", low=1e-3, high=1e6)
    max_speed: float = setting(20.0, "Speed above which a change of pose is a jump.", unit="m/s", low=1e-3, high=1e6)
    max_turn: float = setting(
        720.0, "Rotation rate above which a change of pose is a jump.", unit="deg/s", low=1e-3, high=1e6
    )


@dataclass(frozen=True, kw_only=True)
class EngineSettings(Settings):
    """What moves and lights a scene."""

    engine: str = setting(
        "default",
        "Engine of the simulator: default, baked, chrono, a plug-in's name, or package.module:Class.",
        form=file_or_name("NAME|PACKAGE:CLASS"),
        common=True,
    )


@dataclass(frozen=True, kw_only=True)
class JobSettings(Settings):
    """How many processes work side by side."""

    jobs: int = setting(
        1, "Parallel rendering processes; the output is the same.", low=1, high=1024, short="-j", common=True
    )
