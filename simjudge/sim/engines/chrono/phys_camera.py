"""ChPhysCameraSensor (release 10 on): Chrono's own camera with aperture, exposure, ISO, vignetting, defocus and noise.

An option beside `Engine.render`: the picture is Chrono's from light to digital values, nothing of simjudge's chain is
in it. Python is given no buffer of its 16-bit picture, so it goes through ChFilterSave, which writes RGBA16 as raw
bytes: width, height, channels and bits as uint16, then the rows, bottom first (ChFilterSave.cpp flips PNGs only).
Its field of view follows from sensor width and focal length, 2 atan(width / 2 / focal length), and is right.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.sim.engines.chrono.lenses import SensorRequest, fit_coefficients
from simjudge.sim.sensors.camera.camera import ChronoPhysical
from simjudge.sim.sensors.camera.distortion import Coefficients
from simjudge.sim.sensors.camera.lens import Lens

FULL = 65535
_WIDTH = 0.013
"""Metres: the sensor's width, which Python cannot set alone."""


@dataclass(frozen=True)
class PhysCamera(ChronoPhysical):
    """`ChronoPhysical`, as Chrono takes it."""

    def sensor_width(self, lens: Lens) -> float:
        """Metres, at which the focal length gives the lens's field.

        Returns:
            The width, metres.
        """
        width, height = lens.size
        centred = np.allclose(lens.centre, ((width - 1) / 2, (height - 1) / 2), atol=1e-6)
        if lens.model not in {"pinhole", "radial"} or not centred or abs(lens.focal[0] / lens.focal[1] - 1) > 1e-9:
            raise UsageError("ChPhysCameraSensor has centred pinhole and radial lenses with square pixels only")
        return width / lens.focal[0] * self.focal_length

    def coefficients(self, lens: Lens) -> Coefficients | None:
        """For SetRadialLensParameters; None: a pinhole.

        Returns:
            Chrono's three coefficients, or None.
        """
        return fit_coefficients(lens) if lens.model == "radial" and any(lens.coefficients) else None

    def flags(self) -> tuple[bool, bool, bool, bool, bool]:
        """use_defocus_blur, use_vignetting, use_aggregator, use_noise, use_expsr_to_dv, in the constructor's order."""
        return self.defocus, self.vignetting, self.exposure_to_value, self.noise, self.exposure_to_value


def make_phys_camera(sensors: Any, core: Any, settings: PhysCamera, lens: Lens, side: int, parent: Any) -> Any:
    """The sensor at its parent's frame, n x n rays a pixel, its gains and noise as Chrono sets them by default.

    Args:
        side: n of n x n rays a pixel.
    """
    if not hasattr(sensors, "ChPhysCameraSensor"):
        raise SimjudgeError("this PyChrono has no ChPhysCameraSensor: it came with release 10.0.0")
    coefficients = settings.coefficients(lens)
    camera = _made(sensors, core, parent, lens.size, side, settings.flags(), coefficients)
    # The field is made of the sensor's width, which only comes with gains and noise, and of the focal length, which
    # comes alone: the default width of 13 mm stays, and the focal length is scaled to give the same field.
    scale = _WIDTH / settings.sensor_width(lens)
    camera.SetCtrlParameters(
        *(settings.aperture, settings.exposure, settings.iso),
        *(settings.focal_length * scale, settings.focus_distance),
    )
    return camera


def make_deep_camera(sensors: Any, core: Any, asked: SensorRequest, parent: Any) -> Any:
    """The sensor with all its stages off: linear light in 16 bits, 65535 for a radiance of 1, one ray a pixel.

    Args:
        asked: size, field in radians and coefficients to ask for.
    """
    camera = _made(sensors, core, parent, asked.size, 1, (False,) * 5, asked.coefficients)
    camera.SetCtrlParameters(1.6, 0.01, 100.0, _WIDTH / 2 / math.tan(asked.field / 2), 3.0)
    return camera


def _made(
    sensors: Any,
    core: Any,
    parent: Any,
    size: tuple[int, int],
    side: int,
    flags: tuple[bool, ...],
    coefficients: Coefficients | None,
) -> Any:
    model, legacy = (0 if coefficients is None else 2), getattr(sensors, "Integrator_LEGACY", 5)
    camera = sensors.ChPhysCameraSensor(
        *(parent, 1.0, core.ChFramed(), *size, model, side, False, False),
        *flags,
        *(legacy, 1.0, False, False),
    )
    if coefficients is not None:
        camera.SetRadialLensParameters(core.ChVector3f(*map(float, coefficients)))
    return camera


def saved_values(path: Path) -> npt.NDArray[np.uint16]:
    """The 16-bit picture (H, W, 4), upright, that ChFilterSave wrote; 65535 is Chrono's 1.

    Returns:
        Uint16 (H, W, 4), red first.
    """
    data = path.read_bytes()
    if len(data) < 8:
        raise SimjudgeError(f"{path}: {len(data)} bytes, no picture of ChFilterSave; is the disk full?")
    width, height, channels, bits = struct.unpack("<4H", data[:8])
    if (channels, bits) != (4, 16) or len(data) != 8 + 8 * width * height:
        raise SimjudgeError(f"{path}: {width}x{height}, {channels} channels of {bits} bits in {len(data)} bytes")
    rows = np.frombuffer(data, "<u2", offset=8).reshape(height, width, 4)
    return np.ascontiguousarray(rows[::-1])
