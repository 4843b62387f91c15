"""What moves: the bodies of a scene, and perhaps a car, in a ChSystem that steps 1 ms at a time.

Every body is a plain ChBody whose frame is its centre of mass (ChBodyAuxRef's setters changed their meaning between
9.0.1 and 10.0.0). Contacts are non-smooth (NSC), found by Bullet, with an envelope and a margin made for things of a
few centimetres: Chrono's defaults, 30 and 10 mm, are made for metres.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.car import Box, ChronoCar, TyreGround, triangle_solids
from simjudge.sim.engines.chrono.modules import STEP, Modules, Release, frame_pose, whole_steps
from simjudge.sim.engines.chrono.scenes import PlannedBody, ScenePlan, hull_points
from simjudge.sim.engines.contract import Poses
from simjudge.sim.scene.model import NO_INSTANCE, Scene
from simjudge.sim.vehicle.vehicle import VEHICLE, Command, Vehicle, VehicleState

GRAVITY = 9.81  # m/s^2
# Metres: outward collision envelope (ChCollisionModel::SetDefaultSuggestedEnvelope; Chrono's default is 30 mm).
_ENVELOPE = 0.002
_MARGIN = 0.001  # Metres: inward collision margin (ChCollisionModel::SetDefaultSuggestedMargin)
_FRICTION = 0.6  # Sliding friction of things, no unit
# Without bounce: on head, the speed from which on things bounce is never set (ChContactContainerNSC's
# min_bounce_speed), so that one run would bounce where the next does not.
_RESTITUTION = 0.0
# Seconds in which a contact pushes out what has sunk in (ChContactMaterialNSC::SetDampingF). A rigid contact takes one
# step: 0.1 mm in 1 ms is a hop of 0.1 m/s. Bullet finds one point of two hulls at a time, so a thing tips about it
# until another has sunk in, hops, and lands on one point again: the cones of `lab` wandered by up to 80 mm in a second.
_PUSH_OUT = 0.03
# Metres for a newton, of each of the two in contact: 4 um below 20 kg. At 0 Chrono ignores the time above.
_COMPLIANCE = 1e-8
# Metres: side of the box that stands for an infinite plane about its origin. Bullet counts in 32 bits: on one box of
# 400 m, contacts are off by 0.05 mm, cones hop and creep 10 to 50 mm in 2 s; on 40 m they stay within 0.2 mm.
_TILE = 40.0
_REACH = 400.0  # Metres: side of the square that this box and the four around it cover
_THICK = 1.0  # Metres: thickness of these boxes
# Collision families: a mesh ground meets free things alone. Chrono's own family of all bodies is 0; static things keep
# it too.
_CAR, _GROUND, _FREE = 0, 1, 2


class ChronoBodies:
    """The bodies of a scene; as in `simjudge.sim.engines.contract.Engine`, without the light.

    Args:
        vehicle: the car's figures; None: no car.

    Attributes:
        each: called with the time after every step of Chrono's, several to one of ours; none in a new system.
    """

    def __init__(
        self, modules: Modules, release: Release, scene: Scene, plan: ScenePlan, vehicle: Vehicle | None, start: Pose
    ) -> None:
        self._modules, self._release, self._scene, self._plan = modules, release, scene, plan
        self._vehicle, self.start = vehicle, start
        self._ground = TyreGround(modules, plan.bodies, vehicle.friction) if vehicle and release.vehicles else None
        self._worth = {t.name for t in scene.things if t.motion == "free" or t.instance != NO_INSTANCE}
        self._contacts = _contact_reporter(modules.core)
        self._system: Any = None
        self._car: ChronoCar | None = None
        self._free: dict[str, ChronoBody] = {}
        self._fixed: list[ChronoBody] = []
        self._touched: set[str] = set()
        self.each: Callable[[float], None] | None = None
        self.reset()

    @property
    def time(self) -> float:
        """Simulated seconds since the start."""
        return self._steps * STEP

    @property
    def system(self) -> Any:
        """The ChSystem that steps; another one after the car was placed, and after a reset."""
        return self._system

    @property
    def chassis(self) -> Any:
        """The car's chassis body, for sensors; None without a car."""
        return self._car.chassis if self._car else None

    def step(self, seconds: float) -> None:
        """Let physics run for a positive multiple of STEP."""
        for _ in range(whole_steps(seconds)):
            if self._car:
                self._car.advance(self.time, self._after_part)
            else:
                self._system.DoStepDynamics(STEP)
            self._steps += 1
        if not all(map(math.isfinite, (v for pose in self.poses().values() for v in pose.position))):
            raise SimjudgeError(f"{self._scene.name}: physics came apart before {self.time:.3f} s; do things overlap?")

    def set_pose(self, name: str, pose: Pose) -> None:
        """Put a free thing, or the car, somewhere, at rest: its frame (base_link for the car) in the world."""
        if name == VEHICLE and self._vehicle is not None:
            # Wheels, shafts and tyres have states of their own that nothing exposes: the car is built anew.
            self._build(pose, self._with_car().command, {name: free.motion() for name, free in self._free.items()})
        elif name in self._free:
            self._free[name].set_pose(pose)
        else:
            known = any(thing.name == name for thing in self._scene.things)
            raise UsageError(f"{name}: " + ("it is static and cannot be placed" if known else "nothing of that name"))

    def poses(self) -> Poses:
        """Where all free things and the car's parts are now."""
        found = {name: free.pose() for name, free in self._free.items()}
        return found | (self._car.poses() if self._car else {})

    def drive(self, command: Command) -> None:
        """What the driver does from now on."""
        self._with_car().drive(command)

    def vehicle_state(self) -> VehicleState:
        """How the car moves now."""
        return self._with_car().state(self.time)

    def touched_things(self) -> frozenset[str]:
        """Names of the free and labelled things that the car has touched since the start or the last reset."""
        return frozenset(self._touched)

    def reset(self) -> None:
        """Everything back to the start, in a new system: no solver's memory of before."""
        self._steps = 0
        self._touched = set()
        self._build(self.start, Command(), {})

    def close(self) -> None:
        """Give everything back, bodies before the system that the car owns."""
        self._free, self._fixed = {}, []
        self._system = self._car = self.each = None

    def _build(self, start: Pose, command: Command, moving: dict[str, Motion]) -> None:
        core = self._modules.core
        self._free, self._fixed, self._car, self.each = {}, [], None, None
        if self._vehicle is not None:
            self._car = ChronoCar(self._modules, self._release, self._vehicle, start, self._ground)
            self._car.drive(command)
            self._system = self._car.system
        else:
            self._system = core.ChSystemNSC()
            self._system.SetCollisionSystemType(core.ChCollisionSystem.Type_BULLET)
        # Every ChSystemNSC that is made, a car's too, sets both back to Chrono's own.
        core.ChCollisionModel.SetDefaultSuggestedEnvelope(_ENVELOPE)
        core.ChCollisionModel.SetDefaultSuggestedMargin(_MARGIN)
        self._system.SetGravitationalAcceleration(core.ChVector3d(0, 0, -GRAVITY))
        self._system.SetChTime(self.time)
        material = core.ChContactMaterialNSC()
        material.SetFriction(_FRICTION)
        material.SetRestitution(_RESTITUTION)
        material.SetCompliance(_COMPLIANCE)
        material.SetDampingF(_PUSH_OUT)
        if self._car:
            self._car.add_bumper(material)
        felt = any(not planned.fixed for planned in self._plan.bodies)
        for planned in self._plan.bodies:
            unfelt = planned.collider.kind == "ground" and not felt
            solid = ChronoBody(core, self._system, planned, None if unfelt else material)
            if planned.fixed:
                self._fixed.append(solid)
            else:
                self._free[planned.name] = solid
                if planned.name in moving:
                    solid.move(moving[planned.name])

    def _with_car(self) -> ChronoCar:
        if self._car is None:
            raise UsageError(f"{self._scene.name}: there is no car in it")
        return self._car

    def _after_part(self, time: float) -> None:
        """After every step of Chrono's, of which the car takes several: a touch may last no longer than one."""
        self._note_touched()
        if self.each is not None:
            self.each(time)

    def _note_touched(self) -> None:
        force = self._with_car().chassis.GetContactForce()
        if force.x == 0 and force.y == 0 and force.z == 0:
            return
        self._contacts.names.clear()
        self._system.GetContactContainer().ReportAllContacts(self._contacts)
        for first, second in self._contacts.names:
            if VEHICLE in (first, second):
                self._touched |= {first, second} & self._worth


# Pose, velocity and angular velocity (world axes) of a body.
Motion = tuple[Pose, tuple[float, float, float], tuple[float, float, float]]


class ChronoBody:
    """One body in physics."""

    def __init__(self, core: Any, system: Any, planned: PlannedBody, material: Any) -> None:
        """Add it to a system; a material of None: nothing feels it."""
        self._core = core
        self._centre = Pose(planned.centre)
        self.body = core.ChBody()
        self.body.SetName(planned.name)
        self.body.SetFixed(planned.fixed)
        if not planned.fixed:
            self.body.SetMass(float(planned.mass))
            xx, yy, zz = np.diag(planned.inertia).tolist()
            xy, xz, yz = (float(planned.inertia[row, column]) for row, column in ((0, 1), (0, 2), (1, 2)))
            self.body.SetInertiaXX(core.ChVector3d(xx, yy, zz))
            self.body.SetInertiaXY(core.ChVector3d(xy, xz, yz))
        self._collide(planned, material)
        self.set_pose(planned.pose)
        system.AddBody(self.body)

    def set_pose(self, pose: Pose) -> None:
        """Put it somewhere, at rest (pose of the thing's own frame in the world, metres)."""
        self.move((pose, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))

    def move(self, motion: Motion) -> None:
        """Give it a pose in the world and a speed (m/s and rad/s, in the world's axes)."""
        core, (pose, velocity, turning) = self._core, motion
        centre = pose @ self._centre
        x, y, z, w = centre.orientation
        self.body.SetPos(core.ChVector3d(*centre.position))
        self.body.SetRot(core.ChQuaterniond(w, x, y, z))
        self.body.SetPosDt(core.ChVector3d(*velocity))
        self.body.SetAngVelParent(core.ChVector3d(*turning))

    def pose(self) -> Pose:
        """Where its own frame is."""
        return body_pose(self.body) @ self._centre.inverse()

    def motion(self) -> Motion:
        """Where it is and how it moves."""
        velocity, turning = self.body.GetPosDt(), self.body.GetAngVelParent()
        return self.pose(), (velocity.x, velocity.y, velocity.z), (turning.x, turning.y, turning.z)

    def _collide(self, planned: PlannedBody, material: Any) -> None:
        core, collider = self._core, planned.collider
        if collider.kind == "none" or material is None:
            return
        middle = np.asarray(collider.centre)
        if collider.kind == "plane":
            shapes = [(np.array(centre), core.ChCollisionShapeBox(material, *size)) for centre, size in floor_boxes()]
        elif collider.kind == "box":
            shapes = [(middle, core.ChCollisionShapeBox(material, *map(float, collider.size)))]
        elif collider.kind == "cylinder":
            shapes = [(middle, core.ChCollisionShapeCylinder(material, *map(float, collider.size)))]
        else:
            solids = triangle_solids(planned.mesh) if collider.kind == "ground" else [hull_points(planned.mesh)]
            middles = [solid.mean(0) if collider.kind == "ground" else np.asarray(planned.centre) for solid in solids]
            hulls = [self._points(solid - middle) for solid, middle in zip(solids, middles, strict=True)]
            made = [core.ChCollisionShapeConvexHull(material, hull) for hull in hulls]
            shapes = list(zip(middles, made, strict=True))
        for centre, shape in shapes:
            centre_in_body = core.ChVector3d(*(centre - planned.centre).tolist())
            self.body.AddCollisionShape(shape, core.ChFramed(centre_in_body, core.ChQuaterniond(1, 0, 0, 0)))
        model = self.body.GetCollisionModel()
        if collider.kind == "ground":
            model.SetFamily(_GROUND)
            model.DisallowCollisionsWith(_CAR)
        elif not planned.fixed:
            model.SetFamily(_FREE)
        self.body.EnableCollision(True)

    def _points(self, points: npt.NDArray[np.float64]) -> Any:
        corners = self._core.vector_ChVector3d()
        for point in points.tolist():
            corners.append(self._core.ChVector3d(*point))
        return corners


def floor_boxes() -> tuple[Box, ...]:
    """What stands for an infinite plane: a tile about its origin and four slabs around it, their tops in the plane."""
    wide, down = (_REACH - _TILE) / 2, -_THICK / 2
    out = (_TILE + wide) / 2
    along = [((0.0, side * out, down), (_REACH, wide, _THICK)) for side in (1, -1)]
    across = [((side * out, 0.0, down), (wide, _TILE, _THICK)) for side in (1, -1)]
    return (((0.0, 0.0, down), (_TILE, _TILE, _THICK)), *along, *across)


def body_pose(body: Any) -> Pose:
    """The pose of a ChBody's own frame: pose of its centre of mass in the world, metres."""
    return frame_pose(body)


def _contact_reporter(core: Any) -> Any:
    """A ReportContactCallback that notes which bodies touch. SWIG's directors want a class made from Chrono's own."""

    class Contacts(core.ReportContactCallback):  # type: ignore[misc]
        """Pairs of names."""

        def __init__(self) -> None:
            super().__init__()
            self.names: list[tuple[str, str]] = []

        def OnReportContact(self, *told: Any) -> bool:  # noqa: N802 - Chrono's name
            """ChronoBodies are the eighth and ninth argument in all releases (9.0.1 lacks the tenth)."""
            first, second = (core.CastToChBody(contactable) for contactable in told[7:9])
            self.names.append((first.GetName(), second.GetName()))
            return True

    return Contacts()
