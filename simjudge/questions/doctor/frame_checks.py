"""Checks of space and of cameras: one tree of frames, poses that cover images, pictures that fit camera_info."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError, Images
from simjudge.data.rosbag2.image_messages import UNREADABLE, RecordedImage, RecordedImages
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, IMAGE, FrameTopics
from simjudge.data.rosbag2.recorded_poses import (
    ODOMETRY,
    POSE,
    POSE_COVARIANCE,
    TRANSFORMS,
    Links,
    RecordedPoses,
    pose_topics,
    read_poses,
    standing_pose,
)
from simjudge.geometry.poses import Pose
from simjudge.geometry.trajectories import TrajectoryInterpolator
from simjudge.questions.doctor.clock_checks import (
    STREAMS,
    RecordingSurvey,
    TopicSurvey,
    TransformSurvey,
    as_nanoseconds,
)
from simjudge.questions.doctor.diagnosis import (
    CALIBRATED_SIZE,
    CALIBRATION,
    CENTRE,
    CONSTANT,
    COVERED,
    DISTORTION,
    ENCODING,
    FRAME_IDS,
    IMAGE_SIZE,
    IMAGES,
    JUMPS,
    MOTION,
    MOUNT,
    ONE_CLOCK,
    OPTICAL,
    POSES,
    RISING,
    STAMPS,
    TREE,
    Finding,
    failed,
    quoted,
)
from simjudge.sim.sensors.camera.calibration import COEFFICIENTS, message_calibration

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
    """Decode some pictures."""
    if images is None or not count:
        return [
            Finding.missing(IMAGES, "no pictures", "ros2 bag record --storage mcap --all" if of_robot else "", about),
            Finding.unknown(ENCODING, "no pictures"),
            Finding.unknown(IMAGE_SIZE, "no pictures"),
        ]
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
            ENCODING,
            about,
            shown,
            "all can be read and show something",
            good=not troubles and not blank,
            note=note,
            mend=_picture_line(about) if of_robot else "",
        ),
        Finding.measured(
            IMAGE_SIZE,
            about,
            named,
            "one size",
            good=len(sizes) == 1,
            note="the camera's mode was changed",
            mend=f"ros2 topic echo --field width {about}" if of_robot else "",
        ),
    ]


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
    """Hold camera_info to the pictures."""
    others = (CALIBRATED_SIZE, CENTRE, DISTORTION, CONSTANT)
    info = None if chosen is None else survey.topics.get(chosen.camera_info)
    if camera is None:
        return [Finding.unknown(check, "no pictures") for check in (CALIBRATION, *others)]
    short = camera.name.removesuffix("/compressed")
    remedy = _CALIBRATOR.format(image=short, camera=short.rpartition("/")[0] or "/camera")
    if info is None or info.type != CAMERA_INFO or not info.bodies:
        lacking = Finding.missing(CALIBRATION, "no camera_info beside the pictures", remedy, camera.name)
        return [lacking, *(Finding.unknown(other, "no camera_info", camera.name) for other in others)]
    message = next(iter(info.bodies.values()))
    try:
        calibration = message_calibration(message)
    except SimjudgeError as error:
        bad = Finding.measured(
            CALIBRATION, info.name, "K is 0", "a focal length", good=False, note=str(error), mend=remedy
        )
        return [bad, *(Finding.unknown(other, "not calibrated", info.name) for other in others)]
    fx, fy = calibration.matrix[0, 0], calibration.matrix[1, 1]
    figure = f"fx {fx:.1f}, fy {fy:.1f} px"
    found = [Finding.measured(CALIBRATION, info.name, figure, "focal lengths above 0", good=True)]
    size = next((finding.figure for finding in before if finding.check == IMAGE_SIZE), "")
    its_size = f"{calibration.size[0]}x{calibration.size[1]}"
    roi = message.roi
    within = roi.x_offset + roi.width <= message.width and roi.y_offset + roi.height <= message.height
    fits = within and (not size or size in (its_size, "unknown") or " " in size)
    found.append(
        Finding.measured(
            CALIBRATED_SIZE,
            info.name,
            f"{its_size} for pictures of {size}",
            "the same size",
            good=fits,
            note="calibrated in another mode of the camera",
            mend=remedy,
        )
    )
    # Whatever part of the sensor was read out: the whole one has its centre in the middle.
    whole, doubt = calibration.sensor or calibration, calibration.doubt()
    cx, cy = whole.matrix[0, 2], whole.matrix[1, 2]
    found.append(
        Finding.measured(
            CENTRE,
            info.name,
            f"{cx:.1f}, {cy:.1f} px of {whole.size[0]}x{whole.size[1]}",
            "within 5 % of the middle",
            good=doubt is None,
            note="" if doubt is None else doubt.message,
            mend=remedy,
        )
    )
    model, count = calibration.model, len(calibration.distortion)
    known = count in COEFFICIENTS.get(model, ()) or (not np.any(calibration.distortion) and not count)
    found.append(
        Finding.measured(
            DISTORTION,
            info.name,
            f"{model or 'unnamed'}, {count} coefficients",
            f"one of {', '.join(COEFFICIENTS)}",
            good=known,
            note="a model or a number of coefficients that ROS does not define",
            mend=remedy,
        )
    )
    found.append(
        Finding.measured(
            CONSTANT,
            info.name,
            f"{len(info.bodies)} different of {len(info.received)}",
            "one for the whole recording",
            good=len(info.bodies) == 1,
            note="two publishers, or a zoom",
            mend=f"ros2 topic info --verbose {quoted(info.name)}",
        )
    )
    return found


_COVERED = 0.95
"""Share of the images that need a pose at their time."""
_UPWARD = 0.8
"""Cosine of the angle to the vertical from which an optical axis looks at the sky."""
_OF_NO_FRAME = ("sensor_msgs/msg/JointState",)
"""Messages of no place: their publishers leave the frame empty."""
_PREFERRED = (ODOMETRY, POSE, TRANSFORMS, POSE_COVARIANCE)
"""Where poses are taken from where several topics have them."""


def check_frames(survey: RecordingSurvey, camera: TopicSurvey | None, before: Sequence[Finding]) -> list[Finding]:
    """Make all checks of space."""
    near = "" if camera is None else camera.name
    poses, found = _poses(survey, near)
    return [
        _frame_ids(survey),
        _tree(survey.transforms(near)),
        *found,
        _coverage(survey, camera, poses, before),
        *_mount(survey, camera, poses),
        _odometry(survey, near),
    ]


def _frame_ids(survey: RecordingSurvey) -> Finding:
    streams = [topic for topic in survey.of_type(*STREAMS) if topic.type not in _OF_NO_FRAME]
    limit = "one frame a topic, never empty"
    if not streams:
        return Finding.unknown(FRAME_IDS, "no topic of a sensor")
    empty = [topic.name for topic in streams if topic.frame_ids[""]]
    several = [topic.name for topic in streams if len(topic.frame_ids) > 1 and topic.name not in empty]
    figure = f"{len(empty)} of {len(streams)} topics without, {len(several)} with several"
    trouble = [*empty, *several]
    return Finding.measured(
        FRAME_IDS,
        trouble[0] if trouble else "",
        figure,
        limit,
        good=not trouble,
        note=", ".join(trouble),
        mend=f"ros2 topic echo --field header.frame_id {trouble[0]}" if trouble else "",
    )


def _tree(transforms: TransformSurvey) -> Finding:
    limit = "every frame has one parent, one root"
    links = transforms.tree.links
    if not links:
        return Finding.missing(
            TREE, "no transforms: record /tf and /tf_static too", "ros2 bag record --storage mcap --all"
        )
    roots = sorted({link.parent for link in links.values()} - set(links))
    figure = f"{len(transforms.tree.frames())} frames, {len(roots)} root{'s' if len(roots) != 1 else ''}"
    note = transforms.trouble or (f"roots {', '.join(roots)}: nothing links them" if len(roots) > 1 else "a circle")
    mend = "ros2 run tf2_tools view_frames"
    if len(roots) > 1:
        mend = f"ros2 run tf2_ros static_transform_publisher --frame-id {roots[0]} --child-frame-id {roots[1]}"
    good = len(roots) == 1 and not transforms.trouble
    return Finding.measured(TREE, "", figure, limit, good=good, note=note, mend=mend)


def _poses(survey: RecordingSurvey, near: str) -> tuple[RecordedPoses | None, list[Finding]]:
    path = survey.recording.path
    topics = {name: kind for name, kind in pose_topics(survey.recording).items() if survey.topics[name].received}
    if not topics:
        mend = "ros2 bag record --storage mcap --all"
        why = "no Odometry, PoseStamped or tf: the robot does not say where it is, or nobody recorded it"
        return None, [Finding.missing(POSES, why, mend), Finding.unknown(JUMPS, "no poses")]
    troubles: list[str] = []
    for name in sorted(topics, key=lambda each: (not _shared(each, near), _PREFERRED.index(topics[each]))):
        try:
            poses = read_poses(path, name)
        except SimjudgeError as error:
            troubles.append(str(error).removeprefix(f"{path}: "))
            continue
        return poses, _pose_findings(survey, poses)
    mend = f"simjudge sim replay {quoted(path)} --scene lab --camera reference --poses {next(iter(topics))}"
    found = Finding.measured(
        POSES,
        next(iter(topics)),
        "none that can be used",
        "a trajectory",
        good=False,
        note=troubles[0],
        mend=f"{mend} --child base_link --out replayed.mcap",
    )
    return None, [found, Finding.unknown(JUMPS, "no poses")]


def _pose_findings(survey: RecordingSurvey, poses: RecordedPoses) -> list[Finding]:
    path, trajectory, limit = survey.recording.path, poses.trajectory, "below 20 m/s and 720 degrees a second"
    count, stamp = len(trajectory), trajectory.stamp
    lost = sum(poses.losses.counts.values())
    length = float(np.linalg.norm(np.diff(trajectory.position, axis=0), axis=1).sum())
    figure = (
        f"{count} of {trajectory.child_frame_id or 'a body'} in {trajectory.frame_id}, "
        f"{(stamp[-1] - stamp[0]) / 1e9:.1f} s, {length:.1f} m"
    )
    begin = f"simjudge sim replay {quoted(path)} --scene lab --camera reference --poses {poses.topic}"
    mend = f"{begin} --skip-gaps --out replayed.mcap"
    good = count > 1 and not lost
    note = poses.losses.lines()[0] if lost else "one pose is no motion"
    found = Finding.measured(POSES, poses.topic, figure, "no pose left out", good=good, note=note, mend=mend)
    if count < 2:
        return [found, Finding.unknown(JUMPS, "one pose", poses.topic)]
    jumps = TrajectoryInterpolator(trajectory).jumps(int(stamp[0]), int(stamp[-1]))
    where = f"first {(stamp[jumps[0]] - stamp[0]) / 1e9:.3f} s after the first pose" if len(jumps) else ""
    again = f"{begin} --start {(stamp[jumps[-1]] - stamp[0]) / 1e9:.1f} --out replayed.mcap" if len(jumps) else ""
    return [
        found,
        Finding.measured(JUMPS, poses.topic, f"{len(jumps)} jumps", limit, good=not len(jumps), note=where, mend=again),
    ]


def _coverage(
    survey: RecordingSurvey, camera: TopicSurvey | None, poses: RecordedPoses | None, before: Sequence[Finding]
) -> Finding:
    if camera is None or poses is None or len(poses.trajectory) < 2:
        lacking = "no images" if camera is None else "no poses"
        return Finding.unknown(COVERED, lacking)
    for check in (STAMPS, RISING, ONE_CLOCK):
        if failed(before, check):
            return Finding.unknown(COVERED, f"see {check!r}", camera.name)
    between = TrajectoryInterpolator(poses.trajectory)
    stamp = as_nanoseconds(camera.stamp)
    inside = between.covers(stamp)
    usable = inside.copy()
    usable[inside] = ~between.in_gap(stamp[inside])
    share = float(usable.mean())
    return Finding.measured(
        COVERED,
        camera.name,
        f"{int(usable.sum())} of {len(stamp)} images have a pose at their time",
        f"{_COVERED:.0%}, poses at most 0.5 s apart",
        good=share >= _COVERED,
        note=_uncovered(stamp, inside),
        mend=f"simjudge sim replay {quoted(survey.recording.path)} --scene lab --camera reference"
        f" --poses {poses.topic} "
        "--skip-gaps --out replayed.mcap",
    )


def _uncovered(stamp: IntArray, inside: np.ndarray) -> str:
    outside = int((~inside).sum())
    first = int(np.argmax(~inside))
    return (
        f"{outside} before the first or after the last pose, first at {stamp[first] / 1e9:.3f} s"
        if outside
        else "gaps between the poses"
    )


def _mount(survey: RecordingSurvey, camera: TopicSurvey | None, poses: RecordedPoses | None) -> list[Finding]:
    """Where the camera sits on what the poses are of, and whether its frame looks ahead along z (REP 103)."""
    if camera is None:
        return [Finding.unknown(MOUNT, "no images"), Finding.unknown(OPTICAL, "no images")]
    body = "base_link" if poses is None else poses.trajectory.child_frame_id.lstrip("/") or "base_link"
    frame = camera.frame_id.lstrip("/")
    pose = None if not frame else standing_pose(_standing(survey, camera.name), frame, body)
    if pose is None:
        publisher = "ros2 run tf2_ros static_transform_publisher --x 0.1 --z 0.2 --roll -1.5708 --yaw -1.5708"
        lacking = Finding.missing(
            MOUNT,
            f"no transforms that stand lead from {frame or 'the images (no frame)'} to {body}",
            f"{publisher} --frame-id {body} --child-frame-id {frame or 'camera_optical_frame'}",
            camera.name,
        )
        return [lacking, Finding.unknown(OPTICAL, "the camera's place is not known", camera.name)]
    return [
        Finding.measured(MOUNT, camera.name, f"{_numbers(pose)} in {body}", "known", good=True),
        _optical(survey, camera, pose),
    ]


def _standing(survey: RecordingSurvey, near: str) -> Links:
    """The links of the camera's own robot that hold for ever; two robots may call theirs alike."""
    out: dict[str, tuple[str, Pose]] = {}
    for child, link in survey.transforms(near).tree.links.items():
        if link.static:
            with suppress(SimjudgeError):  # one that is no pose leads nowhere
                out[child] = (link.parent, Pose(link.position[-1], link.orientation[-1]))
    return out


def _optical(survey: RecordingSurvey, camera: TopicSurvey, pose: Pose) -> Finding:
    upward = float(pose.to_world(np.array([[0.0, 0.0, 1.0]]))[0, 2] - pose.position[2])
    return Finding.measured(
        OPTICAL,
        camera.name,
        f"z of {camera.frame_id} points {upward:+.2f} upward",
        f"below {_UPWARD:g} (REP 103)",
        good=upward < _UPWARD,
        note="a body's frame (x ahead), not an optical one (z ahead)",
        mend=f"simjudge sim replay {quoted(survey.recording.path)} --scene lab --camera reference --mount "
        f"{','.join(f'{value:.4g}' for value in pose.position)} --out replayed.mcap",
    )


def _numbers(pose: Pose) -> str:
    x, y, z = pose.position
    return f"{x:.3f} {y:.3f} {z:.3f} m"


def _shared(topic: str, near: str) -> bool:
    """Whether a topic is in the namespace of the robot that a camera belongs to."""
    return topic.split("/")[1:2] == near.split("/")[1:2]


def _odometry(survey: RecordingSurvey, near: str) -> Finding:
    topics = sorted(survey.of_type(ODOMETRY), key=lambda topic: not _shared(topic.name, near))
    if not topics:
        return Finding.missing(
            MOTION,
            "no nav_msgs/msg/Odometry: drive_node follows its own motion by it",
            "ros2 run robot_localization ekf_node --ros-args --params-file ekf.yaml",
        )
    return Finding.measured(MOTION, topics[0].name, f"{len(topics[0].received)} messages", "there", good=True)
