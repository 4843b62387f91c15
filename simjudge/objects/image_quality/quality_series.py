"""Quality of whole pictures over time, as series; PIQE, without a model, with a map of what is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage
from simjudge.core.progress import ProgressBar, no_progress
from simjudge.objects.image_quality import piqe_class
from simjudge.objects.image_quality.compiled_loops import ACTIVE_BLOCK, ARTIFACT_BLOCK, BLOCK, NOISY_BLOCK, piqe_blocks
from simjudge.objects.image_quality.quality_models import QualityModels, brisque, niqe, read_quality_models
from simjudge.objects.image_quality.quality_settings import ImageQualitySettings
from simjudge.objects.image_quality.scene_statistics import gray_levels, normalized_luminance
from simjudge.objects.series import WHOLE, Series, stamps_to_seconds


@dataclass(frozen=True, repr=False, eq=False)
class Piqe(ShortRepr):
    """What PIQE says of a picture."""

    score: float  # 0 is best, 100 worst; 100 for a picture without an active block
    # uint8 (ceil(H / 16), ceil(W / 16)), bits of ACTIVE_BLOCK, ARTIFACT_BLOCK and NOISY_BLOCK
    blocks: npt.NDArray[np.uint8]
    width: int  # width, height: of the picture, pixels
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

        Returns bool (H, W).
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


_DEFAULTS = ImageQualitySettings()


def image_quality_series(
    frames: FrameSet,
    settings: ImageQualitySettings = _DEFAULTS,
    *,
    losses: Losses | None = None,
    progress: ProgressBar = no_progress,
) -> list[Series]:
    """Measure the quality of every picture of a set.

    `frames`: the set, ascending in time. Without stamps, the frame's number stands for the time; returns series of the
    whole picture, 0 best: "piqe" (to 100), "niqe", and "brisque" where settings name a model; and the shares of PIQE's
    blocks, 0 to 1: "piqe active share", "piqe artifact share" and "piqe noise share". Empty where the set has no
    pictures.
    """
    images = frames.images
    if images is None:
        return []
    models = read_quality_models(settings)
    losses = Losses() if losses is None else losses
    rows: list[dict[str, float]] = []
    with progress("image quality") as advance:
        for index in range(len(frames)):
            try:
                rows.append(picture_quality(images.read(index), models))
            except ImageError as error:
                losses.add("pictures that cannot be read", str(error))
                rows.append({})
            advance(index + 1, len(frames))
    time = _frame_times(frames)
    names = dict.fromkeys(name for row in rows for name in row)
    return [Series(name, "", WHOLE, time, np.array([row.get(name, np.nan) for row in rows])) for name in names]


def picture_quality(pixels: RgbImage, models: QualityModels) -> dict[str, float]:
    """Measure one picture. `pixels`: uint8 (H, W, 3), red first."""
    found = piqe(pixels)
    values = {
        "piqe": found.score,
        "piqe active share": found.share(ACTIVE_BLOCK),
        "piqe artifact share": found.share(ARTIFACT_BLOCK),
        "piqe noise share": found.share(NOISY_BLOCK),
        "niqe": niqe(pixels, models.niqe),
    }
    return values if models.brisque is None else {**values, "brisque": brisque(pixels, models.brisque)}


def _frame_times(frames: FrameSet) -> FloatArray:
    """Stamps in seconds; frames' numbers where not all frames have one."""
    if frames.stamped.all():
        return stamps_to_seconds(frames.stamp)
    return np.arange(len(frames), dtype=np.float64)
