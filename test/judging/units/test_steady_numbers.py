"""Instance numbers that are identities, and those that are none."""

import label_sequences
import numpy as np
import pytest

from simjudge.judging.units.seen_things import numbered_things


def found(labels, instance, ordered=True):
    time, run = np.arange(labels.frames, dtype=float), np.full(labels.frames, 0 if ordered else -1)
    return numbered_things(labels.judged(instance=instance).frames, time, run)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("with_distance", [True, False])
@pytest.mark.parametrize("make", [label_sequences.laps, label_sequences.random_poses, label_sequences.straight])
def test_numbers_of_things_that_stay_are_things(make, with_distance, ordered):
    labels = make(3).changed(1, 2.0, 0.05)
    if not with_distance:
        labels.distance = None
    things = found(labels, labels.thing, ordered)
    assert things.world
    assert len(np.unique(things.thing)) == labels.true_units()


def test_tracks_of_a_format_are_things_until_they_jump():
    labels = label_sequences.slow_video(1)
    assert len(np.unique(found(labels, labels.thing).thing)) == 20
    again = labels.thing % 4  # numbers that are given anew
    things = found(labels, again)
    assert not things.world
    assert len(np.unique(things.thing)) >= 4


@pytest.mark.parametrize("ordered", [True, False])
def test_numbers_that_tell_nothing_are_ignored(ordered):
    strewn = label_sequences.strewn(2, 300)
    things = found(strewn, strewn.thing, ordered)
    assert (things.thing == -1).all()
    assert "elsewhere" in things.reason
    once = found(strewn, np.arange(len(strewn.frame)), ordered)
    assert ((once.thing == -1).all(), once.reason) == (True, "")
    classes = found(strewn, np.zeros(len(strewn.frame), np.int64), ordered)  # a number that several things share
    assert len(np.unique(classes.thing)) <= 2
