"""How well rays and lidar scans of an engine measure the world of `card_scene`, against the geometry by formula."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.sensor_feed import LidarCapture
from simjudge.sim.engines.contract import BodyMotion, Engine
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarIntensity, LidarNoise, lidar_beams
from simjudge.sim.sensors.lidar.scan import Scan
from simjudge.sim.testing.card_scene import HEIGHT, PLATES, SIDE, THICKNESS, WALL, card_scene
from simjudge.sim.testing.checks import EngineBuilder
from simjudge.sim.testing.measures import SHARE, EngineMeasure, EngineMeasurement

RANGE_NOISE = 0.015  # Metres, of the lidar that is asked for
LIDAR = Lidar(
    "card",
    rate=10.0,
    columns=720,
    elevation=tuple(math.radians(angle) for angle in range(-15, 16, 2)),
    range=(0.4, 50.0),
    window=0.1,
    clockwise=True,
    intensity=LidarIntensity(scale=100.0),
    noise=LidarNoise(range=(RANGE_NOISE, 0.0)),
)
_STAMP = 1_000_000_000
_SENSOR = Keyframes.build([0.0], [[Pose((0, 0, HEIGHT))]])
_HALF_WALL = 7.9  # Metres from the middle up to which the wall is sure to be there
_SCAN_NAMES = ("scan's ranges", "scan's places", "scan's noise", "rings", "times of points", "intensity")
_FEWEST = 100  # Points of a scan where the wall is
_BAND = 0.3  # Metres: farther from the wall or a plate a point says nothing of noise


@runtime_checkable
class EngineWithScans(Protocol):
    """An engine that has a lidar of its own; without, simjudge's is cast by `cast_timed_rays`."""

    def capture_scan(self, lidar: Lidar, stamp: int, sensor: Keyframes) -> Scan:
        """One turn (stamp: its end, nanoseconds; sensor: poses of its frame in the world, seconds from the stamp)."""


def true_distance(directions: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Distance along rays (N, 3) from the camera's place, by formula, and what is hit: plates 0 to 4, the wall 5.

    Infinite and -1 where a ray goes past the wall.
    """
    x, y, z = np.asarray(directions, np.float64).T
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(x > 0, WALL / x, np.inf)
        beside = (np.abs(best * y) > _HALF_WALL) | (best * z + HEIGHT > 6.9) | (best * z + HEIGHT < -4.9)
        best = np.where(beside | ~np.isfinite(best), np.inf, best)
        hit = np.where(np.isfinite(best), len(PLATES), -1)
        for number, plate in enumerate(PLATES):
            away = np.where(x > 0, (plate.position[0] - THICKNESS / 2) / x, np.inf)
            on = (np.abs(away * y - plate.position[1]) <= SIDE / 2) & (
                np.abs(away * z + HEIGHT - plate.position[2]) <= SIDE / 2
            )
            nearer = on & (away < best)
            best, hit = np.where(nearer, away, best), np.where(nearer, number, hit)
    return best, hit.astype(np.int64)


def _directions() -> FloatArray:
    """Rays at points on the plates and on the wall, none near an edge."""
    steps = np.array([-0.35, 0.0, 0.35]) * SIDE
    targets = [np.add(plate.position, (0, a, b)) for plate in PLATES for a in steps for b in steps]
    targets += [np.array([WALL, y, z]) for y in np.arange(-3.85, 4, 1.3) for z in np.arange(-1.1, 4, 0.85)]
    ahead = np.array(targets) - (0, 0, HEIGHT)
    rays = ahead / np.linalg.norm(ahead, axis=1, keepdims=True)
    distance, hit = true_distance(rays)
    # A point on the wall that a plate's edge nearly hides is no use.
    shaken = [true_distance(rays + shift)[1] for shift in np.vstack([np.eye(3), -np.eye(3)])[[1, 2, 4, 5]] * 0.01]
    sure = np.isfinite(distance) & np.all([other == hit for other in shaken], axis=0)
    found: FloatArray = rays[sure]
    return found


def measures_rays(builder: EngineBuilder) -> Iterator[EngineMeasure]:
    """Single rays: distance, what is hit, normals."""
    rays = _directions()
    wanted, hit = true_distance(rays)
    with closing(builder(card_scene())) as engine:
        found = engine.cast_rays(np.tile((0.0, 0.0, HEIGHT), (len(rays), 1)), rays, {})
        names = [engine.names[index] if index >= 0 else "" for index in found.thing]
    error = np.where(np.isfinite(found.distance), np.abs(found.distance - wanted), np.inf)
    yield EngineMeasure.of(
        "ray distance", "rays", float(error.max()), "m", 0.001, _describe_ranges(found.distance, wanted, rays)
    )
    right = [PLATES[index].name if index < len(PLATES) else "wall" for index in hit]
    wrong = sum(not name.startswith(expected) for name, expected in zip(names, right, strict=True))
    yield EngineMeasure.of(
        "what rays hit", "rays", wrong / len(rays), SHARE, 0.0, "rays name another thing than is there"
    )
    facing = np.einsum("ni,ni->n", found.normal, rays)
    ahead = np.abs(found.normal @ np.array([-1.0, 0, 0]) - 1)
    inwards = bool(np.median(facing) > 0)
    yield EngineMeasure.of(
        "normals",
        "rays",
        float(np.nanmax(ahead)) if np.isfinite(ahead).any() else np.inf,
        "",
        0.001,
        "normals point into surfaces" if inwards else "normals are not those of the surfaces",
    )


def _describe_ranges(found: FloatArray, wanted: FloatArray, rays: FloatArray) -> str:
    ratio = np.median(found / wanted)
    if 990 < ratio < 1010:
        return "distances are in millimetres"
    mirrored, _ = true_distance(rays * (1, -1, 1))
    if np.median(np.abs(found - mirrored)) < 0.05 and np.max(np.abs(mirrored - wanted)) > 0.1:
        return "left-handed: left and right are exchanged"
    if not np.isfinite(found).all():
        return f"{np.mean(~np.isfinite(found)):.0%} of the rays hit nothing where something is"
    return f"distances are {np.median(found - wanted):+.3f} m off in the median, {ratio:.3f} times what they are"


def measures_timed_rays(builder: EngineBuilder) -> Iterator[EngineMeasure]:
    """Rays with times of their own, at a plate that comes nearer."""
    plate, fast = PLATES[4], 10.0
    times = np.linspace(-0.1, 0.0, 11)
    x, y, z = plate.position
    poses = [[Pose((x - fast * (time + 0.1), y, z - SIDE / 2))] for time in times.tolist()]
    motion = BodyMotion((plate.name,), Keyframes.build(times.tolist(), poses))
    at = np.linspace(-0.1, 0.0, 41)
    # At the middle of the plate, where it is at each time
    here = np.column_stack([x - fast * (at + 0.1) - THICKNESS / 2, np.full(41, y), np.full(41, z - HEIGHT)])
    wanted = np.linalg.norm(here, axis=1)
    with closing(builder(card_scene())) as engine:
        found = engine.cast_timed_rays(
            np.tile((0.0, 0.0, HEIGHT), (41, 1)), here / wanted[:, None], np.ascontiguousarray(at), motion
        )
    error = np.where(np.isfinite(found.distance), np.abs(found.distance - wanted), np.inf)
    still = np.ptp(found.distance) < 0.2 * np.ptp(wanted) if np.isfinite(found.distance).all() else False
    yield EngineMeasure.of(
        "rays in time",
        "rays",
        float(error.max()),
        "m",
        0.002,
        "rays of one turn see one instant: nothing moves within a turn"
        if still
        else "rays see a moving body elsewhere than at their time",
    )


def capture(engine: Engine, lidar: Lidar = LIDAR) -> Scan:
    """A scan by the engine's own lidar, or by simjudge's before the engine."""
    if isinstance(engine, EngineWithScans):
        return engine.capture_scan(lidar, _STAMP, _SENSOR)
    found = LidarCapture(engine, lidar).capture(_STAMP, _SENSOR)
    if found is None:  # no filter is asked for that could lose it
        raise RuntimeError("no scan")
    return found.scan


def measures_scans(builder: EngineBuilder) -> Iterator[EngineMeasure]:
    """A scan: ranges, noise, rings, times, intensity."""
    with closing(builder(card_scene())) as engine:
        scan = capture(engine)
    points = scan.points
    distance = np.linalg.norm(points, axis=1)
    unit = points / np.maximum(distance, 1e-9)[:, None]
    wanted, hit = true_distance(unit)
    on = np.isfinite(wanted)
    if on.sum() < _FEWEST:
        reason = f"only {on.sum()} points where the wall is; {_FEWEST} are needed"
        first, *others = _SCAN_NAMES
        yield EngineMeasure(first, "lidar", None, "m", 0.005, "fail", reason)
        yield from (EngineMeasure(name, "lidar", None, "", 0.0, "cannot be checked", reason) for name in others)
        return
    off = (distance - wanted)[on]
    middle = float(np.median(off))
    yield EngineMeasure.of(
        "scan's ranges", "lidar", abs(middle), "m", 0.005, _describe_ranges(distance[on], wanted[on], unit[on])
    )
    near = np.abs(off) < _BAND
    astray = float(np.mean(~near))
    astray_words = f"{astray:.0%} of the points are where nothing is"
    words = "left and right are exchanged" if _is_mirrored(points) else astray_words
    yield EngineMeasure.of(
        "scan's places",
        "lidar",
        astray,
        SHARE,
        0.02,
        words,
    )
    noise = 1.4826 * float(np.median(np.abs(off[near] - np.median(off[near])))) if near.any() else math.nan
    words = "range noise is absent" if noise < 0.1 * RANGE_NOISE else f"range noise is {noise:.4f} m, not {RANGE_NOISE}"
    share = abs(noise / RANGE_NOISE - 1) if math.isfinite(noise) else math.inf
    yield EngineMeasure.of("scan's noise", "lidar", share, SHARE, 0.15, words)
    yield _ring_measure(scan, unit)
    yield _time_measure(scan, unit)
    yield _intensity_measure(scan, points, on & (hit == len(PLATES)))


def _is_mirrored(points: FloatArray) -> bool:
    flipped = points * (1, -1, 1)
    distance = np.linalg.norm(flipped, axis=1)
    wanted, _ = true_distance(flipped / np.maximum(distance, 1e-9)[:, None])
    on = np.isfinite(wanted)
    return bool(on.any() and np.mean(np.abs(distance - wanted)[on] < _BAND) > 0.99)


def _ring_measure(scan: Scan, unit: FloatArray) -> EngineMeasure:
    elevation = np.degrees(np.arcsin(np.clip(unit[:, 2], -1, 1)))
    asked = np.degrees(np.array(LIDAR.elevation))
    rings = np.unique(scan.ring)
    found = np.array([np.median(elevation[scan.ring == ring]) for ring in rings])
    inside = (rings >= 0) & (rings < len(asked))
    error = float(np.abs(found[inside] - asked[rings[inside]]).max()) if inside.all() else math.inf
    turned = inside.all() and np.abs(found - asked[::-1][rings]).max() < 0.5
    return EngineMeasure.of(
        "rings",
        "lidar",
        error,
        "degrees",
        0.1,
        "rings are counted from the top" if turned else "rings are not at the elevations that were asked for",
    )


def _time_measure(scan: Scan, unit: FloatArray) -> EngineMeasure:
    """Each point's time against that of a head that turns as asked."""
    beams = lidar_beams(LIDAR)
    order = np.argsort(beams.azimuth, kind="stable")
    azimuth = np.arctan2(unit[:, 1], unit[:, 0])
    nearest = np.clip(np.searchsorted(beams.azimuth[order], azimuth), 0, len(order) - 1)
    wanted = beams.time[order][nearest] - LIDAR.window
    off = scan.time - wanted
    error = float(np.quantile(np.abs(off), 0.95)) / LIDAR.window
    words = "times of points are not those of a turning head"
    if abs(np.median(off) - LIDAR.window) < 0.1 * LIDAR.window:
        words = "times count from the turn's beginning, not from the stamp at its end"
    elif np.ptp(scan.time) < 0.1 * LIDAR.window:
        words = "all points have one time"
    elif np.quantile(np.abs(scan.time + LIDAR.window + wanted), 0.95) < 0.02 * LIDAR.window:
        words = "times run against the turn"
    return EngineMeasure.of("times of points", "lidar", error, SHARE, 0.02, words)


def _intensity_measure(scan: Scan, points: FloatArray, wall: npt.NDArray[np.bool_]) -> EngineMeasure:
    """Both halves of the wall send light back as their albedos say, at places that mirror each other."""
    near = wall & (np.abs(points[:, 1]) < 3.5) & (np.abs(points[:, 1]) > 0.3)
    left, right = (near & (side * points[:, 1] > 0) for side in (1, -1))
    if not left.any() or not right.any():
        return EngineMeasure("intensity", "lidar", None, SHARE, 0.15, "fail", "no points on both halves of the wall")
    dark, bright = (float(np.median(scan.intensity[half])) for half in (left, right))
    ratio = bright / dark if dark > 0 else math.inf
    return EngineMeasure.of(
        "intensity",
        "lidar",
        abs(ratio / 4 - 1),
        SHARE,
        0.15,
        f"a surface four times as bright sends {ratio:.2f} times the intensity",
    )


LIDAR_MEASUREMENTS: tuple[EngineMeasurement, ...] = (
    EngineMeasurement("rays", ("ray distance", "what rays hit", "normals"), measures_rays),
    EngineMeasurement("rays", ("rays in time",), measures_timed_rays),
    EngineMeasurement("lidar", _SCAN_NAMES, measures_scans),
)
