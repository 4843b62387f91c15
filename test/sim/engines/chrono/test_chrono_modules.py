"""What is missing of PyChrono is said with the true error."""

import sys
from types import SimpleNamespace

from simjudge.sim.engines.chrono.modules import find_textures, missing_modules


def test_a_module_that_cannot_be_imported_keeps_its_reason(tmp_path, monkeypatch):
    package = tmp_path / "pychrono"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "core.py").touch()
    (package / "sensor.py").write_text("raise ImportError('libvulkan.so.1: cannot open\\nshared object file')")
    for name in [module for module in sys.modules if module.split(".")[0] == "pychrono"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    assert missing_modules() == (
        "pychrono.sensor: ImportError: libvulkan.so.1: cannot open shared object file",
        "pychrono.vehicle: ModuleNotFoundError: No module named 'pychrono.vehicle'",
    )
    for name in [module for module in sys.modules if module.split(".")[0] == "pychrono"]:
        del sys.modules[name]  # not by monkeypatch, which would bring them back


def core_that_says(path):
    """The two functions of pychrono.core that say where its data is."""
    told = SimpleNamespace(path=path)
    told.GetChronoDataPath = lambda: told.path
    told.SetChronoDataPath = lambda path: setattr(told, "path", path)
    return told


def test_textures_are_found_beside_the_vehicle_data(tmp_path):
    """A build without FEA says where vehicle data is, and not where the textures of its tyres are."""
    vehicles = tmp_path / "data" / "vehicle"
    vehicles.mkdir(parents=True)
    core = core_that_says("../data/")
    find_textures(core, vehicles)
    assert core.path == "../data/", "nothing is there"
    (tmp_path / "data" / "textures").mkdir()
    find_textures(core, vehicles)
    assert core.path == f"{tmp_path}/data/"
    known = tmp_path / "elsewhere"
    (known / "textures").mkdir(parents=True)
    core.path = f"{known}/"
    find_textures(core, vehicles)
    assert core.path == f"{known}/", "what is known stays"
