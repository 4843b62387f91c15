"""PIQE: a score of a picture's quality from its blocks, without a model, and a map of what is wrong where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.images import RgbImage
from simjudge.objects.image_quality.compiled_loops import (
    ACTIVE_BLOCK,
    ARTIFACT_BLOCK,
    BLOCK,
    NOISY_BLOCK,
    piqe_blocks,
)
from simjudge.objects.image_quality.luminance import gray_levels, normalized_luminance
from simjudge.objects.image_quality.piqe_scale import piqe_class


@dataclass(frozen=True, repr=False, eq=False)
class Piqe(ShortRepr):
    """What PIQE says of a picture.

    Attributes:
        score: 0 is best, 100 worst; 100 for a picture without an active block.
        blocks: uint8 (ceil(H / 16), ceil(W / 16)), bits of ACTIVE_BLOCK, ARTIFACT_BLOCK and NOISY_BLOCK.
        width, height: of the picture, pixels.
    """

    score: float
    blocks: npt.NDArray[np.uint8]
    width: int
    height: int

    def has(self, kind: int) -> BoolArray:
        """Which blocks are of a kind."""
        found: BoolArray = (self.blocks & kind) != 0
        return found

    def share(self, kind: int) -> float:
        """The share of all blocks that are of a kind, 0 to 1."""
        return float(np.mean(self.has(kind)))

    def mask(self, kind: int) -> BoolArray:
        """Which pixels lie in blocks of a kind: MATLAB's ActivityMask, NoticeableArtifactsMask and NoiseMask.

        Returns:
            bool (H, W).
        """
        pixels = self.has(kind).repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)
        return pixels[: self.height, : self.width]

    @property
    def word(self) -> str:
        """The class of the score."""
        return piqe_class(self.score)


def piqe(pixels: RgbImage) -> Piqe:
    """Rate a picture by PIQE, as MATLAB's piqe does.

    The picture is continued by its mirror image to a multiple of 16. A block of 16 x 16 whose variance v of MSCN is
    above 0.1 is active. An active block has an artifact where six neighbours along one of its edges deviate by less
    than 0.1. It has noise where its deviation s is above 2 |s - r| / max(s, r); r is the deviation of its two middle
    columns over the one of the others. The score is 100 (1 + sum D) / (1 + N) over the N active blocks, with D = 1 - v
    for an artifact plus v for noise.

    Args:
        pixels: uint8 (H, W, 3), red first, or (H, W, 1).

    Source:
        Venkatanath et al., Blind image quality evaluation using perception based features, NCC 2015.
    """
    height, width = pixels.shape[:2]
    gray = np.pad(gray_levels(pixels), ((0, -height % BLOCK), (0, -width % BLOCK)), mode="symmetric")
    mscn, _ = normalized_luminance(gray, "repeat")
    blocks, variance = piqe_blocks(mscn)
    return Piqe(_score(blocks, variance), blocks, width, height)


def _score(blocks: npt.NDArray[np.uint8], variance: FloatArray) -> float:
    artifact, noise = (blocks & ARTIFACT_BLOCK) != 0, (blocks & NOISY_BLOCK) != 0
    distortion = (1.0 - variance[artifact]).sum() + variance[noise].sum()
    return float(100.0 * (1.0 + distortion) / (1.0 + np.count_nonzero(blocks & ACTIVE_BLOCK)))
