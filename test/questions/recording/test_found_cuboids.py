"""What a detector found in clouds, as `info` and the page of a recording show it."""

from dataclasses import replace

import numpy as np
import pytest
from cloud_samples import cloud_set, ground, table

import simjudge as sj
from simjudge.data.clouds import CloudPredictions


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Two clouds; a detector has looked at the first alone, and found three things."""
    found = CloudPredictions(
        np.zeros(3, int),
        np.zeros(3, int),
        np.full(3, -1),
        np.array([[5.0, 0, 0], [8, 3, 0], [-4, 2, 0]]),
        np.tile([0.0, 0, 0, 1], (3, 1)),
        np.tile([2.0, 1, 1], (3, 1)),
        np.ones(3),
        np.full(3, 9),
    )
    clouds = cloud_set([table(ground(seed=i)) for i in range(2)], class_names={0: "object"})
    path = tmp_path_factory.mktemp("found") / "found.mcap"
    sj.write_clouds(replace(clouds, predictions=found, predicted=np.array([True, False])), path)
    return path


def test_info_says_how_many(recording):
    assert ("detected", "1 clouds of /scan/points, 3 boxes in space") in sj.info(recording).summary.blocks


def test_the_page_draws_them_beside_what_is_labelled(recording, tmp_path):
    sj.report(recording, tmp_path / "page")
    assert "object, found (3)" in (tmp_path / "page/index.html").read_text(encoding="utf-8")
