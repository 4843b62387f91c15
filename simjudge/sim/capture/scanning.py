"""A lidar in a scene: from an engine to clouds with the truth beside them, by one way for all users."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.geometry.keyframes import Keyframes
from simjudge.sim.engines.contract import STANDING, BodyMotion, Hits, SensedWorld
from simjudge.sim.scene.forms import thing_reflectance
from simjudge.sim.scene.model import NO_CLASS, NO_INSTANCE, Scene, Thing
from simjudge.sim.sensors.lidar.cloud_filters import CloudFilters
from simjudge.sim.sensors.lidar.lidar import Lidar
from simjudge.sim.sensors.lidar.rays import turn_rays
from simjudge.sim.sensors.lidar.scan import RayHits, Scan, measure
from simjudge.sim.sensors.reading_filters import FilterStep
from simjudge.sim.sensors.sensor_spec import CAR

_log = logging.getLogger(__name__)
_INSIDE = 0.9  # Of all beams that meet something: more of them on the car itself, and the lidar probably sits inside it
_FILTERED = 1  # Ends the seed of a scan's filters, which draw other numbers than its noise


@dataclass(frozen=True, eq=False, repr=False)
class ObjectBoxes(ShortRepr):
    """3-D boxes of K counted things that have a point in a scan, in the sensor's frame at the scan's stamp."""

    # class_id, instance: int64 (K,).
    class_id: npt.NDArray[np.int64]
    instance: npt.NDArray[np.int64]
    centre: FloatArray  # (K, 3), metres
    rotation: FloatArray  # (K, 3, 3), the box's axes to the sensor's
    # (K, 3), along the box's own axes, metres: the smallest box along the thing's axes around all its meshes.
    size: FloatArray
    points: npt.NDArray[np.int64]  # int64 (K,), number of the scan's points on it

    def __len__(self) -> int:
        return len(self.class_id)


@dataclass(frozen=True, eq=False, repr=False)
class CapturedScan(ShortRepr):
    """A scan and the truth beside it."""

    lidar: Lidar
    stamp: int  # end of the turn, nanoseconds
    scan: Scan
    # class_id, instance: int64 (P,), of each point; 0 where it lies on nothing labelled.
    class_id: npt.NDArray[np.int64]
    instance: npt.NDArray[np.int64]
    boxes: ObjectBoxes  # of the labelled things that have a point


class LidarCapture:
    """A lidar before an engine."""

    def __init__(self, engine: SensedWorld, lidar: Lidar, seed: int = 0, filters: tuple[FilterStep, ...] = ()) -> None:
        self.engine, self.lidar, self._seed, self._filters = engine, lidar, seed, filters
        things = engine.things
        # The row behind the last, index -1, is for rays that hit nothing.
        self._reflectance = np.array([*(thing_reflectance(thing) for thing in things), 0.0])
        self._class_id = np.array([*(thing.class_id for thing in things), NO_CLASS], np.int64)
        self._instance = np.array([*(thing.instance for thing in things), NO_INSTANCE], np.int64)
        self._is_car = np.array([*(thing.name.split("/")[0] == CAR for thing in things), False])
        self._looked = False
        # Parts of one thing have one frame.
        self._parts: dict[int, list[Thing]] = {}
        for thing in things:
            self._parts.setdefault(thing.instance, []).append(thing)

    def capture(self, stamp: int, sensor: Keyframes, motion: BodyMotion = STANDING) -> CapturedScan | None:
        """Make one scan (stamp: end of the turn, nanoseconds): the scan; None where a filter loses it."""
        rays = turn_rays(self.lidar, sensor)
        hits = self.engine.cast_timed_rays(rays.origin, rays.direction, rays.time, motion)
        self._look_for_car(hits)
        seed = (self._seed, zlib.crc32(self.lidar.name.encode()), stamp)
        filters = CloudFilters(self._filters, stamp, (*seed, _FILTERED))
        reflected = self._reflected(hits, rays.direction)
        scan = measure(self.lidar, reflected, sensor, np.random.default_rng(seed), filters)
        if scan is None:
            return None
        class_id, instance = self._class_id[scan.thing], self._instance[scan.thing]
        return CapturedScan(self.lidar, stamp, scan, class_id, instance, self._boxes(scan, sensor, motion))

    def _look_for_car(self, hits: Hits) -> None:
        """Say so, once, where the first scan meets hardly anything but the car that carries the lidar."""
        met = hits.thing >= 0
        if not self._looked and met.any():
            self._looked = True
            share = float(self._is_car[hits.thing[met]].mean())
            if share > _INSIDE:
                _log.warning(
                    "sensor %s: %.0f %% of the beams that meet something meet the car itself; mount.position, metres"
                    " in base_link, may lie inside it",
                    self.lidar.name,
                    100 * share,
                )

    def _reflected(self, hits: Hits, direction: FloatArray) -> RayHits:
        """The share of each ray's light that comes back: rho |n . d|."""
        cosine = np.abs(np.einsum("ni,ni->n", hits.normal, direction))
        return RayHits(hits.distance, hits.thing, np.where(hits.thing < 0, 0.0, self._reflectance[hits.thing] * cosine))

    def _boxes(self, scan: Scan, sensor: Keyframes, motion: BodyMotion) -> ObjectBoxes:
        instances, points = np.unique(self._instance[scan.thing], return_counts=True)
        counted = instances != NO_INSTANCE
        instances, points = instances[counted], points[counted]
        (own_rotation,), (own_position,) = sensor.at(np.zeros(1))
        parts = [self._parts[instance] for instance in instances.tolist()]
        low = np.array(
            [np.min([part.mesh.vertices.min(0) for part in thing_parts], 0) for thing_parts in parts]
        ).reshape(-1, 3)
        high = np.array(
            [np.max([part.mesh.vertices.max(0) for part in thing_parts], 0) for thing_parts in parts]
        ).reshape(-1, 3)
        poses = [_pose_at_stamp(parts_of_thing[0], motion) for parts_of_thing in parts]
        rotation = np.array([pose[0] for pose in poses]).reshape(-1, 3, 3)
        position = np.array([pose[1] for pose in poses]).reshape(-1, 3)
        centre = np.einsum("nij,nj->ni", rotation, (low + high) / 2) + position
        return ObjectBoxes(
            np.array([thing_parts[0].class_id for thing_parts in parts], np.int64),
            instances,
            (centre - own_position) @ own_rotation,
            own_rotation.T @ rotation,
            high - low,
            points,
        )


def scripted_motion(scene: Scene, times: Sequence[float], stamp: float) -> BodyMotion:
    """How the things of a scene that follow a path move during a turn (seconds from the scan's stamp)."""
    poses = [scene.scripted_poses(stamp + time) for time in times]
    names = tuple(poses[0])
    return BodyMotion(names, Keyframes.build(times, [list(pose.values()) for pose in poses])) if names else STANDING


def _pose_at_stamp(thing: Thing, motion: BodyMotion) -> tuple[FloatArray, FloatArray]:
    """Rotation and position of a thing at the end of the turn."""
    if thing.name in motion.names:
        (rotation,), (position,) = motion.keyframes.at(np.zeros(1), motion.names.index(thing.name))
        return rotation, position
    return thing.pose.rotation_matrix(), np.array(thing.pose.position)
