"""The rules of labels against plain searches."""

import numpy as np
import pytest

from simjudge.sim.capture.ground_truth import instance_extents


@pytest.mark.parametrize("size", [(1, 1), (7, 1), (1, 9), (40, 53)])
def test_extents_are_those_of_each_instance_alone(size):
    instances = np.random.default_rng(2).choice(np.array([0, 0, 3, 3, 5, 6], np.uint16), size)
    instances = np.repeat(instances, 3, axis=1)
    found = instance_extents(instances)
    assert len(found.pixels) == instances.max() + 1
    for number in range(len(found.pixels)):
        y, x = np.nonzero(instances == number)
        assert found.pixels[number] == len(x)
        if len(x):
            assert found.box[number].tolist() == [x.min(), y.min(), x.max() + 1, y.max() + 1]
