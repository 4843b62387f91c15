"""Checks of pictures: whether they can be read, and whether their camera_info can be theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError, Images
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, IMAGE
from simjudge.data.rosbag2.recorded_images import UNREADABLE, RecordedImage, RecordedImages
from simjudge.data.rosbag2.topics import FrameTopics
from simjudge.questions.doctor.findings import (
    CALIBRATED_SIZE,
    CALIBRATION,
    CENTRE,
    CONSTANT,
    DISTORTION,
    ENCODING,
    IMAGE_SIZE,
    IMAGES,
    Finding,
    quoted,
)
from simjudge.questions.doctor.survey import RecordingSurvey, TopicSurvey
from simjudge.sim.sensors.camera.calibration_file import COEFFICIENTS
from simjudge.sim.sensors.camera.calibration_formats import message_calibration

_SAMPLE = 12
"""Pictures that are decoded."""
_DARK, _FLAT = 2.0, 1.0
"""Grey levels: mean and standard deviation below which a picture shows nothing."""
_CALIBRATOR = (
    "ros2 run camera_calibration cameracalibrator --size 8x6 --square 0.025 --ros-args -r image:={image} "
    "-r camera:={camera}"
)


def check_images(
    images: Images | None, count: int, about: str, encodings: str = "", *, of_robot: bool = True
) -> list[Finding]:
    """Decode some pictures.

    Args:
        images: of a recording or a data set; None where there are none.
        of_robot: whether a robot can be asked for what is missing; False for a data set.
    """
    if images is None or not count:
        return [
            Finding.missing(
                IMAGES, "no pictures", "ros2 bag record --storage mcap --all" if of_robot else "", about
            ),
            Finding.unknown(ENCODING, "no pictures"), Finding.unknown(IMAGE_SIZE, "no pictures"),
        ]  # fmt: skip
    rows = np.unique(np.linspace(0, count - 1, min(_SAMPLE, count)).astype(np.int64)).tolist()
    sizes: set[tuple[int, int]] = set()
    troubles, blank = [], 0
    for row in rows:
        try:
            picture = images.read(row)
        except SimjudgeError as error:
            troubles.append(str(error))
            continue
        sizes.add((picture.shape[1], picture.shape[0]))
        blank += bool(picture.mean() < _DARK or picture.std() < _FLAT)
    good = len(rows) - len(troubles)
    shown = f"{good} of {len(rows)} looked at can be read{', ' + encodings if encodings else ''}"
    note = troubles[0] if troubles else f"{blank} of {len(rows)} are black or of one colour"
    named = " ".join(f"{w}x{h}" for w, h in sorted(sizes)) or "unknown"
    return [
        Finding.measured(IMAGES, about, f"{count} pictures", "at least one", good=True),
        Finding.measured(
            ENCODING, about, shown, "all can be read and show something", good=not troubles and not blank, note=note,
            mend=_picture_line(about) if of_robot else "",
        ),
        Finding.measured(
            IMAGE_SIZE, about, named, "one size", good=len(sizes) == 1, note="the camera's mode was changed",
            mend=f"ros2 topic echo --field width {about}" if of_robot else "",
        ),
    ]  # fmt: skip


def _picture_line(topic: str) -> str:
    """How to record pictures that can be read: a raw topic as files, of damaged files the raw topic."""
    if topic.endswith("/compressed"):
        return f"ros2 bag record --storage mcap {topic.removesuffix('/compressed')}"
    return (
        f"ros2 run image_transport republish raw compressed --ros-args -r in:={topic} "
        f"-r out/compressed:={topic}/compressed"
    )


def recorded_images(survey: RecordingSurvey, camera: TopicSurvey) -> RecordedImages:
    """The pictures of a topic."""
    where = f"{survey.recording.path}: {camera.name}"
    rows = [
        RecordedImage(location, camera.type, f"{where}, message {number + 1}")
        for number, location in enumerate(camera.locations)
    ]
    return RecordedImages(survey.recording, survey.types, rows)


def recorded_encodings(survey: RecordingSurvey, camera: TopicSurvey) -> str:
    """How the first and the last picture are stored."""
    found = set()
    for location in (camera.locations[0], camera.locations[-1]):
        try:
            message: Any = survey.types.deserialize_cdr(survey.recording.read(location), camera.type)
        except (*UNREADABLE, ImageError, SimjudgeError):
            continue
        found.add(str(message.encoding if camera.type == IMAGE else message.format))
    return ", ".join(sorted(found))


def check_calibration(
    survey: RecordingSurvey, camera: TopicSurvey | None, chosen: FrameTopics | None, before: Sequence[Finding]
) -> list[Finding]:
    """Hold camera_info to the pictures.

    Args:
        camera: the pictures' topic; None where there are none.
    """
    others = (CALIBRATED_SIZE, CENTRE, DISTORTION, CONSTANT)
    info = None if chosen is None else survey.topics.get(chosen.camera_info)
    if camera is None:
        return [Finding.unknown(each, "no pictures") for each in (CALIBRATION, *others)]
    short = camera.name.removesuffix("/compressed")
    remedy = _CALIBRATOR.format(image=short, camera=short.rpartition("/")[0] or "/camera")
    if info is None or info.type != CAMERA_INFO or not info.bodies:
        lacking = Finding.missing(CALIBRATION, "no camera_info beside the pictures", remedy, camera.name)
        return [lacking, *(Finding.unknown(each, "no camera_info", camera.name) for each in others)]
    message = next(iter(info.bodies.values()))
    try:
        calibration = message_calibration(message)
    except SimjudgeError as error:
        bad = Finding.measured(CALIBRATION, info.name, "K is 0", "a focal length", good=False, note=str(error),
                               mend=remedy)  # fmt: skip
        return [bad, *(Finding.unknown(each, "not calibrated", info.name) for each in others)]
    fx, fy = calibration.matrix[0, 0], calibration.matrix[1, 1]
    figure = f"fx {fx:.1f}, fy {fy:.1f} px"
    found = [Finding.measured(CALIBRATION, info.name, figure, "focal lengths above 0", good=True)]
    size = next((each.figure for each in before if each.check == IMAGE_SIZE), "")
    its_size = f"{calibration.size[0]}x{calibration.size[1]}"
    roi = message.roi
    within = roi.x_offset + roi.width <= message.width and roi.y_offset + roi.height <= message.height
    fits = within and (not size or size in (its_size, "unknown") or " " in size)
    found.append(Finding.measured(
        CALIBRATED_SIZE, info.name, f"{its_size} for pictures of {size}", "the same size", good=fits,
        note="calibrated in another mode of the camera", mend=remedy,
    ))  # fmt: skip
    # Whatever part of the sensor was read out: the whole one has its centre in the middle.
    whole = message_calibration(replace(message, roi=replace(roi, x_offset=0, y_offset=0, width=0, height=0)))
    doubt = whole.doubt()
    cx, cy = whole.matrix[0, 2], whole.matrix[1, 2]
    found.append(Finding.measured(
        CENTRE, info.name, f"{cx:.1f}, {cy:.1f} px of {whole.size[0]}x{whole.size[1]}", "within 5 % of the middle",
        good=doubt is None, note="" if doubt is None else doubt.message, mend=remedy,
    ))  # fmt: skip
    model, count = calibration.model, len(calibration.distortion)
    known = count in COEFFICIENTS.get(model, ()) or (not np.any(calibration.distortion) and not count)
    found.append(Finding.measured(
        DISTORTION, info.name, f"{model or 'unnamed'}, {count} coefficients", f"one of {', '.join(COEFFICIENTS)}",
        good=known, note="a model or a number of coefficients that ROS does not define", mend=remedy,
    ))  # fmt: skip
    found.append(Finding.measured(
        CONSTANT, info.name, f"{len(info.bodies)} different of {len(info.received)}", "one for the whole recording",
        good=len(info.bodies) == 1, note="two publishers, or a zoom",
        mend=f"ros2 topic info --verbose {quoted(info.name)}",
    ))  # fmt: skip
    return found
