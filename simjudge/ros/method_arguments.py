"""The settings of a comparison as launch arguments, and as parameters of validation_node."""

from __future__ import annotations

from simjudge.core.settings import chosen
from simjudge.judging.compare_settings import CompareSettings
from simjudge.ros.description import Process, Value, Values, argument, given_parameters
from simjudge.ros.node_settings import ValidationSettings

# Settings that concern two sets, not the method.
OF_SETS = (
    "model",
    "a_predictions",
    "b_predictions",
    "a_image_topic",
    "b_image_topic",
    "paired",
    "pair_tolerance",
    "sensor",
    "cuboid_iou",
    "paint",
    "range_columns",
    "elevations",
    "a_cloud_topic",
    "b_cloud_topic",
    "performance",
    "contexts",
    "features",
    "every",
    "rate",
)
ROWS = chosen(CompareSettings, without=OF_SETS)
ARGUMENTS = tuple(argument(row) for row in ROWS)

# Settings of a live comparison: what is kept, for how long certainty is sought at the end, and certainty at any time.
LIVE_ROWS = chosen(ValidationSettings, ("certainty_time", "sequential", "sequential_block", "window", "keep"))
LIVE_ARGUMENTS = tuple(argument(row) for row in LIVE_ROWS)
PATIENCE = 600.0  # Seconds that the plain numbers and the report at the end are given


def live_judge(values: Values, given: dict[str, Value]) -> Process:
    """The judge of a live comparison (given: its parameters beside those of the method and of a live comparison)."""
    live = given_parameters(LIVE_ROWS, values)
    patience = PATIENCE + float(live.get("certainty_time", ValidationSettings.certainty_time))  # type: ignore[arg-type]
    made = {**given, **parameters(values), **live}
    return Process("validation_node", "validation_node", patience=patience, parameters=made)


def parameters(values: Values) -> dict[str, Value]:
    """The parameters of validation_node that were given."""
    return given_parameters(ROWS, values)
