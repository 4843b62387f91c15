"""A simulated car with one camera or several on a course: the world of a closed loop, whoever drives."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from threading import Thread
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from simjudge_msgs.msg import DetectionArray
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger

from simjudge.core.text import Json
from simjudge.data.rosbag2.storage import PlaybackClock
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.simulation_settings import SimSettings
from simjudge.sim.capture.capture import CapturedFrame
from simjudge.sim.capture.lock_step import FrameEvent, LockStep, MotionSample
from simjudge.sim.capture.sensor_feed import SensorBatch
from simjudge.sim.capture.sensor_record import fixed_mounts
from simjudge.sim.driving.closed_loop import Referee
from simjudge.sim.driving.drive import (
    DriveOptions,
    DriveSetup,
    check_laps,
    describe_cameras,
    drive_limits,
    read_drive_setup,
)
from simjudge.sim.driving.drive_settings import CONES, DRIVERS, LIDAR, MANUAL
from simjudge.sim.driving.pilots import GroundTruthDetector, driving_lidar
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.vehicle.vehicle_messages import Frames

from .diagnostics import OK, WARN, TaskState
from .managed import ManagedNode
from .messages import detection_array
from .parameters import settings_parameters
from .runtime import camera_publisher, declared_publisher, declared_service, run_node, wait_for_subscriptions
from .sim_sensors import SimSensors
from .simulated_car import SimCameras, SimulatedCar, VehicleInputs

_WAKE = 0.1  # Seconds between looks whether the node ends
_REST = 30.0  # Seconds that deactivation waits for a frame to be taken
_LATE_NS = 200_000_000  # Nanoseconds that a free-running simulation may lag behind, and then catch up


class SimNode(ManagedNode):
    """Simulates a car with cameras on a course: vehicle/input in; images, labels, odometry, tf and /clock out."""

    NAME = "sim_node"
    INTERFACE = NODES["sim_node"]
    PARAMETERS = settings_parameters(SimSettings)

    def __init__(self) -> None:
        super().__init__()
        self._thread: Thread | None = None
        self._made = self._open = False
        self._lidar, self._unanswered, self._paused = "", 0, False

    def configure(self) -> None:
        """Read and make everything."""
        self._lock_step = bool(self.settings["lock_step"]) and self.settings["driver"] != MANUAL
        options = self._drive_options()
        self._setup = read_drive_setup(options)
        setup = self._setup
        check_laps(setup.scene, self.settings["laps"])
        self._lidar = driving_lidar(setup.sensors, str(options.sensors)).name if options.driver == LIDAR else ""
        self._engine = make_engine(self.settings["engine"], setup.scene, setup.vehicle, setup.start)
        self._open = True
        seed = self.settings["seed"]
        mounts, names = fixed_mounts(setup.vehicle.mounts, setup.cameras), [camera.name for camera in setup.cameras]
        given = self.settings
        frames = Frames(odom=given["odom_frame"], map=given["map_frame"], prefix=given["frame_prefix"])
        self._sensors = SimSensors(self, self._engine, setup.sensors, seed, mounts, frames)
        self._car = SimulatedCar(
            self, self._sensors.mounts, names, frames, setup.vehicle, [car.name for car in setup.scene.cars]
        )
        wanted = self.settings["reliability"]
        reliability = "reliable" if wanted == "auto" and self._lock_step else wanted
        self._cameras = SimCameras(self, self._engine, setup.cameras, seed, reliability, frames.prefix)
        ideal = self.settings["ground_truth_detections"]
        self._detections = camera_publisher(self, names[0], "detections") if ideal else None
        self._factor = declared_publisher(self, "sim/real_time_factor")
        self._inputs = VehicleInputs(self, "vehicle/input", setup.vehicle)
        self._motion = self._engine.vehicle_state()
        self._paused = bool(self.settings["start_paused"])
        self._playback = PlaybackClock(self.settings["speed"] or 1.0, paused=True)
        self._offset = 0
        self._resets = self._resets_done = 0
        self._state, self._unanswered, self._resting = "waiting", 0, False
        self._progress: deque[tuple[float, int]] = deque(maxlen=200)
        declared_service(self, "~/reset", self._reset)
        declared_service(self, "~/pause", self._pause)
        self.diagnostics.add_task("simulation", self._report)
        self.create_timer(1.0, self._tell_factor, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._made = True

    def on_parameter_change(self, name: str, value: Any) -> None:
        """Follow the parameter `speed`; `patience` counts from the next frame."""
        if name == "speed" and self._made:
            self._playback.set_rate(value or 1.0)

    def activate(self) -> None:
        """Let time go on; the first time, from the start of the course."""
        self._playback.pause(on=self._paused)
        if self._thread is None:
            self._thread = Thread(target=self._work, name="simulation", daemon=True)
            self._thread.start()

    def deactivate(self) -> None:
        """Let time stand still."""
        self._playback.pause(on=True)
        thread, self.active = self._thread, False
        self.wait_until(lambda: self._resting or thread is None or not thread.is_alive(), _REST)

    def cleanup(self) -> None:
        """End the drive."""
        self.close()

    def close(self) -> None:
        """Stop the simulation."""
        if self._thread is not None:
            self._thread.join()
        if self._open:
            self._engine.close()
        self._thread, self._open = None, False

    def counts(self) -> Mapping[str, int]:
        """Frames that were published, commands that came, and frames or scans that nobody answered."""
        if not self._made:
            return {}
        return {
            "frames published": self._cameras.published,
            "commands received": self._inputs.received,
            f"{self._asking} unanswered": self._unanswered,
        }

    @property
    def _asking(self) -> str:
        return "scans" if self._lidar else "frames"

    def _drive_options(self) -> DriveOptions:
        names = ("scene", "camera", "vehicle", "engine", "seed", "sensors")
        given = {name: self.settings[name] for name in names}
        driver = self.settings["driver"]
        return DriveOptions(
            **given, rate=self.settings["camera_rate"] or None, driver=driver if driver in DRIVERS else CONES
        )

    def _work(self) -> None:
        try:
            wait_for_subscriptions(self, self.settings["wait_for"], self.settings["wait_timeout"])
            cameras = describe_cameras(self._setup.cameras)
            self.get_logger().info(f"{self._setup.scene.name}, {cameras}, {self._engine.variant}")
            while not self.leaving:
                self._drive()
                if self.settings["once"]:
                    break
                self._resting = True
                while not self.leaving and (self._resets == self._resets_done or not self.active):
                    time.sleep(_WAKE)
                self._resting = False
        except Exception as error:  # noqa: BLE001 - handed to the main thread, which raises it
            self.fail(error)
        if not self.leaving:
            self.finish()

    def _drive(self) -> None:
        setup, round_number = self._setup, self._resets
        self._resets_done = round_number
        given = self.settings
        rules = drive_limits(given["driver"], given["laps"], given["limit"], given["still"])
        referee = Referee(self._engine, setup.vehicle, rules)
        self._inputs.clear()
        self._car.publish_static_transforms(self._offset + round(self._engine.time * 1e9))
        self._playback.start(self._offset)
        self._state = "driving"
        for event in LockStep(self._engine, setup.cameras, feed=self._sensors.start_feed()).events():
            if not self._wait_until(self._offset + event.time) or self._resets != round_number:
                break
            self._progress.append((time.monotonic(), event.time))
            if isinstance(event, MotionSample):
                self._move(event)
                referee.update(event)
                if referee.end_reason:
                    break
            elif isinstance(event, SensorBatch):
                before = self._inputs.received
                self._sensors.publish(event, self._offset)
                for reading in event.events:
                    if reading.spec.name == self._lidar and self._lock_step:
                        self._wait_for_answer(self._offset + reading.stamp, "scan", before)
            elif self._cameras.drives(event):
                referee.frames += 1
                self._hand_over(event)
            else:
                self._cameras.publish(event, self._offset, self._car)
            if not self._lock_step:
                self._obey()
        self._end_drive(referee, setup)

    def _move(self, event: MotionSample) -> None:
        """Take note of how the car moves, and tell it; who asks for a speed has it regulated."""
        self._motion = event.state
        if self._inputs.regulates:
            self._obey()
        self._car.publish_state(self._offset + event.time, event.state)
        self._car.publish_others(self._offset + event.time, event.others)

    def _end_drive(self, referee: Referee, setup: DriveSetup) -> None:
        outcome = referee.outcome()
        touched = f"touched {', '.join(outcome.touched)}" if outcome.touched else "touched nothing"
        self._state = f"{outcome.reason} after {outcome.distance:.2f} of {outcome.length:.2f} m, {touched}"
        self.get_logger().info(
            f"{self._state}, {outcome.seconds:.2f} s, {outcome.frames} frames,"
            f" {outcome.mean_offset:.3f} m beside the line on average, {outcome.max_offset:.3f} m at most"
        )
        # To end at the limit that somebody asked for is no failure, as in `simjudge sim drive`.
        as_asked = outcome.timed_out and self.settings["limit"] is not None
        if referee.end_reason and not (outcome.finished or as_asked):
            self.lose("drives that did not finish", f"{setup.scene.name}, seed {setup.scene.seed}: {outcome.reason}")
        # Time never goes back: the next drive begins where this one ended.
        self._offset += round(self._engine.time * 1e9) + round(1e9 / setup.cameras[0].camera.rate)
        self._engine.reset()
        self._cameras.restart()
        self._progress.clear()

    def _hand_over(self, event: FrameEvent) -> None:
        """Publish a frame; in lock-step, unless scans are driven by, let nothing happen until it is answered."""
        stamp = self._offset + event.stamp
        before = self._inputs.received
        frame = self._cameras.publish(event, self._offset, self._car)
        if self._detections is not None and frame is not None:
            self._detections.publish(self._truth_as_detections(stamp, frame))
        if self._lock_step and not self._lidar:
            self._wait_for_answer(stamp, "frame", before)

    def _wait_for_answer(self, stamp: int, what: str, before: int) -> None:
        """Let nothing happen until a command has answered what has this stamp, or patience is over."""
        command = None
        while command is None:
            command = self._inputs.wait_for_answer(
                stamp, self.settings["patience"], lambda: self.leaving or not self.active, self._motion, before
            )
            if self.active or not self._rest():
                break
        if command is not None:
            self._engine.drive(command)
        elif not self.leaving:
            self._unanswered += 1
            self.lose(f"{what}s that nobody answered in time", f"the {what} at {stamp / 1e9:.3f} s")

    def _truth_as_detections(self, stamp: int, frame: CapturedFrame) -> DetectionArray:
        names = dict(self._setup.scene.class_names)
        size = self._setup.cameras[0].camera.lens.size
        return detection_array(GroundTruthDetector()(frame), names, self._cameras.driving.header(stamp), size)

    def _obey(self) -> None:
        command = self._inputs.latest(self._motion)
        if command is not None:
            self._engine.drive(command)

    def _rest(self) -> bool:
        """Wait until the node is active again; False if it ends."""
        self._resting = True
        while not (self.active or self.leaving):
            time.sleep(_WAKE / 10)
        self._resting = False
        return not self.leaving

    def _wait_until(self, due: int) -> bool:
        """Wait while paused, and until a time is due; False if the node ends."""
        while not self.leaving:
            if not self.active and not self._rest():
                return False
            free = self._lock_step or self.settings["speed"] == 0
            if not self._playback.paused and (free or self._playback.wait(due, _WAKE)):
                if not free and self._playback.now() > due + _LATE_NS:
                    self._playback.start(due)
                return True
            if self._playback.paused:
                time.sleep(_WAKE / 10)
        return False

    def _reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        self._resets += 1
        response.success, response.message = True, "starts anew; time goes on"
        return response

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._paused = request.data
        self._playback.pause(on=self._paused or not self.active)
        response.success, response.message = True, "paused" if request.data else "running"
        return response

    def _real_time_factor(self) -> float:
        """Simulated seconds in a second of the last seconds; 0 where none went by."""
        recent = list(self._progress)
        if len(recent) < 2 or recent[-1][0] == recent[0][0]:
            return 0.0
        return (recent[-1][1] - recent[0][1]) / 1e9 / (recent[-1][0] - recent[0][0])

    def _tell_factor(self) -> None:
        self._factor.publish(Float64(data=self._real_time_factor()))

    def _report(self) -> TaskState:
        values: Json = {
            "real-time factor": f"{self._real_time_factor():.2f}",
            "frames": self._cameras.published,
            "commands": self._inputs.received,
            f"{self._asking} unanswered": self._unanswered,
            "engine": self._engine.name,
            "lock_step": self._lock_step,
        }
        state = "inactive" if not self.active else "paused" if self._paused else self._state
        if lost := self.recent_losses:
            return TaskState(WARN, lost, values)
        return TaskState(OK, state, values)


def main() -> None:
    """The executable `sim_node`."""
    run_node(SimNode)


if __name__ == "__main__":
    main()
