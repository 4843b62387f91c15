"""Members of an enumeration of text are text wherever they go."""

import copy
import csv
import io
import json

from simjudge.core.string_enum import StrEnum


class Colour(StrEnum):
    RED = "red"


def test_a_member_prints_as_its_value():
    assert f"{Colour.RED} {Colour.RED!s} {Colour.RED:>4}" == "red red  red"
    assert json.dumps({"colour": Colour.RED, Colour.RED: 1}) == '{"colour": "red", "red": 1}'
    out = io.StringIO()
    csv.writer(out).writerow([Colour.RED])
    assert out.getvalue() == "red\r\n"


def test_a_member_is_found_by_its_value():
    assert Colour("red") is copy.deepcopy(Colour.RED) is Colour.RED
    assert {"red": 1}[Colour.RED] == 1
