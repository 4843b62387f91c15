"""Weather before recorded clouds: Beer-Lambert by hand, all else kept byte for byte, seeds, refusals."""

import json
import math

import numpy as np
import pytest
from cloud_samples import cloud_set, table

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.clouds import Cloud
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.sets import read_clouds, write_clouds
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.recorded_weather import weather_clouds

DENSITY, THRESHOLD, WHITE = 0.02, 0.05, 100.0
HAZE = f"roof: {{kind: lidar, rate: 10, returns: last, threshold: {THRESHOLD}, intensity: {{scale: {WHITE:g}}}, "
"""Of two surfaces on a beam the last counts: what is in the air sends no echo of its own."""


def sensor_file(folder, text, name="wet.yaml"):
    path = folder / name
    path.write_text(text + "\n")
    return path


def sample(count=400, seed=0):
    random = np.random.default_rng(seed)
    points = random.normal(0, 1, (count, 3))
    points *= random.uniform(3, 60, (count, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    ring = random.integers(0, 16, count).astype(np.uint16)
    time = random.uniform(-0.1, 0, count).astype(np.float32)
    return table(points, random.uniform(1, 90, count), ring=ring, time=time)


def expected(cloud):
    """What is left of a cloud's intensities, and which points are kept."""
    distance = np.sqrt(sum(cloud[axis].astype(np.float64) ** 2 for axis in "xyz"))
    left = cloud["intensity"] * np.exp(-2 * DENSITY * distance)
    return left, left / WHITE >= THRESHOLD


@pytest.mark.parametrize("ending", [".mcap", ".db3", "folder"])
def test_returns_get_weaker_and_lost_as_beer_and_lambert_say(tmp_path, ending):
    tables = [sample(seed=0), sample(seed=1)]
    source = tmp_path / f"real{ending}"
    out = tmp_path / f"foggy{ending}"
    to = "pcd" if ending == "folder" else None
    write_clouds(cloud_set(tables, [Pose(), Pose((1.0, 0, 0))]), source, to)
    made = weather_clouds(source, out, weather=sensor_file(tmp_path, f"{HAZE} fog: {{density: {DENSITY}}}}}"), to=to)
    clouds = read_clouds(out)
    lost = 0
    for before, after in zip(tables, clouds, strict=True):
        left, kept = expected(before)
        assert 50 < kept.sum() < 350
        lost += int((~kept).sum())
        assert after.table.dtype == before.dtype
        for field in ("x", "y", "z", "ring", "time"):
            assert np.array_equal(after.table[field], before[field][kept])
        assert after.table["intensity"] == pytest.approx(left[kept], rel=1e-6)
    assert (made.counts.clouds, made.counts.returns, made.counts.lost, made.counts.of_air) == (2, 800, lost, 0)
    assert clouds.stamp.tolist() == read_clouds(source).stamp.tolist()
    assert json.loads((tmp_path / f"{out.name}.filter.json").read_text())["lost"] == lost


def test_returns_without_a_number_as_intensity_are_not_the_weathers_losses(tmp_path):
    cloud = table(np.c_[np.full(10, 5.0), np.arange(10) / 9, np.zeros(10)], 40.0)
    cloud["intensity"][:3] = np.nan
    write_clouds(cloud_set([cloud], [Pose()]), tmp_path / "real.mcap")
    sensors = sensor_file(tmp_path, f"{HAZE} fog: {{density: 1.0e-4}}}}")
    made = weather_clouds(tmp_path / "real.mcap", tmp_path / "out.mcap", weather=sensors)
    assert (made.counts.returns, made.counts.lost, made.counts.dark) == (10, 0, 3)
    assert made.losses.lines()[0].startswith("3 returns whose intensity is not a number: ")
    assert len(read_clouds(tmp_path / "out.mcap")[0]) == 7


def test_a_set_of_which_nothing_is_left_asks_for_its_units(tmp_path):
    far = table(np.c_[np.linspace(20_000, 30_000, 50), np.zeros(50), np.zeros(50)], 40.0)
    write_clouds(cloud_set([far], [Pose()]), tmp_path / "mm.mcap")
    sensors = sensor_file(tmp_path, f"{HAZE} fog: {{density: {DENSITY}}}}}")
    said = weather_clouds(tmp_path / "mm.mcap", tmp_path / "out.mcap", weather=sensors).counts.sentence()
    assert said.startswith("1 cloud, 50 returns: 50 lost (100.0 %)")
    assert "nothing is left: are coordinates in metres" in said


def test_a_record_that_is_there_is_not_replaced(tmp_path):
    write_clouds(cloud_set([sample()], [Pose()]), tmp_path / "real.mcap")
    (tmp_path / "foggy.mcap.filter.json").write_text("mine")
    sensors = sensor_file(tmp_path, f"{HAZE} fog: {{density: {DENSITY}}}}}")
    with pytest.raises(SimjudgeError, match=r"foggy\.mcap\.filter\.json: exists already"):
        weather_clouds(tmp_path / "real.mcap", tmp_path / "foggy.mcap", weather=sensors)
    assert (tmp_path / "foggy.mcap.filter.json").read_text() == "mine"
    assert not (tmp_path / "foggy.mcap").exists()


def test_a_grey_wall_is_lost_from_where_its_light_falls_below_the_threshold(tmp_path):
    distance = np.linspace(1, 80, 400)
    source = tmp_path / "wall.mcap"
    write_clouds(cloud_set([table(np.c_[distance, 0 * distance, 0 * distance], 40.0)], [Pose()]), source)
    weather_clouds(
        source, tmp_path / "out.mcap", weather=sensor_file(tmp_path, f"{HAZE} dust: {{density: {DENSITY}}}}}")
    )
    farthest = math.log(0.4 / THRESHOLD) / (2 * DENSITY)
    left = read_clouds(tmp_path / "out.mcap")[0].table["x"]
    assert np.array_equal(left, distance[distance <= farthest].astype(np.float32))


def test_all_other_messages_are_kept_byte_for_byte(tmp_path):
    source, out = tmp_path / "real.mcap", tmp_path / "wet.mcap"
    write_clouds(cloud_set([sample(), sample(seed=1)], [Pose(), Pose((1.0, 0, 0))]), source)
    weather_clouds(source, out, weather=sensor_file(tmp_path, f"{HAZE} rain: {{rate: 20}}}}"))
    before, after = Recording(source), Recording(out)
    assert {n: t.type for n, t in before.topics.items()} == {n: t.type for n, t in after.topics.items()}
    assert before.custom_data() == after.custom_data()
    topics = set(before.topics) - {"/scan/points"}
    assert len(topics) >= 2
    held = [[(m.topic, m.time, bytes(m.data)) for m in each.messages(topics)] for each in (before, after)]
    assert held[0] == held[1]
    assert [m.time for m in before.messages({"/scan/points"})] == [m.time for m in after.messages({"/scan/points"})]


def test_rain_moves_ranges_by_its_seed_and_range_fields_with_them(tmp_path):
    cloud = sample()
    distance = np.sqrt(sum(cloud[axis].astype(float) ** 2 for axis in "xyz"))
    cloud = table(np.stack([cloud[a] for a in "xyz"], 1), cloud["intensity"], range=(distance * 1000).astype(np.uint32))
    source = tmp_path / "real.mcap"
    write_clouds(cloud_set([cloud, cloud], [Pose(), Pose()]), source)
    wet = sensor_file(tmp_path, "roof: {kind: lidar, rate: 10, intensity: {scale: 100}, rain: {rate: 30}}")
    tables = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        weather_clouds(source, tmp_path / f"{name}.mcap", weather=wet, seed=seed)
        tables.append([each.table for each in read_clouds(tmp_path / f"{name}.mcap")])
    assert all(np.array_equal(one, other) for one, other in zip(tables[0], tables[1], strict=True))
    assert not np.array_equal(tables[0][0]["x"], tables[2][0]["x"])
    assert not np.array_equal(tables[0][0]["x"], tables[0][1]["x"])
    moved = np.sqrt(sum(tables[0][0][axis].astype(float) ** 2 for axis in "xyz"))
    assert tables[0][0]["range"] == pytest.approx(moved * 1000, abs=2)
    assert (moved - distance).std() == pytest.approx(0.02 * np.sqrt((distance**2).mean()), rel=0.1)


def test_an_organized_cloud_keeps_its_rows_and_columns(tmp_path):
    cloud = sample(12)
    cloud = table(np.stack([cloud[a] for a in "xyz"], 1), cloud["intensity"], range=np.uint32(9), ring=cloud["ring"])
    cloud["x"][3] = np.nan
    source = tmp_path / "real.mcap"
    write_clouds(cloud_set([Cloud(cloud, 3)], [Pose()]), source)
    weather_clouds(source, tmp_path / "out.mcap", weather=sensor_file(tmp_path, f"{HAZE} fog: {{density: 0.05}}}}"))
    after = read_clouds(tmp_path / "out.mcap")[0]
    assert (len(after), after.height) == (12, 3)
    distance = np.sqrt(sum(cloud[axis].astype(np.float64) ** 2 for axis in "xyz"))
    lost = cloud["intensity"] / WHITE * np.exp(-0.1 * distance) < THRESHOLD
    assert np.isnan(after.table["x"]).tolist() == (lost | np.isnan(distance)).tolist()
    assert np.array_equal(after.table["ring"], cloud["ring"])
    assert after.table["range"].tolist() == np.where(lost, 0, 9).tolist()


CLEAR = "roof: {kind: lidar, rate: 10}"
TWO = "a: {kind: lidar, rate: 10, fog: {density: 1}}\nb: {kind: lidar, rate: 10, rain: {rate: 1}}"


@pytest.mark.parametrize(
    ("text", "more", "says"),
    [
        (CLEAR, {}, "its lidar has no weather"),
        (CLEAR, {"lidar": "roof"}, "its lidar has no weather"),
        (TWO, {}, r"several lidars have weather in .* \(a, b\)"),
        (TWO, {"lidar": "c"}, "no such lidar; it has a, b"),
        ("a: {kind: lidar, rate: 10, returns: dual, fog: {density: 1}}", {}, "take strongest"),
    ],
)
def test_sensor_files_that_make_no_sense_are_refused(tmp_path, text, more, says):
    source = tmp_path / "real.mcap"
    write_clouds(cloud_set([sample()], [Pose()]), source)
    with pytest.raises(UsageError, match=says):
        weather_clouds(source, tmp_path / "out.mcap", weather=sensor_file(tmp_path, text), **more)
    assert not list(tmp_path.glob("out*"))


def test_clouds_without_intensity_are_refused(tmp_path):
    source = tmp_path / "real.mcap"
    bare = np.zeros(9, [(name, "f4") for name in "xyz"])
    bare["x"] = 5
    write_clouds(cloud_set([bare], [Pose()]), source)
    with pytest.raises(SimjudgeError, match="has no intensity"):
        weather_clouds(source, tmp_path / "out.mcap", weather=sensor_file(tmp_path, f"{HAZE} fog: {{density: 1}}}}"))
    assert not list(tmp_path.glob("out*"))


def test_intensities_that_distance_weakened_are_weakened_once(tmp_path):
    distance, falloff, density = np.array([5.0, 20.0, 40.0]), 10.0, 0.01
    weaker = np.minimum((falloff / distance) ** 2, 1)
    cloud = table(np.c_[distance, 0 * distance, 0 * distance], 80 * weaker)
    write_clouds(cloud_set([cloud], [Pose()]), tmp_path / "real.mcap")
    wet = sensor_file(
        tmp_path,
        "roof: {kind: lidar, rate: 10, returns: last, threshold: 0.03,"
        f" intensity: {{scale: 100, falloff: {falloff}, calibrated: false}}, fog: {{density: {density}}}}}",
    )
    weather_clouds(tmp_path / "real.mcap", tmp_path / "out.mcap", weather=wet)
    after = read_clouds(tmp_path / "out.mcap")[0].table
    left = 0.8 * weaker * np.exp(-2 * density * distance)
    assert (left >= 0.03).tolist() == [True, True, False]
    assert after["x"].tolist() == [5.0, 20.0]
    assert after["intensity"] == pytest.approx(100 * left[:2], rel=1e-5)


def test_a_recording_whose_clouds_cannot_be_read_is_not_written_anew(tmp_path):
    source = tmp_path / "real.mcap"
    write_clouds(cloud_set([np.ones(9, [(name, "f4") for name in ("x", "y", "intensity")])], [Pose()]), source)
    with pytest.raises(SimjudgeError, match="holds no cloud that can be read"):
        weather_clouds(source, tmp_path / "out.mcap", weather=sensor_file(tmp_path, f"{HAZE} fog: {{density: 1}}}}"))
    assert not list(tmp_path.glob("out*"))
    assert not list(tmp_path.glob(".recording*"))
