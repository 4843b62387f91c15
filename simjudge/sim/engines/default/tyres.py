"""Tyres: forces along the ground between wheels and what they roll on, also where it is not flat.

MuJoCo sees a height field as a row of prisms, and a wheel that rolls over them bumps into their sides: 2 % of a ramp's
pull are lost on cells of 5 cm, 6 % on 2 cm. So tyres do not collide with it. The wheel's lowest point against the
ground's plane below it gives the load, k d - c v, with k as stiff as a step of physics allows.

MuJoCo's contact carries the weight, and on ground that is not flat the tyre itself.

Each tyre touches the ground in one point (the transient single-point model with a relaxation length of Pacejka, Tire
and Vehicle Dynamics, chapter 7). There its tread is bent along and across the wheel by u; with the slip speed s of the
wheel's lowest point and the rolling speed V,

    du/dt = s - V u / relaxation length,    force = -k u - c du/dt,    |force| <= friction x load.

k = slip stiffness x load at rest / relaxation length. Rolling steadily that is the linear tyre, slip stiffness x load
at rest x s / V, until it slides. At rest it is a spring: a parked car stays where it is, on a slope too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.numba_cache import njit
from simjudge.sim.scene.model import Thing
from simjudge.sim.vehicle.vehicle import Vehicle

_STIFF = 0.5  # Stiffness times the square of a step over the wheel's mass; beyond 4 the spring would come apart
_DAMPED = 0.7  # Damping ratio of the wheel on its tyre
# Rows of position x y z, cosine and sine of the yaw, middle x y, size x y, rows, columns and first height; heights.
GroundTable = tuple[FloatArray, FloatArray]


def pack_grounds(things: Sequence[Thing]) -> GroundTable:
    """The grounds among some things as two arrays: float64 (N, 12)."""
    rows, heights, first = [], [np.zeros(0)], 0
    for thing in things:
        grid = thing.collider.heights
        if thing.collider.kind != "ground" or grid is None:
            continue
        yaw, _, _ = thing.pose.angles()
        middle, size = thing.collider.centre[:2], thing.collider.size
        rows.append([*thing.pose.position, math.cos(yaw), math.sin(yaw), *middle, *size, *grid.shape, first])
        heights.append(grid.ravel())
        first += grid.size
    return np.array(rows, np.float64).reshape(-1, 12), np.concatenate(heights)


def tyre_spring(wheel_mass: float, step: float) -> tuple[float, float]:
    """Stiffness, N/m, and damping, N s/m, of a tyre on uneven ground (wheel_mass: kg; step of physics, seconds)."""
    stiffness = _STIFF * wheel_mass / step**2
    return stiffness, 2 * _DAMPED * math.sqrt(stiffness * wheel_mass)


@njit(cache=True)
def ground_below(table, x, y, normal):  # type: ignore[no-untyped-def]
    """Height of the highest ground at a place, its unit normal into `normal`; minus infinity beside all grounds."""
    grounds, heights = table
    best = -np.inf
    for g in range(len(grounds)):
        row = grounds[g]
        cosine, sine = row[3], row[4]
        u = cosine * (x - row[0]) + sine * (y - row[1]) - row[5]
        v = cosine * (y - row[1]) - sine * (x - row[0]) - row[6]
        rows, columns, first = int(row[9]), int(row[10]), int(row[11])
        at_x, at_y = (u / row[7] + 0.5) * (columns - 1), (v / row[8] + 0.5) * (rows - 1)
        if at_x < 0 or at_y < 0 or at_x > columns - 1 or at_y > rows - 1:
            continue
        j, i = min(int(at_x), columns - 2), min(int(at_y), rows - 2)
        s, t = at_x - j, at_y - i
        a, b = heights[first + i * columns + j], heights[first + i * columns + j + 1]
        c, d = heights[first + (i + 1) * columns + j], heights[first + (i + 1) * columns + j + 1]
        height = row[2] + (a * (1 - s) + b * s) * (1 - t) + (c * (1 - s) + d * s) * t
        if height <= best:
            continue
        best = height
        along = ((b - a) * (1 - t) + (d - c) * t) / (row[7] / (columns - 1))
        across = ((c - a) * (1 - s) + (d - b) * s) / (row[8] / (rows - 1))
        length = math.sqrt(along * along + across * across + 1)
        normal[0] = -(cosine * along - sine * across) / length
        normal[1] = -(sine * along + cosine * across) / length
        normal[2] = 1 / length
    return best


@njit(cache=True)
def lowest_point(centre, rotation, radius, half_width, normal):  # type: ignore[no-untyped-def]
    """The point of a wheel, an ellipsoid about its y axis, that is farthest against a normal."""
    shape = np.array([radius * radius, half_width * half_width, radius * radius])
    local = np.zeros(3)
    length = 0.0
    for k in range(3):
        for j in range(3):
            local[k] += rotation[3 * j + k] * normal[j]
        length += shape[k] * local[k] * local[k]
    length = math.sqrt(length)
    out = centre.copy()
    for j in range(3):
        for k in range(3):
            out[j] -= rotation[3 * j + k] * shape[k] * local[k] / length
    return out


@njit(cache=True)
def touch_ground(table, centre, rotation, radius, half_width, point, normal):  # type: ignore[no-untyped-def]
    """Where a wheel touches the ground, into `point` and `normal`; returns how deep, below 0 in the air, metres."""
    height = ground_below(table, centre[0], centre[1], normal)
    if height == -np.inf:
        return -1.0
    for _ in range(2):  # the plane below the wheel's middle, then that below the point
        point[:] = lowest_point(centre, rotation, radius, half_width, normal)
        height = ground_below(table, point[0], point[1], normal)
        if height == -np.inf:
            return -1.0
    return (height - point[2]) * normal[2]


_DAMPING = (0.002, 0.01)  # c / k along and across, seconds
_ON_ITS_SIDE = 0.3  # Sine of the angle between axle and ground's normal below which a wheel does not roll


class Tyres:
    """The tyres of a compiled model.

    Args:
        tyres: numbers of the geoms with which they stand on the ground, in the same order.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        car: Vehicle,
        wheels: list[int],
        tyres: list[int],
        loads: list[float],
        grounds: GroundTable,
    ) -> None:
        self._model, self._data = model, data
        self._wheels = np.array(wheels, np.int64)
        self._wheel_of = np.full(model.ngeom, -1, np.int64)
        self._wheel_of[tyres] = np.arange(len(tyres))
        self._at_rest = np.array(loads)
        self._stiffness = np.outer(loads, car.slip_stiffness) / car.relaxation_length
        self._damping = self._stiffness * _DAMPING
        step = float(model.opt.timestep)
        self._figures = (car.friction, car.relaxation_length, step)
        self._spring = (car.wheel_radius, car.wheel_width / 2, *tyre_spring(car.wheel_mass, step))
        self._grounds, self._carried = grounds, np.zeros(len(wheels))
        self._root = int(model.body_rootid[wheels[0]])
        self.rest()

    def rest(self) -> None:
        """Unbent, each carrying its share of the weight."""
        self._bent = np.zeros((len(self._wheels), 2))
        self._loads = self._at_rest.copy()

    def push(self) -> None:
        """Set the forces of this step; between `mj_step1` and `mj_step2`."""
        data, contact = self._data, self._data.contact
        _push(
            self._wheels,
            self._wheel_of,
            # Copies, for views of one contact and of several are two types for the compiler.
            (contact.geom.copy(), contact.dist.copy(), contact.pos.copy(), contact.frame.copy()),
            (data.xpos, data.xmat, data.cvel, data.subtree_com[self._root]),
            self._figures,
            self._stiffness,
            self._damping,
            self._loads,
            self._bent,
            data.xfrc_applied,
            (self._grounds, self._spring, self._carried),
        )

    def weigh(self) -> None:
        """Note what each tyre carried in this step; after `mj_step2`."""
        contact = self._data.contact
        rows = contact.efc_address.copy()
        _weigh(self._wheel_of, contact.geom.copy(), rows, self._data.efc_force.copy(), self._loads)
        self._loads += self._carried


@njit(cache=True)  # type: ignore[untyped-decorator]
def _weigh(
    wheel_of: npt.NDArray[np.int64],
    geoms: npt.NDArray[np.int32],
    rows: npt.NDArray[np.int32],
    forces: FloatArray,
    loads: FloatArray,
) -> None:
    loads[:] = 0
    for i in range(len(geoms)):
        wheel = max(wheel_of[geoms[i, 0]], wheel_of[geoms[i, 1]])
        if wheel >= 0 and rows[i] >= 0:
            loads[wheel] += forces[rows[i]]


@njit(cache=True)
def _push(  # type: ignore[no-untyped-def]
    wheels, wheel_of, contacts, bodies, figures, stiffness, damping, loads, bent, pushes, uneven
):
    """Forces and torques (rows of `pushes`, world axes at the wheels' centres); bends the tyres on by a step."""
    geoms, depth, points, frames = contacts
    positions, rotations, velocities, origin = bodies
    friction, relaxation, dt = figures
    grounds, (radius, half_width, spring, damper), carried = uneven
    touched, slope = np.empty(3), np.empty(3)
    for wheel in range(len(wheels)):
        body = wheels[wheel]
        pushes[body] = 0
        centre, spin, velocity = positions[body], velocities[body, :3].copy(), velocities[body, 3:].copy()
        load, carried[wheel] = loads[wheel], 0
        if len(grounds[0]):
            deep = touch_ground(grounds, centre, rotations[body], radius, half_width, touched, slope)
            if deep > 0:
                sinking = -np.dot(velocity + _cross(spin, touched - origin), slope)
                carried[wheel] = load = max(spring * deep + damper * sinking, 0.0)
                pushes[body, :3] = load * slope
                pushes[body, 3:] = _cross(touched - centre, load * slope)
        deepest = _deepest(wheel, wheel_of, geoms, depth)
        if deepest >= 0:
            point, up, load = points[deepest], frames[deepest, :3].copy(), loads[wheel]
        elif carried[wheel] > 0:
            point, up = touched, slope
        else:
            bent[wheel] = 0
            continue
        if np.dot(up, centre - point) < 0:
            up = -up
        axle = rotations[body, 1::3].copy()
        ahead = _cross(axle, up)
        length = math.sqrt(np.dot(ahead, ahead))
        if length < _ON_ITS_SIDE:
            bent[wheel] = 0
            continue
        ahead /= length
        left = _cross(up, ahead)
        slip = velocity + _cross(spin, point - origin)
        rolling = abs(np.dot(velocity + _cross(spin, centre - origin) - slip, ahead))
        force = np.zeros(2)
        for axis in range(2):
            speed = np.dot(slip, ahead if axis == 0 else left)
            before = bent[wheel, axis]
            after = (before + dt * speed) / (1 + dt * rolling / relaxation)
            force[axis] = -stiffness[wheel, axis] * after - damping[wheel, axis] * (after - before) / dt
            bent[wheel, axis] = after
        size, most = math.hypot(force[0], force[1]), friction * load
        if size > most:
            force *= most / size
            bent[wheel] = -force / stiffness[wheel]
        push = force[0] * ahead + force[1] * left
        pushes[body, :3] += push
        pushes[body, 3:] += _cross(point - centre, push)


@njit(cache=True)
def _deepest(wheel, wheel_of, geoms, depth):  # type: ignore[no-untyped-def]
    """Number of the contact in which a tyre is pressed in most; -1: it is in the air."""
    found, least = -1, np.inf
    for i in range(len(geoms)):
        if (wheel_of[geoms[i, 0]] == wheel or wheel_of[geoms[i, 1]] == wheel) and depth[i] < least:
            found, least = i, depth[i]
    return found


@njit(cache=True)
def _cross(a, b):  # type: ignore[no-untyped-def]
    out = np.empty(3)
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    return out
