"""Recordings in the form of Gazebo's segmentation camera through ros_gz, labelled and judged.

rgb8: blue is the label, green and red the number of the instance (Ogre2SegmentationCamera::LabelMapFromColoredBuffer).
"""

import numpy as np
import pytest
from bag_samples import TYPES, header, write_mcap
from simulated_worlds import HEIGHT, NAMES, WIDTH, boxes_by_loop, boxes_of, photograph, raw_image, stamps, view
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.sets import Topics, read_set
from simjudge.sim.capture.simulators.labelling import label_recording

CLASSES = ("1=red", "2=green")
VIEWS = [view(number) for number in range(6)]


def labels_map(stamp, seen):
    number = seen.instances
    return raw_image(stamp, np.dstack([number % 256, number // 256, seen.classes]), "rgb8")


def detection(kind, box):
    """A box as the bridge writes it: the label as text, one hypothesis, the centre between the corners."""
    new = {name.split("/")[-1]: each for name, each in TYPES.types.items() if "/msg/" in name}
    pose = new["PoseWithCovariance"](new["Pose"](new["Point"](0, 0, 0), new["Quaternion"](0, 0, 0, 1)), np.zeros(36))
    guess = new["ObjectHypothesisWithPose"](new["ObjectHypothesis"](kind, 1.0), pose)
    x0, y0, x1, y1 = box
    centre = new["Pose2D"](new["Point2D"]((x0 + x1) / 2, (y0 + y1) / 2), 0.0)
    return new["Detection2D"](header(0), [guess], new["BoundingBox2D"](centre, float(x1 - x0), float(y1 - y0)), "")


def boxes(stamp, seen):
    """Visible boxes: from the first pixel to the last, as Ogre2BoundingBoxCamera::VisibleBoundingBoxes has them."""
    number = {name: str(key) for key, name in NAMES.items()}
    items = [
        detection(number[name], (x0, y0, x1 - 1, y1 - 1)) for name, x0, y0, x1, y1 in boxes_by_loop(seen, min_size=1)
    ]
    return TYPES.types["vision_msgs/msg/Detection2DArray"](header(stamp), items)


def recorded(folder, label=labels_map, topic="/segmentation/labels_map", late=0):
    path = folder / "gazebo.mcap"
    messages = []
    for stamp, seen in zip(stamps(len(VIEWS)), VIEWS, strict=True):
        messages += [("/camera/image", stamp, photograph(stamp, seen)), (topic, stamp, label(stamp + late, seen))]
    write_mcap(path, messages)
    return path


@pytest.mark.parametrize(
    ("label", "topic"), [(labels_map, "/segmentation/labels_map"), (boxes, "/boxes")], ids=["picture", "boxes"]
)
@pytest.mark.parametrize("least", [5.0, 0.0, 12.0])
def test_every_box_is_that_of_a_loop_over_the_pixels(tmp_path, label, topic, least):
    frames = label_recording(recorded(tmp_path, label, topic), "gazebo", classes=CLASSES, min_size=least)
    assert frames.class_names == {1: "red", 2: "green"}
    assert frames.labelled.all()
    assert not frames.losses
    for index, seen in enumerate(VIEWS):
        assert boxes_of(frames, index) == boxes_by_loop(seen, least)
        assert np.array_equal(frames.images.read(index), seen.photograph)


def test_masks_are_the_visible_pixels(tmp_path):
    frames = label_recording(recorded(tmp_path), "gazebo", classes=CLASSES)
    objects = frames.objects
    for row in range(len(objects)):
        seen, (x0, y0, x1, y1) = VIEWS[objects.frame[row]], objects.box[row].astype(int)
        kind, number = divmod(int(objects.instance[row]), 2**16)
        same = (seen.classes == kind) & (seen.instances == number)
        assert np.array_equal(objects.masks.crop(row), same[y0:y1, x0:x1])
        assert same.sum() == objects.masks.crop(row).sum()


def test_a_recording_is_labelled_detected_on_and_compared(tmp_path):
    source, labelled = recorded(tmp_path), tmp_path / "labelled.mcap"
    given = [f"--class={each}" for each in CLASSES]
    runs = [["convert", str(source), str(labelled), "--simulator=gazebo", *given]]
    runs.append(["detect", str(labelled), "--model=cones_red_green", f"--out={tmp_path / 'seen.mcap'}"])
    seen = str(tmp_path / "seen.mcap")
    runs.append(["compare", seen, seen, f"--out={tmp_path / 'report'}", "--draws=20"])
    for arguments in runs:
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, (arguments, done.output, done.exception)
    frames = read_set(seen)
    assert [boxes_of(frames, index) for index in range(len(VIEWS))] == [boxes_by_loop(each) for each in VIEWS]
    assert len(frames.predictions) > 0


def test_without_a_table_of_names_one_line_says_what_to_give(tmp_path):
    with pytest.raises(SimjudgeError, match=r"label [12] means; give --class [12]=NAME") as caught:
        label_recording(recorded(tmp_path), "gazebo")
    assert "\n" not in str(caught.value)


def test_pixels_of_an_unknown_class_are_counted(tmp_path):
    frames = label_recording(recorded(tmp_path), "gazebo", classes=["2=green"], min_size=0)
    assert frames.losses.counts == {
        "pixels of a class or colour without a name": sum(int((each.classes == 1).sum()) for each in VIEWS)
    }
    assert "class 1" in frames.losses.lines()[0]
    assert set(frames.objects.class_id.tolist()) == {2}


def test_stamps_that_do_not_match_are_said_and_a_tolerance_mends_them(tmp_path):
    source = recorded(tmp_path, late=2_000_000)
    with pytest.raises(SimjudgeError, match="--label-tolerance"):
        label_recording(source, "gazebo", classes=CLASSES)
    frames = label_recording(source, "gazebo", classes=CLASSES, label_tolerance=0.01)
    assert boxes_of(frames, 3) == boxes_by_loop(VIEWS[3])


def test_boxes_end_at_the_image_and_those_outside_are_counted(tmp_path):
    def over(stamp, _seen):
        outside = detection("1", (WIDTH + 2, 3, WIDTH + 20, 30))
        across = detection("2", (WIDTH - 10, HEIGHT - 8, WIDTH + 20, HEIGHT + 30))
        return TYPES.types["vision_msgs/msg/Detection2DArray"](header(stamp), [outside, across])

    frames = label_recording(recorded(tmp_path, over, "/boxes"), "gazebo", classes=CLASSES)
    assert frames.losses.counts == {"boxes outside the image": len(VIEWS)}
    assert boxes_of(frames, 0) == [("green", WIDTH - 10.0, HEIGHT - 8.0, float(WIDTH), float(HEIGHT))]


def test_two_boxes_of_one_instance_keep_their_boxes_only(tmp_path):
    def twice(stamp, _seen):
        items = [detection("1", (x, 3, x + 12, 30)) for x in (4, 40)]
        for item in items:
            item.id = "7"
        return TYPES.types["vision_msgs/msg/Detection2DArray"](header(stamp), items)

    frames = label_recording(recorded(tmp_path, twice, "/boxes"), "gazebo", classes=CLASSES)
    assert frames.losses.counts == {"instance ids that two objects of an image have (the boxes are kept)": len(VIEWS)}
    assert frames.objects.instance[:2].tolist() == [7, -1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"topics": Topics(label_topic="/nowhere")}, "has no topic /nowhere"),
        ({"topics": Topics(label_topic="/other")}, "none of the forms"),
        ({"classes": ["one=red"]}, "--class one=red: a number and a name are needed"),
        ({"classes": ["1=red", "1=blue"]}, "1 is red already"),
    ],
)
def test_requests_that_make_no_sense(tmp_path, more, said):
    path = tmp_path / "x.mcap"
    text = TYPES.types["std_msgs/msg/Header"]
    write_mcap(path, [("/camera/image", 1, photograph(1, VIEWS[0])), ("/other", 1, text)][:1])
    if "/other" in str(more):
        write_mcap(path, [("/camera/image", 1, photograph(1, VIEWS[0])), ("/other", 1, header(1))])
    with pytest.raises(UsageError, match=said):
        label_recording(path, "gazebo", **more)


def test_a_recording_without_ground_truth_names_what_it_lacks(tmp_path):
    path = tmp_path / "x.mcap"
    write_mcap(path, [("/camera/image", 1, photograph(1, VIEWS[0]))])
    with pytest.raises(SimjudgeError, match=r"none of the topics .*\*labels_map.*--label-topic"):
        label_recording(path, "gazebo", classes=CLASSES)
