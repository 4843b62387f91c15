"""What a data set holds, as rows and a table that a person reads."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from simjudge.core.display import Summary, SummaryTable

FrameSet: TypeAlias = Any
"""`simjudge.core.frames.FrameSet`, which imports this module to show itself."""
_MOST_SIZES = 8
"""Image sizes that are listed."""


def summarize_frames(frames: FrameSet, kind: str = "data set") -> Summary:
    """Describe a data set: frames, labels, image sizes, time span, objects, predictions and classes.

    Args:
        kind: what to call it, such as the name of its format.
    """
    images = sum(frames.images is not None and frames.images.has(i) for i in range(len(frames)))
    objects, predictions = frames.objects, frames.predictions
    masks = 0 if objects.masks is None else int((objects.masks.shape[:, 0] > 0).sum())
    instances = len(np.unique(objects.instance[objects.instance >= 0]))
    blocks: list[tuple[str, str] | SummaryTable] = [
        ("frames", f"{len(frames)}, {images} with an image"),
        ("labelled", f"{int(frames.labelled.sum())}, {int(frames.predicted.sum())} with a detector run on them"),
        ("sizes", _sizes(frames)),
        ("stamps", _time_span(frames) + ("; frames are independent" if frames.independent else "")),
        ("objects", f"{len(objects)}, {masks} with a mask, {instances} instances"),
    ]
    pixels = [0 if each is None else sum(map(each.has, range(len(frames))))
              for each in (frames.semantic, frames.predicted_semantic)]  # fmt: skip
    if any(pixels):
        blocks.append(("pixel labels", f"{pixels[0]} label pictures, {pixels[1]} predicted ones"))
    for title, column, unit in (("distances", objects.distance, " m"), ("visible", objects.visible, "")):
        known = column[~np.isnan(column)]
        if len(known):
            blocks.append((title, f"{len(known)}, {known.min():.3g}{unit} to {known.max():.3g}{unit}"))
    if predictions is not None and len(predictions):
        low, high = predictions.score.min(), predictions.score.max()
        blocks.append(("predictions", f"{len(predictions)}, scores {low:.3f} to {high:.3f}"))
    if frames.detector is not None:
        blocks.append(("detector", str(frames.detector)))
    return Summary(frames.name, kind, [*blocks, _class_table(frames)])


def _sizes(frames: FrameSet) -> str:
    sizes, count = np.unique(frames.size, axis=0, return_counts=True)
    shown = [f"{w}x{h} ({n})" for (w, h), n in zip(sizes.tolist(), count.tolist(), strict=True)]
    return ", ".join(shown[:_MOST_SIZES]) + (", ..." if len(shown) > _MOST_SIZES else "")


def _time_span(frames: FrameSet) -> str:
    known = frames.stamp[frames.stamped]
    if not len(known):
        return "none"
    seconds = (int(known.max()) - int(known.min())) / 1e9
    return f"{len(known)} frames, {int(known.min()) / 1e9:.3f} s to {int(known.max()) / 1e9:.3f} s ({seconds:.3f} s)"


def _class_table(frames: FrameSet) -> SummaryTable:
    objects, predictions = frames.objects, frames.predictions
    known = {*frames.class_names, *np.unique(objects.class_id).tolist()}
    known |= set() if predictions is None else set(np.unique(predictions.class_id).tolist())
    rows = []
    for class_id in sorted(known):
        labelled = objects.class_id == class_id
        predicted = "-" if predictions is None else str(int((predictions.class_id == class_id).sum()))
        with_class = len(np.unique(objects.frame[labelled]))
        rows.append(
            [
                str(class_id),
                frames.class_names.get(class_id, ""),
                str(int(labelled.sum())),
                str(with_class),
                predicted,
            ]
        )
    return SummaryTable(["class", "name", "objects", "frames with it", "predictions"], rows, text_columns=2)
