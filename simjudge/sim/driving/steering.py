"""From a line to the pedals: a PID on the look-ahead point, and a speed that suits the line."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.sim.driving.centre_line import CentreLine

_LEAST_CURVATURE = 1e-6
"""1/m; a straighter line sets no limit to the speed."""
_LEAST_SQUARE = 1e-6
"""Square metres; a point at the car itself asks for no angle."""


@dataclass(frozen=True)
class PidGains:
    """Gains of a PID controller.

    Attributes:
        integral: output per unit of error and second.
        derivative: output per unit of error a second.
    """

    proportional: float
    integral: float = 0.0
    derivative: float = 0.0


class Pid:
    """A PID controller whose integral stops growing while its output is at a limit."""

    def __init__(self, gains: PidGains, low: float, high: float) -> None:
        """Start with no error."""
        self._gains, self._low, self._high = gains, low, high
        self._integral = 0.0
        self._last: float | None = None

    def __call__(self, error: float, seconds: float, forward: float = 0.0) -> float:
        """The output."""
        rate = (error - self._last) / seconds if self._last is not None and seconds > 0 else 0.0
        self._last = error
        integral = self._integral + error * seconds
        gains = self._gains
        unlimited = forward + gains.proportional * error + gains.integral * integral + gains.derivative * rate
        output = min(max(unlimited, self._low), self._high)
        if output == unlimited or (unlimited - output) * error < 0:
            self._integral = integral
        return output

    def reset(self) -> None:
        """Forget the integral and the last error."""
        self._integral, self._last = 0.0, None


@dataclass(frozen=True)
class SpeedController:
    """Sets the speed by the line ahead.

    Attributes:
        fastest: speed on a straight line that is known well, m/s.
        slowest: speed in the tightest curve, and while the line is not known, m/s.
        lateral_acceleration: largest in curves, m/s^2.
        deceleration: the car could stop with it where the known line ends, m/s^2.
    """

    fastest: float = 1.5
    slowest: float = 0.5
    lateral_acceleration: float = 1.2
    deceleration: float = 0.8

    def speed(self, line: CentreLine, horizon: float) -> float:
        """The speed for a line, m/s.

        Args:
            line: line in the car's frame.
            horizon: length of line ahead that counts, metres.
        """
        ahead = (line.distance >= 0) & (line.distance <= horizon)
        tightest = float(np.max(np.abs(line.curvature[ahead])))
        curve_speed = math.sqrt(self.lateral_acceleration / max(tightest, _LEAST_CURVATURE))
        stopping_speed = math.sqrt(2 * self.deceleration * max(line.support, 0.0))
        return min(max(min(curve_speed, stopping_speed), self.slowest), self.fastest)


@dataclass(frozen=True)
class LookAhead:
    """The point of the line that the car steers for.

    Attributes:
        metres: distance of the point at standstill, metres.
        seconds: time of driving that is added to it, seconds.
    """

    metres: float = 0.45
    seconds: float = 0.3

    def steering_angle(self, line: CentreLine, speed: float, wheelbase: float) -> float:
        """The steering angle whose circle leads through the point (pure pursuit).

        R. C. Coulter, "Implementation of the pure pursuit path tracking algorithm", CMU-RI-TR-92-01.

        Args:
            line: line in the car's frame.
            speed: the car's speed, m/s.
            wheelbase: the car's wheelbase, metres.

        Returns:
            The angle, radians, left positive.
        """
        x, y = line.at(self.metres + self.seconds * max(speed, 0.0))
        return math.atan(wheelbase * 2 * y / max(x * x + y * y, _LEAST_SQUARE))
