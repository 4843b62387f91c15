"""A dossier of results that others can check: files, digests, a page, and a script that needs nothing of simjudge."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import atomic_folder, check_output, output_path
from simjudge.core.progress import Log, no_log
from simjudge.core.version import version
from simjudge.method.multiple_tests import holm
from simjudge.page.html import load_template
from simjudge.page.palette import VERDICT_COLOURS
from simjudge.questions.certify import check as dossier_check
from simjudge.questions.certify.headings import HEADINGS
from simjudge.questions.certify.inputs import describe_inputs
from simjudge.questions.certify.masks import MASKS, context_masks, write_mask_csv
from simjudge.questions.compare.detector_sentences import overall_headline, overall_meaning
from simjudge.results.context_table import ContextTable
from simjudge.results.saved_result import (
    ABLATION,
    DRIVES,
    OBJECTS,
    RESULT,
    SETS,
    SWEEP,
    Result,
    load_results,
    refuse_studies,
    write_json,
)
from simjudge.studies.painted_masks import BOXES, LABEL_PICTURES

PAGE, FACTS, SCRIPT, RESULTS, TABLE = "index.html", "dossier.json", "verify.py", "results", "contexts.csv"
COLUMNS = (
    "set", "unit", "block", "frame", "width", "height", "class_id", "x0", "y0", "x1", "y1", "predicted_x0",
    "predicted_y0", "predicted_x1", "predicted_y1", "score", "performance", "expected_performance", "expected_found",
)  # fmt: skip
_LIBRARIES = ("numpy", "scipy", "numba", "pyarrow")
"""Libraries that numbers rest on, whose versions are named."""
_SETTINGS = (
    "theta", "patch", "mask_factor", "class_aware", "integer_boxes", "strict", "min_batch_size", "seed", "draws",
    "margin", "metric", "preset",
)  # fmt: skip
"""Settings that the script needs."""
_OTHER_KINDS = {
    SWEEP: "a sweep",
    ABLATION: "an ablation",
    SETS: "comparisons of many sets",
    DRIVES: "a comparison of drives",
    OBJECTS: "a comparison of objects",
}


@dataclass(frozen=True)
class Dossier:
    """A dossier that was written.

    Attributes:
        digest: SHA-256 of its manifest, and so of the whole dossier.
        losses: what has changed since the results were made.
    """

    path: Path
    digest: str
    sentences: list[str]
    losses: Losses


def certify(folders: Sequence[Path], out: Path, *, title: str = "", log: Log = no_log) -> Dossier:
    """Write a dossier."""
    if not folders:
        raise UsageError("certify: name at least one folder that simjudge compare wrote")
    out = output_path(out)
    if not (out.is_dir() and is_dossier(out)):
        check_output(out)
    for folder in folders:
        _check_kind(folder)
    results = load_results(folders)
    tables = [_checked_contexts(result) for result in results]
    losses = Losses()
    inputs = [describe_inputs(result, losses) for result in results]
    unseen: list[int] = []
    with atomic_folder(out, overwrite=True) as temporary:
        for result, table in zip(results, tables, strict=True):
            folder = temporary / RESULTS / result.name
            folder.mkdir(parents=True)
            shutil.copyfile(result.folder / RESULT, folder / RESULT)
            write_context_csv(table, folder / TABLE)
            if result.header["parameters"]["painted"] != BOXES:
                write_mask_csv(context_masks(result, table), folder / MASKS)
            log(f"{result.name}: computing its numbers again")
            unseen.append(_check_numbers(result, folder))
        shutil.copyfile(Path(dossier_check.__file__), temporary / SCRIPT)
        facts = _facts(results, inputs, losses, unseen) | {"seal": dossier_check.seal(temporary)}
        page = _page(results, inputs, facts, losses, title)
        (temporary / PAGE).write_text(page, encoding="utf-8")
        write_json(temporary / FACTS, facts | {"files": _digests(temporary)})
        if wrong := dossier_check.check_statements(temporary):
            raise SimjudgeError(f"{out}: the page would not say what the results say: {wrong[0]}")
        digest = write_manifest(temporary)
    log(f"SHA-256 of {dossier_check.MANIFEST}, and so of the whole dossier: {digest}")
    said = [f"{each.name}: {overall_headline(each)}: {overall_meaning(each)}" for each in results]
    return Dossier(out, digest, said, losses)


def is_dossier(path: Path) -> bool:
    """Whether a folder is a dossier, which may be replaced by another."""
    return (path / dossier_check.MANIFEST).is_file() and (path / FACTS).is_file()


def write_context_csv(contexts: ContextTable, path: Path) -> None:
    """Write what a comparison rests on as text: boxes, performance, sampling units; numbers with all their digits."""
    table = contexts.table
    columns = {name: table[name].to_pylist() for name in COLUMNS if name != "frame"}
    columns["frame"] = contexts.frame_number().tolist()
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows(zip(*(columns[name] for name in COLUMNS), strict=True))


def write_manifest(folder: Path) -> str:
    """Write the digests of all files of a folder, in the form of sha256sum."""
    text = "".join(f"{digest}  {name}\n" for name, digest in _digests(folder).items()).encode()
    (folder / dossier_check.MANIFEST).write_bytes(text)
    return hashlib.sha256(text).hexdigest()


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    return {name: dossier_check.sha256(folder / name) for name in files}


def _check_kind(folder: Path) -> None:
    """Refuse what is no comparison of two sets, by the file that it holds."""
    refuse_studies([folder], (RESULT,))
    if (folder / RESULT).exists():
        return
    for name, words in _OTHER_KINDS.items():
        if (folder / name).exists():
            raise SimjudgeError(f"{folder}: holds {words}; certify takes results of simjudge compare alone")


def _check_numbers(result: Result, folder: Path) -> int:
    """Refuse a result whose numbers the script would not find; how many performances boxes do not give."""
    _, wrong, unseen = dossier_check.compare_numbers(folder)
    if wrong:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise SimjudgeError(
            f"{result.folder}: {RESULT} does not say what its contexts give: {wrong[0]}{more}; compare again"
        )
    return unseen


def _checked_contexts(result: Result) -> ContextTable:
    """The contexts of a result; what the script could not compute again is refused."""
    settings, where = result.header.get("parameters", {}), result.folder
    if result.overall is None or result.contexts is None:
        raise SimjudgeError(f"{where}: is no result of simjudge compare; certify takes these alone")
    kind = settings.get("sensor") or settings.get("task")
    if kind or settings.get("painted") == LABEL_PICTURES:
        words = {"lidar": "point clouds", "semantic": "label pictures"}.get(str(kind), kind or LABEL_PICTURES)
        raise SimjudgeError(
            f"{where}: compares {words}; certify takes comparisons of objects in pictures, painted from boxes or masks"
        )
    inputs = result.header["inputs"]
    dealt = all(isinstance((inputs.get(side) or {}).get("units"), int) for side in ("a", "b"))
    missing = [name for name in _SETTINGS if name not in settings]
    old = any(entry.numbers.lacks_gap for entry in result.entries)
    if old or not set(COLUMNS) <= set(result.contexts.table.column_names) or not dealt or missing:
        raise SimjudgeError(f"{where}: was made by another simjudge, which kept too little; compare again")
    if settings.get("certainty"):
        raise SimjudgeError(f"{where}: the certainty of this live run was not found yet; wait for it, or compare files")
    if not settings["draws"]:
        raise SimjudgeError(f"{where}: was compared without draws, so nothing was tested; compare again with --draws")
    return result.contexts


def _facts(
    results: Sequence[Result], inputs: Sequence[list[dict[str, Any]]], losses: Losses, unseen: Sequence[int]
) -> dict[str, Any]:
    known = [result.overall.numbers.p_adjusted for result in results if result.overall is not None]
    return {
        "simjudge": version(),
        "python": platform.python_version(),
        "libraries": {name: importlib.metadata.version(name) for name in _LIBRARIES},
        "count": len(results),
        "results": [
            {
                "name": result.name,
                "made_by": result.header.get("version", ""),
                "parameters": result.header["parameters"],
                "inputs": each,
                "margin": result.header["parameters"]["margin"],
                "verdicts": {
                    "overall": result.header["overall"]["verdict"],
                    **{key: entry["verdict"] for key, entry in result.header["by_class"].items()},
                },
                "p_of_all_results": p,
                "performance_not_of_boxes": without_boxes,
                "losses": result.header.get("losses", []),
            }
            for result, each, p, without_boxes in zip(results, inputs, holm(known), unseen, strict=True)
        ],
        "changed": losses.lines(),
    }


def _page(
    results: Sequence[Result], inputs: Sequence[list[dict[str, Any]]], facts: dict[str, Any], losses: Losses, title: str
) -> str:
    parts, said = [], {"seal": facts["seal"], "count": str(facts["count"])}
    for result, each, fact in zip(results, inputs, facts["results"], strict=True):
        unseen = fact["performance_not_of_boxes"]
        said |= dossier_check.page_texts(result.name, dict(result.header), fact["p_of_all_results"], unseen)
        keys = ["overall", *result.header["by_class"]]
        parts.append({
            "name": result.name,
            "colour": VERDICT_COLOURS[result.verdict],
            "rows": [
                (key, entry.label, VERDICT_COLOURS[entry.verdict])
                for key, entry in zip(keys, result.entries, strict=True)
            ],
            "inputs": each,
            "parameters": result.header["parameters"],
            "losses": result.header.get("losses", []),
            "made_by": result.header.get("version", ""),
        })  # fmt: skip
    return load_template("dossier.html").render(
        title=title or "Does the simulation predict reality? A dossier to check",
        version=version(),
        parts=parts,
        said=said,
        headings=HEADINGS,
        unchecked=dossier_check.UNCHECKED,
        facts=facts,
        losses=losses.lines(),
        manifest=dossier_check.MANIFEST,
        script=SCRIPT,
    )
