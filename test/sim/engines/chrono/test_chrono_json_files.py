"""Chrono's JSON files are looked at before Chrono is: what it would crash on is said in one line."""

import json
from types import SimpleNamespace

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.sim.engines.chrono.modules import vehicle_data
from simjudge.sim.engines.chrono.wheeled_car import check_chrono_files
from simjudge.sim.vehicle.vehicle import ChronoParts

PARTS = ChronoParts("car/car.json", "car/engine.json", "car/gears.json", "car/tire.json")


def axle(**more):
    wheels = {f"{side} Wheel Input File": "car/wheel.json" for side in ("Left", "Right")}
    return {"Suspension Input File": "car/suspension.json", "Suspension Location": [0, 0, 0], **wheels, **more}


def vehicle(**changes):
    content = {
        "Name": "a car",
        "Type": "Vehicle",
        "Template": "WheeledVehicle",
        "Chassis": {"Input File": "car/chassis.json"},
        "Axles": [axle(**{"Steering Index": 0}), axle()],
        "Steering Subsystems": [{"Input File": "car/steering.json"}],
    }
    return {**content, **changes}


def part(kind, template):
    return {"Name": kind, "Type": kind, "Template": template}


FILES = {
    "car": vehicle(),
    "engine": part("Engine", "EngineShafts"),
    "gears": part("Transmission", "AutomaticTransmissionShafts"),
    "tire": part("Tire", "TMeasyTire"),
    "wheel": part("Wheel", "Wheel"),
    "suspension": part("Suspension", "DoubleWishbone"),
    "chassis": part("Chassis", "RigidChassis"),
    "steering": part("Steering", "PitmanArm"),
}


def written(folder, **changes):
    (folder / "car").mkdir()
    for name, content in {**FILES, **changes}.items():
        if content is not None:
            text = content if isinstance(content, str) else json.dumps(content)
            (folder / "car" / f"{name}.json").write_text(text)
    return folder


def test_the_files_are_found_below_the_folder(tmp_path):
    found = check_chrono_files(PARTS, written(tmp_path))
    assert [str(path.relative_to(tmp_path)) for path in found] == [
        "car/car.json",
        "car/engine.json",
        "car/gears.json",
        "car/tire.json",
    ]


COMMENTED = """{ // a comment with "quotes"
  "Type": "Tire", /* over
  two lines */ "Template": "TMeasyTire", "Where": "https://example.org/a" }"""


def test_comments_may_stand_in_them_as_in_chronos_own(tmp_path):
    check_chrono_files(PARTS, written(tmp_path, tire=COMMENTED))


BAD = {
    "a tyre of finite elements": ({"tire": part("Tire", "ANCFTire")}, r"tire\.json: 'ANCFTire': a tyre of force"),
    "another kind of file": ({"engine": part("Tire", "X")}, r"engine\.json: type 'Tire': \"Engine\" is needed"),
    "no JSON": ({"gears": "{,}"}, r"gears\.json: no JSON: .*line 1 column 2"),
    "a list": ({"gears": "[]"}, r"gears\.json: no file of Chrono::Vehicle"),
    "missing": ({"tire": None}, r"tire\.json: no such file; Chrono's vehicle data is looked for in .*: write data"),
    "missing below": ({"wheel": None}, r"wheel\.json: no such file, which car\.json names; "),
    "a tracked vehicle": ({"car": vehicle(Template="TrackedVehicle")}, r'"WheeledVehicle" is needed'),
    "three axles": ({"car": vehicle(Axles=[axle()] * 3)}, r"car\.json: 3 axles: two are needed"),
    "no axles": ({"car": vehicle(Axles=None)}, r"car\.json: no axles: two are needed"),
    "twin wheels": (
        {"car": vehicle(Axles=[axle(**{"Steering Index": 0}), axle(**{"Wheel Separation": 0.3})])},
        r"twin wheels",
    ),
    "steered behind": ({"car": vehicle(Axles=[axle(), axle(**{"Steering Index": 0})])}, r"first axle, and"),
    "no wheel": (
        {"car": vehicle(Axles=[axle(**{"Steering Index": 0}), {"Suspension Input File": "car/suspension.json"}])},
        r'axle 2: "Left Wheel Input File" is missing',
    ),
    "no chassis": ({"car": vehicle(Chassis=None)}, r'"Chassis" with an "Input File" is needed'),
}


@pytest.mark.parametrize("name", BAD)
def test_what_chrono_would_crash_on_is_one_line(tmp_path, name):
    changes, words = BAD[name]
    with pytest.raises(SimjudgeError, match=words) as caught:
        check_chrono_files(PARTS, written(tmp_path, **changes))
    assert "\n" not in str(caught.value)


def test_a_file_of_bytes_is_refused(tmp_path):
    folder = written(tmp_path)
    (folder / "car" / "gears.json").write_bytes(b'{"Type": "\xff"}')
    with pytest.raises(SimjudgeError, match=r"gears\.json: no UTF-8 text"):
        check_chrono_files(PARTS, folder)


@pytest.mark.parametrize("name", ["GetVehicleDataPath", "GetDataPath"])
def test_chronos_data_is_where_its_package_says(name):
    """10.0.0 renamed the function."""
    modules = SimpleNamespace(vehicle=SimpleNamespace(**{name: lambda: "/chrono/data/vehicle/"}))
    assert str(vehicle_data(modules)) == "/chrono/data/vehicle"
