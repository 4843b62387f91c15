"""What only a real PyChrono can show; skipped where it is absent."""

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pychrono", reason="PyChrono is not installed")

from simjudge.poses import Pose
from simjudge.sensing.camera import Camera
from simjudge.sensing.exposure import gather
from simjudge.sensing.lens import Lens, lens_with_field
from simjudge.sensing.own_camera import ChronoNoise, ChronoPhysical
from simjudge.studies.driving_tests import drive_tests, flat_scene
from simjudge.world.engine import Moment
from simjudge.world.engines import make_engine
from simjudge.world.engines.chrono.other_sensors import Sensors
from simjudge.world.engines.chrono.probe import DISTANCE, plate
from simjudge.world.engines.chrono.sensor_file import read_sensors
from simjudge.world.scene.model import Scene, Surface, Thing
from simjudge.world.vehicle_file import read_vehicle

TARGET = math.tan(math.radians(30))
AT = Moment(Pose().optical())


@pytest.fixture
def target():
    """A scene with the 30-degree plate in it."""
    thing = Thing("plate", plate(), Surface((1.0, 1.0, 1.0), roughness=1.0), class_id=1, instance=9)
    engine = make_engine("chrono", Scene("target", (thing,), (), ambient=(0.5,) * 3))
    yield engine
    engine.close()


LENSES = {
    "issue": lens_with_field("pinhole", (1280, 32), math.degrees(1.4)),
    "radial": lens_with_field("radial", (640, 32), 80, (-0.369, 0.1257, -0.0194)),
    "fov": lens_with_field("fov", (640, 32), 80),
    "off the middle": Lens("pinhole", (640, 32), (400.0, 410.0), (300.0, 18.0)),
}


@pytest.mark.parametrize("name", LENSES)
def test_a_target_at_30_degrees_is_where_the_lens_has_it(target, name):
    """In RGB, segmentation and depth alike: at hFOV 1.4 and 1280 px, box column 1078.7."""
    lens = LENSES[name]
    row = 4
    edge = lens.project([TARGET, (row - lens.centre[1]) / lens.focal[1], 1])[0] + 0.5
    labels = target.labels(lens, AT)
    picture = target.expose(lens, [AT], 4)
    seen = {
        "segmentation": labels.instance[row] == 9,
        "depth": np.isfinite(labels.depth[row]),
        "RGB": picture[row, :, 1] > 0.2,
    }
    for sensor, hit in seen.items():
        assert np.flatnonzero(hit)[0] == pytest.approx(edge, abs=1.1), sensor
    assert labels.depth[row][seen["depth"]] == pytest.approx(DISTANCE, rel=2e-3)


def own_camera(own):
    return Camera("own", Path("own.yaml"), lens_with_field("pinhole", (320, 64), 80), (), 30, 0, own=own)


def test_chronos_own_noise_has_its_deviation(target):
    quiet, noisy = (gather(target, own_camera(ChronoNoise("constant", 0.0, d)), [AT])[4, 280:, 1] for d in (0.0, 0.04))
    assert (noisy ** (1 / 2.2)).std() == pytest.approx(0.04, rel=0.5)
    assert (quiet ** (1 / 2.2)).std() < 0.01


def test_the_physical_camera_sees_the_target(target):
    if not target.release.phys_camera:
        pytest.skip("ChPhysCameraSensor came with release 10.0.0")
    lens = own_camera(None).lens
    picture = gather(target, own_camera(ChronoPhysical()), [AT])
    edge = lens.project([TARGET, (4 - lens.centre[1]) / lens.focal[1], 1])[0] + 0.5
    assert np.flatnonzero(picture[4, :, 1] > picture.max() / 2)[0] == pytest.approx(edge, abs=1.1)


def test_artcar_beside_the_default_car():
    """Turning circles near the one without slip, left and right alike; throttle and coast-down of the same order."""
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    car = read_vehicle("art1")
    figures = {}
    for name in ("default", "chrono"):
        engine = make_engine(name, flat_scene(), car)
        figures[name] = drive_tests(engine, car, (0.5, -0.5))
        engine.close()
        left, right = figures[name].circles[0.5], figures[name].circles[-0.5]
        assert left[0] == pytest.approx(left[1], rel=0.25)
        assert left[0] == pytest.approx(-right[0], rel=0.1)
        assert abs(figures[name].drift) < 0.3
    for field, most in (("speed", 1.3), ("to_half", 2), ("coast_distance", 2)):
        ratio = getattr(figures["chrono"], field) / getattr(figures["default"], field)
        assert 1 / most < ratio < most, field


def test_sensors_on_a_standing_car():
    engine = make_engine("chrono", flat_scene(), read_vehicle("art1"))
    engine.step(1.0)
    readings = Sensors(engine, read_sensors("art1")).advance(0.5)
    engine.close()
    by_kind = {kind: [r for r in readings if r.kind == kind] for kind in {r.kind for r in readings}}
    times = [round(r.time - 1.0, 6) for r in by_kind["gps"]]
    assert times == sorted(set(times))
    assert len(by_kind["gyroscope"]) == pytest.approx(50, abs=1)
    felt = np.mean([r.values for r in by_kind["accelerometer"]], axis=0)
    assert felt == pytest.approx([0, 0, 9.81], abs=0.5)
    assert np.abs(np.mean([r.values for r in by_kind["gyroscope"]], axis=0)).max() < 0.05
    assert by_kind["gps"][-1].values == pytest.approx([43.0717, -89.412, 260.2], abs=0.3)
    cloud = by_kind["lidar"][-1].values
    below = cloud[cloud[:, 2] < -0.1]
    assert np.median(below[:, 2]) == pytest.approx(-0.25, abs=0.05), "the floor"
