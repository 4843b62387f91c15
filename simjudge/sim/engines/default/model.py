"""A scene as a MuJoCo model: static things to bump into, free ones that fall, scripted ones that push, and the car."""

from __future__ import annotations

from collections import Counter
from typing import Any

import mujoco
import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.car import add_car
from simjudge.sim.engines.default.collisions import FIRM, FREE, GROUND, STATIC, THINGS, collision_bits
from simjudge.sim.engines.default.solids import horizontal_slices, whole_hull
from simjudge.sim.scene.model import Scene, Thing
from simjudge.sim.vehicle.car_appearance import VEHICLE
from simjudge.sim.vehicle.vehicle import Vehicle

STEP = 0.002
"""Seconds."""
GRAVITY = 9.81
"""m/s^2."""
_SLAB = 0.5
"""Metres: thickness of a ground below its lowest height."""


def build_model(scene: Scene, vehicle: Vehicle | None, start: Pose) -> mujoco.MjModel:
    """The model of a scene at its start.

    Args:
        vehicle: the car; None: no car.
        start: pose of base_link in the world, metres.
    """
    spec = mujoco.MjSpec()
    spec.option.timestep = STEP
    spec.option.gravity = [0, 0, -GRAVITY]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    # Things at rest sleep until they are touched: forty cones cost as little as none.
    spec.option.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
    # Physics that comes apart is an error here, never a silent restart.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.compiler.boundmass, spec.compiler.boundinertia = 1e-6, 1e-12
    solids = _Solids(spec)
    twice = [name for name, count in Counter(thing.name for thing in scene.things).items() if count > 1]
    if twice:
        raise SimjudgeError(f"{scene.name}: two things are called {twice[0]}; rename one")
    for thing in scene.things:
        _add_thing(spec, thing, solids)
    if vehicle is not None:
        if any(thing.name.split("/")[0] == VEHICLE for thing in scene.things):
            raise SimjudgeError(f"{scene.name}: a thing is called {VEHICLE!r} as the car is; rename it")
        add_car(spec, vehicle, start, GRAVITY)
    try:
        return spec.compile()
    except ValueError as error:
        raise SimjudgeError(f"{scene.name}: MuJoCo takes it for no scene: {' '.join(str(error).split())}") from error


def _add_thing(spec: mujoco.MjSpec, thing: Thing, solids: _Solids) -> None:
    free = thing.motion == "free"
    collider = thing.collider
    if collider.kind == "none" and not free:
        return
    if free and (collider.kind in {"none", "plane"} or not thing.mass > 0):
        raise SimjudgeError(f"{thing.name}: a free thing needs a mass and a collider that is a box, cylinder or hull")
    if not all(size > 0 for size in collider.size):
        raise SimjudgeError(f"{thing.name}: its collider has no size: {collider.size}")
    body = spec.worldbody.add_body(name=thing.name, pos=thing.pose.position, quat=wxyz(thing.pose))
    body.mocap = thing.path is not None
    if free:
        body.add_freejoint(name=thing.name)
    kind = FREE if free else GROUND if collider.kind == "ground" else STATIC
    given = {"condim": 6, "friction": THINGS, "solref": FIRM, **collision_bits(kind)}
    if collider.kind == "hull":
        parts = solids.of(thing)
        for name, share in parts:
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, mass=share * thing.mass, **given)
        return
    if collider.kind == "plane":
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], **given)
    elif collider.kind == "ground":
        _add_ground(spec, body, thing, given)
    elif collider.kind == "box":
        size = [side / 2 for side in collider.size]
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=collider.centre, size=size, mass=thing.mass, **given)
    else:
        size = [collider.size[0], collider.size[1] / 2, 0]
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, pos=collider.centre, size=size, mass=thing.mass, **given)


def _add_ground(spec: mujoco.MjSpec, body: mujoco.MjsBody, thing: Thing, given: dict[str, Any]) -> None:
    """Heights on a grid: MuJoCo has them from 0 to 1, row by row along y, above a slab."""
    collider, heights = thing.collider, thing.collider.heights
    if heights is None:
        raise SimjudgeError(f"{thing.name}: a ground needs heights")
    low, span = float(heights.min()), max(float(np.ptp(heights)), 1e-6)
    rows, columns = heights.shape
    x, y = collider.size
    spec.add_hfield(
        name=thing.name,
        nrow=rows,
        ncol=columns,
        size=[x / 2, y / 2, span, _SLAB],
        userdata=((heights - low) / span).ravel(),
    )
    pos = [collider.centre[0], collider.centre[1], low]
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname=thing.name, pos=pos, **given)


class _Solids:
    """The convex solids of meshes, each mesh's made once."""

    def __init__(self, spec: mujoco.MjSpec) -> None:
        self._spec = spec
        self._made: dict[tuple[int, bool], list[tuple[str, float]]] = {}

    def of(self, thing: Thing) -> list[tuple[str, float]]:
        """Names of a thing's solids, and their shares of its volume."""
        free = thing.motion == "free"
        key = (id(thing.mesh), free)
        if key not in self._made:
            solids = horizontal_slices(thing.mesh) if free else whole_hull(thing.mesh)
            if not solids:
                raise SimjudgeError(f"{thing.name}: its mesh is flat and has no hull; give it a box for a collider")
            total = sum(solid.volume for solid in solids)
            names = [f"{thing.name} {number}" for number in range(len(solids))]
            for name, solid in zip(names, solids, strict=True):
                mesh = self._spec.add_mesh(name=name, uservert=solid.points.ravel())
                mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
            self._made[key] = [(name, solid.volume / total) for name, solid in zip(names, solids, strict=True)]
        return self._made[key]


def wxyz(pose: Pose) -> list[float]:
    """A pose's quaternion in MuJoCo's order.

    Args:
        pose: orientation as x, y, z, w (ROS).
    """
    x, y, z, w = pose.orientation
    return [w, x, y, z]
