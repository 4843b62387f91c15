"""Settings: one declaration gives check, texts, documentation row and JSON schema."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.core.settings import Settings, TextForm, by_group, chosen, declared, json_schema, markdown_table, setting
from simjudge.judging.compare_settings import CompareSettings


def parsed_size(given):
    return tuple(int(side) for side in given.split("x")) if isinstance(given, str) else tuple(given)


@dataclass(frozen=True, kw_only=True)
class Example(Settings):
    rate: float = setting(2.0, "Frames a second.", unit="Hz", low=0, high=100)
    count: int = setting(3, "Number of frames.", low=1)
    name: str = setting(help="Name of the set.")
    mode: str = setting("fast", "How it is done.", choices=("fast", "slow"))
    late: str = setting("a", "Choices known late.", choices=lambda: ("a", "b"))
    flag: bool = setting(default=False, help="Whether to.")
    place: Path | None = setting(None, "Folder of the result.")
    theta: float | None = setting(None, "Threshold.", low=0, high=1, by_preset={"paper": 0.8, "cpd": 0.9, "same": 0.8})
    topics: tuple[str, ...] = setting((), "Topics to record.")
    limits: tuple[float, ...] = setting((1.0,), "Limits.", low=0)
    size: tuple[int, int] = setting((1, 2), "Size.", form=TextForm(parsed_size, lambda v: f"{v[0]}x{v[1]}", "WxH"))


ROWS = {row.name: row for row in declared(Example)}


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("rate", 5, 5.0),
        ("rate", np.float32(0.5), 0.5),
        ("count", np.int64(7), 7),
        ("flag", np.True_, True),
        ("place", "x/y", Path("x/y")),
        ("place", None, None),
        ("theta", None, None),
        ("topics", ["a", "b"], ("a", "b")),
        ("limits", [1, 2], (1.0, 2.0)),
        ("size", "3x4", (3, 4)),
    ],
)
def test_values_are_converted(name, given, value):
    made = Example(**({"name": "n"} | {name: given}))
    assert getattr(made, name) == value
    assert type(getattr(made, name)) is type(value)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("rate", 101, "rate 101: must be 0 to 100"),
        ("rate", float("nan"), "rate nan: must be 0 to 100"),
        ("rate", "fast", "rate 'fast': must be a number"),
        ("rate", True, "rate True: must be a number"),
        ("count", 0, "count 0: must be at least 1"),
        ("count", 1.5, "count 1.5: must be a whole number"),
        ("mode", "medium", "mode 'medium': must be one of fast, slow"),
        ("late", "c", "late 'c': must be one of a, b"),
        ("flag", "yes", "flag 'yes': must be true or false"),
        ("place", 3, "place 3: must be a path"),
        ("name", None, "name must be given: Name of the set."),
        ("theta", 2, "theta 2: must be 0 to 1"),
        ("topics", "a", "topics 'a': must be a list, each item a text"),
        ("limits", [1, -1], "limits [1, -1]: must be at least 0"),
    ],
)
def test_values_that_make_no_sense_are_refused(name, given, message):
    with pytest.raises(UsageError) as caught:
        Example(**({"name": "n"} | {name: given}))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("rate", "5", 5.0),
        ("count", "4", 4),
        ("flag", "Yes", True),
        ("flag", "false", False),
        ("place", "", None),
        ("place", "x", Path("x")),
        ("theta", "", None),
        ("topics", "a, b", ("a", "b")),
        ("size", "3x4", (3, 4)),
    ],
)
def test_texts_are_parsed_and_written_again(name, text, value):
    row = ROWS[name]
    assert row.parse(text) == value
    assert row.parse(row.text(value)) == value


def test_a_text_that_is_no_value_is_named_as_it_was_written():
    with pytest.raises(UsageError, match=r"^count:=1\.5: must be a whole number$"):
        ROWS["count"].parse("1.5", "count:=1.5")


def test_what_was_given_is_known():
    assert Example(name="n", count=3, rate=9).given() == {"name": "n", "rate": 9.0}


def test_a_row_of_documentation():
    lines = markdown_table(chosen(Example, ("rate", "name", "mode", "theta", "size"))).splitlines()
    assert lines[2:] == [
        "| `rate` | float | `2.0` | 0 to 100 | Frames a second [Hz]. |",
        "| `name` | text | must be given |  | Name of the set. |",
        "| `mode` | text | `fast` | fast, slow | How it is done. |",
        "| `theta` | float | `0.8; cpd 0.9` | 0 to 1 | Threshold. |",
        "| `size` | WxH | `1x2` |  | Size. |",
    ]
    assert ROWS["theta"].description == "Threshold. Not given: 0.8; cpd 0.9."


def test_the_schema_says_type_range_choices_and_default():
    schema = json_schema(ROWS.values(), "example")
    assert schema["required"] == ["name"]
    found = schema["properties"]
    assert found["rate"] == {
        "type": "number",
        "minimum": 0,
        "maximum": 100,
        "description": "Frames a second [Hz].",
        "default": 2.0,
    }
    assert found["mode"]["enum"] == ["fast", "slow"]
    assert found["theta"]["anyOf"] == [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "null"}]
    assert found["topics"] == {
        "type": "array",
        "items": {"type": "string"},
        "description": "Topics to record.",
        "default": (),
    }
    assert found["size"]["default"] == "1x2"


def test_what_is_no_setting_cannot_be_declared():
    @dataclass(frozen=True, kw_only=True)
    class Odd(Settings):
        when: complex = setting(1j, "Odd.")

    with pytest.raises(TypeError, match="give it a form"):
        declared(Odd)


def test_the_schema_of_a_comparison_takes_what_the_settings_take():
    schema = json_schema(declared(CompareSettings), "comparison")
    jsonschema.Draft202012Validator.check_schema(json.loads(json.dumps(schema)))
    check = jsonschema.Draft202012Validator(schema)
    assert check.is_valid({"theta": 0.7, "patch": "100x120", "model": None, "paired": True, "seed": 3})
    for wrong in ({"theta": 1.5}, {"preset": "mine"}, {"metric": "luck"}, {"seed": -1}, {"thetta": 0.5}):
        assert not check.is_valid(wrong)
        with pytest.raises((UsageError, TypeError)):
            CompareSettings(**wrong)


@dataclass(frozen=True, kw_only=True)
class Certain(Settings, panel="Certainty"):
    draws: int = setting(1000, "Draws.", low=0)
    margin: float = setting(0.05, "Margin.", common=True)


@dataclass(frozen=True, kw_only=True)
class Pairing(Settings, panel="Pairs"):
    paired: bool = setting(default=False, help="Frames are pairs.")


@dataclass(frozen=True, kw_only=True)
class Asked(Certain, Pairing):
    gap: float = setting(0.1, "Gap.")
    draws: int = setting(500, "Draws, of which there must be some.", low=1)


def test_a_question_is_composed_of_groups_in_their_order():
    assert [(row.name, row.group, row.panel) for row in declared(Asked)] == [
        ("draws", "Certainty", "Certainty"),
        ("margin", "Certainty", ""),
        ("paired", "Pairs", "Pairs"),
        ("gap", "", ""),
    ]
    assert {group: [row.name for row in rows] for group, rows in by_group(declared(Asked)).items()} == {
        "Certainty": ["draws", "margin"],
        "Pairs": ["paired"],
        "": ["gap"],
    }


def test_a_setting_that_a_question_declares_again_stays_in_its_group():
    (row,) = chosen(Asked, ["draws"])
    assert (row.default, row.low, row.group) == (500, 1, "Certainty")
    with pytest.raises(UsageError, match="draws 0: must be at least 1"):
        Asked(draws=0)


def test_settings_of_another_class_take_what_both_have():
    assert Asked(draws=7, paired=True).as_settings(Certain) == Certain(draws=7)
    assert Pairing(paired=True).as_settings(Asked) == Asked(paired=True)
