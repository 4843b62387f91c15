"""Which detector the lines that doctor prints name: one that finds the classes of the labels."""

from __future__ import annotations

from contextlib import suppress

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.detectors.detector import map_classes

ANY_DETECTOR = "cones_red_green"
SHIPPED = (ANY_DETECTOR, "cones_blue_yellow", "krc_barriers")
"""Detectors that come with simjudge and need no training, by name."""
OWN_DETECTOR = "MODEL.onnx"
"""Stands for the file of a person's own detector."""


def fitting_detector(frames: FrameSet | None) -> str:
    """Choose a detector for the classes of a set.

    Args:
        frames: the set; None where it cannot be read.

    Returns:
        The name of a shipped one that has a class in common, the first where nothing is labelled; `OWN_DETECTOR` where
        none has.
    """
    if has_only_label_pictures(frames):
        return OWN_DETECTOR
    if frames is None or not len(frames.objects):
        return ANY_DETECTOR
    from simjudge.detectors.detection import load_detector  # noqa: PLC0415 - slow to import

    for name in SHIPPED:
        with suppress(SimjudgeError):
            map_classes(name, load_detector(name).class_names, frames)
            return name
    return OWN_DETECTOR


def has_only_label_pictures(frames: FrameSet | None) -> bool:
    """Whether the ground truth of a set is its label pictures.

    Args:
        frames: the set; None where it cannot be read.
    """
    return frames is not None and frames.semantic is not None and not len(frames.objects)
