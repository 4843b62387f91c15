"""Settings, each declared once, and the groups of them that several commands share.

A setting is one field of a settings class: a frozen dataclass that derives from `Settings`, with fields made by
`setting`. The annotation gives the type. The field gives default, help text, unit, range and choices::

    @dataclass(frozen=True, kw_only=True)
    class CompareSettings(Settings):
        theta: float | None = setting(None, "Similarity threshold.", low=0, high=1)

Settings that belong together are a group: a class with the title of its panel. What a question asks is composed of
groups, side by side::

    class CertaintySettings(Settings, panel="Certainty"): ...
    class CompareSettings(MethodSettings, CertaintySettings, PairSettings): ...

A group is a panel of the command's help and a table of the documentation; a setting marked `common` stands above them,
with the options that most people use. What does not apply to a question is in no group of its.

To add a setting, add one field to a group, and read it where it acts. These come from the field:

* the keyword of the Python function (`takes_setting_keywords`) and its check (`Settings.__post_init__`),
* the option of the command (`simjudge.terminal.common`),
* the ROS parameter with descriptor and range (`simjudge.nodes.parameters`),
* the argument of a launch file (`simjudge.ros.description`),
* the row of a documentation table and the JSON schema (`markdown_table`, `json_schema`).

"Not given" is None, and nothing else. A setting may be left out where its type admits None. Text from outside (a launch
file, a parameter file) that is empty is read as None by `Setting.parse`.

Plain dataclasses rather than pydantic: the command line imports the settings, and pydantic's import alone takes a
third of the time that `simjudge --help` may take.

Which frames of an input are taken: every one, every N-th, or as many a second.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, replace
from functools import wraps
from operator import index
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from simjudge.core.errors import UsageError


@dataclass(frozen=True)
class Thinning:
    """Every N-th frame, or as many a second as `rate` says."""

    every: int = 1
    rate: float | None = None  # frames a second; None for all

    def __post_init__(self) -> None:
        """Check that one of the two is asked for at most."""
        if self.every > 1 and self.rate is not None:
            raise UsageError(f"--every {self.every} --rate {self.rate:g}: give one of them")

    def __bool__(self) -> bool:
        """Whether any frame may be left out."""
        return self.every > 1 or self.rate is not None

    def __str__(self) -> str:
        """What is taken, in words: "every 5th frame"; empty for all."""
        if self.rate is not None:
            return f"{self.rate:g} frames a second"
        return f"every {self.every}{_ending(self.every)} frame" if self.every > 1 else ""


def _ending(number: int) -> str:
    return "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


ALL_FRAMES = Thinning()


Choices: TypeAlias = "tuple[str, ...] | Callable[[], tuple[str, ...]]"

LARGEST_NUMBER = 2**53  # Beyond it a number is none that a person means, and whole numbers are not exact in JSON
# Seconds, about 127 years: the stamps of any clock that counts from 1970. In nanoseconds they fit into 64 bits.
LONGEST_TIME = 4e9
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
_METADATA = "setting"
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", Path: "a path"}


@dataclass(frozen=True)
class TextForm:
    """How a setting that is no plain number or text is written."""

    # Makes the value from text, or from another Python value that means the same; raises UsageError.
    parse: Callable[[Any], Any]
    format: Callable[[Any], str]  # makes the text from the value
    metavar: str  # the form in a word, e.g. "HEIGHTxWIDTH"
    several: bool = False  # the option may be given several times; `parse` then gets a list of texts


@dataclass(frozen=True)
class Setting:
    """What is declared of one setting."""

    # An identifier; the option is `--name` with hyphens (see `option`), the ROS parameter and the launch argument are
    # `name`.
    name: str
    kind: type  # bool, int, float, str or Path; with `many`, of each item; with `form`, str
    default: Any  # the value where none is given; None where there is none (see `required`)
    help: str  # a phrase that stands alone, without the unit and the default
    unit: str = ""  # of a number, e.g. "s" or "px"; empty for none
    # low, high: range of a number, inclusive; None for no bound.
    low: float | None = None
    high: float | None = None
    choices: Choices = ()  # the texts it may be, or a function that returns them; empty for any
    # What "not given" means, by name of the preset; empty where it does not depend on one.
    by_preset: Mapping[str, object] = dataclasses.field(default_factory=dict)
    form: TextForm | None = None  # how its text is written, where it is no plain value
    many: bool = False  # a tuple of values rather than one
    optional: bool = False  # None is a value: "not given"
    required: bool = False  # it has no default and must be given
    changeable: bool = False  # a node lets it be changed while it runs
    option: str = ""  # name of the option, where Python has another meaning for it than as the name of the setting
    short: str = ""  # another name of the option, of one letter, such as "-j"
    common: bool = False  # most people who run the command look for it
    group: str = ""  # title of the group that declares it; empty for a setting of one question alone

    @property
    def panel(self) -> str:
        """Title of the panel of the command's help that shows it; empty for the first one."""
        return "" if self.common else self.group

    @property
    def flag(self) -> str:
        """The option of the command line."""
        return "--" + (self.option or self.name).replace("_", "-")

    @property
    def allowed(self) -> tuple[str, ...]:
        """The texts it may be; empty for any."""
        return self.choices() if callable(self.choices) else self.choices

    @property
    def help_text(self) -> str:
        """The help text with the unit."""
        return f"{self.help.rstrip('.')} [{self.unit}]." if self.unit else self.help

    @property
    def description(self) -> str:
        """The help text with the unit, and with what "not given" means."""
        return f"{self.help_text} Not given: {self.default_text}." if self.by_preset else self.help_text

    @property
    def default_text(self) -> str:
        """The default as people read it, e.g. "0.8; cpd 0.9"; empty where there is none."""
        if not self.by_preset:
            return self.text(self.default)
        (_, usual), *others = self.by_preset.items()
        special = [f"{name} {self.text(value) or 'none'}" for name, value in others if value != usual]
        return "; ".join([self.text(usual) or "none", *special])

    @property
    def range_text(self) -> str:
        """The range or the choices as people read them; empty for any value."""
        if self.allowed:
            return ", ".join(self.allowed)
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        if self.low is not None:
            return f"at least {self.low:g}"
        return "" if self.high is None else f"at most {self.high:g}"

    @property
    def type_text(self) -> str:
        """The type as people read it."""
        words: dict[type, str] = {str: "text", Path: "path"}
        name = self.form.metavar if self.form else words.get(self.kind, self.kind.__name__)
        return f"list of {name}" if self.many and not self.form else name

    def text(self, value: Any) -> str:
        """A value as text, the opposite of `parse`; empty for None."""
        if value is None:
            return ""
        if self.form:
            return self.form.format(value)
        if self.many:
            return ",".join(str(item) for item in value)
        return str(value).lower() if self.kind is bool else str(value)

    def parse(self, text: str, label: str | None = None) -> Any:
        """The value that a text says; None for an empty text where "not given" is possible."""
        label = label or f"{self.name} {text!r}"
        if not text and self.optional:
            return None
        if self.form:
            return self.check(text, label)
        return self.check(
            tuple(self._scalar(part.strip(), label) for part in text.split(","))
            if self.many
            else self._scalar(text, label),
            label,
        )

    def check(self, value: Any, label: str | None = None) -> Any:
        """The value as the setting has it: whole numbers as float where it is one, texts as Path, and so on."""
        label = label or f"{self.name} {value!r}"
        if value is None:
            if self.optional:
                return None
            raise UsageError(f"{self.name} must be given: {self.help}")
        if self.form:
            return self.form.parse(value)
        if not self.many:
            return self._item(value, label)
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise UsageError(f"{label}: must be a list, each item {self._word}")
        return tuple(self._item(item, label) for item in value)

    @property
    def _word(self) -> str:
        return _WORDS[self.kind]

    def _scalar(self, text: str, label: str) -> Any:
        if self.kind is bool and text.lower() in (*_TRUE, *_FALSE):
            return text.lower() in _TRUE
        try:
            return {int: int, float: float, str: str, Path: Path}[self.kind](text)
        except (KeyError, ValueError):
            raise UsageError(f"{label}: must be {self._word}") from None

    def _item(self, value: Any, label: str) -> Any:
        try:
            item = _converted(self.kind, value)
        except (TypeError, OverflowError):
            raise UsageError(f"{label}: must be {self._word}") from None
        if self.allowed and item not in self.allowed:
            raise UsageError(f"{label}: must be one of {', '.join(self.allowed)}")
        if self.kind in (int, float):
            low, high = -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high
            if not low <= item <= high:
                raise UsageError(f"{label}: must be {self.range_text or 'a number'}")
            most = LONGEST_TIME if self.unit == "s" else LARGEST_NUMBER
            if abs(item) > most:
                raise UsageError(f"{label}: must be a finite number of at most {most:g} in size")
        return item


Other = TypeVar("Other", bound="Settings")


class Settings:
    """What settings classes derive from: their values are checked and converted when an object is made."""

    _panel: ClassVar[str] = ""

    def __init_subclass__(cls, *, panel: str = "") -> None:
        cls._panel = panel

    def __post_init__(self) -> None:
        for row in declared(type(self)):
            object.__setattr__(self, row.name, row.check(getattr(self, row.name)))

    def given(self) -> dict[str, object]:
        """By name, the values that differ from the default."""
        rows = declared(type(self))
        return {row.name: getattr(self, row.name) for row in rows if getattr(self, row.name) != row.default}

    def as_settings(self, kind: type[Other]) -> Other:
        """The settings of another class: the values that both have, and its defaults."""
        names = kind.__dataclass_fields__  # type: ignore[attr-defined]  # every class of settings is a data class
        return kind(**{name: getattr(self, name) for name in names if hasattr(self, name)})


def setting(
    default: Any = MISSING,
    help: str = "",  # noqa: A002 - the field's name, as in typer and argparse
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: Choices = (),
    **more: Any,
) -> Any:
    """A field of a settings class."""
    row = {"help": help, "unit": unit, "low": low, "high": high, "choices": choices, **more}
    return dataclasses.field(default=default, metadata={_METADATA: row})


def declared(kind: type[Any]) -> tuple[Setting, ...]:
    """The settings of a settings class: those of its groups in order, then its own."""
    hints = get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind) if _METADATA in field.metadata}
    rows: dict[str, Setting] = {}
    for group in _groups(kind):
        for name in inspect.get_annotations(group):
            if name not in fields or name in rows:
                continue
            items, default = fields[name].metadata[_METADATA], fields[name].default
            required = default is MISSING
            scalar, many, optional = _described(hints[name], has_form=items.get("form") is not None)
            rows[name] = Setting(
                name,
                scalar,
                None if required else default,
                many=many,
                optional=optional,
                required=required,
                group=getattr(group, "_panel", ""),
                **items,
            )
    return tuple(rows.values())


def by_group(rows: Iterable[Setting]) -> dict[str, list[Setting]]:
    """Settings by the title of their group, in order."""
    found: dict[str, list[Setting]] = {}
    for row in rows:
        found.setdefault(row.group, []).append(row)
    return found


def _groups(kind: type[Any]) -> list[type[Any]]:
    """The classes that a class is composed of, each before what it is a part of."""
    found: dict[type[Any], None] = {}
    for base in kind.__bases__:
        found |= dict.fromkeys(_groups(base))
    return [*found, kind]


def chosen(kind: type[Any], names: Iterable[str] = (), *, without: Iterable[str] = ()) -> tuple[Setting, ...]:
    """Some settings of a settings class (names: which, in this order; empty for all)."""
    rows = {row.name: row for row in declared(kind)}
    left_out = set(without)
    return tuple(rows[name] for name in (tuple(names) or rows) if name not in left_out)


def _described(hint: Any, *, has_form: bool) -> tuple[type, bool, bool]:
    """The kind of a value, whether there are many, and whether it may be None, from an annotation."""
    optional = False
    if get_origin(hint) in (Union, types.UnionType):
        parts = [part for part in get_args(hint) if part is not type(None)]
        optional = len(parts) < len(get_args(hint))
        if has_form:
            return str, False, optional
        (hint,) = parts
    if has_form:
        return str, False, optional
    if get_origin(hint) is tuple:
        return get_args(hint)[0], True, optional
    if hint not in _WORDS:
        raise TypeError(f"no setting can be a {hint}; give it a form")
    return hint, False, optional


def _converted(kind: type, value: Any) -> Any:
    """A value as another that means the same, of the kind; TypeError where there is none."""
    if kind is bool:
        if value is True or value is False or type(value).__name__ in ("bool", "bool_"):  # NumPy's, of 2 and of 1
            return bool(value)
        raise TypeError
    if kind is Path:
        return Path(value)
    if kind is str:
        # An enumeration of texts counts as its text.
        value = getattr(value, "value", value)
        if isinstance(value, str):
            return value
        raise TypeError
    if isinstance(value, bool | str | bytes):
        raise TypeError
    return index(value) if kind is int else float(value)


_JSON_TYPES: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string"}


def markdown_table(rows: Iterable[Setting], head: str = "setting") -> str:
    """A documentation table, one row a setting."""
    lines = [f"| {head} | type | default | range | what it does |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        default = "must be given" if row.required else f"`{row.default_text}`" if row.default_text else ""
        cells = (f"`{row.name}`", row.type_text, default, row.range_text, row.help_text)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def json_schema(rows: Iterable[Setting], title: str) -> dict[str, object]:
    """The JSON schema of an object that holds settings by name."""
    rows = tuple(rows)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": {row.name: _property(row) for row in rows},
        "required": [row.name for row in rows if row.required],
        "additionalProperties": False,
    }


def _property(row: Setting) -> dict[str, object]:
    kind = "string" if row.form else _JSON_TYPES[row.kind]
    item: dict[str, object] = {"type": kind}
    if row.allowed:
        item["enum"] = list(row.allowed)
    if row.low is not None:
        item["minimum"] = row.low
    if row.high is not None:
        item["maximum"] = row.high
    out: dict[str, object] = {"type": "array", "items": item} if row.many and not row.form else item
    if row.optional:
        # "enum" would refuse null even where "type" admits it.
        out = {"anyOf": [out, {"type": "null"}]}
    out["description"] = row.description
    if not row.required and row.default is not None:
        out["default"] = row.text(row.default) if row.form or row.kind is Path else row.default
    return out


Returned = TypeVar("Returned")

_SETTINGS = "settings"


def takes_setting_keywords(function: Callable[..., Returned]) -> Callable[..., Returned]:
    """A function that takes every setting as a keyword too, which `help` shows; its docstring gets a line for each."""
    kind = get_type_hints(function)[_SETTINGS]
    rows = {row.name: row for row in declared(kind)}
    own = list(inspect.signature(function).parameters.values())

    @wraps(function)
    def with_keywords(*arguments: Any, **keywords: Any) -> Returned:
        given = {name: keywords.pop(name) for name in list(keywords) if name in rows}
        for name in keywords:
            if all(name != row.name for row in own):
                raise TypeError(f"{function.__name__}() has no argument {name!r}{_hint(name, rows)}")
        start = keywords.pop(_SETTINGS, None)
        if not isinstance(start, kind | None):
            raise TypeError(f"{function.__name__}() takes {kind.__name__} as its settings, not {type(start).__name__}")
        return function(*arguments, settings=kind(**given) if start is None else replace(start, **given), **keywords)

    added = [inspect.Parameter(row.name, inspect.Parameter.KEYWORD_ONLY, default=row.default) for row in rows.values()]
    shown = [parameter.replace(default=None) if parameter.name == _SETTINGS else parameter for parameter in own]
    with_keywords.__signature__ = inspect.Signature([*shown, *added])  # type: ignore[attr-defined]
    with_keywords.__doc__ = _with_lines(inspect.getdoc(function) or "", rows.values())
    return with_keywords


def _with_lines(doc: str, rows: Any) -> str:
    """A docstring with a line for each setting at the end of its section Args."""
    lines = "".join(f"    {row.name}: {_line(row)}\n" for row in rows)
    head, *tail = re.split(r"(?=\n\n(?:Returns|Raises):)", doc, maxsplit=1)
    return f"{head}\n{lines.rstrip()}{''.join(tail)}"


def _line(row: Setting) -> str:
    values = f" ({row.range_text})" if row.range_text and not callable(row.choices) else ""
    return f"{row.description}{values}"


def _hint(name: str, rows: dict[str, Setting]) -> str:
    near = difflib.get_close_matches(name, rows, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def file_or_name(metavar: str = "FILE|NAME") -> TextForm:
    """How a file is written, or the name of one that comes with simjudge; or what else a text may stand for."""

    def parse(given: Any) -> Any:
        if isinstance(given, str | Path):
            return given
        raise UsageError(f"{given!r}: must be a text or a path ({metavar})")

    return TextForm(parse, str, metavar)


@dataclass(frozen=True, kw_only=True)
class ReadSettings(Settings, panel="Reading files"):
    """How data sets are read, whatever is done with them afterwards."""

    allow_outside: bool = setting(
        default=False,
        help="Allow images outside the data set's folder (default: refused, since a file may name any path).",
    )
    every: int = setting(1, "Take every N-th frame alone.", low=1, high=10**6)
    rate: float | None = setting(
        None, "Take as many frames a second alone, by their times.", unit="Hz", low=1e-6, high=1e6
    )

    def __post_init__(self) -> None:
        """Check the values, one by one and together."""
        super().__post_init__()
        _ = self.thinning

    @property
    def thinning(self) -> Thinning:
        """Which frames of each input are taken."""
        return Thinning(self.every, self.rate)


@dataclass(frozen=True, kw_only=True)
class LabelSettings(Settings, panel="Labels"):
    """Which things of a simulated picture are labelled; `simjudge.sim.capture.ground_truth.Labelling` applies it."""

    min_size: float = setting(5.0, "Smallest width and height of a labelled object.", unit="px", low=0, high=1e5)
    min_visible: float = setting(0.25, "Smallest visible share of a labelled object.", low=0, high=1)


@dataclass(frozen=True, kw_only=True)
class MotionLimitSettings(Settings, panel="Poses"):
    """Which poses are believed; `simjudge.geometry.trajectories.MotionLimits` applies it."""

    max_gap: float = setting(0.5, "Largest gap between poses to interpolate.", unit="s", low=1e-3, high=1e6)
    max_speed: float = setting(20.0, "Speed above which a change of pose is a jump.", unit="m/s", low=1e-3, high=1e6)
    max_turn: float = setting(
        720.0, "Rotation rate above which a change of pose is a jump.", unit="deg/s", low=1e-3, high=1e6
    )


@dataclass(frozen=True, kw_only=True)
class EngineSettings(Settings):
    """What moves and lights a scene."""

    engine: str = setting(
        "default",
        "Engine of the simulator: default, baked, mujoco, chrono, a plug-in's name, or package.module:Class.",
        form=file_or_name("NAME|PACKAGE:CLASS"),
        common=True,
    )


@dataclass(frozen=True, kw_only=True)
class JobSettings(Settings):
    """How many processes work side by side."""

    jobs: int = setting(
        1, "Parallel rendering processes; the output is the same.", low=1, high=1024, short="-j", common=True
    )
