"""Sensors from YAML: what there is, what data sheets' fields become, and what is refused in one line."""

import math
from pathlib import Path

import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.sensor_file import read_sensors

DEGREE = math.pi / 180


def sensors(tmp_path, text, **given):
    path = tmp_path / "sensors.yaml"
    path.write_text(text, encoding="utf-8")
    return read_sensors(path, **given)


def test_the_shipped_sensors():
    by_kind = {spec.kind: spec for spec in read_sensors("art1")}
    assert set(by_kind) == {"lidar", "gps", "accelerometer", "gyroscope", "magnetometer"}
    assert by_kind["accelerometer"].window == 0.01
    assert by_kind["accelerometer"].deviation == (0.05, 0.05, 0.05)


@pytest.mark.parametrize(
    ("name", "sensor", "deviation", "walk"),
    [
        # Data sheets' figures by hand: density sqrt(rate), and sqrt(3) B^2 / (2 N) of a bias instability.
        ("icm20948", "gyroscope", 0.015 * DEGREE * 10, 0),
        ("icm20948", "accelerometer", 230e-6 * 9.80665 * 10, 0),
        ("mti300", "gyroscope", 0.01 * DEGREE * 20, math.sqrt(3) * (DEGREE / 360) ** 2 / (0.02 * DEGREE)),
        ("mti300", "accelerometer", 60e-6 * 9.80665 * 20, math.sqrt(3) * 15e-6**2 / 120e-6 * 9.80665),
    ],
)
def test_presets_have_the_figures_of_their_data_sheets(name, sensor, deviation, walk):
    specs = {spec.name: spec for spec in read_sensors(name)}
    noise = specs[sensor].noise if sensor in specs else getattr(specs["imu"], sensor)
    assert noise.deviation == pytest.approx((deviation,) * 3, rel=1e-6)
    assert noise.random_walk() == pytest.approx((walk,) * 3, rel=1e-6)


def test_presets_of_position():
    (gps,), (encoders,) = read_sensors("neo_m8n"), read_sensors("as5048")
    # Half of all fixes lie within 2.5 m: 1 - exp(-r^2 / (2 s^2)) = 1 / 2.
    assert 1 - math.exp(-(2.5**2) / (2 * gps.deviation[0] ** 2)) == pytest.approx(0.5, abs=0.002)
    assert 360 / encoders.ticks == pytest.approx(0.0219, abs=1e-4)


def test_what_all_sensors_have(tmp_path):
    (spec,) = sensors(
        tmp_path,
        "{a: {kind: gyroscope, rate: 50, window: 0.02, lag: 0.1, source: chrono, mount: {body:"
        " vehicle/wheel_front_left, position: [1, 2, 3], orientation: [0, 0, 1, 0]}, filters: [{scale: {factor: 2}}]}}",
    )
    assert (spec.name, spec.kind, spec.rate, spec.window, spec.lag) == ("a", "gyroscope", 50, 0.02, 0.1)
    assert (spec.body, spec.mount.position, spec.source) == ("vehicle/wheel_front_left", (1, 2, 3), "chrono")
    assert spec.mount.orientation == (0, 0, 1, 0)
    assert [(step.name, step.parameters, step.stage) for step in spec.filters] == [("scale", {"factor": 2}, "filter")]


PLACES = {"roof": Pose((1.0, 0, 2.0), (0, 0, 1, 0)), "bumper": Pose((3.0, 0, 0.5))}


def test_a_place_is_where_the_car_has_it(tmp_path):
    text = "{a: {kind: gyroscope, rate: 50, mount: {place: roof, position: [0.5, 0, 0.1]}}}"
    (spec,) = sensors(tmp_path, text, places=PLACES)
    # The roof faces backwards, so half a metre ahead there is half a metre back in base_link.
    assert spec.place == ""
    assert spec.mount.position == pytest.approx((0.5, 0, 2.1))
    (spec,) = sensors(tmp_path, text)
    assert spec.place == "roof"
    with pytest.raises(UsageError, match=r"sensor a: mount\.place roof: only a car has such a place"):
        spec.check_placed()


@pytest.mark.parametrize(
    ("mount", "places", "words"),
    [
        ("place: rof", PLACES, r"mount.*place: the car has no 'rof'; is roof"),
        ("place: mast", PLACES, r"place: the car has no 'mast'; there are bumper, roof"),
        ("place: mast", {}, r"place: the car has no 'mast'; give it under places of the vehicle's file"),
        ("place: roof, body: vehicle/wheel_front_left", PLACES, "is one of the car; remove it, or body"),
    ],
)
def test_places_that_are_not_there_are_refused(tmp_path, mount, places, words):
    with pytest.raises(SimjudgeError, match=words):
        sensors(tmp_path, f"{{a: {{kind: gyroscope, rate: 50, mount: {{{mount}}}}}}}", places=places)


def test_filters_of_each_stage_in_order(tmp_path):
    (spec,) = sensors(
        tmp_path,
        "{a: {kind: gps, rate: 5, filters: {access: [{drop: {probability: 0.1}}], generate: [{low_pass: {cutoff: 9}}],"
        " filter: [{scale: {factor: 2}}, {quantize: {step: 1}}]}}}",
    )
    assert [(step.stage, step.name) for step in spec.filters] == [
        ("generate", "low_pass"),
        ("filter", "scale"),
        ("filter", "quantize"),
        ("access", "drop"),
    ]


@pytest.mark.parametrize(
    ("kind", "noise", "deviation", "walk"),
    [
        ("gyroscope", "deviation: 0.01", 0.01, 0),
        ("gyroscope", "deviation: 1e-2", 0.01, 0),
        ("gyroscope", "deviation: 2 deg/s", 2 * DEGREE, 0),
        ("gyroscope", 'noise_density: "0.015 °/s/√Hz"', 0.015 * DEGREE * 10, 0),
        ("gyroscope", "noise_density: 15 mdps/sqrt(Hz)", 0.015 * DEGREE * 10, 0),
        # 0.66 degrees per root hour are 0.011 degrees per root second (ADIS16448).
        ("gyroscope", "noise_density: 0.66 deg/sqrt(hr)", 0.011 * DEGREE * 10, 0),
        ("accelerometer", "noise_density: 230 ug/sqrt(Hz)", 230e-6 * 9.80665 * 10, 0),
        ("accelerometer", "noise_density: 0.11 m/s/sqrt(h)", 0.11 / 60 * 10, 0),
        ("magnetometer", "deviation: 0.5 mG", 0.5e-7, 0),
        ("gps", "deviation: 25 cm", 0.25, 0),
        ("gyroscope", "bias: {deviation: 0.3, time: 9}", 0, 0.1),
        ("gyroscope", "random_walk: 3 deg/h/sqrt(h)", 0, 3 / 3600 / 60 * DEGREE),
        ("accelerometer", "random_walk: 2e-4 m/s^2/s/sqrt(Hz)", 0, 2e-4),
        # N = 0.02, lowest Allan deviation 0.001: K = sqrt(3) 1e-6 / 0.04.
        ("gyroscope", "{noise_density: 0.02, bias_instability: 0.001}", 0.2, math.sqrt(3) * 1e-6 / 0.04),
    ],
)
def test_fields_of_data_sheets(tmp_path, kind, noise, deviation, walk):
    """At 100 Hz, by hand: deviation = density sqrt(rate)."""
    noise = noise if noise.startswith("{") else f"{{{noise}}}"
    field = ", field: [0 uT, 20 uT, 0 uT]" if kind == "magnetometer" else ""
    (spec,) = sensors(tmp_path, f"{{a: {{kind: {kind}, rate: 100, noise: {noise}{field}}}}}")
    assert spec.noise.deviation == pytest.approx((deviation,) * 3)
    assert spec.noise.random_walk() == pytest.approx((walk,) * 3)


def test_axes_may_differ_and_have_an_offset(tmp_path):
    text = "{a: {kind: accelerometer, rate: 4, noise: {noise_density: [1, 2, 3], mean: [-1 mg, 0 mg, 2 mg]}}}"
    (spec,) = sensors(tmp_path, text)
    assert spec.noise.deviation == (2, 4, 6)
    assert spec.noise.mean == pytest.approx((-9.80665e-3, 0, 2 * 9.80665e-3))


def test_an_imu_has_two_noises(tmp_path):
    text = "{a: {kind: imu, rate: 200, noise: {gyroscope: {deviation: 1 deg/s}, accelerometer: {deviation: 1 mg}}}}"
    (spec,) = sensors(tmp_path, text)
    assert spec.gyroscope.deviation == pytest.approx((DEGREE,) * 3)
    assert spec.accelerometer.deviation == pytest.approx((9.80665e-3,) * 3)
    assert spec.window == 0.005, "1 / rate, which is shorter than 0.01"


@pytest.mark.parametrize(("rate", "window"), [(10, 0.01), (200, 0.005)])
def test_an_accelerometer_has_a_window(tmp_path, rate, window):
    assert sensors(tmp_path, f"{{a: {{kind: accelerometer, rate: {rate}}}}}")[0].window == window


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "no set of sensors"),
        ("{a: 1}", "a: fields are needed"),
        ("{a: {kind: sonar}}", "kind: one of"),
        ("{a: {kind: gps}}", "rate: a number"),
        ("{a: {kind: gps, rate: 0}}", "a.rate: a number from 0.001 to 100000 is needed; this is 0"),
        ("{a: {kind: gps, rate: -5}}", "a.rate: a number"),
        ("{a: {kind: gps, rate: .nan}}", "rate: a finite number"),
        ("{a: {kind: gps, rate: .inf}}", "rate: a finite number"),
        ("{a: {kind: gps, rate: 10, range: 3}}", r"a\.range: no such field"),
        ("{a: {kind: gps, rate: 10, referenc: [1, 2, 3]}}", "no such field; is reference meant"),
        ("{a: {kind: gps, rate: 10, reference: [1, 2]}}", "3 numbers"),
        ("{a: {kind: gps, rate: 10, reference: [43, -89.4, 260, 1]}}", "3 numbers"),
        ("{a: {kind: gps, rate: 10, reference: [43, -91, 260]}}", "latitude from -90 to 90"),
        ("{a: {kind: gps, rate: 10, lag: -1}}", "a.lag: a number from 0 to 3600"),
        ("{a: {kind: gps, rate: 10, source: gazebo}}", "source: there is no 'gazebo'"),
        ("{a: {kind: gyroscope, rate: 10, window: 0.2}}", r"window: a number from 0 to 0.1 \(1 / rate\) is need.*0.2"),
        ("{a: {kind: gyroscope, rate: 10, window: -0.01}}", "window"),
        ("{a: {kind: gyroscope, rate: 10, mount: {site: 1}}}", r"a\.mount\.site: no such field"),
        ("{a: {kind: gyroscope, rate: 10, mount: {position: [1, 2]}}}", r"mount\.position: 3 numbers"),
        ("{a: {kind: gyroscope, rate: 10, mount: {orientation: [0, 0, 0, 0]}}}", "orientation: a quaternion of"),
        ("{a: {kind: gyroscope, rate: 10, mount: {orientation: [0, 0, 0, 1], yaw: 3}}}", "yaw: stands beside an"),
        ("{a: {kind: gyroscope, rate: 10, noise: 3}}", "noise"),
        ("{a: {kind: gyroscope, rate: 10, noise: {deviation: -1}}}", r"noise\.deviation: a number of 0 or more"),
        ("{a: {kind: gyroscope, rate: 10, noise: {deviation: [1, 2]}}}", r"noise\.deviation: a number of 0 or more"),
        ("{a: {kind: gyroscope, rate: 10, noise: {deviation: 3 mg}}}", r"noise\.deviation: there is no unit 'mg' here"),
        ("{a: {kind: gyroscope, rate: 10, noise: {noise_density: 3 dps}}}", "no unit 'dps' here; there are .*dps/sqrt"),
        ("{a: {kind: gyroscope, rate: 10, noise: {deviation: 1, noise_density: 1}}}", "density: stands beside a dev"),
        ("{a: {kind: gyroscope, rate: 10, noise: {random_walk: 1, bias_instability: 1}}}", "stands beside random_walk"),
        ("{a: {kind: gyroscope, rate: 10, noise: {bias_instability: 1}}}", "needs a noise_density or a deviation"),
        ("{a: {kind: gyroscope, rate: 10, noise: {bias: {deviation: 1, time: 0}}}}", r"bias\.time: a time above 0"),
        ("{a: {kind: imu, rate: 10, noise: {gyroscope: {deviation: 1 m}}}}", r"gyroscope\.deviation: there is no unit"),
        ("{a: {kind: gyroscope, rate: 10, noise: {deviation: 1e300 mg}}}", r"noise\.deviation: a number of 0 or more"),
        ("{a: {kind: imu, rate: 10, noise: {deviation: 1}}}", r"noise\.deviation: no such field"),
        ("{a: {kind: gps, rate: 1, filters: [smooth]}}", "no filter of readings is called 'smooth'"),
        ("{a: {kind: gps, rate: 1, filters: [{quantise: {step: 1}}]}}", "is quantize meant"),
        ("{a: {kind: gps, rate: 1, filters: [{quantize: {step: 0}}]}}", "step 0; a number above 0"),
        ("{a: {kind: gps, rate: 1, filters: [{quantize: {step: many}}]}}", "step: a number is needed; this is many"),
        ("{a: {kind: gps, rate: 1, filters: [{quantize: {size: 1}}]}}", "no parameter 'size'; it has step"),
        ("{a: {kind: gps, rate: 1, filters: [quantize]}}", "filter quantize: step is missing"),
        ("{a: {kind: gps, rate: 1, filters: {after: []}}}", "a list of filters"),
        ("{a: {kind: gps, rate: 1, filters: [{drop: {probability: 2}}]}}", "probability 2"),
        ("{a: {kind: magnetometer, rate: 1}}", r"field: the earth's field \[east, north, up\] is needed"),
        ("{a: {kind: magnetometer, rate: 1, year: 2026}}", "year: the model of the earth's field needs a reference"),
        ("{a: {kind: magnetometer, rate: 1, year: 2026, field: [0, 1, 0], reference: [1, 2, 3]}}", "beside a field"),
        ("{a: {kind: magnetometer, rate: 1, field: [0, 20, -40]}}", r"a\.field: is 44\.7 T, and the earth"),
        ("{a: {kind: magnetometer, rate: 1, field: [0, 2e-5, 0], hard_iron: 3}}", r"a\.hard_iron: is 5\.2 T"),
        ("{a: }", "holds no sensor; give one"),
        ("{a: {kind: magnetometer, rate: 1, field: [0, 1, 0], soft_iron: [[1, 0, 0]]}}", "soft_iron"),
        ("{a: {kind: encoders, rate: 1}}", "a.ticks: a whole number from 1"),
        ("{a: {kind: encoders, rate: 1, ticks: 0}}", "ticks: a whole number from 1"),
        ("{a: {kind: encoders, rate: 1, ticks: 9, gear: 0}}", "gear: a number above 0"),
        ("{a: {kind: encoders, rate: 1, ticks: 9, wheels: [front_lef]}}", "is front_left meant"),
        ("{a: {kind: encoders, rate: 1, ticks: 9, wheels: [rear_left, rear_left]}}", "each once"),
        ("{a: {kind: encoders, rate: 1, ticks: 9, mount: {}}}", "mount: encoders sit on the wheels"),
        ("{a: {kind: encoders, rate: 1, ticks: 9, window: 0.1}}", "window: encoders count"),
        ("{a: {kind: lidar, rate: 10, columns: 0}}", "columns: a whole number from 1"),
        ("{a: {kind: lidar, rate: 10, colums: 9}}", "no such field; is columns meant"),
        ("{a: {kind: lidar, rate: 10, rings: {lowest: 9, highest: -9, count: 3}}}", "lowest ring is above"),
        ("{a: {kind: lidar, rate: 10, rings: {lowest: 1, highest: 2, count: 1}}}", "one ring has one elevation"),
        ("{a: {kind: lidar, rate: 10, rings: {lowest: 1, highest: 2, count: 2}, elevation: [1]}}", "beside elevation"),
        ("{a: {kind: lidar, rate: 10, elevation: [1, 0]}}", "lowest ring comes first"),
        ("{a: {kind: lidar, rate: 10, elevation: [0, 0]}}", "no two are the same"),
        ("{a: {kind: lidar, rate: 10, elevation: [91]}}", "a list of numbers from -90 to 90"),
        ("{a: {kind: lidar, rate: 10, elevation: [.nan]}}", "a finite number is needed"),
        ("{a: {kind: lidar, rate: 10, elevation: []}}", "elevation: a list that is not empty"),
        ("{a: {kind: lidar, rate: 10, filters: [{quantize: {step: 0.01}}]}}", r"a\.filters: no filter of clouds"),
        ("{a: {kind: lidar, rate: 10, window: 0, ring_delay: [5]}}", "ring_delay: window 0 fires all beams at once"),
        ("{a: {kind: lidar, rate: 10, range: [5, 5]}}", "nearest must be smaller"),
        ("{a: {kind: lidar, rate: 10, range: [0, -5]}}", r"a\.range: 2 numbers"),
        ("{a: {kind: lidar, rate: 10, ring_delay: [1, 2]}}", "ring_delay: has 2 numbers, there are 1 rings"),
        ("{a: {kind: lidar, rate: 10, columns: 1000, ring_delay: [101]}}", "later than 100.00 microseconds"),
        ("{a: {kind: lidar, rate: 10, head_deviation: [0.1]}}", "head_deviation: one number says nothing of a turn"),
        ("{a: {kind: lidar, rate: 10, samples: 2}}", "samples: several rays a beam need a divergence"),
        ("{a: {kind: lidar, rate: 10, returns: second}}", "returns: there is no 'second'"),
        ("{a: {kind: lidar, rate: 10, window: 0.2}}", r"window: a number from 0 to 0.1 \(1 / rate\)"),
        ("{a: {kind: lidar, rate: 10, noise: {range: -1}}}", r"noise\.range: a number of 0 or more"),
        ("{a: {kind: lidar, rate: 10, columns: 100000, rings: {lowest: 0, highest: 9, count: 900}}}", "million rays"),
        ("{a: {kind: lidar, rate: 10, clockwise: maybe}}", r"a\.clockwise: true or false is needed; this is maybe"),
        ("{a b: {kind: gps, rate: 1}}", "a b: no name of a sensor"),
        ("{roof/lidar: {kind: lidar, rate: 1}}", "roof/lidar: no name of a sensor"),
        ("{1: {kind: gps, rate: 1}}", "1: no name of a sensor"),
        ("{a: {kind: [", "not valid YAML"),
    ],
)
def test_bad_sensors_are_named(tmp_path, text, says):
    with pytest.raises(SimjudgeError, match=says) as caught:
        sensors(tmp_path, text)
    assert str(tmp_path / "sensors.yaml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bodies_must_be_there(tmp_path):
    text = "a: {kind: gps, rate: 1, mount: {body: vehicle/wheel_frnt_left}}\nb: {kind: gps, rate: 1}\n"
    bodies = ("vehicle", "vehicle/wheel_front_left")
    says = r"sensors.yaml:1: a\.mount\.body: there is no body 'vehicle/wheel_frnt_left'; is vehicle/wheel_front_left"
    with pytest.raises(SimjudgeError, match=says):
        sensors(tmp_path, text, bodies=bodies)
    assert len(sensors(tmp_path, text.replace("frnt", "front"), bodies=bodies)) == 2


def test_no_such_sensors():
    with pytest.raises(UsageError, match="nowhere"):
        read_sensors("nowhere")


@pytest.mark.parametrize(
    ("kind", "what"), [("thermal", "thermal camera"), ("infrared", "thermal camera"), ("Event", "event camera")]
)
@pytest.mark.parametrize("read", [read_sensors, read_camera])
def test_cameras_that_are_absent_are_named_with_what_an_engine_would_need(tmp_path, kind, what, read):
    path = tmp_path / "s.yaml"
    path.write_text(f"eye:\n  kind: {kind}\n  rate: 10\n" if read is read_sensors else f"kind: {kind}\nrate: 10\n")
    with pytest.raises(SimjudgeError, match=rf"s\.yaml:\d: .*kind: simjudge has no {what}; .*own_engine\.md, Thermal"):
        read(path)
    guide = Path(__file__).parents[3] / "docs/guides/own_engine.md"
    assert "\n## Thermal and event cameras\n" in guide.read_text(encoding="utf-8")
