"""The cars of a scene as its file has them."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import VEHICLE, find_file
from simjudge.sim.scene.read import read_scene
from simjudge.sim.vehicle.other_cars import log_standing_cars, read_other_cars
from simjudge.sim.vehicle.scene_digest import scene_digest

CAR = {"at": [1, 2], "yaw": 90}


def lab(tmp_path, **cars):
    path = tmp_path / "cars.yaml"
    path.write_text(yaml.safe_dump({"extends": "lab", "classes": {3: "car"}, "cars": cars}))
    return path


def tum(tmp_path, rows):
    (tmp_path / "it.tum").write_text("".join(" ".join(f"{value:.6f}" for value in row) + "\n" for row in rows))
    return "it.tum"


def test_a_parked_car_stands_where_it_is_said(tmp_path):
    scene = read_scene(lab(tmp_path, it=CAR | {"class": "car", "colour": "#ff0000"}))
    (car,) = scene.cars
    assert (car.name, car.route, car.class_id, car.colour) == ("it", None, 3, (1.0, 0.0, 0.0))
    assert car.start.position == (1, 2, 0)
    assert car.start.angles()[0] == pytest.approx(np.pi / 2)
    assert car.instance == max(thing.instance for thing in scene.things) + 1
    whole, _ = read_other_cars(scene)
    assert len(whole.things) == len(scene.things) + 5
    body = whole.things[len(scene.things)]
    assert (body.name, body.motion, body.class_id, body.instance) == ("it", "driven", 3, car.instance)
    assert (body.surface.texture == [1, 0, 0]).all(-1).any()


def test_a_car_without_a_class_is_not_counted(tmp_path):
    (car,) = read_scene(lab(tmp_path, it=CAR)).cars
    assert (car.class_id, car.instance) == (0, 0)


def test_a_car_on_the_course_starts_along_it_and_to_its_left(tmp_path):
    drive = {"along": "course", "speed": 1, "left": 0.3}
    scene = read_scene(lab(tmp_path, it={"start": 2, "drive": drive}))
    (car,), course = scene.cars, scene.course
    on_course = course.pose_at(2.0)
    x, y, _ = on_course.to_body(car.start.position)
    assert abs(x) < 0.15
    assert y == pytest.approx(0.3, abs=0.02)
    assert car.route.speeds.tolist() == [[0, 1]]


def test_a_recorded_trajectory_is_a_line_and_how_far_along_by_time(tmp_path):
    rows = [(5 + 0.1 * k, 0.05 * k, 1, 0, 0, 0, 0, 1) for k in range(50)]
    (car,) = read_scene(lab(tmp_path, it={"drive": {"file": tum(tmp_path, rows)}})).cars
    assert car.start.position == pytest.approx((0, 1, 0))
    time, along, speed = car.route.schedule.T
    assert time == pytest.approx(np.arange(50) * 0.1)
    assert along == pytest.approx(np.arange(50) * 0.05)
    assert speed == pytest.approx(0.5)


def test_noise_of_recorded_poses_makes_the_way_no_longer(tmp_path):
    """4 mm of noise of poses 10 mm apart: their steps alone add up to 15 m."""
    noise = np.random.default_rng(0).normal(0, 0.004, (1200, 2))
    rows = [(5 + 0.01 * k, 0.01 * k + x, 1 + y, 0, 0, 0, 0, 1) for k, (x, y) in enumerate(noise)]
    (car,) = read_scene(lab(tmp_path, it={"drive": {"file": tum(tmp_path, rows)}})).cars
    time, along, speed = car.route.schedule.T
    assert car.route.length == pytest.approx(11.99, abs=0.05)
    assert along == pytest.approx(time, abs=0.05)
    assert speed == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("left", [0.5, -0.5])
def test_beside_a_recorded_bend_a_car_keeps_level_with_what_was_recorded(tmp_path, left):
    """A left turn of 2 m radius at 1 m/s: inside it the way is shorter, and the car slower."""
    rows = []
    for t in np.arange(0, 6, 0.05):
        turned = t / 2
        x, y = 2 * np.sin(turned), 2 - 2 * np.cos(turned)
        rows.append((5 + t, x, y, 0, 0, 0, np.sin(turned / 2), np.cos(turned / 2)))
    (car,) = read_scene(lab(tmp_path, it={"drive": {"file": tum(tmp_path, rows), "left": left}})).cars
    time, along, speed = car.route.schedule.T
    assert along == pytest.approx(time * (2 - left) / 2, abs=0.08)
    assert np.median(speed) == pytest.approx((2 - left) / 2, abs=0.05)
    assert along[-1] == pytest.approx(car.route.length)


def test_a_recorded_stop_is_a_stop(tmp_path):
    along = np.interp(np.arange(0, 9, 0.05), [0, 3, 6, 9], [0, 3, 3, 6])
    rows = [(5 + 0.05 * k, x, 1, 0, 0, 0, 0, 1) for k, x in enumerate(along)]
    (car,) = read_scene(lab(tmp_path, it={"drive": {"file": tum(tmp_path, rows)}})).cars
    assert car.route.schedule[:, 1] == pytest.approx(along, abs=1e-6)
    assert car.route.schedule[70:110, 2] == pytest.approx(0, abs=1e-6)


def test_a_recorded_trajectory_is_part_of_what_a_scene_is(tmp_path):
    rows = [(0.1 * k, 0.05 * k, 1, 0, 0, 0, 0, 1) for k in range(50)]
    path = lab(tmp_path, it={"drive": {"file": tum(tmp_path, rows)}})
    before = scene_digest(path)
    tum(tmp_path, [(t, x, 2, *rest) for t, x, _, *rest in rows])
    assert scene_digest(path) != before


FIGURES = find_file("art1", VEHICLE).read_text(encoding="utf-8")


@pytest.mark.parametrize("inherited", [False, True])
def test_the_vehicle_of_a_car_is_part_of_what_a_scene_is(tmp_path, inherited):
    """Its own, or the scene's, which it takes over."""
    vehicle = tmp_path / "mine.yaml"
    vehicle.write_text(FIGURES, encoding="utf-8")
    path = lab(tmp_path, it=CAR if inherited else CAR | {"vehicle": "mine.yaml"})
    if inherited:
        path.write_text(path.read_text() + "vehicle: mine.yaml\n")
    before = scene_digest(path)
    vehicle.write_text(FIGURES + "# another one\n", encoding="utf-8")
    assert scene_digest(path) != before


def test_a_vehicle_is_a_file_beside_the_scene_that_names_it_wherever_simjudge_runs(tmp_path, monkeypatch):
    library, elsewhere = tmp_path / "library", tmp_path / "elsewhere"
    library.mkdir()
    elsewhere.mkdir()
    (library / "mine.yaml").write_text(FIGURES.replace("art1", "beside"), encoding="utf-8")
    (elsewhere / "mine.yaml").write_text(FIGURES.replace("art1", "elsewhere"), encoding="utf-8")
    base = lab(
        library, it=CAR | {"vehicle": "mine.yaml"}, drawn=CAR | {"vehicle": {"one_of": ["mine.yaml"]}, "at": [3, 1]}
    )
    base.write_text(base.read_text() + "vehicle: mine.yaml\n")
    path = tmp_path / "scene.yaml"
    path.write_text("extends: library/cars.yaml\n")
    monkeypatch.chdir(elsewhere)
    scene = read_scene(path)
    assert [Path(car.vehicle) for car in scene.cars] == [library / "mine.yaml"] * 2
    assert Path(scene.vehicle) == library / "mine.yaml"
    (library / "mine.yaml").unlink()
    with pytest.raises(SimjudgeError, match=r"cars\.yaml:\d+: cars\.\S*vehicle\S*: mine\.yaml: neither a file nor"):
        read_scene(path)


def test_a_vehicle_that_is_not_there_may_be_replaced(tmp_path):
    base, path = tmp_path / "base.yaml", tmp_path / "scene.yaml"
    base.write_text("extends: lab\nvehicle: gone.yaml\ncars:\n  it: {at: [1, 2], vehicle: {one_of: [gone, art1]}}\n")
    path.write_text("extends: base.yaml\nvehicle: art1\ncars: {it: {vehicle: compact}, more: {at: [3, 1]}}\n")
    scene = read_scene(path)
    assert (scene.vehicle, [car.vehicle for car in scene.cars]) == ("art1", ["compact", "art1"])
    path.write_text("extends: base.yaml\ncars: {it: {vehicle: compact}}\n")
    with pytest.raises(SimjudgeError, match=r"base\.yaml:2: vehicle: gone\.yaml: neither a file nor"):
        read_scene(path)
    path.write_text("extends: base.yaml\nvehicle: art1\ncars: {more: {at: [3, 1]}}\n")
    assert read_scene(path, 0).cars[0].vehicle == "art1"
    with pytest.raises(SimjudgeError, match=r"base\.yaml:4: cars\.it\.vehicle\.one_of\[0\]: gone: neither a file nor"):
        read_scene(path, 2)


BACK = [(0.1 * k, -0.05 * k, 1, 0, 0, 0, 0, 1) for k in range(50)]
AHEAD = [(0.1 * k, 0.05 * k, 1, 0, 0, 0, 0, 1) for k in range(50)]
AT_REST = [(0.1 * k, 0, 1, 0, 0, 0, 0, 1) for k in range(50)]
COURSE = {"along": "course", "speed": 1}
WEST = {"path": {"waypoints": [[3, 1], [-2, 1]]}, "speed": 1}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, r"cars\.it\.at: \[x, y\] is needed, where it starts; nothing is given"),
        ({"drive": {"along": "ahead", "speed": 1}}, r"cars\.it\.at: \[x, y\] is needed"),
        ({"drive": {"along": "course"}}, r"cars\.it\.drive: a drive needs one of speed, speeds; none is given"),
        ({"drive": {"speed": 1}}, r"cars\.it\.drive: a drive needs one of along, path, file; none is given"),
        ({"drive": {"along": "corse", "speed": 1}}, r"cars\.it\.drive\.along: "),
        ({"drive": {"file": "it.tum", "speed": 1}}, r"drive\.speed: the trajectory says it"),
        ({"drive": {"along": "course", "speeds": [[1, 1], [1, 0]]}}, r"drive\.speeds: each time must be later"),
        ({"drive": COURSE, "at": [0, 0], "start": 1}, r"cars\.it\.start: the pose says where it starts"),
        ({"drive": COURSE, "yaw": 10}, r"cars\.it\.yaw: it starts along its line; give at as well"),
        ({"drive": COURSE, "start": 1000}, r"cars\.it\.start: 1000 m is beyond its line, which is \d+\.\d m long"),
        (CAR | {"class": "bus"}, r"cars\.it\.class: .*bus"),
        ({"drive": {"file": "it.tum"}}, r"drive\.file: .*it\.tum: does not exist"),
        (
            {"drive": {**COURSE, "left": 5}},
            r"drive\.left: 5 m is beyond the centre of the line's tightest bend; less than \d",
        ),
        ({"drive": {"file": AHEAD, "topic": "/odom"}}, r"drive\.topic: .*it\.tum is no recording, which has topics"),
        ({"drive": WEST, "at": [3, 1]}, r"cars\.it\.at: it faces 180 degrees away .*; give yaw: 180, or a line"),
        ({"drive": WEST, "at": [3, 1], "yaw": 40}, r"cars\.it\.at: it faces 140 degrees away"),
        (
            {"drive": WEST, "at": [-3, 1], "yaw": 180},
            r"it\.at: this is 6\.0 m along its line, which ends at 5\.0 m: .*still",
        ),
        ({"drive": WEST, "at": [-2, 1], "yaw": 180}, r"it\.at: this is 5\.0 m along its line"),
        ({"drive": WEST, "start": 4.98}, r"it\.start: this is 5\.0 m along its line"),
        ({"drive": {"file": BACK}}, r"goes backwards for 100 % of its way"),
        ({"drive": {"file": AT_REST}}, r"does not move; leave drive out, and give at"),
    ],
)
def test_what_is_no_car_is_one_line(tmp_path, fields, words):
    if isinstance(fields.get("drive", {}).get("file"), list):
        fields = {"drive": {**fields["drive"], "file": tum(tmp_path, fields["drive"]["file"])}}
    with pytest.raises(SimjudgeError, match=words) as error:
        read_scene(lab(tmp_path, it=fields))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("left", "folds"), [(0.99, False), (1.01, True), (-3, False)])
def test_a_line_beside_a_bend_may_be_any_that_does_not_run_back(tmp_path, left, folds):
    """Half a circle of 1 m radius to the left, and what is 1 m to its left is a point."""
    path = {"start": [0, 0, 0], "pieces": [{"straight": 1}, {"left": 180, "radius": 1}, {"straight": 1}]}
    scene = lab(tmp_path, it={"drive": {"path": {"arcs": path}, "left": left, "speed": 1}})
    if folds:
        with pytest.raises(SimjudgeError, match=r"left: 1\.01 m is beyond .*; less than 1\.00 is needed"):
            read_scene(scene)
    else:
        assert read_scene(scene).cars[0].route.length == pytest.approx(2 + np.pi * (1 - left), abs=0.05)


def recorded(tmp_path, line, noise):
    """A trajectory along points 0.1 m apart, at 1 m/s, with so many metres of noise."""
    noisy = line + np.random.default_rng(0).normal(0, noise, line.shape)
    angle = np.unwrap(np.arctan2(*np.gradient(line, axis=0).T[::-1]))
    time, zero = 5 + 0.1 * np.arange(len(line)), np.zeros(len(line))
    return tum(tmp_path, np.stack([time, *noisy.T, zero, zero, zero, np.sin(angle / 2), np.cos(angle / 2)], 1))


@pytest.mark.parametrize("noise", [0, 0.01])
@pytest.mark.parametrize(("left", "folds"), [(1.6, False), (2.2, True), (-4, False)])
def test_a_line_beside_a_recorded_bend_does_not_run_back(tmp_path, left, folds, noise):
    """A quarter of a circle of 2 m radius to the left between two straights."""
    along = np.arange(0, 10 + np.pi, 0.1)
    angle = np.clip(along - 5, 0, np.pi) / 2
    bend = np.stack([2 * np.sin(angle), 2 - 2 * np.cos(angle)], 1)
    straight = np.minimum(along, 5)[:, None] * [1, 0] + np.maximum(along - 5 - np.pi, 0)[:, None] * [0, 1]
    scene = lab(tmp_path, it={"drive": {"file": recorded(tmp_path, bend + straight, noise), "left": left}})
    if folds:
        with pytest.raises(SimjudgeError, match=r"left: 2\.2 m is beyond .*; less than (1\.[89]|2\.0)\d is needed"):
            read_scene(scene)
    else:
        length = along[-1] - left * np.pi / 2
        assert read_scene(scene).cars[0].route.length == pytest.approx(length, abs=0.15)


@pytest.mark.parametrize("left", [-3.5, 0.5, 3.5])
def test_noise_of_recorded_poses_makes_the_way_beside_them_no_longer(tmp_path, left):
    """A lane away, 2 cm of noise turned the way back at every step."""
    line = np.arange(0, 30, 0.1)[:, None] * [1, 0]
    scene = lab(tmp_path, it={"drive": {"file": recorded(tmp_path, line, 0.02), "left": left}})
    (car,) = read_scene(scene).cars
    assert car.route.length == pytest.approx(29.9, abs=0.3)
    assert car.route.course.centre_line[:, 1] == pytest.approx(left, abs=0.15)
    assert np.median(car.route.schedule[:, 2]) == pytest.approx(1, abs=0.05)


def test_poses_of_a_trajectory_that_are_left_out_are_said_once(tmp_path, caplog):
    rows = [(t, "nan" if t > 4.85 else x, *rest) for t, x, *rest in AHEAD]
    (tmp_path / "it.tum").write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
    scene = lab(tmp_path, it={"drive": {"file": "it.tum"}})
    for seed in range(3):
        read_scene(scene, seed)
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"cars: {tmp_path / 'it.tum'}: left out: 1 pose with numbers that are not finite")


@pytest.mark.parametrize("start", [{"at": [5, 1], "yaw": 180}, {"at": [0, 2], "yaw": 60}, {"start": 4.9}])
def test_a_car_may_start_before_its_line_or_beside_it(tmp_path, start):
    (car,) = read_scene(lab(tmp_path, it={"drive": WEST, **start})).cars
    assert car.route.length == pytest.approx(5)


@pytest.mark.parametrize("name", ["vehicle", "it-2", "2nd", "a b"])
def test_names_of_cars_are_those_of_topics(tmp_path, name):
    with pytest.raises(SimjudgeError, match=name):
        read_scene(lab(tmp_path, **{name: CAR}))


@pytest.mark.parametrize("name", ["floor", "chairs_2"])
def test_a_car_called_as_a_thing_is_refused(tmp_path, name):
    """Also as one of several parts, whose names go on after a slash as those of a car's wheels do."""
    with pytest.raises(SimjudgeError, match=f"{name}: two things have this name"):
        read_scene(lab(tmp_path, **{name: CAR}))


def test_a_vehicle_that_is_not_there_is_named_with_its_car(tmp_path):
    with pytest.raises(SimjudgeError, match=r"cars\.yaml:\d+: cars\.it\.vehicle: nothing: neither a file nor .*art1"):
        read_scene(lab(tmp_path, it=CAR | {"vehicle": "nothing"}))


def test_a_speed_that_the_vehicle_cannot_reach_is_refused(tmp_path):
    given = {"drive": {"along": "course", "speed": 40}}
    with pytest.raises(SimjudgeError, match=r"it: drives at 40\.0 m/s, and art1 can do \d\.\d"):
        read_other_cars(read_scene(lab(tmp_path, it=given)))


def test_cars_that_stand_because_no_physics_runs_are_named(tmp_path):
    lines = []
    log_standing_cars(read_scene(lab(tmp_path)), lines.append)
    assert lines == []
    log_standing_cars(read_scene(lab(tmp_path, leader=CAR, parked=CAR)), lines.append)
    (line,) = lines
    assert line.startswith("cars: its cars (leader, parked) stand at their start; only simjudge sim drive")
