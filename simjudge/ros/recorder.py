"""The recorder of a graph, and its arguments."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from simjudge.core.settings import chosen
from simjudge.data.rosbag2.storage import CompressionName, RecordingForm
from simjudge.ros.description import Process, Value, Values
from simjudge.ros.image_sources import DRAIN
from simjudge.ros.node_settings import RecordSettings
from simjudge.ros.setting_arguments import arguments_of, given_parameters

_ROWS = chosen(RecordSettings, ("max_size", "compression"))
RECORDER_ARGUMENTS = arguments_of(_ROWS)


def recorder(values: Values, topics: list[str]) -> Process:
    """The program that records topics to `out`."""
    parameters: dict[str, Value] = {"out": values["out"], "topics": topics, **given_parameters(_ROWS, values)}
    compression = cast("CompressionName", values["compression"])
    if compression == "none":
        del parameters["compression"]
    RecordingForm(max_bytes=1 if "max_size" in parameters else None, compression=compression).check(Path(values["out"]))
    # A file is compressed when it is complete, the last one at the end of the run.
    patience = DRAIN if compression == "file" else Process.patience
    return Process("record_node", "record_node", parameters=parameters, patience=patience)
