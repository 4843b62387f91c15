"""The pages of dossiers: of a comparison, and of policies.

The headings are those of the credibility assessment of virtual tool chains in UNECE, New Assessment/Test Method for
Automated Driving (NATM): Guidelines for Validating Automated Driving System (ECE/TRANS/WP.29/2022/58, amended by
WP.29-187-08, annex on credibility assessment), in our words. What is said of ISO 34502:2022 and ISO 34505:2025 rests on
their published scopes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pandas as pd
from markupsafe import Markup

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_folder
from simjudge.core.installed import version
from simjudge.core.text import Json
from simjudge.method.multiple_tests import holm
from simjudge.page import kit
from simjudge.page.kit import element, write_page
from simjudge.questions.certify import check as dossier_check
from simjudge.questions.certify import check_policies
from simjudge.questions.certify.script import compose_script
from simjudge.questions.compare.facts import where_sentence
from simjudge.questions.policies.page import render_policies_page
from simjudge.questions.policies.result import headline, lead, load_policies
from simjudge.questions.policies.trials import LAYOUT, LAYOUT_MARK
from simjudge.results.saved_result import POLICIES, TRIALS, Result, write_json


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


@dataclass(frozen=True)
class RenderingOrigin:
    """Scene, camera, seed and engine of a rendered set, as the dossier's file has them."""

    scene: str
    scene_sha256: str
    camera: str
    camera_sha256: str
    seed: int
    engine: str
    simjudge: str
    record_sha256: str


@dataclass(frozen=True)
class CertifiedInput:
    """A set that was compared, as the dossier's file has it."""

    set: str
    name: str
    path: str
    sha256: str
    now: str  # whether it is still the same where it can be found
    format: str
    frames: int
    objects: int
    units: int | None
    detector: str
    detector_sha256: str
    rendered: RenderingOrigin | None


_LIBRARIES = ("numpy", "scipy", "numba", "pyarrow")
Check = Callable[..., Markup]
"""Writes a text that the script finds again, from the element, the text's key and a class."""


def render_dossier_page(
    results: Sequence[Result],
    inputs: Sequence[list[CertifiedInput]],
    sealed: str,
    unseen: Sequence[int],
    facts: Json,
) -> str:
    """Render the page; every number on it has the name by which the script finds it."""
    said = {"seal": sealed, "count": str(len(results))}
    for result, p, without_boxes in zip(results, p_of_all_results(results), unseen, strict=True):
        said |= dossier_check.page_texts(result.name, dict(result.content), p, without_boxes)

    def check(tag: str, key: str, kind: str | None = None) -> Markup:
        """A text that the script finds again on the page."""
        return element(tag, said[key], class_=kind, data_check=key)

    manifest = dossier_check.MANIFEST
    return kit.page(
        facts["title"] or "Does the simulation predict reality? A dossier to check",
        f"dossier of {len(results)} result{'s' * (len(results) != 1)}",
        *(_verdict_section(result, check) for result in results),
        kit.section(
            "How to check this",
            kit.paragraph(
                f"{manifest} and dossier.json name the SHA-256 of every file of this folder, this page included. "
                f"{SCRIPT} compares them, and computes every verdict and number of the tables below again, from the "
                "boxes, the predictions and the sampling units in results/*/contexts.csv. It needs Python and NumPy, "
                "and no simjudge. Read it before you trust it: each step has its words."
            ),
            element("pre", f"python {SCRIPT}\nsha256sum --check {manifest}"),
            kit.paragraph(
                "Results here: ",
                check("b", "count"),
                ". Their digest: ",
                check("span", "seal", "digest"),
                f". The digest of {manifest} stands for the whole folder. simjudge printed it when the dossier was "
                "made; keep it where the folder cannot be changed: whoever can rewrite all files, the script included, "
                "can make another dossier that agrees with itself.",
            ),
            element("h2", "What no computation can show"),
            kit.paragraph(
                "That the input is real. Boxes and predictions that somebody invented, or chose among many, give "
                "numbers that agree with themselves just as well. What the script does not check it names at its end:"
            ),
            kit.bullets(dossier_check.UNCHECKED),
        ),
        *(_result_section(result, sides, check) for result, sides in zip(results, inputs, strict=True)),
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
        kit.section(
            "Software",
            kit.parameters({"simjudge": facts["simjudge"], "Python": facts["python"], **facts["libraries"]}),
        ),
        losses=facts["changed"],
        heading="Not as it was when it was compared:",
    )


def _verdict_section(result: Result, check: Check) -> Markup:
    where = where_sentence(result.header.where)
    word = "Where (not checked): " if result.hidden_gap is None else "But not everywhere (not checked): "
    said = element(
        "div",
        check("p", f"{result.name}|sentence", "lead"),
        kit.paragraph(kit.bold(word), where) if where else "",
        kit.paragraph(
            "Margin, a gap of performance from which it matters: ",
            check("b", f"{result.name}|margin"),
            ", chosen by whoever compared. Of objects of A that were not compared, nothing here speaks.",
        ),
    )
    word = check("p", f"{result.name}|headline", "word")
    return element("section", word, said, class_=f"hero v-{result.verdict.colour}")


_NUMBERS = {
    "contexts": "contexts A / B",
    "compared": "compared",
    "w1": "mean W1",
    "noise": "by chance",
    "gap": "gap (95 %)",
    "p": "p",
    "adjusted": "p corrected",
    "overlap": "overlap A / B",
    "outside": "performance of A outside",
    "detectable": "gap shown in 80 of 100",
}
"""Columns of the table of verdicts, by what the script calls them."""


def _result_section(result: Result, inputs: Sequence[CertifiedInput], check: Check) -> Markup:
    name, parameters = result.name, result.header.parameters.content
    losses = list(result.header.losses)
    verdicts = [
        (
            entry.label,
            check("span", f"{name}|{entry.key}|verdict", f"chip v-{entry.verdict.colour}"),
            *(check("span", f"{name}|{entry.key}|{column}") for column in _NUMBERS),
        )
        for entry in result.entries
    ]
    sides = [
        (
            side.set,
            side.name,
            side.format,
            f"{side.frames:,}",
            f"{side.objects:,}",
            f"{side.units:,}",
            side.detector,
            side.now,
        )
        for side in inputs
    ]
    heads = ("set", "name", "format", "frames", "objects", "sampling units", "judge", "today")
    return kit.section(
        f"{name}: verdicts",
        kit.table(("class", "verdict", *_NUMBERS.values()), verdicts, words=range(2)),
        kit.note(
            "p corrected: for the classes of this result (Romano and Wolf). p of all classes together, corrected for "
            "all results of this dossier (Holm): ",
            check("b", f"{name}|p_of_all"),
            ". Whether other comparisons were made and left out, no dossier can show. Performances that the boxes do "
            "not give, since they are of masks: ",
            check("b", f"{name}|unseen"),
            "; the script does not check those.",
        ),
        element("h2", f"{name}: what was compared"),
        kit.table(heads, sides, words=(0, 1, 2, 6, 7), kind="inputs"),
        kit.bullets(map(_origin, inputs)),
        kit.paragraph(kit.bold(kit.LOST)) + kit.bullets(losses) if losses else "",
        kit.parameters({**parameters, "simjudge": result.header.version}),
    )


def _origin(side: CertifiedInput) -> Markup:
    """Where a set is from, with digests."""
    parts: list[Markup | str] = [f"{side.set}: {side.path} ", _digest(side.sha256 or "no digest")]
    parts += ["; judge ", _digest(side.detector_sha256)] if side.detector_sha256 else []
    parts.append(element("br"))
    made = side.rendered
    if made is None:
        return Markup().join([*parts, "camera and scene: nothing beside the set says what they are"])
    parts += [f"rendered by simjudge {made.simjudge} with {made.engine}, seed {made.seed}: scene {made.scene} "]
    parts += [_digest(made.scene_sha256), f", camera {made.camera} ", _digest(made.camera_sha256)]
    return Markup().join(parts)


def _digest(text: str) -> Markup:
    return element("span", text, class_="digest")


def p_of_all_results(results: Sequence[Result]) -> list[float | None]:
    """The p of each result, corrected for their number."""
    return holm([result.overall.numbers.p_adjusted for result in results if result.overall is not None])


def library_versions() -> dict[str, str]:
    """The versions of what computed the numbers."""
    return {name: importlib.metadata.version(name) for name in _LIBRARIES}


SCRIPT, PAGE = "verify.py", "index.html"


class DossierKind:
    """A dossier, which may be replaced by another: its manifest names every file of it."""

    def check(self, folder: Path) -> None:
        """Refuse a folder that holds anything else."""
        if not ((folder / dossier_check.MANIFEST).is_file() and (folder / SCRIPT).is_file()):
            raise SimjudgeError(f"{folder}: exists already, and is no dossier; choose another --out")
        lines = (folder / dossier_check.MANIFEST).read_text(encoding="utf-8", errors="replace").splitlines()
        named = {dossier_check.MANIFEST, *(line.partition("  ")[2] for line in lines)}
        there = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
        if strangers := [name for name in there if name not in named]:
            raise SimjudgeError(f"{folder}: holds {strangers[0]!r}, which no manifest names; choose another --out")


DOSSIER = DossierKind()


def write_policy_dossier(folders: Sequence[Path], out: Path, title: str) -> list[str]:
    """Write a dossier; what it says, a line a result."""
    said = []
    with atomic_folder(out, DOSSIER) as temporary:
        for folder in folders:
            saved = load_policies(folder)
            if saved.trials is None:
                raise SimjudgeError(f"{folder}: was made by another simjudge, which kept no trials; compare again")
            part = temporary / "results" / saved.name
            if part.exists():
                raise SimjudgeError(f"{folder}: another result is called {saved.name} too; rename one")
            part.mkdir(parents=True)
            shutil.copyfile(folder / POLICIES, part / POLICIES)
            shutil.copyfile(folder / TRIALS, part / TRIALS)
            write_trials(part / TRIALS, part / check_policies.TRIALS)
            if wrong := check_policies.check_policies(part)[1]:
                raise SimjudgeError(
                    f"{folder}: {POLICIES} does not say what its trials give: {wrong[0]}; compare again"
                )
            write_page(part / PAGE, render_policies_page(saved, title))
            said.append(f"{saved.name}: {headline(saved)}. {lead(saved)}")
        seal_dossier(temporary, (dossier_check, check_policies), title)
    return said


def write_trials(table: Path, path: Path) -> None:
    """Write a table of trials as text, as it is: numbers of units are those of the draws."""
    trials = pd.read_parquet(table)
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(f"{LAYOUT_MARK}{json.dumps(trials.attrs[LAYOUT])}\n")
        trials.to_csv(stream, index=False, lineterminator="\n")


def seal_dossier(folder: Path, modules: Sequence[ModuleType], title: str) -> None:
    """Put the script beside the results, and the digests of all files into dossier.json and the manifest."""
    (folder / SCRIPT).write_text(compose_script(modules), encoding="utf-8")
    names = sorted(path.name for path in (folder / "results").iterdir())
    facts = {"simjudge": version(), "title": title, "seal": dossier_check.seal(folder), "results": names}
    write_json(folder / dossier_check.FACTS, facts | {"files": digests(folder)})
    write_manifest(folder)


def write_manifest(folder: Path) -> str:
    """Write the digests of all files of a folder, in the form of sha256sum; the digest of that."""
    text = "".join(f"{digest}  {name}\n" for name, digest in digests(folder).items()).encode()
    (folder / dossier_check.MANIFEST).write_bytes(text)
    return hashlib.sha256(text).hexdigest()


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of all files of a folder, by name."""
    files = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    return {name: dossier_check.sha256(folder / name) for name in files}
