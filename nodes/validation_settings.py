"""The validation node's parameters, and what they mean to the library."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.settings import chosen, declared
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.live.session import COUNT, IGNORE, RESET, LiveOptions
from simjudge.studies.live.stream_matching import MatchingLimits

from .image_input import TRANSPORTS
from .parameters import Parameter, Settings
from .qos import RELIABILITIES

_OF_SETS = ("a_predictions", "b_predictions", "paired", "pair_tolerance")
COMPARISON = (
    Parameter("out", "", "folder for result.json, contexts.parquet and report.html; empty: nothing is written"),
    *(Parameter.of(row) for row in chosen(CompareSettings, without=_OF_SETS)),
    Parameter("both_directions", default=True, description="also compute A predicting B, for the summary"),
    Parameter("frame_id", "camera_optical_frame", "of summary and markers where no message names a frame"),
    Parameter("report", default=True, description="write report.html beside result.json"),
)  # fmt: skip
TWO_SETS = (
    Parameter("a", "", "the set to be predicted, usually real: any data set or recording; with b"),
    Parameter("b", "", "the set that predicts, usually simulated"),
    *(Parameter.of(row) for row in chosen(CompareSettings, _OF_SETS)),
    Parameter("once", default=False, description="a and b: end when the result is written; else stay, with the summary"
              " for whoever comes late"),
)  # fmt: skip
LIVE = (
    Parameter("reference", "", "the set that live frames are compared with, instead of a and b"),
    Parameter("predictions", "", "predictions for the reference, made before"),
    Parameter("live_is", "b", "a: live reality against a simulated reference; b: live simulation against a real one",
              choices=("a", "b")),
    Parameter("tolerance", 0.0, "stamps of ground truth and detections may differ by so many seconds", low=0, high=10),
    Parameter("wait", 5.0, "seconds that ground truth waits for its detections, or they for it", low=0.01, high=3600),
    Parameter("wait_count", 1000, "messages of each kind that wait at most", low=1, high=100_000),
    Parameter("jump_back", 1.0, "seconds that a stamp must lie before the newest to be a jump back, not only out of"
              " order", low=0),
    Parameter("on_jump", IGNORE, "stamps jump back (looped recording): count each stamp once, forget the frames so"
              " far, or count all frames", choices=(IGNORE, RESET, COUNT)),
    Parameter("summary_period", 1.0, "seconds between summaries while frames come", low=0.05, high=3600),
    Parameter("certainty_period", 0.0, "seconds between computations of certainty and the other direction, beside the"
              " live work; 0: only at the end", low=0, high=86_400),
    Parameter("resume", default=True, description="go on where a killed run ended, by the journal beside out; false:"
              " begin anew"),
    Parameter("image_size", "", "WIDTHxHEIGHT of the images, where the messages do not say it"),
    Parameter("ground_truth_type", "simjudge_msgs/msg/LabelledObjectArray",
              "of camera/ground_truth; or vision_msgs/msg/Detection2DArray"),
    Parameter("detections_type", "simjudge_msgs/msg/DetectionArray",
              "of camera/detections; or vision_msgs/msg/Detection2DArray"),
    Parameter("boxes_reliability", "reliable", "of ground truth and detections", choices=("reliable", "best_effort")),
    Parameter("transport", "auto", "which images the overlay is drawn on", choices=TRANSPORTS),
    Parameter("reliability", "auto", "of those images: auto takes what is offered", choices=RELIABILITIES),
)  # fmt: skip


def is_live(settings: Settings) -> bool:
    """Whether live streams are to be compared, rather than two sets.

    Args:
        settings: the node's parameters.

    Raises:
        SimjudgeError: both or neither are asked for.
    """
    sets = [bool(settings[name]) for name in ("a", "b")]
    if settings["reference"] and any(sets):
        raise SimjudgeError("give either a and b, or reference; not both")
    if not settings["reference"] and not all(sets):
        raise SimjudgeError("give two sets as a and b, or a reference to compare camera/ground_truth and"
                            " camera/detections with")  # fmt: skip
    return bool(settings["reference"])


def compare_settings(settings: Settings) -> CompareSettings:
    """The settings of the comparison, as the library has them.

    Args:
        settings: the node's parameters.

    Raises:
        UsageError: one of them makes no sense.
    """
    given: dict[str, Any] = {row.name: settings[row.name] for row in declared(CompareSettings)}
    return CompareSettings(**(given | {name: None for name, value in given.items() if value == ""}))


def live_options(settings: Settings) -> LiveOptions:
    """How live frames are to be compared.

    Args:
        settings: the node's parameters.

    Raises:
        UsageError: a parameter makes no sense.
    """
    out = optional_path(settings["out"])
    of_live = compare_settings(settings)
    return LiveOptions(
        replace(of_live, a_predictions=None, b_predictions=None, paired=False),
        live_is_a=settings["live_is"] == "a",
        on_jump=settings["on_jump"],
        journal=None if out is None else out.with_name(f"{out.name}.journal"),
        resume=settings["resume"],
    )


def matching_limits(settings: Settings) -> MatchingLimits:
    """How the streams are to be matched.

    Args:
        settings: the node's parameters.
    """
    return MatchingLimits(
        tolerance_ns=round(settings["tolerance"] * 1e9),
        wait=settings["wait"],
        max_waiting=settings["wait_count"],
        jump_ns=round(settings["jump_back"] * 1e9),
    )


def image_size(settings: Settings) -> tuple[int, int]:
    """The size of the images, where the messages do not say it.

    Args:
        settings: the node's parameters.

    Returns:
        Width and height, pixels; (0, 0) where they are not given.

    Raises:
        SimjudgeError: the text is no size.
    """
    text = settings["image_size"]
    if not text:
        return 0, 0
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and min(int(width), int(height)) > 0):
        raise SimjudgeError(f"parameter image_size {text!r}: write width x height in pixels, as in 1280x720")
    return int(width), int(height)


def optional_path(text: str) -> Path | None:
    """A path, None for an empty text.

    Args:
        text: of the path.
    """
    return Path(text) if text else None
