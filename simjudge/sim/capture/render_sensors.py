"""A car's sensors beside the camera in a rendering: a scan for each frame, other readings along a path with times.

The body moves along its poses, through a smooth motion for inertial sensors and pose by pose (linear, slerp) for
lidars; everything else is where the scene has it then. Before its first pose, and where its poses are too far apart to
tell how it moved, the body stands during a scan: so it does for the images.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, UsageError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.geometry.trajectories import DEFAULT_MOTION_LIMITS, TrajectoryInterpolator
from simjudge.sim.capture.camera_poses import CameraPoses
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan
from simjudge.sim.capture.replay_sensors import MessagesByFrame, SensorReplay, check_along_poses
from simjudge.sim.capture.scanning import LidarCapture, scripted_motion
from simjudge.sim.capture.sensor_readers import SensorEvent
from simjudge.sim.capture.sensor_record import SensorMessages
from simjudge.sim.sensors.camera.camera import SECOND
from simjudge.sim.sensors.camera.camera_messages import TF_TOPIC
from simjudge.sim.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sim.sensors.sensor_spec import SensorSpec
from simjudge.sim.vehicle.vehicle import Vehicle
from simjudge.sim.vehicle.vehicle_messages import Frames, VehicleMessages

FIXED_FRAME = "map"
"""The scene's own frame in a recording."""
_KEYFRAME = 5_000_000
"""Nanoseconds between the poses that a turn is interpolated from, at most."""


def check_rendered_sensors(specs: Sequence[SensorSpec], poses: CameraPoses, vehicle: Vehicle | None) -> None:
    """Refuse sensors whose readings these poses cannot tell.

    Args:
        vehicle: the car that carries them; None for another body.
    """
    check_along_poses(specs, vehicle)
    moving = [spec for spec in specs if not isinstance(spec, LidarSpec)]
    if moving and poses.path() is None:
        raise UsageError(
            f"sensor {moving[0].name}: {moving[0].kind} needs a body that moves; give --poses path or a file of poses"
            " with times, for random poses have none"
        )


class RenderedSensors:
    """The messages of all sensors, frame by frame, and where the sensors are (tf)."""

    def __init__(self, plan: RenderPlan, placed: PlacedScene) -> None:
        """Compute what needs no scene: the readings along the path."""
        types = standard_types().types
        self._plan, self._placed = plan, placed
        names = placed.engine.scene.class_names
        self._maker = SensorMessages(lambda name: types[name], plan.sensors, names)
        self._transforms = VehicleMessages(lambda name: types[name], Frames(odom=FIXED_FRAME))
        self._lidars = [spec for spec in plan.sensors if isinstance(spec, LidarSpec)]
        path = plan.poses.path()
        self._path = None if path is None or len(path) < 2 else TrajectoryInterpolator(path)
        moving = tuple(spec for spec in plan.sensors if not isinstance(spec, LidarSpec))
        self._readings = None
        if moving and path is not None:
            replayed = SensorReplay(moving, path, DEFAULT_MOTION_LIMITS, plan.vehicle, plan.seed)
            events = list(replayed.events(placed.engine, Losses()))
            stamps = np.array(plan.poses.stamp, np.int64)
            self._readings = MessagesByFrame(events, plan.sensors, stamps, names)

    def messages(self, index: int) -> Iterator[tuple[str, Any]]:
        """Topic and message of what belongs to a frame."""
        stamp, engine = self._plan.poses.stamp[index], self._placed.engine_for(index)
        camera = self._plan.poses.at(index, [stamp], engine)[0]
        body = camera @ self._plan.poses.mount.inverse()
        frames = {f"{spec.name}_link": body @ spec.mount for spec in self._plan.sensors}
        yield TF_TOPIC, self._transforms.placed(stamp, frames)
        if self._readings is not None:
            yield from self._readings.of(index)
        for spec in self._lidars:
            capture = LidarCapture(engine, spec.model(), self._plan.seed, spec.filters)
            times = _turn_times(round(spec.window * SECOND))
            start = (stamp - self._plan.poses.stamp[0]) / SECOND
            motion = scripted_motion(engine.scene, (times / SECOND).tolist(), start)
            scan = capture.capture(stamp, self._during_turn(spec, stamp, times, body), motion)
            if scan is None:
                continue
            for topic, _, message in self._maker.messages([SensorEvent(stamp, stamp, spec, scan)]):
                yield f"/{topic}", message

    def _during_turn(self, spec: LidarSpec, stamp: int, times: IntArray, body: Pose) -> Keyframes:
        """Poses of the lidar from the begin of its turn to the end, seconds from the end."""
        path = self._path
        if path is None:
            return Keyframes.build([0.0], [[body @ spec.mount]])
        first = int(path.trajectory.stamp[0])
        moved = np.unique(np.maximum(stamp + times, first))
        known = path.covers(moved).all() and not path.in_gap(moved).any() and not len(path.jumps(int(moved[0]), stamp))
        if not known:
            return Keyframes.build([0.0], [[body @ spec.mount]])
        poses = [[pose @ spec.mount] for pose in path.poses(moved)]
        return Keyframes.build(((moved - stamp) / SECOND).tolist(), poses)


def _turn_times(window: int) -> IntArray:
    """Nanoseconds from the end of a turn at which poses are taken, in order."""
    steps = max(-(-window // _KEYFRAME), 1)
    return np.unique(-window + np.arange(steps + 1) * window // steps)
