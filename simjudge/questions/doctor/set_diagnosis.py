"""A data set, looked at by the checks that need no messages."""

from __future__ import annotations

from pathlib import Path

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.data.clouds import CloudSet
from simjudge.data.sets import find_format, read_clouds, read_set
from simjudge.questions.doctor.camera_checks import (
    check_images,
)
from simjudge.questions.doctor.diagnosis import Diagnosis
from simjudge.questions.doctor.findings import (
    CALIBRATION,
    CLOUDS,
    INPUT,
    MOTION,
    MOUNT,
    ONE_CLOCK,
    POSES,
    RATE,
    RECORDING,
    RISING,
    STAMPS,
    Finding,
    quoted,
)
from simjudge.questions.doctor.fitting_detector import fitting_detector, has_only_label_pictures
from simjudge.questions.doctor.label_checks import check_clouds, check_labels
from simjudge.questions.doctor.usable_for import answer_questions
from simjudge.sim.sensors.lidar.measured_turns import raw_files


def diagnose_set(path: Path, kind: str) -> Diagnosis:
    """Look at a data set: it has no clocks, no transforms, and no topics."""
    frames, clouds, troubles = None, None, []
    losses = Losses()
    form = find_format(path)
    readable = form is not None and form.read is not None
    with_clouds = form is not None and form.holds_clouds(path)
    try:
        frames = read_set(path) if readable else None
    except SimjudgeError as error:
        troubles.append(str(error).removeprefix(f"{path}: "))
    try:
        clouds = read_clouds(path) if with_clouds else None
    except SimjudgeError as error:
        troubles.append(str(error).removeprefix(f"{path}: "))
    scans = clouds is not None or (form is not None and form.name == "argoverse2") or bool(_raw(path))
    if frames is None and clouds is not None:
        frames = clouds.frames
    if frames is None and not scans:
        frames = read_set(path)
    count = 0 if frames is None else len(frames)
    losses.extend(Losses() if frames is None else frames.losses)
    pictures = check_images(None if frames is None else frames.images, count, "", of_robot=False)
    findings = [*_set_times(path, frames, clouds), *pictures]
    findings.append(_set_calibration(clouds))
    findings += check_labels(path, frames, troubles[0] if troubles else "")
    findings += check_clouds(path, None, clouds, "") if scans else [Finding.missing(CLOUDS, "no point clouds")]
    held = [f"{count} pictures"] if count else []
    held += [f"{len(clouds)} clouds"] if clouds is not None else []
    about = f"{kind}, {', '.join(held)}" if held else kind
    # Why pictures cannot be read stands with the checks that need them.
    notes = troubles[1:] if frames is None else troubles
    task = "--task semantic " if has_only_label_pictures(frames) else ""
    return Diagnosis(path, about, findings, answer_questions(findings), notes, losses,
                     detector=fitting_detector(frames), task=task)  # fmt: skip


def _raw(path: Path) -> list[Path]:
    try:
        return list(raw_files(path))
    except SimjudgeError:
        return []


def _set_times(path: Path, frames: FrameSet | None, clouds: CloudSet | None) -> list[Finding]:
    stamped = []
    if frames is not None:
        stamped.append((int(frames.stamped.sum()), len(frames)))
    if clouds is not None:
        stamped.append((sum(clouds.has_stamp(index) for index in range(len(clouds))), len(clouds)))
    count, of = sum(each for each, _ in stamped), sum(each for _, each in stamped)
    out = [Finding.unknown(each, "a data set has no topics") for each in (RISING, ONE_CLOCK, RATE, MOUNT)]
    if not of:
        out.append(Finding.unknown(STAMPS, "neither pictures nor clouds are read as frames"))
    elif not count:
        out.append(Finding.missing(STAMPS, "its files have no stamps"))
    else:
        out.append(Finding.measured(STAMPS, "", f"{count} of {of}", "all", good=count == of, note="some have none"))
    poses = [] if clouds is None else list(clouds.poses)
    if poses:
        out.append(Finding.measured(POSES, "", f"{len(poses)} of {len(clouds or ())} clouds", "all", good=True))
    else:
        out.append(Finding.missing(POSES, "a data set without poses"))
    readable = frames is not None or clouds is not None
    played = f"simjudge convert {quoted(path)} played.mcap" if readable else ""
    note = "a data set; as a recording it can be played" if readable else "bare scans, which no recording is made of"
    return [*out, Finding.missing(RECORDING, note, played),
            *(Finding.unknown(each, "a data set is no robot") for each in (MOTION, INPUT))]  # fmt: skip


def _set_calibration(clouds: CloudSet | None) -> Finding:
    if clouds is not None and len(clouds.cameras):
        matrix = clouds.cameras[0].matrix
        return Finding.measured(CALIBRATION, "", f"fx {matrix[0, 0]:.1f}, fy {matrix[1, 1]:.1f} px",
                                "focal lengths above 0", good=True)  # fmt: skip
    return Finding.missing(CALIBRATION, "no calibration in the data set")
