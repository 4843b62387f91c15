"""A world without an engine: S courses, a bicycle that obeys its geometry, and a detector that is told the truth."""

import math
from dataclasses import dataclass

import numpy as np

from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.camera.lens import lens_with_field
from simjudge.sim.vehicle.vehicle import VehicleState, read_vehicle

RED, GREEN = 1, 2
RADIUS, HEIGHT = 0.04, 0.077
LENSES = {
    "pinhole": lens_with_field("pinhole", (640, 360), 80),
    "fov": lens_with_field("fov", (1280, 720), 80),
    "radial": lens_with_field("radial", (1280, 720), 80, (-0.369, 0.1257, -0.0194)),
}


def s_course(rng, length=12.0, radius=1.6, width=1.0, spacing=0.6, jitter=0.04):
    """Centre line (P, 2), cones (N, 2) and their classes, red on the right; no bend is tighter than `radius`."""
    step = 0.02
    way = np.arange(0, length, step)
    wave = rng.uniform(4.5, 6.5)
    phase = rng.choice([0, math.pi])
    ramp = np.clip((way - 0.8) / 1.0, 0, 1)
    curvature = ramp * np.sin(2 * math.pi * (way - 0.8) / wave + phase) * rng.uniform(0.6, 1.0) / radius
    heading = np.cumsum(curvature) * step
    line = np.cumsum(np.stack([np.cos(heading), np.sin(heading)], 1) * step, 0)
    normal = np.stack([-np.sin(heading), np.cos(heading)], 1)
    cones, classes = [], []
    for side, number in ((1, GREEN), (-1, RED)):
        rows = np.searchsorted(way, np.arange(0.2, length - 0.1, spacing) + rng.uniform(-0.1, 0.1))
        rows = np.clip(rows, 0, len(way) - 1)
        cones.append(line[rows] + side * width / 2 * normal[rows])
        classes += [number] * len(rows)
    cones = np.concatenate(cones)
    return line, cones + rng.normal(0, jitter, cones.shape), np.array(classes)


def boxes(cones, lens, camera):
    """Boxes (N, 4) around cones in a picture, by many points of each cone; NaN for those that are not all in it."""
    around = np.linspace(0, 2 * math.pi, 73)[:-1]
    rim = np.stack([RADIUS * np.cos(around), RADIUS * np.sin(around), np.zeros_like(around)], 1)
    tip = np.array([[0.0, 0.0, HEIGHT]])
    solid = np.concatenate([rim, tip])
    points = solid + np.column_stack([cones, np.zeros(len(cones))])[:, None, :]
    pixels = lens.project(camera.to_body(points)) + 0.5
    out = np.concatenate([pixels.min(1), pixels.max(1)], 1)
    width, height = lens.size
    inside = (out[:, 0] >= 0) & (out[:, 1] >= 0) & (out[:, 2] <= width) & (out[:, 3] <= height)
    out[~inside] = np.nan
    return out


def detect(cones, classes, lens, camera, rng=None, *, noise=0.0, farthest=5.0, missed=0.0, wrong=0.0):
    """What a detector would find; `missed` and `wrong` are shares of the cones."""
    box = boxes(cones, lens, camera)
    away = np.linalg.norm(cones - np.array(camera.position[:2]), axis=1)
    seen = np.isfinite(box[:, 0]) & (away < farthest)
    if rng is not None:
        seen &= rng.random(len(cones)) >= missed
        box = box + rng.normal(0, noise, box.shape)
        classes = np.where(rng.random(len(cones)) < wrong, RED + GREEN - classes, classes)
    return Detections.build(classes[seen], box[seen], np.ones(seen.sum()))


@dataclass
class Bicycle:
    """A car that goes where its front wheel points: motor and brake as accelerations, steering at its rate."""

    vehicle: object
    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0
    speed: float = 0.0
    angle: float = 0.0
    time: float = 0.0

    def state(self):
        turning = self.speed * math.tan(self.angle) / self.vehicle.wheelbase
        return VehicleState(
            self.time,
            Pose.from_euler(self.x, self.y, yaw=self.yaw),
            (self.speed, 0.0, 0.0),
            (0.0, 0.0, turning),
            (0.0, 0.0, 0.0),
            self.angle,
            (0.0,) * 4,
        )

    def step(self, command, seconds):
        car = self.vehicle
        wanted = command.steering * car.steering_limit
        most = car.steering_rate * seconds
        self.angle += min(max(wanted - self.angle, -most), most)
        top = car.top_wheel_speed * car.wheel_radius
        push = 2.5 * command.throttle * (1 - self.speed / top) - 0.3 - 3.0 * command.braking
        self.speed = max(self.speed + push * seconds, 0.0)
        self.x += self.speed * math.cos(self.yaw) * seconds
        self.y += self.speed * math.sin(self.yaw) * seconds
        self.yaw += self.speed * math.tan(self.angle) / car.wheelbase * seconds
        self.time += seconds


def touches(car, cones):
    """Which cones the car stands on."""
    local = cones - [car.x, car.y]
    c, s = math.cos(car.yaw), math.sin(car.yaw)
    local = local @ np.array([[c, -s], [s, c]])
    vehicle = car.vehicle
    x0, x1 = -vehicle.wheel_radius, vehicle.wheelbase + vehicle.wheel_radius
    half = (vehicle.track + vehicle.wheel_width) / 2
    gap = np.hypot(
        np.maximum(np.maximum(x0 - local[:, 0], local[:, 0] - x1), 0), np.maximum(np.abs(local[:, 1]) - half, 0)
    )
    return np.flatnonzero(gap < RADIUS)


def drive_course(
    driver, line, cones, classes, rng, lens, *, rate=10.0, lag=0.033, start=None, seconds=60.0, **detector
):
    """Drive to the line's end. Returns finished, cones touched, largest distance off the line, seconds it took."""
    car = Bicycle(read_vehicle("art1"))
    car.x, car.y, car.yaw = start or (*line[0], 0.0)
    step = 0.005
    mount = car.vehicle.mounts["camera"]
    touched, worst, waiting, command = set(), 0.0, [], None
    for tick in range(round(seconds / step)):
        if tick % round(1 / rate / step) == 0:
            camera = (car.state().pose @ mount).optical_frame()
            waiting.append((car.time + lag, car.time, detect(cones, classes, lens, camera, rng, **detector)))
        if waiting and waiting[0][0] <= car.time + 1e-9:
            _, stamp, found = waiting.pop(0)
            command = driver.drive(found, stamp, car.state())
        if command is not None:
            car.step(command, step)
        else:
            car.time += step
        touched |= set(touches(car, cones).tolist())
        away = np.hypot(*(line - [car.x, car.y]).T)
        worst = max(worst, away.min())
        if np.argmin(away) >= len(line) - round(car.vehicle.wheelbase / 0.02):
            return True, touched, worst, car.time
        if worst > 1.5:
            break
    return False, touched, worst, car.time
