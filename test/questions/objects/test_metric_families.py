"""Families of the second judge's metrics."""

import pytest

from simjudge.objects.lidar_measurements import OBJECT_METRICS, WHOLE_METRICS
from simjudge.objects.radar_series import METRICS
from simjudge.questions.objects.result import (
    FAMILIES,
    MOMENTS,
    OTHERS,
    PLACES,
    QUALITY,
    RETURNS,
    SIGHTS,
    SIZES,
    RowFields,
    by_family,
    metric_family,
)


@pytest.mark.parametrize(
    ("metric", "family"),
    [
        ("centroid velocity x", PLACES),
        ("offset along", PLACES),
        ("yaw error", PLACES),
        ("box flicker while standing", SIZES),
        ("region pixels", SIZES),
        ("height", SIZES),
        ("seen", SIGHTS),
        ("objects (cone)", SIGHTS),
        ("precision", SIGHTS),
        ("pole matches on labels", SIGHTS),
        ("piqe noise share", QUALITY),
        ("niqe", QUALITY),
        ("hu 7 (gray)", MOMENTS),
        ("J3 by intensity", MOMENTS),
        ("points above ground", RETURNS),
        ("intensity", RETURNS),
        ("something new", OTHERS),
    ],
)
def test_the_family_of_a_metric(metric, family):
    assert metric_family(metric) == family


def test_every_metric_of_lidars_and_radars_has_a_family():
    assert OTHERS not in {metric_family(metric) for metric in (*OBJECT_METRICS, *WHOLE_METRICS, *METRICS)}


def test_families_come_in_their_order_and_rows_stay_in_theirs():
    rows = [
        RowFields.model_construct(metric=metric)
        for metric in ("hu 2 (gray)", "box width", "hu 1 (gray)", "new", "centroid x")
    ]
    found = by_family(rows)
    assert list(found) == [PLACES, SIZES, MOMENTS, OTHERS]
    assert [family for family in FAMILIES if family in found] == list(found)
    assert [row.metric for row in found[MOMENTS]] == ["hu 2 (gray)", "hu 1 (gray)"]
