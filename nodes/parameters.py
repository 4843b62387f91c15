"""Parameters of a node, from a table: declared with type, description and range; bad values refused with a reason."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from simjudge.core.errors import SimjudgeError
from simjudge.core.settings import Setting, Settings, declared
from simjudge.ros.node_parameters import EVERY_NODE, NODE_PARAMETERS

Value: TypeAlias = "bool | int | float | str | list[str] | list[float] | None"

_TYPES: dict[type, RosParameter.Type] = {
    bool: RosParameter.Type.BOOL,
    int: RosParameter.Type.INTEGER,
    float: RosParameter.Type.DOUBLE,
    str: RosParameter.Type.STRING,
}
_REMEDIES = {RosParameter.Type.DOUBLE: "write it with a decimal point, e.g. 1.0"}


@dataclass(frozen=True)
class Parameter:
    """One row of a node's parameter table."""

    name: str
    # The value where none is given, None for a number that may be left out; its type is the parameter's type unless
    # `kind` is given. A list's items are strings unless the default holds numbers.
    default: Value
    description: str  # what it does, with its unit
    choices: tuple[str, ...] = ()  # the values a text may have; empty for any
    # low, high: the range of a number, inclusive; None for no bound.
    low: float | None = None
    high: float | None = None
    changeable: bool = False  # may be set while the node runs
    required: bool = False  # the default stands for "not given", and must be replaced
    kind: type | None = None  # bool, int, float or str; None for the default's type
    optional: bool = False  # "not given" is possible; its value is None
    # May be set while a node with a life cycle is unconfigured; the node refuses it else, and says why.
    at_rest: bool = False

    @classmethod
    def of(cls, row: Setting) -> Parameter:
        """The parameter of a declared setting: a number that is not given stays unset, such a text is empty."""
        texts = row.form is not None or row.kind in (str, Path)
        kind = str if texts else row.kind
        many = row.many and row.form is None
        default: Any = list(row.default) if many else row.text(row.default) if texts else row.default
        return cls(
            row.name,
            default,
            row.description,
            row.allowed,
            row.low,
            row.high,
            row.changeable,
            row.required,
            None if many else kind,
            row.optional,
        )

    @property
    def unset(self) -> bool:
        """Whether "not given" is a parameter that is declared with its type alone."""
        return self.default is None or self.default == []

    @property
    def value_type(self) -> type:
        """The Python type of its values."""
        return self.kind or type(self.default)

    @property
    def type(self) -> RosParameter.Type:
        """The ROS type."""
        if isinstance(self.default, list):
            numbers = bool(self.default) and isinstance(self.default[0], float)
            return RosParameter.Type.DOUBLE_ARRAY if numbers else RosParameter.Type.STRING_ARRAY
        return _TYPES[self.value_type]

    def problem(self, value: Any) -> str | None:
        """Why a value cannot be taken: a line for people; None where the value can be taken."""
        if self.required and value in ("", []):
            return f"parameter {self.name} must be given: {self.description}"
        if self.choices and value not in self.choices and (value or self.default):
            return f"parameter {self.name} must be one of {', '.join(self.choices)}, not {value!r}"
        if isinstance(value, float | int) and not isinstance(value, bool):
            low = -math.inf if self.low is None else self.low
            high = math.inf if self.high is None else self.high
            if not low <= value <= high:
                return f"parameter {self.name} must be in [{low:g}, {high:g}], not {value:g}"
        return None

    def descriptor(self) -> ParameterDescriptor:
        """What `ros2 param describe` shows."""
        out = ParameterDescriptor(name=self.name, type=self.type.value, read_only=not (self.changeable or self.at_rest))
        out.description = self.description
        said = [f"one of {', '.join(self.choices)}"] if self.choices else []
        if not self.changeable:
            rest = "give it when the node starts, or while it is unconfigured (ros2 lifecycle)"
            said.append(rest if self.at_rest else "read-only: give it when the node starts")
        out.additional_constraints = "; ".join(said)
        if self.low is not None or self.high is not None:
            low = -math.inf if self.low is None else self.low
            high = math.inf if self.high is None else self.high
            if self.type is RosParameter.Type.DOUBLE:
                out.floating_point_range = [FloatingPointRange(from_value=float(low), to_value=float(high))]
            else:
                bounds = [int(max(low, -(2**63))), int(min(high, 2**63 - 1))]
                out.integer_range = [IntegerRange(from_value=bounds[0], to_value=bounds[1], step=1)]
        return out


class ParameterValues:
    """The values of a node's parameters, always the current ones."""

    def __init__(self, node: Node, table: Sequence[Parameter], changed: Callable[[str, Any], None]) -> None:
        self._node, self._changed = node, changed
        self._rows = {row.name: row for row in table}
        for row in table:
            self._declare(row)
        self._warn_of_unknown()
        node.add_on_set_parameters_callback(self._check)

    def __getitem__(self, name: str) -> Any:
        """The current value of a parameter: a list for an array, None for a text or number that is not given."""
        row = self._rows[name]
        value = self._node.get_parameter_or(name, RosParameter(name, value=row.default)).value
        if row.optional and value == "":
            return None
        return list(value) if isinstance(row.default, list) else value

    def _declare(self, row: Parameter) -> None:
        # None and an empty list tell no type; such a parameter stays unset until a value is given.
        start = row.type if row.unset else row.default
        try:
            self._node.declare_parameter(row.name, start, row.descriptor())
        except InvalidParameterTypeException as error:
            remedy = _REMEDIES.get(row.type)
            kind = row.type.name.lower().replace("_", " ")
            hint = f": {remedy}" if remedy else ""
            raise SimjudgeError(f"parameter {row.name} must be a {kind}{hint} ({_one_line(error)})") from error
        except InvalidParameterValueException as error:
            raise SimjudgeError(f"parameter {row.name}: {_one_line(error)}") from error
        trouble = row.problem(self[row.name])
        if trouble:
            raise SimjudgeError(trouble)

    def _warn_of_unknown(self) -> None:
        """Name given parameters that no node of simjudge has: ROS leaves them out without a word."""
        known = {row.name for rows in NODE_PARAMETERS.values() for row in rows} | set(self._rows)
        for name in getattr(self._node, "_parameter_overrides", {}):
            if name in known or name.partition(".")[0] in EVERY_NODE:
                continue
            near = difflib.get_close_matches(name, self._rows, 1)
            hint = f"; is {near[0]} meant?" if near else ""
            self._node.get_logger().warning(f"there is no parameter {name}{hint}")

    def _check(self, wanted: list[RosParameter[Any]]) -> SetParametersResult:
        for parameter in wanted:
            row = self._rows.get(parameter.name)
            if row is None:
                continue
            trouble = row.problem(parameter.value)
            if trouble:
                return SetParametersResult(successful=False, reason=trouble)
            try:
                self._changed(parameter.name, parameter.value)
            except SimjudgeError as error:
                return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)


def settings_parameters(kind: type[Settings]) -> tuple[Parameter, ...]:
    """The parameters of a settings class."""
    return tuple(Parameter.of(row) for row in declared(kind))


def table_text(table: Sequence[Parameter]) -> str:
    """A parameter table for people, a parameter a paragraph."""
    lines = []
    for row in table:
        default = "required" if row.required else "not set" if row.default is None else f"default {row.default!r}"
        kind = row.type.name.lower().replace("_", " ")
        choice = f"; one of {', '.join(row.choices)}" if row.choices else ""
        lines.append(f"  {row.name} ({kind}, {default}{choice})\n      {row.description}")
    return "\n".join(lines)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
