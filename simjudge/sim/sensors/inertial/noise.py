"""Noise of inertial sensors: white noise, and a bias that walks at random.

A reading is truth + eta_a + b_t with eta_a ~ N(mu_a, s_a^2), b_t = b_(t-1) + eta_b and
eta_b ~ N(mu_b, b0^2 dt / t_b), dt = 1 / rate, for each axis on its own. So the variance of the bias after a time t is
b0^2 t / t_b: b0 and t_b count only as b0 / sqrt(t_b), the random walk K of data sheets.

Source:
    Elmquist, Serban and Negrut, "A sensor simulation framework for training and testing robots and autonomous
    vehicles", Journal of Autonomous Vehicles and Systems 1 (2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray

Triple = tuple[float, float, float]
ZERO: Triple = (0.0, 0.0, 0.0)
FLATNESS = math.sqrt(2 * math.log(2) / math.pi)
"""Lowest Allan deviation of a flicker noise over its bias instability B: 0.664 (IEEE Std 952-1997, annex C.1.3)."""


@dataclass(frozen=True)
class NoiseModel:
    """Noise on three axes, in the sensor's unit.

    Attributes:
        mean: mu_a of each axis: a constant offset.
        bias_time: t_b of each axis, seconds.
        bias_mean: mu_b of each axis: what the bias gains at each reading.
    """

    mean: Triple = ZERO
    deviation: Triple = ZERO
    bias: Triple = ZERO
    bias_time: Triple = (1.0, 1.0, 1.0)
    bias_mean: Triple = ZERO

    def random_walk(self) -> FloatArray:
        """K of each axis, unit / sqrt(s): the bias has the variance K^2 t after the time t."""
        return np.array(self.bias) / np.sqrt(self.bias_time)

    def walks(self) -> bool:
        """Whether the bias changes."""
        return any(self.bias) or any(self.bias_mean)


QUIET = NoiseModel()
"""No noise at all."""


class NoiseSource:
    """Draws the noise of one sensor, reading after reading."""

    def __init__(self, model: NoiseModel, rate: float, seed: tuple[int, ...]) -> None:
        """Begin without bias.

        Args:
            rate: readings a second.
        """
        self._random = np.random.default_rng(seed)
        self._mean, self._deviation = np.array(model.mean), np.array(model.deviation)
        self._step_mean, self._step_deviation = np.array(model.bias_mean), model.random_walk() / math.sqrt(rate)
        self._bias = np.zeros(3)

    def draw(self, count: int) -> FloatArray:
        """Draw the noise of the next readings; one after the other gives the same numbers as all at once.

        Returns:
            float64 (count, 3).
        """
        normal = self._random.standard_normal((count, 2, 3))
        steps = np.concatenate([self._bias[None], self._step_mean + self._step_deviation * normal[:, 1]])
        bias = np.cumsum(steps, axis=0)[1:]
        if count:
            self._bias = bias[-1]
        noise: FloatArray = self._mean + self._deviation * normal[:, 0] + bias
        return noise


def walk_of_instability(lowest: FloatArray, density: FloatArray) -> FloatArray:
    """The random walk K that gives an Allan deviation with a certain minimum.

    White noise of density N and a random walk K have the Allan variance N^2 / tau + K^2 tau / 3, which is lowest at
    tau = sqrt(3) N / K and there is 2 N K / sqrt(3).

    Args:
        lowest: the lowest Allan deviation, which data sheets call (in-run) bias instability or stability.
        density: N, unit / sqrt(Hz), of the same shape, above 0 where `lowest` is.
    """
    out: FloatArray = math.sqrt(3) / 2 * lowest**2 / np.where(density > 0, density, 1.0)
    return out
