"""A radar before an engine: rays, what they meet, and how fast that moves, as echoes; then its detections.

Rays are cast in the middle of the time that the radar listens, which ends at the stamp. Range rates are the changes of
range over that time: of the radar's own motion and of every body's. Clear glass lets waves through where it lets a
lidar's light through; elsewhere each triangle reflects by its surface's `radar_reflectance`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.geometry.keyframes import Keyframes
from simjudge.sim.capture.lidar_light import LidarLight
from simjudge.sim.engines.contract import STANDING, BodyMotion, SensedWorld
from simjudge.sim.scene.forms import radar_reflectance, stops_lidar
from simjudge.sim.scene.model import NO_CLASS, NO_INSTANCE, Surface, Thing
from simjudge.sim.sensors.filter_registry import FilterStep
from simjudge.sim.sensors.lidar.cloud_filters import CloudFilters
from simjudge.sim.sensors.lidar.rays import LidarRays
from simjudge.sim.sensors.radar.detections import RadarDetections, detect
from simjudge.sim.sensors.radar.echoes import MIRROR, PARALLEL, Echoes, aim_rays, corner_section, rough_sections
from simjudge.sim.sensors.radar.radar import Radar
from simjudge.sim.sensors.sensor_spec import CAR

_FILTERED = 1  # Ends the seed of a reading's filters, which draw other numbers than its noise
_OFF = 1e-4  # Metres before a surface at which a mirrored ray begins: engines may trace in float32


@dataclass(frozen=True, eq=False, repr=False)
class CapturedRadar(ShortRepr):
    """A radar's reading and the truth beside it."""

    radar: Radar
    stamp: int  # end of the time that it listened, nanoseconds
    found: RadarDetections
    # class_id, instance: int64 (P,), of each detection; 0 where it is of nothing labelled.
    class_id: npt.NDArray[np.int64]
    instance: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class _Met(ShortRepr):
    """What rays met: all rays, or those that went on. Columns of N."""

    row: npt.NDArray[np.int64]  # of the ray among all
    direction: FloatArray  # (N, 3), of the ray before
    distance: FloatArray
    point: FloatArray  # (N, 3), world
    normal: FloatArray  # (N, 3), against the ray
    cosine: FloatArray
    reflected: FloatArray  # share of power, met squarely
    thing: npt.NDArray[np.int64]

    def where(self, kept: npt.NDArray[np.bool_]) -> _Met:
        """Some of them."""
        return _Met(*(getattr(self, name)[kept] for name in self.__dataclass_fields__))


class RadarCapture:
    """A radar before an engine."""

    def __init__(self, engine: SensedWorld, radar: Radar, seed: int = 0, filters: tuple[FilterStep, ...] = ()) -> None:
        self.engine, self.radar, self._seed, self._filters = engine, radar, seed, filters
        things = engine.things
        self._light = LidarLight(tuple(_as_radars_meet_it(thing) for thing in things))
        # The row behind the last, index -1, is for false alarms.
        self._class_id = np.array([*(thing.class_id for thing in things), NO_CLASS], np.int64)
        self._instance = np.array([*(thing.instance for thing in things), NO_INSTANCE], np.int64)
        self._is_car = np.array([*(thing.name.split("/")[0] == CAR for thing in things), False])
        self._names = [thing.name for thing in things]

    def capture(self, stamp: int, sensor: Keyframes, motion: BodyMotion = STANDING) -> CapturedRadar | None:
        """Make one reading (stamp: its end, nanoseconds): what was detected; None where a filter loses it."""
        seed = (self._seed, zlib.crc32(self.radar.name.encode()), stamp)
        random = np.random.default_rng(seed)
        filters = CloudFilters(self._filters, stamp, (*seed, _FILTERED))
        found = detect(self.radar, self.echoes(sensor, motion, random), random, filters)
        if found is None:
            return None
        return CapturedRadar(self.radar, stamp, found, self._class_id[found.thing], self._instance[found.thing])

    def echoes(self, sensor: Keyframes, motion: BodyMotion, random: np.random.Generator) -> Echoes:
        """What sends waves back (sensor: poses of its frame in the world, seconds from the stamp)."""
        radar, middle = self.radar, np.array([-self.radar.window / 2])
        (rotation,), (position,) = sensor.at(middle)
        aimed, solid = aim_rays(radar, random)
        directions = np.ascontiguousarray(aimed @ rotation.T)
        first = self._cast(np.arange(len(aimed)), np.tile(position, (len(aimed), 1)), directions, middle, motion)
        area = solid[first.row] * first.distance**2
        section = rough_sections(radar, area, first.cosine, first.reflected)
        speed = self._speeds(first, sensor, motion)
        corners = self._corners(first, area, speed, position, middle, motion)
        point = np.concatenate([first.point, corners.position])
        every = Echoes(
            (point - position) @ rotation,
            np.concatenate([speed, corners.speed]),
            np.concatenate([section, corners.section]),
            np.concatenate([first.thing, corners.thing]),
        )
        distance = np.linalg.norm(every.position, axis=1)
        kept = (every.section > 0) & (distance >= radar.range[0]) & (distance <= radar.range[1])
        if not radar.allow_self:
            kept &= ~self._is_car[every.thing]
        return Echoes(every.position[kept], every.speed[kept], every.section[kept], every.thing[kept])

    def _cast(
        self,
        row: npt.NDArray[np.int64],
        origin: FloatArray,
        direction: FloatArray,
        time: FloatArray,
        motion: BodyMotion,
    ) -> _Met:
        if not len(row):
            nothing, vectors, whole = np.zeros(0), np.zeros((0, 3)), np.zeros(0, np.int64)
            return _Met(whole, vectors, nothing, vectors, vectors, nothing, nothing, whole)
        hits = self.engine.cast_timed_rays(origin, direction, time, motion)
        light = self._light.reflected(hits, LidarRays(origin, direction, time), motion)
        met = hits.thing >= 0
        direction, normal, distance = direction[met], hits.normal[met], hits.distance[met]
        along = np.einsum("ni,ni->n", direction, normal)
        cosine = np.maximum(np.abs(along), 1e-9)
        normal = normal * -np.sign(along)[:, None]
        point = origin[met] + direction * distance[:, None]
        return _Met(row[met], direction, distance, point, normal, cosine, light[met] / cosine, hits.thing[met])

    def _speeds(self, met: _Met, sensor: Keyframes, motion: BodyMotion) -> FloatArray:
        """Range rates: by how much what was met is nearer or farther at the end of the window than at its begin."""
        window = self.radar.window
        times = np.array([-window, -window / 2, 0.0])
        _, place = sensor.at(times)
        ends = np.repeat(met.point[None], 2, 0)
        row_of = {name: row for row, name in enumerate(motion.names)}
        for thing in np.unique(met.thing).tolist():
            if self._names[thing] not in row_of:
                continue
            on_it = met.thing == thing
            rotation, position = motion.keyframes.at(times, row_of[self._names[thing]])
            own = (met.point[on_it] - position[1]) @ rotation[1]
            ends[0, on_it], ends[1, on_it] = (own @ rotation[k].T + position[k] for k in (0, 2))
        begin, end = (np.linalg.norm(ends[k] - place[2 * k], axis=1) for k in (0, 1))
        speed: FloatArray = (end - begin) / window
        return speed

    def _corners(
        self,
        first: _Met,
        area: FloatArray,
        speed: FloatArray,
        radar_at: FloatArray,
        time: FloatArray,
        motion: BodyMotion,
    ) -> Echoes:
        """Waves that three mirrors send back to where they came from; positions in the world."""
        by_ray = np.full(int(first.row.max(initial=0)) + 1, -1)
        by_ray[first.row] = np.arange(len(first.row))
        met = first.where(first.reflected >= MIRROR)
        path, share, normals = first.distance.copy(), np.ones(len(first.row)), np.zeros((len(first.row), 3))
        for bounce in range(3):
            own = by_ray[met.row]
            share[own] *= np.sqrt(met.reflected)
            normals[own] += met.normal
            if bounce:
                path[own] += met.distance
            away = met.direction + 2 * met.cosine[:, None] * met.normal
            if bounce < 2:
                origin = np.ascontiguousarray(met.point + _OFF * met.normal)
                met = self._cast(met.row, origin, np.ascontiguousarray(away), time, motion)
                met = met.where(met.reflected >= MIRROR)
        own = by_ray[met.row]
        into = first.direction[own]
        back = np.linalg.norm(away + into, axis=1) < PARALLEL
        own, into, last = own[back], into[back], met.point[back]
        # To the plane through the radar across the wave: all rays of one corner come equally far.
        distance = (path[own] + np.einsum("ni,ni->n", last - radar_at, into)) / 2
        keys = np.column_stack([first.thing[own], np.rint(normals[own] * 50).astype(np.int64)])
        return _gathered(self.radar, first, area * share, speed, own, distance, keys, radar_at)


def _gathered(
    radar: Radar,
    first: _Met,
    aperture: FloatArray,
    speed: FloatArray,
    own: npt.NDArray[np.int64],
    distance: FloatArray,
    keys: npt.NDArray[np.int64],
    radar_at: FloatArray,
) -> Echoes:
    """The rays of each corner as one echo."""
    position: list[FloatArray] = []
    numbers: list[tuple[float, float, int]] = []
    for key in np.unique(keys, axis=0):
        mine = (keys == key).all(1)
        rows, weight = own[mine], aperture[own[mine]]
        far = float(np.average(distance[mine], weights=weight))
        way = np.average(first.direction[rows], axis=0, weights=weight)
        position.append(radar_at + far * way / np.linalg.norm(way))
        section = corner_section(radar, float(weight.sum()), far)
        numbers.append((float(np.average(speed[rows], weights=weight)), section, int(key[0])))
    columns: Sequence[Sequence[float]] = list(zip(*numbers, strict=True)) or [(), (), ()]
    speeds, sections, things = columns
    return Echoes(
        np.array(position).reshape(-1, 3), np.array(speeds), np.array(sections), np.array(things, dtype=np.int64)
    )


def _as_radars_meet_it(thing: Thing) -> Thing:
    """A thing whose surfaces send a lidar's light back as they send a radar's waves."""

    def radars(surface: Surface) -> Surface:
        if not stops_lidar(surface):
            return surface
        return replace(surface, reflectance=radar_reflectance(surface), texture=None, retroreflection=None)

    paint = thing.paint
    if paint is not None:
        paint = replace(paint, surfaces=tuple(radars(surface) for surface in paint.surfaces))
    return replace(thing, surface=radars(thing.surface), paint=paint)
