"""IMUs, GPS receivers, magnetometers and encoders in a sensor file, and the noise of inertial sensors.

A reading is truth + eta_a + b_t with eta_a ~ N(mu_a, s_a^2), b_t = b_(t-1) + eta_b and
eta_b ~ N(mu_b, b0^2 dt / t_b), dt = 1 / rate, for each axis on its own. So the variance of the bias after a time t is
b0^2 t / t_b: b0 and t_b count only as b0 / sqrt(t_b), the random walk K of data sheets.

Source:
    Elmquist, Serban and Negrut, "A sensor simulation framework for training and testing robots and autonomous
    vehicles", Journal of Autonomous Vehicles and Systems 1 (2021).
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import model_validator
from pydantic.json_schema import JsonSchemaValue

from simjudge.core.arrays import FloatArray
from simjudge.core.documents import Fields
from simjudge.core.field_types import Choice, FieldType, Number, Vector, Whole, conflict, is_number, refusal
from simjudge.core.text import nearest_name, parse_number
from simjudge.sim.sensors.sensor_spec import Positive, SensorFields, SensorSpec

Triple = tuple[float, float, float]
ZERO: Triple = (0.0, 0.0, 0.0)
# Lowest Allan deviation of a flicker noise over its bias instability B: 0.664 (IEEE Std 952-1997, annex C.1.3).
FLATNESS = math.sqrt(2 * math.log(2) / math.pi)


@dataclass(frozen=True)
class NoiseModel:
    """Noise on three axes, in the sensor's unit."""

    mean: Triple = ZERO  # mu_a of each axis: a constant offset
    deviation: Triple = ZERO
    bias: Triple = ZERO
    bias_time: Triple = (1.0, 1.0, 1.0)  # t_b of each axis, seconds
    bias_mean: Triple = ZERO  # mu_b of each axis: what the bias gains at each reading

    def random_walk(self) -> FloatArray:
        """K of each axis, unit / sqrt(s): the bias has the variance K^2 t after the time t."""
        return np.array(self.bias) / np.sqrt(self.bias_time)

    def walks(self) -> bool:
        """Whether the bias changes."""
        return any(self.bias) or any(self.bias_mean)


QUIET = NoiseModel()  # No noise at all


class NoiseSource:
    """Draws the noise of one sensor, reading after reading."""

    def __init__(self, model: NoiseModel, rate: float, seed: tuple[int, ...]) -> None:
        """Begin without bias (rate: readings a second)."""
        self._random = np.random.default_rng(seed)
        self._mean, self._deviation = np.array(model.mean), np.array(model.deviation)
        self._step_mean, self._step_deviation = np.array(model.bias_mean), model.random_walk() / math.sqrt(rate)
        self._bias = np.zeros(3)

    def draw(self, count: int) -> FloatArray:
        """Draw the noise of the next readings, (count, 3); one after the other gives the numbers of all at once."""
        normal = self._random.standard_normal((count, 2, 3))
        steps = np.concatenate([self._bias[None], self._step_mean + self._step_deviation * normal[:, 1]])
        bias = np.cumsum(steps, axis=0)[1:]
        if count:
            self._bias = bias[-1]
        noise: FloatArray = self._mean + self._deviation * normal[:, 0] + bias
        return noise


def walk_of_instability(lowest: FloatArray, density: FloatArray) -> FloatArray:
    """The random walk K that gives an Allan deviation with a certain minimum.

    White noise of density N and a random walk K have the Allan variance N^2 / tau + K^2 tau / 3, which is lowest at tau
    = sqrt(3) N / K and there is 2 N K / sqrt(3).
    """
    out: FloatArray = math.sqrt(3) / 2 * lowest**2 / np.where(density > 0, density, 1.0)
    return out


STANDARD_GRAVITY = 9.80665  # m/s^2: what data sheets mean by g
_TIME = {"s": 1.0, "min": 60.0, "h": 3600.0}
_LARGEST = 1e12  # No figure of a data sheet is larger, whatever its unit
_DEGREE = math.pi / 180
_HOUR = 3600.0
# How units are also written, and how they are called here.
_WRITTEN = {r"√\(?(\w+)\)?": r"sqrt(\1)", "°": "deg", "[µμ]": "u", "²": "^2", " ": "", r"\bhr\b": "h"}


@dataclass(frozen=True)
class Dimension:
    """What a sensor measures."""

    base: Mapping[str, float]  # its units, in SI units; the SI unit comes first
    # Units of its integral over time, in which data sheets state random walks per root hour.
    integral: Mapping[str, float]

    def density(self) -> dict[str, float]:
        """Units of a noise density."""
        units = {f"{unit}/sqrt(Hz)": factor for unit, factor in self.base.items()}
        return units | {f"{unit}/sqrt(h)": factor / math.sqrt(_HOUR) for unit, factor in self.integral.items()}

    def walk(self) -> dict[str, float]:
        """Units of a random walk of the bias."""
        units = {f"{unit}/sqrt(s)": factor for unit, factor in self.base.items()}
        units |= {f"{unit}/s/sqrt(Hz)": factor for unit, factor in self.base.items()}
        return units | {f"{unit}/sqrt(h)": factor / math.sqrt(_HOUR) for unit, factor in self.base.items()}


TURN_RATE = Dimension(
    {"rad/s": 1.0, "deg/s": _DEGREE, "dps": _DEGREE, "mdps": _DEGREE * 1e-3, "deg/h": _DEGREE / _HOUR},
    {"rad": 1.0, "deg": _DEGREE},
)
ACCELERATION = Dimension(
    {"m/s^2": 1.0, "g": STANDARD_GRAVITY, "mg": STANDARD_GRAVITY * 1e-3, "ug": STANDARD_GRAVITY * 1e-6}, {"m/s": 1.0}
)
FIELD = Dimension({"T": 1.0, "uT": 1e-6, "nT": 1e-9, "G": 1e-4, "mG": 1e-7, "uG": 1e-10}, {})
LENGTH = Dimension({"m": 1.0, "cm": 1e-2, "mm": 1e-3}, {})


@dataclass(frozen=True)
class Measure:
    """A number for each axis, with the unit that the file gives."""

    values: Triple
    unit: str = ""  # as it is written; empty for the SI unit

    def si(self, units: Mapping[str, float], *at: str) -> Triple:
        """The numbers in SI units (units: the units there are, with what they are in SI units)."""
        plain = self.unit
        for written, usual in _WRITTEN.items():
            plain = re.sub(written, usual, plain)
        if plain and plain not in units:
            raise conflict(f"there is no unit {self.unit!r} here{nearest_name(plain, units)}", *at)
        x, y, z = (value * (units[plain] if plain else 1.0) for value in self.values)
        return x, y, z


class MeasureType(FieldType):
    """A number, three of them, or a text with a unit: 0.01, [0.1, 0.1, 0.2], "175 ug/sqrt(Hz)"."""

    def __init__(self, *, negative: bool = False) -> None:
        self._negative = negative

    @property
    def needed(self) -> str:
        """The phrase."""
        sign = "" if self._negative else " of 0 or more"
        return f'a number{sign}, [x, y, z], or one with its unit ("175 ug/sqrt(Hz)")'

    def _read(self, value: Any) -> Any:
        if isinstance(value, Measure):
            return value
        parts = [self._one(part) for part in (value if isinstance(value, list | tuple) else [value] * 3)]
        if len(parts) != 3 or len({unit for _, unit in parts}) > 1:
            raise refusal(self.needed)
        x, y, z = (number for number, _ in parts)
        return Measure((x, y, z), parts[0][1])

    def _one(self, value: Any) -> tuple[float, str]:
        unit = ""
        if isinstance(value, str):
            found = re.fullmatch(r"\s*([-+0-9.eE]+)\s*(\S.*?)?\s*", value)
            value, unit = (parse_number(found[1]), found[2] or "") if found else (None, "")
        if not is_number(value, _LARGEST) or (value < 0 and not self._negative):
            raise refusal(self.needed)
        return float(value), unit

    def schema(self) -> JsonSchemaValue:
        """A number or a text, or three."""
        number: dict[str, object] = {"type": "number"} if self._negative else {"type": "number", "minimum": 0}
        one = {"anyOf": [number, {"type": "string", "pattern": r"^\s*[-+0-9.eE]+"}]}
        return {"anyOf": [*one["anyOf"], {"type": "array", "items": one, "minItems": 3, "maxItems": 3}]}


SomeMeasure = Annotated[Measure, MeasureType()]


class BiasFields(Fields):
    """A bias that walks at random: after a time t its variance is deviation^2 t / time."""

    deviation: SomeMeasure
    """B0, in the sensor's unit."""
    time: SomeMeasure
    """T_b, seconds, above 0."""
    mean: Annotated[Measure, MeasureType(negative=True)] = Measure(ZERO)
    """What the bias gains at each reading."""


class AxisNoiseFields(Fields):
    """Noise on every reading, seeded; one number for all axes, or [x, y, z]; SI units, or a text with its unit."""

    mean: Annotated[Measure, MeasureType(negative=True)] = Measure(ZERO)
    """A constant offset."""
    deviation: SomeMeasure | None = None
    """Standard deviation of the white noise of one reading."""
    noise_density: SomeMeasure | None = None
    """Of the white noise, unit / sqrt(Hz), in place of deviation: deviation = noise_density sqrt(rate)."""
    bias: BiasFields | None = None
    """A bias that walks at random."""
    bias_instability: SomeMeasure | None = None
    """The lowest Allan deviation, in place of bias; needs a noise_density or a deviation."""
    random_walk: SomeMeasure | None = None
    """Of the bias, unit / sqrt(s), in place of bias: its variance is random_walk^2 t."""

    @model_validator(mode="after")
    def _check(self) -> AxisNoiseFields:
        if self.deviation is not None and self.noise_density is not None:
            raise conflict("stands beside a deviation; remove one of the two", "noise_density")
        drift = [name for name in ("bias", "random_walk", "bias_instability") if getattr(self, name) is not None]
        if len(drift) > 1:
            raise conflict(f"stands beside {drift[0]}; remove one of the two", drift[1])
        return self

    def model(self, rate: float, dimension: Dimension, *part: str) -> NoiseModel:
        """The noise in SI units.

        The conversions: deviation = noise_density sqrt(rate), as in Kalibr ("IMU noise model") and IEEE Std 952 (there
        N, of a two-sided spectrum; a device that states a one-sided density after an ideal low-pass filter has 1 /
        sqrt(2) of that). A bias_instability becomes the random walk whose Allan deviation has that minimum
        (`walk_of_instability`). `rate`: readings a second.
        """
        base, at = dimension.base, ("noise", *part)
        deviation, density = self._white(rate, dimension, at)
        bias, time, gain = ZERO, (1.0, 1.0, 1.0), ZERO
        if self.bias is not None:
            bias = self.bias.deviation.si(base, *at, "bias", "deviation")
            gain = self.bias.mean.si(base, *at, "bias", "mean")
            time = self.bias.time.si(_TIME, *at, "bias", "time")
            if min(time) <= 0:
                raise conflict("a time above 0 is needed", *at, "bias", "time")
        elif self.random_walk is not None:
            bias = self.random_walk.si(dimension.walk(), *at, "random_walk")
        elif self.bias_instability is not None:
            lowest = np.array(self.bias_instability.si(base, *at, "bias_instability"))
            if np.any((lowest > 0) & (np.array(density) == 0)):
                raise conflict("needs a noise_density or a deviation above 0", *at, "bias_instability")
            walk = walk_of_instability(lowest, np.array(density))
            still = walk == 0
            bias = _triple(lowest / FLATNESS)
            time = _triple(np.where(still, 1.0, (lowest / FLATNESS / np.where(still, 1.0, walk)) ** 2))
        return NoiseModel(self.mean.si(base, *at, "mean"), deviation, bias, time, gain)

    def _white(self, rate: float, dimension: Dimension, at: tuple[str, ...]) -> tuple[Triple, Triple]:
        root = math.sqrt(rate)
        if self.noise_density is not None:
            density = self.noise_density.si(dimension.density(), *at, "noise_density")
            return _triple(np.array(density) * root), density
        deviation = ZERO if self.deviation is None else self.deviation.si(dimension.base, *at, "deviation")
        return deviation, _triple(np.array(deviation) / root)


def _triple(values: Any) -> Triple:
    x, y, z = np.asarray(values, np.float64).tolist()
    return x, y, z


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
