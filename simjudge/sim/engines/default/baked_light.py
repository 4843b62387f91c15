"""A scene that can be seen quickly again and again: the light of what stands is found once, at the first picture."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simjudge.sim.engines.default.baked_integrator import BakedIntegrator
from simjudge.sim.engines.default.light import Light
from simjudge.sim.engines.default.light_samples import NO_SAMPLES, find_light, lay_samples
from simjudge.sim.engines.ray_times import TimedExposure
from simjudge.sim.sensors.camera.lens import Lens


class BakedLight(Light):
    """See `simjudge.sim.engines.default.light.Light`.

    When something moves that stood, a cone that is touched, all ways are traced until it has stood for long again.
    """

    _integrator_kind = BakedIntegrator
    _integrator: BakedIntegrator
    _seen_before = False

    def render_timed(self, lens: Lens, exposure: TimedExposure, rays_per_pixel: int) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3), each ray at its own time; see `ray_times.EngineWithRayTimes`."""
        self._count_rays(lens.size[0] * lens.size[1] * rays_per_pixel)
        return super().render_timed(lens, exposure, rays_per_pixel)

    def _count_rays(self, rays: int) -> None:
        if not self._seen_before:
            self._seen_before = self._judged = True
            self._judge_sight()
        super()._count_rays(rays)

    def _forget_sight(self) -> None:
        self._integrator.set_samples(NO_SAMPLES)

    def _judge_sight(self) -> None:
        if not len(self._lamps):
            return
        grid = lay_samples(self._things, self._at, self._stands)
        sun = self._integrator.sun
        self._integrator.set_samples(find_light(self._tracer, grid, self._packed_lamps, sun))
