"""Several cars with physics: each as if it were alone, until they meet."""

import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
from physics_scenes import cone, flat

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.lock_step import LockStep
from simjudge.sim.capture.radar_capture import RadarCapture
from simjudge.sim.capture.sensor_feed import LidarCapture
from simjudge.sim.engines.contract import BodyMotion
from simjudge.sim.engines.default.bodies import Bodies
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import CarRoute, Course, SceneCar
from simjudge.sim.sensors.camera.rig import read_rig
from simjudge.sim.sensors.radar.radar import RadarSpec
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.vehicle.other_cars import read_other_cars
from simjudge.sim.vehicle.vehicle import Command, car_parts, read_vehicle

ART1 = read_vehicle("art1")


def straight(x0, y, speed):
    line = np.stack([np.arange(x0, x0 + 50.0, 0.5), np.full(100, float(y))], 1)
    return CarRoute(Course(line, 0.0), np.array([[0.0, speed]]))


def bent(x0, y, speed):
    """A line that swings to the left and to the right."""
    x = np.arange(0.0, 20.0, 0.05)
    return CarRoute(Course(np.stack([x0 + x, y + 0.4 * np.sin(x)], 1), 0.0), np.array([[0.0, speed]]))


def car(name, x, y, route=None, **more):
    return SceneCar(name, "art1", Pose((x, y, 0.0)), route, **more)


def bodies(*cars, things=(), ego=None, start=None):
    scene, others = read_other_cars(replace(flat(*things), cars=cars))
    return Bodies(scene, ego, start, others)


def trajectory(moved, names, seconds=3.0):
    out = []
    for _ in range(round(seconds / 0.1)):
        moved.step(0.1)
        poses = moved.poses()
        out.append([[*poses[part].position, *poses[part].orientation] for name in names for part in car_parts(name)])
    return np.array(out)


def test_cars_far_apart_drive_as_each_does_alone():
    one, other = car("one", 0, 0, bent(0, 0, 1.2)), car("other", 0, 8, bent(0, 8, 0.9))
    alone = [trajectory(bodies(each), [each.name]) for each in (one, other)]
    both = trajectory(bodies(one, other), ["one", "other"])
    assert alone[0][-1, 0, 0] > 2
    assert np.abs(both - np.concatenate(alone, 1)).max() < 1e-6


def test_a_car_of_the_scene_drives_as_the_car_that_carries_the_camera_does():
    """The same commands at the same times: the same car."""
    scene_car = bodies(car("it", 0, 0, bent(0, 0, 1.2)))
    commands = []
    drive = scene_car._others["it"].drive
    scene_car._others["it"].drive = lambda command: (commands.append(command), drive(command))
    expected = trajectory(scene_car, ["it"])
    own = Bodies(flat(), ART1, Pose())
    found = []
    for number in range(30):
        for command in commands[5 * number : 5 * number + 5]:
            own.drive(command)
            own.step(0.02)
        poses = own.poses()
        found.append([[*poses[part].position, *poses[part].orientation] for part in car_parts("vehicle")])
    assert np.abs(np.array(found) - expected).max() < 1e-9


def test_a_drive_is_the_same_again_after_a_reset():
    moved = bodies(car("one", 0, 0, bent(0, 0, 1.2)), car("parked", 3, 0))
    first = trajectory(moved, ["one", "parked"])
    moved.reset()
    assert np.array_equal(trajectory(moved, ["one", "parked"]), first)


def test_two_cars_in_one_place_are_said_once_and_not_for_each_wheel(caplog):
    bodies(car("one", 0, 0), car("other", 0.1, 0))
    (record,) = caplog.records
    assert re.fullmatch(
        r"flat: at the start one and other by \d+ mm overlap; physics pushes them apart", record.getMessage()
    )


def test_a_parked_car_stays():
    moved = bodies(car("parked", 1, 2))
    moved.step(0.2)
    before = moved.poses()["parked"].position
    moved.step(2.0)
    assert moved.poses()["parked"].position == pytest.approx(before, abs=1e-4)


def test_a_car_follows_its_line_at_its_speed_and_stops_where_it_ends():
    line = np.stack([np.arange(0.0, 6.01, 0.1), np.zeros(61)], 1)
    moved = bodies(car("it", 0, 0, CarRoute(Course(line, 0.0), np.array([[0.0, 1.0]]))))
    moved.step(4.0)
    state = moved.car_states()["it"]
    assert state.velocity[0] == pytest.approx(1.0, abs=0.05)
    assert abs(state.pose.position[1]) < 0.01
    moved.step(6.0)
    state = moved.car_states()["it"]
    assert state.pose.position[0] == pytest.approx(6.0, abs=0.15)
    assert np.linalg.norm(state.velocity) < 1e-3


def test_a_car_sets_out_and_stops_when_its_speeds_say():
    route = replace(straight(0, 0, 1.0), speeds=np.array([[0.0, 0.0], [1.0, 1.0], [4.0, 0.0]]))
    moved = bodies(car("it", 0, 0, route))
    moved.step(1.0)
    assert moved.car_states()["it"].pose.position[0] == pytest.approx(0, abs=1e-3)
    moved.step(3.0)
    assert moved.car_states()["it"].velocity[0] == pytest.approx(1.0, abs=0.05)
    moved.step(1.0)
    assert np.linalg.norm(moved.car_states()["it"].velocity) < 1e-3


def test_a_car_follows_a_recorded_trajectory_in_time():
    time = np.linspace(0, 6, 121)
    along = 0.15 * time**2  # 0.3 m/s^2, which the car can do
    line = np.stack([np.arange(0.0, along[-1], 0.1), np.zeros(len(np.arange(0.0, along[-1], 0.1)))], 1)
    schedule = np.stack([time, along, 0.3 * time], 1)
    moved = bodies(car("it", 0, 0, CarRoute(Course(line, 0.0), np.zeros((1, 2)), schedule)))
    for _ in range(10):
        moved.step(0.5)
        assert moved.car_states()["it"].pose.position[0] == pytest.approx(0.15 * moved.time**2, abs=0.1)


def rolling(speed):
    """A car that rolls at a speed half a metre behind one that stands, both without throttle and brakes."""
    moved = bodies(car("behind", 0, 0), car("ahead", 1.2, 0))
    moved.step(0.5)
    for each in moved._others.values():
        each.drive(Command())
    model, data = moved._model, moved._data
    data.qvel[model.joint("behind").dofadr[0]] = speed
    for wheel in ("front_left", "front_right", "rear_left", "rear_right"):
        data.qvel[model.joint(f"behind/spin_{wheel}").dofadr[0]] = speed / ART1.wheel_radius
    return moved


def test_a_collision_keeps_momentum_and_is_plastic():
    """Equal cars, contacts without bounce: both go on at half the speed, as momentum has it."""
    moved = rolling(2.0)
    speeds = []
    for _ in range(300):
        moved.step(0.002)
        speeds.append([moved.car_states()[name].velocity[0] for name in ("behind", "ahead")])
    speeds = np.array(speeds)
    hit = int(np.argmax(speeds[:, 1] > 0.02))
    assert 0 < hit < 290
    before, after = speeds[hit - 2], speeds[hit + 10]
    # Wheels that roll carry momentum of their own: their spin resists, through the tyres, for some milliseconds.
    assert after.sum() == pytest.approx(before.sum(), rel=0.1)
    assert 0 <= after[1] - after[0] < 0.35 * before[0]


def test_a_car_that_drives_into_a_parked_one_stops_and_has_touched_it():
    scene, others = read_other_cars(replace(flat(cone("cone", 0, 3)), cars=(car("parked", 2.0, 0),)))
    moved = Bodies(scene, ART1, Pose(), others)
    moved.drive(Command(throttle=0.6))
    moved.step(0.5)
    assert moved.touched_things() == frozenset()
    moved.step(5.0)
    assert moved.touched_things() == {"parked"}
    behind, ahead = moved.vehicle_state().pose, moved.car_states()["parked"].pose
    nose_to_tail = ahead.position[0] - behind.position[0] - (1.29 + 0.2) * ART1.wheelbase
    assert nose_to_tail > -0.01
    moved.reset()
    assert moved.touched_things() == frozenset()


def test_wheels_of_two_cars_do_not_pass_through_each_other():
    """Side by side, wheel to wheel, one is pushed against the other."""
    apart = ART1.track + ART1.wheel_width
    moved = bodies(car("left", 0, apart + 0.02), car("right", 0, 0))
    moved.step(0.3)
    model, data = moved._model, moved._data
    data.qvel[model.joint("left").dofadr[0] + 1] = -1.5
    met = []
    for _ in range(100):
        moved.step(0.002)
        for contact in data.contact:
            names = {model.geom(geom).name for geom in contact.geom}
            if {name.split("/")[0] for name in names} == {"left", "right"}:
                met.append((names, contact.dist))
    assert any(all("/wheel_" in name for name in names) for names, _ in met)
    assert min(depth for _, depth in met) > -0.01
    assert moved.car_states()["right"].pose.position[1] < -0.02


def test_a_car_can_be_placed_and_drives_on_from_there():
    moved = bodies(car("it", 0, 0, straight(0, 0, 1.0)))
    moved.step(1.0)
    moved.set_pose("it", Pose((20, 0.1, 0.0)))
    assert moved.car_states()["it"].velocity == pytest.approx((0, 0, 0))
    moved.step(3.0)
    state = moved.car_states()["it"]
    assert state.pose.position[0] > 21
    assert abs(state.pose.position[1]) < 0.05


@pytest.mark.parametrize("name", ["default", "mujoco", "baked"])
def test_engines_have_the_cars_among_the_things_of_their_scene(name):
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    scene = replace(flat(), cars=(car("it", 1, 2, class_id=3, instance=4),))
    engine = make_engine(name, scene, ART1)
    assert engine.names == ("floor", *car_parts("it"), *car_parts("vehicle"))
    assert {thing.instance for thing in engine.scene.things} == {0, 4}
    assert engine.poses()["it"].position == pytest.approx((1, 2, 0), abs=1e-3)
    assert list(engine.car_states()) == ["it"]
    engine.close()


def test_an_engine_without_other_cars_says_so():
    with pytest.raises(UsageError, match=r"flat: cars: engine chrono moves no cars but the one .* take engine default"):
        make_engine("chrono", replace(flat(), cars=(car("it", 0, 0),)))


def test_a_name_that_mujoco_keeps_for_itself_is_refused_in_one_line():
    with pytest.raises(SimjudgeError, match=r"flat: MuJoCo takes it for no scene: .*'world'"):
        bodies(car("world", 0, 0))


def follow(engine):
    """Keyframes of a car behind, and of everything, over the last 50 ms."""
    frames = []
    for _ in range(6):
        engine.step(0.01)
        frames.append((engine.time, engine.poses(), engine.vehicle_state(), engine.car_states()))
    stamp = frames[-1][0]
    times = [time - stamp for time, *_ in frames]
    names = tuple(frames[0][1])
    motion = BodyMotion(names, Keyframes.build(times, [[poses[name] for name in names] for _, poses, *_ in frames]))
    return round(stamp * 1e9), times, motion, frames


def test_radar_and_lidar_measure_the_car_ahead_at_its_true_speed_and_place():
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    ahead = car("ahead", 4.0, 0, straight(4, 0, 1.4), class_id=3, instance=7)
    engine = make_engine("default", replace(flat(), cars=(ahead,)), ART1, Pose())
    engine.drive(Command(throttle=0.3))
    engine.step(3.0)
    stamp, times, motion, frames = follow(engine)
    (radar,) = [spec for spec in read_sensors("ars408", places=ART1.places) if isinstance(spec, RadarSpec)]
    radar = replace(radar, body="vehicle", mount=Pose((0.7, 0, 0.12)))
    sensor = Keyframes.build(times, [[poses["vehicle"] @ radar.mount] for _, poses, *_ in frames])
    model = replace(radar.model(), range=(0.2, 100.0), allow_self=False)
    echoes = RadarCapture(engine, model).echoes(sensor, motion, np.random.default_rng(0))
    of_it = np.isin(echoes.thing, [engine.names.index(part) for part in car_parts("ahead")[:1]])
    _, _, own, others = frames[-1]
    truth = others["ahead"].velocity[0] - own.velocity[0]
    assert truth > 0.1
    assert of_it.sum() > 3
    assert np.median(echoes.speed[of_it]) == pytest.approx(truth, abs=0.02)

    (vlp16,) = read_sensors("vlp16", places=ART1.places)
    sensor = Keyframes.build(times, [[poses["vehicle"] @ vlp16.mount] for _, poses, *_ in frames])
    scan = LidarCapture(engine, replace(vlp16.model(), window=0.05), 0).capture(stamp, sensor, motion)
    assert scan.boxes.instance.tolist() == [7]
    # Up to the spoiler, down to the ground on which the wheels stand.
    length, width, height = scan.boxes.size[0]
    assert (length, width) == pytest.approx((1.55 * 0.465, 0.332 + 0.0855), abs=0.05)
    assert height == pytest.approx(2.5 * 0.085, abs=0.01)
    place = own.pose.inverse() @ others["ahead"].pose
    assert scan.boxes.centre[0, 0] == pytest.approx(
        place.position[0] - vlp16.mount.position[0] + 0.51 * 0.465, abs=0.03
    )
    engine.close()


def test_samples_of_motion_have_the_other_cars_at_the_same_time():
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    engine = make_engine("default", replace(flat(), cars=(car("it", 2, 2, straight(2, 2, 1.0)),)), ART1, Pose())
    cameras = read_rig("plain").mounted(ART1.mounts)
    samples = []
    for event in LockStep(engine, cameras).events():
        if hasattr(event, "others"):
            samples.append(event)
        if len(samples) > 40:
            break
    assert all(sample.others["it"].time == sample.state.time == sample.time / 1e9 for sample in samples)
    positions = [sample.others["it"].pose.position[0] for sample in samples]
    assert np.all(np.diff(positions) >= -1e-4)
    assert positions[-1] > positions[0]
    engine.close()
