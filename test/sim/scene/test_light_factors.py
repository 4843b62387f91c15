"""Light is brighter by its factor, and nothing else changes."""

from __future__ import annotations

import pytest
from render_scenes import scene_file

from simjudge.sim.scene.read import read_scene
from simjudge.sim.scene.scene_changes import LightFactors, light_groups

MORE = {
    "sun": {"azimuth": 130, "elevation": 40, "irradiance": 3},
    "background": 0.2,
    "lights": {"lamp": {"at": [0, 0, 2], "intensity": 4, "range": 6}},
}


def test_each_kind_of_light_has_its_factor(tmp_path):
    scene = read_scene(scene_file(tmp_path, **MORE))
    assert light_groups(scene) == ["lamps", "sun", "sky", "ambient"]
    found = LightFactors(lamps=0.5, sun=2.0, sky=3.0, ambient=0.1).apply(scene)
    assert found.lights[0].intensity == pytest.approx([2.0, 2.0, 2.0])
    assert found.lights[0].position == scene.lights[0].position
    assert found.sun.irradiance == pytest.approx([2 * value for value in scene.sun.irradiance])
    assert found.background == pytest.approx([0.6, 0.6, 0.6])
    assert found.ambient == pytest.approx([0.05, 0.05, 0.05])
    assert found.things == scene.things


def test_no_factor_is_the_scene_itself_and_none_is_dark(tmp_path):
    scene = read_scene(scene_file(tmp_path, **MORE))
    assert LightFactors().apply(scene) is scene
    dark = LightFactors(lamps=0.0, sun=0.0).apply(scene)
    assert dark.lights == ()
    assert dark.sun is None
    assert LightFactors(lamps=0.5).changed() == {"lamps": 0.5}
