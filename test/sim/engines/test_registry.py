"""Engines by name, by entry point and by class; what cannot be had is one line."""

import sys
from importlib.metadata import EntryPoint

import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.ros.simulation_settings import ReplaySettings, SimSettings
from simjudge.sim.engines import registry
from simjudge.sim.engines.chrono.chrono_engine import ChronoEngine
from simjudge.sim.engines.registry import (
    GROUP,
    engine_class,
    find_engine,
    limit_threads,
    make_engine,
    registered_engines,
)
from simjudge.sim.scene.model import Scene

STILL = "from simjudge.sim.engines.still_engine import StillEngine\n\n\nclass Toy(StillEngine):\n    name = 'toy'\n"
ENGINE = f"{STILL}    variant = 'toy 1.0'\n    render = labels = lambda self: None\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module that can be imported."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)

    return write


@pytest.fixture
def plugins(monkeypatch):
    """Registers entry points as installed packages do."""

    def register(*values):
        entries = [EntryPoint(name, value, GROUP) for name, value in values]
        found = {GROUP: entries}
        monkeypatch.setattr(registry.importlib.metadata, "entry_points", lambda group: found[group])

    return register


def test_our_own_come_through_the_same_registry():
    assert list(registered_engines())[:4] == ["default", "baked", "mujoco", "chrono"]
    assert engine_class("chrono") is ChronoEngine
    assert find_engine("default").value == "simjudge.sim.engines.default.default_engine:DefaultEngine"


def test_an_engine_is_found_by_its_registered_name_and_by_its_class(module, plugins):
    module("toy_a", ENGINE)
    plugins(("toy", "toy_a:Toy"))
    assert list(registered_engines()) == ["default", "baked", "mujoco", "chrono", "toy"]
    assert engine_class("toy") is engine_class("toy_a:Toy")
    assert SimSettings(scene="lab", camera="plain", engine="toy").engine == "toy"
    assert ReplaySettings(scene="lab", camera="plain", engine="toy_a:Toy").engine == "toy_a:Toy"
    limit_threads("toy", 1)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("crono", "no engine has this name; is chrono meant"),
        ("tpy", "no engine has this name; is toy meant"),
        ("zzz", "there are default, baked, mujoco, chrono, toy, twice, or package:Class"),
        ("a b:C", "the form is package.module:Class"),
        ("a:", "the form is package.module:Class"),
        ("twice", "t:One and t:Two both register it; name the class instead, t:One"),
    ],
)
def test_a_name_that_no_engine_has_is_one_line(plugins, name, words):
    plugins(("toy", "toy_a:Toy"), ("twice", "t:One"), ("twice", "t:Two"))
    with pytest.raises(UsageError) as error:
        make_engine(name, None)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(UsageError):
        SimSettings(scene="lab", camera="plain", engine=name)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("raise OSError('libtoy.so: cannot open\\nshared object')", "OSError: libtoy.so: cannot open shared object"),
        ("x = 1", "AttributeError: module 'toy_b' has no attribute 'Toy'"),
        ("Toy = 3", "toy_b:Toy is no class"),
        ("from os import system as Toy", "toy_b:Toy is no class"),
        ("class Toy:\n    def step(self): pass", "lacks variant, time, step_size, set_pose"),
        (STILL, "lacks labels, render, variant of simjudge"),
    ],
)
def test_a_broken_plugin_keeps_its_true_error_in_one_line(module, plugins, text, words):
    module("toy_b", text)
    plugins(("toy", "toy_b:Toy"))
    with pytest.raises(SimjudgeError) as error:
        engine_class("toy")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_an_engine_that_cannot_be_made_keeps_its_true_error_in_one_line(module, plugins, monkeypatch):
    module("toy_c", "class Toy:\n    def __init__(self, path):\n        pass\n")
    plugins(("toy", "toy_c:Toy"))
    monkeypatch.setattr("simjudge.sim.engines.contract.Engine", object)
    with pytest.raises(SimjudgeError, match=r"^engine toy: toy_c:Toy .*cannot be made: TypeError: [^\n]*$"):
        make_engine("toy", Scene("s", (), ()))


def test_our_own_names_are_taken(plugins):
    plugins(("default", "evil:Engine"))
    assert find_engine("default").value.startswith("simjudge.")
    assert len(registered_engines()["default"]) == 1


def test_a_mujoco_that_is_installed_but_does_not_load_is_one_line(module, monkeypatch):
    module("mujoco", "raise OSError('libmujoco.so:\\n wrong ELF class')\n")
    for name in [name for name in sys.modules if name.startswith("mujoco.") or name.endswith(".gl_pictures")]:
        monkeypatch.delitem(sys.modules, name)
    for made in (registry._mujoco(), registry._default()):
        assert not made.runs
        (line,) = made.lines
        assert line.startswith("mujoco is installed but cannot be loaded: OSError: libmujoco.so: wrong ELF class; inst")
