"""NIQE: how far the features of a picture's blocks lie from those of pristine photographs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.digest import hash_value
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage
from simjudge.objects.image_quality.scene_statistics import FEATURES, niqe_features

SHARP = 0.75
"""Share of the sharpest block's sharpness above which a block of a pristine photograph counts for the model."""


@dataclass(frozen=True, repr=False, eq=False)
class NiqeModel(ShortRepr):
    """A multivariate normal distribution of the features of pristine blocks.

    Attributes:
        origin: what it was fitted on, a phrase for people.
        mean: float64 (36,).
        covariance: float64 (36, 36).
    """

    origin: str
    mean: FloatArray
    covariance: FloatArray

    @property
    def digest(self) -> str:
        """SHA-256 of the numbers, 64 hexadecimal digits: scores of models with different digests are not comparable."""
        return hash_value((self.mean, self.covariance))


def niqe(pixels: RgbImage, model: NiqeModel) -> float:
    """Score a picture by NIQE: 0 is a picture like the model's, more is worse.

    sqrt((m - n)^T ((C + D) / 2)^+ (m - n)), with mean m and covariance C of the features of the picture's blocks, n and
    D of the model, and the pseudo-inverse +. All whole blocks count that can be fitted; a flat block cannot.

    Args:
        pixels: uint8 (H, W, 3), red first, or (H, W, 1).

    Returns:
        The score; NaN where fewer than two blocks of 96 x 96 can be fitted.

    Source:
        Mittal, Soundararajan and Bovik, IEEE Signal Processing Letters 20(3), 2013, equation 10.
    """
    features, _ = niqe_features(pixels)
    features = _fitted(features)
    if len(features) < 2:
        return float("nan")
    mean, covariance = features.mean(axis=0), np.cov(features, rowvar=False)
    difference = mean - model.mean
    inverse = np.linalg.pinv((covariance + model.covariance) / 2)
    return float(np.sqrt(max(0.0, float(difference @ inverse @ difference))))


def fit_niqe_model(photographs: Iterable[RgbImage], origin: str) -> NiqeModel:
    """Fit a model to the sharp blocks of pristine photographs.

    Args:
        photographs: uint8 (H, W, 3) each, red first.

    Source:
        Mittal, Soundararajan and Bovik 2013, section II.
    """
    rows = [sharp_features(pixels) for pixels in photographs]
    features = np.concatenate(rows) if rows else np.empty((0, FEATURES))
    if len(features) <= FEATURES:
        raise SimjudgeError(
            f"{origin}: {len(features)} sharp blocks of 96 x 96 pixels; at least {FEATURES + 1} are needed to fit a"
            " NIQE model: give more photographs, or larger ones"
        )
    return NiqeModel(origin, features.mean(axis=0), np.cov(features, rowvar=False))


def sharp_features(pixels: RgbImage) -> FloatArray:
    """The features of the blocks of a photograph that count for a model.

    Args:
        pixels: uint8 (H, W, 3), red first, or (H, W, 1).

    Returns:
        float64 (B, 36): of the blocks that are sharper than 0.75 times the sharpest, and not flat.
    """
    features, sharpness = niqe_features(pixels)
    return _fitted(features[sharpness > SHARP * sharpness.max(initial=0.0)])


def _fitted(features: FloatArray) -> FloatArray:
    return features[np.isfinite(features).all(axis=1)]
