"""A camera's pose and picture as other simulators say them.

| simulator | axes of the world | the camera looks along | angles |
| --- | --- | --- | --- |
| Gazebo | x, y, z up, right-handed, metres | its x, z up | roll, pitch, yaw about fixed axes, radians |
| Chrono | the same | its x, z up | quaternion, real part first |
| CARLA | x ahead, y **right**, z up, left-handed, metres | its x, z up | pitch up, yaw right, roll right, degrees |

Source: SDFormat's `<pose>` (http://sdformat.org/tutorials?tut=specify_pose), Chrono::Sensor's ChCameraSensor, CARLA's
`carla.Rotation` (https://carla.readthedocs.io/en/latest/python_api/#carlarotation) and Unreal's FRotator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.filtering import Bend

_OPTICAL_IN_BODY = Pose(orientation=OPTICAL_ORIENTATION)
_CENTRED_PX = 0.01
"""Pixels by which a principal point may miss the middle and still be it."""


def camera_body(optical: Pose) -> Pose:
    """The camera's body: x ahead, y left, z up.

    Args:
        optical: pose of the optical frame: x right, y down, z ahead.
    """
    return optical @ _OPTICAL_IN_BODY.inverse()


def carla_transform(optical: Pose) -> tuple[float, float, float, float, float, float]:
    """A camera's pose as CARLA has it.

    Args:
        optical: pose of the optical frame in a right-handed world with z up, metres.

    Returns:
        x, y, z in metres with y to the right, and pitch, yaw and roll of `carla.Rotation`, degrees.
    """
    body = camera_body(optical)
    yaw, pitch, roll = (math.degrees(angle) for angle in body.angles())
    x, y, z = body.position
    return x, -y, z, -pitch, -yaw, roll


@dataclass(frozen=True)
class PinholeCamera:
    """The pinhole camera that another simulator is asked for.

    Attributes:
        size: width and height, pixels.
        focal: pixels, across and down.
        centre: the principal point, pixels, (0, 0) at the middle of the first pixel.
        bend: whether the camera's lens is no pinhole: `simjudge filter --lens` bends the pictures afterwards.
    """

    size: tuple[int, int]
    focal: tuple[float, float]
    centre: tuple[float, float]
    bend: bool

    @classmethod
    def of(cls, camera: Camera) -> PinholeCamera:
        """The pinhole camera whose pictures stand for those of a camera.

        Args:
            camera: of any lens that sees less than 180 degrees. Its filters are not asked for.

        Raises:
            UsageError: the lens sees too much for a pinhole.
        """
        lens = camera.lens
        if lens.model == "pinhole":
            return cls(lens.size, lens.focal, lens.centre, bend=False)
        scale, middle = Bend.of(camera).scale, ((lens.size[0] - 1) / 2, (lens.size[1] - 1) / 2)
        return cls(lens.size, (scale, scale), middle, bend=True)

    @property
    def field_of_view(self) -> float:
        """The horizontal field of a picture whose principal point is in the middle, radians."""
        return 2 * math.atan(self.size[0] / 2 / self.focal[0])

    @property
    def corner_centre(self) -> tuple[float, float]:
        """The principal point, pixels, (0, 0) at the outer corner of the first pixel."""
        return self.centre[0] + 0.5, self.centre[1] + 0.5

    def miss_of_centred(self) -> float:
        """Pixels by which a camera with square pixels and a centred principal point shows this one's corners off.

        Returns:
            0 where it shows the same.
        """
        aside = max(abs(self.corner_centre[axis] - self.size[axis] / 2) for axis in (0, 1))
        square = abs(self.focal[1] / self.focal[0] - 1) * self.size[1] / 2
        return aside + square if aside + square > _CENTRED_PX else 0.0
