"""Pairs of frames that can be compared: the same moment in both sets, labelled and predicted in both."""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import NO_INSTANCE, row_offsets
from simjudge.data.frame_sequences import count_unpaired, pair_frames
from simjudge.detectors.iou import box_iou


def comparable_pairs(a: FrameSet, b: FrameSet, tolerance_ns: int, losses: Losses) -> tuple[IntArray, IntArray]:
    """Frames of A and their partners in B. Frames without partner, and pairs of which a half is no sample, are counted.

    `tolerance_ns`: how far the stamps of a pair may lie apart, nanoseconds; returns int64 (K,) and (K,), numbers of the
    frames of A and of B.
    """
    pairs = pair_frames(a, b, tolerance_ns)
    losses.extend(count_unpaired(a, b, pairs))
    in_a, in_b = pairs
    usable = (a.labelled & a.predicted)[in_a] & (b.labelled & b.predicted)[in_b]
    for index in np.flatnonzero(~usable):
        losses.add("pairs without labels or predictions in one half", a.describe_frame(int(in_a[index])))
    return in_a[usable], in_b[usable]


SAME_OBJECT_IOU = 0.5
"""IoU from which boxes of one class, one in each frame of a pair, are taken for the same object."""


def pair_objects(a: FrameSet, b: FrameSet) -> tuple[IntArray, IntArray]:
    """Rows of A's and B's objects that are the same thing. Frame i of A and frame i of B are a pair.

    Within a pair of frames and a class, objects go together by instance id where both sides have unique ones, else by
    the assignment with the largest summed IoU, of at least SAME_OBJECT_IOU each. Returns int64 (K,) and (K,), rows of
    the objects of A and of B.
    """
    first_a, first_b = row_offsets(a.objects.frame, len(a)), row_offsets(b.objects.frame, len(b))
    left: list[int] = []
    right: list[int] = []
    for frame in range(len(a)):
        rows_a = np.arange(first_a[frame], first_a[frame + 1])
        rows_b = np.arange(first_b[frame], first_b[frame + 1])
        for class_id in np.intersect1d(a.objects.class_id[rows_a], b.objects.class_id[rows_b]):
            of_a = rows_a[a.objects.class_id[rows_a] == class_id]
            of_b = rows_b[b.objects.class_id[rows_b] == class_id]
            pairs = _by_instance(a.objects.instance[of_a], b.objects.instance[of_b])
            if pairs is None:
                pairs = _by_position(a.objects.box[of_a], b.objects.box[of_b])
            left.extend(of_a[pairs[0]].tolist())
            right.extend(of_b[pairs[1]].tolist())
    return np.array(left, np.int64), np.array(right, np.int64)


def _by_instance(a: IntArray, b: IntArray) -> tuple[IntArray, IntArray] | None:
    if NO_INSTANCE in a or NO_INSTANCE in b or len(np.unique(a)) < len(a) or len(np.unique(b)) < len(b):
        return None
    _, in_a, in_b = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    return in_a.astype(np.int64), in_b.astype(np.int64)


def _by_position(a: FloatArray, b: FloatArray) -> tuple[IntArray, IntArray]:
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - slow to import

    iou = box_iou(np.repeat(a, len(b), axis=0), np.tile(b, (len(a), 1))).reshape(len(a), len(b))
    in_a, in_b = linear_sum_assignment(np.where(iou >= SAME_OBJECT_IOU, iou, 0.0), maximize=True)
    kept = iou[in_a, in_b] >= SAME_OBJECT_IOU
    return in_a[kept].astype(np.int64), in_b[kept].astype(np.int64)
