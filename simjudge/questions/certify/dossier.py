"""A dossier of results that others can check: files, digests, masks, a page, and a script that needs no simjudge."""

from __future__ import annotations

import csv
import hashlib
import json
import platform
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from simjudge.core.errors import Log, Losses, SimjudgeError, UsageError, no_log
from simjudge.core.files import atomic_folder, check_output_folder, hash_files, output_path
from simjudge.core.frames import FrameSet
from simjudge.core.installed import version
from simjudge.core.names import DetectorRecord
from simjudge.core.object_tables import BoolImage, Masks
from simjudge.data.sets import read_set
from simjudge.judging.painted_masks import BOXES, LABEL_PICTURES
from simjudge.questions.certify import check as dossier_check
from simjudge.questions.certify.context_text import COLUMNS, write_context_csv
from simjudge.questions.certify.dossier_page import (
    DOSSIER,
    CertifiedInput,
    RenderingOrigin,
    digests,
    library_versions,
    p_of_all_results,
    render_dossier_page,
    write_manifest,
    write_policy_dossier,
)
from simjudge.questions.certify.joint_dossier import holds_joint, write_joint_dossier
from simjudge.questions.certify.point_dossier import holds_points, write_point_dossier
from simjudge.questions.certify.script import isolated_script
from simjudge.questions.compare.overall_words import overall_headline, overall_meaning
from simjudge.results.context_table import ContextTable
from simjudge.results.saved_result import (
    ABLATION,
    DRIVES,
    LABEL_ERROR,
    OBJECTS,
    POLICIES,
    RANKING,
    RESULT,
    SETS,
    SWEEP,
    TRACKS,
    TRAJECTORIES,
    Result,
    load_results,
    refuse_studies,
    write_json,
)
from simjudge.sim.capture.render_record import render_record_path

UNCHANGED, CHANGED, NOT_FOUND = "unchanged", "changed since", "not looked for: not found"


def describe_inputs(result: Result, losses: Losses) -> list[CertifiedInput]:
    """What was compared, and whether it is still the same where it can be found."""
    found = []
    for side, given in result.header.sets.items():
        detector = given.detector or DetectorRecord("predictions as they were in the file")
        now, path = NOT_FOUND, Path(given.path or "")
        if given.sha256 and given.path and path.exists():
            now = UNCHANGED if hash_files(path) == given.sha256 else CHANGED
            if now == CHANGED:
                losses.add("inputs that have changed since the comparison", f"{result.name}: {path}")
        found.append(
            CertifiedInput(
                set=side.upper(),
                name=given.name or side.upper(),
                path=given.path or "",
                sha256=given.sha256 or "",
                now=now,
                format=given.format or "",
                frames=given.frames or 0,
                objects=given.objects or 0,
                units=given.units,
                detector=detector.name,
                detector_sha256=detector.sha256,
                rendered=_rendering(path, result.name, losses) if now == UNCHANGED else None,
            )
        )
    return found


def _rendering(path: Path, name: str, losses: Losses) -> RenderingOrigin | None:
    """Read the file that `simjudge sim render` put beside a set."""
    record = render_record_path(path)
    try:
        content = record.read_bytes()
    except OSError:
        return None
    try:
        said = json.loads(content)
        scene, camera, engine = said["scene"], said["camera"], said["engine"]
        return RenderingOrigin(
            scene=scene["name"],
            scene_sha256=scene["sha256"],
            camera=camera["name"],
            camera_sha256=camera["sha256"],
            seed=int(said["seed"]),
            engine=f"{engine['name']}, {engine['variant']}",
            simjudge=said["version"],
            record_sha256=hashlib.sha256(content).hexdigest(),
        )
    except (ValueError, KeyError, TypeError):
        losses.add("records of a rendering that cannot be read", f"{name}: {record}")
        return None


MASKS = "masks.csv"
MASK_COLUMNS = ("row", "left", "top", "width", "height", "runs")
"""Of masks.csv: the row of contexts.csv, from 0; the mask's place in the picture; lengths of its runs."""
_EDGES = ("x0", "y0", "x1", "y1")


def context_masks(result: Result, contexts: ContextTable) -> Masks:
    """The mask of every context of a result."""
    return Masks.concatenate([_masks_of_side(result, contexts, side) for side in ("a", "b")])


def write_mask_csv(masks: Masks, path: Path) -> None:
    """Write masks as text: lengths of runs of pixels in rows, outside and inside in turn, outside first."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(MASK_COLUMNS)
        for row in range(len(masks)):
            if masks.has(row):
                crop, (left, top) = masks.crop(row), masks.origin[row].tolist()
                rows.writerow([row, left, top, crop.shape[1], crop.shape[0], " ".join(map(str, _runs(crop)))])


def _runs(crop: BoolImage) -> list[int]:
    pixels = np.concatenate([[False], crop.reshape(-1)])
    turns = np.flatnonzero(pixels[1:] != pixels[:-1])
    return [int(length) for length in np.diff(np.concatenate([[0], turns, [crop.size]]))]


def _masks_of_side(result: Result, contexts: ContextTable, side: str) -> Masks:
    frames = _read_again(result, side)
    objects = frames.objects
    numbers = defaultdict(list)
    for number, (frame, class_id, box) in enumerate(
        zip(objects.frame.tolist(), objects.class_id.tolist(), objects.box.tolist(), strict=True)
    ):
        numbers[frames.frame_name[frame], class_id, tuple(box)].append(number)
    # Objects of one frame, class and box are in the order of the set in both.
    queues: dict[object, Iterator[int]] = {key: iter(item) for key, item in numbers.items()}
    rows = np.flatnonzero(contexts.is_a == (side == "a"))
    boxes = np.column_stack([contexts[edge][rows] for edge in _EDGES]).tolist()
    found: list[int] = []
    for name, class_id, box in zip(contexts.text("frame", rows), contexts.class_id[rows].tolist(), boxes, strict=True):
        again = next(queues.get((name, class_id, tuple(box)), iter(())), None)
        if again is None:
            raise SimjudgeError(
                f"{result.folder}: {frames.name} holds no object of class {class_id} in frame {name} at the place"
                " that was compared, so its mask is not known; compare again"
            )
        found.append(again)
    taken = np.array(found, np.int64)
    return Masks.none(len(taken)) if objects.masks is None else objects.masks.take(taken)


def _read_again(result: Result, side: str) -> FrameSet:
    """The set as it was compared: a dossier with the masks of another one would say what was never compared."""
    given = result.header.sets[side]
    path = Path(given.path or "")
    if not given.path or not path.exists():
        raise SimjudgeError(
            f"{result.folder}: its contexts are painted from masks, and {given.path or 'the set in memory'},"
            " which holds them, is not there; put it back, or compare with --masks ignore"
        )
    if hash_files(path) != given.sha256:
        raise SimjudgeError(
            f"{result.folder}: its contexts are painted from masks, and {path}, which holds them, has changed since;"
            " compare again"
        )
    return read_set(path, allow_outside=True)


PAGE, FACTS, SCRIPT, RESULTS, TABLE = "index.html", "dossier.json", "verify.py", "results", "contexts.csv"
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
    TRAJECTORIES: "a comparison of localizations, which has a dossier of its own: give these folders alone",
    TRACKS: "a comparison of trackers, which has a dossier of its own: give these folders alone",
    POLICIES: "a comparison of policies",
    OBJECTS: "a comparison of objects",
    RANKING: "a ranking of simulations, which has a dossier of its own: give these folders alone",
    LABEL_ERROR: "a price of labels' errors, which has a dossier of its own: give these folders alone",
}


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
    out = output_path(out)
    check_output_folder(out, DOSSIER)
    for holds, write in (
        (_holds_policies, write_policy_dossier),
        (holds_points, write_point_dossier),
        (holds_joint, write_joint_dossier),
    ):
        if all(map(holds, folders)):
            said = write(folders, out, title)
            return Dossier(out, hashlib.sha256((out / dossier_check.MANIFEST).read_bytes()).hexdigest(), said, Losses())
    for folder in folders:
        _check_kind(folder)
    results = load_results(folders)
    tables = [_checked_contexts(result) for result in results]
    losses = Losses()
    inputs = [describe_inputs(result, losses) for result in results]
    unseen: list[int] = []
    with atomic_folder(out, DOSSIER) as temporary:
        for result, table in zip(results, tables, strict=True):
            folder = temporary / RESULTS / result.name
            folder.mkdir(parents=True)
            shutil.copyfile(result.folder / RESULT, folder / RESULT)
            write_context_csv(table, folder / TABLE)
            if result.header.parameters.painted != BOXES:
                write_mask_csv(context_masks(result, table), folder / MASKS)
            log(f"{result.name}: computing its numbers again")
            unseen.append(_check_numbers(result, folder))
        text = Path(dossier_check.__file__).read_text(encoding="utf-8")
        (temporary / SCRIPT).write_text(isolated_script(text), encoding="utf-8")
        sealed = dossier_check.seal(temporary)
        facts = _facts(results, inputs, losses, unseen) | {"seal": sealed, "title": title}
        page = render_dossier_page(results, inputs, sealed, unseen, facts)
        (temporary / PAGE).write_text(page, encoding="utf-8")
        write_json(temporary / FACTS, facts | {"files": digests(temporary)})
        if wrong := dossier_check.check_statements(temporary):
            raise SimjudgeError(f"{out}: the page would not say what the results say: {wrong[0]}")
        digest = write_manifest(temporary)
    log(f"SHA-256 of {dossier_check.MANIFEST}, and so of the whole dossier: {digest}")
    said = [f"{result.name}: {overall_headline(result)}: {overall_meaning(result)}" for result in results]
    return Dossier(out, digest, said, losses)


def _holds_policies(folder: Path) -> bool:
    return (folder / POLICIES).is_file()


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


def _facts(
    results: Sequence[Result], inputs: Sequence[list[CertifiedInput]], losses: Losses, unseen: Sequence[int]
) -> dict[str, object]:
    return {
        "simjudge": version(),
        "python": platform.python_version(),
        "libraries": library_versions(),
        "count": len(results),
        "results": [
            {
                "name": result.name,
                "made_by": result.header.version,
                "parameters": result.header.parameters.content,
                "inputs": [asdict(side) for side in sides],
                "margin": result.header.parameters.margin,
                "verdicts": {entry.key: entry.verdict for entry in result.entries},
                "p_of_all_results": p,
                "performance_not_of_boxes": without_boxes,
                "losses": list(result.header.losses),
            }
            for result, sides, p, without_boxes in zip(results, inputs, p_of_all_results(results), unseen, strict=True)
        ],
        "changed": losses.lines(),
    }
