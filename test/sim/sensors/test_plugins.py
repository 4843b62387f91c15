"""Filters of one's own, for cameras and for readings: by entry point, by --plugin, and in child processes."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import UsageError
from simjudge.sim.sensors import filter_registry
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.filters import CAMERA_FILTERS
from simjudge.sim.sensors.filter_registry import READING_FILTERS, FilterChain, SensorReading, add_plugin, load_plugins
from simjudge.sim.sensors.sensor_file import read_sensors

OWN = '''
from dataclasses import replace
from simjudge.sim.sensors.camera.filters import camera_filter
from simjudge.sim.sensors.filter_registry import reading_filter

@reading_filter
def shift_by(reading, *, metres: float):
    """Shift."""
    return replace(reading, values=reading.values + metres)

@camera_filter
def negative(image):
    """Negative."""
    return 1 - image
'''
SENSORS = "{a: {kind: gps, rate: 1, filters: [{shift_by: {metres: 3}}]}}"
CAMERA = "{size: [8, 8], field_of_view: 60, rate: 1, filters: [negative]}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a module, two files that ask for its filters, and registries that forget them afterwards."""
    (tmp_path / "own_filters.py").write_text(OWN)
    (tmp_path / "sensors.yaml").write_text(SENSORS)
    (tmp_path / "camera.yaml").write_text(CAMERA)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv(filter_registry.VARIABLE, "")
    for registry in (READING_FILTERS, CAMERA_FILTERS):
        monkeypatch.setattr(registry, "functions", dict(registry.functions))
    yield tmp_path
    sys.modules.pop("own_filters", None)


@pytest.mark.parametrize("way", ["entry point", "plugin", "environment"])
def test_filters_of_ones_own_are_found(folder, monkeypatch, way):
    if way == "entry point":
        monkeypatch.syspath_prepend(folder)
        entry = EntryPoint("own", "own_filters", filter_registry.GROUP)
        monkeypatch.setattr(
            filter_registry, "entry_points", lambda group: [entry] if group == "simjudge.filters" else []
        )
    elif way == "plugin":
        add_plugin("own_filters")
    else:
        monkeypatch.setenv(filter_registry.VARIABLE, "own_filters")
    (spec,) = read_sensors(folder / "sensors.yaml")
    one = np.ones(3)
    assert FilterChain(spec.filters, "filter", (0,)).run(SensorReading("a", "gps", 0, 0, one, one)).values[0] == 4
    assert [step.name for step in read_camera(folder / "camera.yaml").steps] == ["negative"]


def test_the_command_line_takes_a_plugin(folder):
    """Without it the filter is not known."""
    command = ["filter", str(Path(__file__).parents[3] / "bags/sim.mcap"), "out.mcap", "--camera", "camera.yaml"]
    done = CliRunner().invoke(app, command)
    assert "no filter is called 'negative'" in str(done.exception)
    done = CliRunner().invoke(app, ["--plugin", "own_filters", *command])
    assert done.exit_code == 0, done.output
    assert (folder / "out.mcap").exists()


@pytest.mark.parametrize(("text", "says"), [(None, "No module named"), ("1 / 0", "division by zero")])
def test_a_plugin_that_cannot_be_imported_is_told_in_one_line(folder, text, says):
    if text:
        (folder / "broken_filters.py").write_text(text)
    with pytest.raises(UsageError, match=f"plugin broken_filters: cannot be imported .*{says}"):
        add_plugin("broken_filters")
    with pytest.raises(UsageError, match="plugin broken_filters"):
        load_plugins()
