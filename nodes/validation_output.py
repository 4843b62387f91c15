"""What the validation node gives out: summary and markers on topics, result folders, lines in the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from std_msgs.msg import Header

from simjudge.core.progress import Advance, ProgressLines
from simjudge.method.entry_numbers import ComparisonNumbers
from simjudge.questions.compare.page import write_report
from simjudge.questions.watch import SummaryLine, summary_lines
from simjudge.results.saved_result import check_result_folder
from simjudge.studies.comparison import Comparison

from .endpoints import declared_publisher
from .runtime import SimjudgeNode
from .validation_messages import marker_message, summary_message, text_message
from .validation_settings import optional_path
from .worker import WorkAbandonedError

_PROGRESS_PERIOD = 5
"""Seconds between lines about the progress of long work."""


class ValidationOutput:
    """The outputs that a comparison of two sets and a live comparison share.

    Attributes:
        out: folder of the result, None where none is written.
    """

    def __init__(self, node: SimjudgeNode) -> None:
        """Create the publishers.

        Args:
            node: with the parameters `out` and `report`.
        """
        self._node = node
        self.out = optional_path(node.settings["out"])
        if self.out is not None:
            check_result_folder(self.out)
        self._summary = declared_publisher(node, "validation/summary")
        self._markers = declared_publisher(node, "validation/markers")
        self._text = declared_publisher(node, "validation/text")

    def publish(
        self,
        head: Header,
        numbers: ComparisonNumbers,
        reverse: ComparisonNumbers | None,
        about: Mapping[str, Any],
        losses: list[str],
        certainty_frames: int,
    ) -> list[SummaryLine]:
        """Publish a summary, and its numbers for RViz.

        Args:
            reverse: the same for the other direction, None where it is not computed.
            certainty_frames: live frames (or frames of both sets) that the certainty is computed from.
        """
        self._summary.publish(summary_message(head, numbers, reverse, about, losses, certainty_frames))
        lines = summary_lines(numbers, about["class_names"])
        self._markers.publish(marker_message(head, lines))
        self._text.publish(text_message(head, lines))
        return lines

    def save(self, compared: Comparison, folder: Path) -> None:
        """Write a result folder, with the report where the parameter `report` asks for it."""
        compared.save(folder)
        if self._node.settings["report"]:
            write_report([folder], folder / "report.html")
        self.log(f"result in {folder}")

    def log(self, line: str) -> None:
        """Write a line to the node's log."""
        self._node.get_logger().info(line)

    @contextmanager
    def progress(self, task: str) -> Iterator[Advance]:
        """Report the progress of long work in the log.

        Yields:
            A function to call with pieces done and pieces in all; it raises WorkAbandonedError once the node ends.
        """
        lines = ProgressLines(task, _PROGRESS_PERIOD)

        def advance(done: int, total: int) -> None:
            if self._node.leaving:
                raise WorkAbandonedError
            if line := lines.line(done, total):
                self.log(line)

        yield advance
