"""Rain and spray: how much light they take away, and the streaks that falling drops draw into a picture.

Rain of R mm/h has N(D) = 8000 exp(-4.1 R^-0.21 D) drops a cubic metre and millimetre of their diameter D (Marshall and
Palmer, 1948), which fall at 9.65 - 10.3 exp(-0.6 D) m/s (Atlas, Srivastava and Sekhon, 1973, after Gunn and Kinzer,
1949). A drop takes twice its own section out of a beam, so that

    beta = 2 (pi / 4) integral of N(D) D^2 dD = 3.65e-4 R^0.63  1/m.

Goodin, Carruth, Doude and Hudson ("Predicting the influence of rain on LIDAR in ADAS", Electronics 8(1):89, 2019) take
0.01 R^0.6 1/m for lidars, 27 times as much; both stand here by name.

A drop of which a picture sees an image of w pixels, and which moves on while light is gathered, covers each pixel of
its way for a share of the exposure; the shares add up to pi w^2 / 4 pixels, however far it moves (Garg and Nayar,
"Vision and rain", 2007). What is covered shows the light of the air, since a drop gathers light from nearly everywhere.

Spray is a cloud of the extinction beta exp(-q / 2), q = sum of ((x - centre) / size)^2 over the three axes: a normal
plume, whose integral along a ray is an error function. Its shape, and that it stands still before the sensor, are
chosen here. Of its drops: Rasshofer, Spies and Spies, 2011, have 100 drops a cubic centimetre with r^6 exp(-6 r / Rc),
Rc 2 to 4 um, which is 0.0039 to 0.016 1/m; a lorry's spray nearby is thicker.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erf

from simjudge.core.arrays import FloatArray
from simjudge.core.numba_cache import njit

_DROPS = 8000.0  # N0 of Marshall and Palmer, 1 / (m^3 mm)
_HEAVIEST = 300.0  # mm/h: beyond, nobody has measured drops
_FASTEST = 9.65  # m/s, of the largest drops


def drop_slope(rate: float) -> float:
    """Lambda of Marshall and Palmer, 1/mm, of a rate above 0."""
    return 4.1 * math.pow(rate, -0.21)


def fall_speed(diameter: FloatArray) -> FloatArray:
    """How fast drops fall, m/s; diameter in millimetres."""
    speed: FloatArray = np.maximum(_FASTEST - 10.3 * np.exp(-0.6 * diameter), 0.0)
    return speed


def section(rate: float) -> float:
    """The sections of all drops in a cubic metre of rain, 1/m: half of what they take from a beam."""
    return math.pi / 4 * _DROPS * 2 / drop_slope(rate) ** 3 * 1e-6 if rate else 0.0


def rain_extinction(rate: float, law: str = "marshall_palmer") -> float:
    """The extinction coefficient of rain, 1/m, by the law `marshall_palmer` or `goodin`; rate in mm/h."""
    return 0.01 * math.pow(rate, 0.6) if law == "goodin" else 2 * section(rate)


def rate_problem(rate: float) -> str:
    """What is wrong with a rate of rain; "" for nothing."""
    return "" if 0 <= rate <= _HEAVIEST else f"rain: rate {rate} mm/h; it must be in 0..{_HEAVIEST:g}"


@dataclass(frozen=True)
class RainView:
    """How a camera sees drops: as a pinhole of its focal length does."""

    size: tuple[int, int]  # height, width, pixels
    focal: float  # pixels
    near: float  # metres ahead, from which on drops are drawn one by one
    far: float  # metres ahead, to which they are

    def volume(self, margin: int = 0) -> float:
        """Cubic metres in view between near and far, with a margin of pixels on each side."""
        height, width = self.size
        area = (height + 2 * margin) * (width + 2 * margin) / self.focal**2
        return area * (self.far**3 - self.near**3) / 3


def expected_drops(rate: float, view: RainView, exposure: float, velocity: tuple[float, float]) -> float:
    """How many drops `streaks` draws on average: those that may come into view while light is gathered."""
    return _DROPS / drop_slope(rate) * view.volume(_margin(view, exposure, velocity))


def _margin(view: RainView, exposure: float, velocity: tuple[float, float]) -> int:
    """Pixels beside the picture from which a drop may come into it."""
    return math.ceil(math.hypot(_FASTEST, *velocity) * exposure * view.focal / view.near / 2) + 2


def streaks(
    rate: float,
    view: RainView,
    exposure: float,
    velocity: tuple[float, float],
    distance: FloatArray,
    seed: tuple[int, ...],
) -> FloatArray:
    """The share of the exposure for which drops cover each pixel: (H, W), 0 to 1.

    `velocity`: of the air to the right and towards the camera, m/s; `distance` (H, W): metres to what pixels see, which
    hides the drops behind it.
    """
    random = np.random.default_rng(seed)
    margin = _margin(view, exposure, velocity)
    count = int(random.poisson(expected_drops(rate, view, exposure, velocity)))
    diameter = random.exponential(1 / drop_slope(rate), count)
    ahead = np.cbrt(random.uniform(view.near**3, view.far**3, count))
    height, width = view.size
    column = random.uniform(-margin, width + margin, count)
    row = random.uniform(-margin, height + margin, count)
    covered = np.zeros(view.size)
    moved = (velocity[0] * exposure, velocity[1] * exposure)
    fallen = fall_speed(diameter) * exposure
    _draw(covered, distance, column, row, ahead, diameter * 1e-3, fallen, moved, view.focal)
    return np.minimum(covered, 1.0)


@njit(cache=True, nogil=True)
def _draw(covered, distance, column, row, ahead, diameter, fallen, moved, focal):  # type: ignore[no-untyped-def]
    """Add what each drop covers; a drop is in the middle of its way at (column, row)."""
    height, width = covered.shape
    middle_x, middle_y = width / 2, height / 2
    for n in range(len(ahead)):
        x, y, z = (column[n] - middle_x) * ahead[n] / focal, (row[n] - middle_y) * ahead[n] / focal, ahead[n]
        wide = diameter[n] * focal / z
        ways = (abs(moved[0]) + fallen[n] + abs(moved[1]) * (abs(x) + abs(y)) / z) * focal / z
        steps = int(ways) + 1
        across = int(wide) + 1  # points a pixel apart at most leave no hole
        inside = 0
        for i in range(across):
            for j in range(across):
                inside += _within(i, j, across)
        share = math.pi / 4 * wide * wide / (steps * inside)
        for step in range(steps):
            part = (step + 0.5) / steps - 0.5
            depth = z - part * moved[1]
            if depth <= 0.05:
                continue
            u = (x + part * moved[0]) * focal / depth + middle_x
            v = (y + part * fallen[n]) * focal / depth + middle_y
            for i in range(across):
                for j in range(across):
                    if not _within(i, j, across):
                        continue
                    _add(
                        covered,
                        distance,
                        u + ((i + 0.5) / across - 0.5) * wide,
                        v + ((j + 0.5) / across - 0.5) * wide,
                        share,
                        depth,
                    )


@njit(cache=True, nogil=True)
def _within(i, j, across):  # type: ignore[no-untyped-def]
    """Whether a cell's middle is within the disc."""
    x, y = (i + 0.5) / across - 0.5, (j + 0.5) / across - 0.5
    return x * x + y * y <= 0.25


@njit(cache=True, nogil=True)
def _add(covered, distance, u, v, share, depth):  # type: ignore[no-untyped-def]
    """Share a point's cover among the four pixels around it."""
    left, top = math.floor(u - 0.5), math.floor(v - 0.5)
    right, down = u - 0.5 - left, v - 0.5 - top
    for dy in range(2):
        for dx in range(2):
            r, c = top + dy, left + dx
            if 0 <= r < covered.shape[0] and 0 <= c < covered.shape[1] and depth < distance[r, c]:
                covered[r, c] += share * (right if dx else 1 - right) * (down if dy else 1 - down)


@dataclass(frozen=True)
class Spray:
    """A plume of spray that stands before a sensor."""

    density: float  # extinction coefficient in its middle, 1/m
    position: tuple[float, float, float]  # of its middle: x ahead, y left, z up, metres
    size: tuple[float, float, float]  # standard deviations along these axes, metres

    def __post_init__(self) -> None:
        if not (0 <= self.density < math.inf and np.isfinite(self.position).all()):
            raise ValueError(f"spray: density {self.density}, position {self.position}: finite, density 0 or more")
        if not all(0 < size < math.inf for size in self.size):
            raise ValueError(f"spray: size {self.size}: above 0 each")

    def at(self, directions: FloatArray, distance: FloatArray) -> FloatArray:
        """The extinction coefficient on unit rays (..., 3) from the sensor, after distances (...)."""
        away = (directions * distance[..., None] - np.array(self.position)) / np.array(self.size)
        found: FloatArray = self.density * np.exp(-0.5 * (away**2).sum(-1))
        return found

    def depth(self, directions: FloatArray, distance: FloatArray) -> FloatArray:
        """The optical depth from the sensor to distances (...) on unit rays (..., 3); distances may be infinite."""
        along, middle = directions / np.array(self.size), np.array(self.position) / np.array(self.size)
        a, b = (along**2).sum(-1), along @ middle
        # (along r - middle)^2 = a (r - b / a)^2 + |middle|^2 - b^2 / a
        aside = np.maximum((middle**2).sum() - b**2 / a, 0.0)
        root = np.sqrt(a / 2)
        span = erf(root * (distance - b / a)) + erf(root * b / a)
        found: FloatArray = self.density * np.exp(-0.5 * aside) * np.sqrt(math.pi / (2 * a)) * span
        return found
