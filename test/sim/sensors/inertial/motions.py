"""Motions with known formulas."""

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.sim.sensors.inertial.motion import Motion

STEP = 1_000_000


def times(seconds, step=STEP):
    return np.arange(round(seconds * 1e9) // step + 1, dtype=np.int64) * step


def along(seconds, position, velocity, acceleration, *, derive=False, step=STEP, yaw=0.0):
    """A body that does not turn and moves along x by functions of time."""
    stamp = times(seconds, step)
    t = stamp * 1e-9
    count = len(t)
    x = [
        np.stack([np.broadcast_to(f(t), t.shape), np.zeros(count), np.zeros(count)], -1)
        for f in (position, velocity, acceleration)
    ]
    turn = np.tile(Rotation.from_euler("z", yaw).as_quat(), (count, 1))
    rest = (None, None) if derive else (x[2], np.zeros((count, 3)))
    return Motion(stamp, x[0], turn, x[1], np.zeros((count, 3)), *rest)


def circle(seconds, radius, speed, *, derive=False, step=STEP):
    """A car that turns left on a circle about the origin, x ahead."""
    stamp = times(seconds, step)
    rate = speed / radius
    angle = rate * stamp * 1e-9
    zero = np.zeros_like(angle)
    position = radius * np.stack([np.cos(angle), np.sin(angle), zero], -1)
    velocity = speed * np.stack([-np.sin(angle), np.cos(angle), zero], -1)
    turn = Rotation.from_rotvec((angle + np.pi / 2)[:, None] * [0.0, 0.0, 1.0]).as_quat()
    rates = np.tile([0.0, 0.0, rate], (len(stamp), 1))
    rest = (None, None) if derive else (-(rate**2) * position, np.zeros((len(stamp), 3)))
    return Motion(stamp, position, turn, velocity, rates, *rest)


def tumble(seconds, seed=0, *, derive=False):
    """A body that is thrown about smoothly: sums of sines in place and in rotation vector."""
    rng = np.random.default_rng(seed)
    stamp = times(seconds)
    t = (stamp * 1e-9)[:, None]
    way, frequency, phase = rng.normal(size=3), rng.uniform(1, 6, 3), rng.uniform(0, 6, 3)
    axis, rate = np.array([0.36, 0.48, 0.8]), 2.5
    angle, speed, jerk = 0.7 * np.sin(rate * t), 0.7 * rate * np.cos(rate * t), -0.7 * rate**2 * np.sin(rate * t)
    position = way * np.sin(frequency * t + phase)
    velocity = way * frequency * np.cos(frequency * t + phase)
    rest = (None, None) if derive else (-(frequency**2) * position, jerk * axis)
    return Motion(stamp, position, Rotation.from_rotvec(angle * axis).as_quat(), velocity, speed * axis, *rest)
