"""`watch_policies`: a growing table of trials read again and again until a verdict is certain; its result and page."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np

from simjudge.core.arrays import SummaryTable
from simjudge.core.errors import Log, SimjudgeError, no_log
from simjudge.core.field_types import Choice, Number
from simjudge.core.installed import version
from simjudge.core.settings import declared, takes_setting_keywords
from simjudge.core.text import Json, JsonMapping, read_text
from simjudge.method.betting import SequenceVerdict
from simjudge.method.verdicts import Verdict
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT, format_percent
from simjudge.page.figures import Figures, ReportFigure, add_axes, report_style
from simjudge.page.kept_result import ResultKind, TabledResult
from simjudge.page.kit import FigureEmbedder, ResultPage
from simjudge.questions.policies.few_real import SequenceState, StreamedTrial, TrialStream
from simjudge.questions.policies.page import compose_policies_page, drawn_part
from simjudge.questions.policies.settings import PolicyWatchSettings, TrialTableSettings
from simjudge.questions.policies.tables import parse_table, read_policy_table
from simjudge.questions.policies.trials import PolicyTrials
from simjudge.results.result_fields import Count, OpenFields, read_checked
from simjudge.results.saved_result import POLICY_WATCH, atomic_result, check_result_folder, write_json

Look = JsonMapping
_SCALE = 41
"""Characters from -100 to +100 points."""


class LookFields(OpenFields):
    """A look."""

    trials: list[int]
    entered: Count
    rate: list[float]
    low: Annotated[float, Number()]
    high: Annotated[float, Number()]
    waiting: list[int]
    verdict: Annotated[str, Choice(*SequenceVerdict)]


class PolicyWatchFile(OpenFields):
    """A policy_watch.json."""

    parameters: Json
    file: str
    margin: float
    looks: list[LookFields]
    notes: list[str]
    losses: list[str]


@dataclass(frozen=True, eq=False)
class WatchedTrials:
    """One result folder of watch-policies."""

    name: str
    content: JsonMapping

    @property
    def last(self) -> Look:
        """The last look."""
        found: Look = self.content["looks"][-1]
        return found


def load_watch(folder: Path) -> WatchedTrials:
    """Read a result folder of watch-policies."""
    content = read_checked(folder / POLICY_WATCH, PolicyWatchFile, "result of simjudge robot policies --follow")
    return WatchedTrials(folder.resolve().name, PolicyWatchFile.model_validate(content).model_dump())


def look_line(look: Look, margin: float) -> str:
    """A look in a line: how many trials, the interval as figures and as a bar between -100 and +100 points."""
    real, sim = look["trials"]
    return (
        f"{real:>4} real {sim:>5} sim  {_bar(look['low'], look['high'], margin)}  "
        f"{100 * look['low']:+6.1f} to {100 * look['high']:+6.1f} points  {_word(look, margin)}"
    )


def _bar(low: float, high: float, margin: float) -> str:
    def place(value: float) -> int:
        return min(_SCALE - 1, max(0, round((value + 1) / 2 * (_SCALE - 1))))

    cells = [" "] * _SCALE
    for k in range(place(low), place(high) + 1):
        cells[k] = "="
    for value, mark in ((-margin, "("), (margin, ")"), (0.0, "|")):
        cells[place(value)] = mark
    return f"[{''.join(cells)}]"


def _word(look: Look, margin: float) -> str:
    if look["verdict"] == SequenceVerdict.PREDICTS:
        return f"predicts within {100 * margin:g} points"
    return "gap" if look["verdict"] == SequenceVerdict.GAP else "open"


def headline(result: WatchedTrials) -> str:
    """The verdict in a few words."""
    word = _word(result.last, result.content["margin"])
    return {"gap": "Gap", "open": "Not certain yet"}.get(word, word.capitalize())


def lead(result: WatchedTrials) -> str:
    """The sentence that a person would quote."""
    look, margin = result.last, result.content["margin"]
    between = f"between {100 * look['low']:+.1f} and {100 * look['high']:+.1f} points"
    if look["verdict"] == SequenceVerdict.PREDICTS:
        return f"The robot does as the simulation says, within {100 * margin:g} points: the difference is {between}."
    if look["verdict"] == SequenceVerdict.GAP:
        better = "better" if look["low"] > 0 else "worse"
        return f"The robot does {better} than the simulation says: the difference is {between}."
    if not look["entered"]:
        return "No real trial has met a simulated one of the same policy and task yet."
    return f"The difference real - simulated is {between}; more trials are needed."


def sentences(result: WatchedTrials) -> list[str]:
    """What stands below the lead."""
    look = result.last
    real, sim = look["trials"]
    out = [f"{real} real and {sim} simulated trials came; {look['entered']} differences were compared."]
    if look["entered"]:
        rates = [format_percent(rate) for rate in look["rate"]]
        out.append(f"Of what was compared, the robot does {rates[0]} and the simulation {rates[1]}.")
    out.append("This holds at every look: the chance of any wrong verdict, over all times together, is at most 5 %.")
    for count, side, other in zip(look["waiting"], ("real", "simulated"), ("simulated", "real"), strict=True):
        if count:
            out.append(f"{count} {side} trials wait for {other} ones of the same policy, task and initial state.")
    return [*out, *result.content["notes"]]


_WIDTH, _HEIGHT = 680.0, 340.0
_COLOURS = {
    SequenceVerdict.PREDICTS: Verdict.PREDICTS,
    SequenceVerdict.GAP: Verdict.LARGE_GAP,
    SequenceVerdict.OPEN: Verdict.CANNOT_TELL,
}


def watch_figures(result: WatchedTrials) -> Figures:
    """List the figures of a watched sequence."""
    return {"sequence": partial(sequence_figure, result)}


def sequence_figure(result: WatchedTrials) -> ReportFigure:
    """Draw the interval of the difference over the trials that were compared, with the margin."""
    looks, margin = result.content["looks"], result.content["margin"]
    count = np.array([look["entered"] for look in looks])
    low, high = (100 * np.array([look[end] for look in looks]) for end in ("low", "high"))
    middle = 100 * np.array([look["rate"][0] - look["rate"][1] for look in looks])
    with report_style():
        figure = ReportFigure(_WIDTH, _HEIGHT, "Difference of success, real less simulated, as trials came.")
        axes = add_axes(figure, (0, 0, _WIDTH, _HEIGHT), (62.0, 14.0, 26.0, 44.0))
        # Over the band, which would hide it.
        axes.axhspan(-100 * margin, 100 * margin, color=LIGHT["predicts"], alpha=0.3, linewidth=0, zorder=1.5)
        axes.axhline(0, color=LIGHT["floor"], linewidth=1, linestyle="--")
        axes.fill_between(count, low, high, color=LIGHT["band"], linewidth=0, label="certain at every time")
        axes.plot(count, middle, color=LIGHT["w1"], linewidth=1.4, label="difference so far")
        axes.fill_between([], [], color=LIGHT["predicts"], alpha=0.3, label="margin")
        axes.set_xlim(max(1, count.min()), max(2, count.max()))
        axes.set_ylim(-105, 105)
        axes.set_xlabel("trials compared")
        axes.set_ylabel("real - simulated, points")
        axes.legend(loc="lower right", ncols=3, bbox_to_anchor=(1.0, 1.0), borderaxespad=0)
    return figure


_KEY = (
    'The band holds the true difference at every time at once (95 %). It ends with "predicts" where the whole band lies'
    ' within the margin, with "gap" where it leaves 0.'
)
_HOW = (
    "Each real trial is compared with a simulated one of the same policy, task and, where named, initial state. Bets"
    " against each possible mean difference (Waudby-Smith and Ramdas, 2024) are made on earlier trials alone."
)


def render_watch_page(result: WatchedTrials, title: str = "") -> str:
    """Render the page."""
    verdict = _COLOURS[SequenceVerdict(result.last["verdict"])]
    return compose_policies_page(
        title or "Does the simulator predict how the robot does, while trials come in?",
        Path(result.content["file"]).name,
        result.content,
        kit.hero(headline(result), verdict.colour, lead(result), kit.bullets(sentences(result))),
        [drawn_part("As trials came", _KEY, FigureEmbedder().embed(sequence_figure(result)))],
        _HOW,
    )


WATCH_PAGE = ResultPage(
    "one of watch-policies",
    load_watch,
    lambda result, _, title: render_watch_page(result, title),
    watch_figures,
    lambda result: [f"{headline(result)}. {lead(result)}", *sentences(result)],
)


@dataclass
class TableFollower:
    """The trials of a growing table, each once. A last line without its end waits until it is whole."""

    path: Path
    settings: TrialTableSettings
    losses: list[str] = field(default_factory=list)
    _text: str = ""
    _rows: int = 0
    _stat: tuple[int, int] = (0, 0)

    def new_trials(self, *, ended: bool = False) -> list[StreamedTrial]:
        """The trials that came since the last call.

        Args:
            ended: whether a last line without its end is whole, too.
        """
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            if self._rows or ended:
                raise SimjudgeError(f"{self.path}: no such file") from None
            return []
        now = stat.st_size, stat.st_mtime_ns
        if now == self._stat and not ended:
            return []
        text = read_text(self.path)
        whole = text if ended else text[: text.rfind("\n") + 1]
        if not whole.startswith(self._text):
            raise SimjudgeError(f"{self.path}: what was read before has changed; a table must grow at its end alone")
        self._stat, lines = now, whole.splitlines()
        if whole == self._text or len(lines) < (1 if self.path.suffix in {".jsonl", ".ndjson"} else 2):
            return []
        self._text = whole
        reading = read_policy_table(parse_table(whole, self.path), None, self.settings.columns, self.settings.outcome)
        if reading.trials.has_rates or "trials" in reading.taken:
            raise SimjudgeError(f"{self.path}: rows are cells; to watch trials, write a row for each trial")
        self.losses = list(reading.trials.losses.lines())
        unit = reading.taken.get("unit")
        names = None if unit is None else _unit_names(whole, self.path, unit, reading.trials)
        found = list(_streamed(reading.trials, names, self.settings.rename or {}))
        fresh, self._rows = found[self._rows :], len(found)
        return fresh


def _unit_names(text: str, path: Path, column: str, trials: PolicyTrials) -> list[str] | None:
    """What the units are called; numbers where rows were left out."""
    names = [str(cell).strip() for cell in parse_table(text, path)[column]]
    return names if len(names) == len(trials) else [f"u{number}" for number in trials.unit.tolist()]


def _streamed(trials: PolicyTrials, units: Sequence[str] | None, rename: Mapping[str, str]) -> Iterator[StreamedTrial]:
    for row in range(len(trials)):
        pair = int(trials.pair[row])
        policy, task = trials.policies[int(trials.policy[row])], trials.tasks[int(trials.task[row])]
        yield StreamedTrial(
            rename.get(policy, policy),
            rename.get(task, task),
            bool(trials.real[row]),
            float(trials.outcome[row]),
            "" if units is None else units[row],
            "" if pair < 0 else trials.pair_names[pair],
        )


class PolicyWatchResult(TabledResult[WatchedTrials]):
    """How far a watched table of trials has come. Printing it gives the looks.

    Attributes:
        saved: the result as figures and pages read it.
    """

    page = WATCH_PAGE

    def __init__(self, saved: WatchedTrials, folder: Path | None) -> None:
        """Wrap a result; `watch_policies` and `load_result` make one."""
        super().__init__(folder, lambda out: _save(out, saved.content))
        self.saved = saved

    @property
    def verdict(self) -> SequenceVerdict:
        """What is certain."""
        return SequenceVerdict(self.saved.last["verdict"])

    @property
    def table(self) -> SummaryTable:
        """The looks at which something new was known, thinned."""
        looks = self.saved.content["looks"]
        step = max(1, len(looks) // 20)
        chosen = [*looks[::step], *([looks[-1]] if (len(looks) - 1) % step else [])]
        rows = [
            [
                f"{look['trials'][0]} / {look['trials'][1]}",
                str(look["entered"]),
                format_percent(look["rate"][0]),
                format_percent(look["rate"][1]),
                f"{100 * look['low']:+.1f} to {100 * look['high']:+.1f}",
                look["verdict"],
            ]
            for look in chosen
        ]
        return SummaryTable(("trials", "compared", "real", "sim", "points, at any time", "verdict"), rows, 1)

    def __repr__(self) -> str:
        """What it is, in a line."""
        return f"PolicyWatchResult({self.name!r}, {headline(self.saved)})"


def _save(folder: Path, content: JsonMapping) -> None:
    with atomic_result(folder) as temporary:
        write_json(temporary / POLICY_WATCH, dict(content))


@dataclass
class SequenceWatch:
    """Trials that are watched, wherever they come from: the sequence, a line a look, and the result so far."""

    source: str
    margin: float
    parameters: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""
    task: str = ""
    looks: list[SequenceState] = field(default_factory=list)
    losses: Sequence[str] = ()
    left_out: int = 0

    def __post_init__(self) -> None:
        """No trial came."""
        self._stream = TrialStream(self.margin)

    @property
    def is_certain(self) -> bool:
        """Whether a verdict was reached; it stays."""
        return bool(self.looks) and self.looks[-1].verdict is not SequenceVerdict.OPEN

    def add(self, trial: StreamedTrial) -> bool:
        """Take a trial in; whether something new is known."""
        if (self.policy and trial.policy != self.policy) or (self.task and trial.task != self.task):
            self.left_out += 1
            return False
        self._stream.add(trial)
        return self._look()

    def finish(self) -> bool:
        """No further trial comes; whether something new is known."""
        self._stream.finish()
        return self._look()

    def line(self) -> str:
        """The last look in a line."""
        return look_line(self._stream.state.to_json(), self.margin)

    def _look(self) -> bool:
        if self._stream.entered == (self.looks[-1].entered if self.looks else 0):
            return False
        self.looks.append(self._stream.state)
        return True

    def result(self) -> PolicyWatchResult:
        """What is known so far."""
        looks = [state.to_json() for state in self.looks[:-1]] + [self._stream.state.to_json()]
        notes = [f"{self.left_out} trials of other policies or tasks are not watched"] if self.left_out else []
        if self._stream.returned:
            notes.append(
                f"{self._stream.returned} units came back after another one: their blocks depend on each other;"
                " write the trials of a unit one after the other"
            )
        content = {
            "version": version(),
            "parameters": dict(self.parameters),
            "file": self.source,
            "margin": self.margin,
            "looks": looks,
            "notes": notes,
            "losses": list(self.losses),
        }
        return PolicyWatchResult(WatchedTrials(self.source, content), None)


@takes_setting_keywords
def watch_policies(
    file: str | Path, out: str | Path | None = None, *, settings: PolicyWatchSettings, log: Log = no_log
) -> PolicyWatchResult:
    """Follow a table of trials while it grows, until "predicts within the margin" or "gap" is certain.

    The error is at most 5 % over all times together: look as often as you like, and stop at the first answer.

    Args:
        file: a table with a row a trial and a column `side` (CSV, JSON lines).
        out: folder to save the result in, also where Ctrl-C ends it; None saves nothing.
        settings: all settings at once; keywords change single ones.
        log: receives a line a look; `print` does.

    Returns:
        What is certain, with all looks.

    Raises:
        SimjudgeError: the table cannot be read, or what was read of it changes.
    """
    if out is not None:
        check_result_folder(Path(out))
    values = [(row, getattr(settings, row.name)) for row in declared(type(settings))]
    texts = {row.name: row.text(value) for row, value in values if value not in (None, "")}
    watch = SequenceWatch(str(file), settings.margin, texts, settings.policy, settings.task)
    follower = TableFollower(Path(file), settings)
    try:
        while True:
            for trial in follower.new_trials(ended=not settings.follow):
                if watch.add(trial):
                    log(watch.line())
                if watch.is_certain:
                    break
            watch.losses = follower.losses
            if not settings.follow and not watch.is_certain and watch.finish():
                log(watch.line())
            if watch.is_certain or not settings.follow:
                break
            time.sleep(settings.period)
    finally:
        # Ctrl-C leaves what is known, too.
        result = watch.result()
        if out is not None:
            result.save(out)
    return result


KIND = ResultKind(
    "one of watch-policies", lambda folder: PolicyWatchResult(load_watch(folder), folder), WATCH_PAGE.report
)
