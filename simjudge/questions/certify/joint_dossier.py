"""A dossier of rankings of simulations and of prices of labels: contexts as text, a page, and a script that checks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_folder
from simjudge.core.parquet import read_parquet
from simjudge.core.text import JsonMapping
from simjudge.judging.painted_masks import BOXES
from simjudge.page import kit
from simjudge.page.kit import element, write_page
from simjudge.questions.certify import check, check_joint
from simjudge.questions.certify.context_text import COLUMNS, write_context_csv
from simjudge.questions.certify.dossier_page import DOSSIER, PAGE, SCRIPT, seal_dossier
from simjudge.questions.label_error.result import load_label_error
from simjudge.questions.rank.result import load_ranking
from simjudge.results.context_table import ContextTable
from simjudge.results.saved_result import CONTEXTS, LABEL_ERROR, RANKING

Texts = Callable[[str], Markup]
"""Writes a text that the script finds again on the page, by its name."""


def holds_joint(folder: Path) -> bool:
    """Whether a folder is a ranking of simulations or a price of labels."""
    return any((folder / name).is_file() for name in (RANKING, LABEL_ERROR))


def write_joint_dossier(folders: Sequence[Path], out: Path, title: str) -> list[str]:
    """Write a dossier; what it says, a line a result."""
    said, names = [], list[str]()
    with atomic_folder(out, DOSSIER) as temporary:
        for folder in folders:
            part = temporary / "results" / folder.resolve().name
            if part.exists():
                raise SimjudgeError(f"{folder}: another result is called {part.name} too; rename one")
            part.mkdir(parents=True)
            sentences = _read(folder)
            _write_contexts(folder, part)
            file = RANKING if (folder / RANKING).is_file() else LABEL_ERROR
            shutil.copyfile(folder / file, part / file)
            _, wrong = check_joint.check_result(part)
            if wrong:
                raise SimjudgeError(f"{folder}: {file} does not say what its contexts give: {wrong[0]}; compare again")
            names.append(part.name)
            said.append(f"{part.name}: {sentences[0]}")
        write_page(temporary / PAGE, joint_page(temporary, sorted(names), title))
        seal_dossier(temporary, (check, check_joint), title)
    return said


def joint_page(folder: Path, names: Sequence[str], title: str) -> str:
    """The page of a dossier, of the files in it; `names`: its results in the order of the page."""
    held = [
        next(file for file in (folder / "results" / name / kind for kind in (RANKING, LABEL_ERROR)) if file.is_file())
        for name in names
    ]
    return _page(folder, [_section(file.parent.name, check.read_json(file)) for file in held], title)


def _read(folder: Path) -> list[str]:
    """The sentences of a result, which must be one that can be computed again."""
    saved = load_ranking(folder) if (folder / RANKING).is_file() else load_label_error(folder)
    parameters = saved.content["parameters"]
    if parameters.get("sensor") or parameters.get("task"):
        raise SimjudgeError(f"{folder}: certify takes comparisons of objects in pictures")
    if parameters["painted"] != BOXES:
        raise SimjudgeError(
            f"{folder}: its contexts are painted from {parameters['painted']}; compare with --masks ignore"
        )
    if not (folder / CONTEXTS).is_file() or "draws" not in saved.content:
        raise SimjudgeError(f"{folder}: was made by another simjudge, which kept no contexts; compare again")
    return saved.sentences


def _write_contexts(folder: Path, out: Path) -> None:
    """Write the contexts of every comparison as text."""
    try:
        table = read_parquet(folder / CONTEXTS)
    except (OSError, pa.ArrowException) as error:
        raise SimjudgeError(f"{folder / CONTEXTS}: cannot be read; compare again") from error
    if missing := sorted({"part", *COLUMNS} - set(table.column_names)):
        raise SimjudgeError(f"{folder / CONTEXTS}: lacks the column {missing[0]}; compare again")
    parts = np.unique(table["part"].to_numpy()).tolist()
    for part in parts:
        write_context_csv(ContextTable(table.filter(pc.equal(table["part"], part))), out / f"contexts-{part}.csv")


def _page(folder: Path, sections: Sequence[Markup], title: str) -> str:
    said = check_joint.page_of_dossier(folder)
    return kit.page(
        title or "Rankings and prices of labels: a dossier to check",
        f"dossier of {len(sections)} result{'s' * (len(sections) != 1)}",
        *sections,
        kit.section(
            "How to check this",
            kit.paragraph(
                f"{check.MANIFEST} and dossier.json name the SHA-256 of every file of this folder. {SCRIPT} compares "
                "them, and computes every number of the tables above again, from the boxes, the predictions and the "
                "sampling units in results/*/contexts-*.csv. It needs Python and NumPy, and no simjudge."
            ),
            element("pre", f"python {SCRIPT}\nsha256sum --check {check.MANIFEST}"),
            kit.paragraph(
                "Results here: ",
                element("b", said["count"], data_check="count"),
                ". Their digest: ",
                element("span", said["seal"], class_="digest", data_check="seal"),
                ".",
            ),
            element("h2", "What the script does not check"),
            kit.bullets(check_joint.unchecked(folder)),
        ),
    )


def _section(name: str, content: JsonMapping) -> Markup:
    if "simulations" in content:
        said = check_joint.ranking_texts(name, dict(content))
        return _ranking(name, content, lambda key: element("span", said[f"{name}|{key}"], data_check=f"{name}|{key}"))
    said = check_joint.price_texts(name, dict(content))
    return _price(name, content, lambda key: element("span", said[f"{name}|{key}"], data_check=f"{name}|{key}"))


_NUMBERS = ("gap", "interval", "w1", "noise", "p", "verdict")
_HEADS = ("gap", "95 %", "W1", "by chance", "p", "verdict")
_PAIR = ("first", "second", "difference", "interval", "p_value", "p", "nearness")
_PAIR_HEADS = ("smaller gap", "larger gap", "difference", "95 %", "p", "p corrected", "the first is")


def _ranking(name: str, content: JsonMapping, text: Texts) -> Markup:
    classes = content.get("class_names") or {}
    simulations = [
        (
            one["name"],
            "all classes" if key == "overall" else classes.get(key, f"class {key}"),
            *(text(f"{one['name']}|{key}|{column}") for column in _NUMBERS),
            text(f"{one['name']}|cover") if key == "overall" else "–",
        )
        for one in content["simulations"]
        for key in ("overall", *one["by_class"])
    ]
    pairs = [
        (
            "all classes" if key == "overall" else classes.get(key, f"class {key}"),
            *(text(f"{key}|{'|'.join(sorted((pair['first'], pair['second'])))}|{column}") for column in _PAIR),
        )
        for key, held in {"overall": content["pairs"], **content["pairs_by_class"]}.items()
        for pair in held
    ]
    return kit.section(
        f"{name}: which simulation is nearer",
        kit.table(("simulation", "class", *_HEADS, "cover"), simulations, words=(0, 1, 7), row_heads=True),
        kit.table(("class", *_PAIR_HEADS), pairs, words=(0, 1, 2, 7), row_heads=True),
        kit.note(
            "Margin, a difference of performance from which it matters: ",
            text("margin"),
            ". Share of A's contexts that all simulations show, of which all this is: ",
            text("covered"),
            ". p is corrected over all pairs (Romano and Wolf).",
        ),
        kit.parameters({key: value for key, value in content["parameters"].items() if value is not None}),
    )


def _price(name: str, content: JsonMapping, text: Texts) -> Markup:
    levels = [
        (
            f"{1 + one['level']:g} variance{'s' * (one['level'] != 0)} in B",
            "",
            *(text(f"level {one['level']:g}|{k}") for k in ("w1", "noise", "gap")),
        )
        for one in content["levels"]
    ]
    rows = [
        ("as labelled", *(text(f"as_labelled|{column}") for column in _NUMBERS)),
        ("without error", *(text(f"corrected|{k}") if k not in ("w1", "noise") else "" for k in _NUMBERS)),
    ]
    return kit.section(
        f"{name}: what the labels' error costs",
        kit.table(("labels", *_HEADS), rows, words=(0, 6), row_heads=True),
        kit.table(
            ("error", "W1", "by chance", "gap"), [(row[0], *row[2:]) for row in levels], words=(0,), row_heads=True
        ),
        kit.note(
            "Error of A's labels, as simjudge was told: ",
            text("error"),
            ". It alone lowers the performance in B by ",
            text("price"),
            ". Margin: ",
            text("margin"),
            ". Each level adds that many variances to B's labels, and one fewer to A's.",
        ),
        kit.parameters({key: value for key, value in content["parameters"].items() if value is not None}),
    )
