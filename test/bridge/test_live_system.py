"""How a vehicle moves, what it looks like and what soil is, from bodies that are formulas."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from simjudge.bridge.live_system import LiveSystem, ball_triangles, box_triangles, cylinder_triangles
from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.modules import Modules, Release

RATE, SPIN_UP, RADIUS = 2.0, 3.0, 1.5
"""Turn rate, rad/s, its change, rad/s^2, and metres from the centre of mass back to the reference frame."""


def vector(x, y, z):
    return SimpleNamespace(x=x, y=y, z=z)


class Chassis:
    """A ChBodyAuxRef at a yaw of 90 degrees that turns about z; its centre of mass goes at (4, 0, 0) m/s.

    After a step Chrono's reference frame has the acceleration of the step before.
    """

    def GetFrameRefToAbs(self):  # noqa: N802 - Chrono's name
        turn = SimpleNamespace(e0=math.sqrt(0.5), e1=0.0, e2=0.0, e3=math.sqrt(0.5))
        stale = {"GetPosDt2": lambda: vector(0, 0, 0), "GetAngAccParent": lambda: vector(0, 0, 0)}
        return SimpleNamespace(GetPos=lambda: vector(0, 0, 0), GetRot=lambda: turn, **stale)

    def GetPos(self):  # noqa: N802 - Chrono's name
        return vector(0, RADIUS, 0)

    def GetPosDt(self):  # noqa: N802 - Chrono's name
        return vector(4, 0, 0)

    def GetPosDt2(self):  # noqa: N802 - Chrono's name
        return vector(1, 0, 0.5)

    def GetAngVelParent(self):  # noqa: N802 - Chrono's name
        return vector(0, 0, RATE)

    def GetAngAccParent(self):  # noqa: N802 - Chrono's name
        return vector(0, 0, SPIN_UP)


class Material:
    def __init__(self):
        self.ids = {}

    def __getattr__(self, name):
        if name in ("SetClassID", "SetInstanceID"):
            return lambda value: self.ids.__setitem__(name, value)
        raise AttributeError(name)

    def SetDiffuseColor(self, colour):  # noqa: N802 - Chrono's name
        pass


class Mesh:
    """A ChVisualShapeTriangleMesh without materials."""

    def __init__(self):
        self.materials = []

    def GetType(self):  # noqa: N802 - Chrono's name
        return 9

    def GetNumMaterials(self):  # noqa: N802 - Chrono's name
        return len(self.materials)

    def AddMaterial(self, material):  # noqa: N802 - Chrono's name
        self.materials.append(material)


class SCMTerrain:
    """Soil: no body, a mesh."""

    def __init__(self, mesh):
        self.mesh = mesh

    def GetMesh(self):  # noqa: N802 - Chrono's name
        return self.mesh


@pytest.fixture
def world():
    core = SimpleNamespace(
        ChVisualShape=SimpleNamespace(Type_MODELFILE=1), ChVisualMaterial=Material, ChColor=lambda *rgb: rgb
    )
    release = Release("0", "head", True, False, True, True, True)
    system = SimpleNamespace(GetChTime=lambda: 0.5)
    return LiveSystem(Modules(core, SimpleNamespace(), None, "0"), release, system)


def test_the_motion_of_a_chassis_is_of_this_step(world):
    world.set_vehicle(Chassis())
    state = world.vehicle_state()
    # By hand, in the world: v + w x r and a + w' x r - w^2 r with r = (0, -R, 0); then turned back by 90 degrees.
    velocity = np.array([4 + RATE * RADIUS, 0, 0])
    acceleration = np.array([1 + SPIN_UP * RADIUS, RATE**2 * RADIUS, 0.5])
    assert state.velocity == pytest.approx((velocity[1], -velocity[0], 0), abs=1e-12)
    assert state.acceleration == pytest.approx((acceleration[1], -acceleration[0], 0.5), abs=1e-12)
    assert state.angular_velocity == pytest.approx((0, 0, RATE), abs=1e-12)


def test_base_link_elsewhere_moves_with_the_chassis(world):
    # At the centre of mass nothing is added to its own motion.
    world.set_vehicle(Chassis(), Pose((RADIUS, 0, 0)))
    state = world.vehicle_state()
    assert state.velocity == pytest.approx((0, -4, 0), abs=1e-12)
    assert state.acceleration == pytest.approx((0, -1, 0.5), abs=1e-12)


def test_a_model_of_a_vehicle_is_its_chassis(world):
    chassis = Chassis()
    world.set_vehicle(SimpleNamespace(GetChassisBody=lambda: chassis))
    assert world.vehicle is chassis
    with pytest.raises(UsageError, match="a Chrono::Vehicle or a ChBody is needed"):
        world.set_vehicle(SimpleNamespace())


def test_soil_is_a_class_without_boxes(world):
    mesh = Mesh()
    assert world.label([SCMTerrain(mesh)], "soil", counted=False) == 0
    assert [material.ids for material in mesh.materials] == [{"SetClassID": 1, "SetInstanceID": 0}]
    assert (world.class_names, world.things) == ({1: "soil"}, ())
    classes, instances = world.own_labels(np.array([[1, 2]]), np.array([[0, 0]]))
    assert (classes.tolist(), instances.tolist()) == ([[1, 0]], [[0, 0]])


def test_soil_is_no_object(world):
    mesh = Mesh()
    with pytest.raises(UsageError, match="a SCMTerrain is no body: give counted=False"):
        world.label([SCMTerrain(mesh)], "soil")
    assert mesh.materials == []
    with pytest.raises(UsageError, match="SCMTerrain has no visual shape"):
        world.label([SCMTerrain(None)], "soil", counted=False)


def volume(vertices, faces):
    """By the divergence theorem: positive where faces run counter-clockwise seen from outside."""
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    return np.einsum("ni,ni->", a, np.cross(b, c)) / 6


@pytest.mark.parametrize(
    ("made", "true"),
    [
        (box_triangles(1.0, 2.0, 3.0), 6.0),
        (cylinder_triangles(0.5, 2.0), np.pi / 4 * 2),
        (ball_triangles(0.5), np.pi / 6),
    ],
    ids=["box", "cylinder", "ball"],
)
def test_volume_and_extent(made, true):
    vertices, faces = made
    assert volume(vertices, faces) == pytest.approx(true, rel=3e-3)
    assert np.unique(faces).tolist() == list(range(len(vertices))) or len(vertices) > 1000


def test_extents():
    assert np.ptp(cylinder_triangles(0.5, 2.0)[0], axis=0) == pytest.approx([1, 1, 2])
    assert np.ptp(ball_triangles(0.5)[0], axis=0) == pytest.approx([1, 1, 1])
