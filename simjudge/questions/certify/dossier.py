"""A dossier of results that others can check: data, results, a manifest, pages, and a script that needs no simjudge."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simjudge.core.errors import Log, Losses, SimjudgeError, UsageError, no_log
from simjudge.core.files import atomic_folder, check_output_folder, hash_files, output_path
from simjudge.core.installed import version
from simjudge.core.text import Json
from simjudge.judging.painted_masks import BOXES, LABEL_PICTURES
from simjudge.questions.certify import verify
from simjudge.questions.certify.check_files import (
    FACTS,
    MANIFEST,
    SCRIPT,
    UNREADABLE,
    files_of,
    read_json,
    said_of,
    sha256,
)
from simjudge.questions.certify.dossier_page import PAGES, made_texts, sentence_of
from simjudge.questions.certify.dossier_tables import (
    COLUMNS,
    context_masks,
    write_context_csv,
    write_context_parts,
    write_mask_csv,
)
from simjudge.results.context_table import ContextTable
from simjudge.results.saved_result import (
    ABLATION,
    CONTEXTS,
    DRIVES,
    LABEL_ERROR,
    OBJECTS,
    POLICIES,
    POSES,
    RANKING,
    RESULT,
    SAMPLES,
    SETS,
    SWEEP,
    TRACKS,
    TRAJECTORIES,
    TRIALS,
    Result,
    load_result,
    refuse_studies,
    write_json,
)
from simjudge.sim.capture.render_record import render_record_path

UNCHANGED, CHANGED, NOT_FOUND = "unchanged", "changed since", "not looked for: not found"
_SETTINGS = (
    "theta",
    "patch",
    "mask_factor",
    "class_aware",
    "integer_boxes",
    "strict",
    "min_batch_size",
    "seed",
    "draws",
    "margin",
    "metric",
    "preset",
)
"""Settings that the script needs."""
_OTHER_KINDS = {
    SWEEP: "a sweep",
    ABLATION: "an ablation",
    SETS: "comparisons of many sets",
    DRIVES: "a comparison of drives",
    OBJECTS: "a comparison of objects",
}
_TABLES = {POLICIES: (TRIALS,), TRAJECTORIES: (POSES, SAMPLES), TRACKS: (SAMPLES,)}
"""What pages and tables of results are made from."""
_LIBRARIES = ("numpy", "scipy", "numba", "pyarrow")


class DossierKind:
    """A dossier, which may be replaced by another: its manifest names every file of it."""

    def check(self, folder: Path) -> None:
        """Refuse a folder that holds anything else."""
        if not ((folder / MANIFEST).is_file() and (folder / SCRIPT).is_file()):
            raise SimjudgeError(f"{folder}: exists already, and is no dossier; choose another --out")
        lines = (folder / MANIFEST).read_text(encoding="utf-8", errors="replace").splitlines()
        named = {line.partition("  ")[2] for line in lines}
        if strangers := [name for name in files_of(folder) if name not in named]:
            raise SimjudgeError(f"{folder}: holds {strangers[0]!r}, which no manifest names; choose another --out")


DOSSIER = DossierKind()


@dataclass(frozen=True)
class Dossier:
    """A dossier that was written."""

    path: Path
    digest: str  # SHA-256 of its manifest, and so of the whole dossier
    sentences: list[str]
    losses: Losses  # what has changed since the results were made


def certify(folders: Sequence[Path], out: Path, *, title: str = "", log: Log = no_log) -> Dossier:
    """Write a dossier."""
    if not folders:
        raise UsageError("certify: name at least one folder that simjudge compare wrote")
    out, losses, inputs = output_path(out), Losses(), dict[str, Json]()
    check_output_folder(out, DOSSIER)
    with atomic_folder(out, DOSSIER) as temporary:
        for folder in folders:
            kind, part = _kind(folder), temporary / "results" / folder.resolve().name
            if part.exists():
                raise SimjudgeError(f"{folder}: another result is called {part.name} too; rename one")
            part.mkdir(parents=True)
            _copy(folder, part, kind)
            if kind == RESULT:
                inputs[part.name] = _write_comparison(folder, part, losses)
        parts = verify.results_of(temporary)
        software = {name: importlib.metadata.version(name) for name in _LIBRARIES}
        facts = {"title": title, "results": [part.name for part in parts], "inputs": inputs, "changed": losses.lines()}
        facts["software"] = {"simjudge": version(), "Python": platform.python_version(), **software}
        write_json(temporary / FACTS, facts)
        for name, text in made_texts(temporary):
            (temporary / name).write_bytes(text.encode())
        for part in parts:
            log(f"{part.name}: computing its numbers again")
            if wrong := verify.check_result(part)[1]:
                said, more = verify.kind_of(part), f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
                raise SimjudgeError(
                    f"{part.name}: {said} does not say what its tables give: {wrong[0]}{more}; compare again"
                )
        digest, sentences = write_manifest(temporary), [sentence_of(part) for part in parts]
    log(f"SHA-256 of {MANIFEST}, and so of the whole dossier: {digest}")
    return Dossier(out, digest, sentences, losses)


def check_again(folder: Path) -> tuple[list[str], list[str]]:
    """Check a dossier with simjudge: its numbers, and all that is made of them, byte by byte; a line each."""
    lines, wrong = verify.check_dossier(folder)
    unreadable: tuple[type[Exception], ...] = (*UNREADABLE, SimjudgeError)
    try:
        software = read_json(folder / FACTS).get("software")
        if software is None:
            return lines, [*wrong, f"an earlier simjudge made it: python -I {folder / SCRIPT} checks it"]
        if wrong:
            return lines, wrong
        lines.pop()  # that pages are not checked
        made = software["simjudge"]
        other = f" {version()}; it was made by {made}, which may make another" * (made != version())
        texts = dict(made_texts(folder))
    except unreadable as error:
        return lines, [*wrong, f"its page cannot be made again: {said_of(error)}"]
    wrong = [
        f"{name} is not what simjudge makes of the results{other}"
        for name, text in texts.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != text.encode()
    ]
    return [*lines, f"made again, byte by byte: {', '.join(texts)}"], wrong


def write_manifest(folder: Path) -> str:
    """Write the digests of all files of a folder, in the form of sha256sum; the digest of that."""
    text = "".join(f"{sha256(folder / name)}  {name}\n" for name in files_of(folder)).encode()
    (folder / MANIFEST).write_bytes(text)
    return hashlib.sha256(text).hexdigest()


def _kind(folder: Path) -> str:
    """The file that holds a result; what has no dossier is refused by what it is."""
    refuse_studies([folder], (RESULT,))
    for name in (RESULT, *PAGES):
        if (folder / name).is_file():
            return name
    held = next((words for name, words in _OTHER_KINDS.items() if (folder / name).exists()), "no result of simjudge")
    raise SimjudgeError(f"{folder}: holds {held}; certify takes results of simjudge compare alone")


def _copy(folder: Path, part: Path, kind: str) -> None:
    """Copy a result, and the tables that it came from."""
    for name in (kind, *_TABLES.get(kind, ())):
        if not (folder / name).is_file():
            raise SimjudgeError(f"{folder}: was made by another simjudge, which kept no {name}; compare again")
        shutil.copyfile(folder / name, part / name)
    if kind in {RANKING, LABEL_ERROR}:
        _check_joint(folder, kind)
        write_context_parts(folder, part)


def _write_comparison(folder: Path, part: Path, losses: Losses) -> Json:
    """Write the tables of a comparison; of each set whether it is still the same where it can be found."""
    result = load_result(folder)
    table = _checked_contexts(result)
    write_context_csv(table, part / "contexts.csv")
    if result.header.parameters.painted != BOXES:
        write_mask_csv(context_masks(result, table), part / "masks.csv")
    found = {}
    for side, given in result.header.sets.items():
        now, path = NOT_FOUND, Path(given.path or "")
        if given.sha256 and given.path and path.exists():
            now = UNCHANGED if hash_files(path) == given.sha256 else CHANGED
            if now == CHANGED:
                losses.add("inputs that have changed since the comparison", f"{result.name}: {path}")
        found[side] = {"now": now, "rendered": _rendering(path, result.name, losses) if now == UNCHANGED else None}
    return found


def _rendering(path: Path, name: str, losses: Losses) -> Json | None:
    """Read the file that `simjudge sim render` put beside a set."""
    record = render_record_path(path)
    try:
        content = record.read_bytes()
    except OSError:
        return None
    try:
        said = json.loads(content)
        scene, camera, engine = said["scene"], said["camera"], said["engine"]
        return {
            "scene": scene["name"],
            "scene_sha256": scene["sha256"],
            "camera": camera["name"],
            "camera_sha256": camera["sha256"],
            "seed": int(said["seed"]),
            "engine": f"{engine['name']}, {engine['variant']}",
            "simjudge": said["version"],
            "record_sha256": hashlib.sha256(content).hexdigest(),
        }
    except (ValueError, KeyError, TypeError):
        losses.add("records of a rendering that cannot be read", f"{name}: {record}")
        return None


def _check_joint(folder: Path, kind: str) -> None:
    """Refuse what cannot be computed again."""
    said = PAGES[kind].load(folder).content
    parameters = said["parameters"]
    if parameters.get("sensor") or parameters.get("task"):
        raise SimjudgeError(f"{folder}: certify takes comparisons of objects in pictures")
    if parameters["painted"] != BOXES:
        raise SimjudgeError(
            f"{folder}: its contexts are painted from {parameters['painted']}; compare with --masks ignore"
        )
    if not (folder / CONTEXTS).is_file() or "draws" not in said:
        raise SimjudgeError(f"{folder}: was made by another simjudge, which kept no contexts; compare again")


def _checked_contexts(result: Result) -> ContextTable:
    """The contexts of a result; what the script could not compute again is refused."""
    settings, where = result.header.parameters, result.folder
    if result.overall is None or result.contexts is None:
        raise SimjudgeError(f"{where}: is no result of simjudge compare; certify takes these alone")
    kind = settings.sensor or settings.task
    if kind or settings.painted == LABEL_PICTURES:
        words = {"lidar": "point clouds", "semantic": "label pictures"}.get(str(kind), kind or LABEL_PICTURES)
        raise SimjudgeError(
            f"{where}: compares {words}; certify takes comparisons of objects in pictures, painted from boxes or masks"
        )
    if not settings.compares_boxes:
        raise SimjudgeError(
            f"{where}: compares by numbers of one's own, which certify cannot compute again; compare by the IoU"
        )
    dealt = all(isinstance(given.units, int) for given in result.header.sets.values())
    missing = [name for name in _SETTINGS if name not in settings.content]
    old = any(entry.numbers.lacks_gap for entry in result.entries)
    if old or not set(COLUMNS) <= set(result.contexts.table.column_names) or not dealt or missing:
        raise SimjudgeError(f"{where}: was made by another simjudge, which kept too little; compare again")
    several = next((given for given in result.header.sets.values() if given.recordings), None)
    if several is not None:
        raise SimjudgeError(
            f"{where}: {several.name} has {several.recordings} recordings, whose differences the script of a dossier"
            " cannot draw again; compare one recording a side"
        )
    if settings.certainty:
        raise SimjudgeError(f"{where}: the certainty of this live run was not found yet; wait for it, or compare files")
    if not settings.draws:
        raise SimjudgeError(f"{where}: was compared without draws, so nothing was tested; compare again with --draws")
    return result.contexts
