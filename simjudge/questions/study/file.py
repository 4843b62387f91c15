"""A study as a file: steps by name, each a verb with its arguments, in sizes that set some of them.

title: What the study asks
sizes:
  small: {rate: 7.5}
  full: {rate: 15}
steps:
  real: {drive: {scene: krc_stand_in, driver: straight, rate: {size: rate}}}
  seen: {matrix: {camera: [ideal, worn]}, replay: {recording: {step: real}, scene: krc, camera: "${camera}.yaml"}}
  judged: {many_sets: {predictions: {steps: seen}}}

Values of arguments are texts, numbers, lists and tables, with references anywhere inside (see below). Steps run
in the order of the graph, whatever their order in the file.

{step: NAME}        what a step makes
{step: NAME, file: PATH}  a file in the folder that a step makes
{steps: NAME}       what all steps of a matrix make, as tables by value: {a: {c: ..., d: ...}, b: {...}}
{size: NAME}        a value of the size that is run
{input: NAME}       a file or folder that a person named by --input
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from simjudge.core.documents import Document, Fields, read_document
from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError, UsageError
from simjudge.core.field_types import Text
from simjudge.core.files import is_file
from simjudge.core.installed import STUDY, find_file
from simjudge.core.text import list_some, nearest_name, one_line

FORMAT = "to"
"""The argument that says what kind of file a step makes."""
TRUST, TRUST_ALL = "trust", "all"
"""The argument that lets the code inside a model's file run, which no study's file can give; and trust in all files."""
ANY_NAME, SAME_NAMES, NEVER = "any name", "same names", "never"
"""When another study may take what a step has made: whatever the steps are called; where this step and those that it
needs have the same names, because its files tell them; or never, because its files tell where it was made."""
_GIVEN_BY_RUNNER = {"out", "log", "progress"}
_NO_ARGUMENTS = {*_GIVEN_BY_RUNNER, "settings", "command", "overwrite"}


@dataclass(frozen=True)
class Verb:
    """What a step can do."""

    # of the library; takes `out`, and `log` and `progress` where it can report, beside a step's arguments
    function: Callable[..., Any]
    ending: str  # of the name of what it makes; empty for a folder
    files: tuple[str, ...] = ()  # endings of files that it can make instead, as the argument `to` names them
    # what it writes into a folder where `to` says nothing; empty where the function knows one kind
    folder_format: str = ""
    # makes sure, before any step runs, that the packages are installed which a step with these arguments needs
    check: Callable[[Mapping[str, Any]], None] | None = None
    reuse: str = NEVER  # when another study may take what it makes: ANY_NAME, SAME_NAMES or NEVER

    @property
    def arguments(self) -> Collection[str]:
        """Names of the arguments that a step with this verb may have."""
        return {*inspect.signature(self.function).parameters, *([FORMAT] if self.files else [])} - _NO_ARGUMENTS

    def missing(self, given: Collection[str]) -> list[str]:
        """Names of the arguments that a step must have and has not."""
        open_ended = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        needed = [
            name
            for name, item in inspect.signature(self.function).parameters.items()
            if item.default is inspect.Parameter.empty and item.kind not in open_ended
        ]
        return [name for name in needed if name not in {*given, *_GIVEN_BY_RUNNER}]

    def choose_output(self, name: str, arguments: dict[str, object]) -> str:
        """The name of what a step makes."""
        takes_format = FORMAT in inspect.signature(self.function).parameters
        if arguments.get(FORMAT) in self.files:
            return f"{name}.{arguments.pop(FORMAT)}"
        if FORMAT in arguments and not takes_format:
            raise SimjudgeError(f"{FORMAT}: {arguments[FORMAT]}: one of {', '.join(self.files)} is needed")
        if FORMAT in arguments:
            return name
        if self.folder_format and takes_format and not self.ending:
            arguments[FORMAT] = self.folder_format
        return f"{name}{self.ending}"


Verbs = Mapping[str, Verb]
"""By their names in a study's file."""


def do_step(verb: Verb, arguments: dict[str, object], out: Path, log: Log, progress: ProgressBar) -> tuple[str, ...]:
    """Do what a step says."""
    known = inspect.signature(verb.function).parameters
    given = {"log": log, "progress": progress, "command": f"a study's step {out.stem}"}
    result = verb.function(out=out, **{name: item for name, item in given.items() if name in known}, **arguments)
    outcome = getattr(result, "outcome", None)
    if outcome is not None and not (outcome.finished or ("limit" in arguments and outcome.timed_out)):
        raise SimjudgeError(f"the drive did not finish: {outcome.reason} after {outcome.distance:.1f} m")
    losses = getattr(result, "losses", ())
    return tuple(losses.lines() if isinstance(losses, Losses) else losses)


STEP, STEPS, INPUT, FILE = "step", "steps", "input", "file"


@dataclass(frozen=True)
class StepReference:
    """What another step makes."""

    step: str
    file: str = ""  # path of a file in the folder that it makes; empty for the whole of it


@dataclass(frozen=True)
class StudyNames:
    """What the values of a study may name."""

    entries: Mapping[str, MatrixEntry]  # of `steps`, by name
    sized: Mapping[str, object]
    inputs: Mapping[str, Path]  # files and folders that a person named
    folder: Path


def read_value(value: Any, names: StudyNames, combination: Combination) -> Any:
    """What a value in the file stands for."""
    if isinstance(value, str):
        filled = substitute(value, combination.values)
        return _text(filled, names.folder) if isinstance(filled, str) else read_value(filled, names, combination)
    if isinstance(value, list):
        return [read_value(item, names, combination) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() in ({STEP}, {STEP, FILE}, {STEPS}, {SIZE}, {INPUT}):
        filled = {kind: substitute(str(name), combination.values) for kind, name in value.items()}
        return _referenced(filled, names, combination)
    return {
        str(substitute(str(key), combination.values)): read_value(item, names, combination)
        for key, item in value.items()
    }


def _referenced(given: dict[str, object], names: StudyNames, combination: Combination) -> Any:
    """What a reference stands for."""
    kind, name = next((kind, str(item)) for kind, item in given.items() if kind != FILE)
    if kind == STEP:
        return StepReference(_step(name, names), str(given.get(FILE, "")))
    if kind == STEPS:
        return _all_steps(name, names)
    known: Mapping[str, object] = names.sized if kind == SIZE else names.inputs
    if name not in known:
        raise SimjudgeError(
            f"{name}: the {'size has no such value' if kind == SIZE else 'study has no such input'}"
            f"{nearest_name(name, known)}"
        )
    return read_value(known[name], names, combination)


def _step(name: str, names: StudyNames) -> str:
    steps = [combination.step for entry in names.entries.values() for combination in entry.combinations]
    if name in steps:
        return name
    if name in names.entries:
        one = names.entries[name].combinations[0].step
        raise SimjudgeError(f"{name}: is a matrix; name one of its steps ({one}, ...), or all: {{{STEPS}: {name}}}")
    raise SimjudgeError(f"{name}: no step has that name{nearest_name(name, steps)}")


def _all_steps(name: str, names: StudyNames) -> dict[str, object]:
    """References to all steps of a matrix, in tables by the values of its axes."""
    matrices = [entry.name for entry in names.entries.values() if entry.is_matrix]
    if name not in matrices:
        known = f"; write {{{STEP}: {name}}}" if name in names.entries else nearest_name(name, matrices)
        raise SimjudgeError(f"{name}: no step with a matrix has that name{known}")
    tables: dict[str, Any] = {}
    for combination in names.entries[name].combinations:
        inner = tables
        for text in combination.path[:-1]:
            inner = inner.setdefault(text, {})
        inner[combination.path[-1]] = StepReference(combination.step)
    return tables


def _text(text: str, folder: Path) -> str | Path:
    """A file beside the study where there is one of that name, a folder where the text is a path; else the text."""
    if is_file(folder / text):
        return folder / text
    if "/" not in text or len(text.splitlines()) != 1:
        return text
    path = folder / Path(text).expanduser()
    if path.is_dir():
        return path
    if text.startswith(("./", "../", "~/")):
        raise SimjudgeError(f"{one_line(text)}: no such file or folder")
    return text


def references(value: Any) -> Iterator[StepReference]:
    """All references inside a value."""
    if isinstance(value, StepReference):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from references(item)


def put_paths(value: Any, outputs: Mapping[str, Path]) -> Any:
    """Put the paths of what steps have made in the place of the references to them."""
    if isinstance(value, StepReference):
        return outputs[value.step] / value.file if value.file else outputs[value.step]
    if isinstance(value, Mapping):
        return {key: put_paths(item, outputs) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [put_paths(item, outputs) for item in value]
    return value


MATRIX = "matrix"
SIZE = "size"
_MARK = re.compile(r"\$\{([^}]*)\}")
_MOST_STEPS = 10_000
"""Steps that one matrix may make."""


@dataclass(frozen=True)
class Combination:
    """One value of every axis."""

    step: str  # name of the step that it makes
    values: Mapping[str, object]  # by axis, and by "axis.key" where the axis has tables
    path: tuple[str, ...]  # the values as texts, in the order of the axes


@dataclass(frozen=True)
class MatrixEntry:
    """An entry of a study's `steps`: one step, or as many as its matrix has combinations."""

    name: str
    verb: str
    arguments: Mapping[str, object]  # of the verb, as the file has them
    combinations: Sequence[Combination]  # one without values where there is no matrix

    @property
    def is_matrix(self) -> bool:
        """Whether it stands for several steps."""
        return bool(self.combinations[0].path)


def expand_matrix(name: str, matrix: Any, sized: Mapping[str, object]) -> list[Combination]:
    """All combinations of a matrix."""
    if matrix is None:
        return [Combination(name, {}, ())]
    if not isinstance(matrix, dict) or not matrix:
        raise SimjudgeError("lists of values by name are needed, as {set: [a, b], net: [c, d]}")
    axes = [_axis_values(axis, values, sized) for axis, values in matrix.items()]
    count = 1
    for axis in axes:
        count *= len(axis)
    if count > _MOST_STEPS:
        raise SimjudgeError(f"{count} steps; at most {_MOST_STEPS} are possible")
    return [
        Combination(
            "-".join((name, *(text for text, _ in chosen))),
            {key: value for _, values in chosen for key, value in values.items()},
            tuple(text for text, _ in chosen),
        )
        for chosen in itertools.product(*axes)
    ]


def _axis_values(axis: str, values: Any, sized: Mapping[str, object]) -> list[tuple[str, dict[str, object]]]:
    """The values of an axis: each as text, with what `${...}` stands for."""
    if isinstance(values, dict) and values.keys() == {SIZE}:
        if values[SIZE] not in sized:
            raise SimjudgeError(f"{values[SIZE]}: the size has no such value{nearest_name(values[SIZE], sized)}")
        values = sized[values[SIZE]]
    tables = values if isinstance(values, dict) else {}
    given = list(values) if isinstance(values, dict | list) else []
    plain = all(isinstance(item, str | int | float) and not isinstance(item, bool) for item in given)
    if not given or not plain or any(not isinstance(table, dict) for table in tables.values()):
        raise SimjudgeError(f"{axis}: a list of texts or numbers is needed, or a table of tables by name")
    texts = [str(item) for item in given]
    if twice := [text for text in texts if texts.count(text) > 1]:
        raise SimjudgeError(f"{axis}: {twice[0]} stands there twice")
    return [
        (text, {axis: value} | {f"{axis}.{key}": item for key, item in tables.get(value, {}).items()})
        for text, value in zip(texts, given, strict=True)
    ]


def substitute(text: str, values: Mapping[str, object]) -> Any:
    """Put the values of a combination in the place of `${...}`."""
    for name in _MARK.findall(text):
        if name not in values:
            known = nearest_name(name, values) if values else "; the step has no matrix"
            raise SimjudgeError(f"{one_line(text)}: the matrix has no {name}{known}")
    whole = _MARK.fullmatch(text)
    return values[whole[1]] if whole else _MARK.sub(lambda found: str(values[found[1]]), text)


DEFAULT_SIZE = "small"
RESERVED = ("study", "index", "logs")
"""Names that a study's folder needs for itself."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
Values = dict[str, object]
"""Texts and numbers by name."""


class StudyFields(Fields):
    """A study: what it asks, its sizes, its steps."""

    title: Annotated[str, Text("a title")]
    """What the study asks, for its page."""
    stands_in: Annotated[str, Text("a sentence")] = ""
    """What stands in for reality, where something does: the page says it first."""
    inputs: dict[str, Annotated[str, Text("a sentence")]] = Field(default_factory=dict)
    """Files and folders that a person names when the study runs (--input NAME=PATH), each with what it must be."""
    sizes: dict[str, Values] = Field(default_factory=lambda: dict[str, Values]({DEFAULT_SIZE: {}}))
    """Values by name, for each size; every size has the same names."""
    steps: dict[str, Values]
    """Steps by name: each a verb (drive, replay, ...) with its arguments, and a matrix where it stands for several."""


@dataclass(frozen=True)
class StudyStep:
    """A step, ready to run."""

    name: str  # of the step, and of what it makes
    verb: str
    arguments: Mapping[str, object]  # of the verb; a `StepReference`, at any depth, for what another step makes
    output: str  # name of the file or folder that it makes

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the steps whose results it takes."""
        return tuple(dict.fromkeys(reference.step for reference in references(self.arguments)))


@dataclass(frozen=True)
class Study:
    """A study in one size."""

    name: str
    title: str
    stands_in: str  # what stands in for reality; empty where nothing does
    size: str
    steps: tuple[StudyStep, ...] = field(default=())  # in an order in which they can run


def read_study(
    given: str | Path,
    verbs: Verbs,
    size: str = DEFAULT_SIZE,
    inputs: Mapping[str, str | Path] | None = None,
    trust: Collection[str | Path] = (),
) -> Study:
    """Read a study. `trust`: files whose code its steps may run, or TRUST_ALL."""
    path = find_file(given, STUDY)
    document = read_document(path, StudyFields, "study")
    fields = document.content
    _check_sizes(document)
    if size not in fields.sizes:
        raise UsageError(f"--size {size}: study {path.stem} has none{nearest_name(size, fields.sizes)}")
    if not fields.steps:
        raise document.error(("steps",), "a step is needed")
    entries = {name: _entry(document, name, verbs, fields.sizes[size]) for name in fields.steps}
    names = StudyNames(entries, fields.sizes[size], _input_paths(document, inputs or {}), path.parent)
    steps = [step for name in entries for step in _steps(document, names, name, verbs)]
    steps = _with_trust(steps, verbs, trust)
    _check_outputs(document, steps)
    try:
        order = sort_steps({step.name: step.needs for step in steps})
    except SimjudgeError as error:
        raise document.error(("steps",), str(error)) from None
    by_name = {step.name: step for step in steps}
    return Study(path.stem, fields.title, fields.stands_in, size, tuple(by_name[name] for name in order))


def _check_sizes(document: Document[StudyFields]) -> None:
    """Refuse sizes with different names."""
    sizes = document.content.sizes
    every = {name for values in sizes.values() for name in values}
    for size, values in sizes.items():
        if missing := sorted(every - values.keys()):
            raise document.error(("sizes", size), f"{list_some(missing)}: other sizes have it, this one has not")


def _input_paths(document: Document[StudyFields], given: Mapping[str, str | Path]) -> dict[str, Path]:
    """The inputs that a person named."""
    known = document.content.inputs
    for name, path in given.items():
        if name not in known:
            raise UsageError(f"--input {name}: study {document.path.stem} has none{nearest_name(name, known)}")
        if not Path(path).exists():
            raise UsageError(f"--input {name}={path}: no such file or folder")
    for name, what in known.items():
        if name not in given:
            raise UsageError(f"study {document.path.stem} needs --input {name}=PATH: {what}")
    return {name: Path(path).resolve() for name, path in given.items()}


def _entry(document: Document[StudyFields], name: str, verbs: Verbs, sized: Values) -> MatrixEntry:
    """The verb, the arguments and the matrix of an entry of `steps`."""
    where, content = ("steps", name), dict(document.content.steps[name])
    matrix = content.pop(MATRIX, None)
    if len(content) == 1 and (verb := next(iter(content))) not in verbs:
        raise document.error(where, f"there is no verb {verb}{nearest_name(verb, verbs)}")
    if len(content) != 1:
        raise document.error(where, f"one verb with its arguments is needed: {', '.join(verbs)}")
    verb, arguments = next(iter(content.items()))
    if not isinstance(arguments, dict):
        raise document.error((*where, verb), "arguments by name are needed")
    try:
        return MatrixEntry(name, verb, arguments, expand_matrix(name, matrix, sized))
    except SimjudgeError as error:
        raise document.error((*where, MATRIX), str(error)) from None


def _steps(document: Document[StudyFields], names: StudyNames, name: str, verbs: Verbs) -> Iterator[StudyStep]:
    """The steps that an entry stands for."""
    entry = names.entries[name]
    verb, where = verbs[entry.verb], ("steps", name, entry.verb)
    for combination in entry.combinations:
        arguments: dict[str, object] = {}
        for key, value in entry.arguments.items():
            if key == TRUST:
                remedy = "trust is given by --trust FILE, and only in a file that you would run as a program"
                raise document.error((*where, key), f"a study's file cannot let a model's code run; {remedy}")
            if key not in verb.arguments:
                raise document.error((*where, key), f"no such argument{nearest_name(key, verb.arguments)}")
            try:
                found = read_value(value, names, combination)
            except SimjudgeError as error:
                raise document.error((*where, key), str(error)) from None
            if found != "":  # empty text is "not given", as everywhere
                arguments[key] = found
        if missing := verb.missing(arguments):
            raise document.error(where, f"needs {', '.join(missing)}")
        try:
            output = verb.choose_output(combination.step, arguments)
        except SimjudgeError as error:
            raise document.error(where, str(error)) from None
        if not _NAME.fullmatch(combination.step) or combination.step in RESERVED:
            message = f"{combination.step}: no name for a step; letters, digits, _ - . are needed, not {RESERVED[0]}"
            raise document.error(("steps", name), message)
        yield StudyStep(combination.step, entry.verb, arguments, output)


def _with_trust(steps: Sequence[StudyStep], verbs: Verbs, trust: Collection[str | Path]) -> list[StudyStep]:
    """The steps, of which those may run a model's code whose files a person trusts."""
    files = {Path(item).resolve() for item in trust if str(item) != TRUST_ALL}
    named: set[Path] = set()
    found = []
    for step in steps:
        may = TRUST in verbs[step.verb].arguments
        own = {value.resolve() for value in step.arguments.values() if may and isinstance(value, Path)} & files
        named |= own
        trusted = own or (may and TRUST_ALL in map(str, trust))
        found.append(replace(step, arguments={**step.arguments, TRUST: True}) if trusted else step)
    if left := sorted(files - named):
        raise UsageError(f"--trust {left[0]}: no step of the study loads that file as its model")
    return found


def _check_outputs(document: Document[StudyFields], steps: list[StudyStep]) -> None:
    """Refuse steps that would write over each other; some disks know no upper case."""
    names: dict[str, str] = {}
    for step in steps:
        for made in {step.name.casefold(), step.output.casefold()}:
            if made in names:
                message = f"{names[made]} and {step.name} would both make {step.output}; rename one"
                raise document.error(("steps", step.name), message)
            names[made] = step.name


def sort_steps(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Put steps behind those that they need; steps that do not need each other keep their order."""
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        raise SimjudgeError(f"steps need each other in a circle: {' needs '.join(circle)}") from None
    places = {name: place for place, name in enumerate(needs)}
    order: list[str] = []
    ready = list(sorter.get_ready())
    while ready:
        ready.sort(key=places.__getitem__)
        order.append(ready.pop(0))
        sorter.done(order[-1])
        ready.extend(sorter.get_ready())
    return order


def steps_behind(name: str, needs: Mapping[str, Sequence[str]]) -> list[str]:
    """The steps that need a step, directly or through others."""
    behind = {name}
    for step, needed in needs.items():
        if behind.intersection(needed):
            behind.add(step)
    return [step for step in needs if step in behind and step != name]
