"""Declared settings as ROS parameters: type, range, what "not given" is, and back to the settings object."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from rclpy.parameter import Parameter as RosParameter

from simjudge.core.settings import declared
from simjudge.judging.compare_settings import CompareSettings
from simjudge.nodes.parameters import Parameter

ROWS = {row.name: row for row in declared(CompareSettings)}


@pytest.mark.parametrize(
    ("name", "kind", "default"),
    [
        ("theta", "DOUBLE", None),
        ("patch", "STRING", ""),
        ("model", "STRING", ""),
        ("preset", "STRING", "paper"),
        ("class_blind", "BOOL", False),
        ("draws", "INTEGER", 1000),
        ("block", "STRING", ""),
        ("margin", "DOUBLE", 0.05),
        ("masks", "STRING", "auto"),
        ("unit", "STRING", ""),
    ],
)
def test_a_setting_is_a_parameter(name, kind, default):
    made = Parameter.of(ROWS[name])
    assert (made.name, made.default) == (name, default)
    assert made.type == RosParameter.Type[kind]
    assert made.description == ROWS[name].description
    assert made.unset == (default is None)


def test_the_descriptor_has_the_range():
    theta = Parameter.of(ROWS["theta"]).descriptor()
    assert [(r.from_value, r.to_value) for r in theta.floating_point_range] == [(0.0, 1.0)]
    assert "0.8; cpd 0.9" in theta.description
    draws = Parameter.of(ROWS["draws"]).descriptor()
    assert [(r.from_value, r.to_value) for r in draws.integer_range] == [(0, 100_000)]
    assert "paper, cpd" in Parameter.of(ROWS["preset"]).descriptor().additional_constraints


def test_a_choice_that_may_be_left_out_takes_nothing_and_no_other_word():
    unit = Parameter.of(ROWS["unit"])
    assert unit.problem(unit.default) is None
    assert "must be one of frame" in unit.problem("cone")


def test_every_default_is_taken_back():
    defaults = {name: Parameter.of(row).default for name, row in ROWS.items()}
    given = {name: None if value == "" else value for name, value in defaults.items()}
    assert CompareSettings(**given) == CompareSettings()
