"""Whole frames as samples: each frame is a context by all of its labels, and has one performance of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.detectors.assignment import Assignment
from simjudge.judging.judged_set import JudgedSet
from simjudge.method.method import Method
from simjudge.method.patches import Contexts, place_contexts

FRAME = "frame"
"""The one class of whole frames."""


def judge_frames(frames: FrameSet, performance: FloatArray, contexts: Contexts) -> JudgedSet:
    """One sample a frame. `performance`: float64 (F,)."""
    count = len(frames)
    everything = np.ones(count, np.bool_)
    box = np.concatenate([np.zeros((count, 2)), frames.size.astype(np.float64)], axis=1)
    objects = Objects.build(np.arange(count), np.zeros(count, np.int64), box)
    shown = replace(
        frames,
        objects=objects,
        predictions=None,
        labelled=everything,
        predicted=everything,
        class_names={0: FRAME},
        classless=True,
    )
    assignment = Assignment(performance, np.full(count, -1, np.int64), everything, {})
    return JudgedSet(shown, assignment, contexts=contexts, whole_frames=True)


def layout_contexts(frames: FrameSet, method: Method) -> Contexts:
    """Each frame's labelled boxes, scaled onto a grid as large as a patch; frames without labels are alike."""
    height, width = method.patch
    objects = frames.objects
    scale = np.array([width, height]) / frames.size[objects.frame]
    grid = np.tile(np.array([width, height], np.int64), (len(frames), 1))
    scaled = replace(
        frames,
        size=grid,
        objects=replace(objects, box=objects.box * np.tile(scale, 2), masks=None),
        images=None,
        cyclic=False,
    )
    whole = replace(method, paint_masks=False, mask_factor=None)
    number = np.arange(len(frames))
    return place_contexts(scaled, whole, number, np.zeros((len(frames), 2), np.int64)).marked_empty()
