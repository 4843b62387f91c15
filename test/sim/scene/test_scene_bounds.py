"""Scenes and renderings that would never end are refused in one line, before points are made."""

import pytest
from scene_files import GOOD, scene_file

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.sim.capture.rendering import render
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera

LINE = {"waypoints": [[-2, 1.5], [1.5, 1.5]]}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ({**LINE, "spacing": 1e-9}, r"placements\.row\.path\.spacing: .* things in a row; 5000 can be"),
        ({"waypoints": [[-1e5, 0], [1e5, 0], [-1e5, 1]] * 60, "spacing": 1}, r"path\.waypoints: .* m long"),
        ({"sine": {"from": [-1e5, -1e5], "to": [1e5, 1e5], "amplitude": 1, "periods": 1}, "spacing": 1}, "m long"),
        ({"arcs": {"start": [0, 0, 0], "pieces": [{"straight": 1e5}] * 200}, "spacing": 1}, "m long"),
        ({"arcs": {"start": [0, 0, 0], "pieces": [{"left": 400, "radius": 1e5}]}, "spacing": 1}, "m long"),
    ],
)
def test_endless_rows(tmp_path, path, said):
    row = {"path": {"width": 0.5, "left": "red_cone", **path}}
    with pytest.raises(SimjudgeError, match=said):
        read_scene(scene_file(tmp_path, GOOD, placements={"row": row}))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("size: [20000, 20000]", r"size: 89 million pixels at most; this is 400"),
        ("size: [8000, 8000]\nsupersampling: 16", r"supersampling: 16384 million rays an image"),
    ],
)
def test_gigantic_cameras(tmp_path, fields, said):
    path = tmp_path / "camera.yaml"
    path.write_text(f"{fields}\nfield_of_view: 60\nrate: 10\n")
    with pytest.raises(SimjudgeError, match=said):
        read_camera(path)


@pytest.mark.parametrize("more", [{"n": 10**9}, {"n": 0}, {"n": 5, "scenes": 10**9}])
def test_endless_renderings(tmp_path, more):
    with pytest.raises(UsageError, match="must be 1 to 1000000"):
        render("lab", tmp_path / "x", camera="plain", poses="random", **more)
