"""The settings of a comparison as launch arguments, and as parameters of validation_node."""

from __future__ import annotations

from simjudge.core.settings import chosen
from simjudge.graph.description import Value, Values
from simjudge.graph.setting_arguments import argument, given_parameters
from simjudge.studies.compare_settings import CompareSettings

OF_SETS = ("model", "a_predictions", "b_predictions", "paired", "pair_tolerance")
"""Settings that concern two sets, not the method."""
ROWS = chosen(CompareSettings, without=OF_SETS)
ARGUMENTS = tuple(argument(row) for row in ROWS)


def parameters(values: Values) -> dict[str, Value]:
    """The parameters of validation_node that were given.

    Args:
        values: the texts of all arguments.

    Raises:
        UsageError: a text is no value of its setting.
    """
    return given_parameters(ROWS, values)
