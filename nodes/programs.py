"""The nodes as programs, as pyproject.toml names them. Ctrl-C ends each quietly, also before the node listens to it.

Little is imported here: what a node needs takes seconds to load, and Python would answer Ctrl-C meanwhile with a
traceback. `simjudge.nodes.runtime` takes the signals over as soon as the node can end properly.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from types import FrameType

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import need_rclpy
from simjudge.core.processes import EXIT_FAILED, EXIT_STOPPED


def _program(name: str) -> Callable[[], None]:

    def main() -> None:
        # Who starts a program with Ctrl-C ignored, as `simjudge ros run` does, has it ignored until the node listens.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _leave)
        try:
            need_rclpy()
        except SimjudgeError as error:
            sys.stderr.write(f"error: {name}: {error}\n")
            sys.exit(EXIT_FAILED)
        import_module(f"simjudge.nodes.{name}").main()

    return main


def _leave(_number: int, _frame: FrameType | None) -> None:
    """End at once: nothing is open yet, and an exception may be lost in the libraries that are being loaded."""
    os._exit(EXIT_STOPPED)


camera_bridge_node = _program("camera_bridge_node")
detection_node = _program("detection_node")
drive_node = _program("drive_node")
ground_truth_node = _program("ground_truth_node")
manual_node = _program("manual_node")
objects_node = _program("objects_node")
play_node = _program("play_node")
record_node = _program("record_node")
replay_node = _program("replay_node")
sim_node = _program("sim_node")
validation_node = _program("validation_node")
trials_node = _program("trials_node")
watch_node = _program("watch_node")
