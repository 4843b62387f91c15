"""How bright the lights of a rendered scene must be so that its pictures are as bright, place by place, as others.

Light adds up: a picture in linear light is a sum of what each kind of light alone gives. So a few renderings, each
without one kind, tell by least squares how bright each kind is in another camera's pictures of the same view.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from simjudge.core.arrays import FloatArray
from simjudge.core.images import RgbImage
from simjudge.sim.sensors.camera.isp import linear_light

LEAST_CHANGE = 0.1
"""Logarithm of a factor from which a kind of light counts as changed."""
_GREEN = 1
_DARKEST, _BRIGHTEST = 6, 245
_BLUR, _STRIDE = 2.0, 4
_MOST_SPREAD = 0.35
"""Standard deviation of a factor's logarithm above which it is not told."""
_FLOOR = 0.02
_JACKKNIFE = 8


@dataclass(frozen=True)
class LightFit:
    """How bright each kind of light is in the other pictures.

    Attributes:
        gain: of all kinds together: what an exposure does.
        factors: beside the gain, by kind; 1 where it cannot be told from 1.
    """

    gain: float
    factors: Mapping[str, float]


def fit_light(pictures: Sequence[RgbImage], lights: Sequence[Mapping[str, FloatArray]]) -> LightFit:
    """Fit the brightness of each kind of light.

    A change that all kinds share cannot be told from an exposure. The gain is taken under which most kinds are left as
    they are; of several, the one nearest to 1.

    Args:
        pictures: uint8 (H, W, 3), display values (sRGB).
        lights: for each picture, by kind of light, its part of the linear green light, float (H, W) or another size.

    Returns:
        The gain and the factors; all are 1 where the pictures tell nothing.
    """
    kinds = list(lights[0]) if lights else []
    nothing = LightFit(1.0, dict.fromkeys(kinds, 1.0))
    rows = [_equations(picture, light, kinds) for picture, light in zip(pictures, lights, strict=True)]
    if len(kinds) < 2 or sum(len(each) for each in rows) < 10 * len(kinds):
        return nothing
    value, spread = _solve(rows), np.zeros(len(kinds))
    count = min(_JACKKNIFE, len(rows))
    groups = [rows[start::count] for start in range(count)]
    if len(groups) > 1:
        others = [[row for other in groups if other is not each for row in other] for each in groups]
        left_out = np.stack([_solve(each) for each in others])
        logs = np.log(np.maximum(left_out, 1e-3))
        spread = logs.std(axis=0) * math.sqrt(len(groups) - 1)
    logs = np.log(np.maximum(value, 1e-3))
    known = spread <= _MOST_SPREAD
    if known.sum() < 2:
        return nothing
    gain = _common_gain(logs[known])
    changed = known & (np.abs(logs - gain) > np.maximum(LEAST_CHANGE, 2 * spread))
    factors = {kind: float(np.exp(logs[k] - gain)) if changed[k] else 1.0 for k, kind in enumerate(kinds)}
    return LightFit(math.exp(gain), factors)


def _common_gain(logs: FloatArray) -> float:
    """The logarithm of the gain under which most kinds are unchanged; of several, the one nearest to none."""
    candidates = [0.0, *sorted(logs.tolist(), key=abs)]
    counts = [int((np.abs(logs - each) <= LEAST_CHANGE).sum()) for each in candidates]
    return float(candidates[int(np.argmax(counts))])


def _equations(picture: RgbImage, light: Mapping[str, FloatArray], kinds: Sequence[str]) -> FloatArray:
    """(N, K + 1): the parts of the light, then what the picture holds, each row weighted by its brightness."""
    size = next(iter(light.values())).shape[1::-1]
    if picture.shape[1::-1] != size:
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    inside = ((picture >= _DARKEST) & (picture <= _BRIGHTEST)).all(axis=2).astype(np.float32)
    share = _smooth(inside)
    seen = linear_light(picture.astype(np.float32) / np.float32(255))[:, :, _GREEN]
    planes = [_smooth(np.asarray(each, np.float32) * inside) for each in (*(light[kind] for kind in kinds), seen)]
    good = share > 0.5
    table = np.stack([each[good] / share[good] for each in planes], axis=1).astype(np.float64)
    return np.asarray(table / (table[:, -1:] + _FLOOR))


def _smooth(plane: npt.ArrayLike) -> FloatArray:
    return np.asarray(cv2.GaussianBlur(np.asarray(plane, np.float32), (0, 0), _BLUR)[::_STRIDE, ::_STRIDE], np.float64)


def _solve(rows: Sequence[FloatArray]) -> FloatArray:
    table = np.concatenate(rows)
    found, _ = nnls(table[:, :-1], table[:, -1])
    return np.asarray(found)
