"""A scene as a MuJoCo model: static things to bump into, free ones that fall and tip over, and the car."""

from __future__ import annotations

import mujoco
import numpy as np

from simjudge.errors import SimjudgeError
from simjudge.poses import Pose
from simjudge.world.car_looks import VEHICLE
from simjudge.world.engines.default.car import add_car
from simjudge.world.engines.default.collisions import FIRM, FREE, STATIC, THINGS, meets
from simjudge.world.scene.model import Scene, Thing
from simjudge.world.vehicle import Vehicle

STEP = 0.002
"""Seconds."""
GRAVITY = 9.81
"""m/s^2."""


def build_model(scene: Scene, vehicle: Vehicle | None, start: Pose) -> mujoco.MjModel:
    """The model of a scene at its start.

    Raises:
        SimjudgeError: a thing cannot be a body; the message names it.
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
    for thing in scene.things:
        _add_thing(spec, thing)
    if vehicle is not None:
        if any(thing.name.split("/")[0] == VEHICLE for thing in scene.things):
            raise SimjudgeError(f"{scene.name}: a thing is called {VEHICLE!r} as the car is; rename it")
        add_car(spec, vehicle, start, GRAVITY)
    try:
        return spec.compile()
    except ValueError as error:
        raise SimjudgeError(f"{scene.name}: MuJoCo takes it for no scene: {' '.join(str(error).split())}") from error


def _add_thing(spec: mujoco.MjSpec, thing: Thing) -> None:
    free = thing.motion == "free"
    kind = thing.collider.kind
    if kind == "none" and not free:
        return
    if free and (kind in {"none", "plane"} or not thing.mass > 0):
        raise SimjudgeError(f"{thing.name}: a free thing needs a mass and a collider that is a box, cylinder or hull")
    body = spec.worldbody.add_body(name=thing.name, pos=thing.pose.position, quat=wxyz(thing.pose))
    if free:
        body.add_freejoint(name=thing.name)
    geom = body.add_geom(name=thing.name, condim=6, friction=THINGS, solref=FIRM, **meets(FREE if free else STATIC))
    if free:
        geom.mass = thing.mass
    _shape(spec, geom, thing)


def _shape(spec: mujoco.MjSpec, geom: mujoco.MjsGeom, thing: Thing) -> None:
    collider = thing.collider
    if collider.kind == "plane":
        geom.type, geom.size = mujoco.mjtGeom.mjGEOM_PLANE, [0, 0, 1]
        return
    if collider.kind == "hull":
        points = np.unique(np.round(thing.mesh.vertices, 7), axis=0)
        if len(points) < 4 or np.linalg.matrix_rank(points[1:] - points[0], tol=1e-6) < 3:
            raise SimjudgeError(f"{thing.name}: its mesh is flat and has no hull; give it a box for a collider")
        mesh = spec.add_mesh(name=thing.name, uservert=points.ravel())
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
        geom.type, geom.meshname = mujoco.mjtGeom.mjGEOM_MESH, thing.name
        return
    geom.pos = collider.centre
    if collider.kind == "box":
        geom.type, geom.size = mujoco.mjtGeom.mjGEOM_BOX, [side / 2 for side in collider.size]
    else:
        radius, height = collider.size
        geom.type, geom.size = mujoco.mjtGeom.mjGEOM_CYLINDER, [radius, height / 2, 0]


def wxyz(pose: Pose) -> list[float]:
    """A pose's quaternion in MuJoCo's order."""
    x, y, z, w = pose.orientation
    return [w, x, y, z]
