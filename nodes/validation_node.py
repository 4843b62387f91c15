"""Says how well simulation predicts reality: two sets by path, or live streams against a reference."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP
from simjudge.judging.background import ComparisonJob, compare_backward
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import compare_sets
from simjudge.ros.node_interfaces import NODES

from .diagnostics import OK, TaskState
from .managed import ManagedNode
from .messages import make_header
from .runtime import WorkAbandonedError, Worker, run_node
from .validation_live import DriveValidation, LiveValidation
from .validation_output import (
    VALIDATION_PARAMETERS,
    ValidationOutput,
    compare_settings,
    is_live,
    refuse_while_configured,
)

_PATIENCE = 10.0  # Seconds that deactivation waits for frames that have come to be judged; the rest is judged after it
_WAKE = 0.05  # Seconds between looks whether the node is active


class ValidationNode(ManagedNode):
    """Contextualized performance of two sets, of live streams against a reference set, or of a drive against others."""

    NAME = "validation_node"
    INTERFACE = NODES["validation_node"]
    PARAMETERS = VALIDATION_PARAMETERS

    def __init__(self) -> None:
        super().__init__()
        self._worker: Worker | None = None
        self._live: LiveValidation | DriveValidation | None = None
        self._error: Exception | None = None
        self._has_judged = False
        self._state = ""

    def configure(self) -> None:
        """Offer topics and services, and begin to load the reference of a live comparison."""
        live = is_live(self.settings)
        self._output = ValidationOutput(self)
        self._compared_with = compare_settings(self.settings)
        self._worker, self._error, self._state = Worker(self._failed), None, ""
        if live:
            kind = DriveValidation if self.settings["reference_drives"] else LiveValidation
            self._live = kind(self, self._output, self._worker)
        else:
            sets = f"{self.settings['a']} and {self.settings['b']}"
            self.diagnostics.add_task("validation", lambda: TaskState(OK, f"{self._state} {sets}"))

    def on_parameter_change(self, name: str, value: Any) -> None:
        """Follow the parameter `summary_period`; what counts for a whole comparison waits for the next one."""
        if not self.unconfigured:
            refuse_while_configured(name, self.get_fully_qualified_name())
        if name == "summary_period" and self._live is not None:
            self._live.set_summary_period(value)

    def activate(self) -> None:
        """Subscribe to the live streams, or begin to compare the two sets."""
        if self._live is not None:
            self._live.subscribe()
        elif not self._state and self._worker is not None:
            self._state = "comparing"
            self._worker.post(lambda: self._compare(self._compared_with))

    def deactivate(self) -> None:
        """Take no more messages, and judge those that have come. A comparison of two sets goes on unseen."""
        if self._live is not None:
            self._live.unsubscribe()
            self.wait_until(lambda: not self.pending, _PATIENCE)

    def cleanup(self) -> None:
        """Write the result of a live comparison; one of two sets that is not done is given up."""
        try:
            self.close()
        finally:
            self._worker = self._live = None

    def close(self) -> None:
        """Write the result of a live comparison."""
        if self._worker is None:
            return
        if self._live is not None:
            self._live.finish()
        self._worker.finish()
        if self._live is not None:
            self._has_judged = self._has_judged or self._live.has_judged
            # What was left out says by itself that the run is none to go by.
            self.unfinished = not self._has_judged and not self.losses
        if self._error is not None:
            raise self._error

    def counts(self) -> Mapping[str, int]:
        """What came live, and what became of it."""
        return {} if self._live is None else self._live.counts()

    @property
    def pending(self) -> int:
        """Pieces of work that have not begun."""
        return 0 if self._worker is None else self._worker.waiting

    def _failed(self, error: Exception) -> None:
        self._error = self._error or error
        self.fail(error)

    def _compare(self, settings: CompareSettings) -> None:
        output = self._output
        try:
            compared = compare_sets(
                self.settings["a"], self.settings["b"], settings, log=output.log, progress=output.progress
            )
            if output.out is not None:
                output.save(compared, output.out)
            result = compared.result
            reverse = None
            if self.settings["both_directions"] and not settings.paired:
                sets = (result.a.frames, result.b.frames)
                job = ComparisonJob(*sets, settings, both=True)
                with output.progress("comparing the other way round") as advance:
                    reverse = compare_backward(job, advance)
        except WorkAbandonedError:
            self.unfinished = True
            self.get_logger().warning("ended before the comparison was done")
            raise
        # What a manager has put to rest publishes nothing.
        while not (self.active or self.leaving):
            time.sleep(_WAKE)
        self.losses.extend(compared.losses)
        names = {str(k): name for k, name in (result.b.frames.class_names | result.a.frames.class_names).items()}
        about = {"parameters": compared.parameters, "inputs": compared.inputs, "class_names": names}
        frames = len(result.a.frames) + len(result.b.frames)
        head = make_header(max(_newest(result.a.frames), _newest(result.b.frames)), self.settings["frame_id"])
        output.publish(head, result.numbers, reverse, about, compared.losses.lines(), frames, result.hidden_gap)
        self._state = "compared"
        if self.settings["once"]:
            self.finish()


def _newest(frames: FrameSet) -> int:
    stamps = frames.stamp[frames.stamp != NO_STAMP]
    return int(stamps.max()) if len(stamps) else 0


def main() -> None:
    """The executable `validation_node`."""
    run_node(ValidationNode)


if __name__ == "__main__":
    main()
