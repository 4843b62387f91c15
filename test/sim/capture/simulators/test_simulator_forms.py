"""Recordings in the forms of Isaac Sim, CARLA and Webots, made as their sources make them, labelled as a loop says."""

import json

import numpy as np
import pytest
from bag_samples import TYPES, header, write_mcap
from rosbags.typesys import get_types_from_msg
from simulated_worlds import NAMES, View, boxes_by_loop, boxes_of, photograph, raw_image, stamps, view
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError
from simjudge.sim.capture.simulators.label_messages import read_simulator
from simjudge.sim.capture.simulators.labelling import label_recording

VIEWS = [view(number) for number in range(10, 15)]
CAR, TRUCK = 14, 15
WEBOTS = "webots_ros2_msgs/msg/CameraRecognitionObject"
if WEBOTS not in TYPES.types:
    thing = (
        "int32 id\ngeometry_msgs/PoseStamped pose\nvision_msgs/BoundingBox2D bbox\nstd_msgs/ColorRGBA[] colors\n"
        "string model\n"
    )
    TYPES.register(get_types_from_msg(thing, WEBOTS))
    TYPES.register(
        get_types_from_msg("std_msgs/Header header\nwebots_ros2_msgs/CameraRecognitionObject[] objects\n", WEBOTS + "s")
    )


def new(name, *values):
    return TYPES.types[name](*values)


def text(content):
    return new("std_msgs/msg/String", json.dumps(content))


def table(stamp, names):
    """The JSON of ROS2PublishSemanticLabels: names by number as text, and the stamp of the simulation."""
    stamped = {"time_stamp": {"sec": stamp // 10**9, "nanosec": stamp % 10**9}}
    return text({str(number): name for number, name in names.items()} | stamped)


def isaac_pictures(index, stamp, seen):
    """Numbers that mean something else in every message, from 2 on; paths of prims."""
    keys = sorted({(int(k), int(i)) for k, i in zip(seen.classes.flat, seen.instances.flat, strict=True) if k})
    keys = keys[::-1] if index % 2 else keys
    numbers = np.zeros(seen.classes.shape, np.int64)
    names = {0: "BACKGROUND", 1: "UNLABELLED"}
    for number, (kind, instance) in enumerate(keys, start=2):
        numbers[(seen.classes == kind) & (seen.instances == instance)] = number
        names[number] = f"/World/{NAMES[kind]}_{instance}"
    yield "/semantic_labels_instance", stamp, table(stamp, names)
    yield "/instance_segmentation", stamp, raw_image(stamp, numbers[..., None], "32SC1")


def box_message(stamp, rows):
    pose = new(
        "geometry_msgs/msg/Pose",
        new("geometry_msgs/msg/Point", 0, 0, 0),
        new("geometry_msgs/msg/Quaternion", 0, 0, 0, 1),
    )
    guess_pose = new("geometry_msgs/msg/PoseWithCovariance", pose, np.zeros(36))
    items = []
    for kind, (x0, y0, x1, y1) in rows:
        hypothesis = new("vision_msgs/msg/ObjectHypothesis", kind, 1.0)
        guess = new("vision_msgs/msg/ObjectHypothesisWithPose", hypothesis, guess_pose)
        items.append(new("vision_msgs/msg/Detection2D", header(stamp), [guess], bounds(x0, y0, x1, y1), ""))
    return new("vision_msgs/msg/Detection2DArray", header(stamp), items)


def bounds(x0, y0, x1, y1):
    centre = new("vision_msgs/msg/Pose2D", new("vision_msgs/msg/Point2D", (x0 + x1) / 2, (y0 + y1) / 2), 0.0)
    return new("vision_msgs/msg/BoundingBox2D", centre, float(x1 - x0), float(y1 - y0))


def isaac_boxes(_index, stamp, seen):
    """Tight boxes, from the first to the last pixel; class 0 is a class."""
    ids = {"red": "0", "green": "1"}
    rows = [(ids[name], (x0, y0, x1 - 1, y1 - 1)) for name, x0, y0, x1, y1 in boxes_by_loop(seen, 1)]
    yield "/semantic_labels_tight", stamp, table(stamp, {0: {"class": "red"}, 1: {"class": "green,large"}})
    yield "/bbox_2d_tight", stamp, box_message(stamp, rows)


def carla_instances(_index, stamp, seen):
    """bgra8: red the tag, green and blue the actor's number, low byte first (numbers above 255 here)."""
    number = seen.instances + 300 * (seen.instances > 0)
    tag = np.where(seen.classes == 1, CAR, np.where(seen.classes == 2, TRUCK, 11))
    yield "/carla/ego/instance/image", stamp, raw_image(stamp, np.dstack([number // 256, number % 256, tag]), "bgra8")


def webots(_index, stamp, seen):
    rows = boxes_by_loop(seen, 1)
    objects = []
    for number, (name, *box) in enumerate(rows):
        pose = new(
            "geometry_msgs/msg/PoseStamped",
            header(stamp),
            new(
                "geometry_msgs/msg/Pose",
                new("geometry_msgs/msg/Point", 0, 0, 0),
                new("geometry_msgs/msg/Quaternion", 0, 0, 0, 1),
            ),
        )
        objects.append(new(WEBOTS, number, pose, bounds(*box), [], name))
    if objects:
        yield "/car/camera/recognitions/webots", stamp, new(WEBOTS + "s", header(stamp), objects)


FORMS = {
    "isaac pictures": (isaac_pictures, "isaac_sim", "/rgb", "rgb8", {}),
    "isaac boxes": (isaac_boxes, "isaac_sim", "/rgb", "rgb8", {}),
    "carla native": (
        carla_instances,
        "carla_native",
        "/carla/ego/rgb_front/image",
        "bgra8",
        {"red": "car", "green": "truck"},
    ),
    "webots": (webots, "webots", "/car/camera/image_color", "bgra8", {}),
}


def recorded(folder, messages, topic, encoding, views=VIEWS):
    path = folder / "drive.mcap"
    every = []
    for index, (stamp, seen) in enumerate(zip(stamps(len(views)), views, strict=True)):
        every.append((topic, stamp, photograph(stamp, seen, encoding)))
        every += messages(index, stamp, seen)
    write_mcap(path, every)
    return path


def own_file(folder, form):
    """Isaac Sim's file with patterns for these prims; the others as they are."""
    _, simulator, *_ = FORMS[form]
    if form != "isaac pictures":
        return simulator
    path = folder / "isaac.yaml"
    path.write_text(
        'pictures: {topic: "*instance_segmentation", instance_from: value, names_from: "*semantic_labels_instance",'
        ' background: [BACKGROUND, UNLABELLED], patterns: {"/World/red*": red, "/World/green*": green}}'
    )
    return path


@pytest.mark.parametrize("form", list(FORMS))
def test_every_box_is_that_of_a_loop_over_the_pixels(tmp_path, form):
    messages, _, topic, encoding, renamed = FORMS[form]
    frames = label_recording(recorded(tmp_path, messages, topic, encoding), own_file(tmp_path, form))
    assert not frames.losses, frames.losses.lines()
    for index, seen in enumerate(VIEWS):
        expected = sorted((renamed.get(name, name), *box) for name, *box in boxes_by_loop(seen))
        assert boxes_of(frames, index) == expected
        assert np.array_equal(frames.images.read(index), seen.photograph)
    assert frames.labelled.all()


@pytest.mark.parametrize("form", list(FORMS))
def test_every_form_is_judged_end_to_end(tmp_path, form):
    messages, _, topic, encoding, _ = FORMS[form]
    source = recorded(tmp_path, messages, topic, encoding)
    labelled, seen = tmp_path / "labelled.mcap", str(tmp_path / "seen.mcap")
    rename = ["--rename=red=car", "--rename=green=truck"] if form == "carla native" else []
    for arguments in (
        ["convert", str(source), str(labelled), f"--simulator={own_file(tmp_path, form)}"],
        ["detect", str(labelled), "--model=cones_red_green", f"--out={seen}", *rename],
        ["compare", seen, seen, f"--out={tmp_path / 'report'}", "--draws=20"],
    ):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, (arguments, done.output, done.exception)
    assert (tmp_path / "report").is_dir()


def test_cars_of_the_bridges_colours_that_touch_are_one(tmp_path):
    colours = {1: (0, 0, 142), 2: (0, 0, 70), 0: (70, 130, 180)}
    classes = np.zeros((64, 96), np.int64)
    classes[10:30, 5:25], classes[10:30, 40:50], classes[30:40, 50:60], classes[50:60, 5:30] = 1, 1, 1, 2
    seen = View(np.zeros((64, 96, 3), np.uint8), classes, classes)
    picture = np.zeros((64, 96, 3), np.int64)
    for kind, colour in colours.items():
        picture[classes == kind] = colour[::-1]
    picture[0, :7] = (1, 2, 3)

    def bridge(_index, stamp, _seen):
        yield "/carla/ego_vehicle/semantic_segmentation_front/image", stamp, raw_image(stamp, picture, "bgra8")

    source = recorded(tmp_path, bridge, "/carla/ego_vehicle/rgb_front/image", "bgra8", [seen])
    frames = label_recording(source, "carla")
    # Two squares that meet at a corner are one object.
    assert boxes_of(frames, 0) == [
        ("car", 5.0, 10.0, 25.0, 30.0),
        ("car", 40.0, 10.0, 60.0, 40.0),
        ("truck", 5.0, 50.0, 30.0, 60.0),
    ]
    assert frames.objects.instance.tolist() == [-1, -1, -1]
    assert frames.losses.counts == {"pixels of a class or colour without a name": 7}
    assert "colour 3 2 1" in frames.losses.lines()[0]


def test_images_between_webots_messages_have_nothing_in_them(tmp_path):
    empty = View(VIEWS[0].photograph, np.zeros_like(VIEWS[0].classes), np.zeros_like(VIEWS[0].classes))
    source = recorded(tmp_path, webots, "/car/camera/image_color", "bgra8", [empty, VIEWS[0], empty, VIEWS[1], empty])
    frames = label_recording(source, "webots")
    assert frames.labelled.tolist() == [False, True, True, True, False]
    assert boxes_of(frames, 2) == []


def test_webots_boxes_without_a_class_are_counted_and_said(tmp_path):
    def plain(_index, stamp, seen):
        yield "/car/camera/recognitions", stamp, box_message(stamp, [("", box) for _, *box in boxes_by_loop(seen)])

    source = recorded(tmp_path, plain, "/car/camera/image_color", "bgra8")
    with pytest.raises(SimjudgeError, match=r"\*/recognitions/webots .*it has|It has"):
        label_recording(source, "webots")


def test_isaac_pictures_without_their_names_say_so(tmp_path):
    def nameless(index, stamp, seen):
        return [
            isaac_picture
            for isaac_picture in isaac_pictures(index, stamp, seen)
            if isaac_picture[0] == "/instance_segmentation"
        ]

    with pytest.raises(SimjudgeError, match="nothing says what the label 0 means"):
        label_recording(recorded(tmp_path, nameless, "/rgb", "rgb8"), "isaac_sim")


def test_names_that_are_no_json_are_counted(tmp_path):
    def broken(index, stamp, seen):
        yield "/semantic_labels_tight", stamp, new("std_msgs/msg/String", "{")
        yield from isaac_boxes(index, stamp, seen)

    frames = label_recording(recorded(tmp_path, broken, "/rgb", "rgb8"), "isaac_sim")
    assert frames.losses.counts == {"messages of names that are no JSON table of numbers": len(VIEWS)}
    assert boxes_of(frames, 1) == boxes_by_loop(VIEWS[1])


def test_a_jpeg_of_labels_is_refused(tmp_path):
    def jpegs(_index, stamp, _seen):
        data = np.frombuffer(b"\xff\xd8\xff" + bytes(40), np.uint8)
        yield "/segmentation/labels_map", stamp, new("sensor_msgs/msg/CompressedImage", header(stamp), "jpeg", data)

    with pytest.raises(SimjudgeError, match=r"no message on /segmentation/labels_map can be read.*changes its values"):
        label_recording(recorded(tmp_path, jpegs, "/camera/image", "rgb8"), "gazebo", classes=["1=red"])


def test_the_camera_of_a_simulator_is_a_file_beside_it_wherever_simjudge_runs(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (tmp_path / "mine.yaml").write_text(
        "images: {camera: eye.yaml}\nthings: {cone: {name: red, topic: /cone, cone: [0.1, 0.25]}}\n"
    )
    (tmp_path / "eye.yaml").write_text("size: [96, 64]\nfield_of_view: 80\nrate: 10\n")
    assert read_simulator(tmp_path / "mine.yaml").content.images.camera == str(tmp_path / "eye.yaml")
    (tmp_path / "eye.yaml").rename(elsewhere / "eye.yaml")
    with pytest.raises(SimjudgeError, match=r"mine\.yaml:1: images\.camera: eye\.yaml: neither a file nor"):
        read_simulator(tmp_path / "mine.yaml")
