"""Every declared setting reaches the method: from Python, from the command line, from a launch argument."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from simjudge.core.errors import UsageError
from simjudge.core.settings import Settings, declared, setting
from simjudge.judging.compare_settings import (
    PATCH_METRICS,
    SEMANTIC,
    WHOLE_FRAMES,
    CompareSettings,
    PlanSettings,
    SweepSettings,
)
from simjudge.judging.performance_source import parse_performance
from simjudge.questions.compare import result as comparison_result
from simjudge.questions.compare.command import compare, sweep
from simjudge.ros.description import argument, given_parameters
from simjudge.terminal.common import option, option_type, takes_settings

RENAMES = st.dictionaries(st.text("abc d"), st.text("abc_"), min_size=1).map(
    lambda names: tuple((f"x{old}", f"y{new}") for old, new in names.items())
)
FORMS = {
    "patch": st.tuples(st.integers(1, 4096), st.integers(1, 4096)),
    "patches": st.lists(st.tuples(st.integers(1, 4096), st.integers(1, 4096)), min_size=1).map(tuple),
    "thetas": st.sets(st.integers(0, 100), min_size=1).map(lambda given: tuple(sorted(n / 100 for n in given))),
    "rename": RENAMES,
    "a_rename": RENAMES,
    "b_rename": RENAMES,
    "classes": st.lists(st.text("abc_", min_size=1), min_size=1, unique=True).map(tuple),
    "block": st.none() | st.floats(0, 86400),
    "mask_factor": st.floats(0.1, 1e5),
    "performance": st.sampled_from(["depth", "depth:0:2", "depth:0:2:lower"]).map(parse_performance),
    "elevations": st.tuples(st.integers(-90, -1), st.integers(0, 90), st.integers(2, 1024)),
}
CASES = [(kind, row) for kind in (CompareSettings, SweepSettings) for row in declared(kind)]


def values(row):
    """Values that a setting may have."""
    if row.name in FORMS:
        return FORMS[row.name]
    if row.allowed:
        return st.sampled_from(row.allowed)
    if row.kind in (int, float):
        kind = st.integers if row.kind is int else st.floats
        return kind(row.low, 1e6 if row.high is None else row.high)
    return st.booleans() if row.kind is bool else st.text("abc.", min_size=1).map(row.kind)


def words(row, value):
    """How a value is written on the command line."""
    if value is None:
        return [f"{row.flag}=auto"]
    if row.kind is bool:
        return [row.flag] if value else []
    return [f"{row.flag}={row.text(value)}"]


class Reached(Exception):  # noqa: N818 - not an error
    """What would be computed."""


@pytest.fixture
def stopped(monkeypatch):
    """Comparison and sweep raise their settings instead of computing anything."""

    def stop(_a, _b, chosen, **_):
        raise Reached(chosen)

    monkeypatch.setattr(comparison_result, "compare_sets", stop)
    monkeypatch.setattr(comparison_result, "sweep_sets", stop)


def settings_of(call, *arguments, **keywords):
    with pytest.raises(Reached) as caught:
        call(*arguments, **keywords)
    return caught.value.args[0]


@pytest.mark.parametrize(("kind", "row"), CASES, ids=[f"{kind.__name__}-{row.name}" for kind, row in CASES])
@pytest.mark.usefixtures("stopped")
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_setting_reaches_the_method(tmp_path, kind, row, data):
    value = data.draw(values(row))
    name = "compare" if kind is CompareSettings else "sweep"
    # Label pictures have settings of their own, which make sense for them alone.
    of_pictures = row.name in ("stride", "width") or (row.name == "metric" and value in PATCH_METRICS)
    task = {"task": SEMANTIC} if of_pictures else {}
    if value == WHOLE_FRAMES:  # which have no metric of simjudge's
        task = {"performance": parse_performance("depth")}
    expected = kind(**{row.name: value}, **task)
    assert settings_of(getattr(comparison_result, name), "a", "b", **{row.name: value}, **task) == expected
    app = typer.Typer()
    app.command()({"compare": compare, "sweep": sweep}[name])
    more = [
        *words(row, value),
        *(f"--{key}={getattr(each, 'text', str)() if key == 'performance' else each}" for key, each in task.items()),
    ]
    done = CliRunner().invoke(app, ["a", "b", "--out", str(tmp_path / "out"), *more])
    assert isinstance(done.exception, Reached), done.output
    assert done.exception.args[0] == expected
    parameters = given_parameters([row], {row.name: row.text(value)})
    assert kind(**parameters, **task) == expected


@pytest.mark.parametrize("name", ["theta", "patch", "mask_factor", "class_blind", "min_score"])
def test_what_is_given_changes_the_preset_alone(name):
    given_values = {"theta": 0.3, "patch": (7, 9), "mask_factor": 2.5, "class_blind": True, "min_score": 0.75}
    method = CompareSettings(preset="cpd", **{name: given_values[name]}).method
    plain = CompareSettings(preset="cpd").method
    changed = {key for key in vars(plain) if getattr(plain, key) != getattr(method, key)}
    assert changed == {"class_aware" if name == "class_blind" else name}


def test_one_row_gives_option_argument_and_range():
    row = next(row for row in declared(CompareSettings) if row.name == "theta")
    made = option(row)
    assert (made.param_decls, made.min, made.max, made.show_default) == (("--theta",), 0, 1, "0.8; cpd 0.9")
    assert option_type(row) == float | None
    launch = argument(row)
    assert (launch.name, launch.default, launch.choices) == ("theta", "", ())
    assert "0.8; cpd 0.9" in launch.description


@pytest.mark.parametrize("kind", [CompareSettings, SweepSettings, PlanSettings])
@pytest.mark.parametrize(("given", "meant"), [("auto", None), ("", None), ("0", 0.0), ("2.5", 2.5)])
def test_auto_is_the_word_for_blocks_that_are_estimated(kind, given, meant):
    row = next(each for each in declared(kind) if each.name == "block")
    assert kind(block=row.parse(given)).block == meant
    if given:
        assert kind(block=given).block == meant, "as a study's file has it"


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"theta": 1.5}, "theta 1.5: must be 0 to 1"),
        ({"preset": "mine"}, "preset 'mine': must be one of paper, cpd"),
        ({"metric": "luck"}, "metric 'luck': must be one of iou, detected, score"),
        ({"patch": "big"}, "patch 'big': write height x width in pixels"),
        ({"mask_factor": 0}, "mask factor 0.0: must be positive"),
        ({"block": "often"}, "block 'often': must be auto, or seconds from 0 to"),
        ({"block": -1}, "block -1: must be auto"),
        ({"block": float("nan")}, "block nan: must be auto"),
        ({"block": True}, "block True: must be auto"),
        ({"block": 10**400}, "block 1000"),
        ({"draws": -1}, "draws -1: must be 0 to 100000"),
    ],
)
def test_settings_that_make_no_sense(keywords, message):
    with pytest.raises(UsageError) as caught:
        comparison_result.compare("a", "b", **keywords)
    assert str(caught.value).startswith(message)


def test_help_shows_units_and_brackets():
    @dataclass(frozen=True, kw_only=True)
    class Bracketed(Settings):
        gap: float = setting(1.0, "Longest gap.", unit="s")
        table: str = setting("x", "Table `frame row [slope]`.")

    def command(settings):
        del settings

    command.__annotations__ = {"settings": Bracketed}
    app = typer.Typer()
    app.command()(takes_settings(command))
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).output
    # Rich takes what stands in brackets for a style, unless it is told not to.
    assert "Longest gap [s]." in shown
    assert "frame row [slope]" in shown


def test_a_flag_that_is_on_can_be_switched_off():
    @dataclass(frozen=True, kw_only=True)
    class Switches(Settings):
        fast: bool = setting(default=True, help="Whether to be fast.")
        topics: tuple[str, ...] = setting((), "Topics.")

    got = []

    def command(settings):
        got.append(settings)

    command.__annotations__ = {"settings": Switches}
    app = typer.Typer()
    app.command()(takes_settings(command))
    assert CliRunner().invoke(app, ["--no-fast", "--topics", "a,b"]).exit_code == 0
    assert got == [Switches(fast=False, topics=("a", "b"))]
