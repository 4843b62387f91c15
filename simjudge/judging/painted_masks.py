"""What the patches of two sets are painted from (method.md, section 3), and how large they are where none is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from simjudge.core.errors import Log
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.judging.compare_settings import AUTO_MASKS, IGNORE_MASKS, MethodSettings
from simjudge.method.method import patch_text
from simjudge.method.patch_size import default_patch

BOXES = "boxes"
MASKS = "masks"
MASKS_AND_BOXES = "masks and boxes"
LABEL_PICTURES = "label pictures"
FEATURES = "feature vectors"


@dataclass(frozen=True)
class PaintedGeometry:
    """What patches are painted from."""

    use_masks: bool  # whether objects that have a mask are painted by it
    masked: tuple[tuple[int, int], ...] = ()  # (objects that have a mask, objects) of each set
    pixels: bool = False  # whether patches are cut from label pictures
    features: bool = False  # whether contexts are feature vectors

    @property
    def name(self) -> str:
        """BOXES, MASKS, MASKS_AND_BOXES, LABEL_PICTURES or FEATURES."""
        if self.features:
            return FEATURES
        if self.pixels:
            return LABEL_PICTURES
        if not self.use_masks or not any(masked for masked, _ in self.masked):
            return BOXES
        return MASKS if all(masked == count for masked, count in self.masked) else MASKS_AND_BOXES

    @property
    def note(self) -> str:
        """What a person should know of it; empty where no set has masks."""
        if self.features or not any(masked for masked, _ in self.masked):
            return ""
        counts = ", ".join(
            f"{which} {masked} of {count}" for which, (masked, count) in zip("AB", self.masked, strict=False)
        )
        have = f"objects with a mask: {counts}"
        if self.name == MASKS:
            return f"patches are painted from masks ({have})"
        if self.name == BOXES:
            return f"note: patches are painted from boxes, masks are not used ({have}); --masks use paints them"
        return f"note: patches are painted from masks and boxes ({have}); mixed geometry makes like contexts unlike"


def painted_geometry(sets: Sequence[FrameSet], choice: str) -> PaintedGeometry:
    """Settle what patches are painted from."""
    masked = tuple((masked_count(frames.objects), len(frames.objects)) for frames in sets)
    complete = all(have == count for have, count in masked)
    return PaintedGeometry(choice != IGNORE_MASKS and (complete or choice != AUTO_MASKS), masked)


def masked_count(objects: Objects) -> int:
    """How many objects have a mask."""
    return 0 if objects.masks is None else int(np.count_nonzero(objects.masks.shape[:, 0]))


def performance_note(sets: Sequence[FrameSet]) -> str:
    """Warn where the IoU of one set is that of masks, and of the other set that of boxes."""
    of_masks = [
        masked_count(frames.objects) > 0 and frames.predictions is not None and frames.predictions.masks is not None
        for frames in sets
    ]
    if of_masks[0] == of_masks[1]:
        return ""
    first, second = ("A", "B") if of_masks[0] else ("B", "A")
    return f"note: performance is the IoU of masks in {first} and of boxes in {second}, which are not the same scale"


Chosen = TypeVar("Chosen", bound=MethodSettings)


def choose_patch(settings: Chosen, sets: Sequence[FrameSet]) -> Chosen:
    """Settings with the patch that suits all of the sets, where none was given or chosen yet."""
    if not settings.chooses_patch or settings.chosen_patch is not None:
        return settings
    patch = default_patch([frames.size for frames in sets], [frames.objects.box for frames in sets])
    return replace(settings, chosen_patch=patch)


def log_patch(settings: MethodSettings, log: Log) -> None:
    """Tell which patch was chosen; nothing where it was given."""
    if settings.patch_chosen:
        log(patch_line(settings.method.patch))


def patch_line(patch: tuple[int, int]) -> str:
    """What a person should know of a patch that was chosen."""
    return f"patch {patch_text(patch)} px, by the size of images and objects; --patch sets another"
