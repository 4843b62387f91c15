"""The fingerprint of a scene's files: the same on every machine, another one where anything changes."""

import os
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from support import processes

from simjudge.core.installed import VEHICLE, find_file
from simjudge.sim.vehicle.scene_digest import scene_digest, vehicle_digest

OBJ = (
    "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 3/3 2/2\nf 1/1 2/2 4/3\n"
)
SCENE = "things:\n  it: {mesh: a.obj, at: [{between: [0.0, 1.0]}, 0]}\n"


def write_scene(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.obj").write_text(OBJ)
    (folder / "a.mtl").write_text("newmtl m\nKd 1 1 1\nmap_Kd a.png\n")
    cv2.imwrite(str(folder / "a.png"), np.full((4, 4, 3), 90, np.uint8))
    (folder / "s.yaml").write_text(SCENE)
    return folder / "s.yaml"


def test_it_is_of_content_and_not_of_place(tmp_path):
    first, second = write_scene(tmp_path / "a"), write_scene(tmp_path / "b")
    assert scene_digest(first) == scene_digest(second)


@pytest.mark.parametrize("change", ["a.obj", "a.mtl", "a.png", "s.yaml", "seed"])
def test_whatever_changes_changes_it(tmp_path, change):
    scene = write_scene(tmp_path / "a")
    before = scene_digest(scene, 1)
    if change == "a.obj":
        (tmp_path / "a/a.obj").write_text(OBJ.replace("v 1 0 0", "v 2 0 0"))
    elif change == "a.mtl":
        (tmp_path / "a/a.mtl").write_text("newmtl m\nKd 0.5 1 1\nmap_Kd a.png\n")
    elif change == "a.png":
        cv2.imwrite(str(tmp_path / "a/a.png"), np.full((4, 4, 3), 91, np.uint8))
    elif change == "s.yaml":
        scene.write_text(SCENE + "ambient: 0.2\n")
    # Another process: the readers of this one keep what they have read, by path and time of change.
    seed = 2 if change == "seed" else 1
    code = f"from simjudge.sim.vehicle.scene_digest import scene_digest; print(scene_digest({str(scene)!r}, {seed}))"
    found = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert found != before


def test_the_processor_does_not_matter():
    code = "from simjudge.sim.vehicle.scene_digest import scene_digest; print(scene_digest('hall_stand_in', 4))"
    # OpenBLAS multiplies matrices as an older processor does: other last bits of poses and meshes.
    older = {**os.environ, "OPENBLAS_CORETYPE": "Nehalem"}
    found = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=older)
    assert found.stdout.strip() == scene_digest("hall_stand_in", 4)


def test_files_of_chrono_that_a_vehicle_names_change_it(tmp_path):
    """And a scene whose vehicle it is."""
    car = find_file("hmmwv", VEHICLE).read_text()
    (tmp_path / "car.yaml").write_text(car + "  data: parts\n")
    part = tmp_path / "parts" / "hmmwv" / "vehicle" / "HMMWV_Vehicle.json"
    part.parent.mkdir(parents=True)
    part.write_text("{}")
    scene = tmp_path / "s.yaml"
    scene.write_text("vehicle: car.yaml\n")
    before = vehicle_digest(tmp_path / "car.yaml"), scene_digest(scene)
    part.write_text('{"Name": "another"}')
    after = vehicle_digest(tmp_path / "car.yaml"), scene_digest(scene)
    assert all(old != new for old, new in zip(before, after, strict=True))
