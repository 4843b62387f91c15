"""The driver by cones: detections and odometry in, commands out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from simjudge.data.rosbag2.writing import CAMERA
from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.camera_model import CameraModel
from simjudge.sim.driving.centre_line import LEFT, RIGHT, rotate_points
from simjudge.sim.driving.cone_map import ConeMap, ConeMapParameters
from simjudge.sim.driving.cones import ConeShape, DetectionUncertainty, locate_cones
from simjudge.sim.driving.line_follower import FollowerParameters, LineFollower, pose_at
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState


@dataclass(frozen=True)
class DriverParameters(FollowerParameters):
    """How the driver drives by cones.

    Attributes:
        right_class: class id of the cones on the right.
        left_class: class id of the cones on the left.
        cone: shape of the cones.
    """

    right_class: int = 1
    left_class: int = 2
    uncertainty: DetectionUncertainty = field(default_factory=DetectionUncertainty)
    cone_map: ConeMapParameters = field(default_factory=ConeMapParameters)
    cone: ConeShape = field(default_factory=ConeShape)


class Driver(LineFollower):
    """Drives between two rows of cones, by detections and odometry.

    Attributes:
        cones: the known cones, in the odometry's frame.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        view: CameraModel,
        parameters: DriverParameters | None = None,
        mount: Pose | None = None,
    ) -> None:
        """Know the car and the camera, and nothing of the course.

        Args:
            parameters: how to drive; None for the defaults.
            mount: pose of the camera's body in base_link; None: the car's mount "camera".
        """
        parameters = parameters or DriverParameters()
        super().__init__(vehicle, parameters)
        self._view, self._parameters = view, parameters
        self._mount = (mount or vehicle.mounts[CAMERA]).optical_frame()
        self.cones = ConeMap((parameters.right_class, parameters.left_class), parameters.cone_map)

    def note_motion(self, last: VehicleState, state: VehicleState) -> None:
        """Let the cones become less certain with every metre."""
        self.cones.predict(math.dist(state.pose.position, last.pose.position), state.pose)

    def drive(self, found: Detections | None, stamp: float, state: VehicleState) -> Command:
        """The command for now.

        Args:
            found: detections in a new image; None where no image has come since the last call.
            stamp: when that image was taken, seconds on the odometry's clock.
        """
        self.update_odometry(state)
        if found is not None:
            self._locate(found, stamp)
        self._move_line(state)
        if found is not None:
            self._follow_cones(state)
        return self._command(state)

    def _locate(self, found: Detections, stamp: float) -> None:
        camera = pose_at(self._odometry, stamp) @ self._mount
        seen = locate_cones(found, self._view, camera, self._parameters.cone, self._parameters.uncertainty)
        self.cones.update(seen, self._view, camera)

    def _follow_cones(self, state: VehicleState) -> None:
        """Fit the line to the cones that are trusted."""
        trusted = self.cones.trusted()
        if not trusted.any():
            return
        base = state.pose
        yaw, x, y = base.angles()[0], *base.position[:2]
        cones = rotate_points(self.cones.position[trusted] - np.array([x, y]), -yaw)
        side = np.where(self.cones.class_id()[trusted] == self._parameters.left_class, LEFT, RIGHT).astype(np.float64)
        rotation = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
        error = rotation @ self.cones.weighted_covariance()[trusted] @ rotation.T
        self._fit_line(cones, side, error, state.time)
