"""The settings of the method, and its presets."""

from __future__ import annotations

from dataclasses import dataclass, replace

from simjudge.core.errors import UsageError


@dataclass(frozen=True)
class Method:
    """How contexts are cut out and compared.

    Attributes:
        theta: similarity threshold of Eq. [2].
        patch: height and width of the patch, pixels.
        mask_factor: blank the patch outside the anchor's box grown by this factor; None keeps the whole patch.
        class_aware: one mask plane a class; False is Eq. [2] read literally, one plane for all.
        strict: similar means S > theta instead of S >= theta.
        min_batch_size: a context is compared where both A_c and B_c hold at least this many samples.
        integer_boxes: boxes, IoU and assignment as the authors' public tool has them.
        min_score: predictions below this score do not take part.
    """

    theta: float = 0.8
    patch: tuple[int, int] = (120, 120)
    mask_factor: float | None = None
    class_aware: bool = True
    strict: bool = False
    min_batch_size: int = 1
    integer_boxes: bool = False
    min_score: float = 0.25

    def __post_init__(self) -> None:
        """Refuse settings that make no sense."""
        if not min(self.patch) >= 1 or max(self.patch) > 4096:
            raise UsageError(f"patch {self.patch[0]}x{self.patch[1]}: both sides must be 1 to 4096 pixels")
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
    "cpd": Method(
        theta=0.9, patch=(64, 64), mask_factor=1.5, strict=True, integer_boxes=True
    ),
}


def preset_with(
    preset: str,
    theta: float | None = None,
    patch: str | None = None,
    mask_factor: float | None = None,
    min_score: float | None = None,
    *,
    class_aware: bool = True,
) -> Method:
    """A preset, with what is given changed; `patch` as in `patch_size`."""
    method = PRESETS[preset]
    return replace(
        method,
        theta=method.theta if theta is None else theta,
        patch=method.patch if patch is None else patch_size(patch),
        mask_factor=method.mask_factor if mask_factor is None else mask_factor,
        class_aware=class_aware,
        min_score=method.min_score if min_score is None else min_score,
    )


def patch_size(text: str) -> tuple[int, int]:
    """Height and width in pixels from "120x120" or "120"."""
    parts = text.lower().split("x")
    if len(parts) <= 2 and all(part.strip().isdecimal() for part in parts):
        return int(parts[0]), int(parts[-1])
    raise UsageError(f"patch {text!r}: write height x width in pixels, as in 120x120")
