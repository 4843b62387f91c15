"""Made drives around a stadium: two straights of 4 m and two half circles of 3 m."""

import csv

import numpy as np
from scipy.ndimage import gaussian_filter1d

from simjudge.data.drive_logs import COLUMNS, DriveLog

RADIUS, STRAIGHT = 3.0, 4.0
LAP = 2 * np.pi * RADIUS + 2 * STRAIGHT


def stadium(along):
    """x, y and heading on the line, `along` metres from its start."""
    along = along % LAP
    bend, half = np.pi * RADIUS, LAP / 2
    back = along >= half
    part = np.where(back, along - half, along)
    angle = np.maximum(part - STRAIGHT, 0) / RADIUS
    x = np.where(part < STRAIGHT, part, STRAIGHT + RADIUS * np.sin(angle))
    y = np.where(part < STRAIGHT, 0.0, RADIUS - RADIUS * np.cos(angle))
    assert bend > 0
    x, y = np.where(back, STRAIGHT - x, x), np.where(back, 2 * RADIUS - y, y)
    return x, y, angle + np.pi * back


def made_drive(seed=0, *, bias=0.0, speed=1.0, laps=1.05, noise=0.03, weave=0.1):
    """A drive that weaves around the line, `bias` metres to its left."""
    random = np.random.default_rng(seed)
    time = np.arange(0, laps * LAP / speed, 0.05)
    fast = speed + noise * 8 * gaussian_filter1d(random.normal(size=len(time)), 20)
    along = np.cumsum(fast * 0.05)
    aside = bias + noise * 8 * gaussian_filter1d(random.normal(size=len(time)), 20)
    x, y, heading = stadium(along)
    position = np.stack([x - aside * np.sin(heading), y + aside * np.cos(heading)], 1)
    yaw = np.unwrap(heading) + np.arctan(np.gradient(aside, along))
    steering = weave * 5 * gaussian_filter1d(random.normal(size=len(time)), 5)
    return DriveLog(f"drive_{seed}", time, position, yaw, fast, steering, np.full(len(time), 0.5))


def write_csv(path, drive, columns=COLUMNS):
    values = {
        "time": drive.time,
        "x": drive.position[:, 0],
        "y": drive.position[:, 1],
        "yaw": drive.yaw,
        "speed": drive.speed,
        "steering": drive.steering,
        "throttle": drive.throttle,
    }
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*([repr(float(v)) for v in values[name]] for name in columns), strict=True))
    return path
