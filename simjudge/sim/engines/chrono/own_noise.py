"""Chrono's noise filters for cameras, in one unit whatever renders.

ChFilterCameraNoise.cpp has two of each, at 7689fbc0. OptiX (camera_noise.cu, the same from 9.0.1 on): full scale is
1; the pixel-dependent one has the variance slope x value + intercept. Vulkan: figures in bytes, and the pixel-dependent
one is normal with mean `intercept` and deviation `slope` x brightness, which is another thing under the same name.
"""

from __future__ import annotations

from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.sim.sensors.camera.camera import ChronoNoise

_FULL = 255.0


def noise_filter(sensors: Any, noise: ChronoNoise) -> Any:
    """The filter, to be pushed before what reads the picture."""
    if not hasattr(sensors, "ChFilterCameraNoiseConstNormal"):
        raise SimjudgeError(
            "engine chrono: this PyChrono wraps no camera noise filters: take one that does, or simjudge's own noise"
            " (filters: shot_noise)"
        )
    in_bytes = not hasattr(sensors, "ChOptixSensor")
    if noise.kind == "constant":
        unit = _FULL if in_bytes else 1.0
        return sensors.ChFilterCameraNoiseConstNormal(noise.mean * unit, noise.deviation * unit)
    if in_bytes:
        raise SimjudgeError(
            "engine chrono: pixel_dependent noise: the Vulkan renderer's has another formula, whose variance is not"
            " slope x value + intercept; take constant, simjudge's shot_noise, or a build with OptiX"
        )
    return sensors.ChFilterCameraNoisePixDep(noise.slope, noise.intercept)
