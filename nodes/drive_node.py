"""The driver as a node: detections or scans, and odometry in, commands out."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from nav_msgs.msg import Odometry
from sensor_msgs.msg import CameraInfo, PointCloud2
from simjudge_msgs.msg import DetectionArray

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.names import normalized_name
from simjudge.geometry.poses import Pose
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.node_settings import DriverSettings
from simjudge.sim.driving.cone_driver import Driver, DriverParameters, scale_to_lane
from simjudge.sim.driving.cones import CameraModel, ConeShape, DetectionUncertainty, camera_model_of
from simjudge.sim.driving.drive_settings import LIDAR
from simjudge.sim.driving.line_follower import BarrierDriver, BarrierDriverParameters, SpeedController
from simjudge.sim.driving.manual import DriveOutput, WantedMotion
from simjudge.sim.driving.pilots import driving_lidar
from simjudge.sim.sensors.camera.calibration import message_calibration
from simjudge.sim.sensors.camera.camera import ready_stamp
from simjudge.sim.sensors.camera.rig import read_rig
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.vehicle.vehicle import VehicleState, read_vehicle
from simjudge.sim.vehicle.vehicle_messages import ODOMETRY_TOPIC

from .car_messages import OdometryReader, cone_markers, path_message, scan_points, side_detections
from .diagnostics import OK, WARN, TaskState, ThroughputCounter
from .messages import describe_message, make_header, message_stamp
from .parameters import settings_parameters
from .runtime import SimjudgeNode, declared_publisher, declared_subscription, message_class, run_node

_DEPTH = 100  # Detections or scans, and states before the lens is known, that are kept
_SILENCE = 5.0  # Seconds without a message until the node says what it waits for
_RIGHT = 1  # Class of the cones on the right, whatever the detector numbers them
_LEFT = 2  # Class of the cones on the left


class DriveNode(SimjudgeNode):
    """Drives between cones or barriers: detections or scans, and vehicle/odometry in, vehicle/input out."""

    NAME = "drive_node"
    INTERFACE = NODES["drive_node"]
    PARAMETERS = settings_parameters(DriverSettings)

    def __init__(self) -> None:
        super().__init__()
        self._vehicle = read_vehicle(self.settings["vehicle"])
        self._by_lidar = self.settings["driver"] == LIDAR
        self._source = "scan/points" if self._by_lidar else "camera/detections"
        self._driver_options = self._driver_parameters()
        self._sides = {normalized_name(self.settings["right"]): _RIGHT, normalized_name(self.settings["left"]): _LEFT}
        if len(self._sides) < 2:
            raise UsageError("parameters right and left: two classes are needed")
        self._output = DriveOutput(
            message_class, self.settings["output_type"], self._vehicle, self.settings["base_frame"]
        )
        self._driver: Driver | BarrierDriver | None = None
        self._late = 0
        self._before: deque[VehicleState] = deque(maxlen=_DEPTH)
        if self._by_lidar:
            self._driver = self._barrier_driver()
        elif self.settings["camera"]:
            first = read_rig(self.settings["camera"]).mounted(self._vehicle.mounts)[0]
            self._see_with(first.camera.lens, first.mount)
            self._late = ready_stamp(first.camera, 0)
        self._waiting: deque[DetectionArray | PointCloud2] = deque(maxlen=_DEPTH)
        self._now: VehicleState | None = None
        self._reader = OdometryReader(self.get_logger().warning)
        self._odom_frame, self._last_seen, self._odometry_count = "", -1.0, 0
        self._throughput = ThroughputCounter()
        self._heard: dict[str, float] = {}
        self._input = declared_publisher(self, "vehicle/input")
        self._path = declared_publisher(self, "drive/path")
        self._cones = None if self._by_lidar else declared_publisher(self, "drive/cones")
        self._odometry = self._listen(ODOMETRY_TOPIC, self._moved)
        if self._driver is None:
            declared_subscription(self, "camera/camera_info", self._calibrated)
        self._listen(self._source, self._observed)
        self.diagnostics.add_task("driving", self._report)

    def close(self) -> None:
        """Stop a robot that keeps a speed by itself."""
        if self._output.asks_for_speed and self._now is not None:
            self._input.publish(self._output.motion(round(self._now.time * 1e9), WantedMotion(0.0, 0.0)))

    def counts(self) -> Mapping[str, int]:
        """Odometry and detections or scans that came, those that were answered, and those that waited for odometry."""
        received, done = self._throughput.received, self._throughput.done
        return {
            "odometry received": self._odometry_count,
            "scans received" if self._by_lidar else "detections received": received,
            "answered": done,
            "not answered": received - done,
        }

    def _driver_parameters(self) -> DriverParameters:
        numbers = self.settings
        if numbers["slowest"] > numbers["fastest"]:
            raise UsageError("parameter slowest must not be above fastest")
        return scale_to_lane(
            DriverParameters(
                lane_width=numbers["lane_width"],
                right_class=_RIGHT,
                left_class=_LEFT,
                cone=ConeShape(numbers["cone_radius"], numbers["cone_height"]),
                speed_controller=SpeedController(
                    fastest=numbers["fastest"], slowest=numbers["slowest"], lateral_acceleration=numbers["sideways"]
                ),
                uncertainty=DetectionUncertainty(min_score=numbers["min_score"]),
            )
        )

    def _barrier_driver(self) -> BarrierDriver:
        given = self.settings["sensors"]
        spec = driving_lidar(read_sensors(given, places=self._vehicle.places), given)
        self._late = round(spec.lag * 1e9)
        how = BarrierDriverParameters(
            lane_width=self._driver_options.lane_width, speed_controller=self._driver_options.speed_controller
        )
        return BarrierDriver(self._vehicle, spec.mount, how, deskewed=spec.model().deskew)

    def _listen(self, topic: str, take: Any) -> Any:
        self._heard[topic] = 0.0
        return declared_subscription(self, topic, take)

    def _see_with(self, view: CameraModel, mount: Pose | None = None) -> None:
        self._driver = Driver(self._vehicle, view, self._driver_options, mount)
        for state in self._before:
            self._driver.update_odometry(state)

    def _calibrated(self, message: CameraInfo) -> None:
        if self._driver is not None:
            return
        try:
            self._see_with(camera_model_of(message_calibration(message)))
        except SimjudgeError as error:
            self.diagnostics.set_state("camera", WARN, str(error))
            return
        self.diagnostics.set_state("camera", OK, f"lens of {message.header.frame_id or 'camera_info'}")
        self._serve()

    def _moved(self, message: Odometry) -> None:
        self._heard[ODOMETRY_TOPIC] = time.monotonic()
        self._odometry_count += 1
        try:
            self._now = self._reader.state(message)
        except SimjudgeError as error:
            where = f"{describe_message(message, ODOMETRY_TOPIC)}: {error}"
            self.losses.add("odometry messages that make no sense, not used", where)
            return
        self._odom_frame = message.header.frame_id
        if self._driver is None:
            self._before.append(self._now)
            return
        self._driver.update_odometry(self._now)
        self._serve()
        self._last_seen = min(self._last_seen, self._now.time)
        if self._last_seen >= 0 and self._now.time - self._last_seen > self.settings["silence"]:
            self._drive(self._driver, None, message_stamp(message))

    def _observed(self, message: DetectionArray | PointCloud2) -> None:
        self._heard[self._source] = time.monotonic()
        self._throughput.received += 1
        self._waiting.append(message)
        # Odometry of before the image was handed over may still wait behind it.
        self._take_waiting_odometry()
        self._serve()

    def _take_waiting_odometry(self) -> None:
        subscription = self._odometry
        while True:
            with subscription.handle:
                taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
            if taken is None:
                return
            self._moved(taken[0])

    def _serve(self) -> None:
        """Answer the images or scans for which it is known how the car moved until they were handed over.

        Messages of two topics come in any order: one that was handed over `lag` after its stamp would otherwise be
        answered now by this odometry, now by that.
        """
        while self._waiting and self._driver is not None and self._now is not None:
            stamp = message_stamp(self._waiting[0])
            if self._now.time * 1e9 < stamp + self._late - 1:
                return
            message = self._waiting.popleft()
            self._last_seen = self._now.time
            try:
                found = scan_points(message) if self._by_lidar else side_detections(message, self._sides)
            except SimjudgeError as error:
                self.lose("scans that cannot be read, not driven by", str(error))
                continue
            self._drive(self._driver, found, stamp)
            self._throughput.add(time.monotonic() - self._heard[self._source])

    def _drive(self, driver: Driver | BarrierDriver, found: Any, stamp: int) -> None:
        assert self._now is not None  # noqa: S101 - whoever calls has odometry
        command = driver.drive(found, stamp / 1e9, self._now)
        self._input.publish(self._output.message(stamp, command, driver.target_speed))
        header = make_header(stamp, self._odom_frame)
        if self._path.get_subscription_count():
            self._path.publish(path_message(header, driver.line_in_odometry()))
        if self._cones is not None and isinstance(driver, Driver) and self._cones.get_subscription_count():
            self._cones.publish(cone_markers(header, driver.cones, _RIGHT, self._driver_options.cone))

    def _report(self) -> TaskState:
        driver = self._driver
        values = self._throughput.diagnostic_values()
        values.update(waiting=len(self._waiting))
        if isinstance(driver, Driver):
            values["cones"] = f"{int(driver.cones.trusted().sum())} of {len(driver.cones)}"
        if driver is not None:
            values.update(
                {"line known (m)": f"{driver.line.support:.2f}", "lane width (m)": f"{driver.line.width:.2f}"}
            )
        now = time.monotonic()
        silent = [topic for topic, heard in self._heard.items() if now - heard > _SILENCE]
        if driver is None:
            silent.insert(0, "camera/camera_info")
        if silent:
            return TaskState(WARN, f"waits for {', '.join(silent)}", values)
        things = "points of barriers" if self._by_lidar else "cones"
        return TaskState(OK, f"drives by {driver.line.cones if driver else 0} {things}", values)


def main() -> None:
    """The executable `drive_node`."""
    run_node(DriveNode)


if __name__ == "__main__":
    main()
