"""What a check of a recording or a data set found: a verdict, a figure, and the line that mends it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from simjudge.core.errors import UsageError
from simjudge.sim.sensors.lidar.checked_scans import FAIL, NOT_CHECKED, PASS

MISSING = "missing"
"""Verdict where what would be checked is not there: no fault, but some questions cannot be asked."""
TROUBLE = (FAIL, MISSING)
"""Verdicts that can keep a question from being answered."""

IMAGES, ENCODING, IMAGE_SIZE = "images", "image encoding", "image size"
STAMPS, RISING, ONE_CLOCK, PACE, CLOCK_TOPIC = (
    "stamps filled in", "stamps rise", "one clock", "stamps keep pace", "/clock rises",
)  # fmt: skip
RATE, FRAME_IDS, TREE = "rate without gaps", "frame ids", "one tree of frames"
POSES, JUMPS, COVERED = "poses", "poses without jumps", "poses cover the images"
MOUNT, OPTICAL = "camera on the body", "optical frame"
CALIBRATION, CALIBRATED_SIZE, CENTRE, DISTORTION, CONSTANT = (
    "calibration", "calibration fits the images", "principal point", "distortion model", "calibration stays",
)  # fmt: skip
SIMULATOR_LABELS = "labels of a simulator"
LABELS, LABELS_FIT, PREDICTIONS, PREDICTIONS_FIT = (
    "labels", "labels fit the images", "predictions", "predictions fit the images",
)  # fmt: skip
CLOUDS, CLOUD_FIELDS, CONTRACT, BOXES, FOUND_BOXES = (
    "clouds", "fields of the points", "spinning lidar", "labels in clouds", "predictions in clouds",
)  # fmt: skip
INPUT, MOTION, RECORDING = "vehicle's input", "odometry", "messages of a robot"
ONE_TYPE, QOS, PUBLISHED, HEARD, ONE_CLOCK_PUBLISHER, NOW, CAMERA_IN_WORLD = (
    "one type a topic", "QoS fits", "subscriptions have publishers", "messages come", "one publisher of /clock",
    "stamps are now", "camera in the world",
)  # fmt: skip
"""Checks of a running graph alone."""


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        about: the topic or file that it is about; "" for all.
        note: where it is worst, or why it was not checked.
        mend: a command that mends it, as it can be typed; "" where nothing is to mend.
    """

    check: str
    verdict: str
    about: str = ""
    figure: str = ""
    limit: str = ""
    note: str = ""
    mend: str = ""

    @classmethod
    def measured(
        cls, check: str, about: str, figure: str, limit: str, *, good: bool, note: str = "", mend: str = ""
    ) -> Finding:
        """A finding with a figure; note and remedy are dropped where all is well."""
        return cls(check, PASS if good else FAIL, about, figure, limit, "" if good else note, "" if good else mend)

    @classmethod
    def missing(cls, check: str, note: str, mend: str = "", about: str = "") -> Finding:
        """A finding that something is not there."""
        return cls(check, MISSING, about, note=note, mend=mend)

    @classmethod
    def unknown(cls, check: str, note: str, about: str = "") -> Finding:
        """A finding that a check cannot be made."""
        return cls(check, NOT_CHECKED, about, note=note)


def failed(findings: Iterable[Finding], check: str) -> bool:
    """Whether a check failed for any topic."""
    return any(each.check == check and each.verdict == FAIL for each in findings)


def quoted(path: object) -> str:
    """A path as a shell takes it."""
    text = str(path)
    if "\n" in text:
        raise UsageError(f"{text!r}: a line end in a path; rename it")
    return shlex.quote(text)
