"""Result folders, written whole or not at all, read again and checked; and what a study has found."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from simjudge.core.errors import Log, SimjudgeError, UsageError
from simjudge.core.files import FolderKind, atomic_file, atomic_folder, begins_with, check_output, check_output_folder
from simjudge.core.text import JsonMapping
from simjudge.method.detector_measures import DetectorMeasure
from simjudge.method.entry_numbers import ComparisonNumbers, Control, EntryNumbers
from simjudge.method.kinds import HiddenGap, KindDifference
from simjudge.method.verdicts import Verdict, worst_verdict
from simjudge.results.context_table import OVERALL, ContextTable, read_contexts
from simjudge.results.metric_rows import verdict_words
from simjudge.results.result_header import ResultHeader, StatedPerformance

RESULT, CONTEXTS, SWEEP = "result.json", "contexts.parquet", "sweep.json"
OBJECTS, SERIES, PICTURES = "objects.json", "series.parquet", "pictures"
SETS, SETS_TABLE, EXAMPLES = "sets.json", "sets.csv", "examples"
ABLATION, ABLATION_TABLE = "ablation.json", "ablation.csv"
STUDY_FILE = "study.json"
DRIVES, WINDOWS, LINES = "drives.json", "windows.parquet", "lines.parquet"
RANKING, LABEL_ERROR = "ranking.json", "label_error.json"
POLICIES, POLICY_WATCH, TRIALS = "policies.json", "policy_watch.json", "trials.parquet"
TRAJECTORIES, TRACKS = "trajectories.json", "tracks.json"
POSES, SAMPLES = "poses.parquet", "samples.parquet"
_MARKS = {RESULT, SWEEP, OBJECTS, SETS, ABLATION, TRAJECTORIES, TRACKS, RANKING, LABEL_ERROR}
_MARKS |= {DRIVES, POLICIES, POLICY_WATCH}
_PARTS = {CONTEXTS, SERIES, PICTURES, SETS_TABLE, ABLATION_TABLE, POSES, SAMPLES, TRIALS, WINDOWS, LINES, EXAMPLES}
RESULT_FOLDER = FolderKind("result", {*_MARKS, *_PARTS, "gallery", "report.html"}, _MARKS, r'\s*\{\s*"version"')


@contextmanager
def atomic_result(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `folder` once everything is in it.

    An earlier result under that name is replaced; a folder that holds anything else is refused.
    """
    with atomic_folder(folder, RESULT_FOLDER) as temporary:
        yield temporary


def check_result_folder(folder: Path) -> bool:
    """Refuse a place where a result must not be written, before the work is done."""
    return check_output_folder(folder, RESULT_FOLDER)


def check_result_place(out: str | Path | None, log: Log) -> None:
    """Refuse a place where a result must not be written, and say what is replaced; None is no place."""
    if out is not None and check_result_folder(Path(out)):
        log(f"note: {out} holds an earlier result, which will be replaced")


def check_json_output(path: str | Path | None, first_field: str) -> None:
    """Make sure, before long work, that JSON replaces nothing but an earlier output, known by its first field."""
    if path is not None:
        check_output(Path(path), lambda there: begins_with(there, f'{{\n "{first_field}": '))


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Write readable JSON, refusing numbers that JSON does not have."""
    with atomic_file(path) as temporary:
        text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write a CSV table whose columns are all that any row has, in order of appearance."""
    held = list(rows)
    columns = list(dict.fromkeys(name for row in held for name in row))
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(held)


def refuse_studies(folders: Sequence[Path], names: Sequence[str]) -> None:
    """Refuse the folder of a study where a result is needed, and name one in it."""
    for folder in (folder for folder in folders if (folder / STUDY_FILE).is_file()):
        places = [f"{place}/{name}" for name in names for place in ("*", "*/examples/*")]
        found = [path.parent for place in places for path in folder.glob(place)]
        inside = f"; give a result in it, such as {min(found)}" if found else ""
        raise UsageError(f"{folder}: is the folder of a study, whose page simjudge study report makes{inside}")


@dataclass(frozen=True)
class ResultEntry:
    """The numbers of one class, or of all classes together."""

    key: str  # the class id as written in the file, or "overall"
    label: str  # what to call it on the page
    numbers: EntryNumbers
    own: StatedPerformance | None = None  # a performance of one's own; None for a metric of simjudge's

    @property
    def verdict(self) -> Verdict:
        """What it says."""
        return self.numbers.verdict

    @property
    def verdict_words(self) -> str:
        """The verdict as a person reads it, with the margin where it speaks of one."""
        return verdict_words(self.verdict, self.margin)

    @property
    def margin(self) -> float:
        """Difference of performance from which a gap matters."""
        return self.numbers.margin


@dataclass(frozen=True)
class Curve:
    """One point of a sweep: the numbers at one theta and one patch (height, width)."""

    theta: float
    patch: tuple[int, int]
    entries: tuple[ResultEntry, ...]


@dataclass(frozen=True)
class Result:
    """One result folder."""

    name: str  # what to call it, the folder's name
    folder: Path
    header: ResultHeader  # what the file says beside the numbers
    overall: ResultEntry | None  # all classes together; None where the folder holds only a sweep
    classes: tuple[ResultEntry, ...]  # one entry a class, by class id
    contexts: ContextTable | None  # the table `contexts.parquet`; None where the folder holds only a sweep
    curves: tuple[Curve, ...] = ()  # the sweep, empty where there is none
    # by "a" and "b", that of each set; empty where nothing was drawn
    control: Mapping[str, Control] = field(default_factory=dict)

    @property
    def content(self) -> JsonMapping:
        """Everything that result.json or sweep.json holds (docs/reference/results.md)."""
        return self.header.content

    @property
    def controls(self) -> list[ResultEntry]:
        """The control of each set, as an entry among others."""
        return [ResultEntry(f"control_{side}", halves_of(side), found.entry) for side, found in self.control.items()]

    @property
    def measures(self) -> tuple[DetectorMeasure, ...]:
        """What else the detector does; empty for a sweep, and in results of earlier versions."""
        return self.header.measures

    @property
    def verdict(self) -> Verdict:
        """The worst of all that was judged: performance over all classes together, and the measures."""
        performance = Verdict.NOT_TESTED if self.overall is None else self.overall.verdict
        return worst_verdict(performance, *(one.verdict for one in self.measures))

    @property
    def hidden_gap(self) -> KindDifference | None:
        """The kind of contexts that differs most, by the margin or more, where the verdict alone would hide that."""
        if self.overall is None:
            return None
        hidden = HiddenGap.find(self.verdict, self.overall.margin, self.header.where)
        return None if hidden is None else hidden.kind

    @property
    def entries(self) -> tuple[ResultEntry, ...]:
        """All classes together first, then class by class."""
        return self.classes if self.overall is None else (self.overall, *self.classes)

    def set_name(self, which: str) -> str:
        """What a set is called: its letter where it has no name."""
        return self.header.sets[which].called(which.upper())


def halves_of(side: str) -> str:
    """What the control of set "a" or "b" is called in tables."""
    return f"halves of {side.upper()} (control)"


def load_results(folders: Sequence[Path]) -> list[Result]:
    """Read result folders; folders of the same name are told apart by number."""
    results: list[Result] = []
    taken: dict[str, int] = {}
    for folder in folders:
        name = folder.resolve().name
        taken[name] = taken.get(name, 0) + 1
        results.append(load_result(folder, name if taken[name] == 1 else f"{name} ({taken[name]})"))
    return results


def load_result(folder: Path, name: str | None = None) -> Result:
    """Read one result folder."""
    from simjudge.results.result_fields import read_result, read_sweep  # noqa: PLC0415 - pydantic is slow to import

    name = folder.resolve().name if name is None else name
    if not folder.is_dir():
        raise SimjudgeError(f"{folder}: no such folder; give a folder that simjudge compare or sweep wrote")
    result, sweep = folder / RESULT, folder / SWEEP
    if not result.exists() and not sweep.exists():
        raise SimjudgeError(f"{folder}: holds neither result.json nor sweep.json; run simjudge compare or sweep first")
    swept = sweep_from_content(read_sweep(sweep), name, folder) if sweep.exists() else None
    if swept is not None and not result.exists():
        return swept
    found = comparison_from_content(read_result(result), read_contexts(folder / CONTEXTS), name, folder)
    return found if swept is None else replace(found, curves=swept.curves)


def comparison_from_content(content: JsonMapping, contexts: ContextTable | None, name: str, folder: Path) -> Result:
    """The result that the content of a result.json says."""
    header, numbers = ResultHeader.from_json(content), ComparisonNumbers.from_json(content)
    own = header.parameters.performance
    overall, *classes = (replace(e, own=own) for e in result_entries(numbers, header.class_names))
    return Result(name, folder, header, overall, tuple(classes), contexts, control=numbers.control)


def sweep_from_content(content: JsonMapping, name: str, folder: Path) -> Result:
    """The result that the content of a sweep.json says."""
    header, curves = ResultHeader.from_json(content), []
    for point in content["curves"]:
        height, width = point["patch"]
        entries = result_entries(ComparisonNumbers.from_json(point), header.class_names)
        curves.append(Curve(float(point["theta"]), (int(height), int(width)), entries))
    return Result(name, folder, header, None, (), None, tuple(curves))


def result_entries(numbers: ComparisonNumbers, names: Mapping[str, str]) -> tuple[ResultEntry, ...]:
    """All classes together first, then class by class."""
    ordered = sorted(numbers.by_class.items(), key=lambda pair: int(pair[0]))
    classes = [ResultEntry(key, names.get(key) or f"class {key}", entry) for key, entry in ordered]
    return (ResultEntry(OVERALL, "all classes", numbers.overall), *classes)


FINDINGS = "findings.json"
FINDINGS_FOLDER = FolderKind("folder of findings", (FINDINGS, "map_*.png", "truth.json"), (FINDINGS,))
"""The file in the folder of a step that finds something."""
YES, NO, UNDECIDED = "yes", "no", "not decided"
"""Whether what was found agrees with the source."""


@dataclass(frozen=True)
class StudyFinding:
    """What the source found, and what was found here."""

    name: str
    source: str
    here: str  # what was found here, with numbers
    agrees: str
    # behind `here`, by name; None where there is none
    numbers: Mapping[str, float | None] = field(default_factory=dict)


def write_findings(found: Sequence[StudyFinding], folder: Path) -> None:
    """Write findings into a folder."""
    rows = [
        asdict(replace(finding, numbers={name: _known(n) for name, n in finding.numbers.items()})) for finding in found
    ]
    (folder / FINDINGS).write_text(json.dumps({"findings": rows}, indent=2) + "\n", encoding="utf-8")


def _known(value: float | None) -> float | None:
    """None in place of NaN, which JSON has not."""
    return value if value is not None and math.isfinite(value) else None


def read_findings(folder: Path) -> list[StudyFinding]:
    """Read findings that were written."""
    path = folder / FINDINGS
    try:
        return [StudyFinding(**finding) for finding in json.loads(path.read_text(encoding="utf-8"))["findings"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SimjudgeError(f"{path}: no findings ({error}); remove the folder and run the study again") from error
