"""Copies of simjudge share what numba compiled, and never what was compiled of other sources."""

from __future__ import annotations

import os
import sys
from importlib import import_module, invalidate_caches

import numba
import pytest

import simjudge
from simjudge.core.numba_cache import SharedLoops

MODULES = {
    "probe_constants": "STEP = 1\n",
    "probe_callee": "from simjudge.core.numba_cache import njit\n@njit(cache=True)\ndef add(a, b):\n    return a + b\n",
    "probe_caller": "from simjudge.core.numba_cache import njit  # numba\nfrom simjudge.probe_callee import add\n"
    "from simjudge.probe_constants import STEP\n@njit(cache=True)\ndef total(a):\n    return add(a, STEP)\n",
}


@pytest.fixture
def call(tmp_path, monkeypatch):
    """total(10) of a copy of the modules in a folder of its own: its value, and whether it was compiled before."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(**changed):
        place = tmp_path / f"copy_{len(list(tmp_path.glob('copy_*')))}"
        place.mkdir()
        for name, text in (MODULES | changed).items():
            (place / f"{name}.py").write_text(text)
            monkeypatch.delitem(sys.modules, f"simjudge.{name}", raising=False)
        invalidate_caches()
        with monkeypatch.context() as patched:
            patched.setattr(simjudge, "__path__", [*simjudge.__path__, str(place)])
            patched.setattr(SharedLoops, "_keys", {})
            patched.setattr(SharedLoops, "_folders", {})
            total = import_module("simjudge.probe_caller").total
            return total(10), bool(total.stats.cache_hits)

    yield run
    for name in MODULES:
        sys.modules.pop(f"simjudge.{name}", None)


def test_a_copy_elsewhere_compiles_nothing_again(call):
    assert [call(), call()] == [(11, False), (11, True)]


@pytest.mark.parametrize(
    ("module", "old", "new", "value"),
    [
        ("probe_callee", "a + b", "a - b", 9),
        ("probe_constants", "1", "5", 15),
        ("probe_caller", "(a, STEP)", "(STEP, STEP)", 2),
    ],
)
def test_what_was_compiled_of_other_sources_is_left(call, module, old, new, value):
    call()
    assert call(**{module: MODULES[module].replace(old, new)}) == (value, False)
    assert call() == (11, True)


def test_without_a_folder_to_write_to_numba_decides(call, tmp_path):
    (tmp_path / "cache").write_text("a file")
    assert [call(), call()] == [(11, False), (11, False)]


def test_old_keys_go_once_nobody_uses_them(call, tmp_path):
    call()
    module = tmp_path / "cache/simjudge/numba/simjudge.probe_caller"
    for number in range(7):
        (module / f"old_{number}").mkdir()
        os.utime(module / f"old_{number}", (1e9 + number, 1e9 + number))
    call(probe_constants="STEP = 2\n")
    kept = {folder.name for folder in module.iterdir()}
    assert len(kept) == 4
    assert {name for name in kept if name.startswith("old")} == {"old_5", "old_6"}
