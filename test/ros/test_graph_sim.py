"""The graph sim: which programs, what each is told, what cannot be."""

import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.ros.graphs import GRAPHS

SIM = GRAPHS["sim"]


def programs(**given):
    return {process.name: process for process in SIM.processes({"rviz": "false", **given})}


def test_by_itself_it_drives_the_lab_with_the_colour_detector():
    made = programs()
    assert list(made) == ["sim_node", "detection_node", "drive_node"]
    world = made["sim_node"]
    assert world.leads
    assert (world.parameters["scene"], world.parameters["camera"]) == ("lab", "reference")
    assert world.parameters["wait_for"] == [
        "detection_node camera/image_raw",
        "drive_node camera/detections",
        "drive_node vehicle/odometry",
    ]
    assert "use_sim_time" not in world.parameters
    assert all(each.parameters["use_sim_time"] for each in made.values() if each.name != "sim_node")
    assert made["detection_node"].parameters["every_frame"] is True
    assert (made["drive_node"].parameters["right"], made["drive_node"].parameters["left"]) == ("red", "green")
    assert made["drive_node"].parameters["lane_width"] == pytest.approx(0.95)


def test_the_driver_is_told_the_size_of_cones_and_lane():
    known = ("lane_width", "cone_radius", "cone_height", "fastest", "slowest")
    lab, formula = (programs(scene=scene)["drive_node"].parameters for scene in ("lab", "formula"))
    assert [lab[name] for name in known] == [0.95, 0.04, 0.077, 1.5, 0.5]
    assert [formula[name] for name in known] == pytest.approx([3.4, 0.114, 0.325, 1.5 * 3.4**0.5, 0.5 * 3.4**0.5])


def test_told_the_truth_there_is_no_detector():
    made = programs(detector="ground_truth")
    assert list(made) == ["sim_node", "drive_node"]
    assert made["sim_node"].parameters["ground_truth_detections"] is True


def test_judge_and_recorder_and_free_running():
    made = programs(
        reference="real.mcap", result="result", out="drive", seed="7", theta="0.9", lock_step="false", camera_rate="5"
    )
    assert list(made) == ["sim_node", "detection_node", "drive_node", "validation_node", "record_node"]
    judge, recorder, world = (made[name].parameters for name in ("validation_node", "record_node", "sim_node"))
    assert (judge["reference"], judge["live_is"], judge["out"]) == ("real.mcap", "b", "result")
    assert (judge["theta"], judge["seed"], world["seed"]) == (0.9, 7, 7)
    assert recorder["out"] == "drive"
    assert {"camera/image_raw", "camera/ground_truth", "camera/detections", "vehicle/odometry", "/tf_static"} <= set(
        recorder["topics"]
    )
    assert {f"record_node {topic}" for topic in recorder["topics"]} <= set(world["wait_for"])
    assert (world["lock_step"], world["camera_rate"]) == (False, 5.0)
    assert made["detection_node"].parameters["every_frame"] is False


def test_a_judge_of_the_car_itself_takes_its_motion_and_its_commands():
    made = programs(detector="ground_truth", reference_drives="a.mcap,b.csv", result="result")
    assert list(made) == ["sim_node", "drive_node", "validation_node"]
    judge = made["validation_node"].parameters
    assert (judge["reference_drives"], judge["live_is"], judge["out"]) == (["a.mcap", "b.csv"], "b", "result")
    awaited = made["sim_node"].parameters["wait_for"]
    assert {"validation_node vehicle/odometry", "validation_node vehicle/input"} <= set(awaited)
    twist = programs(reference_drives="a.mcap", input_type="geometry_msgs/msg/Twist")["sim_node"].parameters
    assert "validation_node vehicle/input" not in twist["wait_for"]


def test_other_sensors_are_asked_for():
    assert programs(engine="chrono", sensors="art1")["sim_node"].parameters["sensors"] == "art1"
    assert "sensors" not in programs()["sim_node"].parameters


def test_other_sensors_are_recorded_and_waited_for():
    run = programs(engine="chrono", sensors="art1", out="drive")
    topics = {"imu/data", "imu/mag", "gps/fix", "scan/points"}
    assert topics <= set(run["record_node"].parameters["topics"])
    assert {f"record_node {topic}" for topic in topics} <= set(run["sim_node"].parameters["wait_for"])
    assert not topics & set(programs(out="drive")["record_node"].parameters["topics"])


def test_the_truth_and_the_boxes_are_recorded_beside_the_readings():
    topics = programs(sensors="utm30lx", out="drive")["record_node"].parameters["topics"]
    assert {"scan/points", "scan/points/ground_truth", "scan/points/boxes", "scan/laser"} <= set(topics)


def test_depth_images_are_recorded_where_a_camera_has_them(tmp_path):
    (tmp_path / "deep.yaml").write_text("size: [64, 48]\nfield_of_view: 80\nrate: 10\ndepth: {range: [0.1, 10]}\n")
    topics = programs(camera=str(tmp_path / "deep.yaml"), out="drive")["record_node"].parameters["topics"]
    assert {"camera/depth/image_raw", "camera/depth/camera_info"} <= set(topics)
    assert "camera/depth/image_raw" not in programs(out="drive")["record_node"].parameters["topics"]


def test_somebody_else_may_drive():
    made = programs(detector="ground_truth", driver="other", input_type="art_msgs/msg/VehicleInput")
    assert list(made) == ["sim_node"]
    assert made["sim_node"].parameters["input_type"] == "art_msgs/msg/VehicleInput"
    assert "wait_for" not in made["sim_node"].parameters


def test_a_lidar_drives_without_a_detector(tmp_path):
    made = programs(scene="track", driver="lidar", laps="2", out="drive")
    assert list(made) == ["sim_node", "drive_node", "record_node"]
    world, driver = made["sim_node"].parameters, made["drive_node"]
    assert (world["driver"], world["laps"], world["ground_truth_detections"]) == ("lidar", 2, False)
    awaited = {"drive_node scan/points", "drive_node vehicle/odometry", "record_node scan/points"}
    assert awaited <= set(world["wait_for"])
    assert (driver.parameters["driver"], driver.parameters["sensors"], driver.remappings) == ("lidar", "vlp16", ())
    assert "camera/detections" not in made["record_node"].parameters["topics"]
    two = tmp_path / "two.yaml"
    two.write_text("low: {kind: lidar, rate: 10}\nroof: {kind: lidar, rate: 5}\n")
    driver = programs(scene="track", driver="lidar", sensors=str(two))["drive_node"]
    assert driver.remappings == (("scan/points", "low/points"),)


def test_a_person_drives_by_keys_and_topics():
    made = programs(driver="manual", out="drive")
    assert list(made) == ["sim_node", "manual_node", "record_node"]
    person = made["manual_node"]
    assert person.reads_keys
    assert person.leads, "q ends the run"
    assert "laps" not in made["sim_node"].parameters
    assert {"manual_node vehicle/odometry", "record_node vehicle/input"} <= set(made["sim_node"].parameters["wait_for"])


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"result": "x"}, UsageError, "result:= is the comparison's"),
        ({"reference": "a", "reference_drives": "b"}, UsageError, "one of them at a time"),
        ({"driver": "lidar", "reference": "x"}, UsageError, "driver:=lidar has none; take driver:=cones"),
        ({"driver": "lidar", "sensors": "mti300"}, UsageError, "mti300 has no lidar on the car"),
        ({"detector": "ground_truth", "detect_reference": "true", "reference": "a"}, UsageError, "needs a detector"),
        ({"scene": "moon"}, UsageError, "moon"),
        ({"seed": "x"}, UsageError, "seed:=x: must be a whole number"),
        ({"engine": "steam"}, UsageError, "engine 'steam': no engine has this name"),
        ({"speed": "fast"}, UsageError, "speed:=fast: must be a number"),
    ],
)
def test_what_does_not_go_together(given, kind, words):
    with pytest.raises(kind, match=words):
        programs(**given)


def test_a_scene_that_cannot_be_driven_is_known_before_anything_starts(tmp_path):
    bare = tmp_path / "bare.yaml"
    bare.write_text("things: {floor: {plane: [4, 4]}}\n")
    with pytest.raises(SimjudgeError, match="has no course"):
        programs(scene=str(bare))
