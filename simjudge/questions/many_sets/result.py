"""The result of a comparison of many sets, sets.json and sets.csv (docs/reference/results.md), and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.field_types import Choice, Text
from simjudge.core.text import JsonMapping
from simjudge.method.entry_numbers import ComparisonNumbers
from simjudge.method.verdicts import Verdict
from simjudge.results.context_table import OVERALL
from simjudge.results.result_fields import ClassKey, EntryFields, InputFields, OpenFields, ParameterFields, read_checked
from simjudge.results.result_header import ComparedSet, ResultParameters
from simjudge.results.saved_result import (
    EXAMPLES,
    SETS,
    SETS_TABLE,
    ResultEntry,
    atomic_result,
    result_entries,
    write_json,
    write_rows,
)


class StudyEntryFields(EntryFields):
    """The numbers of one class, or of all together, of one comparison among several."""

    verdict_study: Annotated[str, Choice(*Verdict)]


class SetsComparisonFields(OpenFields):
    """One comparison: how well B predicts A, as a net sees it."""

    a: Annotated[str, Text("the name of a set")]
    b: Annotated[str, Text("the name of a set")]
    net: Annotated[str, Text("the name of a net")]
    kind: Annotated[str, Choice("real-real", "real-sim", "sim-sim")]
    paired: bool
    by_class: dict[Annotated[str, ClassKey()], StudyEntryFields]
    overall: StudyEntryFields


class NamedSetFields(OpenFields):
    """A set of the study."""

    domain: Annotated[str, Choice("real", "sim")]
    nets: dict[str, InputFields]


class ExampleFields(OpenFields):
    """A comparison that is saved as a result of its own, with contexts and gallery."""

    folder: Annotated[str, Text("the name of a folder")]
    a: Annotated[str, Text("the name of a set")]
    b: Annotated[str, Text("the name of a set")]
    net: Annotated[str, Text("the name of a net")]


class ManySetsFile(OpenFields):
    """A sets.json."""

    parameters: ParameterFields
    sets: dict[str, NamedSetFields]
    class_names: dict[Annotated[str, ClassKey()], str] = Field(default_factory=dict)
    comparisons: Annotated[list[SetsComparisonFields], Field(min_length=1)]
    examples: list[ExampleFields] = Field(default_factory=list)
    losses: list[str] = Field(default_factory=list)


@dataclass(frozen=True)
class Example:
    """A comparison that is saved as a result of its own, with contexts and gallery."""

    folder: Path
    a: str  # a, b: names of the predicted and of the predicting set
    b: str
    net: str


@dataclass(frozen=True)
class SetsComparison:
    """How well one set predicts another one, as a net sees them."""

    a: str
    b: str
    net: str
    kind: str  # "real-real", "real-sim" (whatever the direction) or "sim-sim"
    paired: bool  # frames of A and B are pairs; the entries then have `pointwise_mean_difference`
    overall: ResultEntry
    classes: tuple[ResultEntry, ...]  # one entry a class, by class id

    @property
    def entries(self) -> tuple[ResultEntry, ...]:
        """All classes together first, then class by class."""
        return (self.overall, *self.classes)


@dataclass(frozen=True)
class NamedSet:
    """A set of the study."""

    domain: str  # "real" or "sim"
    nets: Mapping[str, ComparedSet]  # the set with what each net found in it

    @classmethod
    def from_json(cls, content: JsonMapping) -> NamedSet:
        """Read an entry of `sets`."""
        return cls(str(content["domain"]), {net: ComparedSet.from_json(held) for net, held in content["nets"].items()})


@dataclass(frozen=True)
class ManySetsResult:
    """A comparison of many sets."""

    content: JsonMapping  # everything, as in the file
    parameters: ResultParameters
    about: Mapping[str, NamedSet]  # by name of the set
    comparisons: tuple[SetsComparison, ...]  # in the order in which they were asked for
    losses: tuple[str, ...]  # what was left out, a line a kind
    # comparisons that are saved beside it as results of their own; a result that was not loaded has none
    examples: tuple[Example, ...] = ()
    name: str = ""  # of its folder

    @property
    def sets(self) -> tuple[str, ...]:
        """Names of the sets."""
        return tuple(self.about)

    @property
    def nets(self) -> tuple[str, ...]:
        """Names of the nets, in order of appearance."""
        return tuple(dict.fromkeys(comparison.net for comparison in self.comparisons))

    def domain(self, name: str) -> str:
        """Whether a set is "real" or "sim"."""
        return self.about[name].domain

    def find(self, a: str, b: str, net: str) -> SetsComparison:
        """One comparison."""
        for comparison in self.comparisons:
            if (comparison.a, comparison.b, comparison.net) == (a, b, net):
                return comparison
        raise SimjudgeError(f"{a} predicted by {b}, net {net}: no such comparison in this result")

    def rows(self) -> Iterator[dict[str, object]]:
        """The rows of sets.csv: one a comparison and class, all classes together first."""
        for comparison in self.comparisons:
            head = {
                "a": comparison.a,
                "b": comparison.b,
                "net": comparison.net,
                "kind": comparison.kind,
                "paired": comparison.paired,
            }
            for entry in comparison.entries:
                class_id = "" if entry.key == OVERALL else entry.key
                yield {**head, "class": entry.label, "class_id": class_id, **table_numbers(entry)}


def table_numbers(entry: ResultEntry) -> dict[str, object]:
    """The numbers of an entry as columns of a table."""
    return {key: value for key, value in entry.numbers.to_json().items() if not isinstance(value, Mapping)}


def study_verdict(entry: ResultEntry) -> Verdict:
    """The verdict that is corrected for the study."""
    return entry.numbers.verdict_study or entry.verdict


def many_sets_from_content(content: JsonMapping, losses: Losses | Sequence[str] = ()) -> ManySetsResult:
    """The result that the content of a sets.json says."""
    comparisons = []
    for comparison in content["comparisons"]:
        overall, *classes = result_entries(ComparisonNumbers.from_json(comparison), content.get("class_names") or {})
        names = (comparison["a"], comparison["b"], comparison["net"], comparison["kind"])
        comparisons.append(SetsComparison(*names, comparison["paired"], overall, tuple(classes)))
    lines = losses.lines() if isinstance(losses, Losses) else losses
    about = {name: NamedSet.from_json(held) for name, held in content["sets"].items()}
    parameters = ResultParameters.from_json(content["parameters"])
    return ManySetsResult(content, parameters, about, tuple(comparisons), tuple(lines))


def save_many_sets(
    content: Mapping[str, object], out: Path, examples: Mapping[str, Callable[[Path], None]] | None = None
) -> None:
    """Write sets.json, sets.csv and the examples; the folder appears whole or not at all."""
    rows = many_sets_from_content(content).rows()
    with atomic_result(out) as folder:
        for name, save in (examples or {}).items():
            (folder / EXAMPLES).mkdir(exist_ok=True)
            save(folder / EXAMPLES / name)
        write_json(folder / SETS, dict(content))
        write_rows(folder / SETS_TABLE, rows)


def load_many_sets(folder: str | Path) -> ManySetsResult:
    """Read the result of a comparison of many sets."""
    path = Path(folder) / SETS
    if not path.is_file():
        raise SimjudgeError(f"{folder}: holds no {SETS}; give a folder that a comparison of many sets was saved in")
    content = read_checked(path, ManySetsFile, "comparison of many sets")
    own = Path(folder) / EXAMPLES
    examples = [
        Example(own / Path(example["folder"]).name, example["a"], example["b"], example["net"])
        for example in content.get("examples", [])
    ]
    result = many_sets_from_content(content, content.get("losses", []))
    return replace(result, examples=tuple(example for example in examples if example.folder.is_dir()))
