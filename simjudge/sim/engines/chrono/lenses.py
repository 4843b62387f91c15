"""Chrono's lens models beside ours and its physical camera; its own lidar: how each of ours is asked of it.

Chrono's camera has no principal point and no focal length: an axis through the middle of the picture, square pixels,
and an angle hFOV. With uv in [-1, 1] across the picture (`segment_cam_raygen.cu`, `ChFilterVulkanRTRender.cpp`):

    pinhole: slope = uv F
    radial:  slope = uv F (1 + a0 x^2 + a1 x^4 + ... + a8 x^18),  x = uv tan(hFOV / 2)
    FOV:     slope = F / t^2 ru,  ru = tan(x hFOV) / (2 t),  t = tan(hFOV / 2)   (Devernay and Faugeras' form)

where F is tan(hFOV / 2) or, in sensors with the defect, 2 hFOV / pi, and a0..a8 is Drap and Lefevre's series for the
inverse of 1 + k1 r^2 + k2 r^4 + k3 r^6 ("An Exact Formula for Calculating Inverse Radial Lens Distortions", Sensors
16(6), 2016), cut after nine terms (ChCameraSensor::CalcInvRadialModel). So hFOV of a radial lens is that of the
pinhole of the same focal length, not what the lens sees; and the FOV lens has one parameter, where ours, which keeps
the horizontal field, would need two.

The cut series misses the true inverse by more than a pixel in the corners of strong lenses (ART-1's camera: 1.27 px at
1280x720). `fit_coefficients` finds the k1, k2, k3 whose *series* comes nearest to our lens (0.08 px there), and these
are asked for. A lens is asked of Chrono directly where Chrono's rays meet ours within `DIRECT_LIMIT` everywhere in the
picture. Any other (FOV, strong distortion, principal point off the middle, pixels not square) is looked up in a larger
pinhole picture, by our own rays.

ChPhysCameraSensor (release 10 on): Chrono's own camera with aperture, exposure, ISO, vignetting, defocus and noise.

An option beside `Engine.render`: the picture is Chrono's from light to digital values, nothing of simjudge's chain is
in it. Python is given no buffer of its 16-bit picture, so it goes through ChFilterSave, which writes RGBA16 as raw
bytes: width, height, channels and bits as uint16, then the rows, bottom first (ChFilterSave.cpp flips PNGs only).
Its field of view follows from sensor width and focal length, 2 atan(width / 2 / focal length), and is right.

By src/chrono_sensor at 9.0.1, 10.0.0 and head (optix/shaders/lidar_raygen.cu, cuda/lidar_reduce.cu,
vulkan/ChFilterVulkanRTRender.cpp, filters/ChFilterLidarReduce.cpp):

* The lidar sweeps from right to left, both ends included: of a full turn, the last column is the first again. One more
  is asked for, and left out.
* The two shapes of a beam are exchanged: ELLIPTICAL is the grid of cells that a rectangle has, RECTANGULAR is round.
* Rays are traced to 1.5 times the farthest distance. Of several rays a beam, one beyond the range would move or take
  the beam's return: they are asked to end where the range does.
* Rays within 0.05 m are one return; how near they are weighs. No argument changes this.
* LAST_RETURN is there with Vulkan RT only; with OptiX it is silently the mean. Its intensity is its ray's own, not its
  share of the beam.
* DUAL_RETURN is the strongest and the first. Its buffer is twice as long, and Python's GetDIData hands out its first
  half. The three that make up our own dual are asked for one by one.
* No release wraps ChFilterLidarNoiseXYZI and ChFilterLidarIntensityClip for Python: noise and threshold are made here.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.sim.engines.chrono.modules import Factor
from simjudge.sim.sensors.camera.camera import ChronoPhysical
from simjudge.sim.sensors.camera.distortion import Coefficients
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarSpec, Returns, unit_directions

DIRECT_LIMIT = 0.1  # Pixels by which Chrono's own rays may miss ours


@dataclass(frozen=True)
class SensorRequest:
    """What a sensor of Chrono is asked for."""

    size: tuple[int, int]  # width and height, pixels
    field: float  # hFOV, radians
    coefficients: Coefficients | None = None  # k1, k2, k3 for SetRadialLensParameters; None: a pinhole


def slope_factor(field: float, factor: Factor) -> float:
    """F, the slope at the picture's right edge, of a pinhole of Chrono with hFOV = field (field: hFOV, radians)."""
    return math.tan(field / 2) if factor == "tangent" else 2 * field / math.pi


def field_for(tangent: float, factor: Factor) -> float:
    """hFOV, radians, at which a sensor with this factor ("linear": a defect) truly reaches the slope at its edge."""
    field = 2 * math.atan(tangent) if factor == "tangent" else math.pi * tangent / 2
    if not 0 < field < math.pi:
        raise SimjudgeError(
            f"a horizontal field of {math.degrees(2 * math.atan(tangent)):.0f} degrees: this Chrono's sensor with the"
            " field-of-view defect ends at 126.9; take a narrower lens, or a Chrono with PRs #819 and #834"
        )
    return field


def inverse_series(coefficients: Coefficients) -> tuple[float, ...]:
    """a0 to a8 of Drap and Lefevre's inverse, by reverting the power series (no copied coefficients).

    With q(s) = s (1 + k1 s^2 + k2 s^4 + k3 s^6), the series r(q) = q (1 + a0 q^2 + ...) solves r(q(s)) = s; Lagrange's
    formula gives a_n = [w^(n+1)] (1 + k1 w + k2 w^2 + k3 w^3)^-(2n+3) / (2n+3).
    """
    terms = 9
    base = np.zeros(terms + 1)
    base[: len(coefficients) + 1] = [1.0, *coefficients]
    out = []
    for n in range(terms):
        power = -(2 * n + 3)
        series = np.zeros(terms + 1)
        series[0] = 1.0
        for k in range(1, terms + 1):  # J.C.P. Miller's recurrence for the power of a series
            series[k] = sum((power * j - (k - j)) * base[j] * series[k - j] for j in range(1, k + 1)) / k
        out.append(float(series[n + 1]) / (2 * n + 3))
    return tuple(out)


def fit_coefficients(lens: Lens) -> Coefficients:
    """k1, k2, k3 for which Chrono's series comes nearest to a radial lens, by least squares over its picture."""
    from scipy.optimize import least_squares

    width, height = lens.size
    radius = np.linspace(0, math.hypot(width, height) / 2 / lens.focal[0], 257)[1:]
    slope = lens.slope(radius)
    density = np.gradient(radius, slope)

    def misses(coefficients: FloatArray) -> FloatArray:
        off: FloatArray = (_series_slope(radius, tuple(coefficients)) - slope) * density * lens.focal[0]
        return off

    found = least_squares(misses, lens.coefficients, x_scale=0.1, max_nfev=100)
    k1, k2, k3 = found.x.tolist()
    return k1, k2, k3


def _series_slope(radius: FloatArray, coefficients: tuple[float, ...]) -> FloatArray:
    square = radius * radius
    ratio = np.ones_like(radius)
    for power, a in enumerate(inverse_series((coefficients[0], coefficients[1], coefficients[2])), start=1):
        ratio = ratio + a * square**power
    slope: FloatArray = radius * ratio
    return slope


def chrono_slopes(asked: SensorRequest, pixels: npt.ArrayLike, factor: Factor) -> FloatArray:
    """Slopes (x, y) (..., 2), down positive, that Chrono's sensor looks along at pixel coordinates (..., 2).

    A pixel's centre is at a whole number, (0, 0) the upper left one, as in `simjudge.sim.sensors.camera.lens`.
    """
    width, height = asked.size
    uv = (np.asarray(pixels, np.float64) + 0.5) * 2 / np.array([width, height]) - 1
    uv = uv * np.array([1.0, height / width])
    slope: FloatArray = uv * slope_factor(asked.field, factor)
    if asked.coefficients is None:
        return slope
    square = np.sum((uv * math.tan(asked.field / 2)) ** 2, -1, keepdims=True)
    ratio = np.ones_like(square)
    for power, a in enumerate(inverse_series(asked.coefficients), start=1):
        ratio = ratio + a * square**power
    bent: FloatArray = slope * ratio
    return bent


def direct_request(lens: Lens, factor: Factor, *, oversample: int = 1) -> SensorRequest | None:
    """Size, field and coefficients to ask of a sensor for this lens; None where Chrono has no such lens."""
    width, height = lens.size
    centred = np.allclose(lens.centre, ((width - 1) / 2, (height - 1) / 2), atol=1e-6)
    square = math.isclose(*lens.focal, rel_tol=1e-9)
    if lens.model not in {"pinhole", "radial"} or not (centred and square):
        return None
    tangent = width / (2 * lens.focal[0])
    if factor == "linear" and math.pi * tangent / 2 >= math.pi:
        return None
    field = field_for(tangent, factor)
    size = (width * oversample, height * oversample)
    if lens.model == "pinhole" or not any(lens.coefficients):
        return SensorRequest(size, field)
    # The series' argument is uv tan(hFOV / 2), whatever the factor: coefficients for the slope we want there.
    scale = (tangent / math.tan(field / 2)) ** 2
    k1, k2, k3 = fit_coefficients(lens)
    return SensorRequest(size, field, (k1 * scale, k2 * scale**2, k3 * scale**3))


def direct_error(lens: Lens, factor: Factor) -> float:
    """Pixels by which Chrono's own rays miss this lens's, at most; infinite where Chrono has no such lens."""
    asked = direct_request(lens, factor)
    if asked is None:
        return math.inf
    width, height = lens.size
    x, y = (np.unique(np.linspace(0, side - 1, min(side, 81)).round()) for side in (width, height))
    pixels = np.stack(np.meshgrid(x, y), -1)
    slopes = chrono_slopes(asked, pixels, factor)
    seen = lens.project(np.concatenate([slopes, np.ones((*slopes.shape[:-1], 1))], -1))
    miss = np.linalg.norm(seen - pixels, axis=-1)
    return float(np.max(np.where(np.isfinite(miss), miss, np.inf)))


FULL = 65535
_WIDTH = 0.013  # Metres: the sensor's width, which Python cannot set alone


@dataclass(frozen=True)
class PhysCamera(ChronoPhysical):
    """`ChronoPhysical`, as Chrono takes it."""

    def sensor_width(self, lens: Lens) -> float:
        """Metres, at which the focal length gives the lens's field: the width, metres."""
        width, height = lens.size
        centred = np.allclose(lens.centre, ((width - 1) / 2, (height - 1) / 2), atol=1e-6)
        if lens.model not in {"pinhole", "radial"} or not centred or abs(lens.focal[0] / lens.focal[1] - 1) > 1e-9:
            raise UsageError("ChPhysCameraSensor has centred pinhole and radial lenses with square pixels only")
        return width / lens.focal[0] * self.focal_length

    def coefficients(self, lens: Lens) -> Coefficients | None:
        """For SetRadialLensParameters; None: a pinhole. Chrono's three coefficients, or None."""
        return fit_coefficients(lens) if lens.model == "radial" and any(lens.coefficients) else None

    def flags(self) -> tuple[bool, bool, bool, bool, bool]:
        """use_defocus_blur, use_vignetting, use_aggregator, use_noise, use_expsr_to_dv, in the constructor's order."""
        return self.defocus, self.vignetting, self.exposure_to_value, self.noise, self.exposure_to_value


def make_phys_camera(sensors: Any, core: Any, settings: PhysCamera, lens: Lens, side: int, parent: Any) -> Any:
    """The sensor at its parent's frame, `side` squared rays a pixel, gains and noise as Chrono sets them by default."""
    if not hasattr(sensors, "ChPhysCameraSensor"):
        raise SimjudgeError("this PyChrono has no ChPhysCameraSensor: it came with release 10.0.0")
    coefficients = settings.coefficients(lens)
    camera = _made(sensors, core, parent, lens.size, side, settings.flags(), coefficients)
    # The field is made of the sensor's width, which only comes with gains and noise, and of the focal length, which
    # comes alone: the default width of 13 mm stays, and the focal length is scaled to give the same field.
    scale = _WIDTH / settings.sensor_width(lens)
    camera.SetCtrlParameters(
        *(settings.aperture, settings.exposure, settings.iso), *(settings.focal_length * scale, settings.focus_distance)
    )
    return camera


def make_deep_camera(sensors: Any, core: Any, asked: SensorRequest, parent: Any) -> Any:
    """The sensor with all its stages off: linear light in 16 bits, 65535 for a radiance of 1, one ray a pixel."""
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
        *(parent, 1.0, core.ChFramed(), *size, model, side, False, False), *flags, *(legacy, 1.0, False, False)
    )
    if coefficients is not None:
        camera.SetRadialLensParameters(core.ChVector3f(*map(float, coefficients)))
    return camera


def saved_values(path: Path) -> npt.NDArray[np.uint16]:
    """The 16-bit picture (H, W, 4), upright, that ChFilterSave wrote; 65535 is Chrono's 1. Uint16 (H, W, 4)."""
    data = path.read_bytes()
    if len(data) < 8:
        raise SimjudgeError(f"{path}: {len(data)} bytes, no picture of ChFilterSave; is the disk full?")
    width, height, channels, bits = struct.unpack("<4H", data[:8])
    if (channels, bits) != (4, 16) or len(data) != 8 + 8 * width * height:
        raise SimjudgeError(f"{path}: {width}x{height}, {channels} channels of {bits} bits in {len(data)} bytes")
    rows = np.frombuffer(data, "<u2", offset=8).reshape(height, width, 4)
    return np.ascontiguousarray(rows[::-1])


Ranges = npt.NDArray[np.float32]

KERNEL = 0.05  # Metres: rays of a beam that are closer than this are one return of Chrono's
_BEYOND = 1.5  # Chrono traces this many times as far as a lidar's farthest distance
_NEAREST = 1e-3  # Metres: Chrono's default; where nothing nearer is to be left out
_GRID = ("LidarBeamShape_ELLIPTICAL", 1)
# Names of Chrono's, and their values where a build's bindings do not wrap the enumeration.
_MODES: dict[Returns, tuple[str, int]] = {
    "strongest": ("LidarReturnMode_STRONGEST_RETURN", 0),
    "mean": ("LidarReturnMode_MEAN_RETURN", 1),
    "first": ("LidarReturnMode_FIRST_RETURN", 2),
    "last": ("LidarReturnMode_LAST_RETURN", 3),
}
_RESOLUTION = next(field.default for field in fields(Lidar) if field.name == "resolution")


def check_own_lidar(where: str, lidar: Lidar) -> None:
    """Make sure that Chrono's lidar can have these beams: a grid, cast at once, counter-clockwise."""
    steps = np.diff(lidar.elevation)
    wrong = {
        "rings at equal steps": len(steps) > 0 and not np.allclose(steps, steps[0], atol=1e-6),
        "no ring_azimuth, ring_delay and head_deviation": bool(
            lidar.ring_azimuth or lidar.ring_delay or lidar.head_deviation
        ),
        "no start, and counter-clockwise beams": lidar.start is not None or lidar.clockwise,
        "window: 0": lidar.window > 0,
    }
    _refuse(where, wrong)


def check_own_returns(where: str, lidar: Lidar, sensors: Any) -> None:
    """Make sure that Chrono's lidar can find these returns."""
    if lidar.samples == 1:
        return
    wrong = {f"one resolution, {KERNEL:g} m: leave resolution out": lidar.resolution != _RESOLUTION}
    _refuse(where, wrong)
    if lidar.returns in ("last", "dual") and hasattr(sensors, "ChOptixSensor"):
        raise UsageError(
            f"{where}: with OptiX, Chrono's lidar knows no last return (it gives the mean instead), which returns:"
            f" {lidar.returns} needs; take strongest, first or mean, a build with Vulkan RT, or source: simjudge"
        )


def check_single_rays(where: str, lidar: Lidar) -> None:
    """Make sure that a lidar asks for one ray a beam, and its one return."""
    _refuse(where, {"samples: 1 and returns: strongest": lidar.samples > 1 or lidar.returns != "strongest"})


def _refuse(where: str, wrong: dict[str, bool]) -> None:
    for needed, lacks in wrong.items():
        if lacks:
            raise UsageError(f"{where}: its own lidar has {needed}; change that, or take source: simjudge")


def asked_scans(spec: LidarSpec) -> tuple[LidarSpec, ...]:
    """The lidars of one return each that Chrono is asked for."""
    lidar = spec.model()
    if lidar.samples == 1 or lidar.returns != "dual":
        return (spec,)
    modes: tuple[Returns, ...] = ("strongest", "last", "first")
    return tuple(replace(spec, lidar=replace(lidar, returns=mode)) for mode in modes)


def lidar_arguments(sensors: Any, lidar: Lidar) -> tuple[Any, ...]:
    """What ChLidarSensor's constructor takes after the pose."""
    columns = lidar.columns + 1 if lidar.full_turn else lidar.columns
    grid = (columns, len(lidar.elevation), lidar.field_of_view, lidar.elevation[-1], lidar.elevation[0])
    near, far = lidar.range
    if lidar.samples == 1:
        return (*grid, far)
    across, upwards = lidar.divergence
    shape, mode = (getattr(sensors, *named) for named in (_GRID, _MODES[lidar.returns]))
    return (*grid, far / _BEYOND, shape, lidar.samples, upwards, across, mode, max(near, _NEAREST))


def beam_angles(lidar: Lidar) -> tuple[FloatArray, FloatArray]:
    """Azimuth and elevation (rings, columns), radians, of Chrono's lidar beams: right to left, lowest ring first."""
    steps = lidar.columns if lidar.full_turn else max(1, lidar.columns - 1)
    around = np.arange(lidar.columns) / steps * lidar.field_of_view - lidar.field_of_view / 2
    azimuth, elevation = np.meshgrid(around, np.array(lidar.elevation))
    return azimuth, elevation


def points(scans: Sequence[Ranges], lidar: Lidar, random: np.random.Generator) -> FloatArray:
    """Points (N, 4), x, y, z (metres) and intensity, of a lidar's returns, beam by beam, the nearer return first."""
    found = _dual(*scans) if len(scans) > 1 else scans[0][None].astype(np.float64)
    ranges, power = found[..., 0], found[..., 1]
    near, far = lidar.range
    met = (ranges > 0) & (ranges >= near) & (ranges <= far)
    about, noise = lidar.intensity, lidar.noise
    weaker = np.ones_like(ranges)
    if np.isfinite(about.falloff):
        weaker[met] = np.minimum((about.falloff / ranges[met]) ** 2, 1.0)
    met &= power * weaker >= lidar.threshold
    power = (power if about.calibrated else power * weaker) * about.scale
    drawn = random.normal(size=(4, *ranges.shape))
    if noise.drop_out:
        met &= random.random(met.shape) >= noise.drop_out
    azimuth, elevation = beam_angles(lidar)
    azimuth, elevation = azimuth + drawn[1] * noise.azimuth, elevation + drawn[2] * noise.elevation
    ranges = ranges + drawn[0] * (noise.range[0] + noise.range[1] * ranges)
    power = np.maximum(power + drawn[3] * noise.intensity, 0.0)
    if about.levels:
        power = np.minimum(np.rint(power), about.levels)
    # Beam by beam: the returns of a beam stand beside each other.
    places = unit_directions(azimuth, elevation) * ranges[..., None]
    table = np.moveaxis(np.concatenate([places, power[..., None]], axis=-1), 0, 2)
    cloud: FloatArray = table[np.moveaxis(met, 0, 2)]
    return cloud


def _dual(strongest: Ranges, last: Ranges, first: Ranges) -> FloatArray:
    """Each beam's strongest return and its last (or first): (2, rings, columns, 2), nearer first; range 0: none."""
    one, other = strongest.astype(np.float64), last.astype(np.float64)
    same = np.abs(other[..., 0] - one[..., 0]) < KERNEL
    other[same] = first[same]
    again = np.abs(other[..., 0] - one[..., 0]) < KERNEL
    other[again] = 0.0
    both = np.stack([one, other])
    order = np.argsort(np.where(both[..., 0] > 0, both[..., 0], math.inf), axis=0, kind="stable")
    sorted_returns: FloatArray = np.take_along_axis(both, order[..., None], axis=0)
    return sorted_returns
