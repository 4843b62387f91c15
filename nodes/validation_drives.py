"""A drive that is going on against reference drives: odometry and commands in, the content of drives.json out.

Messages are taken on the executor's thread; they are compared on the worker's thread.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from simjudge_msgs.srv import Reset, SaveReport
from std_msgs.msg import String

from simjudge.core.errors import SimjudgeError
from simjudge.core.progress import no_log
from simjudge.data.drive_logs import DriveLog, command_numbers, read_drive
from simjudge.data.rosbag2.recorded_poses import pose_numbers
from simjudge.data.steering_units import steering_unit
from simjudge.page.report_settings import ReportSettings
from simjudge.questions.drives.comparison import DriveComparison
from simjudge.questions.drives.live import LiveDrives, compare_live
from simjudge.questions.drives.page import report_drives
from simjudge.results.result_folder import check_result_folder
from simjudge.ros.node_parameters import drive_settings

from .diagnostics import OK, WARN, TaskState
from .endpoints import declared_publisher, declared_service, declared_subscription
from .headers import message_stamp
from .managed import take_waiting
from .runtime import SimjudgeNode
from .validation_output import ValidationOutput
from .validation_settings import optional_path
from .worker import Worker

ODOMETRY, INPUT = "vehicle/odometry", "vehicle/input"
_NOT_YET = "waits for a drive"


class DriveValidation:
    """The half of the validation node that compares drives; all its methods are called on the executor's thread."""

    def __init__(self, node: SimjudgeNode, output: ValidationOutput, worker: Worker) -> None:
        """Offer topic and services, and begin to read the reference drives."""
        self._node, self._output, self._worker = node, output, worker
        self._settings = drive_settings(node.settings.__getitem__)
        self._jump_ns = round(node.settings["jump_back"] * 1e9)
        self._input_type = str(node.settings["input_type"])
        unit = steering_unit(self._input_type)
        if unit is None:
            raise SimjudgeError(f"parameter input_type: {self._input_type} says no steering; VehicleInput and"
                                " AckermannDriveStamped do")  # fmt: skip
        self._unit = unit
        self._drives = LiveDrives(self._jump_ns, unit)
        self._reference: list[DriveLog] = []
        self._state, self._compared_of, self._busy = _NOT_YET, 0, False
        self._subscriptions: list[Any] = []
        self._publisher = declared_publisher(node, "validation/drives")
        declared_service(node, "~/reset", self._reset)
        declared_service(node, "~/save_report", self._save_report)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(node.settings["summary_period"], self._ask, clock=steady)
        self._last_certainty = time.monotonic()
        node.diagnostics.add_task("validation", self._report)
        worker.post(self._load)

    def set_summary_period(self, seconds: float) -> None:
        """Change the time between comparisons."""
        self._timer.timer_period_ns = round(seconds * 1e9)

    def subscribe(self) -> None:
        """Begin to take messages."""
        self._subscriptions.append(declared_subscription(self._node, ODOMETRY, self._take_odometry))
        self._subscriptions.append(declared_subscription(self._node, INPUT, self._take_input))

    def unsubscribe(self) -> None:
        """Take the messages that have arrived, and no more."""
        take_waiting(self._subscriptions)
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions.clear()

    def counts(self) -> dict[str, int]:
        """Messages that came."""
        return {"poses received": self._drives.poses, "commands received": self._drives.commands}

    @property
    def has_judged(self) -> bool:
        """Whether live drives have been compared."""
        return self._state == "compared"

    def finish(self) -> None:
        """Compare all that came, and write the result."""
        self._worker.post(self._finish)

    def _take_odometry(self, message: Odometry) -> None:
        pose, speed = message.pose.pose, float(message.twist.twist.linear.x)
        self._drives.add_pose(message_stamp(message), pose_numbers(pose.position, pose.orientation), speed)

    def _take_input(self, message: Any) -> None:
        stamped = hasattr(message, "header")
        stamp = message_stamp(message) if stamped else self._node.get_clock().now().nanoseconds
        self._drives.add_command(stamp, *command_numbers(message))

    def _ask(self) -> None:
        if self._busy or self._drives.poses == self._compared_of:
            return
        period = self._node.settings["certainty_period"]
        sure = 0 < period <= time.monotonic() - self._last_certainty
        logs, count = self._drives.logs(), self._drives.poses
        self._busy = True
        self._worker.post(lambda: self._compare(logs, count, sure=sure))

    def _load(self) -> None:
        """Runs on the worker's thread."""
        settings = self._node.settings
        self._reference = [read_drive(path, settings["drive_poses"]) for path in settings["reference_drives"]]
        self._output.log(f"{len(self._reference)} reference drives")

    def _compare(self, logs: list[DriveLog], count: int, *, sure: bool) -> DriveComparison | None:
        """Compare and publish; runs on the worker's thread."""
        try:
            found = self._compared(logs, sure=sure)
        except SimjudgeError as error:
            self._state = f"{_NOT_YET}: {error}"
            return None
        finally:
            self._busy, self._compared_of = False, count
            if sure:
                self._last_certainty = time.monotonic()
        self._state = "compared"
        self._publisher.publish(String(data=json.dumps(found.content(), allow_nan=False)))
        return found

    def _compared(self, logs: list[DriveLog], *, sure: bool) -> DriveComparison:
        if not logs or not self._reference:
            raise SimjudgeError("no two poses have come yet")
        live_is_real = self._node.settings["live_is"] == "a"
        return compare_live(self._reference, logs, self._settings, live_is_real=live_is_real, sure=sure)

    def _finish(self) -> None:
        """Runs on the worker's thread."""
        found = self._compare(self._drives.logs(), self._drives.poses, sure=True)
        if found is None:
            self._node.get_logger().warning(f"there is no result; {self._state}")
            return
        self._node.losses.extend(found.losses)
        if self._output.out is not None:
            self._save(found, self._output.out)

    def _save(self, found: DriveComparison, out: Path) -> None:
        check_result_folder(out)
        found.save(out)
        if self._node.settings["report"]:
            report_drives(out, out / "report.html", ReportSettings(), no_log)
        self._output.log(f"result in {out}")

    def _report(self) -> TaskState:
        level = OK if self._drives.poses else WARN
        return TaskState(level, self._state, {**self.counts(), "reference drives": len(self._reference)})

    async def _reset(self, _request: Reset.Request, response: Reset.Response) -> Reset.Response:
        count, self._drives = self._drives.poses, LiveDrives(self._jump_ns, self._unit)
        self._compared_of, self._state = 0, _NOT_YET
        response.success, response.frames, response.message = True, count, f"{count} poses are forgotten"
        return response

    async def _save_report(self, request: SaveReport.Request, response: SaveReport.Response) -> SaveReport.Response:
        folder = optional_path(request.folder) or self._output.out
        if folder is None:
            response.message = "name a folder: the node was started without `out`"
            return response
        logs = self._drives.logs()
        try:
            await self._worker.ask(lambda: self._save(self._compared(logs, sure=True), folder))
        except (SimjudgeError, OSError) as error:
            response.message = str(error)
            return response
        response.success, response.folder, response.message = True, str(folder), f"result in {folder}"
        return response
