"""Says how well simulation predicts reality: two sets by path, or live streams against a reference."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rclpy.duration import Duration
from simjudge_msgs.msg import ValidationSummary
from visualization_msgs.msg import MarkerArray

from simjudge.core.frames import NO_STAMP, FrameSet
from simjudge.core.progress import Advance
from simjudge.reports.page import write_report
from simjudge.results.result_folder import check_result_place
from simjudge.studies.apart import Job, backward
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.comparison import Comparison, compare_sets

from .diagnostics import OK, TaskState
from .qos import latched_qos
from .runtime import SimjudgeNode, run_node
from .validation_live import LiveValidation
from .validation_messages import header, marker_message, summary_message
from .validation_settings import COMPARISON, LIVE, TWO_SETS, compare_settings, is_live, optional_path
from .worker import WorkAbandonedError, Worker

_ACKNOWLEDGE = 2
_SETTLE = 0.2


class ValidationNode(SimjudgeNode):
    """Contextualized performance of two sets, or of live streams against a reference set."""

    NAME = "validation_node"
    PARAMETERS = (*TWO_SETS, *LIVE, *COMPARISON)

    def __init__(self) -> None:
        """Set up the topics and start.

        Raises:
            SimjudgeError: a parameter makes no sense, or the result cannot be written where it is asked for.
        """
        super().__init__()
        live = is_live(self.settings)
        self.out = optional_path(self.settings["out"])
        if self.out is not None:
            check_result_place(self.out)
        self._summary = self.create_publisher(ValidationSummary, "validation/summary", latched_qos())
        self._markers = self.create_publisher(MarkerArray, "validation/markers", latched_qos())
        self.worker = Worker(self._failed)
        self._error: Exception | None = None
        self._state = "comparing"
        self.live: LiveValidation | None = None
        if live:
            self.live = LiveValidation(self)
        else:
            sets = f"{self.settings['a']} and {self.settings['b']}"
            self.diagnostics.add_task("validation", lambda: TaskState(OK, f"{self._state} {sets}"))
            compared_with = compare_settings(self.settings)
            self.worker.post(lambda: self._compare(compared_with))

    def close(self) -> None:
        """Write the result of a live comparison; wait until the last summary has arrived."""
        if self.live is not None:
            self.live.finish()
        self.worker.finish()
        self._summary.wait_for_all_acked(Duration(seconds=_ACKNOWLEDGE))
        if self._error is not None:
            raise self._error

    def publish_summary(self, message: ValidationSummary, markers: MarkerArray) -> None:
        """Publish a summary, and its numbers for RViz."""
        self._summary.publish(message)
        self._markers.publish(markers)

    def save(self, compared: Comparison, out: Path) -> None:
        """Write a result folder, with the report where it is asked for.

        Raises:
            SimjudgeError: it cannot be written.
        """
        compared.save(out)
        if self.settings["report"]:
            write_report([out], out / "report.html")
        self.get_logger().info(f"result in {out}")

    def tell(self, line: str) -> None:
        """Tell a person something."""
        self.get_logger().info(line)

    @contextmanager
    def progress(self, what: str) -> Iterator[Advance]:
        """Something to tell how far a piece of work is; it gives up once the node ends."""
        told = time.monotonic()

        def advance(done: int, total: int) -> None:
            nonlocal told
            if self.ended:
                raise WorkAbandonedError
            if time.monotonic() - told > 5:
                told = time.monotonic()
                self.tell(f"{what}: {done} of {total}")

        yield advance

    def _failed(self, error: Exception) -> None:
        self._error = self._error or error
        self.fail(error)

    def _compare(self, settings: CompareSettings) -> None:
        """Compare the two sets, save and publish."""
        try:
            compared = compare_sets(
                self.settings["a"], self.settings["b"], settings, log=self.tell, progress=self.progress
            )
            if self.out is not None:
                self.save(compared, self.out)
            result = compared.result
            reverse = None
            if self.settings["both_directions"] and not settings.paired:
                sets = (result.a.frames, result.b.frames)
                job = Job(*sets, settings, both=True)
                with self.progress("comparing the other way round") as advance:
                    reverse = backward(job, advance)
        except WorkAbandonedError:
            self.get_logger().warning("ended before the comparison was done")
            raise
        self.losses.extend(compared.losses)
        names = {str(k): name for k, name in (result.b.frames.class_names | result.a.frames.class_names).items()}
        about = {"parameters": compared.parameters, "inputs": compared.inputs, "class_names": names}
        frames = len(result.a.frames) + len(result.b.frames)
        head = header(max(_newest(result.a.frames), _newest(result.b.frames)), self.settings["frame_id"])
        self.publish_summary(
            summary_message(head, result.numbers, reverse, about, compared.losses.lines(), frames),
            marker_message(head, result.numbers, names),
        )
        self._state = "compared"
        if self.settings["once"]:
            time.sleep(_SETTLE)
            self.finish()


def _newest(frames: FrameSet) -> int:
    stamps = frames.stamp[frames.stamp != NO_STAMP]
    return int(stamps.max()) if len(stamps) else 0


def main() -> None:
    """The executable `validation_node`."""
    run_node(ValidationNode)


if __name__ == "__main__":
    main()
