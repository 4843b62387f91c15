"""One wavefront puts its pixels in their places itself: as several wavefronts, whose pixels are sorted afterwards."""

import gc

import numpy as np
import pytest
from light_scenes import flat, lamp, looking, scene, sheet, thing, white
from trimesh import creation

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.sensors.camera.lens import lens_with_field

LENS = lens_with_field("pinhole", (126, 66), 80)
"""Its blocks of 4 x 4 pixels do not fit its size."""


@pytest.mark.parametrize("rays", [1, 4])
def test_pictures_and_labels_are_the_same_in_one_wavefront_and_in_several(light_of, monkeypatch, rays):
    things = [
        thing("floor", sheet(20, 20), white(), class_id=1, instance=300),
        thing("box", flat(creation.box((1, 1, 1))), white(), Pose((3, 0.4, 0.5)), class_id=2, instance=7),
    ]
    world = scene(*things, lights=[lamp(2, 2, 3)])
    state, other_state = looking((0, 0, 1), (4, 0, 0)), looking((0, 1, 1), (4, 0, 0))
    seen = []
    for several in (False, True):
        light = light_of(world)
        if several:
            monkeypatch.setattr(type(light._tracer), "wavefront", 2048)
        picture = light.render(LENS, [state], rays)
        kept = picture.copy()
        labels = light.labels(LENS, SceneState(state.camera, {"box": Pose((3, 0.4, 0.5))}))
        again = light.render(LENS, [other_state], rays)
        light.close()
        gc.collect()
        assert np.array_equal(picture, kept)  # what was given away stays as it is
        seen.append((picture, *labels, again))
    one, other = seen
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()
    assert {0, 7, 300} == set(np.unique(one[2]).tolist())
