"""Vehicles as YAML: what is read is what is written there, and what is wrong is said by file and field."""

import copy
import math
from dataclasses import fields, replace

import pytest
import yaml

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import VEHICLE, shipped_files
from simjudge.geometry.poses import Pose
from simjudge.sim.vehicle.vehicle import ChronoParts, Vehicle, read_vehicle

GOOD = yaml.safe_load(shipped_files(VEHICLE)["art1"].read_text(encoding="utf-8"))


JSON_FILES = {"vehicle": "car.json", "engine": "engine.json", "transmission": "gears.json", "tire": "tire.json"}


def written(folder, changes):
    """The shipped car with changes at dotted paths; None removes a field."""
    content = copy.deepcopy(GOOD)
    for field, value in changes.items():
        *parents, last = field.split(".")
        part = content
        for parent in parents:
            part = part[parent]
        if value is None:
            del part[last]
        else:
            part[last] = value
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def test_art1_has_its_published_figures():
    car = read_vehicle("art1")
    assert (car.name, car.mass, car.wheelbase, car.track, car.wheel_radius) == ("art1", 6.84, 0.465, 0.332, 0.085)
    assert math.degrees(car.steering_limit) == pytest.approx(25)
    assert (car.motor_kv, car.battery_voltage, car.stall_torque) == (1300, 7.4, 0.3)
    assert car.gear_ratio == pytest.approx(1 / 3)
    assert car.voltage == pytest.approx(0.09 * 7.4)
    assert car.top_wheel_speed == pytest.approx(1300 * 0.09 * 7.4 / 3 * 2 * math.pi / 60)
    camera = car.mounts["camera"]
    between_the_axles_at_wheel_centre_height = Pose((0.465 / 2, 0, 0.085))
    assert camera.position == pytest.approx((between_the_axles_at_wheel_centre_height @ Pose((0.204, 0, 0.1))).position)
    assert camera.angles() == pytest.approx((0, 0.1, 0), abs=1e-5)
    assert camera.optical_frame().rotation_matrix()[:, 2][2] < 0, "nose down"


def test_every_figure_comes_from_the_file(tmp_path):
    """Each number changed changes the car."""
    before = read_vehicle(written(tmp_path, {}))
    changed = set()
    for section, content in GOOD.items():
        for field, value in content.items() if isinstance(content, dict) else [(None, content)]:
            where = section if field is None else f"{section}.{field}"
            if section in {"mounts", "places"}:
                other = {"position": [0.1, 0, 0.1], "yaw": 90}
            else:
                other = [each * 1.01 for each in value] if isinstance(value, list) else value * 1.01
            after = read_vehicle(written(tmp_path, {where: other}))
            differing = {
                each.name for each in fields(Vehicle) if getattr(before, each.name) != getattr(after, each.name)
            }
            assert differing, where
            changed |= differing
    assert changed == {each.name for each in fields(Vehicle)} - {"name", "chrono"}


def test_names_and_mounts(tmp_path):
    mounts = {
        "lidar": {"position": [0.2, 0, 0.3]},
        "side": {"position": [0, 0.1, 0.2], "yaw": 90, "pitch": 10, "roll": -5},
    }
    car = read_vehicle(str(written(tmp_path, {"name": "own", "mounts": mounts})))
    assert car.name == "own"
    assert car.mounts["lidar"] == Pose((0.2, 0, 0.3))
    assert car.mounts["side"].angles() == pytest.approx([math.radians(angle) for angle in (90, 10, -5)])
    assert read_vehicle(written(tmp_path, {"mounts": {}})).mounts == {}
    assert read_vehicle(written(tmp_path, {})).name == "mine"


def test_chronos_own_files_are_below_a_folder_that_is_found_from_this_file(tmp_path):
    car = read_vehicle(written(tmp_path, {"chrono": JSON_FILES | {"data": "chrono/vehicle", "step": 2.5e-4}}))
    assert car.chrono == ChronoParts(*JSON_FILES.values(), tmp_path / "chrono" / "vehicle", 2.5e-4)
    assert read_vehicle(written(tmp_path, {"chrono": JSON_FILES})).chrono == ChronoParts(*JSON_FILES.values())
    assert read_vehicle("art1").chrono is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mass": None}, r"mass: a number above 0 is needed; nothing is given"),
        ({"mass": "heavy"}, r"mass: a number above 0 is needed; this is heavy"),
        ({"mass": -1}, r"mass: a number above 0 is needed; this is -1"),
        ({"mass": True}, r"mass: a number above 0 is needed"),
        ({"mass": math.nan}, r"mass: a finite number is needed; this is nan"),
        ({"mass": 1.0}, r"mass: 1 kg is not more than that of its four wheels"),
        ({"wheelbase": 0.1}, r"wheel: .*overlap at this wheelbase"),
        ({"wheel.width": 0.5}, r"wheel: .*overlap at this wheelbase and track"),
        ({"wheel.radius": 0}, r"wheel\.radius: a number above 0"),
        ({"wheel.rolling_resistance": -0.1}, r"wheel\.rolling_resistance: a number of 0 or more"),
        ({"wheel.slip_stiffness": 18}, r"wheel\.slip_stiffness: 2 numbers above 0"),
        ({"wheel.slip_stiffness": [18, 0]}, r"wheel\.slip_stiffness: 2 numbers above 0"),
        ({"wheel": 3}, r"wheel: fields .radius, .*. are needed; this is 3"),
        ({"wheel": None}, r"wheel: fields .radius, .*. are needed; nothing is given"),
        ({"wheel.radios": 1}, r"wheel\.radios: no such field"),
        ({"colour": "blue"}, r"colour: no such field; there are body, brake"),
        ({"steering.limit": 60}, r"steering\.limit: less than 60 degrees"),
        ({"track": 0.9, "steering.limit": 50}, r"steering\.limit: the car would turn about a point between"),
        ({"body.centre_of_mass": [0.6, 0, 0.1]}, r"body\.centre_of_mass: it must lie"),
        ({"body.centre_of_mass": [0.2, 0]}, r"body\.centre_of_mass: 3 numbers"),
        ({"body.inertia": [0.1, 0.1, 0.3]}, r"body\.inertia: no body has 0\.1, 0\.1, 0\.3"),
        ({"motor.kv": "fast"}, r"motor\.kv: a number above 0 is needed; this is fast"),
        ({"mounts": None}, r"mounts: fields are needed; nothing is given"),
        (
            {"mounts": {"camera": [1, 2, 3]}},
            r"mounts\.camera: fields .position, yaw, pitch, roll. are needed; this is \[1, 2, 3\]",
        ),
        ({"mounts": {"camera": {"position": [1, 2]}}}, r"mounts\.camera\.position: 3 numbers"),
        ({"mounts": {"camera": {"position": [1, 2, 3], "tilt": 4}}}, r"mounts\.camera\.tilt: no such field"),
        ({"mounts": {"camera": {"position": [1, 2, 3], "yaw": "left"}}}, r"mounts\.camera\.yaw: a number"),
        ({"name": 3}, r"name: a text is needed; this is 3"),
        ({"chrono": {"vehicle": "a.json"}}, r"chrono\.engine: a file is needed; nothing is given"),
        ({"chrono": JSON_FILES | {"step": 0.002}}, r"chrono\.step: a number of 0\.001 or less above 0 is needed"),
        ({"chrono": JSON_FILES | {"step": 0.0007}}, r"chrono\.step: 0\.001 s, or a half, a quarter"),
        ({"chrono": JSON_FILES | {"tyre": "t.json"}}, r"chrono\.tyre: no such field"),
    ],
)
def test_what_is_wrong_is_said_by_field(tmp_path, changes, message):
    with pytest.raises(SimjudgeError, match=r"mine\.yaml(:\d+)?: " + message) as error:
        read_vehicle(written(tmp_path, changes))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "- 1\n", "mass: [\n", "\x00"])
def test_what_is_no_vehicle_at_all(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(SimjudgeError, match=r"mine\.yaml(:\d+)?: (no vehicle|not valid YAML)"):
        read_vehicle(path)


def test_a_name_that_is_not_shipped():
    with pytest.raises(UsageError, match=r"art2: neither .* \(art1, compact, hmmwv\); is art1 meant"):
        read_vehicle("art2")


def test_ackermann():
    car = read_vehicle("art1")
    for angle in (-0.4, -0.1, 0.0, 0.2, car.steering_limit):
        left, right = car.wheel_angles(angle)
        if angle:
            radius = car.wheelbase / math.tan(angle)
            assert math.tan(left) == pytest.approx(car.wheelbase / (radius - car.track / 2))
            assert math.tan(right) == pytest.approx(car.wheelbase / (radius + car.track / 2))
        else:
            assert (left, right) == (0, 0)
    assert car.tightest_radius == pytest.approx(0.99720, abs=1e-5)
    assert replace(car, steering_limit=math.pi / 4).tightest_radius == pytest.approx(car.wheelbase)
