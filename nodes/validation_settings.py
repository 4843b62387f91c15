"""The validation node's parameters, and what they mean to the library."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.settings import declared
from simjudge.judging.compare_settings import CAMERA, CompareSettings
from simjudge.judging.live.judge import LiveMemory
from simjudge.judging.live.session import LiveOptions
from simjudge.judging.live.stream_matching import MatchingLimits
from simjudge.ros.node_parameters import DRIVE_ROWS
from simjudge.ros.node_settings import ValidationSettings

from .parameters import Parameter, ParameterValues, settings_parameters

_ALL = (
    *settings_parameters(ValidationSettings),
    *settings_parameters(CompareSettings),
    *(Parameter.of(row) for row in DRIVE_ROWS),
)
# The parameters of the validation node: what `configure` reads may change while the node is unconfigured.
VALIDATION_PARAMETERS = tuple(replace(row, at_rest=not row.changeable and row.name != "autostart") for row in _ALL)
_AT_REST = frozenset(row.name for row in VALIDATION_PARAMETERS if row.at_rest)


def refuse_while_configured(name: str, node: str) -> None:
    """Refuse a new value of what counts for a whole comparison."""
    if name in _AT_REST:
        raise SimjudgeError(
            f"{name} is read when {node} is configured: all frames of a result are compared by the same rules. To begin"
            f" a new result with another value: ros2 lifecycle set {node} deactivate;"
            f" ros2 lifecycle set {node} cleanup;"
            f" ros2 param set {node} {name} VALUE; ros2 lifecycle set {node} configure; ros2 lifecycle set {node}"
            " activate. The result so far is written at cleanup; another out keeps it"
        )


def is_live(settings: ParameterValues) -> bool:
    """Whether live streams, of frames or of a drive, are to be compared, rather than two sets."""
    sets = [bool(settings[name]) for name in ("a", "b")]
    if settings["reference_drives"]:
        if settings["reference"] or any(sets):
            raise SimjudgeError("give either reference_drives, or reference, or a and b; not several of them")
        return True
    if settings["reference"] and any(sets):
        raise SimjudgeError("give either a and b, or reference; not both")
    if not settings["reference"] and not all(sets):
        raise SimjudgeError(
            "give two sets as a and b, or a reference to compare camera/ground_truth and camera/detections with"
        )
    return bool(settings["reference"])


def compare_settings(settings: ParameterValues) -> CompareSettings:
    """The settings of the comparison, as the library has them."""
    return CompareSettings(**{row.name: settings[row.name] for row in declared(CompareSettings)})


def live_options(settings: ParameterValues) -> LiveOptions:
    """How live frames are to be compared."""
    out = optional_path(settings["out"])
    of_live = compare_settings(settings)
    if of_live.sensor != CAMERA:
        raise UsageError("sensor: live streams are of pictures; compare two sets of clouds with a and b")
    return LiveOptions(
        replace(of_live, a_predictions=None, b_predictions=None, a_image_topic=None, b_image_topic=None, paired=False),
        live_is_a=settings["live_is"] == "a",
        on_jump=settings["on_jump"],
        memory=LiveMemory(settings["window"], settings["keep"], of_live.seed),
        journal=None if out is None else out.with_name(f"{out.name}.journal"),
        resume=settings["resume"],
    )


def matching_limits(settings: ParameterValues) -> MatchingLimits:
    """How the streams are to be matched."""
    return MatchingLimits(
        tolerance_ns=round(settings["tolerance"] * 1e9),
        wait=settings["wait"],
        max_waiting=settings["wait_count"],
        jump_ns=round(settings["jump_back"] * 1e9),
    )


def image_size(settings: ParameterValues) -> tuple[int, int]:
    """The size of the images, width and height, where the messages do not say it; (0, 0) where it is not given."""
    text = settings["image_size"]
    if not text:
        return 0, 0
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and min(int(width), int(height)) > 0):
        raise SimjudgeError(f"parameter image_size {text!r}: write width x height in pixels, as in 1280x720")
    return int(width), int(height)


def optional_path(text: str | None) -> Path | None:
    """A path, None for no text."""
    return Path(text) if text else None
