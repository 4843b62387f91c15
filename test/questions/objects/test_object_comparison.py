"""The second judge's frame: what is read, what is compared, what is refused or said."""

from dataclasses import replace

import numpy as np
import pytest
from object_sets import START, block_drive, cone_set
from pose_samples import TYPES, odometry

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.images import ArrayImages, ImageError
from simjudge.data.rosbag2.live_recording import LiveRecording
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.sets import write_set
from simjudge.geometry.poses import Pose
from simjudge.objects.camera_series import camera_series
from simjudge.objects.image_quality.colour_histograms import colour_differences, colour_histograms
from simjudge.objects.occupancy import FREE, OCCUPIED, ONLY_REAL, ONLY_VIRTUAL
from simjudge.questions.objects.result import load_object_result
from simjudge.questions.objects.run import compare_by_objects, object_pictures
from simjudge.questions.objects.settings import ObjectSettings
from simjudge.results.metric_rows import AGAIN, DIFFERS, HALVES, NOT_SHOWN


def compared(real, virtual, again=None, **settings):
    lines = []
    return compare_by_objects(real, virtual, again, ObjectSettings(**settings), log=lines.append), lines


def rows(found):
    return {(row["metric"], row["subject"]): row for row in found.content()["rows"]}


@pytest.fixture(scope="module")
def wider():
    return compared(cone_set("real", 1), cone_set("sim", 2, wider=0.5, blur=True))[0]


def test_boxes_that_are_wider_differ_in_width_and_not_in_height(wider):
    found = rows(wider)
    width = found["box width", "all objects"]
    assert width["verdict"] == DIFFERS
    assert width["low"] < 0.5 < width["high"]
    assert (width["unit"], width["floor_source"], width["sensor"]) == ("px", HALVES, "camera")
    assert found["box height", "all objects"]["verdict"] == NOT_SHOWN
    assert found["box width", "cone 0"]["is_single"]


def test_whole_pictures_are_compared_too(wider):
    assert rows(wider)["piqe", ""]["verdict"] == DIFFERS


def test_colours_are_compared_and_models_named(wider):
    content = wider.content()
    assert [model["metric"] for model in content["models"]] == ["niqe", "brisque"]
    for model in content["models"]:
        assert any(model["origin"] in note and model["digest"][:16] in note for note in content["notes"])
    colours = {(each["subject"], each["channel"]): each for each in content["colours"]}
    assert set(colours) == {(subject, name) for subject in ("", "cone") for name in ("hue", "saturation", "value")}
    assert colours["", "value"]["distance"] > 0


def test_a_model_that_is_missing_is_refused_before_anything_is_measured():
    with pytest.raises(UsageError, match="neither a file nor the name of a NIQE model"):
        compared(cone_set("real", 1), cone_set("sim", 2), niqe_model="none.json")


def test_a_second_real_recording_is_the_floor():
    found, _ = compared(cone_set("real", 1), cone_set("sim", 2, wider=0.5), cone_set("again", 3, wider=0.9))
    width = rows(found)["box width", "all objects"]
    assert width["floor_source"] == AGAIN
    assert width["floor"] == pytest.approx(0.9, abs=0.15)
    assert width["verdict"] != DIFFERS
    assert [*found.content()["inputs"]] == ["real", "virtual", "real_again"]


def test_the_floor_of_colours_is_the_second_real_recording():
    real, virtual, again = cone_set("real", 1), cone_set("sim", 2, blur=True), cone_set("again", 3)
    found = compared(real, virtual, again)[0].content()["colours"]
    beside = colour_differences(colour_histograms(real), colour_histograms(again))
    assert [each["floor"] for each in found] == [each.distance for each in beside]
    alone = compared(real, virtual)[0].content()["colours"]
    assert [each["distance"] for each in found] == [each["distance"] for each in alone]
    assert [each["floor"] for each in found] != [each["floor"] for each in alone]


def test_a_second_real_recording_whose_objects_are_others_is_no_floor_of_them():
    real, virtual = cone_set("real", 1), cone_set("sim", 2, wider=0.5)
    again = cone_set("again", 3, wider=0.9)
    # Without instance numbers in the second drive its objects are paired by track, whose numbers begin at 1.
    again = replace(again, objects=replace(again.objects, instance=np.full(len(again.objects), -1)))
    pair, _ = camera_series(real, again)
    assert "cone 1" in {each.subject for each in pair}
    found, lines = compared(real, virtual, again)
    assert rows(found)["piqe", ""]["floor_source"] == AGAIN
    assert rows(found)["box width", "cone 1"]["floor_source"] == HALVES
    assert any("series of the second real recording are not of the objects" in line for line in lines)


def test_damaged_pictures_are_counted_once():
    class Damaged(ArrayImages):
        def read(self, index):
            if index == 3:
                raise ImageError("real: frame 3 is cut short")
            return super().read(index)

    real = cone_set("real", 1)
    real = replace(real, images=Damaged(real.images.arrays))
    found, _ = compared(real, cone_set("sim", 2), cone_set("again", 3))
    assert found.losses.counts == {"pictures that cannot be read": 1}
    assert {each["subject"] for each in found.content()["colours"]} == {"", "cone"}


def test_clouds_without_stamps_are_compared_at_a_rate(clouds):
    bare = [
        replace(block_drive(name, seed, shift=shift, bright=bright), stamp=np.full(8, -1))
        for name, seed, shift, bright in (("real", 0, 0.0, 1.0), ("sim", 1, 0.3, 2.0), ("again", 2, 0.0, 1.0))
    ]
    found, _ = compared(*bare, frame_rate=10.0)
    names = "metric", "subject", "real_mean", "virtual_mean", "difference"
    assert [[row[name] for name in names] for row in found.content()["rows"]] == [
        [row[name] for name in names] for row in clouds.content()["rows"]
    ]
    for settings in ({"sensor": "lidar"}, {}):
        with pytest.raises(SimjudgeError, match=r"real: none of its clouds has a stamp, .* give --frame-rate"):
            compared(*bare, **settings)


def test_a_result_folder_holds_what_was_compared(wider, tmp_path):
    wider.save(tmp_path / "out")
    saved = load_object_result(tmp_path / "out")
    assert [row.model_dump() for row in saved.rows] == wider.content()["rows"]
    for pair, row in zip(saved.series, wider.compared["camera"].rows, strict=True):
        np.testing.assert_array_equal(pair.time, row.time)
        np.testing.assert_array_equal(pair.real, row.real)
        np.testing.assert_array_equal(pair.virtual, row.virtual)


def test_virtual_stamps_are_moved_by_the_offset(wider):
    late = cone_set("sim", 2, wider=0.5, blur=True, start=START - 7_000_000_000)
    found, _ = compared(cone_set("real", 1), late, time_offset=7.0)
    assert rows(found) == rows(wider)


@pytest.mark.parametrize(
    ("virtual", "settings", "said"),
    [
        (
            lambda: cone_set("sim", 2, start=START + 100_000_000_000),
            {},
            "no common time: real has .* --time-offset -100",
        ),
        (lambda: cone_set("sim", 2, pictures=False, stamp=np.full(40, -1)), {}, "no frame has a stamp"),
        (
            lambda: cone_set("sim", 2),
            {"sensor": "lidar"},
            "--sensor lidar: real: is a set of pictures and has no clouds",
        ),
    ],
    ids=["no common time", "no stamps", "no clouds"],
)
def test_what_cannot_be_compared_is_refused_in_a_line(virtual, settings, said):
    with pytest.raises(SimjudgeError, match=said):
        compared(cone_set("real", 1), virtual(), **settings)


def test_no_object_in_common_is_refused():
    real, virtual = (cone_set(name, 1, pictures=False, labelled=np.zeros(40, bool)) for name in ("real", "sim"))
    with pytest.raises(SimjudgeError, match="real and sim: no object and no metric in common; label the same"):
        compared(real, virtual)


def test_a_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SimjudgeError, match=r"none\.mcap: does not exist"):
        compared(tmp_path / "none.mcap", cone_set("sim", 1))


def test_recordings_without_clouds_are_compared_by_pictures_without_a_word_on_clouds(tmp_path, wider):
    for name, each in (("real", cone_set("real", 1)), ("sim", cone_set("sim", 2, wider=0.5, blur=True))):
        write_set(each, tmp_path / f"{name}.mcap")
    found, lines = compared(tmp_path / "real.mcap", tmp_path / "sim.mcap")
    assert rows(found).keys() == rows(wider).keys()
    assert not any("cloud" in line for line in lines)
    assert found.content()["inputs"]["real"]["frames"] == 40


def recorded(frames, path, poses, topics=("/odom",)):
    """Pictures and labels with odometry of what carries the camera, as a recording."""
    write_set(frames, path.with_suffix(".mcap"))
    pictures, out = Recording(path.with_suffix(".mcap")), LiveRecording(path)
    for topic in pictures.topics.values():
        out.add_topic(topic.name, topic.type, (topic.definition.data, "RIHS01_" + "0" * 64), [])
    for stored in pictures.messages(set(pictures.topics)):
        out.write(stored.topic, stored.time, bytes(stored.data))
    text, _ = TYPES.generate_msgdef("nav_msgs/msg/Odometry", ros_version=2)
    for topic in topics:
        out.add_topic(topic, "nav_msgs/msg/Odometry", (text, TYPES.hash_rihs01("nav_msgs/msg/Odometry")), [])
        for stamp, pose in zip(frames.stamp.tolist(), poses, strict=True):
            out.write(topic, stamp, bytes(TYPES.serialize_cdr(odometry(stamp, pose), "nav_msgs/msg/Odometry")))
    out.close()
    return path


def test_boxes_flicker_while_the_recorded_poses_stand(tmp_path):
    still = 15
    poses = [Pose.from_euler(0.3 * max(i - still, 0), 0, 0) for i in range(40)]
    late = START + 7_000_000_000
    real = recorded(cone_set("real", 1), tmp_path / "real", poses)
    virtual = recorded(cone_set("sim", 2, start=late), tmp_path / "sim", poses)
    found, lines = compared(real, virtual, time_offset=-7.0)
    row = rows(found)["box flicker while standing", "cone 0"]
    # Frames 1 to 15 have the pose of the frame before. Edges change by what the cones sway, grow and jitter.
    assert row["frames"] == still
    boxes = cone_set("real", 1).objects.box[::2]
    change = np.sqrt((np.diff(boxes, axis=0) ** 2).mean(axis=1) / 2)[:still]
    assert row["real_mean"] == pytest.approx(change.mean(), rel=1e-3)
    assert not any("stands" in line for line in lines)


def test_poses_that_cannot_be_told_are_named(tmp_path):
    frames = cone_set("real", 1, pictures=False)
    real = recorded(frames, tmp_path / "real", [Pose.from_euler(0, 0, 0)] * 40, ("/odom", "/wheels"))
    found, lines = compared(real, cone_set("sim", 2, pictures=False))
    assert any("when the camera of real stands" in line and "several topics of poses" in line for line in lines)
    assert ("box flicker while standing", "cone 0") not in rows(found)


@pytest.fixture(scope="module")
def clouds():
    return compared(block_drive("real"), block_drive("sim", 1, shift=0.3, bright=2.0), block_drive("again", 2))[0]


def test_lidars_are_compared_by_objects_and_whole_scans(clouds):
    found = rows(clouds)
    assert {row["sensor"] for row in found.values()} == {"lidar"}
    assert found["intensity", "all objects"]["verdict"] == DIFFERS
    assert found["intensity", "all objects"]["floor_source"] == AGAIN
    assert ("points", "block 3") in found
    content = clouds.content()
    assert {table["metric"] for table in content["ranges"]} >= {"points", "intensity"}


def test_occupancy_maps_are_numbers_with_real_against_real_beside(clouds):
    facts = {fact["name"]: fact for fact in clouds.content()["facts"]}
    f1 = facts["F1 of the occupancy maps"]
    assert f1["value"] < f1["real_again"] - 0.1
    assert f1["real_again"] > 0.9


def test_the_map_of_both_is_a_picture(clouds):
    cuboids, picture = object_pictures(clouds)
    assert (cuboids.name, picture.name) == ("cuboids", "occupancy_map")
    seen = {tuple(colour) for colour in picture.pixels.reshape(-1, 3).tolist()}
    assert {OCCUPIED, FREE, ONLY_REAL, ONLY_VIRTUAL} <= seen


@pytest.mark.parametrize(
    ("virtual", "lost", "noted"),
    [
        (
            lambda: block_drive("sim", 1, start=(5000.0, 0.0)),
            "1 occupancy map that could not be made: the lidars were",
            "",
        ),
        (lambda: block_drive("sim", 1, poses=False), "", "sim: it is not known where its lidar was"),
    ],
    ids=["another fixed frame", "no tf"],
)
def test_without_places_in_common_there_are_no_maps_and_it_is_said(virtual, lost, noted):
    found, lines = compared(block_drive("real"), virtual())
    assert lost in " ".join(found.losses.lines())
    assert noted in " ".join(lines)
    assert not found.content()["facts"]
    assert ("intensity", "all objects") in rows(found)


def test_what_the_real_recording_loses_is_counted_once():
    real = block_drive("real")
    jumped = replace(real, poses=[*real.poses[:4], Pose.from_euler(900.0, 0, 1.5), *real.poses[5:]])
    once, twice = (compared(jumped, block_drive("sim", 1), *again)[0] for again in ((), (block_drive("again", 2),)))
    assert once.losses.counts == twice.losses.counts
    assert set(once.losses.counts.values()) == {1}


def test_poses_that_jump_are_counted():
    virtual = block_drive("sim", 1)
    jumped = [*virtual.poses[:4], Pose.from_euler(900.0, 0, 1.5), *virtual.poses[5:]]
    found, _ = compared(block_drive("real"), replace(virtual, poses=jumped))
    assert any("sim" in line and "jump" in line for line in found.losses.lines())


def test_a_side_without_clouds_is_compared_by_pictures_and_it_is_said():
    real = replace(block_drive("real", count=40), frames=cone_set("real", 1, pictures=False))
    found, lines = compared(real, cone_set("sim", 2, pictures=False))
    assert list(found.compared) == ["camera"]
    assert "note: no clouds are compared: sim: is a set of pictures and has no clouds" in lines
    with pytest.raises(SimjudgeError, match="no sensor in common: real has clouds; sim has pictures"):
        compared(block_drive("real"), cone_set("sim", 2))
