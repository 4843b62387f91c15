"""Weather before a lidar: fog and dust, rain, and a plume of spray; how it is written, and what rays bring back of it.

Rain: exp(-2 alpha R) of the light is left after R metres, and ranges stray normally by 0.02 R (1 - exp(-rate))^2, rate
in mm/h. A lidar that in clear air sees a surface of 0.9 as far as `reach` loses what is weaker than that surface is
there: reflected exp(-2 alpha R) / R^2 below 0.9 / reach^2. Rain sends no echo of its own.

Spray: exp(-2 depth) is left. What it sends back from r, of a white surface's there, is pi b(r) (c tau / 2)
exp(-2 depth), its pulse tau being shorter than the plume; the largest over r^2 from 1 m on counts, where it is not
below the power 0.9 / farthest^2 of the lidar's farthest range. Plumes are patchy: each beam meets a density of its own,
gamma distributed around the plume's (chosen here).

Source:
    Rain: Goodin, Carruth, Doude and Hudson, "Predicting the influence of rain on LIDAR in ADAS", Electronics 8(1):89,
    2019. Fog and dust: `simjudge.sim.sensors.fog`; spray: `simjudge.sim.sensors.weather`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.documents import Fields
from simjudge.core.errors import UsageError
from simjudge.core.field_types import Choice, Number, Vector, conflict
from simjudge.sim.sensors.fog import DUST_BACKSCATTER, FOG_BACKSCATTER, LIGHT, SEEN_WHOLLY, LidarAir, extinction
from simjudge.sim.sensors.weather import Spray, rain_extinction, rate_problem

Positive = Annotated[float, Number(gt=0)]
_WHITE = 0.9  # Reflectance of the surface that a lidar sees as far as it reaches
_STEPS = 64  # Places on a ray's way through a plume at which its echo is computed
_FAR = 1e6  # Metres: no echo of the air begins beyond
_THIN = 1e-9  # Optical depth of a plume below which a ray does not meet it


@dataclass(frozen=True)
class LidarRain:
    """Rain around a lidar."""

    rate: float  # mm/h
    law: Literal["goodin", "marshall_palmer"] = "goodin"  # of its extinction
    reach: float = math.inf  # metres at which a surface of 0.9 is just seen in clear air; inf: no return is too weak

    def __post_init__(self) -> None:
        problem = rate_problem(self.rate)
        if problem:
            raise ValueError(problem)

    def left(self, distance: FloatArray) -> FloatArray:
        """The share of the light that is left on the way there and back; 0 from infinity, if it rains."""
        density = rain_extinction(self.rate, self.law)
        share: FloatArray = np.exp(-2 * density * distance) if density else np.ones_like(distance)
        return share

    def seen(self, power: FloatArray, distance: FloatArray) -> npt.NDArray[np.bool_]:
        """Which returns are strong enough: power is of a white surface at the same distance."""
        return power * self.reach**2 >= _WHITE * distance**2 if self.reach < math.inf else np.isfinite(distance)

    def deviation(self, distance: FloatArray) -> FloatArray:
        """The standard deviation of ranges, metres."""
        return 0.02 * distance * (1 - math.exp(-self.rate)) ** 2


@dataclass(frozen=True)
class LidarSpray:
    """A plume of spray before a lidar."""

    plume: Spray
    pulse: float = 20e-9  # width of the lidar's pulse at half its power, seconds
    backscatter: float = FOG_BACKSCATTER  # what is sent back a steradian, as a share of the extinction
    patchiness: float = 0.0  # standard deviation of the density from beam to beam over its mean

    def densities(self, beams: int, random: np.random.Generator) -> FloatArray:
        """By what the plume's density is multiplied, beam by beam."""
        if not self.patchiness:
            return np.ones(beams)
        shape = self.patchiness**-2
        return random.gamma(shape, 1 / shape, beams)

    def echo(self, rays: FloatArray, distance: FloatArray, density: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Range and strength of the plume's echo on rays (N, 3) up to distances (N,); (inf, 0) for none."""
        middle = np.array(self.plume.position)
        width = max(self.plume.size)
        about = rays @ middle
        begin = np.maximum(about - 4 * width, SEEN_WHOLLY)
        end = np.minimum(about + 4 * width, distance)
        ranges, strengths = np.full(len(rays), np.inf), np.zeros(len(rays))
        met = np.flatnonzero((end > begin) & (self.plume.depth(rays, distance) > _THIN))
        if len(met) == 0:
            return ranges, strengths
        share = (np.arange(_STEPS) + 0.5) / _STEPS
        places = begin[met, None] + (end - begin)[met, None] * share
        along = np.broadcast_to(rays[met, None, :], (*places.shape, 3))
        dense = density[met, None]
        back = math.pi * self.backscatter * LIGHT * self.pulse / 2 * dense * self.plume.at(along, places)
        strength = back * np.exp(-2 * dense * self.plume.depth(along, places))
        ranges[met], strengths[met] = _peaks(places, strength)
        return ranges, strengths


def _peaks(places: FloatArray, strength: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Range and strength of the largest echo on each ray, between the places (N, S) where echoes were computed.

    A parabola through the logarithms beside the largest one finds it: echoes of neighbouring rays would else lie on
    shells a step apart.
    """
    rows = np.arange(len(places))
    power = strength / places**2
    best = power.argmax(1)
    inner = np.clip(best, 1, places.shape[1] - 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        before, at, after = (np.log(power[rows, inner + k]) for k in (-1, 0, 1))
        shift = (before - after) / (2 * (before - 2 * at + after))
    sound = (inner == best) & np.isfinite(shift) & (np.abs(shift) <= 0.5)
    shift = np.where(sound, shift, 0.0)
    peak = np.exp(np.where(sound, at - (before - after) * shift / 4, 0.0))
    ranges = places[rows, best] + shift * (places[:, 1] - places[:, 0])
    return ranges, np.where(sound, peak * ranges**2, strength[rows, best])


@dataclass(frozen=True)
class LidarWeather:
    """All that is in the air around a lidar; None: nothing of the kind."""

    air: LidarAir | None = None
    rain: LidarRain | None = None
    spray: LidarSpray | None = None

    def __bool__(self) -> bool:
        return any((self.air, self.rain, self.spray))


CLEAR = LidarWeather()


@dataclass(frozen=True)
class Device:
    """What of a lidar decides what it makes of echoes."""

    range: tuple[float, float]  # nearest and farthest that is measured, metres
    returns: str = "strongest"  # as `Lidar.returns`
    threshold: float = 0.0  # as `Lidar.threshold`
    falloff: float = math.inf  # as `LidarIntensity.falloff`

    def heard(self, power: FloatArray, distance: FloatArray) -> npt.NDArray[np.bool_]:
        """Which returns reach the threshold, after what distance takes away."""
        if math.isinf(self.falloff):
            return power >= self.threshold
        return power * np.minimum((self.falloff / distance) ** 2, 1.0) >= self.threshold


def through_weather(
    weather: LidarWeather,
    device: Device,
    rays: FloatArray,
    ranges: FloatArray,
    power: FloatArray,
    random: np.random.Generator,
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """What rays (N, S, 3) of N beams bring back, that in clear air bring `power` (N, S) from `ranges` (N, S).

    Returns ranges (inf for nothing), power, and which returns are echoes of what is in the air.
    """
    clear, echoes = ranges, []
    if weather.rain is not None:
        power = power * weather.rain.left(ranges)
    if weather.air is not None:
        power = power * weather.air.left(ranges)
        echoes.append((*weather.air.echo(clear), np.zeros_like(clear)))
    if weather.spray is not None:
        spray, (beams, samples) = weather.spray, ranges.shape
        dense = np.repeat(spray.densities(beams, random), samples)
        flat = rays.reshape(-1, 3)
        power = power * np.exp(-2 * dense * spray.plume.depth(flat, ranges.ravel())).reshape(ranges.shape)
        place, strength = (column.reshape(ranges.shape) for column in spray.echo(flat, ranges.ravel(), dense))
        if weather.air is not None:
            strength = strength * weather.air.left(place)
            # The plume takes from the air's own echo what it takes from any other.
            before, begun, none = echoes[0]
            near = np.exp(-2 * dense * spray.plume.depth(flat, np.minimum(before.ravel(), _FAR)))
            echoes[0] = (before, begun * near.reshape(ranges.shape), none)
        least = _WHITE * (np.where(np.isfinite(place), place, 0.0) / device.range[1]) ** 2
        echoes.insert(0, (place, strength, least))  # It is behind the air's own echo, which the first return prefers
    of_air = np.zeros(ranges.shape, np.bool_)
    for place, begun, least in echoes:
        strength = begun
        if weather.rain is not None:
            strength = begun * weather.rain.left(np.where(np.isfinite(place), place, 0.0))
        if device.returns == "last":
            heard = ~np.isfinite(ranges)
        elif device.returns == "first":
            heard = strength >= device.threshold
        else:
            with np.errstate(invalid="ignore"):
                heard = strength / place**2 > power / ranges**2
        heard &= (strength > 0) & (strength >= least) & (place >= device.range[0])
        ranges, power = np.where(heard, place, ranges), np.where(heard, strength, power)
        of_air |= heard
    if weather.rain is not None and weather.rain.rate:
        ranges = np.where(weather.rain.seen(power, ranges), ranges, np.inf)
    return ranges, power, of_air


class AirFields(Fields):
    """What is in the air; give one of density, visibility and optical_range."""

    density: Positive | None = None
    """Extinction coefficient, 1/m."""
    visibility: Positive | None = None
    """Metres at which 2 % of a contrast is left: 3.912 / density."""
    optical_range: Positive | None = None
    """Metres at which 5 % of a beam is left (MOR): 2.996 / density."""
    pulse: Positive = 20.0
    """Width of the lidar's pulse at half its power, nanoseconds."""

    def extinction(self) -> float:
        """The extinction coefficient, 1/m."""
        return extinction(self.density, self.visibility, self.optical_range)


class LidarFogFields(AirFields):
    """Fog around the lidar; give one of density, visibility and optical_range."""

    @model_validator(mode="after")
    def _check(self) -> LidarFogFields:
        self.only("density", "visibility", "optical_range", subject="fog")
        return self


class LidarDustFields(AirFields):
    """Dust around the lidar; give one of density, visibility and optical_range."""

    backscatter: Annotated[float, Number(gt=0, le=1)] = DUST_BACKSCATTER
    """What is sent back a steradian, as a share of the extinction, 1/sr."""

    @model_validator(mode="after")
    def _check(self) -> LidarDustFields:
        self.only("density", "visibility", "optical_range", subject="dust")
        return self


class LidarRainFields(Fields):
    """Rain around the lidar (Goodin and others, 2019)."""

    rate: Annotated[float, Number(ge=0, le=300)]
    """mm/h; 0 is no rain."""
    extinction: Annotated[Literal["goodin", "marshall_palmer"], Choice("goodin", "marshall_palmer")] = "goodin"
    """goodin: 0.01 rate^0.6 1/m; marshall_palmer: 3.65e-4 rate^0.63 1/m."""
    reach: Positive | None = None
    """Metres at which the lidar just sees a surface of 0.9 in clear air: what is weaker is lost; left out: only
    `threshold` loses returns."""


class LidarSprayFields(AirFields):
    """A plume of spray before the lidar; give one of density, visibility and optical_range, of its middle."""

    position: Annotated[tuple[float, float, float], Vector("x y z")]
    """Its middle in the lidar's frame, metres."""
    size: Annotated[tuple[float, float, float], Vector("x y z", gt=0)]
    """Standard deviations along the lidar's axes, metres."""
    backscatter: Annotated[float, Number(gt=0, le=1)] = FOG_BACKSCATTER
    """What is sent back a steradian, as a share of the extinction, 1/sr."""
    patchiness: Annotated[float, Number(ge=0, le=10)] = 0.5
    """Standard deviation of the density from beam to beam, over its mean."""

    @model_validator(mode="after")
    def _check(self) -> LidarSprayFields:
        self.only("density", "visibility", "optical_range", subject="spray")
        return self


def read_weather(
    fog: LidarFogFields | None = None,
    dust: LidarDustFields | None = None,
    rain: LidarRainFields | None = None,
    spray: LidarSprayFields | None = None,
) -> LidarWeather:
    """The weather as it was written; fog and dust are one air, whose extinctions and backscatters add up."""
    if fog is not None and dust is not None and fog.pulse != dust.pulse:
        raise conflict(f"is {dust.pulse:g} ns, that of fog {fog.pulse:g} ns; a lidar has one pulse", "dust.pulse")
    air: LidarAir | None = None
    parts = [(fog, FOG_BACKSCATTER), (dust, DUST_BACKSCATTER if dust is None else dust.backscatter)]
    for fields, backscatter in parts:
        if fields is None:
            continue
        one = LidarAir(fields.extinction(), fields.pulse * 1e-9, backscatter)
        density = one.density + (air.density if air else 0.0)
        back = one.backscatter * one.density + (air.backscatter * air.density if air else 0.0)
        air = LidarAir(density, one.pulse, back / density) if air else one
    return LidarWeather(
        air,
        None if rain is None else LidarRain(rain.rate, rain.extinction, math.inf if rain.reach is None else rain.reach),
        None
        if spray is None
        else LidarSpray(
            Spray(spray.extinction(), spray.position, spray.size),
            spray.pulse * 1e-9,
            spray.backscatter,
            spray.patchiness,
        ),
    )


@dataclass(frozen=True, eq=False, repr=False)
class WeatheredCloud(ShortRepr):
    """A recorded cloud as it would have been in a weather."""

    points: FloatArray  # (P, 3), metres, in the lidar's frame
    reflected: FloatArray  # (P,), on the scale of what was given
    row: npt.NDArray[np.int64]  # int64 (P,), of the point that was recorded on the same beam
    of_air: npt.NDArray[np.bool_]  # (P,), whether it is an echo of what is in the air


def weather_cloud(
    points: npt.ArrayLike,
    reflected: npt.ArrayLike,
    weather: LidarWeather,
    device: Device,
    seed: int | tuple[int, ...] = 0,
) -> WeatheredCloud:
    """Put weather before the lidar of a recorded cloud: points in its frame, one a beam.

    Args:
        points: (N, 3), metres, each in the lidar's frame at its own instant.
        reflected: (N,), the share of light that came back of each, as a lidar that is calibrated reports it, 0 to 1.
        weather: what is in the air.
        device: what the lidar reports.
        seed: of range noise and patchiness.

    Returns:
        The cloud: beams without a return in the recording are not known, and bring no echo.
    """
    given, power = np.asarray(points, np.float64), np.asarray(reflected, np.float64)
    if given.ndim != 2 or given.shape[1] != 3 or power.shape != given.shape[:1]:
        raise UsageError(f"points {given.shape}, reflected {power.shape}: (N, 3) and (N,) are needed")
    if not (np.isfinite(given).all() and np.isfinite(power).all()):
        raise UsageError("points or reflected are not finite; leave such points out")
    distance = np.linalg.norm(given, axis=1)
    if (distance == 0).any():
        raise UsageError(f"point {int(np.argmin(distance))} is at the lidar itself; leave out points without a return")
    random = np.random.default_rng(seed)
    rays = given / distance[:, None]
    found = through_weather(weather, device, rays[:, None], distance[:, None], power[:, None], random)
    ranges, left, of_air = found[0][:, 0], found[1][:, 0], found[2][:, 0]
    seen = np.flatnonzero(np.isfinite(ranges) & device.heard(left, ranges))
    strayed = random.normal(size=len(ranges))[seen]
    moved = ranges[seen]
    if weather.rain is not None:
        moved = moved + strayed * weather.rain.deviation(moved)
    # What has not moved stays as it is, to the bit.
    same = (moved == distance[seen])[:, None]
    return WeatheredCloud(np.where(same, given[seen], rays[seen] * moved[:, None]), left[seen], seen, of_air[seen])
