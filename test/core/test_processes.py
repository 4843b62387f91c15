"""Programs that this one starts: they take no module from the current folder."""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from simjudge.core.processes import isolated_workers, python_command


@pytest.mark.skipif(not hasattr(sys.flags, "safe_path"), reason="Python 3.10 has no option -P")
def test_children_take_no_module_from_the_current_folder(tmp_path, monkeypatch):
    for name in ("json", "multiprocessing", "concurrent"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    subprocess.run(python_command("-c", "import json, multiprocessing"), check=True)
    subprocess.run(python_command("-m", "json.tool", "--help"), check=True, capture_output=True)
    with isolated_workers(), ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(os.getpid).result() != os.getpid()
    assert not (tmp_path / "ran").exists()
    assert "PYTHONSAFEPATH" not in os.environ
