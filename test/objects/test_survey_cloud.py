"""Points of a survey with what they reflect."""

import numpy as np

from simjudge.objects.survey_cloud import _reflected


def test_intensities_that_are_all_infinite_are_none():
    said: list[str] = []
    assert _reflected(np.array([np.inf, np.inf], np.float32), None, "s", "white paint", said.append) is None
    assert said == ["note: s has no intensity above 0: each thing reflects a lidar's light as white paint does"]
