"""Way and distance beside a course, against shapely-free geometry by hand."""

import math

import numpy as np
import pytest

from simjudge.driving.progress import Progress
from simjudge.scene.model import Course

BEND = Course(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 3.0]]), 1.0)


@pytest.mark.parametrize(
    ("place", "way", "beside"),
    [
        ((0.5, 0.2), 0.5, 0.2),
        ((0.5, -0.2), 0.5, -0.2),
        ((-1.0, 0.3), -1.0, 0.3),
        ((1.8, 1.0), 3.0, 0.2),
        ((2.4, 1.5), 3.5, -0.4),
        ((2.1, 4.0), 6.0, -0.1),
        ((2.3, -0.4), 2.0, -0.5),
    ],
    ids=["left", "right", "before the start", "round the corner", "right of it", "behind the finish", "in the corner"],
)
def test_places(place, way, beside):
    progress = Progress(BEND)
    assert progress.length == 5.0
    for x in np.linspace(0, 2, 9)[1:] if way > 2 else []:
        progress.at(x, 0.0)
    progress.at(*place)
    assert progress.way == pytest.approx(way)
    assert progress.beside == pytest.approx(beside)


def test_a_line_that_passes_itself_is_followed_in_order():
    turn = np.linspace(0, 2 * math.pi, 400)
    eight = Course(np.stack([4 * np.sin(turn), 4 * np.sin(turn) * np.cos(turn)], 1), 1.0)
    progress = Progress(eight)
    ways = []
    for point in eight.centre_line[:-1]:
        progress.at(*point)
        ways.append(progress.way)
    assert np.all(np.diff(ways) > 0)
    assert ways[-1] == pytest.approx(progress.length, abs=0.2)
