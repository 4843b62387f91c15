"""Cars of Chrono's own JSON files against programs written by hand; skipped where PyChrono has no vehicles."""

import json
import math
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pychrono", reason="PyChrono is not installed")
pytest.importorskip("pychrono.vehicle", reason="this PyChrono has no vehicle module", exc_type=ImportError)

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.questions.engines.run import flat_scene
from simjudge.sim.engines.chrono.modules import load_modules, vehicle_data
from simjudge.sim.engines.chrono.wheeled_car import steering_input
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.vehicle.vehicle import ChronoParts, Command, read_vehicle

HMMWV = read_vehicle("hmmwv")
SEDAN = replace(
    HMMWV,
    name="sedan",
    wheelbase=2.776,
    track=1.596,
    wheel_radius=0.325,
    chrono=ChronoParts(
        "sedan/vehicle/Sedan_Vehicle.json",
        "sedan/powertrain/Sedan_EngineShafts.json",
        "sedan/powertrain/Sedan_AutomaticTransmissionSimpleMap.json",
        "sedan/tire/Sedan_TMeasyTire.json",
        step=5e-4,
    ),
)


@pytest.fixture(scope="module", autouse=True)
def modules():
    found = load_modules()
    if not (vehicle_data(found) / HMMWV.chrono.vehicle).is_file():
        pytest.skip("Chrono's vehicle data is not installed")
    return found


def driving(car, start=None):
    return closing(make_engine("chrono", flat_scene(), car, start or Pose()))


def by_hand(modules, files, reference, inputs, seconds, step):
    """Chrono's own demo_VEH_WheeledJSON.py without its window: poses of the reference frame, one a step of ours."""
    core, vehicles = modules.core, modules.vehicle
    data = f"{vehicle_data(modules)}/"
    car = vehicles.WheeledVehicle(data + files.vehicle, core.ChContactMethod_NSC)
    x, y, z, w = reference.orientation
    car.Initialize(core.ChCoordsysd(core.ChVector3d(*reference.position), core.ChQuaterniond(w, x, y, z)))
    engine = vehicles.ReadEngineJSON(data + files.engine)
    gears = vehicles.ReadTransmissionJSON(data + files.transmission)
    car.InitializePowertrain(vehicles.ChPowertrainAssembly(engine, gears))
    for axle in car.GetAxles():
        for wheel in axle.GetWheels():
            tire = vehicles.ReadTireJSON(data + files.tire)
            tire.SetStepsize(step)
            car.InitializeTire(tire, wheel)
    car.GetSystem().SetCollisionSystemType(core.ChCollisionSystem.Type_BULLET)
    car.GetSystem().SetGravitationalAcceleration(core.ChVector3d(0, 0, -9.81))
    ground, given = vehicles.FlatTerrain(0.0, HMMWV.friction), vehicles.DriverInputs()
    places = []
    for number in range(round(seconds / step)):
        time = number * step
        given.m_steering, given.m_throttle, given.m_braking = inputs(time)
        car.Synchronize(time, given, ground)
        car.Advance(step)
        if (number + 1) % round(1e-3 / step) == 0:
            place = car.GetChassisBody().GetFrameRefToAbs().GetPos()
            places.append((place.x, place.y, place.z))
    return np.array(places)


@pytest.mark.parametrize("car", [HMMWV, SEDAN], ids=["HMMWV", "sedan"])
def test_it_moves_as_in_a_program_of_chronos_own(modules, car):
    """Two seconds at full throttle, a turn in the second one: the same poses to 1e-6 m."""
    limit, rate = car.steering_limit, car.steering_rate
    with driving(car) as engine:
        stance, bodies = engine._bodies._car._stance, engine._bodies
        angle, ours, angles = 0.0, [], []
        for step in range(2000):
            turn = 0.5 if step >= 1000 else 0.0
            engine.drive(Command(steering=turn, throttle=1.0))
            angle += max(-rate * 1e-3, min(rate * 1e-3, turn * limit - angle))
            angles.append(steering_input(angle, stance))
            engine.step(1e-3)
            place = bodies.chassis.GetFrameRefToAbs().GetPos()
            ours.append((place.x, place.y, place.z))
    theirs = by_hand(
        modules,
        car.chrono,
        stance.base.inverse(),
        lambda time: (angles[int(time / 1e-3 + 1e-6)], 1.0, 0.0),
        2.0,
        car.chrono.step,
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert ours[-1][0] - ours[0][0] > 1.0, "it goes ahead"


@pytest.mark.parametrize("car", [HMMWV, SEDAN], ids=["HMMWV", "sedan"])
def test_it_stands_with_base_link_on_the_ground(car):
    with driving(car, Pose.from_euler(3, -2, 0, yaw=0.7)) as engine:
        engine.drive(Command(braking=1.0))
        engine.step(4.0)
        state = engine.vehicle_state()
        wheels = [pose.position for name, pose in engine.poses().items() if "wheel" in name]
    assert state.pose.position == pytest.approx((3, -2, 0), abs=0.06)
    assert state.pose.angles() == pytest.approx((0.7, 0, 0), abs=0.01)
    assert np.linalg.norm(state.velocity) < 0.02
    assert len(wheels) == 4
    assert [height for _, _, height in wheels] == pytest.approx([car.wheel_radius] * 4, abs=0.03)


@pytest.mark.parametrize("side", [1, -1])
def test_left_is_left_and_the_circle_is_a_bicycles(side):
    """Slowly, radius = wheelbase / tan(angle); its steering is not the same to both sides, and tyres slip a little."""
    with driving(HMMWV) as engine:
        for _ in range(120):
            speed = engine.vehicle_state().velocity[0]
            engine.drive(Command(steering=0.6 * side, throttle=0.3 if speed < 2.0 else 0.0))
            engine.step(0.05)
        state = engine.vehicle_state()
    assert side * state.angular_velocity[2] > 0
    assert state.steering_angle == pytest.approx(0.6 * side * HMMWV.steering_limit, rel=0.05)
    radius = state.velocity[0] / state.angular_velocity[2]
    assert radius == pytest.approx(HMMWV.wheelbase / math.tan(state.steering_angle), rel=0.15)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"wheelbase": 3.5}, r"wheelbase 3\.5, but HMMWV_Vehicle has 3\.30. in Chrono"),
        ({"track": 1.5}, r"track 1\.5, but HMMWV_Vehicle has 1\.8"),
        ({"wheel_radius": 0.4}, r"wheel radius 0\.4, but HMMWV_Vehicle has 0\.4699"),
        ({"steering_limit": math.radians(40)}, r"steering limit 40, but HMMWV_Vehicle turns by 2"),
    ],
)
def test_figures_of_another_car_are_refused(changes, words):
    with pytest.raises(SimjudgeError, match=words), driving(replace(HMMWV, **changes)):
        pass


def test_what_ends_chronos_reader_ends_no_program(modules, tmp_path):
    """A suspension without its spring: Chrono reads on where nothing is."""
    data = vehicle_data(modules)
    for path in sorted(data.glob("hmmwv/**/*.json")):
        copy = tmp_path / path.relative_to(data)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    (tmp_path / "hmmwv/wheel/HMMWV_Wheel.json").write_text(json.dumps({"Type": "Wheel", "Template": "Wheel"}))
    car = replace(HMMWV, chrono=replace(HMMWV.chrono, data=tmp_path))
    with pytest.raises(SimjudgeError, match=r"HMMWV_Vehicle\.json: Chrono's reader (ended with SIG|failed)") as caught:
        driving(car)
    assert "\n" not in str(caught.value)


def test_what_chrono_says_while_it_reads_stays_off_standard_output(capfd):
    with driving(replace(HMMWV, name="once more")):
        pass
    assert capfd.readouterr().out == ""
