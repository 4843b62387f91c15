"""Cars in MuJoCo: a body on four sprung wheels, steering, motor and brakes, and who bumps into whom.

* Tyres: see `tyres`; the ground sees a wheel as an ellipsoid, which touches it in one point.
* Motor and speed controller as in Chrono's ARTcar: torque = throttle x stall torque x (1 - speed / no-load speed),
  never negative; no throttle, no torque. Every wheel gets a quarter of it; the motor turns with the wheels' mean.
* Rolling resistance and brakes: dry friction in the wheels' bearings, which stops them and never turns them back.
* Steering: the bicycle's angle follows the command at the servo's rate, each wheel takes Ackermann's angle for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import mujoco
import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.tyres import Tyres, pack_grounds
from simjudge.sim.scene.model import Thing
from simjudge.sim.vehicle.vehicle import VEHICLE, WHEELS, Command, Vehicle, VehicleState, body_box

STATIC = 1  # Bit of static things
FREE = 2  # Bit of free things
BODY = 4  # Bit of cars' bodies
TYRE = 8  # Bit of cars' tyres, which the ground alone feels
WHEEL = 16  # Bit of cars' wheels, which free things and other cars alone feel
GROUND = 32  # Bit of ground that is not flat, which tyres feel by themselves (see `tyres`)
_OTHERS = {
    STATIC: FREE | BODY | TYRE,
    FREE: STATIC | FREE | BODY | WHEEL,
    BODY: STATIC | FREE | BODY | WHEEL,
    TYRE: STATIC,
    WHEEL: FREE | BODY | WHEEL,
    GROUND: FREE | BODY,
}
# Time constant (s) and damping ratio of contacts: a thing sinks in by some 10 micrometres under its weight.
FIRM = (0.005, 1.0)
# Friction of things: sliding (no unit), and the lengths, metres, by which spinning and rolling are resisted.
THINGS = (0.6, 0.002, 0.0005)
CAR = (0.3, 0.002, 0.0005)  # Friction of the car's body, which is smooth


def collision_bits(kind: int) -> dict[str, int]:
    """What a geom of a kind collides with, as MuJoCo's attributes."""
    return {"contype": kind, "conaffinity": _OTHERS[kind]}


_SERVO_STIFFNESS = 30.0  # N m a radian, from the servo's target to the wheel's angle
_SERVO_TORQUE = 5.0  # N m, at most
# kg m^2 added about each front wheel's steering axis (MuJoCo's armature): it keeps the stiff servo stable.
_SERVO_INERTIA = 0.002
# kg m^2 of a wheel about the steering axis (ART-1's) that the servo's figures are for; a heavier wheel gets a servo as
# much stronger.
_SERVO_WHEEL = 0.00114 / 2 + 0.284 * 0.0855**2 / 12
_DRY_TIME = (0.004, 1.0)  # Time constant (s) and damping ratio (MuJoCo's solref) of dry friction in the bearings
# MuJoCo's solimp of dry friction in the bearings: as firm as MuJoCo can, so that nothing creeps.
_DRY = (0.9999, 0.9999, 0.001, 0.5, 2.0)


def add_car(spec: mujoco.MjSpec, car: Vehicle, start: Pose, gravity: float, car_name: str = VEHICLE) -> None:
    """Add a car to a model (gravity: m/s^2)."""
    x, y, z, w = start.orientation
    body = spec.worldbody.add_body(name=car_name, pos=start.position, quat=[w, x, y, z])
    body.add_freejoint(name=car_name)
    body.explicitinertial, body.mass = True, car.mass - 4 * car.wheel_mass
    body.ipos, body.inertia = car.centre_of_mass, car.inertia
    centre, size = body_box(car)
    body.add_geom(
        name=car_name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=centre,
        size=[side / 2 for side in size],
        friction=CAR,
        solref=FIRM,
        priority=1,
        **collision_bits(BODY),
    )
    motor = spec.add_tendon(name=f"{car_name}/motor")
    for name in WHEELS:
        _add_wheel(spec, body, name, car, gravity)
        motor.wrap_joint(f"{car_name}/spin_{name}", 1 / (4 * car.gear_ratio))
    for one, other in combinations(WHEELS, 2):  # wheels meet those of other cars, not each other
        spec.add_exclude(bodyname1=f"{car_name}/wheel_{one}", bodyname2=f"{car_name}/wheel_{other}")
    engine = spec.add_actuator(name=motor.name, target=motor.name, trntype=mujoco.mjtTrn.mjTRN_TENDON)
    top = car.top_wheel_speed / car.gear_ratio
    engine.gaintype = mujoco.mjtGain.mjGAIN_AFFINE
    engine.gainprm[:3] = [car.stall_torque, 0, -car.stall_torque / top]
    engine.ctrllimited, engine.ctrlrange = True, [0, 1]
    engine.forcelimited, engine.forcerange = True, [0, car.stall_torque]


def _add_wheel(spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, car: Vehicle, gravity: float) -> None:
    """One wheel: up and down on its spring, about the steering axis if it is a front one, and about its axle."""
    front, side = name.startswith("front"), 1 if name.endswith("left") else -1
    wheel = body.add_body(
        name=f"{body.name}/wheel_{name}", pos=[car.wheelbase if front else 0, side * car.track / 2, car.wheel_radius]
    )
    wheel.explicitinertial, wheel.mass = True, car.wheel_mass
    across = car.wheel_inertia / 2 + car.wheel_mass * car.wheel_width**2 / 12
    wheel.ipos, wheel.inertia = [0, 0, 0], [across, car.wheel_inertia, across]
    load = load_at_rest(car, name, gravity)
    wheel.add_joint(
        name=f"{body.name}/spring_{name}",
        type=mujoco.mjtJoint.mjJNT_SLIDE,
        axis=[0, 0, 1],
        stiffness=car.suspension_stiffness,
        damping=car.suspension_damping,
        springref=-(load - car.wheel_mass * gravity) / car.suspension_stiffness,
        limited=True,
        range=[-car.suspension_travel, car.suspension_travel],
    )
    if front:
        scale = across / _SERVO_WHEEL
        joint = wheel.add_joint(name=f"{body.name}/steer_{name}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
        joint.armature = scale * _SERVO_INERTIA
        servo = spec.add_actuator(
            name=f"{body.name}/steer_{name}", target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT
        )
        servo.set_to_position(kp=scale * _SERVO_STIFFNESS, dampratio=1)
        servo.forcelimited, servo.forcerange = True, [-scale * _SERVO_TORQUE, scale * _SERVO_TORQUE]
    wheel.add_joint(
        name=f"{body.name}/spin_{name}",
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=[0, 1, 0],
        frictionloss=car.rolling_resistance * load * car.wheel_radius,
        solref_friction=_DRY_TIME,
        solimp_friction=_DRY,
    )
    for kind, geom, friction in (
        (TYRE, f"{body.name}/tyre_{name}", 0.0),
        (WHEEL, f"{body.name}/wheel_{name}", car.friction),
    ):
        wheel.add_geom(
            name=geom,
            type=mujoco.mjtGeom.mjGEOM_ELLIPSOID,
            size=[car.wheel_radius, car.wheel_width / 2, car.wheel_radius],
            friction=[friction, 0, 0],
            condim=1 if kind == TYRE else 3,
            solref=FIRM,
            priority=2,
            **collision_bits(kind),
        )


def load_at_rest(car: Vehicle, name: str, gravity: float) -> float:
    """N with which a wheel stands on level ground (car: masses (kg), centre of mass and sizes (m); gravity: m/s^2)."""
    ahead, aside = car.centre_of_mass[0] / car.wheelbase, car.centre_of_mass[1] / car.track
    share = (ahead if name.startswith("front") else 1 - ahead) * (0.5 + (aside if name.endswith("left") else -aside))
    return (share * (car.mass - 4 * car.wheel_mass) + car.wheel_mass) * gravity


def step_cars(model: mujoco.MjModel, data: mujoco.MjData, cars: Sequence[Car]) -> None:
    """One step of physics for all there is, cars among it."""
    for car in cars:
        car.prepare_step()
    mujoco.mj_step1(model, data)
    for car in cars:
        car.tyres.push()
    mujoco.mj_step2(model, data)
    for car in cars:
        car.tyres.weigh()


class Car:
    """A car of a compiled model: takes what the driver does, says how it moves."""

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        vehicle: Vehicle,
        things: Sequence[Thing] = (),
        name: str = VEHICLE,
    ) -> None:
        self.vehicle, self._name = vehicle, name
        self._model, self._data = model, data
        base = model.joint(name)
        self._qpos, self._qvel = int(base.qposadr[0]), int(base.dofadr[0])
        self._spin = np.array([model.joint(f"{name}/spin_{wheel}").dofadr[0] for wheel in WHEELS])
        self._springs = np.array([model.joint(f"{name}/spring_{wheel}").qposadr[0] for wheel in WHEELS])
        self._steer = np.array([model.joint(f"{name}/steer_{wheel}").qposadr[0] for wheel in WHEELS[:2]])
        inside = [index for index in range(model.nv) if model.body_rootid[model.dof_bodyid[index]] == self.root]
        self._dofs = np.array(inside)
        self._servos = np.array([model.actuator(f"{name}/steer_{wheel}").id for wheel in WHEELS[:2]])
        self._motor = int(model.actuator(f"{name}/motor").id)
        self._rolling = model.dof_frictionloss[self._spin].copy()
        self.tyres = Tyres(
            model,
            data,
            vehicle,
            [model.body(f"{name}/wheel_{wheel}").id for wheel in WHEELS],
            [model.geom(f"{name}/tyre_{wheel}").id for wheel in WHEELS],
            [load_at_rest(vehicle, wheel, -model.opt.gravity[2]) for wheel in WHEELS],
            pack_grounds(things),
        )
        self.start()

    @property
    def root(self) -> int:
        """The number of the car's body, the root of its wheels."""
        return int(self._model.body(self._name).id)

    def start(self) -> None:
        """Nothing is pressed, the wheels are straight."""
        self._target, self._angle = 0.0, 0.0
        self._before: FloatArray | None = None
        self.tyres.rest()
        self.drive(Command())

    def drive(self, command: Command) -> None:
        """Take over what the driver does."""
        self._target = command.steering * self.vehicle.steering_limit
        self._data.ctrl[self._motor] = command.throttle
        self._model.dof_frictionloss[self._spin] = self._rolling + command.braking * self.vehicle.brake_torque

    def prepare_step(self) -> None:
        """Turn the servo, before a step of physics."""
        self._turn_servo()
        self._before = self._data.qvel[self._qvel : self._qvel + 3].copy()

    def _turn_servo(self) -> None:
        most = self.vehicle.steering_rate * self._model.opt.timestep
        self._angle += max(-most, min(most, self._target - self._angle))
        self._data.ctrl[self._servos] = self.vehicle.wheel_angles(self._angle)

    def set_pose(self, pose: Pose) -> None:
        """Put base_link somewhere in the world, at rest, the body as high above the wheels as it rests."""
        x, y, z, w = pose.orientation
        self._data.qpos[self._qpos : self._qpos + 7] = [*pose.position, w, x, y, z]
        self._data.qpos[self._springs] = 0
        self._data.qvel[self._dofs] = 0
        self._before = None
        self.tyres.rest()

    def state(self, time: float) -> VehicleState:
        """How the car moves (time: simulated seconds)."""
        qpos, qvel = self._data.qpos, self._data.qvel
        px, py, pz, w, x, y, z = qpos[self._qpos : self._qpos + 7].tolist()
        pose = Pose((px, py, pz), (x, y, z, w))
        to_body = pose.rotation_matrix().T
        velocity = qvel[self._qvel : self._qvel + 3]
        change = np.zeros(3) if self._before is None else (velocity - self._before) / self._model.opt.timestep
        return VehicleState(
            time=time,
            pose=pose,
            velocity=_three(to_body @ velocity),
            angular_velocity=_three(qvel[self._qvel + 3 : self._qvel + 6]),
            acceleration=_three(to_body @ change),
            steering_angle=self._bicycle_angle(),
            wheel_speeds=tuple(qvel[self._spin].tolist()),
        )

    def _bicycle_angle(self) -> float:
        """From the wheels' own angles: its cotangent is the mean of theirs."""
        left, right = (math.tan(angle) for angle in self._data.qpos[self._steer])
        same_side = left * right > 0
        return math.atan(2 * left * right / (left + right) if same_side else (left + right) / 2)


def _three(values: FloatArray) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
