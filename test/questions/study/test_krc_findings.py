"""The findings of the KRC experiment on maps and pictures whose answer is known by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.objects.occupancy import MapExtent, OccupancyMap, map_agreement
from simjudge.objects.settings import OccupancySettings
from simjudge.questions.study.krc_findings import (
    alignment_finding,
    barrier_finding,
    barriers_along,
    field_finding,
    flicker_finding,
    map_findings,
    mean_length,
    occupied_cells,
    places,
    pole_finding,
    poles_shown,
)
from simjudge.results.saved_result import StudyFinding, read_findings, write_findings
from simjudge.sim.scene.read import read_scene

STAMPS = 1_700_000_000_000_000_000 + 100_000_000 * np.arange(60)
EXTENT = MapExtent(-50, -60, 400, 120, 10.0)
"""x from -5 to 35 m, y from -6 to 6 m."""


def a_map(*rectangles):
    """A map that knows all cells, occupied in rectangles x0, y0, x1, y1, metres."""
    one = OccupancyMap(EXTENT, OccupancySettings())
    one._last += 1
    one.log_odds -= 1
    for x0, y0, x1, y1 in rectangles:
        columns = slice(round(x0 * 10) + 50, round(x1 * 10) + 50)
        one.log_odds[round(y0 * 10) + 60 : round(y1 * 10) + 60, columns] = 2
    return one


def pairs(real, ideal, physical):
    both = {"ideal": ideal, "physical": physical}
    return {
        name: SimpleNamespace(real=real, virtual=each, agreement=map_agreement(real, each))
        for name, each in both.items()
    }


BARRIER = (10.0, 2.7, 12.0, 2.9)
LONGER = (10.0, 2.7, 12.4, 2.9)
POLES = [(20.0, 3.0, 20.1, 3.1), (25.3, -3.0, 25.4, -2.9)]


def test_cells_are_where_they_are():
    cells = occupied_cells(a_map((1.0, -2.0, 1.2, -1.9)))
    assert cells == pytest.approx(np.array([[1.05, -1.95], [1.15, -1.95]]))


def test_poles_that_a_map_shows():
    poles = np.array([[20.0, 3.0], [25.0, -3.0], [30.0, 3.0]])
    assert poles_shown(a_map(*POLES), poles) == 2
    assert poles_shown(a_map(), poles) == 0
    found = pole_finding(pairs(a_map(POLES[0]), a_map(*POLES), a_map()), poles)
    assert found.agrees == "yes"
    assert found.numbers == {"real": 1, "ideal": 2, "physical": 0}
    assert "Of 3 poles the real map shows 1, the ideal one 2, the physical one 0" in found.here
    assert pole_finding(pairs(a_map(*POLES), a_map(*POLES), a_map()), poles).agrees == "no"


def test_lengths_of_barriers():
    barriers = np.array([[11.0, 3.0, 2.0], [30.0, 3.0, 2.0]])
    assert mean_length(a_map(BARRIER), barriers) == pytest.approx(2.0)
    assert mean_length(a_map(LONGER, (29.0, 3, 30.0, 3.1)), barriers) == pytest.approx((2.4 + 1.0) / 2)
    assert math.isnan(mean_length(a_map(), barriers))
    found = barrier_finding(pairs(a_map(LONGER), a_map(BARRIER), a_map(LONGER)), barriers[:1])
    assert found.agrees == "yes"
    assert "real map 2.40 m, ideal 2.00 m, physical 2.40 m, on average over 1 barriers" in found.here
    assert barrier_finding(pairs(a_map(BARRIER), a_map(LONGER), a_map()), barriers).agrees == "no"
    assert barrier_finding(pairs(a_map(), a_map(BARRIER), a_map()), barriers).agrees == "not decided"


def test_f1_of_the_maps():
    ideal, physical = map_findings(pairs(a_map(BARRIER), a_map((10.0, 2.8, 12.0, 3.0)), a_map(BARRIER)))
    assert ideal.numbers["occupied F1"] == pytest.approx(0.5)
    assert ideal.numbers["occupied IoU"] == pytest.approx(1 / 3)
    assert "50.00% of occupied cells" in ideal.here
    assert physical.numbers["occupied F1"] == 1
    assert (ideal.agrees, physical.agrees) == ("not decided", "yes")


def test_boxes_that_flicker():
    random = np.random.default_rng(0)

    def jittering(deviation):
        frame = np.arange(60)
        box = np.stack([100 + 3 * frame, 100 + 0 * frame, 160 + 3 * frame, 200 + 0 * frame], 1)
        box = box + random.normal(0, deviation, box.shape)
        found = Predictions.build(frame, 0 * frame, box, np.full(60, 0.9))
        return FrameSet.build("set", [(640, 480)] * 60, predictions=found, stamp=STAMPS, class_names={0: "orange"})

    sets = {"real": jittering(0.1), "ideal": jittering(0.8), "physical": jittering(0.1)}
    found = flicker_finding(sets)
    assert found.agrees == "yes"
    # Of the root mean square of four normal edges: the root of a quarter of the median of chi squared with 4 degrees.
    assert found.numbers["ideal"] == pytest.approx(0.8 * 0.916, rel=0.2)
    assert found.numbers["real"] == pytest.approx(0.1 * 0.916, rel=0.2)


def boxes(scale, first, shift=(0.0, 0.0)):
    """One thing that grows and moves, labelled from a frame on."""
    frame = np.arange(first, 20)
    x, y = 200 + 5 * frame + 0.25 * frame**2 + shift[0], 150 + 0.5 * frame**2 + shift[1]
    half = (20 + frame) * scale / 2
    box = np.stack([x - half, y - half, x + half, y + half], 1)
    objects = Objects.build(frame, 0 * frame, box, 0 * frame + 1)
    return FrameSet.build("set", [(640, 480)] * 20, objects, stamp=STAMPS[:20], class_names={0: "barrier"})


def test_a_wider_field_makes_things_smaller_and_later():
    found = field_finding(boxes(1.0, 2), boxes(0.7, 5))
    assert found.numbers == pytest.approx({"height": 0.7, "first sight": 0.3})
    assert found.agrees == "yes"
    assert field_finding(boxes(1.0, 2), boxes(1.0, 2)).agrees == "no"


def test_alignment_shows_in_place_and_not_in_velocity():
    found = alignment_finding(boxes(1.0, 0), boxes(1.0, 0, (30.0, 0.0)))
    assert found.numbers["place"] == pytest.approx(30 / np.std(5 * np.arange(20) + 0.25 * np.arange(20) ** 2))
    assert found.numbers["velocity"] == pytest.approx(0, abs=1e-6)
    assert found.agrees == "yes"


def test_places_of_the_course():
    scene = read_scene("krc")
    assert len(places(scene, "pole")) == 11
    assert places(scene, "pole")[-1].tolist() == [106, 1.5]
    along = barriers_along(scene)
    assert sorted(along[:, 0].tolist()) == [12, 12, 28, 28, 44, 44]
    assert along[:, 2] == pytest.approx(2.0)


def test_findings_are_written_and_read(tmp_path):
    found = [StudyFinding("a", "the source", "here", "yes", {"x": 1.5, "y": math.nan})]
    write_findings(found, tmp_path)
    assert read_findings(tmp_path) == [StudyFinding("a", "the source", "here", "yes", {"x": 1.5, "y": None})]
    (tmp_path / "findings.json").write_text("[")
    with pytest.raises(SimjudgeError, match=r"findings.json: no findings .*; remove the folder"):
        read_findings(tmp_path)
