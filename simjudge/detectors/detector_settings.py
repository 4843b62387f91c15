"""How a detector is taken to a data set, declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.setting_groups import ReadSettings
from simjudge.core.settings import Settings, TextForm, setting

DEFAULT_MIN_SCORE = 0.05  # Low, so that average precision is right; what a comparison counts is chosen there
DEFAULT_IOU = 0.7  # Of two boxes of one class that overlap more, the better one stays: the default of ultralytics
Renames = tuple[tuple[str, str], ...]  # Pairs of the name that a class has and its new name


def renames(
    given: str | Mapping[str, str] | Iterable[str | tuple[str, str]],
    option: str = "--rename",
    pair_form: str = "MODEL=SET, the model's class name and what the set calls it",
) -> Renames:
    """What a set calls the classes of another: pairs from "blue=small,red=large", several of them, or a mapping."""
    if isinstance(given, str):
        given = given.split(",")
    pairs: dict[str, str] = {}
    for rename in given.items() if isinstance(given, Mapping) else given:
        for pair in rename.split(",") if isinstance(rename, str) else [rename]:
            old, equals, new = pair.partition("=") if isinstance(pair, str) else (pair[0], "=", pair[1])
            if not (old and equals and new):
                raise UsageError(f"{option} {pair}: give {pair_form}")
            if pairs.setdefault(old, new) != new:
                raise UsageError(
                    f"{option} {old}: is renamed to {pairs[old]} and to {new}, but an object has one class; "
                    "keep one, or give both one name"
                )
    return tuple(pairs.items())


def _text(pairs: Renames) -> str:
    return ",".join(f"{old}={new}" for old, new in pairs)


def _of_set(option: str) -> TextForm:
    def parse(given: str | Mapping[str, str] | Iterable[str | tuple[str, str]]) -> Renames:
        return renames(given, option, "OLD=NEW, the name that a class has in this set and its name in the other")

    return TextForm(parse, _text, "OLD=NEW", several=True)


_RENAMES = TextForm(renames, _text, "MODEL=SET", several=True)
# How new names for the classes of a set are written.
A_RENAMES, B_RENAMES = _of_set("--a-rename"), _of_set("--b-rename")


@dataclass(frozen=True, kw_only=True)
class ModelSettings(Settings, panel="Detector"):
    """The detector that runs, and whether its file is trusted."""

    model: Path | None = setting(
        None,
        "Detector to run on both sets: .onnx, .pt, .yaml, or the name of a shipped one; lidar_cuboids for clouds.",
        common=True,
    )
    trust: bool = setting(default=False, help="Allow code in .pt files (default: weights only).")


@dataclass(frozen=True, kw_only=True)
class RenameSettings(Settings, panel="Detector"):
    """What the classes of a detector are in the data."""

    rename: Renames | None = setting(
        None,
        "Map detector classes to data set classes (MODEL=SET); unnamed classes are called by their number.",
        form=_RENAMES,
    )


@dataclass(frozen=True, kw_only=True)
class DetectSettings(ModelSettings, RenameSettings, ReadSettings):
    """The settings of a detection on one set."""

    model: Path = setting(help="Detector: a .onnx, .pt or .yaml file, or the name of a shipped one.", common=True)
