"""Cloud cover, sun and fog from the peaks of histograms: of bands of the sky, and of the ground at some distances.

With the scene's clear light known at the same places, the linear colours of the peaks are

    sky, s the sine of the elevation      T (h + (z - h) s) + A (1 - T),    T = exp(-beta C / s), 1 without fog
    ground, d the distance                t (q u S + z / z0 Z + h / h0 H) + A (1 - t), t = exp(-beta d)

z and h are zenith and horizon of the sky under clouds, a times as bright as the scene's, z0 and h0. S, Z and H are the
ground's light by the scene's sun, zenith and horizon; light of a sky is linear in these. q is the brightness of the sun
and u what clouds leave of it (`simjudge.sim.scene.clouds`). The fog has the extinction beta, the colour A, and ends C
metres above the camera; where it has no end, it hides the sky.

Told are the cover, q, a, beta, C and A, by least squares of sRGB values. A saturated channel counts only where it is
found too dark. Of the sun's elevation and brightness only the light on level ground is told: histograms hold no
directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from scipy.optimize import least_squares

from simjudge.core.arrays import BoolArray, FloatArray, ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage
from simjudge.objects.image_quality.colour_histograms import BINS
from simjudge.sim.scene.clouds import GradientSky, clouded, sun_left
from simjudge.sim.scene.scene_fields import image_to_linear, luminance, to_srgb

CEILINGS = (20.0, 50.0, 100.0, 200.0)
"""Metres above the camera where fog may end."""
SATURATED = 252 / 255
"""sRGB value from which a peak may stand for any brighter light."""
LEAST_PIXELS = 50
"""Of a part of the pictures, for a peak."""
_LEAST_COLOUR = 0.1
"""Saturation of the scene's zenith below which clouds look like no clouds."""
_BINS_PER_OCTAVE, _TRIANGLE, _WITHIN = 24, np.array([1, 2, 3, 4, 3, 2, 1]), 1 / 6
_POOR = 6.0
"""Levels of 255: root mean square of the peaks from which an estimate is not to be trusted."""
_OVERCAST = 0.97
_LEAST_VALUES = 4
"""Unsaturated values of red, green or blue of the sky, for cover and brightness."""
_LEAST_FOG = 0.1
"""Share of the farthest ground's light that fog must take at least."""
_FOG_TINT = 0.4
"""Logarithm of red, or blue, over green of fog: the most."""


class SkyLight(NamedTuple):
    """Linear RGB of the peaks."""

    sky: FloatArray  # (K, 3), of bands of the sky
    ground: FloatArray  # (J, 3), at distances


@dataclass(frozen=True, repr=False, eq=False)
class ClearScene(ShortRepr):
    """What is known of the scene without clouds and fog."""

    sky: GradientSky
    level_sun: float  # luminance of the sun's irradiance of level ground
    sine: FloatArray  # (K,), sine of the elevation of bands of the sky
    distance: FloatArray  # (J,), metres along the ray to parts of the ground
    by_sun: FloatArray  # (J, 3), linear light of the ground by the sun
    by_zenith: FloatArray  # (J, 3), by the sky's share that grows with the sine of the elevation
    by_horizon: FloatArray  # (J, 3), by the rest of the sky
    # What the camera makes of light: dark corners and white balance, by which linear colours are multiplied
    sky_gain: FloatArray | float = 1.0  # (K, 3)
    ground_gain: FloatArray | float = 1.0  # (J, 3)


@dataclass(frozen=True)
class FoundFog:
    """Fog."""

    density: float  # extinction coefficient, 1/m
    colour: tuple[float, float, float]  # linear RGB radiance
    ceiling: float  # metres above the camera; inf: none

    @property
    def visibility(self) -> float:
        """Metres at which 2 % of a contrast is left."""
        return -math.log(0.02) / self.density


@dataclass(frozen=True)
class SkyEstimate:
    """What peaks tell of sky, sun and fog."""

    cloud_cover: float
    sun: float  # factor of the scene's irradiance, before clouds take their part
    sky: float  # factor of the scene's radiance, likewise
    fog: FoundFog | None
    error: dict[str, float]  # standard errors of cloud_cover, sun, sky; NaN for what is not told
    off: float  # root mean square of what is left, levels of 255
    notes: tuple[str, ...] = ()

    @property
    def trusted(self) -> bool:
        """Whether the peaks are where the estimate has them."""
        return self.off <= _POOR


def peak(values: FloatArray, full: float = 1.0) -> tuple[float, BoolArray]:
    """The peak of a histogram of 36 bins, and which values are in it: the fullest bin and both beside it."""
    bins = np.minimum((values * (BINS / full)).astype(np.intp), BINS - 1)
    top = int(np.bincount(bins, minlength=BINS).argmax())
    inside: BoolArray = np.abs(bins - top) <= 1
    return float(values[inside].mean()), inside


def peak_pixels(pixels: RgbImage) -> BoolArray:
    """Which pixels (N, 3) are in the peak of their value; none where they are too few.

    The histogram is of the logarithm of the linear value, smoothed by a triangle: light k times as bright then moves
    the peak and changes nothing else. In the peak is what differs from it by less than a sixth of an octave.
    """
    value = pixels.max(axis=1, initial=0)
    if len(pixels) < LEAST_PIXELS:
        return np.zeros(len(pixels), np.bool_)
    octave = np.log2(np.maximum(image_to_linear(value), 1e-4)) + 14
    counts = np.convolve(np.bincount((octave * _BINS_PER_OCTAVE).astype(np.intp)), _TRIANGLE, mode="same")
    top = (counts.argmax() + 0.5) / _BINS_PER_OCTAVE
    inside: BoolArray = np.abs(octave - top) < _WITHIN
    return inside


def mean_of(values: FloatArray, chosen: BoolArray) -> FloatArray:
    """The mean of the chosen rows; NaN of none."""
    mean: FloatArray = values[chosen].mean(axis=0) if chosen.any() else np.full(values.shape[1:], np.nan)
    return mean


def peak_colour(pixels: RgbImage) -> FloatArray:
    """The mean linear colour of the pixels in the peak."""
    return mean_of(np.asarray(image_to_linear(pixels), np.float64), peak_pixels(pixels))


def hsv_peaks(pixels: RgbImage) -> tuple[float, float, float]:
    """Peaks of hue in degrees, saturation and value of pixels (N, 3); gray ones have no hue."""
    hsv = cv2.cvtColor(pixels[None].astype(np.float32) / np.float32(255), cv2.COLOR_RGB2HSV)[0].astype(np.float64)
    coloured = hsv[hsv[:, 1] > 0, 0]
    hue = peak(np.minimum(coloured, 359.999), 360.0)[0] if len(coloured) else math.nan
    return hue, peak(hsv[:, 1])[0], peak(hsv[:, 2])[0]


def predict(scene: ClearScene, cover: float, sun: float, sky: float, fog: FoundFog | None = None) -> SkyLight:
    """The linear colours of the peaks under a sky."""
    clear = GradientSky(*(sky * radiance for radiance in scene.sky))
    above = clouded(clear, sun * scene.level_sun, cover)
    bands = above.horizon + (above.zenith - above.horizon) * scene.sine[:, None]
    ground = sun * sun_left(cover) * scene.by_sun
    ground = ground + _ratio(above.zenith, scene.sky.zenith) * scene.by_zenith
    ground = ground + _ratio(above.horizon, scene.sky.horizon) * scene.by_horizon
    if fog is None:
        return SkyLight(bands * scene.sky_gain, ground * scene.ground_gain)
    left = np.exp(-fog.density * fog.ceiling / scene.sine)[:, None] if math.isfinite(fog.ceiling) else 0.0
    near = np.exp(-fog.density * scene.distance)[:, None]
    own = np.array(fog.colour)
    bands, ground = bands * left + own * (1 - left), ground * near + own * (1 - near)
    return SkyLight(bands * scene.sky_gain, ground * scene.ground_gain)


def _ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    return a / np.maximum(b, 1e-6)


def estimate_sky(scene: ClearScene, seen: SkyLight) -> SkyEstimate:
    """Find the sky under which the scene's peaks are those seen; NaN in them is left out.

    Fog is taken where it explains more than its parameters would by chance (Bayes' information criterion).
    """
    peaks = to_srgb(np.concatenate([seen.sky, seen.ground]))
    peaks = peaks[np.isfinite(peaks)]
    if len(peaks) and (peaks.min() >= SATURATED or peaks.max() <= 1 - SATURATED):
        how = "saturated" if peaks.min() >= SATURATED else "black"
        raise SimjudgeError(f"the pictures are {how} in sky and ground, which tells nothing: change the exposure")
    candidates = [_Candidate(scene, seen, ceiling) for ceiling in (None, math.inf, *CEILINGS)]
    fits = [candidate.fit() for candidate in candidates if candidate.possible]
    best = min(fits, key=lambda fit: fit.criterion)
    return best.estimate


class _SkyFit(NamedTuple):
    criterion: float
    estimate: SkyEstimate


class _Candidate:
    """One kind of sky: without fog (ceiling None), with fog that hides the sky (inf), or that ends above."""

    def __init__(self, scene: ClearScene, seen: SkyLight, ceiling: float | None, *, overcast: bool = False) -> None:
        self._scene, self._seen, self._ceiling, self._overcast = scene, seen, ceiling, overcast
        wanted = to_srgb(np.concatenate([seen.sky, seen.ground]))
        self._used = np.isfinite(wanted)
        self._wanted = wanted[self._used]
        # Sun and sky cannot be told apart where fog or clouds hide the sky or it is saturated: one brightness for all.
        unsaturated = np.count_nonzero(to_srgb(seen.sky[np.isfinite(seen.sky)]) < SATURATED)
        self._blank = unsaturated < _LEAST_VALUES
        self._hidden = ceiling == math.inf
        self._together = self._hidden or bool(self._blank) or overcast
        lower = [0.0, -4.0, -4.0]
        upper = [1.0, 3.0, 3.0]
        start = [0.4, 0.0, 0.0]
        if self._together:
            # Where the sky is saturated, the least cover for which it is so bright beside the ground.
            lower, upper, start = [0.0, -4.0], [1e-9 if self._hidden else 1.0, 3.0], [0.0, 0.0]
        if ceiling is not None:
            thinnest = math.log(_LEAST_FOG / float(np.nanmax(scene.distance)))
            lower += [thinnest, -6.0, -_FOG_TINT, -_FOG_TINT]
            upper += [1.0, 1.5, _FOG_TINT, _FOG_TINT]
            around = float(np.nanmean(seen.sky)) if np.isfinite(seen.sky).any() else 0.5
            start += [thinnest + 1, math.log(min(max(around, 0.01), 2.0)), 0.0, 0.0]
        self._bounds, self._start = (lower, upper), start

    @property
    def possible(self) -> bool:
        ends = self._ceiling is not None and math.isfinite(self._ceiling)
        return len(self._wanted) > len(self._start) and not (ends and self._blank)

    def _read(self, parameters: FloatArray) -> tuple[float, float, float, FoundFog | None]:
        values = [float(value) for value in parameters]
        if self._together:
            cover, sun, sky, rest = values[0], math.exp(values[1]), math.exp(values[1]), values[2:]
        else:
            cover, sun, sky, rest = values[0], math.exp(values[1]), math.exp(values[2]), values[3:]
        if self._ceiling is None:
            return cover, sun, sky, None
        density, green, red, blue = (math.exp(value) for value in rest)
        return cover, sun, sky, FoundFog(density, (red * green, green, blue * green), self._ceiling)

    def _left(self, parameters: FloatArray) -> FloatArray:
        found = predict(self._scene, *self._read(parameters))
        values = to_srgb(np.clip(np.concatenate(found), 0, 4))[self._used]
        left: FloatArray = values - self._wanted
        return np.where((self._wanted >= SATURATED) & (left > 0), 0.0, left)

    def fit(self) -> _SkyFit:
        starts = [self._start] if self._hidden else [[cover, *self._start[1:]] for cover in (0.1, 0.5, 0.9)]
        solutions = [least_squares(self._left, start, bounds=self._bounds, x_scale="jac") for start in starts]
        best = min(solutions, key=lambda solution: (round(float(solution.cost), 6), float(solution.x[0])))
        count, free = len(self._wanted), len(best.x)
        square = max(2 * float(best.cost), count * (0.25 / 255) ** 2)
        criterion = count * math.log(square / count) + free * math.log(count)
        cover, sun, sky, fog = self._read(best.x)
        if not self._together and cover > _OVERCAST:
            return _Candidate(self._scene, self._seen, self._ceiling, overcast=True).fit()
        error, notes = self._errors(best.jac, square / max(count - free, 1)), []
        if self._overcast:
            notes.append("the sky is overcast: sun and sky are told only together")
        elif self._together:
            why = "fog hides the sky: cloud cover is not told"
            if not self._hidden:
                why = f"the sky is saturated: cloud cover {cover:.2f} is the least that makes it so bright"
            notes.append(f"{why}, and sun and sky are told only together")
        if not (self._hidden or self._blank) and _saturation(self._scene.sky.zenith) < _LEAST_COLOUR:
            error["cloud_cover"] = math.nan
            notes.append("the scene's clear sky is gray: cloud cover is not told by colour")
        off = math.sqrt(2 * float(best.cost) / count) * 255
        if off > _POOR:
            notes.append(
                f"the peaks are off by {off:.0f} levels: surfaces or the camera's tone curve differ from the scene's,"
                " and none of this can be trusted"
            )
        return _SkyFit(criterion, SkyEstimate(cover, sun, sky, fog, error, off, tuple(notes)))

    def _errors(self, jacobian: FloatArray, variance: float) -> dict[str, float]:
        spread = np.sqrt(np.clip(np.diag(np.linalg.pinv(jacobian.T @ jacobian)) * variance, 0, None))
        if self._together:
            return {"cloud_cover": float(spread[0]) if self._overcast else math.nan, "sun": math.nan, "sky": math.nan}
        return dict(zip(("cloud_cover", "sun", "sky"), (float(value) for value in spread), strict=False))


def _saturation(linear: FloatArray) -> float:
    encoded = to_srgb(linear / max(float(luminance(linear)), 1e-9) * 0.2)
    return float(np.ptp(encoded) / encoded.max())
