"""What simjudge makes of the data of a dossier: its page, the pages of results, tables as text, the script.

The headings are those of the credibility assessment of virtual tool chains in UNECE, New Assessment/Test Method for
Automated Driving (NATM): Guidelines for Validating Automated Driving System (ECE/TRANS/WP.29/2022/58, amended by
WP.29-187-08, annex on credibility assessment), in our words. What is said of ISO 34502:2022 and ISO 34505:2025 rests on
their published scopes.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd  # type: ignore[import-untyped,unused-ignore]
from markupsafe import Markup

from simjudge.core.text import Json
from simjudge.method.multiple_tests import holm
from simjudge.page import kit
from simjudge.page.chart_data import format_number
from simjudge.page.kit import ResultPage, element
from simjudge.questions.certify import verify
from simjudge.questions.certify.check_files import FACTS, MANIFEST, PAGE, SCRIPT, read_json
from simjudge.questions.certify.script import compose_script
from simjudge.questions.compare.facts import where_sentence
from simjudge.questions.compare.overall_words import overall_headline, overall_meaning
from simjudge.questions.label_error.page import LABEL_PAGE
from simjudge.questions.policies.page import POLICIES_PAGE
from simjudge.questions.policies.trials import LAYOUT, LAYOUT_MARK
from simjudge.questions.rank.page import RANKING_PAGE
from simjudge.questions.tracks.page import TRACKS_PAGE
from simjudge.questions.trajectories.page import TRAJECTORIES_PAGE
from simjudge.results.result_fields import read_result
from simjudge.results.saved_result import (
    LABEL_ERROR,
    POLICIES,
    RANKING,
    RESULT,
    SAMPLES,
    TRACKS,
    TRAJECTORIES,
    TRIALS,
    Result,
    comparison_from_content,
)

PAGES: Mapping[str, ResultPage[Any]] = {
    POLICIES: POLICIES_PAGE,
    TRAJECTORIES: TRAJECTORIES_PAGE,
    TRACKS: TRACKS_PAGE,
    RANKING: RANKING_PAGE,
    LABEL_ERROR: LABEL_PAGE,
}
"""Of results that have a page of their own beside the dossier's, by their file."""


class Heading(NamedTuple):
    """A heading, what the dossier holds for it, and what it does not."""

    name: str
    holds: str
    lacks: str


HEADINGS = (
    Heading(
        "Management of models and simulation: releases, experience of the team",
        "Versions of simjudge and of the libraries that the numbers rest on; name and digest of the detector.",
        "Who made the models and the simulation, how releases are managed, and who answers for them.",
    ),
    Heading(
        "Pedigree of input data",
        "Names, formats, sizes and SHA-256 of both sets; how many frames and objects, and what was lost in reading. Of"
        " sets that simjudge rendered: scene, camera, engine and seed.",
        "Where, when and with which vehicle the real data were recorded, how they were labelled, how good labels are.",
    ),
    Heading(
        "Pedigree of output data",
        "The tables that every number comes from, seeds, settings, and a script that computes the numbers again.",
        "The pictures themselves: their digests are here, the files are not.",
    ),
    Heading(
        "Description: scope, domain of validity, assumptions, limitations",
        "The contexts in which the simulation was compared (overlap), and the share of reality that it never shows.",
        "A claim about anything but this detector, these classes and these contexts. Overlap is of appearance in the"
        " picture, not of traffic scenarios.",
    ),
    Heading(
        "Verification of code and of calculation",
        "An independent computation of performance, W1, overlap, noise, gap, p, corrections, intervals and verdicts"
        " from boxes and predictions (verify.py).",
        "Verification of the simulator and of the detector's code, of the sampling units and of expected performance:"
        " verify.py takes these as they are.",
    ),
    Heading(
        "Sensitivity analysis",
        "Nothing by itself. simjudge compare --sweep (theta, patch) and simjudge explain (causes) are made for it.",
        "How results change with the simulation's own parameters.",
    ),
    Heading(
        "Validation: measure of performance and goodness of fit",
        "IoU of each object, and W1 between its distributions in like contexts (arXiv 2208.01022, Algorithm 1).",
        "Measures of the vehicle's behaviour; simjudge robot drives has some.",
    ),
    Heading(
        "Validation: accuracy that is required",
        "The margin: the difference of performance from which a gap matters, as it was given.",
        "Why this margin is enough for the use. That is for the person who uses the result to say.",
    ),
    Heading(
        "Validation: results and their uncertainty",
        "Verdict, noise, gap with its 95 % interval, p, p corrected for all classes, the gap that these sizes would"
        " have shown.",
        "Uncertainty that is common to all frames: one camera, one place, one day, one person who labelled.",
    ),
    Heading(
        "Range that the validation covers",
        "Overlap of both sets, by class, and the detector's performance outside of it.",
        "Coverage of an operational design domain.",
    ),
    Heading(
        "ISO 34502: scenario-based safety evaluation",
        "How far a simulation may stand in for reality where the evaluation asks what a detector sees.",
        "Scenarios, critical ones among them, and safety of the driving system. A context is no scenario.",
    ),
    Heading(
        "ISO 34505: evaluation of scenarios, test cases and their coverage",
        "Overlap, a coverage of contexts in pictures: a reason to trust a simulated test platform, or not.",
        "Test cases with inputs, steps and expected results; coverage of requirements and of an operational domain.",
    ),
)


def made_texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Everything in a dossier that follows from the data in it, by the name of the file."""
    facts = read_json(folder / FACTS)
    yield SCRIPT, compose_script()
    yield PAGE, _page(folder, facts)
    for part in verify.results_of(folder):
        place, kind = f"results/{part.name}", verify.kind_of(part)
        if kind in PAGES:
            page = PAGES[kind]
            yield f"{place}/{PAGE}", page.render(page.load(part), part, facts["title"])
        if kind == POLICIES:
            trials, text = pd.read_parquet(part / TRIALS), io.StringIO()
            text.write(f"{LAYOUT_MARK}{json.dumps(trials.attrs[LAYOUT])}\n")
            trials.to_csv(text, index=False, lineterminator="\n")
            yield f"{place}/trials.csv", text.getvalue()
        elif kind in {TRAJECTORIES, TRACKS}:
            samples = pd.read_parquet(part / SAMPLES)
            yield f"{place}/samples.csv", samples.to_csv(index=False, lineterminator="\n")


def sentence_of(part: Path) -> str:
    """What a result of a dossier says first."""
    kind = verify.kind_of(part)
    if kind in PAGES:
        return f"{part.name}: {PAGES[kind].sentences(PAGES[kind].load(part))[0]}"
    result = _comparison(part)
    return f"{result.name}: {overall_headline(result)}: {overall_meaning(result)}"


def _comparison(part: Path) -> Result:
    return comparison_from_content(read_result(part / RESULT), None, part.name, part)


def _page(folder: Path, facts: Json) -> str:
    parts = verify.results_of(folder)
    kinds = [verify.CHECKED_KINDS[verify.kind_of(part)] for part in parts]
    results = [_comparison(part) for part in parts if verify.kind_of(part) == RESULT]
    p_of_all = holm([result.overall.numbers.p_adjusted for result in results if result.overall is not None])
    unchecked = dict.fromkeys(line for kind in kinds for line in kind.unchecked)
    return kit.page(
        facts["title"] or "Does the simulation predict reality? A dossier to check",
        f"dossier of {len(parts)} result{'s' * (len(parts) != 1)}",
        *(_verdict(result) for result in results),
        kit.section(
            "More results",
            kit.bullets(
                Markup('<a href="results/{}/{}">{}</a>').format(part.name, PAGE, sentence_of(part))
                for part in parts
                if verify.kind_of(part) != RESULT
            ),
            when=len(parts) > len(results),
        ),
        kit.section(
            "How to check this",
            kit.paragraph(
                f"{MANIFEST} names the SHA-256 of every file of this folder, this page included. {SCRIPT} compares "
                "them, and computes what the results say again, from the tables beside them. It needs NumPy and no "
                "simjudge. With simjudge, report --dossier --check makes this page again and compares every byte."
            ),
            element("pre", f"python -I {SCRIPT}\nsha256sum --check {MANIFEST}\nsimjudge report --dossier --check ."),
            kit.paragraph(
                f"The digest of {MANIFEST} stands for the whole folder. simjudge printed it when the dossier was made; "
                "keep it where the folder cannot be changed: whoever can rewrite all files, the script included, can "
                "make another dossier that agrees with itself."
            ),
            element("h2", "What no computation can show"),
            kit.bullets(unchecked),
            kit.paragraph("Fields of the results that the script takes as they are it names at its end."),
        ),
        *(_numbers(result, facts["inputs"][result.name], p) for result, p in zip(results, p_of_all, strict=True)),
        kit.section(
            "What this is evidence for, and what not",
            kit.note(
                "Headings of the credibility assessment of virtual tool chains in UNECE's guidelines for validating "
                "automated driving systems (NATM, ECE/TRANS/WP.29/2022/58, amended by WP.29-187-08), in our words. "
                "This dossier is a part of such an assessment. It is no assessment, no approval and no statement of "
                "conformity."
            ),
            kit.table(
                ("heading", "here", "not here"),
                [(heading.name, heading.holds, heading.lacks) for heading in HEADINGS],
                words=range(3),
                row_heads=True,
                kind="headings",
            ),
        ),
        kit.section("Software", kit.parameters(facts["software"])),
        losses=facts["changed"],
        heading="Not as it was when it was compared:",
    )


def _verdict(result: Result) -> Markup:
    where, parameters = where_sentence(result.header.where), result.header.parameters
    word = "Where (not computed again): " if result.hidden_gap is None else "But not everywhere (not computed again): "
    said = element(
        "div",
        kit.paragraph(f"{result.name}: {overall_meaning(result)}"),
        kit.paragraph(kit.bold(word), where) if where else "",
        kit.paragraph(
            f"Margin, a gap of performance from which it matters: {parameters.margin:g}, chosen by whoever compared. "
            "Of objects of A that were not compared, nothing here speaks. What else the detector does "
            + ("was judged too; its numbers are stated, not computed again." if result.measures else "was not judged.")
        ),
    )
    return element(
        "section", element("p", overall_headline(result), class_="word"), said, class_=f"hero v-{result.verdict.colour}"
    )


_COLUMNS = {
    "n_a": "contexts A",
    "n_b": "contexts B",
    "compared": "compared",
    "mean_w1": "mean W1",
    "noise": "by chance",
    "gap": "gap",
    "gap_low": "from",
    "gap_high": "to (95 %)",
    "p_value": "p",
    "p_adjusted": "p corrected",
    "overlap_a": "overlap A",
    "overlap_b": "overlap B",
    "mean_performance_outside_a": "performance of A outside",
    "detectable_gap": "gap shown in 80 of 100",
}


def _numbers(result: Result, found: Json, p: float | None) -> Markup:
    name, sets = result.name, result.header.sets
    rows = [
        (
            entry.label,
            element("span", entry.verdict_words, class_=f"chip v-{entry.verdict.colour}"),
            *(format_number(entry.numbers.number(column)) for column in _COLUMNS),
        )
        for entry in result.entries
    ]
    sides = [
        (
            side.upper(),
            given.name or side.upper(),
            given.format or "",
            f"{given.frames or 0:,}",
            f"{given.objects or 0:,}",
            f"{given.units or 0:,}",
            given.detector.name if given.detector else "predictions as they were in the file",
            found[side]["now"],
        )
        for side, given in sets.items()
    ]
    heads = ("set", "name", "format", "frames", "objects", "sampling units", "judge", "today")
    losses = list(result.header.losses)
    return kit.section(
        f"{name}: verdicts",
        kit.table(("class", "verdict", *_COLUMNS.values()), rows, words=range(2)),
        kit.note(
            "p corrected: for the classes of this result (Romano and Wolf). p of all classes together, corrected for "
            f"all results of this dossier (Holm): {format_number(p)}. Whether other comparisons were made and left "
            "out, no dossier can show."
        ),
        element("h2", f"{name}: what was compared"),
        kit.table(heads, sides, words=(0, 1, 2, 6, 7), kind="inputs"),
        kit.bullets(
            _origin(
                f"{side.upper()}: {given.path or ''} ",
                given.sha256 or "no digest",
                given.detector.sha256 if given.detector else "",
                found[side]["rendered"],
            )
            for side, given in sets.items()
        ),
        kit.paragraph(kit.bold(kit.LOST)) + kit.bullets(losses) if losses else "",
        kit.parameters({**result.header.parameters.content, "simjudge": result.header.version}),
    )


def _origin(what: str, digest: str, judge: str, made: Json | None) -> Markup:
    """Where a set is from, with digests."""
    parts: list[Markup | str] = [what, _digest(digest)]
    parts += ["; judge ", _digest(judge)] if judge else []
    parts.append(element("br"))
    if made is None:
        return Markup().join([*parts, "camera and scene: nothing beside the set says what they are"])
    parts += [f"rendered by simjudge {made['simjudge']} with {made['engine']}, seed {made['seed']}: "]
    parts += [f"scene {made['scene']} ", _digest(made["scene_sha256"])]
    return Markup().join([*parts, f", camera {made['camera']} ", _digest(made["camera_sha256"])])


def _digest(text: str) -> Markup:
    return element("span", text, class_="digest")
