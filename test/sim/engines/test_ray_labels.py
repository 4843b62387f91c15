"""Labels from single rays, against a formula: a plate 2 m ahead of a camera that looks along x."""

import numpy as np
import pytest

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.still_engine import ThingRays, labels_of_rays
from simjudge.sim.scene.model import Mesh, Surface, Thing
from simjudge.sim.sensors.camera.lens import lens_with_field

CORNERS = np.array([[0, -0.5, -0.25], [0, 0.5, -0.25], [0, 0.5, 0.25], [0, -0.5, 0.25]])
PLATE = Mesh(CORNERS, np.array([[0, 1, 2], [0, 2, 3]]), np.zeros((4, 2)), np.tile([-1.0, 0, 0], (4, 1)))
THING = Thing("plate", PLATE, Surface((1.0, 1.0, 1.0)), class_id=3, instance=7, pose=Pose((3, 0.2, 1)))


@pytest.mark.parametrize("model", ["pinhole", "equirectangular"])
def test_a_plate_is_where_the_formula_has_it(model):
    lens = lens_with_field(model, (120, 80), 90 if model == "pinhole" else 180)
    rays = ThingRays([THING])
    found = labels_of_rays(
        lambda start, ahead: rays.cast(start, ahead, {"plate": THING.pose}),
        lens,
        Pose((1, 0, 1)).optical_frame(),
        [THING],
        9,
    )
    x, y, z = np.moveaxis(lens.rays(), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = (z > 0) & (np.abs(-2 * x / z - 0.2) < 0.5) & (np.abs(2 * y / z) < 0.25)
        depth = np.where(seen, 2 / z if lens.omnidirectional else 2, np.inf)
    assert seen.sum() > 100
    assert np.array_equal(found.class_id, np.where(seen, 3, 9))
    assert np.array_equal(found.instance, np.where(seen, 7, 0))
    np.testing.assert_allclose(found.depth, depth, rtol=1e-6)
