"""Chrono's sensors beside cameras on the car, made from YAML, and readings handed over in lock-step.

Chrono keeps times as 32-bit floats (a GPS even stamps its readings 0) and counts launches; what it makes is polled
after every step here, stamped with the engine's own time, and held back for the sensor's lag.

What is corrected (src/chrono_sensor at 9.0.1, 10.0.0 and head):

* ChAccelerometerSensor::PushKeyFrame adds the acceleration in the world's axes to gravity's reaction turned the wrong
  way round (Rotate for RotateBack), and leaves the mount's own turn out: all is taken apart and put into the sensor's
  axes. At one step of 1 ms it carries about 7 m/s^2 of integration noise: give it a window.
* ChGyroscopeSensor leaves the mount's turn out.
* ChFilterMagnetometerUpdate turns the field the wrong way round, and gives it as north, east, down, in gauss, where the
  GPS has x east and y north.
* ChFilterGPSUpdate stamps readings with the time of the key frame before: 0 without a window.
* Of ChLidarSensor, `lenses.py` says it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.sim.engines.chrono.bodies import GRAVITY, body_pose
from simjudge.sim.engines.chrono.chrono_engine import ChronoEngine
from simjudge.sim.engines.chrono.lenses import asked_scans, check_own_lidar, check_own_returns, points
from simjudge.sim.engines.chrono.modules import STEP
from simjudge.sim.sensors.inertial.sensor_tables import IDENTITY, GpsSpec, InertialSpec, MagnetometerSpec, NoiseSource
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.sensor_spec import CAR, SensorSpec

_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Reading(ShortRepr):
    """What a sensor read."""

    # sensor, kind: its name, and what it is.
    sensor: str
    kind: str
    time: float  # simulated seconds at the end of its window
    # Accelerometer (3,) m/s^2 with gravity's reaction, gyroscope (3,) rad/s, magnetometer (3,) T, all in the sensor's
    # axes; gps (3,) latitude, longitude (degrees), altitude (m); lidar (N, 4) x, y, z (m, sensor's axes), intensity.
    values: npt.NDArray[np.float64]


class ReadingSchedule:
    """When readings are due: at 0, 1 / rate, 2 / rate, ... and each at the first step that reaches it.

    Args:
        rate: readings a second.
    """

    def __init__(self, rate: float) -> None:
        self._rate, self._given = rate, 0

    def take(self, time: float) -> bool:
        """Whether a reading is due now; it counts as taken. What was missed by a step too long is not made up for."""
        if time < self._given / self._rate - _TOLERANCE:
            return False
        self._given = int((time + _TOLERANCE) * self._rate) + 1
        return True


class ReadingDelay:
    """Holds readings back."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._held = seconds, deque[Reading]()

    def put(self, reading: Reading) -> None:
        """Take one in (reading: with its time, simulated seconds)."""
        self._held.append(reading)

    def ready(self, time: float) -> list[Reading]:
        """Those whose lag is over, in order; they are gone from here (time: simulated seconds)."""
        out = []
        while self._held and time >= self._held[0].time + self._seconds - _TOLERANCE:
            out.append(self._held.popleft())
        return out


GAUSS = 1e-4  # Tesla
EARTH = 6371e3  # Metres: the earth's radius, as Chrono has it
# Seconds: the shortest window of an accelerometer. ARTcar's tyres push and pull in turn, about every 2 ms: read at one
# instant, a standing car is 5 m/s^2 off, in the mean too, and a driving one 10; over 10 ms, within 0.002.
SHORTEST = 0.005
_READ = {
    "accelerometer": ("GetMostRecentAccelBuffer", "GetAccelData", "ChFilterAccelAccess"),
    "gyroscope": ("GetMostRecentGyroBuffer", "GetGyroData", "ChFilterGyroAccess"),
    "magnetometer": ("GetMostRecentMagnetBuffer", "GetMagnetData", "ChFilterMagnetAccess"),
    "gps": ("GetMostRecentGPSBuffer", "GetGPSData", "ChFilterGPSAccess"),
}


class CarSensors:
    """Sensors that ride on the car of an engine."""

    def __init__(self, engine: ChronoEngine, specs: Iterable[SensorSpec], seed: int = 0) -> None:
        """Nothing is read yet; from now on whatever becomes due while the engine steps is kept for `taken`."""
        if engine.bodies.chassis is None:
            raise UsageError(f"{engine.scene.name}: there is no car for sensors to ride on")
        if engine.modules.sensor is None:
            raise SimjudgeError("this PyChrono has no sensor module: build CH_ENABLE_MODULE_SENSOR")
        self._engine, self._specs, self._seed = engine, tuple(specs), seed
        for spec in self._specs:
            _check(spec, engine.modules.sensor)
        self._ready: list[Reading] = []
        self._system: Any = None
        self._begin()
        engine.watch(self._poll)

    def taken(self) -> list[Reading]:
        """What became due since the last call, in order of time; each reading once."""
        ready, self._ready = self._ready, []
        return ready

    def advance(self, seconds: float) -> list[Reading]:
        """Step the engine and hand over what became due; `seconds` as in `Engine.step`."""
        self._engine.step(seconds)
        return self.taken()

    def _begin(self) -> None:
        """As at time 0: nothing waits, the same noise comes again."""
        self._before = 0.0
        self._random = {spec.name: np.random.default_rng(spec.entropy(self._seed)) for spec in self._specs}
        self._noise = {
            spec.name: NoiseSource(spec.noise, spec.rate, spec.entropy(self._seed))
            for spec in self._specs
            if isinstance(spec, InertialSpec)
        }
        self._lags = {spec.name: ReadingDelay(spec.lag) for spec in self._specs}
        self._scans = {spec.name: ReadingSchedule(spec.rate) for spec in self._specs if spec.kind == "lidar"}

    def _poll(self) -> None:
        """Take what is due now, after a step of physics."""
        bodies = self._engine.bodies
        now = bodies.time
        if now <= self._before:
            self._begin()
        self._before = now
        if bodies.system is not self._system:
            self._mount()
            self._sample(now)
        for spec in self._specs:
            if isinstance(spec, LidarSpec) and self._scans[spec.name].take(now):
                self._keep(spec, now, self._scan(spec))
        self._ready += sorted((r for lag in self._lags.values() for r in lag.ready(now)), key=lambda r: r.time)

    def _sample(self, now: float) -> None:
        """Let Chrono's own sensors feel a step of Chrono's: tyres flip faster than our millisecond."""
        self._manager.Update()
        for spec, sensor in self._riding:
            launches = sensor.GetNumLaunches()
            if launches != self._launches[spec.name]:
                self._launches[spec.name] = launches
                self._keep(spec, round(now, 9), self._read(spec, sensor))

    def _keep(self, spec: SensorSpec, time: float, values: FloatArray) -> None:
        if spec.name in self._noise:
            noise = self._noise[spec.name].draw(1)[0]
            values = values + (to_degrees(noise, latitude=float(values[0])) if spec.kind == "gps" else noise)
        self._lags[spec.name].put(Reading(spec.name, spec.kind, time, values))

    def _mount(self) -> None:
        """Put the sensors on the chassis of the system that runs now: a placed car is a new one."""
        bodies, core, sensors = self._engine.bodies, self._engine.modules.core, self._engine.modules.sensor
        self._system = bodies.system
        self._manager = sensors.ChSensorManager(self._system)
        self._riding: list[tuple[SensorSpec, Any]] = []
        self._launches: dict[str, int] = {}
        # Offsets are in the axes of the chassis body, whose origin is its centre of mass.
        chassis = body_pose(bodies.chassis)
        base = self._engine.poses()["vehicle"]
        for spec in self._specs:
            if spec.kind == "lidar":
                continue
            pose = chassis.inverse() @ base @ spec.mount
            x, y, z, w = pose.orientation
            frame = core.ChFramed(core.ChVector3d(*pose.position), core.ChQuaterniond(w, x, y, z))
            made = _make(sensors, core, spec, bodies.chassis, frame)
            made.SetName(spec.name)
            made.SetLag(0.0)
            made.SetCollectionWindow(spec.window)
            made.PushFilter(getattr(sensors, _READ[spec.kind][2])())
            self._manager.AddSensor(made)
            # Made at 1.501 s, it would read once more what was due at 1.5 s.
            seen = bodies.time - STEP
            while seen > 0 and made.GetNumLaunches() / spec.rate + spec.window < seen + 1e-9:
                made.IncrementNumLaunches()
            self._riding.append((spec, made))
            self._launches[spec.name] = made.GetNumLaunches()
        bodies.each = self._sample

    def _read(self, spec: SensorSpec, sensor: Any) -> FloatArray:
        newest, accessor, _ = _READ[spec.kind]
        buffer = getattr(sensor, newest)()
        if not buffer.HasData():
            raise SimjudgeError(f"engine chrono: {spec.name} was due at {self._engine.time:.3f} s and gave nothing")
        raw = np.array(getattr(buffer, accessor)(), np.float64)
        if spec.kind == "gps":
            return np.array([raw[0], raw[1], raw[2]])
        body = body_pose(self._engine.bodies.chassis).rotation_matrix()
        mounted = self._engine.poses()["vehicle"].rotation_matrix() @ spec.mount.rotation_matrix()
        if spec.kind == "accelerometer":
            return straight_acceleration(raw, body, mounted)
        if spec.kind == "gyroscope":
            rates: FloatArray = mounted.T @ body @ raw
            return rates
        return straight_field(raw, mounted)

    def _scan(self, spec: LidarSpec) -> FloatArray:
        pose = self._engine.poses()["vehicle"] @ spec.mount
        scans = [self._engine.scan(asked_scan, pose) for asked_scan in asked_scans(spec)]
        return points(scans, spec.model(), self._random[spec.name])


def _check(spec: SensorSpec, sensors: Any) -> None:
    """Refuse what Chrono's own sensors cannot do."""
    where = f"engine chrono: {spec.name}"
    if spec.kind not in (*_READ, "lidar"):
        raise UsageError(f"{where}: it has no sensor of kind {spec.kind}")
    if spec.body != CAR:
        raise UsageError(f"{where}: its own sensors ride on the car's chassis; remove mount.body {spec.body}")
    if spec.filters:
        raise UsageError(f"{where}: its own sensors take no filters; remove them")
    if isinstance(spec, LidarSpec):
        check_own_lidar(where, spec.model())
        check_own_returns(where, spec.model(), sensors)
    if isinstance(spec, MagnetometerSpec) and (any(spec.hard_iron) or spec.soft_iron != IDENTITY):
        raise UsageError(f"{where}: its magnetometer knows no hard_iron and soft_iron; remove them")
    if spec.kind == "accelerometer" and spec.window < SHORTEST:
        raise UsageError(f"{where}: its accelerometer needs a window of {SHORTEST:g} s or more; it has {spec.window:g}")


def to_degrees(metres: FloatArray, latitude: float) -> FloatArray:
    """A small way (metres) east, north and up on Chrono's sphere of 6371 km (ChGPSUtils.h): degrees, and metres."""
    east, north, up = metres.tolist()
    return np.array([math.degrees(north / EARTH), math.degrees(east / (EARTH * math.cos(math.radians(latitude)))), up])


def straight_acceleration(raw: FloatArray, body: FloatArray, mounted: FloatArray) -> FloatArray:
    """What an accelerometer feels (3,), in its axes, of what Chrono says: a_world + R_body g_up, R the wrong way."""
    up = np.array([0.0, 0.0, GRAVITY])
    felt: FloatArray = mounted.T @ (raw - body @ up + up)
    return felt


def straight_field(raw: FloatArray, mounted: FloatArray) -> FloatArray:
    """The magnetic field (3,), tesla, in the sensor's axes, of what Chrono says: R (north, east, down) in gauss."""
    north, east, down = (mounted.T @ raw).tolist()
    field: FloatArray = mounted.T @ np.array([east, north, -down]) * GAUSS
    return field


def _make(sensors: Any, core: Any, spec: SensorSpec, parent: Any, frame: Any) -> Any:
    quiet = sensors.ChNoiseNone()
    if spec.kind == "accelerometer":
        return sensors.ChAccelerometerSensor(parent, spec.rate, frame, quiet)
    if spec.kind == "gyroscope":
        return sensors.ChGyroscopeSensor(parent, spec.rate, frame, quiet)
    if not isinstance(spec, GpsSpec | MagnetometerSpec):
        raise UsageError(f"engine chrono: {spec.name}: it has no sensor of kind {spec.kind}")
    reference = core.ChVector3d(*spec.reference)
    if isinstance(spec, GpsSpec):
        return sensors.ChGPSSensor(parent, spec.rate, frame, reference, quiet)
    return sensors.ChMagnetometerSensor(parent, spec.rate, frame, quiet, reference)
