"""Gyroscopes, accelerometers and IMUs in a sensor file."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

from pydantic import model_validator

from simjudge.core.documents import Fields
from simjudge.sim.sensors.inertial.noise import QUIET, NoiseModel, Triple
from simjudge.sim.sensors.inertial.noise_fields import ACCELERATION, TURN_RATE, AxisNoiseFields, Dimension
from simjudge.sim.sensors.sensor_fields import SensorFields
from simjudge.sim.sensors.sensor_spec import SensorSpec

_USUAL_WINDOW = 0.01
"""Seconds: the window of what measures acceleration where the file does not say, or 1 / rate where that is shorter."""


@dataclass(frozen=True)
class InertialSpec(SensorSpec):
    """A gyroscope (rad/s) or an accelerometer (m/s^2)."""

    noise: NoiseModel = QUIET

    @property
    def deviation(self) -> Triple:
        """White noise of each axis, for the covariance of messages."""
        return self.noise.deviation


@dataclass(frozen=True)
class ImuSpec(SensorSpec):
    """A gyroscope and an accelerometer in one.

    Attributes:
        gyroscope: noise of the turn rates, rad/s.
        accelerometer: noise of the accelerations, m/s^2.
    """

    gyroscope: NoiseModel = QUIET
    accelerometer: NoiseModel = QUIET


class OneNoiseFields(SensorFields):
    """What sensors have that measure one thing."""

    noise: AxisNoiseFields = AxisNoiseFields()
    """Noise on every reading."""

    @model_validator(mode="after")
    def _check_noise(self) -> OneNoiseFields:
        self.noise.model(self.rate, self.dimension())
        return self

    @abstractmethod
    def dimension(self) -> Dimension:
        """What it measures."""

    def reading_size(self) -> int:
        """Three axes."""
        return 3

    def spec(self, name: str) -> InertialSpec:
        """The sensor."""
        return InertialSpec(**self.common(name), noise=self.noise.model(self.rate, self.dimension()))


class GyroscopeFields(OneNoiseFields):
    """Turn rates about three axes, rad/s."""

    kind: Literal["gyroscope"]

    def dimension(self) -> Dimension:
        """Turn rate."""
        return TURN_RATE


class AccelerometerFields(OneNoiseFields):
    """Accelerations along three axes, gravity's reaction included, m/s^2; window 0.01 s (or 1 / rate) if left out."""

    kind: Literal["accelerometer"]

    def dimension(self) -> Dimension:
        """Acceleration."""
        return ACCELERATION

    def default_window(self) -> float:
        """0.01 s, or 1 / rate."""
        return min(1 / self.rate, _USUAL_WINDOW)


class ImuNoiseFields(Fields):
    """Noise of both parts of an IMU."""

    gyroscope: AxisNoiseFields = AxisNoiseFields()
    """Of the turn rates."""
    accelerometer: AxisNoiseFields = AxisNoiseFields()
    """Of the accelerations."""


class ImuFields(SensorFields):
    """A gyroscope and an accelerometer in one: turn rates x, y, z, then accelerations x, y, z."""

    kind: Literal["imu"]
    noise: ImuNoiseFields = ImuNoiseFields()
    """Noise on every reading."""

    @model_validator(mode="after")
    def _check_noise(self) -> ImuFields:
        self._models()
        return self

    def _models(self) -> tuple[NoiseModel, NoiseModel]:
        noise = self.noise
        return (
            noise.gyroscope.model(self.rate, TURN_RATE, "gyroscope"),
            noise.accelerometer.model(self.rate, ACCELERATION, "accelerometer"),
        )

    def reading_size(self) -> int:
        """Two times three axes."""
        return 6

    def default_window(self) -> float:
        """0.01 s, or 1 / rate."""
        return min(1 / self.rate, _USUAL_WINDOW)

    def spec(self, name: str) -> ImuSpec:
        """The sensor."""
        gyroscope, accelerometer = self._models()
        return ImuSpec(**self.common(name), gyroscope=gyroscope, accelerometer=accelerometer)
