"""The detector of cuboids over whole sets, its file of settings, and the command."""

import numpy as np
import pytest
from cloud_samples import cloud_set, table
from typer.testing import CliRunner
from vlp16_turns import turn

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.installed import DETECTOR, find_file
from simjudge.data.clouds import Cloud, CloudBoxes
from simjudge.detectors.clouds.cuboid_detection import detect_cloud_cuboids
from simjudge.detectors.clouds.cuboid_settings import LidarCuboidFile, is_cloud_detector, read_cuboid_settings

BOXES = [(8, 1, 4, 1.8, 2.2, 0.9), (-7, 3, 1, 0.9, 1.9, 0.0)]


def scan(boxes=BOXES, **how):
    points, ring = turn(boxes, columns=450, **how)
    return table(points, ring=ring.astype(np.uint16))


def labels(count=1):
    rows = np.array([(x, y, h / 2 - 1.8, length, width, h, yaw) for x, y, length, width, h, yaw in BOXES])
    rows = np.tile(rows, (count, 1))
    yaw = rows[:, 6]
    return CloudBoxes(
        np.repeat(np.arange(count), len(BOXES)),
        np.zeros(len(rows), int),
        np.tile(np.arange(len(BOXES)), count),
        rows[:, :3],
        np.stack([0 * yaw, 0 * yaw, np.sin(yaw / 2), np.cos(yaw / 2)], 1),
        rows[:, 3:6],
    )


@pytest.fixture(scope="module")
def clouds():
    return cloud_set(
        [scan(), scan(noise=0.01)], boxes=labels(2), labelled=np.array([True, True]), class_names={0: "car"}
    )


def test_what_is_found_in_a_set_is_what_is_found_in_each_cloud(clouds):
    found = sj.detect_clouds(clouds)
    assert found.predicted.tolist() == [True, True]
    assert found.class_names == {0: "car", 1: "object"}
    assert set(found.predictions.class_id.tolist()) == {1}
    for index in range(2):
        alone = detect_cloud_cuboids(clouds[index]).cuboids
        rows = found.predictions.cloud == index
        assert np.array_equal(found.predictions.centre[rows], alone.centre)
        assert np.array_equal(found.predictions.points[rows], alone.points)
    assert found.losses.counts == {}
    assert len(found.predictions) == 4


def test_again_it_takes_the_place_of_what_was_found_before(clouds):
    once = sj.detect_clouds(clouds)
    again = sj.detect_clouds(once, LidarCuboidFile.model_validate({"farthest": 9}))
    assert again.class_names == once.class_names
    assert len(again.predictions) == 4 - 0
    fewer = sj.detect_clouds(once, LidarCuboidFile.model_validate({"farthest": 8, "name": "car"}))
    assert set(fewer.predictions.class_id.tolist()) <= {0}


def test_clouds_that_hold_nothing_are_counted():
    blocked = table(np.random.default_rng(0).uniform(-0.5, 0.5, (200, 3)))
    tables = [
        scan(),
        table(np.empty((0, 3))),
        table(np.full((20, 3), np.nan)),
        table([[5, 1, 0]]),
        scan(ground=False),
        blocked,
        Cloud(np.zeros(3, [("x", "f4")]), where="no y"),
    ]
    found = sj.detect_clouds(cloud_set(tables), LidarCuboidFile.model_validate({"own": {"distance": 2}}))
    assert found.predicted.tolist() == [True] * 6 + [False]
    assert dict(found.losses.counts) == {
        "clouds without a point": 2,
        "clouds without ground: all points became clusters (settings ground)": 2,
        "clouds whose points are all the car's own (settings own.distance, own.box)": 1,
        "clouds that cannot be read": 1,
    }
    assert np.bincount(found.predictions.cloud, minlength=7).tolist() == [2, 0, 0, 0, 2, 0, 0]


def test_a_set_of_nothing_but_damaged_clouds_is_refused():
    with pytest.raises(sj.SimjudgeError, match="holds no cloud that can be read"):
        sj.detect_clouds(cloud_set([Cloud(np.zeros(3, [("x", "f4")]), where="no y")]))


def test_the_file_that_comes_along_says_what_is_the_default():
    path = find_file("lidar_cuboids", DETECTOR)
    assert is_cloud_detector(path)
    assert read_cuboid_settings(path) == LidarCuboidFile()
    assert not is_cloud_detector(find_file("cones_red_green", DETECTOR))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("detector: lidar_cuboid", "did you mean|is lidar_cuboids meant|lidar_cuboids"),
        ("detector: lidar_cuboids\nclusters: {distance: -1}", ":2: clusters.distance: a number"),
        ("detector: lidar_cuboids\nclusters: {distanc: 1}", "clusters.distanc: no such field; .*distance"),
        ("detector: lidar_cuboids\nground: {method: plan}", "ground.method: there is no 'plan'.*plane"),
        ("detector: lidar_cuboids\nown: {box: [1, 0, 0, 0, 1, 1]}", "own.box: the corner with the smaller numbers"),
        ("detector: lidar_cuboids\ncuboids: {step: 0}", "cuboids.step: a number from 0.01 to 45 is needed"),
        ("detector: lidar_cuboids\ncuboids: {on_ground: 1}", "cuboids.on_ground: true or false"),
    ],
)
def test_a_wrong_setting_is_one_line(tmp_path, text, said):
    (tmp_path / "my.yaml").write_text(text)
    with pytest.raises(sj.SimjudgeError, match=said):
        sj.detect_clouds(cloud_set([scan()]), tmp_path / "my.yaml")


def test_it_is_no_detector_for_images():
    with pytest.raises(sj.SimjudgeError, match="finds cuboids in point clouds"):
        sj.load_detector("lidar_cuboids")


def run(*arguments):
    return CliRunner().invoke(app, ["detect", *map(str, arguments)])


def test_the_command_writes_what_the_function_finds(tmp_path, clouds):
    sj.write_clouds(clouds, tmp_path / "in.mcap")
    done = run(tmp_path / "in.mcap", "--model", "lidar_cuboids", "--out", tmp_path / "out.mcap")
    assert done.exit_code == 0, done.exception
    assert "4 cuboids in 2 of 2 clouds" in done.stdout
    assert "all │        4 │     4 │  1.000" in done.stdout
    expected = sj.detect_clouds(sj.read_clouds(tmp_path / "in.mcap")).predictions
    read = sj.read_clouds(tmp_path / "out.mcap")
    assert np.array_equal(read.predictions.centre, expected.centre)
    assert len(read.boxes) == 4


def test_the_command_does_without_a_name_and_says_what_it_needs(tmp_path, clouds):
    sj.write_clouds(clouds, tmp_path / "in.mcap")
    (tmp_path / "my.yaml").write_text("detector: lidar_cuboids\nclusters: {min_points: 100000}\n")
    done = run(tmp_path / "in.mcap", "--model", tmp_path / "my.yaml")
    assert done.exit_code == 0, done.exception
    assert "0 cuboids in 2 of 2 clouds" in done.stdout
    done = run(tmp_path / "in.mcap", "--model", "cones_red_green")
    assert isinstance(done.exception, sj.UsageError)
    assert "--out" in str(done.exception)
