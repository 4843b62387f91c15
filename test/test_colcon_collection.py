"""What `colcon test` collects: launch_testing's plugin is loaded there, and imports modules before pytest does."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

MODULES = {
    "test_other.py": "import pytest\npytest.importorskip('nothing_of_this_name')\ndef test_other():\n    pass\n",
    "test_own.py": "def test_own():\n    pass\n",
}


def test_a_module_that_lacks_something_takes_no_other_with_it(tmp_path):
    pytest.importorskip("launch_testing", reason="launch_testing is not installed: it comes with a ROS 2 installation")
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    # An installation enters the plugin itself; a second entry is an error.
    entered = entry_points(group="pytest11", name="launch_testing")
    plugin = [] if entered else ["-p", "launch_testing.pytest.hooks"]
    command = [sys.executable, "-m", "pytest", *plugin, "-q", "-c", "/dev/null", "."]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}  # of colcon
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
