"""Reading the two sides of a comparison of label pictures; the settings' net runs on both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar
from simjudge.data.clouds import CloudSet
from simjudge.data.semantic_classes import SemanticClasses, common_classes
from simjudge.studies.class_numbering import rename_class_names
from simjudge.studies.compare_settings import MethodSettings
from simjudge.studies.inputs import InputSet, read_input


def read_semantic_inputs(
    a: FrameSet | CloudSet | Path | str,
    b: FrameSet | CloudSet | Path | str,
    settings: MethodSettings,
    *,
    log: Log,
    progress: ProgressBar,
) -> tuple[InputSet, InputSet]:
    """Read both sets with their label pictures, labelled and predicted."""
    sides = []
    for source, predictions, topic, pairs, option in (
        (a, settings.a_predictions, settings.a_image_topic, settings.a_rename, "--a-rename"),
        (b, settings.b_predictions, settings.b_image_topic, settings.b_rename, "--b-rename"),
    ):
        side = read_input(source, None, topic, allow_outside=settings.allow_outside)
        require_label_pictures(side.frames)
        if predictions is not None:
            side = _with_predictions(side, predictions, allow_outside=settings.allow_outside)
        if pairs:
            # Numbers of label pictures stay: those of one name count as one class.
            names = rename_class_names(side.frames, dict(pairs), option)
            side = replace(side, frames=replace(side.frames, class_names=names), rename=dict(pairs))
        if predictions is None and settings.model is not None:
            side = replace(side, frames=_predicted(side.frames, settings, log, progress))
        sides.append(replace(side, frames=with_pixels_judged(side.frames)))
    return sides[0], sides[1]


def require_label_pictures(frames: FrameSet) -> None:
    """Refuse a set without label pictures."""
    if frames.semantic is None:
        raise SimjudgeError(
            f"{frames.name}: has no label pictures; give a folder of Cityscapes, GTA V or CamVid, or one with semantic/"
            " (simjudge render --label-images)"
        )


def with_pixels_judged(frames: FrameSet) -> FrameSet:
    """A set whose frames count as labelled and predicted where they have the label pictures."""
    require_label_pictures(frames)
    semantic, predicted = frames.semantic, frames.predicted_semantic
    if semantic is None or predicted is None:
        raise SimjudgeError(
            f"{frames.name}: holds no predicted label pictures; give a net (--model) or earlier predictions"
        )
    labelled, seen = (np.array([each.has(i) for i in range(len(frames))], np.bool_) for each in (semantic, predicted))
    return replace(frames, labelled=labelled, predicted=seen)


def shared_classes(a: FrameSet, b: FrameSet) -> SemanticClasses:
    """The classes of both sets of a comparison, under common numbers."""
    return common_classes([(a.name, a.class_names), (b.name, b.class_names)])


def _predicted(frames: FrameSet, settings: MethodSettings, log: Log, progress: ProgressBar) -> FrameSet:
    from simjudge.detectors.semantic_net import SemanticNet, predict_semantic  # noqa: PLC0415 - slow to import

    if frames.predicted_semantic is not None:
        log(f"{frames.name}: its own predictions are set aside, since --model was given")
    assert settings.model is not None  # noqa: S101 - the caller has looked
    return predict_semantic(frames, SemanticNet.load(settings.model), progress=progress)


def _with_predictions(side: InputSet, path: Path, *, allow_outside: bool) -> InputSet:
    """The set with the predicted label pictures of another folder, frame by frame by name."""
    read = read_input(path, None, allow_outside=allow_outside).frames
    pictures = read.predicted_semantic
    if pictures is None:
        raise SimjudgeError(f"{path}: holds no predicted label pictures; simjudge detect writes them")
    number = {name: index for index, name in enumerate(read.frame_name)}
    frames = side.frames
    known = [index for index, name in enumerate(frames.frame_name) if name in number]
    if not known:
        raise SimjudgeError(f"{path}: none of its frames is called like one of {frames.name}")
    if read.class_names != frames.class_names:
        raise SimjudgeError(f"{path}: its classes are not those of {frames.name}; predict on that set")
    for index in set(range(len(frames))) - set(known):
        frames.losses.add("frames without a predicted label picture", frames.describe_frame(index))
    kept = frames.take(known)
    chosen = read.take([number[name] for name in kept.frame_name])
    frames = replace(
        kept, predicted_semantic=chosen.predicted_semantic, predicted=chosen.predicted, detector=read.detector
    )
    return replace(side, frames=frames, predictions_path=path)
