"""From a line to the pedals: a PID on the look-ahead point, and a speed that suits the line."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.driving.centre_line import CentreLine


@dataclass(frozen=True)
class PidGains:
    """Of a PID: share of the output per unit of error, per unit and second, and per unit a second."""

    proportional: float
    integral: float = 0.0
    derivative: float = 0.0


class Pid:
    """A PID controller whose integral stops growing while its output is at a limit."""

    def __init__(self, gains: PidGains, low: float, high: float) -> None:
        """Start with no error.

        Args:
            gains: of the three parts.
            low, high: limits of the output.
        """
        self._gains, self._low, self._high = gains, low, high
        self._sum = 0.0
        self._last: float | None = None

    def __call__(self, error: float, seconds: float, forward: float = 0.0) -> float:
        """The output.

        Args:
            error: what is wanted less what is.
            seconds: since the last call; 0 for the first.
            forward: what is added whatever the error.
        """
        rate = (error - self._last) / seconds if self._last is not None and seconds > 0 else 0.0
        self._last = error
        grown = self._sum + error * seconds
        gains = self._gains
        wanted = forward + gains.proportional * error + gains.integral * grown + gains.derivative * rate
        out = min(max(wanted, self._low), self._high)
        if out == wanted or (wanted - out) * error < 0:
            self._sum = grown
        return out

    def reset(self) -> None:
        """Forget what was."""
        self._sum, self._last = 0.0, None


@dataclass(frozen=True)
class SpeedController:
    """How fast to go.

    Attributes:
        fastest: m/s, on a straight line that is known well.
        slowest: m/s, in the tightest curve, and while the way is not known.
        sideways: m/s^2 that curves may ask for.
        slowing: m/s^2, so that it could stop where the known line ends.
    """

    fastest: float = 1.5
    slowest: float = 0.5
    sideways: float = 1.2
    slowing: float = 0.8

    def speed(self, line: CentreLine, horizon: float) -> float:
        """The speed for a line, m/s.

        Args:
            line: in the car's frame.
            horizon: metres of line that are looked at.
        """
        ahead = (line.way >= 0) & (line.way <= horizon)
        tightest = float(np.max(np.abs(line.curvature[ahead])))
        curve = math.sqrt(self.sideways / max(tightest, 1e-6))
        known = math.sqrt(2 * self.slowing * max(line.support, 0.0))
        return min(max(min(curve, known), self.slowest), self.fastest)


@dataclass(frozen=True)
class LookAhead:
    """Where to steer for: the point of the line so many metres, and so many seconds of driving, ahead."""

    metres: float = 0.45
    seconds: float = 0.3

    def wanted_angle(self, line: CentreLine, speed: float, wheelbase: float) -> float:
        """The steering angle, radians, left positive, whose circle leads through the point (pure pursuit).

        R. C. Coulter, "Implementation of the pure pursuit path tracking algorithm", CMU-RI-TR-92-01.
        """
        x, y = line.at(self.metres + self.seconds * max(speed, 0.0))
        return math.atan(wheelbase * 2 * y / max(x * x + y * y, 1e-6))
