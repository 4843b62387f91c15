"""Where a camera looks from when nobody recorded it."""

import math

import numpy as np
import pytest

from simjudge.errors import SimjudgeError, UsageError
from simjudge.poses import Pose
from simjudge.world.scene.model import Course, Scene
from simjudge.world.viewpoints import viewpoints

LINE = Course(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]]), 1.0)
SCENE = Scene("s", (), (), course=LINE, area=(-1, -2, 3, 4))
SEAT = Pose((0.3, 0, 0.1)).optical()


def test_along_the_course():
    found = viewpoints(SCENE, "path", 3, SEAT)
    bases = [pose @ SEAT.inverse() for pose in found]
    assert [base.position[:2] for base in bases] == [pytest.approx(p) for p in ((1, 0), (2, 0), (2, 1))]
    assert bases[0].angles()[0] == pytest.approx(0)
    assert bases[2].angles()[0] == pytest.approx(math.pi / 2)
    assert found[0].position == pytest.approx((1.3, 0, 0.1))


def test_at_random_in_the_area():
    found = viewpoints(SCENE, "random", 50, Pose().optical(), seed=3)
    x, y = np.array([pose.position[:2] for pose in found]).T
    assert x.min() >= -1
    assert x.max() <= 3
    assert y.min() >= -2
    assert y.max() <= 4
    again = viewpoints(SCENE, "random", 50, Pose().optical(), seed=3)
    assert [p.position for p in again] == [p.position for p in found]


def test_from_a_file(tmp_path):
    path = tmp_path / "poses.txt"
    path.write_text("# x y z yaw pitch\n0 0 1\n\n1, 2, 3, 90, 10\n4 5 6 0\n")
    found = viewpoints(SCENE, str(path), 10, SEAT)
    assert len(found) == 3
    assert found[1].position == (1, 2, 3)
    forward = found[1].to_world([0, 0, 1]) - found[1].position
    assert forward == pytest.approx([0, math.cos(math.radians(10)), -math.sin(math.radians(10))])
    assert len(viewpoints(SCENE, str(path), 2, SEAT)) == 2


@pytest.mark.parametrize("row", ["1 2", "1 2 x", "1 2 nan", "1 2 3 4 5 6"])
def test_bad_rows_are_named(tmp_path, row):
    path = tmp_path / "poses.txt"
    path.write_text(f"0 0 1\n{row}\n")
    with pytest.raises(SimjudgeError, match=r"poses\.txt, line 2"):
        viewpoints(SCENE, str(path), 1, SEAT)


def test_what_cannot_be(tmp_path):
    (tmp_path / "empty").write_text("# nothing\n")
    bare = Scene("bare", (), ())
    for how, kind, says in (
        ("path", UsageError, "no course"),
        ("random", UsageError, "no area"),
        ("nowhere", UsageError, "path, random or a file"),
        (str(tmp_path / "empty"), SimjudgeError, "no poses"),
    ):
        with pytest.raises(kind, match=says):
            viewpoints(bare, how, 1, SEAT)
    with pytest.raises(UsageError, match="one at least"):
        viewpoints(SCENE, "path", 0, SEAT)
