"""Filters of a lidar's clouds: each against a formula, at each stage, own ones too; the truth stays beside them."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.lidar.cloud_filters import CLOUD_FILTERS, CloudFilters, CloudFilterStep, cloud_filter
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarIntensity, LidarNoise, lidar_beams, unit_directions
from simjudge.sim.sensors.lidar.scan import RayHits, measure
from simjudge.sim.sensors.sensor_file import read_sensors

LIDAR = Lidar("l", rate=10, columns=400, elevation=(-0.2, 0.0, 0.3), range=(0.5, 50))
NOISY = replace(LIDAR, noise=LidarNoise((0.02, 0.001), 1e-3, 2e-3, 0.05), intensity=LidarIntensity(scale=100))
MOVING = Keyframes.build([-0.1, 0.0], [[Pose((0.0, 0.0, 0.0))], [Pose((1.0, 0.0, 0.0))]])


def hits(lidar, seed=3):
    """Every ray meets one of three things, anywhere from 1 to 40 m."""
    random = np.random.default_rng(seed)
    rays = lidar_beams(lidar).directions.shape[0] * lidar_beams(lidar).directions.shape[1]
    return RayHits(random.uniform(1, 40, rays), random.integers(0, 3, rays), random.uniform(0.2, 1, rays))


def scan(lidar, *steps, seed=0, stamp=7):
    given = CloudFilters(tuple(steps), stamp, (seed, 1))
    return measure(lidar, hits(lidar), MOVING, np.random.default_rng(seed), given)


def step(name, stage="filter", **parameters):
    return CloudFilterStep(name, parameters, stage)


@pytest.fixture
def _own_filters(monkeypatch):
    monkeypatch.setattr(CLOUD_FILTERS, "functions", dict(CLOUD_FILTERS.functions))


@pytest.mark.parametrize("lidar", [LIDAR, NOISY, replace(NOISY, deskew=True, returns="dual")])
@pytest.mark.parametrize("stage", ["generate", "filter", "access"])
def test_a_filter_that_changes_nothing_leaves_every_number(lidar, stage):
    plain, filtered = scan(lidar), scan(lidar, step("shift_range", stage, offset=0.0))
    for name in ("points", "intensity", "ring", "time", "range", "azimuth", "true_points", "thing"):
        assert np.array_equal(getattr(plain, name), getattr(filtered, name)), name


def test_quantized_ranges_are_multiples_along_the_same_beams():
    plain, filtered = scan(NOISY), scan(NOISY, step("quantize_range", step=0.004))
    assert filtered.range == pytest.approx(np.rint(plain.range / 0.004) * 0.004)
    assert filtered.points == pytest.approx(unit_directions(plain.azimuth, plain.elevation) * filtered.range[:, None])
    assert np.array_equal(filtered.true_points, plain.true_points)
    assert np.array_equal(filtered.azimuth, plain.azimuth)


def test_lost_returns_are_a_share_and_keep_their_truth_and_noise():
    plain, filtered = scan(NOISY), scan(NOISY, step("drop_returns", "generate", probability=0.3))
    # Of 1200 returns 360 are lost on average; 5 standard deviations are 79.
    assert abs(len(plain) - len(filtered) - 360) < 80
    where = {tuple(point): row for row, point in enumerate(plain.true_points.tolist())}
    rows = [where[tuple(point)] for point in filtered.true_points.tolist()]
    assert np.array_equal(filtered.range, plain.range[rows])  # the noise of a return does not depend on the others
    assert np.array_equal(filtered.thing, plain.thing[rows])
    again = scan(NOISY, step("drop_returns", "generate", probability=0.3))
    assert np.array_equal(again.points, filtered.points)
    other = scan(NOISY, step("drop_returns", "generate", probability=0.3), seed=1)
    assert len(other) != len(filtered) or not np.array_equal(other.thing, filtered.thing)


def test_before_noise_and_after_it_are_not_the_same():
    early = scan(NOISY, step("quantize_range", "generate", step=1.0))
    late = scan(NOISY, step("quantize_range", "access", step=1.0))
    assert np.abs(late.range - np.rint(late.range)).max() < 1e-9
    rest = early.range - np.rint(early.range)
    exact = np.linalg.norm(early.true_points, axis=1)
    # The rest is the noise of the rounded range: 0.02 m and 1 mm a metre.
    assert (rest / (0.02 + 0.001 * np.rint(exact))).std() == pytest.approx(1, rel=0.1)
    assert not np.allclose(exact, np.rint(exact))


def test_filters_act_in_the_order_of_the_file():
    first = scan(LIDAR, step("shift_range", offset=0.3), step("quantize_range", step=1.0))
    second = scan(LIDAR, step("quantize_range", step=1.0), step("shift_range", offset=0.3))
    plain = scan(LIDAR).range
    assert first.range == pytest.approx(np.rint(plain + 0.3))
    assert second.range == pytest.approx(np.rint(plain) + 0.3)


@pytest.mark.parametrize(("begin", "end", "width"), [(170, -170, 20), (-90, 90, 180), (350, 10, 20)])
def test_a_sector_is_cut_out(begin, end, width):
    plain, filtered = scan(LIDAR), scan(LIDAR, step("cut_sector", begin=begin, end=end))
    inside = [(math.degrees(each) - begin) % 360 <= width for each in plain.azimuth]
    assert len(filtered) == len(plain) - sum(inside)
    near = scan(LIDAR, step("cut_sector", begin=begin, end=end, nearer=10.0))
    assert len(near) == len(plain) - int(np.sum(np.array(inside) & (plain.range < 10)))


def test_whole_clouds_are_lost():
    assert scan(LIDAR, step("drop", probability=1.0)) is None
    lost = sum(scan(LIDAR, step("drop", probability=0.5), seed=seed) is None for seed in range(200))
    assert 65 < lost < 135  # 5 standard deviations are 35


@pytest.mark.usefixtures("_own_filters")
def test_filters_of_ones_own():
    @cloud_filter
    def rain(cloud, *, metres: float):
        """See no farther than the rain lets."""
        return cloud.where(cloud.range < metres)

    @cloud_filter
    def last_first(cloud):
        """Hand over the points the other way round."""
        return cloud.take(np.arange(len(cloud))[::-1])

    @cloud_filter
    def nonsense(cloud):
        """Return what is no cloud."""
        return cloud.range

    plain, filtered = scan(NOISY), scan(NOISY, step("rain", metres=12.0), step("last_first"))
    near = plain.range < 12
    assert np.array_equal(filtered.points, plain.points[near][::-1])
    assert np.array_equal(filtered.true_points, plain.true_points[near][::-1])
    assert np.array_equal(filtered.thing, plain.thing[near][::-1])
    with pytest.raises(UsageError, match="filter nonsense: returns a ndarray; a MeasuredCloud is needed"):
        scan(LIDAR, step("nonsense"))


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        ("[{quantize_range: {step: 0}}]", r"a\.filters: filter quantize_range: step 0; a number above 0"),
        ("[{drop_returns: {probability: 2}}]", r"a\.filters: filter drop_returns: probability 2; a number from 0 to 1"),
        ("[{drop_returns: {chance: 2}}]", "filter drop_returns: no parameter 'chance'; it has probability"),
        ("[{quantize: {step: 1}}]", "no filter of clouds is called 'quantize'; is quantize_range meant"),
        ("[{cut_sector: {begin: x, end: 2}}]", "filter cut_sector: begin: a number is needed"),
    ],
)
def test_what_makes_no_sense_is_refused_when_the_file_is_read(tmp_path, filters, says):
    path = tmp_path / "sensors.yaml"
    path.write_text(f"a: {{kind: lidar, rate: 10, filters: {filters}}}")
    with pytest.raises(SimjudgeError, match=says):
        read_sensors(path)


def test_chronos_own_lidar_has_none(tmp_path):
    path = tmp_path / "sensors.yaml"
    path.write_text("a: {kind: lidar, rate: 10, source: chrono, filters: [{quantize_range: {step: 0.1}}]}")
    with pytest.raises(SimjudgeError, match=r"a\.filters: Chrono's own lidar takes no filters; take source: simjudge"):
        read_sensors(path)
