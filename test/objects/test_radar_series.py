"""What a radar says over time, of detections that are known."""

from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.clouds import Cloud, CloudSet
from simjudge.objects.radar_series import is_radar, own_velocity, radar_series
from simjudge.questions.objects.run import compare_by_objects, object_pictures
from simjudge.questions.objects.settings import ObjectSettings

FIELDS = ("x", "y", "z", "radial_velocity", "rcs", "snr")


def frame(random, rcs=0.0, count=60, movers=9, velocity=(12.0, -0.5), deviation=0.05, speed="radial_velocity"):
    """Detections of standing things, and of some that come 8 m/s nearer by themselves."""
    azimuth, far = random.uniform(-1, 1, count), random.uniform(5, 60, count)
    rate = -(velocity[0] * np.cos(azimuth) + velocity[1] * np.sin(azimuth)) + random.normal(0, deviation, count)
    rate[:movers] -= 8
    columns = (far * np.cos(azimuth), far * np.sin(azimuth), 0 * far, rate, random.normal(rcs, 5, count), 20 + 0 * far)
    names = [speed if name == "radial_velocity" else name for name in FIELDS]
    table = np.zeros(count, [(name, "f4") for name in names])
    for name, column in zip(names, columns, strict=True):
        table[name] = column
    return table


def lidar_cloud(number):
    return Cloud(np.zeros(3, [("x", "f4"), ("y", "f4"), ("z", "f4")]), where=f"lidar {number}")


def shown(tables):
    return lambda index: Cloud(tables[index], where=f"table {index}")


def radar(name, seed, frames=12, **about):
    random = np.random.default_rng(seed)
    tables = [frame(random, **about) for _ in range(frames)]
    stamp = np.arange(frames, dtype=np.int64) * 72_000_000
    return CloudSet(name, [str(k) for k in range(frames)], stamp, lambda k: Cloud(tables[k], where=f"{name} {k}"))


def test_own_speed_and_what_moves_are_found_whatever_moves():
    series = {one.metric: one for one in radar_series(radar("r", 1), Losses())}
    assert series["detections"].value == pytest.approx(60)
    assert series["own speed"].value == pytest.approx(np.hypot(12, 0.5), abs=0.1)
    assert series["moving"].value == pytest.approx(9 / 60)
    # The median over all, of which 15 % move, is somewhat above the standing things' own.
    assert series["speed residual"].value.mean() == pytest.approx(0.05, rel=0.4)
    assert series["rcs"].value.mean() == pytest.approx(0, abs=5 * 5 / np.sqrt(720))
    assert series["rcs spread"].value.mean() == pytest.approx(5, rel=0.1)


def test_own_velocity_without_noise_is_exact():
    azimuth = np.linspace(-0.8, 0.8, 9)
    velocity, off = own_velocity(azimuth, -(7 * np.cos(azimuth) + 2 * np.sin(azimuth)))
    assert velocity == pytest.approx([7, 2])
    assert off == pytest.approx(np.zeros(9), abs=1e-9)
    velocity, off = own_velocity(azimuth[:2], azimuth[:2])
    assert np.isnan([*velocity, *off]).all()


def test_detections_in_one_direction_do_not_tell_the_own_velocity():
    for spread, told in ((0.0, False), (0.01, False), (0.1, True)):
        azimuth = 0.3 + np.linspace(-spread, spread, 30)
        velocity, off = own_velocity(azimuth, -(7 * np.cos(azimuth) + 2 * np.sin(azimuth)))
        assert bool(np.isfinite([*velocity, *off]).all()) is told
    tables = [frame(np.random.default_rng(k)) for k in range(4)]
    tables[2]["y"] = 0
    losses, said = Losses(), []
    clouds = replace(radar("r", 1, frames=4), read=shown(tables))
    series = {one.metric: one.value for one in radar_series(clouds, losses, said.append)}
    assert np.isnan(series["own speed"]).tolist() == [False, False, True, False]
    assert not losses
    (line,) = said
    assert line.startswith("note: r: 1 of 4 frames do not tell the radar's own speed")


def test_a_radar_is_known_though_its_first_clouds_are_empty_or_cannot_be_read():
    def read(index):
        if index == 0:
            raise SimjudgeError("cut off")
        return Cloud(np.zeros(0, [("x", "f4")]), where="empty") if index == 1 else radar("r", 1).read(index)

    assert is_radar(replace(radar("r", 1), read=read))


def test_frames_without_detections_count_as_none():
    series = radar_series(radar("r", 1, count=0, movers=0), Losses())
    assert series[0].value == pytest.approx(np.zeros(12))
    assert all(np.isnan(one.value).all() for one in series[1:])


def test_other_drivers_names_are_known():
    assert is_radar(radar("r", 1, speed="doppler"))
    assert not is_radar(replace(radar("r", 1), read=lidar_cloud))


def test_radars_are_compared_frame_by_frame():
    real, virtual = radar("real", 1), radar("sim", 2, rcs=6.0, count=90, movers=13)
    found = compare_by_objects(real, virtual, radar("again", 3), ObjectSettings(sensor="lidar"))
    rows = {row["metric"]: row for row in found.content()["rows"]}
    assert rows["rcs"]["difference"] == pytest.approx(6, abs=1)
    assert rows["detections"]["difference"] == 30
    assert rows["own speed"]["difference"] == pytest.approx(0, abs=0.05)
    assert object_pictures(found) == []


def test_a_radar_and_a_lidar_are_not_compared():
    lidar = replace(radar("sim", 1), read=lidar_cloud)
    with pytest.raises(SimjudgeError, match="real has detections of a radar, sim has not"):
        compare_by_objects(radar("real", 1), lidar, None, ObjectSettings(sensor="lidar"))
