"""What the help of a command shows: a first panel of what people use, a panel a group, and only what applies."""

from __future__ import annotations

import inspect
import re

import pytest
import typer
from typer.testing import CliRunner

from simjudge.commands.app import BEFORE, app, functions
from simjudge.core.settings import Settings, declared
from simjudge.detectors.detector_settings import DetectSettings, TrainingSettings
from simjudge.judging.compare_settings import CompareSettings, PlanSettings, SweepSettings
from simjudge.page.report_settings import ReportSettings
from simjudge.questions.cover.settings import CoverSettings
from simjudge.questions.drives.settings import DriveComparisonSettings
from simjudge.questions.explain.settings import ExplainSettings
from simjudge.questions.fit.settings import FitSettings
from simjudge.questions.many_sets.run import ManySetsSettings
from simjudge.questions.objects.settings import ObjectSettings
from simjudge.sim.capture.capture_settings import RenderingSettings, ReplayingSettings
from simjudge.sim.driving.drive_settings import DrivingSettings
from simjudge.sim.sensors.filter_settings import FilterSettings

BY_COMMAND = {
    "compare": CompareSettings,
    "compare --sweep": SweepSettings,
    "plan": PlanSettings,
    "explain": ExplainSettings,
    "fit": FitSettings,
    "cover": CoverSettings,
    "robot objects": ObjectSettings,
    "robot drives": DriveComparisonSettings,
    "sim render": RenderingSettings,
    "sim replay": ReplayingSettings,
    "sim drive": DrivingSettings,
    "report": ReportSettings,
    "sim train": TrainingSettings,
    "data filter": FilterSettings,
    "detect": DetectSettings,
}
QUESTIONS = [*BY_COMMAND.values(), ManySetsSettings]
NOT_ASKED = {
    ExplainSettings: ("a_predictions", "b_predictions", "sensor", "cuboid_iou", "elevations", "task", "stride"),
    FitSettings: ("a_predictions", "b_predictions", "task", "stride", "width"),
    ManySetsSettings: ("a_predictions", "a_image_topic", "b_rename", "model", "trust", "paired", "sensor"),
    SweepSettings: ("paired", "pair_tolerance"),
    PlanSettings: ("margin",),
    CoverSettings: ("a_predictions", "paired", "sensor", "draws"),
}
MEANS_ANOTHER_THING = {
    "chosen_patch",
    "cones",
    "draws",
    "image_topic",
    "images",
    "max_speed",
    "metric",
    "min_score",
    "model",
    "noise",
    "patch",
    "poses",
    "rate",
    "sample",
    "scenes",
    "seed",
    "sensor",
    "sensors",
    "start",
    "task",
    "theta",
    "time_offset",
    "trust",
    "vehicle",
}
"""Names that two groups declare, each for a thing of its own: the seed of a search, the patch of a preset and so on."""


def options(name):
    command = typer.main.get_command(app)
    for word in [word for word, new in BEFORE.items() if new == name and "--" in new] or name.split():
        command = command.commands[word]
    return [parameter for parameter in command.params if parameter.param_type_name == "option"]


def test_the_list_of_commands_fits_a_screen():
    lines = CliRunner().invoke(app, ["--help"]).stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    listed = {word for line in lines for word in re.findall(r"[a-z]+", line)}
    assert {words.split()[-1] for words in functions() if "--" not in words} <= listed


@pytest.mark.parametrize("name", functions())
def test_help_shows_the_options_of_the_first_week_and_help_all_the_rest(name):
    def shown(flag):
        text = CliRunner().invoke(app, [*name.split(), flag], env={"COLUMNS": "200"}).stdout
        return set(re.findall(r"^│[ *]+(--?[\w-]+)", text, re.MULTILINE)) - {"--help"}

    assert len(shown("--help")) <= 12
    assert shown("--help-all") == {max(option.opts, key=len) for option in options(name)}


@pytest.mark.parametrize(("old", "new"), BEFORE.items())
def test_an_older_name_calls_the_command_by_its_new_one(old, new):
    shown = CliRunner().invoke(app, [old, "--help"], env={"COLUMNS": "200"}).stdout
    assert f"Usage: simjudge {new} " in shown


@pytest.mark.parametrize("name", functions())
def test_a_command_has_each_option_once(name):
    flags = [flag for option in options(name) for flag in (*option.opts, *option.secondary_opts)]
    assert len(flags) == len(set(flags))


def test_compare_shows_first_what_people_use():
    first = [option.opts[0] for option in options("compare") if option.rich_help_panel is None]
    assert first == [
        "--out",
        "--fail-on",
        "--require",
        "--model",
        "--a-predictions",
        "--b-predictions",
        "--class",
        "--theta",
        "--patch",
        "--margin",
        "--paired",
    ]


@pytest.mark.parametrize("name", BY_COMMAND)
def test_every_group_is_a_panel(name):
    shown = {option.name: option.rich_help_panel for option in options(name)}
    for row in declared(BY_COMMAND[name]):
        assert shown[row.name] == (row.panel or None)


@pytest.mark.parametrize("kind", NOT_ASKED)
def test_what_does_not_apply_is_not_offered(kind):
    assert not {row.name for row in declared(kind)} & set(NOT_ASKED[kind])
    for name in NOT_ASKED[kind]:
        with pytest.raises(TypeError, match=name):
            kind(**{name: None})


def groups(kind):
    """The classes that declare fields of a class of settings."""
    return [base for base in kind.__mro__ if issubclass(base, Settings) and base is not Settings]


def test_groups_lie_side_by_side():
    def depth(kind):
        return 0 if kind is Settings else 1 + max(depth(base) for base in kind.__bases__)

    assert max(map(depth, QUESTIONS)) <= 3


def test_a_setting_is_declared_in_one_group():
    homes = {}
    for group in dict.fromkeys(group for kind in QUESTIONS for group in groups(kind)):
        for name in inspect.get_annotations(group):
            homes.setdefault(name, []).append(group.__name__)
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert set(twice) == MEANS_ANOTHER_THING


@pytest.mark.parametrize("kind", BY_COMMAND.values())
def test_help_texts_are_plain_and_escaped_in_one_place(kind):
    assert not [row.name for row in declared(kind) if "\\" in row.help]
