"""A whole recording passes every check; each defect fails exactly its own; every line that mends can be typed."""

import json
import shlex
from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from bag_samples import SECOND, image, labels, write_mcap
from called_command import called
from drive_recordings import header, message, odometry, vector, write_drive
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.errors import UsageError
from simjudge.core.images import encode_png
from simjudge.questions.doctor import diagnosis as names
from simjudge.questions.doctor.diagnosis import NO, QUESTIONS, WITH_LOSS, YES, answer_questions
from simjudge.questions.doctor.run import diagnose
from simjudge.ros.graphs import GRAPHS

START = 1_700_000_000 * SECOND
COUNT, RATE, SIZE = 20, 10, (64, 48)
FRAME = "camera_optical_frame"


def transform(stamp, parent, child, x, rotation=(0.0, 0.0, 0.0, 1.0)):
    pose = message("geometry_msgs/msg/Transform", vector((x, 0.0, 0.2)), vector(rotation, "Quaternion"))
    link = message("geometry_msgs/msg/TransformStamped", header(stamp, parent), child, pose)
    return message("tf2_msgs/msg/TFMessage", [link])


def camera_info(stamp, *, size=SIZE, fx=50.0, centre=None, model="plumb_bob", count=5):
    cx, cy = centre or ((size[0] - 1) / 2, (size[1] - 1) / 2)
    region = message("sensor_msgs/msg/RegionOfInterest", 0, 0, 0, 0, False)
    k = np.array([fx, 0, cx, 0, fx, cy, 0, 0, 1.0])
    p = np.array([fx, 0, cx, 0, 0, fx, cy, 0, 0, 0, 1.0, 0])
    return message(
        "sensor_msgs/msg/CameraInfo",
        header(stamp, FRAME),
        size[1],
        size[0],
        model,
        np.zeros(count),
        k,
        np.eye(3).reshape(-1),
        p,
        0,
        0,
        region,
    )


def detections(stamp, size=SIZE):
    mask = message("simjudge_msgs/msg/InstanceMask", 0, 0, 0, 0, np.empty(0, np.uint8))
    box = message("simjudge_msgs/msg/Box", 0.0, 0.0, 4.0, 5.0)
    item = message("simjudge_msgs/msg/Detection", 1, "", box, 0.9, mask)
    return message("simjudge_msgs/msg/DetectionArray", header(stamp, FRAME), "", *size, [], [item])


def picture(stamp, number, size=SIZE):
    made = image(stamp, *size)
    made.data[:] = np.random.default_rng(number).integers(0, 256, len(made.data), np.uint8)
    return replace(made, header=header(stamp, FRAME))


def whole():
    """(topic, time of recording, message) of two seconds of a robot with one camera, that lack nothing but clouds."""
    optical = (-0.5, 0.5, -0.5, 0.5)
    out = [("/tf_static", START, transform(START, "base_link", FRAME, 0.3, optical))]
    for number in range(5 * COUNT):
        stamp = START + number * SECOND // (5 * RATE)
        out += [
            ("/odom", stamp, odometry(stamp, 0.01 * number)),
            ("/tf", stamp, transform(stamp, "odom", "base_link", 0.01 * number)),
        ]
        if number % 5 == 0:
            out += [
                ("/camera/image_raw", stamp, picture(stamp, number)),
                ("/camera/camera_info", stamp, camera_info(stamp)),
                ("/camera/ground_truth", stamp, labels(stamp, size=SIZE)),
                ("/camera/detections", stamp, detections(stamp)),
                ("/cmd_vel", stamp, message("geometry_msgs/msg/Twist", vector((1, 0, 0)), vector((0, 0, 0)))),
            ]
    return out


class Row(NamedTuple):
    topic: str
    number: int
    time: int
    content: Any


def changed(topics, change, keep=lambda _number: False):
    """The messages with those of some topics changed: by their number in the topic, stamp and content."""

    def mutate(rows):
        out, count = [], dict.fromkeys(topics, 0)
        for topic, time, content in rows:
            if topic not in topics:
                out.append((topic, time, content))
                continue
            number = count[topic]
            count[topic] += 1
            made = content if keep(number) else change(Row(topic, number, time, content))
            out += [] if made is None else [(topic, time, made)]
        return out

    return mutate


def restamped(shift):
    """Gives a message another stamp, by the time of recording."""

    def change(row):
        stamp, content = shift(row.time), row.content
        if hasattr(content, "transforms"):
            return replace(
                content,
                transforms=[replace(each, header=header(stamp, each.header.frame_id)) for each in content.transforms],
            )
        return replace(content, header=header(stamp, content.header.frame_id))

    return change


def gone(_row):
    return None


def first_half(number):
    return number < COUNT // 2


CAMERA = ["/camera/image_raw", "/camera/camera_info", "/camera/ground_truth", "/camera/detections"]
INFO, PICTURES, TRUTH, FOUND = ["/camera/camera_info"], CAMERA[:1], CAMERA[2:3], CAMERA[3:]


def info(**given):
    return changed(INFO, lambda row: camera_info(row.time, **given))


def clock(rows):
    """Two publishers of /clock whose times differ."""
    kind = "builtin_interfaces/msg/Time"
    made = [
        ("/clock", time, message("rosgraph_msgs/msg/Clock", message(kind, 10 + number % 2, number)))
        for number, (_, time, _) in enumerate(rows)
    ]
    return [*rows, *made]


def second_parent(rows):
    return [*rows, ("/tf", START, transform(START, "mast", "base_link", 0.1))]


def moved(row):
    return odometry(row.time, 0.01 * row.number + (100.0 if row.number >= 50 else 0.0))


def black(row):
    return replace(row.content, data=np.zeros_like(row.content.data))


def turned_up(row):
    return transform(row.time, "base_link", FRAME, 0.3)


def resized(row):
    topic, number, time, _ = row
    size = (SIZE[0] * 2, SIZE[1] * 2)
    return {
        PICTURES[0]: lambda: picture(time, number, size),
        TRUTH[0]: lambda: labels(time, size=size),
        FOUND[0]: lambda: detections(time, size),
    }[topic]()


DEFECTS = {
    "zero stamps": (changed(PICTURES, restamped(lambda _time: 0)), names.STAMPS, names.FAIL),
    "back in time": (changed(INFO, restamped(lambda time: time - 5 * SECOND), first_half), names.RISING, names.FAIL),
    "another clock": (changed(CAMERA, restamped(lambda time: time + 3 * SECOND)), names.ONE_CLOCK, names.FAIL),
    "half the pace": (
        changed([*CAMERA, "/odom", "/tf", "/tf_static"], restamped(lambda time: START + (time - START) // 2)),
        names.PACE,
        names.FAIL,
    ),
    "two clocks": (clock, names.CLOCK_TOPIC, names.FAIL),
    "gap": (changed(CAMERA, gone, lambda number: not 5 <= number < 14), names.RATE, names.FAIL),
    "no frame": (
        changed(INFO, lambda row: replace(row.content, header=header(row.time, ""))),
        names.FRAME_IDS,
        names.FAIL,
    ),
    "two parents": (second_parent, names.TREE, names.FAIL),
    "no number": (
        changed(["/odom"], lambda row: odometry(row.time, np.nan), lambda number: number != 7),
        names.POSES,
        names.FAIL,
    ),
    "a jump": (changed(["/odom"], moved), names.JUMPS, names.FAIL),
    "poses end": (changed(["/odom"], gone, lambda number: number < 50), names.COVERED, names.FAIL),
    "no mount": (changed(["/tf_static"], gone), names.MOUNT, names.MISSING),
    "mount ahead": (changed(["/tf_static"], turned_up), names.OPTICAL, names.FAIL),
    "an encoding": (
        changed(PICTURES, lambda row: replace(row.content, encoding="9UC9"), first_half),
        names.ENCODING,
        names.FAIL,
    ),
    "black": (changed(PICTURES, black, first_half), names.ENCODING, names.FAIL),
    "two sizes": (changed([*PICTURES, *TRUTH, *FOUND], resized, first_half), names.IMAGE_SIZE, names.FAIL),
    "uncalibrated": (info(fx=0.0), names.CALIBRATION, names.FAIL),
    "no camera_info": (changed(INFO, gone), names.CALIBRATION, names.MISSING),
    "another size": (info(size=(128, 96)), names.CALIBRATED_SIZE, names.FAIL),
    "centre": (info(centre=(20.0, 23.5)), names.CENTRE, names.FAIL),
    "model": (info(model="my_own"), names.DISTORTION, names.FAIL),
    "coefficients": (info(count=3), names.DISTORTION, names.FAIL),
    "zoom": (changed(INFO, lambda row: camera_info(row.time, fx=60.0), first_half), names.CONSTANT, names.FAIL),
    "no labels": (changed(TRUTH, gone), names.LABELS, names.MISSING),
    "late labels": (
        changed(TRUTH, restamped(lambda time: time + 20_000_000), first_half),
        names.LABELS_FIT,
        names.FAIL,
    ),
    "no detections": (changed(FOUND, gone), names.PREDICTIONS, names.MISSING),
    "late detections": (
        changed(FOUND, restamped(lambda time: time + 20_000_000), first_half),
        names.PREDICTIONS_FIT,
        names.FAIL,
    ),
    "no odometry": (changed(["/odom"], gone), names.MOTION, names.MISSING),
    "no input": (changed(["/cmd_vel"], gone), names.INPUT, names.MISSING),
}
HARMLESS = (names.CLOUDS,)
"""What the whole recording lacks, as a robot without a lidar does."""


def written(path, mutate=lambda rows: rows):
    write_mcap(path, mutate(whole()))
    return path


def troubles(found):
    return {
        (each.check, each.verdict)
        for each in found.findings
        if each.verdict in names.TROUBLE and each.check not in HARMLESS
    }


def test_whole_recording_passes_every_check(tmp_path):
    found = diagnose(written(tmp_path / "whole.mcap"))
    assert not troubles(found)
    assert not found.losses
    answers = {each.question.name: each.answer for each in found.answers}
    assert answers == {"compare": YES, "replay": YES, "objects": YES, "lidar": NO, "live": YES, "drive": YES}
    checked = {each.check for each in found.findings if each.verdict == names.PASS}
    assert {names.OPTICAL, names.COVERED, names.CENTRE, names.PREDICTIONS_FIT} <= checked


@pytest.mark.parametrize("robot", ["r1", "r2"])
def test_the_transforms_and_poses_of_another_robot_are_not_this_ones(tmp_path, robot):
    """Both call their frames alike; the second one's camera hangs elsewhere and looks at the sky."""
    first = [(f"/r1{topic}", time, content) for topic, time, content in whole()]
    second = [
        (f"/r2{topic}", time, transform(START, "mast", FRAME, 0.9) if topic == "/tf_static" else content)
        for topic, time, content in whole()
    ]
    write_mcap(tmp_path / "two.mcap", sorted(first + second, key=lambda row: row[1]))
    found = diagnose(tmp_path / "two.mcap", image_topic=robot)
    by_check = {each.check: each for each in found.findings}
    assert by_check[names.POSES].about == f"/{robot}/odom"
    assert by_check[names.MOTION].about == f"/{robot}/odom"
    assert by_check[names.MOUNT].verdict == (names.PASS if robot == "r1" else names.MISSING)
    assert by_check[names.TREE].verdict == (names.PASS if robot == "r1" else names.FAIL)
    assert "hangs below" not in by_check[names.TREE].note


@pytest.mark.parametrize(
    ("binning", "region", "verdict"),
    [
        ((2, 2), (0, 0, 0, 0), names.PASS),
        ((0, 0), (10, 20, 64, 48), names.PASS),
        ((2, 2), (10, 20, 128, 96), names.PASS),
        ((2, 1), (10, 20, 128, 96), names.FAIL),
        ((0, 0), (600, 20, 64, 48), names.FAIL),  # beyond the sensor
    ],
)
def test_camera_info_with_binning_or_a_region_is_that_of_the_pictures(tmp_path, binning, region, verdict):
    full = (region[2] and (640, 480)) or (SIZE[0] * binning[0], SIZE[1] * binning[1])
    x, y, width, height = region

    def change(row):
        made = camera_info(row.time, size=full)  # the centre of the sensor, wherever the region lies
        roi = message("sensor_msgs/msg/RegionOfInterest", x, y, height, width, False)
        return replace(made, binning_x=binning[0], binning_y=binning[1], roi=roi)

    found = diagnose(written(tmp_path / "x.mcap", changed(INFO, change)))
    by_check = {each.check: each for each in found.findings}
    assert by_check[names.CALIBRATED_SIZE].verdict == verdict
    if verdict == names.PASS:
        assert not troubles(found)


@pytest.mark.parametrize("raw", [0, 1])
def test_of_a_cameras_topics_the_one_with_most_messages_is_looked_at(tmp_path, raw):
    def compressed(row):
        data = np.frombuffer(encode_png(np.asarray(row.content.data).reshape(48, 64, 3)), np.uint8)
        return message("sensor_msgs/msg/CompressedImage", row.content.header, "png", data)

    rows = whole()
    packed = [row for row in changed(PICTURES, compressed)(rows) if row[0] in PICTURES]
    few = changed(PICTURES, gone, lambda number: number < raw)(rows)
    both = [*few, *((f"{topic}/compressed", *rest) for topic, *rest in packed)]
    write_mcap(tmp_path / "x.mcap", sorted(both, key=lambda row: row[1]))
    found = diagnose(tmp_path / "x.mcap")
    assert not troubles(found)
    assert next(each for each in found.findings if each.check == names.IMAGES).figure == f"{COUNT} pictures"
    assert len(sj.read(tmp_path / "x.mcap")) == COUNT


def test_simulation_that_begins_at_zero_and_joint_states_without_a_frame_are_no_fault(tmp_path):
    """As `simjudge sim drive` records them."""

    def mutate(rows):
        topics = list(dict.fromkeys(topic for topic, *_ in rows if topic != "/cmd_vel"))
        rows = changed(topics, restamped(lambda time: time - START))(rows)
        joints = [
            message("sensor_msgs/msg/JointState", header(time - START, ""), [], *[np.zeros(0)] * 3)
            for topic, time, _ in rows
            if topic == "/odom"
        ]
        return [
            *((topic, time - START, content) for topic, time, content in rows),
            ("/joint_states", 0, joints[0]),  # the first one twice: with the first image, and at its own rate
            *(("/joint_states", number * SECOND // 50, each) for number, each in enumerate(joints)),
        ]

    assert not troubles(diagnose(written(tmp_path / "simulated.mcap", mutate)))


def typed(line):
    """Hold a line of simjudge to the command's own options; ROS's lines to their first words."""
    program, *words = shlex.split(line)
    if program == "ros2":
        assert words[0] in {"bag", "run", "topic", "param"}, line
        return
    if program == "chronyc":
        return
    assert program == "simjudge", line
    if words[:2] == ["ros", "run"]:
        arguments = {each.name for each in GRAPHS[words[2]].arguments}
        assert {word.partition(":=")[0] for word in words[3:]} <= arguments, line
        return
    command, rest = called(words)
    assert command.make_context(command.name, rest).params, line


@pytest.mark.parametrize("defect", DEFECTS)
def test_defect_fails_exactly_its_own_check_and_what_mends_it_can_be_typed(tmp_path, defect):
    mutate, check, verdict = DEFECTS[defect]
    found = diagnose(written(tmp_path / "a recording.mcap", mutate))
    assert troubles(found) == {(check, verdict)}, [each for each in found.findings if each.verdict in names.TROUBLE]
    assert any(check in checks for checks in found.remedies.values())
    for line in (*found.remedies, *(found.command(each) for each in found.answers)):
        typed(line)


def test_line_for_late_labels_joins_them(tmp_path):
    mutate = DEFECTS["late labels"][0]
    bag = written(tmp_path / "x.mcap", mutate)
    (line,) = (line for line, checks in diagnose(bag).remedies.items() if names.LABELS_FIT in checks)
    words = [word.replace("joined.mcap", str(tmp_path / "joined.mcap")) for word in shlex.split(line)[1:]]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert (names.LABELS_FIT, names.FAIL) not in troubles(diagnose(tmp_path / "joined.mcap"))


def test_offset_between_clocks_is_what_it_was_made(tmp_path):
    found = diagnose(written(tmp_path / "x.mcap", changed(PICTURES, restamped(lambda time: time + 3 * SECOND))))
    (row,) = (each for each in found.findings if each.check == names.ONE_CLOCK)
    assert row.figure == "3.000 s at most"
    assert "--time-offset -3.000" in row.mend
    assert row.about == PICTURES[0]


@pytest.mark.parametrize("hours", [1, -1])
def test_offset_between_two_topics_is_not_halved(tmp_path, hours):
    late = changed(PICTURES, restamped(lambda time: time + hours * 3600 * SECOND))
    found = diagnose(written(tmp_path / "x.mcap", lambda rows: late([r for r in rows if r[0] in (*PICTURES, "/odom")])))
    (row,) = (each for each in found.findings if each.check == names.ONE_CLOCK)
    assert row.figure == "3600.000 s at most"
    assert f"--time-offset {-3600 * hours}.000" in row.mend


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1000, names.FAIL), (1e-6, names.FAIL), (20, names.PASS), (0.01, names.PASS)]
)
def test_stamps_of_another_unit_are_no_simulated_time(tmp_path, factor, verdict):
    """A driver wrote milliseconds since its start as seconds, or as nanoseconds; a simulation runs slowly, or fast."""
    other = changed([*CAMERA, "/odom", "/tf"], restamped(lambda time: SECOND + round((time - START) * factor)))
    found = diagnose(written(tmp_path / "x.mcap", other))
    (row,) = (each for each in found.findings if each.check == names.PACE)
    assert row.verdict == verdict, row


@pytest.mark.parametrize(
    ("start", "said"), [(0, "time is that of the computers"), (START - SECOND, "stamps are those of a simulation")]
)
def test_a_recording_without_clock_says_whose_time_it_is(tmp_path, start, said):
    everything = sorted({topic for topic, _, _ in whole()} - {"/cmd_vel"})
    found = diagnose(written(tmp_path / "x.mcap", changed(everything, restamped(lambda time: time - start))))
    assert next(each.note for each in found.findings if each.check == names.CLOCK_TOPIC).endswith(said)


@pytest.mark.parametrize(("seconds", "verdict"), [(0.45, names.PASS), (0.55, names.FAIL)])
def test_clocks_may_be_apart_as_far_as_a_sensor_takes(tmp_path, seconds, verdict):
    late = changed(INFO, restamped(lambda time: time - round(seconds * SECOND)))
    found = diagnose(written(tmp_path / "x.mcap", late))
    assert next(each.verdict for each in found.findings if each.check == names.ONE_CLOCK) == verdict


def test_rate_and_longest_gap_are_those_that_were_recorded(tmp_path):
    found = diagnose(written(tmp_path / "x.mcap", DEFECTS["gap"][0]))
    row = next(each for each in found.findings if each.check == names.RATE and each.about == PICTURES[0])
    assert row.figure == "10 Hz, longest interval 1 s"
    assert "0.400 s after" in row.note


def test_clouds_and_their_labels(tmp_path):
    found = diagnose(write_drive(tmp_path / "x.mcap"))
    held = {each.check: each for each in found.findings if each.about == "/scan/points"}
    assert held[names.BOXES].figure == "5 of 5 clouds, 10 cuboids"
    assert "ring" in held[names.CLOUD_FIELDS].figure
    assert held[names.FOUND_BOXES].verdict == names.MISSING
    assert found.question("lidar").answer in (YES, WITH_LOSS)


def test_command_prints_writes_json_and_ends_with_the_right_code(tmp_path):
    good, bad = written(tmp_path / "good.mcap"), written(tmp_path / "bad.mcap", DEFECTS["centre"][0])
    run = CliRunner().invoke
    done = run(app, ["doctor", str(good), "--out", str(tmp_path / "x.json")])
    assert done.exit_code == 0
    assert "judge a detector" in done.output
    assert "simjudge compare" in done.output
    content = json.loads((tmp_path / "x.json").read_text())
    assert set(content["questions"]) == {each.name for each in QUESTIONS}
    assert content["questions"]["compare"] | {"command": ""} == {
        "text": "judge a detector",
        "usable": YES,
        "losses": [],
        "lacking": [],
        "command": "",
    }
    assert run(app, ["doctor", str(good), "--out", str(tmp_path / "x.json")]).exit_code == 0, (
        "earlier ones are replaced"
    )
    assert run(app, ["doctor", str(bad)]).exit_code == 1
    assert run(app, ["doctor", str(bad), "--for", "compare"]).exit_code == 0
    assert run(app, ["doctor", str(good), "--for", "lidar"]).exit_code == 1
    with pytest.raises(UsageError, match="no question fly; there are compare"):
        run(app, ["doctor", str(good), "--for", "fly"], catch_exceptions=False)


@pytest.mark.parametrize(("columns", "most"), [(None, 120), (100, 100), (40, 80)])
def test_tables_wrap_and_lose_no_word(tmp_path, monkeypatch, columns, most):
    """In a pipe they were 500 characters wide."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.__stderr__", None)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", str(columns))
    path = written(tmp_path / "bad.mcap", DEFECTS["centre"][0])
    lines = CliRunner().invoke(app, ["doctor", str(path)]).output.splitlines()
    first = next(number for number, line in enumerate(lines) if line.split()[:2] == ["check", "verdict"])
    rows = lines[first : next(number for number, line in enumerate(lines) if number > first + 2 and not line)]
    assert max(map(len, rows)) <= most
    printed = Counter("".join(" ".join(rows).split()))
    found = diagnose(path).checks
    assert printed >= Counter("".join("".join(cell.split()) for row in found.rows for cell in row))
    if most > 80:
        whole = " ".join(rows)
        assert all(word in whole for row in found.rows for cell in row for word in cell.split() if len(word) < 12)


@pytest.mark.parametrize(
    ("lacking", "answer"),
    [
        ({("/front", names.BOXES), ("/rear", names.CLOUD_FIELDS)}, NO),
        ({("/front", names.BOXES), ("/front", names.CLOUD_FIELDS)}, YES),
        ({("/front", names.BOXES), ("/rear", names.BOXES)}, NO),
        (set(), YES),
    ],
)
def test_one_lidar_must_have_all_that_is_asked_of_lidars(lacking, answer):
    findings = [
        names.Finding.measured(check, about, "", "", good=(about, check) not in lacking)
        for about in ("/front", "/rear")
        for check in (names.CLOUDS, names.CLOUD_FIELDS, names.BOXES)
    ]
    assert next(each for each in answer_questions(findings) if each.question.name == "lidar").answer == answer
