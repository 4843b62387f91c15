"""A verdict that holds at every look, on live frames: against a literal loop, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from naive_method import naive_patch, naive_similar
from random_frames import made

from simjudge.judging.live.judge import LiveJudge, LiveSequence
from simjudge.method.betting import BettingSequence, SequenceVerdict
from simjudge.method.method import Method
from simjudge.method.similarity_join import Neighbours


def test_blocks_hold_what_a_literal_loop_finds():
    reference, live = made(1, 20), made(2, 12)
    method = Method(theta=0.3, patch=(40, 40))
    judge = LiveJudge(reference, method, sequence_block=0.0)
    expected = []
    for index in range(len(live)):
        judged = judge.add_frame(live.take([index]))
        frames = judged.frames
        found = []
        for i, value in enumerate(judged.assignment.performance):
            own = naive_patch(frames, i, method)
            near = [
                judge.reference.assignment.performance[j]
                for j in range(len(reference.objects))
                if reference.objects.class_id[j] == frames.objects.class_id[i]
                and naive_similar(own, naive_patch(judge.reference.frames, j, method), method)
            ]
            if near:
                found.append(value - np.mean(near))
        if found:
            expected.append(np.mean(found))
    judge.sequence.finish()
    state = judge.sequence.state
    assert state.blocks == len(expected) > 5
    assert state.difference == pytest.approx(np.mean(expected))
    alone = BettingSequence(0.025, -1.0, 1.0)
    for value in expected:
        alone.add(value)
    # The reference is finite: the interval is wider than that of the sequence.
    assert state.low < alone.interval[0]
    assert state.high > alone.interval[1]


def stream(random: np.random.Generator, gap: float, reference: int = 150, blocks: int = 260) -> LiveSequence:
    """Blocks of three objects that share an effect; all are alike to all of a reference drawn in the same way."""
    unit = np.repeat(np.arange(reference), 3)
    known = np.clip(0.6 + random.normal(0, 0.05, reference)[unit] + random.normal(0, 0.05, len(unit)), 0, 1)
    sequence = LiveSequence(0.05, 0, known, unit)
    rows = np.arange(len(unit))
    every = np.tile(rows, 3).astype(np.int32)
    similar = Neighbours(np.arange(3), np.arange(4) * len(rows), every, np.ones(len(every), np.uint8))
    for _ in range(blocks):
        sequence.begin_frame(0)
        value = 0.6 - gap + random.normal(0, 0.05) + random.normal(0, 0.05, 3)
        sequence.add(np.clip(value, 0, 1), rows, similar)
    sequence.finish()
    return sequence


def test_where_nothing_differs_a_gap_is_said_at_any_time_in_few_streams_and_a_gap_is_found():
    random = np.random.default_rng(0)
    same = [stream(random, 0.0).state.verdict for _ in range(24)]
    assert sum(verdict is SequenceVerdict.GAP for verdict in same) <= 3
    assert sum(verdict is SequenceVerdict.PREDICTS for verdict in same) >= 18
    unlike = [stream(random, 0.12).state for _ in range(12)]
    assert all(state.verdict is SequenceVerdict.GAP for state in unlike)
    assert sum(state.low <= -0.12 <= state.high for state in unlike) >= 10
