"""The page of simulators' cards: what is wrong first, then every number beside its limit, an engine a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from markupsafe import Markup

from simjudge.page import kit
from simjudge.page.chart_data import DASH, Cell
from simjudge.questions.engines.card import (
    MEASUREMENTS,
    SPEED_SCENE,
    EngineCard,
    card_rows,
    gap_text,
    measure_text,
    value_text,
)
from simjudge.questions.engines.photographs import CAMERAS
from simjudge.sim.testing.measures import EngineMeasure

_COLOURS = {"pass": "predicts", "fail": "large-gap", "cannot be checked": "too-few"}
_SUBJECTS = {
    "camera": "Camera: plates that shine, seen through two lenses",
    "labels": "Labels: the same plates in the label images",
    "rays": "Rays: against the geometry by formula",
    "lidar": "Lidar: one turn of 16 rings and 720 columns, range noise of 15 mm",
}
_WIDEST_PX = 480


def write_cards_page(path: Path, cards: Sequence[EngineCard]) -> None:
    """Write the page."""
    wrong = [f"{card.engine}: {line}" for card in cards for line in card.findings]
    absent = [f"{card.engine} {card.summary}" for card in cards if card.problem]
    tried = len(cards) - len(absent)
    names = ", ".join(card.engine for card in cards)
    word = "Not tried" if not tried else "Nothing wrong" if not wrong else f"{len(wrong)} wrong"
    page = kit.page(
        f"Card for simulators: {names}",
        "labels, camera, lidar, contract, speed and gap of each engine",
        kit.hero(
            word,
            "too-few" if not tried else "large-gap" if wrong else "predicts",
            f"Each engine shows and ranges a world that is known; {len(_names())} numbers are held to their limits.",
            kit.bullets([*wrong, *absent]),
        ),
        kit.section(
            "Engines",
            kit.table(
                ("engine", "runs on", "found"),
                [(card.engine, card.variant or DASH, _count(card)) for card in cards],
                words=(0, 1),
                row_heads=True,
            ),
        ),
        *(_measures(subject, heading, cards) for subject, heading in _SUBJECTS.items()),
        _contract(cards),
        kit.section(
            "Speed",
            kit.table(
                ("", *(card.engine for card in cards)),
                _rows(cards, ("pictures a second", "processor seconds a picture", "labels a second")),
                row_heads=True,
            )
            + kit.note(
                f"Pictures of 640 x 360 of scene {SPEED_SCENE}, 4 rays a pixel, on this machine as busy as it was:"
                " processor time is what to compare."
            ),
        ),
        _gaps(cards),
        kit.section(
            f"Scene {SPEED_SCENE}, the same place",
            kit.gallery(
                (card.engine, kit.picture_uri(card.picture, _WIDEST_PX)) for card in cards if card.picture is not None
            ),
        ),
    )
    kit.write_page(path, page)


def _names() -> list[str]:
    return [name for measurement in MEASUREMENTS for name in measurement.names]


def _count(card: EngineCard) -> Cell:
    if card.problem:
        return Cell("cannot run here", None, "too-few")
    return Cell(card.summary, len(card.findings), "large-gap" if card.findings else "predicts")


def _measures(subject: str, heading: str, cards: Sequence[EngineCard]) -> Markup:
    named = [{measure.name: measure for measure in card.measures} for card in cards]
    of_subject = {m.name for measures in named for m in measures.values() if m.subject == subject}
    rows = []
    for name in (name for name in _names() if name in of_subject):
        known = next(measures[name] for measures in named if name in measures)
        limit = next(
            (m.limit for measures in named if (m := measures.get(name)) is not None and m.value is not None),
            known.limit,
        )
        rows.append((name, *(_cell(measures.get(name)) for measures in named), value_text(limit, known.unit)))
    heads = ("", *(card.engine for card in cards), "limit")
    return kit.section(heading, kit.table(heads, rows, row_heads=True), when=rows)


def _cell(measure: EngineMeasure | None) -> Cell:
    if measure is None:
        return Cell(DASH, None)
    return Cell(measure_text(measure), measure.value, _COLOURS[measure.status], measure.finding)


def _contract(cards: Sequence[EngineCard]) -> Markup:
    by_card = [{found.check.name: found for found in card.checks} for card in cards]
    names = [found.check.name for found in max(cards, key=lambda card: len(card.checks)).checks]
    words = {"pass": "kept", "fail": "broken", "cannot be checked": "left out"}
    rows = [
        (
            name,
            *(
                Cell(words[of[name].status], words[of[name].status], _COLOURS[of[name].status], of[name].reason)
                if name in of
                else Cell(DASH, None)
                for of in by_card
            ),
        )
        for name in names
    ]
    heads = ("promise", *(card.engine for card in cards))
    return kit.section(
        "Contract of an engine",
        kit.table(("", *heads[1:]), _rows(cards, ("contract kept",)), row_heads=True),
        kit.folded(f"All {len(names)} promises", kit.table(heads, rows, row_heads=True)),
        when=names,
    )


def _rows(cards: Sequence[EngineCard], names: Iterable[str]) -> list[tuple[str, ...]]:
    wanted = set(names)
    return [row for row in card_rows(cards) if row[0] in wanted]


def _gaps(cards: Sequence[EngineCard]) -> Markup:
    judged = [card for card in cards if card.gaps]
    rows = [
        (
            card.engine,
            *(
                Cell(gap_text(gap), gap.gap, gap.verdict.colour if gap.verdict else "too-few", gap.problem)
                for gap in card.gaps
            ),
        )
        for card in judged
    ]
    counts = {gap.pictures for card in judged for gap in card.gaps if not gap.problem} or {0}
    count = f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return kit.section(
        "Gap to the photographs that come with simjudge",
        kit.table(("engine", *(f"camera {camera}" for camera in CAMERAS)), rows, row_heads=True),
        kit.note(
            f"Scene signs, {count} pictures through each camera, beside 189 photographs; the detector of simjudge demo"
            f" is the judge. Gap of performance with its 95 % interval."
        ),
        kit.bullets([f"{card.engine}, {line}" for card in judged for line in card.gap_notes]),
        when=rows,
    )
