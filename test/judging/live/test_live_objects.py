"""Objects compared while frames come: the same numbers as of the whole sets, whatever the order."""

import numpy as np
import pytest
from object_sets import PERIOD, START, cone_set

from simjudge.judging.live.live_objects import OBJECT_METRICS, LiveObjects
from simjudge.objects.settings import CameraObjectSettings
from simjudge.questions.objects.run import compare_by_objects
from simjudge.questions.objects.settings import ObjectSettings

LIVE = {"box width", "box height", "centroid x", "centroid y", "objects", *(f"hu {i} (binary)" for i in range(1, 8))}


def live(window=None, **settings):
    return LiveObjects(CameraObjectSettings(follow="labels", **settings), window)


def numbers(rows):
    return {
        (row.metric, row.subject): (
            row.frames,
            *row.means,
            row.difference and (row.difference.low, row.difference.high),
        )
        for row in rows
    }


@pytest.mark.parametrize("same_by", ["instance", "track"])
def test_the_numbers_are_those_of_simjudge_objects(same_by):
    real, virtual = (
        cone_set(name, seed, wider=wider, count=12, pictures=False)
        for name, seed, wider in (("real", 0, 0.0), ("virtual", 1, 0.5))
    )
    objects = live(same_by=same_by)
    for frame in np.random.default_rng(0).permutation(12).tolist():
        objects.add(real.take([frame]), virtual.take([frame]))
    found = numbers(objects.compare())
    settings = ObjectSettings(follow="labels", same_by=same_by, sensor="camera")
    whole = compare_by_objects(real, virtual, None, settings)
    expected = {key: value for key, value in numbers(whole.compared["camera"].rows).items() if key[0] in LIVE}
    assert {metric for metric, _ in found} == LIVE
    assert found == expected
    assert objects.newest_stamp == START + 11 * PERIOD


def test_pairs_older_than_the_window_are_dropped():
    real = cone_set("real", 0, count=10, pictures=False)
    objects = live(window=0.35)
    for frame in range(10):
        objects.add(real.take([frame]), real.take([frame]))
    assert len(objects) == 4
    widths = np.diff(real.objects.box[12:, ::2], axis=1)[::2].mean()
    row = next(row for row in objects.compare() if row.metric == "box width" and row.subject == "cone 0")
    assert row.means == pytest.approx((widths, widths))
    objects.clear()
    assert objects.compare() == []


def test_one_pair_has_means_and_no_interval():
    real = cone_set("real", 0, count=1, pictures=False)
    objects = live()
    seen, _ = objects.add(real, real)
    assert len(seen) == 2
    rows = [row for row in objects.compare() if row.metric in OBJECT_METRICS]
    assert {row.subject for row in rows} == {"cone 0", "cone 1", "all objects"}
    assert all(row.frames == 1 and row.difference is None for row in rows if row.is_single)
