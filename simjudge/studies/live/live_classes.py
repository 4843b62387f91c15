"""Classes of live frames: renamed as asked, and refused where nothing tells which are the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import free_class_id, normalized_name
from simjudge.studies.class_numbering import rename_classes, unmatched_classes


class LiveClasses:
    """Takes labels and detections of live frames to the same classes."""

    def __init__(self, predicted: Mapping[str, str], of_set: Mapping[str, str]) -> None:
        """Start before the first frame."""
        self._predicted = {normalized_name(old): new for old, new in predicted.items()}
        self._of_set = of_set
        self._have_matched = False

    def apply(self, frame: FrameSet) -> FrameSet:
        """A frame with its classes renamed."""
        renamed = self._with_predictions_renamed(self._renamed(frame))
        found = renamed.predictions
        ids = set() if found is None else {*found.class_id.tolist()}
        self._have_matched |= bool(ids & {*renamed.objects.class_id.tolist()})
        unmatched = None if self._have_matched else unmatched_classes(renamed)
        if unmatched is not None:
            raise SimjudgeError(f"{unmatched.what}; say it with rename:={unmatched.example}")
        return renamed

    def _renamed(self, frame: FrameSet) -> FrameSet:
        """The frame with the new names of the set; a frame need not have all classes."""
        tables = [frame.objects] + ([] if frame.predictions is None else [frame.predictions])
        ids = {*frame.class_names, *(k for table in tables for k in table.class_id.tolist())}
        there = {normalized_name(frame.class_name(k)) for k in ids}
        rename = {old: new for old, new in self._of_set.items() if normalized_name(old) in there}
        return rename_classes(frame, rename, "") if rename else frame

    def _with_predictions_renamed(self, frame: FrameSet) -> FrameSet:
        found = frame.predictions
        if found is None or not self._predicted:
            return frame
        names = dict(frame.class_names)
        used = {*frame.objects.class_id.tolist(), *found.class_id.tolist()}
        number = {normalized_name(frame.class_name(k)): k for k in sorted({*names, *used}, reverse=True)}
        moved: dict[int, int] = {}
        for k in np.unique(found.class_id).tolist():
            new = self._predicted.get(normalized_name(frame.class_name(k)))
            if new is None:
                continue
            key = normalized_name(new)
            if key not in number:
                number[key] = free_class_id({*names, *used, *number.values()})
                names[number[key]] = new
            moved[k] = number[key]
        classes = np.array([moved.get(k, k) for k in found.class_id.tolist()], np.int64)
        return replace(frame, predictions=replace(found, class_id=classes), class_names=names)
