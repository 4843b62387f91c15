"""What Chrono's own lidar is asked for, which lidars it cannot be, and what is made of its returns."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.lenses import (
    asked_scans,
    beam_angles,
    check_own_lidar,
    check_own_returns,
    check_single_rays,
    lidar_arguments,
    points,
)
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarIntensity, LidarNoise, LidarSpec, lidar_beams, unit_directions

VULKAN = SimpleNamespace(LidarBeamShape_ELLIPTICAL="grid", LidarReturnMode_FIRST_RETURN="first")
OPTIX = SimpleNamespace(ChOptixSensor=object)
ONE = Lidar("scan", 10, 5, (-0.2, 0.0, 0.2), (0.5, 20), field_of_view=math.radians(80))
WIDE = replace(ONE, divergence=(0.003, 0.0015), samples=2, returns="first")


def scan_of(lidar, ranges, intensity=0.5):
    shape = (len(lidar.elevation), lidar.columns)
    ranges, intensity = np.broadcast_to(ranges, shape), np.broadcast_to(intensity, shape)
    return np.stack([ranges, intensity], -1).astype(np.float32)


def cloud_of(lidar, *scans):
    return points(scans, lidar, np.random.default_rng(0))


def test_a_single_ray_asks_for_no_more_than_a_grid():
    assert lidar_arguments(VULKAN, ONE) == (5, 3, ONE.field_of_view, 0.2, -0.2, 20)


def test_several_rays_are_a_grid_with_ends_at_the_range():
    """Chrono calls a rectangle ELLIPTICAL, traces to 1.5 times the range, and has vertical before across."""
    columns, rings, field, high, low, far, *rest = lidar_arguments(VULKAN, WIDE)
    assert (columns, rings, field, high, low) == (5, 3, ONE.field_of_view, 0.2, -0.2)
    assert far * 1.5 == pytest.approx(20)
    assert rest == ["grid", 2, 0.0015, 0.003, "first", 0.5]


@pytest.mark.parametrize(("returns", "value"), [("strongest", 0), ("mean", 1), ("first", 2), ("last", 3)])
def test_bindings_without_the_enumerations_take_their_values(returns, value):
    asked = lidar_arguments(SimpleNamespace(), replace(WIDE, returns=returns, range=(0, 20)))
    assert asked[6:] == (1, 2, 0.0015, 0.003, value, 1e-3)


def test_a_full_turn_asks_for_its_first_column_again():
    """Ours are field / n apart, Chrono's reach from end to end."""
    turn = replace(ONE, field_of_view=2 * math.pi, columns=8)
    assert lidar_arguments(VULKAN, turn)[0] == 9
    azimuth, elevation = beam_angles(turn)
    ours = lidar_beams(turn)
    assert np.exp(1j * azimuth).T.ravel() == pytest.approx(np.exp(1j * ours.azimuth))
    assert elevation.T.ravel() == pytest.approx(ours.elevation)


def test_a_narrow_field_reaches_from_end_to_end():
    azimuth, elevation = beam_angles(ONE)
    ours = lidar_beams(ONE)
    assert azimuth.T.ravel() == pytest.approx(ours.azimuth)
    assert elevation.T.ravel() == pytest.approx(ours.elevation)


def test_dual_is_three_lidars_and_every_other_one():
    def asked(lidar):
        return [s.model().returns for s in asked_scans(LidarSpec("roof", "lidar", 10, Pose(), lidar=lidar))]

    assert asked(replace(WIDE, returns="dual")) == ["strongest", "last", "first"]
    assert asked(WIDE) == ["first"]
    assert asked(replace(ONE, returns="dual")) == ["dual"], "one ray has one return"


def test_a_scan_of_a_wall():
    directions = unit_directions(*beam_angles(ONE))
    assert directions[0, 0] == pytest.approx(
        [math.cos(-0.2) * math.cos(math.radians(-40)), math.cos(-0.2) * math.sin(math.radians(-40)), math.sin(-0.2)]
    )
    returns = scan_of(ONE, 4.0 / directions[..., 0])
    returns[0, 0, 0], returns[0, 1, 0], returns[0, 2, 0] = 0.0, 25.0, 0.4
    cloud = cloud_of(ONE, returns)
    assert cloud.shape == (12, 4)
    assert cloud[:, 0] == pytest.approx(4.0, rel=1e-6)
    assert set(cloud[:, 3]) == {0.5}


def test_dual_gives_strongest_and_last_the_nearer_first():
    """One beam: the far wall is the stronger, so the near one is its first; the next: one wall alone; then nothing."""
    lidar = replace(WIDE, returns="dual", columns=3, elevation=(0.0,), field_of_view=0.2)
    strongest = scan_of(lidar, [6.0, 4.0, 0.0], [0.6, 0.9, 0.0])
    last = scan_of(lidar, [6.0, 4.02, 0.0], [0.6, 0.9, 0.0])
    first = scan_of(lidar, [3.0, 3.98, 0.0], [0.3, 0.9, 0.0])
    cloud = cloud_of(lidar, strongest, last, first)
    assert np.linalg.norm(cloud[:, :3], axis=1) == pytest.approx([3.0, 6.0, 4.0])
    assert cloud[:, 3] == pytest.approx([0.3, 0.6, 0.9])


def test_dual_takes_the_last_where_the_strongest_is_near():
    lidar = replace(WIDE, returns="dual", columns=1, elevation=(0.0,), field_of_view=0.2)
    cloud = cloud_of(lidar, scan_of(lidar, 3.0, 0.6), scan_of(lidar, 6.0, 0.2), scan_of(lidar, 3.0, 0.6))
    assert np.linalg.norm(cloud[:, :3], axis=1) == pytest.approx([3.0, 6.0])


def test_weak_returns_are_lost_and_the_rest_is_reported_as_asked():
    lidar = replace(ONE, threshold=0.3, intensity=LidarIntensity(scale=255.0, levels=255))
    returns = scan_of(lidar, 5.0, 0.5)
    returns[1, :, 1] = 0.2
    assert cloud_of(lidar, returns)[:, 3].tolist() == [128.0] * 10
    faint = replace(lidar, intensity=LidarIntensity(falloff=3.0, calibrated=False))
    assert cloud_of(replace(faint, threshold=0.1), returns)[:, 3] == pytest.approx(0.5 * 0.36), "0.2 x 0.36 is lost"
    assert len(cloud_of(faint, returns)) == 0


def test_noise_and_lost_returns():
    lidar = replace(ONE, columns=2000, noise=LidarNoise(range=(0.02, 0.0), drop_out=0.25))
    cloud = cloud_of(lidar, scan_of(lidar, 10.0))
    assert len(cloud) == pytest.approx(0.75 * 6000, rel=0.05)
    assert np.linalg.norm(cloud[:, :3], axis=1).std() == pytest.approx(0.02, rel=0.05)


@pytest.mark.parametrize(
    ("lidar", "says"),
    [
        (replace(ONE, elevation=(0.0, 0.1, 0.3)), "rings at equal steps"),
        (replace(ONE, ring_delay=(0.0, 0.0, 1e-6)), "no ring_azimuth, ring_delay and head_deviation"),
        (replace(ONE, head_deviation=(0.0, 0.01)), "no ring_azimuth, ring_delay and head_deviation"),
        (replace(ONE, clockwise=True), "counter-clockwise beams"),
        (replace(ONE, start=0.0), "no start"),
        (replace(ONE, window=0.1), "window: 0"),
    ],
)
def test_beams_that_chrono_has_not(lidar, says):
    with pytest.raises(UsageError, match=f"roof: its own lidar has .*{says}.* or take source: simjudge"):
        check_own_lidar("roof", lidar)


def test_returns_that_chrono_has_not():
    check_own_returns("roof", replace(ONE, resolution=0.3, returns="last"), OPTIX)
    with pytest.raises(UsageError, match=r"one resolution, 0\.05 m: leave resolution out"):
        check_own_returns("roof", replace(WIDE, resolution=0.3), VULKAN)
    for returns in ("last", "dual"):
        lidar = replace(WIDE, returns=returns)
        check_own_returns("roof", lidar, VULKAN)
        with pytest.raises(UsageError, match=f"with OptiX.* no last return.* returns: {returns} needs"):
            check_own_returns("roof", lidar, OPTIX)


def test_a_bridges_lidar_has_one_ray_a_beam():
    check_single_rays("roof", ONE)
    with pytest.raises(UsageError, match="samples: 1 and returns: strongest"):
        check_single_rays("roof", WIDE)
