"""A camera: its lens, what happens between the light and the image it hands over, and when it takes images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.sim.sensors.camera.auto_exposure import AutoExposure
from simjudge.sim.sensors.camera.chain import Step
from simjudge.sim.sensors.camera.chrono_camera import ChronoCamera
from simjudge.sim.sensors.camera.depth import DepthCamera
from simjudge.sim.sensors.camera.lens import Lens


@dataclass(frozen=True)
class Camera:
    """A camera.

    Attributes:
        name: its name, the file's unless it has one of its own.
        path: the file it was read from.
        lens: the lens, which knows the size of the image.
        steps: the chain of filters, in order.
        rate: images a second.
        lag: seconds from an image's stamp until it is handed over.
        supersampling: n, for n x n rays a pixel.
        exposure_time: seconds that light falls on the sensor, from the image's stamp on; 0: no motion blur.
        exposure_samples: moments that the exposure is made of; 1 where it is one instant. Where rays have times of
            their own: parts of the time that the shutter is open, in each of which moving bodies stand.
        motion_blur: "moments": all rays of an image share a few moments; "rays": each ray has a time of its own.
        line_time: seconds from the exposure of a row to that of the next, top to bottom; 0: a global shutter.
        gain: linear radiance times this, 1 is full scale.
        auto_exposure: chooses each image's exposure and gain by the images before it; None: they stay.
        chrono: what it asks of Chrono's own cameras; None: it is taken from linear light, by any engine.
        depth: what its depth image measures; None: it has none.
    """

    name: str
    path: Path
    lens: Lens
    steps: tuple[Step, ...]
    rate: float
    lag: float
    supersampling: int = 2
    exposure_time: float = 0.0
    exposure_samples: int = 1
    motion_blur: str = "moments"
    line_time: float = 0.0
    gain: float = 1.0
    auto_exposure: AutoExposure | None = None
    chrono: ChronoCamera | None = None
    depth: DepthCamera | None = None

    @property
    def rays_per_pixel(self) -> int:
        """What `Engine.render` is asked for."""
        return self.supersampling**2

    @property
    def has_ray_times(self) -> bool:
        """Whether rays of one image have different times beyond the moments that all rays share."""
        return self.motion_blur == "rays" or self.line_time > 0

    @property
    def open_time(self) -> float:
        """Seconds from the stamp until the last row has been exposed."""
        return self.exposure_time + self.line_time * (self.lens.size[1] - 1)

    def at_rate(self, rate: float) -> Camera:
        """The same camera with another rate.

        Args:
            rate: images a second.
        """
        if not rate > 0 or self.open_time > 1 / rate:
            most = f", and at most {1 / self.open_time:g} for its exposure" if self.open_time else ""
            raise UsageError(f"{rate:g} pictures a second of camera {self.name}: more than 0{most}")
        return replace(self, rate=rate)
