"""What is missing of PyChrono is said with the true error."""

import sys

from simjudge.engines.chrono.modules import missing_modules


def test_a_module_that_cannot_be_imported_keeps_its_reason(tmp_path, monkeypatch):
    package = tmp_path / "pychrono"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "core.py").touch()
    (package / "sensor.py").write_text("raise ImportError('libvulkan.so.1: cannot open\\nshared object file')")
    for name in [each for each in sys.modules if each.split(".")[0] == "pychrono"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    assert missing_modules() == (
        "pychrono.sensor: ImportError: libvulkan.so.1: cannot open shared object file",
        "pychrono.vehicle: ModuleNotFoundError: No module named 'pychrono.vehicle'",
    )
    for name in [each for each in sys.modules if each.split(".")[0] == "pychrono"]:
        del sys.modules[name]  # not by monkeypatch, which would bring them back
