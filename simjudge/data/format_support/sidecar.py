"""`simjudge.json` in a data set's folder: what the folder's own format cannot hold.

The files of the format always win: what the sidecar says about a frame's objects counts only while the files still
hold what they held when both were written (a fingerprint of each frame tells), so labels edited by hand are never
overruled. Unknown to most formats are stamps that the names do not carry, frame order, sizes without images,
instance ids, distances, visible shares, exact masks, regions to be ignored, which detector made the predictions,
whether somebody labelled (a detector ran on) a frame in which there is nothing, which recording a frame is of, and
whether frames were drawn one by one (at random poses).
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages
from simjudge.core.names import NO_STAMP, DetectorRecord, composed
from simjudge.core.object_tables import Masks, Objects, Predictions, concatenate_tables, row_offsets
from simjudge.core.text import Json, load_json
from simjudge.data.format_support.image_files import LONGEST_SIDE_PX
from simjudge.data.format_support.raw_rows import (
    OPTIONAL_COLUMNS,
    build_objects,
    build_predictions,
    ignored_from_json,
    rows_from_json,
    rows_to_json,
    usable_values,
)

log = logging.getLogger(__name__)

FILE = "simjudge.json"


@dataclass(frozen=True)
class Sidecar:
    """What the sidecar says of each frame, by the stem of its files; empty where there is no sidecar."""

    path: Path
    content: Json = field(default_factory=dict)
    frame: dict[str, Json] = field(default_factory=dict)

    def size(self, stem: str) -> tuple[int, int] | None:
        """Look up the size of a frame without an image: width and height in pixels."""
        known = self.frame.get(stem)
        return None if known is None else (int(known["size"][0]), int(known["size"][1]))

    def class_ids(self, in_files: FloatArray) -> FloatArray:
        """Look up the class ids that numbers in the files stand for: float64 (N,); in_files: float64 (N,)."""
        ids = np.array(self.content.get("class_ids", []), np.float64)
        known = (in_files >= 0) & (in_files < len(ids)) & (in_files == np.floor(in_files))
        out = in_files.copy()
        out[known] = ids[in_files[known].astype(np.int64)]
        return out

    def rules_out(self, what: str, stem: str) -> bool:
        """Tell whether the sidecar knows that a frame was not labelled, not predicted, or without an image."""
        known = self.frame.get(stem)
        return known is not None and not known.get(what, True)

    def detector(self, stems: Sequence[str], predictions: Predictions | None) -> DetectorRecord | None:
        """Look up which detector made predictions: the detector; None where the sidecar names none."""
        if predictions is None or "detector" not in self.content:
            return None
        record = DetectorRecord.from_json(self.content["detector"], f'{self.path}: "detector"')
        made = [self.frame.get(stem, {}).get("detected", "") for stem in stems]
        if made != fingerprints(predictions, len(stems)):
            log.warning("%s: predictions are not those that %s made; their detector is unknown", self.path, record.name)
            return None
        return record

    def stems_without_image(self) -> list[str]:
        """The frames that never had an image, in their order."""
        return [stem for stem, known in self.frame.items() if not known.get("picture", True)]


def load_sidecar(folder: Path) -> Sidecar:
    """Read the sidecar of a folder: the sidecar, an empty one where the folder has none."""
    path = folder / FILE
    if not path.is_file():
        return Sidecar(path)
    content = load_json(path)
    try:
        frames = {composed(str(f.get("file", f["name"]))): f for f in content["frames"]}
        unique = len(frames) == len(content["frames"]) and _differ(content.get("class_ids", []))
        good = unique and all(_is_frame_entry(known) for known in frames.values())
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError) as error:
        raise SimjudgeError(f"{path}: not a sidecar of simjudge; remove it to read the folder without it") from error
    if not good:
        what = "a frame without name, size or stamp" if unique else "a frame or a class id that stands twice"
        raise SimjudgeError(f"{path}: {what}; remove it to read the folder without it")
    return Sidecar(path, content, frames)


def apply_sidecar(plain: FrameSet, sidecar: Sidecar) -> FrameSet:
    """Add what the sidecar knows to what the files hold."""
    if not sidecar.frame:
        return plain
    try:
        return _complete(plain, sidecar)
    except (TypeError, KeyError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise SimjudgeError(f"{sidecar.path}: damaged; remove it to read the folder without it") from error


def _differ(ids: list[Any]) -> bool:
    return len(set(ids)) == len(ids)


def _is_frame_entry(known: Json) -> bool:
    width, height = (int(v) for v in known["size"])
    named = isinstance(known["name"], str) and NO_STAMP <= int(known["stamp"]) < 2**63
    return named and 0 < width <= LONGEST_SIDE_PX and 0 < height <= LONGEST_SIDE_PX


def _names_from_json(pairs: list[list[Any]]) -> dict[int, str]:
    return {int(key): str(name) for key, name in pairs}


def fingerprints(table: Objects | Predictions | None, count: int) -> list[str]:
    """Make a short text for each frame that changes whenever its rows do: F texts; empty for a frame without rows."""
    if table is None:
        return [""] * count
    start = row_offsets(table.frame, count)
    # A tiny offset keeps values that a text file ends exactly between two roundings from falling either way.
    box = np.floor(table.box * 1e6 + 0.25).astype(np.int64)
    others: list[npt.NDArray[Any]]
    if isinstance(table, Predictions):
        others = [np.floor(table.score * 1e9 + 0.25).astype(np.int64)]
    else:
        others = [getattr(table, name) for name in exact_columns(table)]
    prints = []
    for first, end in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        if first == end:
            prints.append("")
            continue
        digest = hashlib.sha1(table.class_id[first:end].tobytes(), usedforsecurity=False)
        digest.update(box[first:end].tobytes())
        for column in others:
            digest.update(column[first:end].tobytes())
        if table.masks is not None:
            digest.update(table.masks.origin[first:end].tobytes() + table.masks.shape[first:end].tobytes())
            digest.update(table.masks.bits[table.masks.start[first] : table.masks.start[end]].tobytes())
        prints.append(digest.hexdigest()[:16])
    return prints


def _complete(plain: FrameSet, sidecar: Sidecar) -> FrameSet:
    whole = _with_missing_frames(plain, sidecar)
    stems = list(whole.frame_name)
    known = [sidecar.frame.get(stem, {}) for stem in stems]
    names = [k.get("name", stem) for stem, k in zip(stems, known, strict=True)]
    stamp = [int(k.get("stamp", s)) for s, k in zip(whole.stamp.tolist(), known, strict=True)]
    objects = _exact_rows(whole.objects, known, "objects", whole, sidecar)
    predictions = None
    if whole.predictions is not None:
        predictions = _exact_rows(whole.predictions, known, "predictions", whole, sidecar)
    class_names = whole.class_names
    if "class_names" in sidecar.content and class_names == _names_from_json(sidecar.content["class_names_in_files"]):
        class_names = _names_from_json(sidecar.content["class_names"])
    done = replace(
        whole,
        frame_name=names,
        stamp=np.array(stamp, np.int64),
        objects=objects,
        predictions=predictions,
        class_names=class_names,
        detector=sidecar.detector(stems, whole.predictions),
        independent=sidecar.content.get("independent") is True and all(known),
        label_source=str(sidecar.content.get("label_source", "")),
        recording=_recordings(known) or whole.recording,
        ignored=concatenate_tables(
            [
                whole.ignored,
                ignored_from_json(
                    [entry.get("ignored") for entry in known], lambda f, r: f"{sidecar.path}: {f}.{r}", whole.losses
                ),
            ]
        ),
    )
    row_of = {stem: i for i, stem in enumerate(sidecar.frame)}
    order = np.argsort([row_of.get(stem, len(row_of)) for stem in stems], kind="stable")
    return done if np.array_equal(order, np.arange(len(order))) else done.take(order)


def _recordings(known: list[Json]) -> list[str]:
    """The recording of each frame where the sidecar tells that of all."""
    names = [entry.get("recording") for entry in known]
    return [name for name in names if isinstance(name, str)] if all(isinstance(name, str) for name in names) else []


def _with_missing_frames(plain: FrameSet, sidecar: Sidecar) -> FrameSet:
    """`plain` with the frames that have left no trace in the files, because they have neither image nor label."""
    present = set(plain.frame_name)
    missing = [stem for stem in sidecar.stems_without_image() if stem not in present]
    if not missing:
        return plain
    none = np.zeros(len(missing), np.bool_)
    images = plain.images
    if isinstance(images, FileImages):
        images = FileImages([*images.paths, *[None] * len(missing)])
    return replace(
        plain,
        frame_name=[*plain.frame_name, *missing],
        size=np.concatenate([plain.size, [sidecar.size(stem) for stem in missing]]).astype(np.int64),
        stamp=np.concatenate([plain.stamp, [-1] * len(missing)]).astype(np.int64),
        recording=(),
        labelled=np.concatenate([plain.labelled, none]),
        predicted=np.concatenate([plain.predicted, none]),
        images=images,
    )


def _exact_rows(table: Any, known: list[Json], what: str, frames: FrameSet, sidecar: Sidecar) -> Any:
    """`table` with the sidecar's rows in the frames whose files are as they were when the sidecar was written."""
    prints = fingerprints(table, len(frames))
    fresh = [i for i, k in enumerate(known) if what in k and k[what]["of"] == prints[i]]
    alike = {i: known[i][what] for i in fresh if "rows" not in known[i][what]}
    columns = {name: _exact_column(name, table, alike, frames, sidecar) for name in exact_columns(table)}
    table = replace(table, **columns)
    fresh = [i for i in fresh if "rows" in known[i][what]]
    if not fresh:
        return table
    lists = [known[i][what]["rows"] for i in fresh]
    scored = isinstance(table, Predictions)
    raw = rows_from_json(
        lists, fresh, frames.size, lambda f, r: f"{sidecar.path}: {f}.{r}", frames.losses, scored=scored
    )
    make = build_predictions if scored else build_objects
    exact = make(raw, frames.size, {}, frames.losses)
    kept = table.take(np.flatnonzero(~np.isin(table.frame, fresh)))
    return concatenate_tables([kept, exact])


def exact_columns(table: Objects | Predictions) -> tuple[str, ...]:
    """Name the columns that the sidecar holds for rows whose boxes, classes and masks the files have as they were."""
    return ("score",) if isinstance(table, Predictions) else ("instance", *OPTIONAL_COLUMNS)


def _exact_column(
    name: str, table: Any, alike: dict[int, Json], frames: FrameSet, sidecar: Sidecar
) -> npt.NDArray[Any]:
    """A column with the sidecar's values for the frames in which it has them."""
    column: npt.NDArray[Any] = getattr(table, name).copy()
    start = row_offsets(table.frame, len(frames))
    for i, entry in alike.items():
        if name not in entry:
            continue
        values = entry[name]
        if name in OPTIONAL_COLUMNS:
            rows = [f"{sidecar.path}: {frames.frame_name[i]} object {row}" for row in range(len(values))]
            values = usable_values(name, values, rows.__getitem__, frames.losses)
        column[start[i] : start[i + 1]] = np.array(values).reshape(start[i + 1] - start[i])
    return column


_TOLERANCE = 1e-9  # Pixels. A format that holds a box to less than this needs no help.


def write_sidecar(
    frames: FrameSet,
    folder: Path,
    stems: Sequence[str],
    read: Callable[[Path], FrameSet],
    class_ids: Sequence[int] | None = None,
) -> None:
    """Write the sidecar of a folder just written, holding whatever reading the folder without it would lose."""
    known = [_frame_entry(frames, i, stem) for i, stem in enumerate(stems)]
    content: Json = {"format": "simjudge sidecar", "version": 1, "frames": known}
    if class_ids is not None:
        content["class_ids"] = list(class_ids)
    (folder / FILE).write_text(json.dumps(content), encoding="utf-8")
    plain = read(folder)
    number = {stem: i for i, stem in enumerate(stems)}
    order = np.array([number[name] for name in plain.frame_name], np.int64)
    if plain.class_names != frames.class_names:
        content["class_names"] = _names_to_json(frames.class_names)
        content["class_names_in_files"] = _names_to_json(plain.class_names)
    content |= {"independent": True} if frames.independent else {}
    content |= {"label_source": frames.label_source} if frames.label_source else {}
    if frames.detector is not None:
        content["detector"] = frames.detector.to_json()
        for name, made in zip(plain.frame_name, fingerprints(plain.predictions, len(plain)), strict=True):
            if made:
                known[number[name]]["detected"] = made
    # COCO holds the crowds of a class itself.
    regions = frames.ignored.take(np.flatnonzero((frames.ignored.class_id < 0) | (len(plain.ignored) == 0)))
    for index in np.unique(regions.frame).tolist():
        (known[index]["ignored"],) = rows_to_json(regions, frames, np.array([index]))
    for what in ("objects", "predictions"):
        exact = _exact(getattr(frames, what), getattr(plain, what), frames, plain, order)
        for index, entry in exact.items():
            known[index][what] = entry
    (folder / FILE).write_text(json.dumps(content), encoding="utf-8")


def _frame_entry(frames: FrameSet, index: int, stem: str) -> Json:
    entry: Json = {
        "name": frames.frame_name[index],
        "size": frames.size[index].tolist(),
        "stamp": int(frames.stamp[index]),
    }
    if frames.recording:
        entry["recording"] = frames.recording[index]
    if stem != entry["name"]:
        entry["file"] = stem
    flags = {"labelled": frames.labelled[index], "predicted": frames.predicted[index]}
    flags["picture"] = frames.images is not None and frames.images.has(index)
    return entry | {key: bool(value) for key, value in flags.items() if not value}


def _names_to_json(names: dict[int, str]) -> list[list[Any]]:
    return [[key, name] for key, name in names.items()]


def _exact(
    wanted: Objects | Predictions | None,
    held: Objects | Predictions | None,
    frames: FrameSet,
    plain: FrameSet,
    order: IntArray,
) -> dict[int, Json]:
    """The rows of the frames in which the files hold something else than `wanted`, by frame number in `frames`."""
    if wanted is None:
        return {}
    prints = fingerprints(held, len(plain))
    row_of = np.full(len(frames), -1, np.int64)
    row_of[order] = np.arange(len(order))
    mine = row_offsets(wanted.frame, len(frames))
    theirs = row_offsets(held.frame if held is not None else np.empty(0, np.int64), len(plain))
    different, alike = [], {}
    extras = exact_columns(wanted)
    for i in np.flatnonzero((np.diff(mine) > 0) | (row_of >= 0)).tolist():
        first, end = (theirs[row_of[i]], theirs[row_of[i] + 1]) if row_of[i] >= 0 else (0, 0)
        ours = wanted.take(np.arange(mine[i], mine[i + 1]))
        if not len(ours) and first == end:
            continue
        if held is None or len(ours) != end - first or not _same(ours, held.take(np.arange(first, end))):
            different.append(i)
        else:
            other = [
                name
                for name in extras
                if not np.array_equal(getattr(ours, name), getattr(held, name)[first:end], equal_nan=True)
            ]
            if other:
                alike[i] = {"of": prints[row_of[i]], **{name: _column_to_json(getattr(ours, name)) for name in other}}
    chosen = np.array(different, np.int64)
    lists = rows_to_json(wanted, frames, chosen)
    return alike | {
        i: {"of": prints[row_of[i]] if row_of[i] >= 0 else "", "rows": rows}
        for i, rows in zip(different, lists, strict=True)
    }


def _column_to_json(column: npt.NDArray[Any]) -> list[float | int | None]:
    return [None if math.isnan(value) else value for value in column.tolist()]


def _same(mine: Objects | Predictions, theirs: Objects | Predictions) -> bool:
    close = np.abs(mine.box - theirs.box).max(initial=0) <= _TOLERANCE
    return bool(close and np.array_equal(mine.class_id, theirs.class_id) and _same_masks(mine, theirs))


def _same_masks(mine: Objects | Predictions, theirs: Objects | Predictions) -> bool:
    a = mine.masks if mine.masks is not None else Masks.none(len(mine))
    b = theirs.masks if theirs.masks is not None else Masks.none(len(theirs))
    has = a.shape[:, 0] > 0
    placed = np.array_equal(a.origin[has], b.origin[has])
    return placed and np.array_equal(a.shape, b.shape) and np.array_equal(a.bits, b.bits)
