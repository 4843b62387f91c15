"""A card for simulators: scenes and checks through any engines, the same numbers of each, on one page.

Labels, camera, rays and lidar are measured in a world that is known by formula; the contract is tried check by check;
pictures are timed in a scene; and the judge of `simjudge demo` says which gap to photographs an engine leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from simjudge.core.arrays import ShortRepr, SummaryTable
from simjudge.core.images import RgbImage
from simjudge.page.chart_data import DASH, format_number
from simjudge.questions.engines.photographs import CAMERAS, PhotographGap
from simjudge.sim.testing.checks import CheckResult
from simjudge.sim.testing.lidar_measures import LIDAR_MEASUREMENTS
from simjudge.sim.testing.measures import PICTURE_MEASUREMENTS, SHARE, EngineMeasure

MEASUREMENTS = (*PICTURE_MEASUREMENTS, *LIDAR_MEASUREMENTS)
CARD, PAGE = "card.json", "index.html"
SPEED_SCENE = "lab"


@dataclass(frozen=True)
class Speed:
    """How quick an engine is: pictures of 640 x 360 of scene `lab`, 4 rays a pixel, the first one left out.

    Attributes:
        pictures: a second of the clock.
        processor_seconds: of processor time for one picture, on all cores together.
        labels: label images a second of the clock.
    """

    pictures: float
    processor_seconds: float
    labels: float


@dataclass(frozen=True, repr=False)
class EngineCard(ShortRepr):
    """All that was found of one engine.

    Attributes:
        problem: why nothing could be tried; empty where it could.
        speed: None where the scene cannot be shown.
        gaps: to the photographs, by camera; empty where they were not asked for.
        picture: of the scene that was timed.
    """

    engine: str
    variant: str
    measures: tuple[EngineMeasure, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    speed: Speed | None = None
    gaps: tuple[PhotographGap, ...] = ()
    problem: str = ""
    picture: RgbImage | None = field(default=None, repr=False)

    @property
    def findings(self) -> list[str]:
        """What is wrong, a line each: measures beyond their limit, broken promises."""
        lines = [f"{measure.name}: {measure.finding}" for measure in self.measures if measure.status == "fail"]
        lines += [f"contract, {found.check.name}: {found.reason}" for found in self.checks if found.status == "fail"]
        return lines

    @property
    def gap_notes(self) -> list[str]:
        """Of the gaps to the photographs, a line each: why one was not measured, pictures that are not judged."""
        lines = []
        for gap in self.gaps:
            if gap.problem:
                lines.append(f"{gap.camera}: not measured: {gap.problem}")
            elif gap.unlabelled:
                every = gap.pictures + gap.unlabelled
                lines.append(f"{gap.camera}: {gap.unlabelled} of {every} pictures show no sign and are not judged")
        return lines

    @property
    def summary(self) -> str:
        """How much is wrong, in a few words."""
        if self.problem:
            return f"cannot run here: {self.problem.removeprefix(f'engine {self.engine}: ')}"
        count = len(self.findings)
        return "nothing wrong" if not count else "1 thing wrong" if count == 1 else f"{count} things wrong"

    def content(self) -> dict[str, object]:
        """The entry of card.json."""
        return {
            "engine": self.engine,
            "variant": self.variant,
            "problem": self.problem,
            "measures": [_json(asdict(measure)) for measure in self.measures],
            "checks": [
                {"name": found.check.name, "part": found.check.part, "status": found.status, "reason": found.reason}
                for found in self.checks
            ],
            "speed": None if self.speed is None else asdict(self.speed),
            "gaps": [_json(asdict(gap)) for gap in self.gaps],
        }


def _json(fields: dict[str, object]) -> dict[str, object]:
    """Fields as JSON has them: null for a number that is not finite."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in fields.items()
    }


@dataclass(frozen=True)
class EngineCards:
    """The cards of several engines."""

    path: Path
    cards: tuple[EngineCard, ...]

    @property
    def page_path(self) -> Path:
        """The page."""
        return self.path / PAGE

    @property
    def table(self) -> SummaryTable:
        """A line a number, a column an engine."""
        return SummaryTable(("", *(card.engine for card in self.cards)), [list(row) for row in card_rows(self.cards)])

    def __str__(self) -> str:
        """One line for people."""
        return ", ".join(f"{card.engine}: {card.summary}" for card in self.cards)


_NOTHING = 1e-6  # Smaller numbers are rounding


def measure_text(measure: EngineMeasure | None) -> str:
    """A measured value with its unit; a dash where there is none."""
    if measure is None:
        return DASH
    return "not measured" if measure.value is None else value_text(measure.value, measure.unit)


def value_text(value: float, unit: str) -> str:
    """A value to three digits with its unit, a share in percent."""
    value = 0.0 if abs(value) < _NOTHING else value
    if unit == SHARE:
        value, unit = 100 * value, "%"
    return f"{value:.3g} {unit}".rstrip()


def gap_text(gap: PhotographGap) -> str:
    """A gap with its interval."""
    if gap.problem:
        return "not measured"
    if gap.gap is None:
        return "cannot be told"
    return f"{format_number(gap.gap)} ({format_number(gap.low)} to {format_number(gap.high)})"


def contract_text(card: EngineCard) -> str:
    """How many promises are kept, of those that can be tried."""
    found = [check.status for check in card.checks]
    tried = len(found) - found.count("cannot be checked")
    return f"{found.count('pass')} of {tried}" if tried else DASH


def card_rows(cards: Sequence[EngineCard]) -> list[tuple[str, ...]]:
    """A row a number: its name, then each engine's."""
    named = [{measure.name: measure for measure in card.measures} for card in cards]
    rows = [
        (name, *(measure_text(measures.get(name)) for measures in named))
        for measurement in MEASUREMENTS
        for name in measurement.names
    ]
    rows.append(("contract kept", *(contract_text(card) for card in cards)))
    speeds = [card.speed for card in cards]
    rows.append(("pictures a second", *(DASH if s is None else f"{s.pictures:.1f}" for s in speeds)))
    rows.append(("processor seconds a picture", *(DASH if s is None else f"{s.processor_seconds:.2f}" for s in speeds)))
    rows.append(("labels a second", *(DASH if s is None else f"{s.labels:.1f}" for s in speeds)))
    if any(card.gaps for card in cards):
        for number, camera in enumerate(CAMERAS):
            cells = (gap_text(card.gaps[number]) if card.gaps else DASH for card in cards)
            rows.append((f"gap to photographs, {camera}", *cells))
    return rows
