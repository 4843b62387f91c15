"""The track of a GPS receiver: metres against the radii of the ellipsoid, and what is no fix."""

import math

import numpy as np
import pytest
from bag_samples import SECOND
from drive_recordings import PLACE, START, fix, meridian_radius, write_drive

from simjudge.core.errors import Losses
from simjudge.data.rosbag2.recording import Recording
from simjudge.sim.sensors.recorded_readings import read_gps


def read(tmp_path, fixes):
    messages = [("/fix", START + k * SECOND, each) for k, each in enumerate(fixes)]
    losses = Losses()
    return read_gps(Recording(write_drive(tmp_path / "d.mcap", messages)), "/fix", losses), losses


def test_metres_are_those_of_the_ellipsoids_radii(tmp_path):
    step = 1e-6
    latitude = math.radians(PLACE[0])
    across = (6378137.0 / math.sqrt(1 - 0.00669437999014 * math.sin(latitude) ** 2) + PLACE[2]) * math.cos(latitude)
    moved = [fix(2, PLACE[0] + step), fix(3, PLACE[0], PLACE[1] + step), fix(4, PLACE[0], altitude=262.5)]
    fixes = [fix(1, *PLACE[:2]), *moved]
    track, losses = read(tmp_path, fixes)
    assert not losses
    degree = math.radians(step)
    wanted = [[0, 0, 0], [0, meridian_radius() * degree, 0], [across * degree, 0, 0], [0, 0, 2.5]]
    np.testing.assert_allclose(track.metres(), wanted, atol=1e-6)


def test_what_is_no_fix_is_counted(tmp_path):
    bad = [fix(2, PLACE[0], status=-1), fix(3, math.nan), fix(4, 91.0), fix(5, PLACE[0], math.inf)]
    track, losses = read(tmp_path, [fix(1, PLACE[0]), *bad, fix(6, PLACE[0], altitude=math.nan)])
    assert track.stamp.tolist() == [1, 6]
    assert track.place[1].tolist() == [PLACE[0], PLACE[1], 0.0]
    assert losses.counts == {"GPS messages without a fix": 1, "GPS messages whose numbers are no place": 3}


def test_about_another_track(tmp_path):
    track, _ = read(tmp_path, [fix(1, PLACE[0]), fix(2, PLACE[0] + 1e-5)])
    (tmp_path / "truth").mkdir()
    truth, _ = read(tmp_path / "truth", [fix(1, PLACE[0] + 1e-5)])
    np.testing.assert_allclose(truth.metres(track), track.metres()[1:], atol=1e-9)
    assert pytest.approx(meridian_radius() * math.radians(1e-5), rel=1e-6) == truth.metres(track)[0, 1]
