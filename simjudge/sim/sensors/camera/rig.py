"""Several named cameras on one car: where each sits, or how it follows the car."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace

import numpy as np

from simjudge.data.rosbag2.writing import CAMERA
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.camera.calibration import Calibration
from simjudge.sim.sensors.camera.camera import Camera


@dataclass(frozen=True)
class Follow:
    """How a third-person camera follows a car.

    Attributes:
        distance: metres behind base_link.
        height: metres above base_link.
        time_constant: seconds in which 63 % of a step of the car is made up for; 0: at once.
        aim: metres above base_link of the point that it looks at.
    """

    distance: float
    height: float
    time_constant: float
    aim: float


@dataclass(frozen=True)
class MountedCamera:
    """A camera of a car.

    Attributes:
        camera: lens, exposure, chain, rate and lag.
        mount: pose of its body (x ahead) in base_link; without meaning where it follows.
        follow: how it follows the car; None: it sits on the car.
        baseline: metres from the first camera of a stereo pair to this one, to the right; 0 for all others.
    """

    name: str
    camera: Camera
    mount: Pose = field(default_factory=Pose)
    follow: Follow | None = None
    baseline: float = 0.0

    def calibration(self) -> Calibration:
        """What camera_info says: of the second camera of a stereo pair, P has Tx = -fx baseline."""
        made = self.camera.lens.camera_info(self.camera.name).calibration
        if not self.baseline:
            return made
        projection = np.array(made.projection, np.float64)
        projection[0, 3] = -projection[0, 0] * self.baseline
        return replace(made, projection=projection)

    def noise_seed(self, seed: int) -> int:
        """The seed of this camera's noise: cameras that take an image at the same time have noise of their own.

        Returns:
            The run's seed for the one camera of a car without a rig, which is called `camera`.
        """
        if self.name == CAMERA:
            return seed
        return int(np.random.SeedSequence((seed, zlib.crc32(self.name.encode()))).generate_state(1)[0])
