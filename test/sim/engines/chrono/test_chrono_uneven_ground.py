"""What free things feel of a mesh ground, as plain numbers: no PyChrono is needed."""

import numpy as np
import pytest

from simjudge.sim.engines.chrono.car import triangle_solids
from simjudge.sim.scene.model import Mesh

CORNERS = np.array([[0, 0, 1], [1, 0, 1], [0, 1, 2], [0, 0, 3]], np.float32)


@pytest.mark.parametrize(
    ("faces", "count"),
    [
        ([[0, 1, 2]], 1),
        ([[2, 1, 0]], 1),  # seen from below
        ([[0, 1, 3]], 0),  # upright
        ([[0, 1, 1]], 0),
        ([[0, 1, 2], [0, 1, 3], [3, 1, 2]], 2),
    ],
)
def test_each_triangle_that_does_not_stand_upright_has_a_prism_below_it(faces, count):
    mesh = Mesh(CORNERS, np.array(faces, np.int32), np.zeros((4, 2), np.float32), np.zeros((4, 3), np.float32))
    solids = triangle_solids(mesh)
    assert solids.shape == (count, 6, 3)
    for solid in solids:
        assert solid[:3] - solid[3:] == pytest.approx(np.tile([0, 0, 0.5], (3, 1)))
        assert any(np.array_equal(solid[:3], CORNERS[face]) for face in faces)
