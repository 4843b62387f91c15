"""The settings of the method, and its presets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from simjudge.core.errors import UsageError

MOST_DRAWS = 100_000
"""Bootstrap draws at most."""
LARGEST_PATCH = 4096
"""Side of a patch at most, pixels."""


@dataclass(frozen=True)
class Method:
    """How contexts are cut out and compared.

    Attributes:
        patch: height and width of the patch, pixels.
        mask_factor: blank the patch outside the anchor's box grown by this factor; None keeps the whole patch.
        class_aware: one mask plane a class; False is Eq. [2] read literally, one plane for all.
        strict: similar means S > theta instead of S >= theta.
        min_batch_size: a context is compared where both A_c and B_c hold at least this many samples.
        integer_boxes: boxes, IoU and assignment as the authors' public tool has them.
        min_score: predictions below this score do not take part.
        paint_masks: objects that have a mask are painted into patches by it; False: all are painted as boxes.
        cuboid_iou: IoU where objects and predictions have cuboids: "3d" of volumes, "bev" of footprints.
        stride: of label pictures, pixels from patch to patch; None for the patch's size.
    """

    theta: float = 0.8
    patch: tuple[int, int] = (120, 120)
    mask_factor: float | None = None
    class_aware: bool = True
    strict: bool = False
    min_batch_size: int = 1
    integer_boxes: bool = False
    min_score: float = 0.25
    paint_masks: bool = True
    cuboid_iou: str = "3d"
    stride: int | None = None

    def __post_init__(self) -> None:
        """Refuse settings that make no sense."""
        if not min(self.patch) >= 1 or max(self.patch) > LARGEST_PATCH:
            raise UsageError(f"patch {self.patch[0]}x{self.patch[1]}: both sides must be 1 to {LARGEST_PATCH} pixels")
        if not -1e9 < self.theta < 1e9:
            raise UsageError(f"theta {self.theta}: must be a number, usually 0.5 to 0.9")
        if self.mask_factor is not None and not 0 < self.mask_factor < 1e6:
            raise UsageError(f"mask factor {self.mask_factor}: must be positive")
        if self.min_batch_size < 1:
            raise UsageError(f"minimum batch size {self.min_batch_size}: must be 1 or more")
        if not 0 <= self.min_score <= 1:
            raise UsageError(f"min score {self.min_score}: must be in [0, 1]")

    def with_theta(self, theta: float) -> Method:
        """The same settings at another threshold."""
        return replace(self, theta=theta)


PRESETS = {
    "paper": Method(),
    # The authors' public tool, uwsbel/sbel-reproducibility 2024/CPD, with its own defaults.
    "cpd": Method(theta=0.9, patch=(64, 64), mask_factor=1.5, strict=True, integer_boxes=True),
}


def patch_size(given: str | int | Sequence[int]) -> tuple[int, int]:
    """Height and width of a patch.

    Args:
        given: text, "120x160" (height x width) or "120"; one whole number for a square; or height and width. Pixels.
    """
    parts = given.lower().split("x") if isinstance(given, str) else given if isinstance(given, Sequence) else [given]
    if 1 <= len(parts) <= 2 and all(str(part).strip().isdecimal() for part in parts):
        return int(parts[0]), int(parts[-1])
    raise UsageError(f"patch {given!r}: write height x width in pixels, as in 120x120")


def patch_text(size: tuple[int, int]) -> str:
    """A patch size as `patch_size` reads it, e.g. "120x120".

    Args:
        size: height and width, pixels.
    """
    return f"{size[0]}x{size[1]}"
