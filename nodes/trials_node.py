"""Trials of policies from a topic: written down row by row, and judged as they come in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import Json
from simjudge.method.betting import SequenceVerdict
from simjudge.questions.policies.trial_files import TrialTable, read_simulated, trial_of_values
from simjudge.questions.policies.watch import SequenceWatch
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.node_settings import TrialsSettings

from .diagnostics import OK, WARN, TaskState
from .parameters import settings_parameters
from .runtime import SimjudgeNode, declared_publisher, declared_subscription, run_node

_JSON = "std_msgs/msg/String"


class TrialsNode(SimjudgeNode):
    """Takes the outcome of each trial of a policy, writes it down, and says what is certain so far."""

    NAME = "trials_node"
    INTERFACE = NODES["trials_node"]
    PARAMETERS = settings_parameters(TrialsSettings)

    def __init__(self) -> None:
        super().__init__()
        given = self.settings
        self._table = TrialTable(given["out"])
        self._watch = SequenceWatch(str(given["out"]), given["margin"], policy=given["policy"], task=given["task"])
        self._received = 0
        for trial in self._table.held:
            self._watch.add(trial)
        if self._table.held:
            self.get_logger().info(f"{given['out']}: goes on after {len(self._table.held)} trials")
        elif given["sim"]:
            for trial in read_simulated(given["sim"]):
                self._table.add(trial)
                self._watch.add(trial)
        self._sequence = declared_publisher(self, "policies/sequence")
        declared_subscription(self, "policies/trials", self._take)
        self.diagnostics.add_task("trials", self._report)
        self._publish()

    def close(self) -> None:
        """Close the blocks and the table, and say the state."""
        self._watch.finish()
        self._publish()
        self._table.close()
        self.get_logger().info(self._watch.result().meaning)

    def counts(self) -> Mapping[str, int]:
        """Trials that came and were written."""
        return {"trials written": self._received}

    def _take(self, message: Any) -> None:
        topic = "policies/trials"
        try:
            trial = trial_of_values(_values(message), self.settings["side"])
        except SimjudgeError as error:
            self.lose("messages that are no trial", f"{topic}: {error}")
            return
        self._table.add(trial)
        self._received += 1
        if self._watch.add(trial):
            self.get_logger().info(self._watch.line())
        self._publish()
        self._end_if_certain()

    def start(self) -> None:
        """End at once where what the table holds is enough."""
        self._end_if_certain()

    def _end_if_certain(self) -> None:
        if self._watch.is_certain and self.settings["until_certain"]:
            self.finish()

    def _publish(self) -> None:
        result = self._watch.result()
        look = result.saved.last
        values = {
            "verdict": look["verdict"],
            "low": f"{look['low']:.4f}",
            "high": f"{look['high']:.4f}",
            "margin": f"{self.settings['margin']:g}",
            "real trials": str(look["trials"][0]),
            "simulated trials": str(look["trials"][1]),
            "compared": str(look["entered"]),
        }
        level = WARN if look["verdict"] == SequenceVerdict.GAP else OK
        self._sequence.publish(
            DiagnosticStatus(
                level=level,
                name="policies/sequence",
                message=result.meaning,
                values=[KeyValue(key=key, value=value) for key, value in values.items()],
            )
        )

    def _report(self) -> TaskState:
        if lost := self.recent_losses:
            return TaskState(WARN, lost, {"written": self._received})
        return TaskState(OK, self._watch.line().strip(), {"written": self._received})


def _values(message: Any) -> Json:
    """Names and values of a message: keys of a DiagnosticStatus, or a JSON object in a String."""
    if isinstance(message, DiagnosticStatus):
        found = {pair.key: pair.value for pair in message.values}
        return {"policy": message.name, **found} if message.name else found
    try:
        held = json.loads(message.data)
    except ValueError as error:
        raise SimjudgeError(f"is not JSON ({error})") from error
    if not isinstance(held, dict):
        raise SimjudgeError("is not a JSON object with policy, task and outcome")
    return held


def main() -> None:
    """The executable `trials_node`."""
    run_node(TrialsNode)


if __name__ == "__main__":
    main()
