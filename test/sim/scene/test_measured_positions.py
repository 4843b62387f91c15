"""Measured tables: read whatever stands between the columns; slips are named with file and line."""

import math

import pytest
from public_data import PUBLIC_DATA, missing

from simjudge.core.errors import SimjudgeError
from simjudge.sim.scene.placements import check_neighbours, parse_positions, read_positions, transform_positions

LINE = "".join(f"{k}\t1\t{k * 0.5}\t0.2\n" for k in range(8))
MEASURED = PUBLIC_DATA / "art1/cone_path_iros.csv"


@pytest.mark.parametrize("between", ["\t", ",", ", ", ";", "  ", " ; "])
def test_columns(between):
    text = "# measured\n\nid|colour|x|y\n7|1|-2.5|1e-1\n8|0|3|4 # here\n".replace("|", between)
    one, other = parse_positions(text, "cones.csv")
    assert (one.id, one.colour, one.x, one.y, one.where) == ("7", "1", -2.5, 0.1, "cones.csv:4")
    assert (other.key, other.x, other.y) == (("8", "0"), 3, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t: no rows; `id colour x y` in each line is needed"),
        ("id colour x y\n", "t: no rows"),
        ("1 2 3\n", "t:1: '1 2 3': id, colour, x and y"),
        ("1 2 3 4 5\n", "t:1: .*: id, colour, x and y"),
        ("1 2 3 up\n", "t:1: .*: id, colour, x and y"),
        ("1 2 3 nan\n", "t:1: .*: id, colour, x and y"),
        ("1 2 3 1e9\n", "t:1: .*: id, colour, x and y"),
        ("1 2 3 4\n2 2 3 4\n1 2 5 5\n", "t:3: id 1, colour 2 stands in t:1 already"),
    ],
)
def test_a_table_that_is_none(text, message):
    with pytest.raises(SimjudgeError, match=message):
        parse_positions(text, "t")


def test_a_slip_is_named():
    check_neighbours(parse_positions(LINE, "t"))
    far = LINE + "8\t1\t40\t0.2\n"
    with pytest.raises(SimjudgeError, match=r"t:9: id 8, colour 1 at x 40, y 0.2 is 36.5 m from its nearest neighbour"):
        check_neighbours(parse_positions(far, "t"))
    twice = LINE + "8\t1\t1.0\t0.2\n"
    with pytest.raises(SimjudgeError, match=r"t:9: id 8, colour 1 stands upon id 2, colour 1; leave one of them out"):
        check_neighbours(parse_positions(twice, "t"))
    check_neighbours(parse_positions("1 1 0 0\n2 1 50 0\n", "t"))  # two rows tell nothing


def test_the_labs_own_table_has_its_slip_named():
    if not MEASURED.is_file():
        pytest.skip(missing("art1"))
    rows = read_positions(MEASURED)
    assert len(rows) == 35
    with pytest.raises(SimjudgeError, match=r"cone_path_iros.csv:10: id 9, colour 1 at x 995, y -1.34 is .* a slip\?"):
        check_neighbours(rows)
    check_neighbours([row for row in rows if row.key != ("9", "1")])


def test_turned():
    (row,) = transform_positions(parse_positions("1 1 2 0", "t"), (1, 1), math.pi / 2)
    assert (row.x, row.y) == pytest.approx((1, 3))
