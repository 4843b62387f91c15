"""Chrono's own ideal lidar and IMU beside ours, by a real PyChrono; skipped where it is absent. No car is needed."""

import numpy as np
import pytest

pytest.importorskip("pychrono", reason="PyChrono is not installed")
pytest.importorskip("pychrono.sensor", reason="this PyChrono has no sensor module", exc_type=ImportError)
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

from pychrono import core as chrono
from scipy.spatial.transform import Rotation

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.lenses import asked_scans, beam_angles, points
from simjudge.sim.engines.chrono.other_sensors import straight_acceleration
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Mesh, Scene, Surface, Thing
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.inertial.inertial_sensor import InertialSensor
from simjudge.sim.sensors.inertial.motion import Motion
from simjudge.sim.sensors.lidar.lidar import lidar_beams, unit_directions
from simjudge.sim.sensors.lidar.rays import beam_returns
from simjudge.sim.sensors.sensor_file import read_sensors

chrono_sensor = pytest.importorskip("pychrono.sensor", reason="this PyChrono has no sensor module")

LIDAR = """
roof: {kind: lidar, rate: 10, columns: 181, field_of_view: 120, window: 0, range: [0.2, 30], source: chrono,
       rings: {count: 8, lowest: -20, highest: 8}}
"""
IMU = """
turning: {kind: gyroscope, rate: 100, window: 0, mount: {position: [0.4, -0.2, 0.1], yaw: 40, roll: -25, pitch: 10}}
felt: {kind: accelerometer, rate: 100, window: 0, mount: {position: [0.4, -0.2, 0.1], yaw: 40, roll: -25, pitch: 10}}
"""
STEP = 1e-3


def sensors_of(tmp_path, text):
    file = tmp_path / "sensors.yaml"
    file.write_text(text)
    return read_sensors(file)


def test_the_ideal_lidar_in_the_lab(tmp_path):
    """Beam for beam: what Chrono's renderer meets, and what our rays meet."""
    (spec,) = sensors_of(tmp_path, LIDAR)
    at = Pose.from_euler(0.3, -0.2, 0.4, yaw=0.7)
    scene = read_scene("lab")
    engine = make_engine("chrono", scene)
    try:
        returns = engine.scan(spec, at)
    finally:
        engine.close()
    theirs = returns[..., 0].astype(float)
    directions = unit_directions(*beam_angles(spec.model())).reshape(-1, 3) @ at.rotation_matrix().T
    ours = make_engine("default", scene)
    try:
        hits = ours.cast_rays(np.tile(at.position, (len(directions), 1)), directions)
    finally:
        ours.close()
    expected = np.where(hits.distance <= 30, hits.distance, 0).reshape(theirs.shape)
    assert (theirs > 0).mean() > 0.95
    off = np.abs(theirs - expected)
    print(f"\nmedian {np.median(off):.2e} m, within 1e-4 m {np.mean(off < 1e-4):.4f} of {off.size} beams")
    assert np.mean(off < 1e-4) > 0.98
    cloud = points([returns], spec.model(), np.random.default_rng(0))
    assert len(cloud) == np.count_nonzero((theirs >= 0.2) & (theirs <= 30))


WALLS = """
roof: {{kind: lidar, rate: 10, columns: 3, field_of_view: 10, window: 0, range: [0.2, 30], source: chrono,
       divergence: {{horizontal: 3, vertical: 1.5}}, samples: 2, returns: {}}}
"""


def wall(x, y):
    """4 m high, 2 m wide from y on to the right, at x."""
    corners = [[x, y, -2], [x, y - 2, -2], [x, y - 2, 2], [x, y, 2]]
    mesh = Mesh(
        np.array(corners, float), np.array([[0, 1, 2], [0, 2, 3]]), np.zeros((4, 2)), np.tile([-1.0, 0, 0], (4, 1))
    )
    return Thing(f"wall {x}", mesh, Surface((1.0, 1.0, 1.0), roughness=1.0, reflectance=1.0))


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        ("strongest", [(4.0, 2 / 3)]),
        ("first", [(4.0, 2 / 3)]),
        ("last", [(8.0, 1.0)]),
        ("mean", [((2 * 4 + 8) / 3, 1.0)]),
        ("dual", [(4.0, 2 / 3), (8.0, 1.0)]),
    ],
)
def test_a_beam_partly_on_a_near_wall_partly_on_a_far_one(tmp_path, returns, expected):
    """The edge of the near wall leaves 2 of the 3 columns of rays to it; the same ranges by our own rays and returns.

    Chrono's intensity of a last return is its ray's own; ours is its share of the beam.
    """
    (spec,) = sensors_of(tmp_path, WALLS.format(returns))
    lidar = spec.model()
    scene = Scene("walls", (wall(4.0, 4 * 0.0005), wall(8.0, 1.0)), (), ambient=(0.5,) * 3)
    engine = make_engine("chrono", scene)
    try:
        scans = [engine.scan(asked_scan, Pose()) for asked_scan in asked_scans(spec)]
    finally:
        engine.close()
    cloud = points(scans, lidar, np.random.default_rng(0))
    middle = np.abs(np.arctan2(cloud[:, 1], cloud[:, 0])) < 1e-3
    found = [(float(np.linalg.norm(row[:3])), float(row[3])) for row in cloud[middle]]
    print(f"\n{returns}: range and intensity {found}")
    assert np.array(found) == pytest.approx(np.array(expected), abs=2e-3)
    beams = lidar_beams(lidar)
    directions = beams.directions[np.abs(beams.azimuth) < 1e-9].reshape(-1, 3)
    ours = make_engine("default", scene)
    try:
        hits = ours.cast_rays(np.zeros_like(directions), directions)
    finally:
        ours.close()
    own = beam_returns(hits.distance[None], np.abs(directions[:, 0])[None], lidar.resolution, lidar.returns)
    both = np.sort(own.range[np.isfinite(own.range)])
    assert [pair[0] for pair in found] == pytest.approx(both, abs=2e-3)


def test_beams_with_divergence_in_the_lab(tmp_path):
    """Several rays a beam, strongest return: Chrono's reduction and ours on the same rays, beam for beam."""
    wide = "range: [0.2, 30], divergence: {horizontal: 6, vertical: 6}, samples: 3,"
    (spec,) = sensors_of(tmp_path, LIDAR.replace("range: [0.2, 30],", wide))
    lidar, at, scene = spec.model(), Pose.from_euler(0.3, -0.2, 0.4, yaw=0.7), read_scene("lab")
    engine = make_engine("chrono", scene)
    try:
        theirs = engine.scan(spec, at)[..., 0].T.ravel().astype(float)
    finally:
        engine.close()
    directions = lidar_beams(lidar).directions.reshape(-1, 3) @ at.rotation_matrix().T
    ours = make_engine("default", scene)
    try:
        hits = ours.cast_rays(np.tile(at.position, (len(directions), 1)), directions)
    finally:
        ours.close()
    ranges = np.where(hits.distance <= 30, hits.distance, np.inf).reshape(len(theirs), -1)
    facing = np.abs((hits.normal * directions).sum(axis=1)).reshape(ranges.shape)
    own = beam_returns(ranges, np.nan_to_num(facing), lidar.resolution, "strongest").range[:, 0]
    off = np.abs(theirs - np.nan_to_num(own))
    print(f"\nmedian {np.median(off):.2e} m, within 0.05 m {np.mean(off < 0.05):.4f} of {off.size} beams of 25 rays")
    assert np.median(off) < 0.02
    assert np.mean(off < 0.05) > 0.9


def test_the_ideal_imu_on_a_body_that_turns_and_is_thrown(tmp_path):
    """A thrown, spinning body: lever arm and turned mount by Chrono's sensors, corrected, and by ours."""
    gyroscope, accelerometer = sensors_of(tmp_path, IMU)
    system = chrono.ChSystemNSC()
    system.SetGravitationalAcceleration(chrono.ChVector3d(0, 0, -9.81))
    body = chrono.ChBody()
    body.SetMass(1.0)
    body.SetInertiaXX(chrono.ChVector3d(0.02, 0.03, 0.05))
    body.SetPos(chrono.ChVector3d(0, 0, 50))
    body.SetLinVel(chrono.ChVector3d(3, -1, 4))
    body.SetAngVelLocal(chrono.ChVector3d(1.5, -0.7, 2.5))
    system.AddBody(body)
    manager = chrono_sensor.ChSensorManager(system)
    x, y, z, w = gyroscope.mount.orientation
    frame = chrono.ChFramed(chrono.ChVector3d(*gyroscope.mount.position), chrono.ChQuaterniond(w, x, y, z))
    made = {}
    for name, kind, access in (
        ("gyroscope", chrono_sensor.ChGyroscopeSensor, chrono_sensor.ChFilterGyroAccess),
        ("accelerometer", chrono_sensor.ChAccelerometerSensor, chrono_sensor.ChFilterAccelAccess),
    ):
        sensor = kind(body, 1 / STEP, frame, chrono_sensor.ChNoiseNone())
        sensor.SetLag(0.0)
        sensor.SetCollectionWindow(0.0)
        sensor.PushFilter(access())
        manager.AddSensor(sensor)
        made[name] = sensor
    rows, read = [], []
    for _ in range(1000):
        system.DoStepDynamics(STEP)
        manager.Update()
        position, q, velocity = body.GetPos(), body.GetRot(), body.GetLinVel()
        turn, pull = body.GetAngVelLocal(), body.GetLinAcc()
        rows.append(
            [
                position.x,
                position.y,
                position.z,
                q.e1,
                q.e2,
                q.e3,
                q.e0,
                velocity.x,
                velocity.y,
                velocity.z,
                turn.x,
                turn.y,
                turn.z,
                pull.x,
                pull.y,
                pull.z,
                *(getattr(body.GetAngAccLocal(), k) for k in "xyz"),
            ]
        )
        buffers = made["gyroscope"].GetMostRecentGyroBuffer(), made["accelerometer"].GetMostRecentAccelBuffer()
        read.append([*buffers[0].GetGyroData()[:3], *buffers[1].GetAccelData()[:3]])
    table, read = np.array(rows), np.array(read)
    stamp = np.arange(1, len(table) + 1) * round(STEP * 1e9)
    motion = Motion(stamp, *np.split(table[:, :13], [3, 7, 10], axis=1), table[:, 13:16], table[:, 16:19])
    own = [InertialSensor(spec, start=0).read(motion) for spec in (gyroscope, accelerometer)]
    mount = gyroscope.mount.rotation_matrix()
    for k, readings in enumerate(own):
        index = np.searchsorted(stamp, readings.stamp)
        kept = (index < len(stamp)) & (readings.stamp >= stamp[0])
        theirs = []
        for row in index[kept]:
            turned = Rotation.from_quat(table[row, 3:7]).as_matrix()
            raw = read[row, 3 * k : 3 * k + 3]
            theirs.append(mount.T @ raw if k == 0 else straight_acceleration(raw, turned, turned @ mount))
        off = np.abs(np.array(theirs) - readings.truth[kept])
        print(f"\n{('gyroscope', 'accelerometer')[k]}: {len(theirs)} readings, at most {off.max():.2e} off")
        assert off.max() < 1e-9
