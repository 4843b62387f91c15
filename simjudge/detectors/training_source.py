"""Where training data comes from: the data's own train and valid sides where it has them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import BoolArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.data.formats.yolo import is_yolo
from simjudge.data.formats.yolo.layout import find_layout
from simjudge.data.frame_sequences import source_photograph
from simjudge.data.sets import read_set
from simjudge.detectors.training_data import (
    TrainingSplit,
    image_file,
    repair_split,
    split_by_photograph,
)

DEFAULT_VALID_FRACTION = 0.2
_VALID = {"valid", "val"}
"""Names of a validation split."""
_TEST = {"test"}
"""Names of a test split, which training never sees."""


def read_split(
    data: Path, valid_fraction: float | None, seed: int, *, semantic: bool = False, allow_outside: bool = False
) -> tuple[TrainingSplit, Losses]:
    """Read a labelled set, and the two sides to train on and to validate on.

    A YOLO data set's own valid side is kept, unless `valid_fraction` asks for a new split; its test side is never
    touched. Anything else is split by source photograph.

    Args:
        valid_fraction: share of the photographs to validate on, None for the data's own split (or 0.2).
        semantic: learn from label pictures: frames that have one count as labelled.
        allow_outside: take pictures that lie outside of the folder of their data set.
    """
    fraction = DEFAULT_VALID_FRACTION if valid_fraction is None else valid_fraction
    frames, side = _read_with_sides(data, allow_outside=allow_outside)
    if frames.images is None:
        raise SimjudgeError(f"{frames.name}: has no pictures to train on")
    on_test, on_valid = (np.array([s in names for s in side], np.bool_) for names in (_TEST, _VALID))
    if semantic:
        frames = _with_label_pictures(frames)
    photograph = np.array([source_photograph(name) for name in frames.frame_name])
    usable = ~np.isin(photograph, photograph[on_test])
    if not usable.any():
        raise SimjudgeError(f"{frames.name}: has a test side only; that is for judging, not for training")
    kept = int(np.count_nonzero(~usable & ~on_test))
    on_train, on_valid = usable & ~on_valid, usable & on_valid
    if valid_fraction is None and on_valid.any() and on_train.any():
        split = repair_split(_named(frames, on_train, "train"), _named(frames, on_valid, "valid"))
    else:
        split = split_by_photograph(frames.take(usable), fraction, seed)
    return replace(split, kept_from_test=kept), frames.losses


def _with_label_pictures(frames: FrameSet) -> FrameSet:
    if frames.semantic is None:
        raise SimjudgeError(
            f"{frames.name}: has no label pictures to learn from; give a folder of Cityscapes, GTA V or CamVid, or one"
            " with semantic/ (simjudge render --label-images)"
        )
    return replace(frames, labelled=np.array([frames.semantic.has(i) for i in range(len(frames))], np.bool_))


def _read_with_sides(data: Path, *, allow_outside: bool) -> tuple[FrameSet, list[str]]:
    """The whole set, and the split ("train", "valid", "test" or "") that each of its frames is in."""
    frames = read_set(data, allow_outside=allow_outside)
    if frames.images is None:
        return frames, [""] * len(frames)
    if not is_yolo(data):
        return frames, [_side_in_path(image_file(frames.images, i), data) for i in range(len(frames))]
    split_of = {p.resolve(): s.name for s in find_layout(data, Losses()).splits for p in s.images}
    files = [image_file(frames.images, i) for i in range(len(frames))]
    return frames, [split_of.get(f.resolve(), "") if f is not None else "" for f in files]


def _side_in_path(file: Path | None, data: Path) -> str:
    """The split that the folders of an image name, as those of Cityscapes do; empty where none does."""
    inside = () if file is None else file.absolute().parts[len(data.absolute().parts) : -1]
    return next((part for part in inside if part in {"train", *_VALID, *_TEST}), "")


def _named(frames: FrameSet, chosen: BoolArray, side: str) -> FrameSet:
    return replace(frames.take(chosen), name=f"{frames.name} ({side})")
