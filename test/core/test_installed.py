"""Files that come with simjudge are found in the checkout, and where colcon installs them."""

from pathlib import Path

import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import (
    CALIBRATION,
    CAMERA,
    DETECTOR,
    ROBOT,
    SCENE,
    VEHICLE,
    find_file,
    first_sentence,
    installed_file,
    roots,
    shipped_files,
)

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
    assert find_file("mine", ROBOT) == share / "config/mine.yaml"
    assert shipped_files(DETECTOR)["own"] == share / "config/detectors/own.yaml"


def test_what_is_nowhere():
    with pytest.raises(SimjudgeError, match="is not where simjudge is installed"):
        installed_file("config/none.yaml")
    with pytest.raises(UsageError, match=r"none: neither .* a robot .* \(art1, .*f1tenth.*\)$"):
        find_file("none", ROBOT)
    with pytest.raises(UsageError, match=r"lab2: neither .* a scene .*\(.*hall, .*\); is lab meant\?"):
        find_file("lab2", SCENE)


def test_a_file_by_path_or_name(tmp_path):
    own = tmp_path / "plain"
    own.write_text("")
    assert find_file(own, CAMERA) == own
    assert find_file("plain", CAMERA) == find_file("plain.yaml", CAMERA) == ROOT / "config/cameras/plain.yaml"
    assert find_file("lab_pico", DETECTOR) == ROOT / "models/lab_pico.onnx"
    assert set(shipped_files(CALIBRATION)) == {"art1_camera"}


@pytest.mark.parametrize("kind", [SCENE, CAMERA, VEHICLE, DETECTOR])
def test_every_file_says_what_it_is_in_words_of_its_own(kind):
    said = {name: first_sentence(file) for name, file in shipped_files(kind).items()}
    assert all(said.values()), said
    assert len(set(said.values())) == len(said)
