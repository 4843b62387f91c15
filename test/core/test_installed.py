"""Files that come with simjudge are found in the checkout, and where colcon installs them."""

from pathlib import Path

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import roots
from simjudge.graph.installed_files import installed_file, named_file
from simjudge.perception.loading import shipped_detectors

ROOT = Path(__file__).parents[2]


def test_the_checkout_comes_first():
    assert roots()[0] == ROOT
    assert installed_file("config/art1.yaml") == ROOT / "config/art1.yaml"


def test_a_workspace_is_looked_into(tmp_path, monkeypatch):
    share = tmp_path / "install/simjudge/share/simjudge"
    (share / "config/detectors").mkdir(parents=True)
    (share / "config/mine.yaml").write_text("")
    (share / "config/detectors/own.yaml").write_text("")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path / 'install/simjudge'}")
    assert installed_file("config/mine.yaml") == share / "config/mine.yaml"
    assert named_file("mine", "config", ".yaml") == share / "config/mine.yaml"
    assert shipped_detectors()["own"] == share / "config/detectors/own.yaml"


def test_what_is_nowhere():
    with pytest.raises(SimjudgeError, match="is not where simjudge is installed"):
        installed_file("config/none.yaml")
    with pytest.raises(SimjudgeError, match=r"none: no such file; those that come with simjudge: .*art1"):
        named_file("none", "config", ".yaml")
