"""Gyroscopes, accelerometers, IMUs, GPS receivers, magnetometers and wheel encoders in a sensor file."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import model_validator

from simjudge.core.documents import Fields
from simjudge.core.field_types import Choice, Number, Vector, Whole, conflict
from simjudge.sim.sensors.inertial.noise import (
    ACCELERATION,
    FIELD,
    LENGTH,
    QUIET,
    TURN_RATE,
    ZERO,
    AxisNoiseFields,
    Dimension,
    Measure,
    MeasureType,
    NoiseModel,
    Triple,
)
from simjudge.sim.sensors.sensor_spec import Positive, SensorFields, SensorSpec

# Seconds: the window of what measures acceleration where the file does not say, or 1 / rate where that is shorter.
_USUAL_WINDOW = 0.01


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
    """A gyroscope and an accelerometer in one."""

    gyroscope: NoiseModel = QUIET  # noise of the turn rates, rad/s
    accelerometer: NoiseModel = QUIET  # noise of the accelerations, m/s^2


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


Wheel = Literal["front_left", "front_right", "rear_left", "rear_right"]
# In the order of `VehicleState.wheel_speeds`.
WHEELS: tuple[Wheel, ...] = ("front_left", "front_right", "rear_left", "rear_right")
Rows = tuple[Triple, Triple, Triple]
IDENTITY: Rows = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_MOST_TICKS = 10_000_000
_STRONGEST = 1e-3  # Tesla; more than ten times what earth and car have together
_Row = Annotated[Triple, Vector("x y z")]


@dataclass(frozen=True)
class GpsSpec(InertialSpec):
    """A GPS receiver; its noise is in metres east, north and up."""

    reference: Triple = ZERO  # longitude, latitude (degrees), altitude (m) of the world's origin; x is east, y is north


@dataclass(frozen=True)
class MagnetometerSpec(InertialSpec):
    """A compass of three axes, tesla."""

    # Of the earth, east, north, up, tesla; None: that of the World Magnetic Model at `reference` in `year`.
    field: Triple | None = None
    reference: Triple = ZERO  # longitude, latitude (degrees), altitude (m) of the world's origin
    year: float | None = None  # with its fraction, e.g. 2026.5; None where the field is given
    hard_iron: Triple = ZERO  # added in the sensor's axes, tesla
    soft_iron: Rows = IDENTITY  # rows of the matrix that turns and stretches the field in the sensor's axes


@dataclass(frozen=True)
class EncodersSpec(SensorSpec):
    """Encoders of the wheels."""

    wheels: tuple[Wheel, ...] = WHEELS  # those that have one, in the order of their ticks
    ticks: int = 1024  # of one turn of an encoder
    gear: float = 1.0  # turns of the encoder in one turn of the wheel
    # Mean and standard deviation of the share by which a wheel turns more than it rolls, drawn for each wheel and
    # reading.
    slip: tuple[float, float] = (0.0, 0.0)
    wheel_radius: float | None = None  # metres, as the odometry has it; None: the car's
    track: float | None = None  # metres between left and right wheels, as the odometry has it; None: the car's


class _GeoreferencedFields(OneNoiseFields):
    """What sensors have that know where on Earth they are."""

    reference: Annotated[Triple, Vector("longitude latitude altitude")] = ZERO
    """Longitude and latitude, degrees, and altitude, m, of the world's origin; x is east, y is north."""

    @model_validator(mode="after")
    def _check_reference(self) -> _GeoreferencedFields:
        longitude, latitude, altitude = self.reference
        if not (abs(longitude) <= 180 and abs(latitude) <= 90 and abs(altitude) <= 1e6):
            message = "longitude from -180 to 180, latitude from -90 to 90 and an altitude in metres are needed"
            raise conflict(f"{message}; this is {list(self.reference)}", "reference")
        return self


class GpsFields(_GeoreferencedFields):
    """A GPS receiver; its noise is in metres east, north and up."""

    kind: Literal["gps"]

    def dimension(self) -> Dimension:
        """Metres."""
        return LENGTH

    def spec(self, name: str) -> GpsSpec:
        """The sensor."""
        noise = self.noise.model(self.rate, LENGTH)
        return GpsSpec(**self.common(name), noise=noise, reference=self.reference)


class MagnetometerFields(_GeoreferencedFields):
    """A compass of three axes, tesla; the earth's field is given, or follows from reference and year."""

    kind: Literal["magnetometer"]
    field: Annotated[Measure, MeasureType(negative=True)] | None = None
    """The earth's field [east, north, up], tesla or with a unit."""
    year: Annotated[float, Number(ge=1900, le=2100)] | None = None
    """With its fraction, e.g. 2026.5: the field is that of the World Magnetic Model at the reference."""
    hard_iron: Annotated[Measure, MeasureType(negative=True)] = Measure(ZERO)
    """What magnets on the car add, in the sensor's axes."""
    soft_iron: tuple[_Row, _Row, _Row] | None = None
    """Three rows of the matrix that iron on the car applies to the field, in the sensor's axes."""

    def dimension(self) -> Dimension:
        """Tesla."""
        return FIELD

    @model_validator(mode="after")
    def _check_field(self) -> MagnetometerFields:
        if self.field is not None and self.year is not None:
            raise conflict("stands beside a field; remove one of the two", "year")
        if self.year is not None and "reference" not in self.model_fields_set:
            raise conflict("the model of the earth's field needs a reference: [longitude, latitude, altitude]", "year")
        if self.source == "simjudge" and self.field is None and self.year is None:
            raise conflict("the earth's field [east, north, up] is needed, or reference and year in its place", "field")
        self._tesla("field")
        self._tesla("hard_iron")
        return self

    def _tesla(self, name: str) -> Triple | None:
        given: Measure | None = getattr(self, name)
        found = None if given is None else given.si(FIELD.base, name)
        if found is not None and math.hypot(*found) > _STRONGEST:
            raise conflict(
                f"is {math.hypot(*found):.3g} T, and the earth's field is 25 to 65 uT; give the unit, as in"
                " [1 uT, 20 uT, -44 uT]",
                name,
            )
        return found

    def spec(self, name: str) -> MagnetometerSpec:
        """The sensor."""
        return MagnetometerSpec(
            **self.common(name),
            noise=self.noise.model(self.rate, FIELD),
            field=self._tesla("field"),
            reference=self.reference,
            year=self.year,
            hard_iron=self._tesla("hard_iron") or ZERO,
            soft_iron=self.soft_iron or IDENTITY,
        )


class SlipFields(Fields):
    """By which share a wheel turns more than it rolls; drawn for each wheel and reading."""

    mean: Annotated[float, Number(gt=-1, lt=1)] = 0.0
    """0.02: the wheel turns 2 % more than the way it rolls."""
    deviation: Annotated[float, Number(ge=0, lt=1)] = 0.0
    """Standard deviation."""


class EncodersFields(SensorFields):
    """Encoders of the wheels: ticks of each since the start; the odometry is integrated from them."""

    kind: Literal["encoders"]
    wheels: tuple[Annotated[Wheel, Choice()], ...] = WHEELS
    """Wheels that have an encoder; the odometry needs both rear ones."""
    ticks: Annotated[int, Whole(1, _MOST_TICKS)]
    """Of one turn of an encoder."""
    gear: Positive = 1.0
    """Turns of the encoder in one turn of the wheel."""
    slip: SlipFields = SlipFields()
    """By which share a wheel turns more than it rolls."""
    wheel_radius: Positive | None = None
    """Metres, as the odometry has it; the car's, if left out."""
    track: Positive | None = None
    """Metres between left and right wheels, as the odometry has it; the car's, if left out."""

    @model_validator(mode="after")
    def _check_wheels(self) -> EncodersFields:
        if "mount" in self.model_fields_set:
            raise conflict("encoders sit on the wheels; remove it", "mount")
        if self.window:
            raise conflict("encoders count, they do not average; remove it", "window")
        if not self.wheels or len(set(self.wheels)) < len(self.wheels):
            raise conflict("a list of wheels is needed, each once", "wheels")
        if self.source == "chrono":
            raise conflict("Chrono has no encoders; remove it", "source")
        return self

    def reading_size(self) -> int:
        """A number for each wheel."""
        return len(self.wheels)

    def spec(self, name: str) -> EncodersSpec:
        """The sensor."""
        return EncodersSpec(
            **self.common(name),
            wheels=self.wheels,
            ticks=self.ticks,
            gear=self.gear,
            slip=(self.slip.mean, self.slip.deviation),
            wheel_radius=self.wheel_radius,
            track=self.track,
        )
