"""`simjudge doctor` as a function: a recording or a data set, looked at by all checks that apply."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.data.clouds import CloudSet
from simjudge.data.format_support.image_files import Topics
from simjudge.data.rosbag2.interfaces import IMAGE_TYPES, LABELS, FrameTopics, camera_topics, choose_topics
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.sets import find_format, image_topics, read_clouds, read_set
from simjudge.questions.doctor.clock_checks import (
    RecordingSurvey,
    TopicSurvey,
    as_nanoseconds,
    check_clocks,
    survey_recording,
)
from simjudge.questions.doctor.diagnosis import (
    BOXES,
    CALIBRATION,
    CLOUDS,
    FOUND_BOXES,
    INPUT,
    MOTION,
    MOUNT,
    ONE_CLOCK,
    POSES,
    RATE,
    RECORDING,
    RISING,
    STAMPS,
    Diagnosis,
    Finding,
    Question,
    answer_questions,
    fitting_detector,
    has_only_label_pictures,
    quoted,
)
from simjudge.questions.doctor.frame_checks import (
    check_calibration,
    check_frames,
    check_images,
    recorded_encodings,
    recorded_images,
)
from simjudge.questions.doctor.label_checks import check_clouds, check_labels, check_simulators, types_with_messages
from simjudge.questions.policies.run import holds_trials, read_policy_trials, read_side
from simjudge.questions.policies.settings import REAL
from simjudge.questions.policies.trials import SideUnknownError
from simjudge.sim.capture.simulators.labelling import find_simulator_labels, label_pictures
from simjudge.sim.sensors.lidar.measured_turns import raw_files
from simjudge.sim.sensors.recorded_readings import measured_cloud_topics

TRIALS, SIDES, COUNTS, ENOUGH, PAIRS, STATES = (
    "trials",
    "both sides",
    "numbers of trials",
    "four policies or more",
    "paired trials",
    "initial states",
)
QUESTION = Question(
    "policies",
    "judge policies",
    (TRIALS,),
    {
        SIDES: "give the other side as a second table",
        COUNTS: "rates and ranking, but nothing is tested",
        ENOUGH: "no correlation can be told from chance",
        PAIRS: "simulated trials cannot sharpen a real mean",
        STATES: "no map of where the simulation misleads",
    },
    "simjudge robot policies {path} --out result",
)
FEWEST_POLICIES = 4
"""The best order of four has p = 1 / 24; of three 1 / 6."""


def diagnose_trials(path: Path) -> Diagnosis:
    """Look at trials of policies."""
    sides = True
    try:
        trials = read_policy_trials(path)
    except SideUnknownError:
        # A side alone, real or simulated, says as well what it can be used for.
        sides, trials = False, read_side(path, REAL)
    sides = sides and len(set(trials.real.tolist())) == 2
    policies = len(trials.policies)
    findings = [
        Finding.measured(
            TRIALS, "", f"{len(trials):,} of {policies} policies at {len(trials.tasks)} tasks", "any", good=True
        ),
        _held(SIDES, sides, "real and simulated", "one side alone"),
        _held(COUNTS, not trials.has_rates, "known", "rates without a number of trials"),
        _held(ENOUGH, policies >= FEWEST_POLICIES, str(policies), f"{policies} policies"),
        _held(PAIRS, bool(trials.pair_names), f"{len(trials.pair_names)} initial states", "no column pair"),
        _held(STATES, bool(trials.numbers), ", ".join(trials.numbers), "no condition is a number"),
    ]
    losses = Losses()
    losses.extend(trials.losses)
    return Diagnosis(
        path, "trials of policies", findings, answer_questions(findings, (QUESTION,)), trials.notes, losses
    )


def _held(check: str, good: bool, figure: str, lacking: str) -> Finding:  # noqa: FBT001 - what was found
    return Finding.measured(check, "", figure, "any", good=True) if good else Finding.missing(check, lacking)


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
    return Diagnosis(
        path, about, findings, answer_questions(findings), notes, losses, detector=fitting_detector(frames), task=task
    )


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
    count, of = sum(message for message, _ in stamped), sum(message for _, message in stamped)
    out = [Finding.unknown(check, "a data set has no topics") for check in (RISING, ONE_CLOCK, RATE, MOUNT)]
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
    played = f"simjudge data convert {quoted(path)} played.mcap" if readable else ""
    note = "a data set; as a recording it can be played" if readable else "bare scans, which no recording is made of"
    return [
        *out,
        Finding.missing(RECORDING, note, played),
        *(Finding.unknown(check, "a data set is no robot") for check in (MOTION, INPUT)),
    ]


def _set_calibration(clouds: CloudSet | None) -> Finding:
    if clouds is not None and len(clouds.cameras):
        matrix = clouds.cameras[0].matrix
        return Finding.measured(
            CALIBRATION, "", f"fx {matrix[0, 0]:.1f}, fy {matrix[1, 1]:.1f} px", "focal lengths above 0", good=True
        )
    return Finding.missing(CALIBRATION, "no calibration in the data set")


_INPUTS = (
    "simjudge_msgs/msg/VehicleInput",
    "art_msgs/msg/VehicleInput",
    "geometry_msgs/msg/Twist",
    "geometry_msgs/msg/TwistStamped",
    "ackermann_msgs/msg/AckermannDriveStamped",
    "sensor_msgs/msg/Joy",
)
"""Message types by which cars are driven."""


def diagnose_recording(path: Path, image_topic: str | None, *, live: bool = False) -> Diagnosis:
    """Look at a recording."""
    recording = Recording(path)
    survey = survey_recording(recording)
    notes = list(recording.notes)
    camera, chosen, trouble = _camera(survey, image_topic, notes)
    frames = None
    if chosen is not None:
        try:
            frames = read_set(path, topics=image_topics(None if camera is None else camera.name))
        except SimjudgeError as error:
            trouble = str(error).removeprefix(f"{path}: ")
    times = check_clocks(survey)
    pictures = _pictures(survey, camera)
    held = Finding.measured(RECORDING, "", f"{sum(recording.counts.values())} messages", "any", good=True)
    findings = [
        held,
        *times,
        *check_frames(survey, camera, times),
        *pictures,
        *check_calibration(survey, camera, chosen, pictures),
        *check_labels(path, frames, trouble, _tolerance(survey, camera)),
        *_clouds(path, recording),
        _input(survey),
    ]
    simulators = find_simulator_labels(types_with_messages(survey))
    beside = (
        None
        if not live
        else {
            "images": "" if camera is None else camera.name,
            "camera_info": "" if chosen is None else chosen.camera_info or "",
        }
    )
    findings = check_simulators(path, simulators, findings, beside)
    span = recording.span()
    seconds = 0.0 if span is None else (span[1] - span[0]) / 1e9
    kind = f"recording, {seconds:.1f} s, {len(survey.topics)} topics"
    return Diagnosis(
        path, kind, findings, answer_questions(findings), notes, survey.losses, detector=fitting_detector(frames)
    )


def looked_at_camera(survey: RecordingSurvey, image_topic: str | None) -> TopicSurvey | None:
    """The images that a diagnosis looks at."""
    return _camera(survey, image_topic, [])[0]


def _camera(
    survey: RecordingSurvey, image_topic: str | None, notes: list[str]
) -> tuple[TopicSurvey | None, FrameTopics | None, str]:
    """The pictures that are looked at, the topics that belong to them, and why there are none."""
    types = types_with_messages(survey)
    if image_topic is None:
        labels = label_pictures(find_simulator_labels(types), types)
        types = {topic: kind for topic, kind in types.items() if topic not in labels}
    where = str(survey.recording.path)
    named = image_topic
    counts = {name: len(topic.received) for name, topic in survey.topics.items()}
    cameras = camera_topics(types, counts)
    if named is None and len(cameras) > 1:
        name, named = next(iter(cameras.items()))
        others = ", ".join(list(cameras)[1:])
        notes.append(f"several cameras: {name} is looked at; --image-topic chooses another: {others}")
    try:
        chosen = choose_topics(where, types, named, None, None, counts=counts)
    except SimjudgeError as error:
        if image_topic is not None:
            raise
        return None, None, "no pictures" if not cameras else str(error).removeprefix(f"{where}: ")
    image = next((name for name in chosen.images if survey.topics[name].type in IMAGE_TYPES), None)
    return (None if image is None else survey.topics[image]), chosen, ""


def _pictures(survey: RecordingSurvey, camera: TopicSurvey | None) -> list[Finding]:
    if camera is None:
        return check_images(None, 0, "")
    images = recorded_images(survey, camera)
    return check_images(images, len(images), camera.name, recorded_encodings(survey, camera))


def _tolerance(survey: RecordingSurvey, camera: TopicSurvey | None) -> float:
    """Seconds that join most labels to their nearest picture: twice the usual distance, rounded up."""
    labels = survey.of_type(LABELS)
    if camera is None or not labels or not labels[0].stamp or not camera.stamp:
        return 0.05
    stamps, at = np.sort(as_nanoseconds(camera.stamp)), as_nanoseconds(labels[0].stamp)
    after = np.clip(np.searchsorted(stamps, at), 1, max(len(stamps) - 1, 1))
    near = np.minimum(np.abs(stamps[np.minimum(after, len(stamps) - 1)] - at), np.abs(stamps[after - 1] - at))
    return max(float(np.ceil(2e-6 * np.median(near)) / 1e3), 0.001)


def _clouds(path: Path, recording: Recording) -> list[Finding]:
    topics = measured_cloud_topics(recording)
    if not topics:
        mend = "ros2 bag record --storage mcap --all"
        return [
            Finding.missing(CLOUDS, "no point clouds", mend),
            Finding.unknown(BOXES, "no point clouds"),
            Finding.unknown(FOUND_BOXES, "no point clouds"),
        ]
    out: list[Finding] = []
    for topic in topics:
        try:
            clouds = read_clouds(path, Topics(cloud_topic=topic))
        except SimjudgeError as error:
            note = str(error).removeprefix(f"{path}: ")
            out.append(
                Finding.measured(
                    CLOUDS,
                    topic,
                    "cannot be read",
                    "at least one",
                    good=False,
                    note=note,
                    mend=f"ros2 topic echo --once {topic}",
                )
            )
            continue
        out += check_clouds(path, topic, clouds, topic)
    return out


def _input(survey: RecordingSurvey) -> Finding:
    topics = survey.of_type(*_INPUTS)
    if not topics:
        return Finding.missing(
            INPUT,
            "no command to a vehicle: VehicleInput, Twist, AckermannDriveStamped, Joy",
            "ros2 topic list --show-types",
        )
    held = ", ".join(f"{topic.name} ({topic.type})" for topic in topics)
    return Finding.measured(INPUT, topics[0].name, held, "a type that simjudge knows", good=True)


def diagnose(path: str | Path, *, image_topic: str | None = None) -> Diagnosis:
    """Find out what of a recording or a data set is usable for which question.

    Args:
        path: a recording, a data set of pictures or clouds in any format, or trials of policies.
        image_topic: in a recording of several cameras, the images to look at, or the camera's name.

    Raises:
        SimjudgeError: nothing is there, or nothing that simjudge knows.
    """
    path = Path(path)
    if holds_trials(path):
        return diagnose_trials(path)
    form = find_format(path)
    if form is not None and form.name == "bag":
        return diagnose_recording(path, image_topic)
    if image_topic is not None:
        raise UsageError(f"{path}: is no recording; topics cannot be chosen in it")
    return diagnose_set(path, "scans" if form is None else form.name)
