"""The layout of the authors' public tool: `imgs/`, `labels/` and `PREDS/labels/`.

Rows are YOLO's, "class x y w h", normalised, class ids from 0 (their tool calls the first class 1). Their prediction
rows have no score, so a prediction read without a sidecar has score 1. A picture without a label file has no objects;
their tool reads it so, and needs a prediction file for every picture.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import atomic_folder
from simjudge.core.frames import FrameSet, name_to_stamp
from simjudge.core.images import FileImages
from simjudge.data.formats.checks import objects_of, predictions_of
from simjudge.data.formats.pictures import file_stems, pictures_in, readable, without_twins, write_pictures
from simjudge.data.formats.sidecar import Sidecar, complete, load_sidecar, write_sidecar
from simjudge.data.formats.yolo_text import raw_from_rows, read_rows, text_files, texts_in, used_ids, write_texts

PREDICTIONS = "PREDS"


def sniff_cpd(path: Path) -> bool:
    """Whether `path` is a folder with `imgs/` and `labels/`."""
    return (path / "imgs").is_dir() and (path / "labels").is_dir()


def read_cpd(path: Path) -> FrameSet:
    """Read a folder of the authors' layout.

    Raises:
        SimjudgeError: it holds no readable picture.
    """
    sidecar = load_sidecar(path)
    return complete(_read_files(path, sidecar), sidecar)


def write_cpd(frames: FrameSet, path: Path) -> None:
    """Write `frames` in the authors' layout, which their tool reads, with the sidecar for what it cannot hold.

    Class ids are written as 0, 1, ... in their order, because their tool makes room for just as many.
    """
    stems = file_stems(frames.frame_name)
    used = used_ids(frames.objects) | used_ids(frames.predictions) | set(frames.class_names)
    ids = {class_id: i for i, class_id in enumerate(sorted(used))}
    boxes = replace(frames.objects, masks=None)
    with atomic_folder(path) as folder:
        write_pictures(frames, folder / "imgs", stems)
        (folder / "imgs").mkdir(exist_ok=True)
        write_texts(folder / "labels", stems, text_files(boxes, frames.size, ids=ids), frames.labelled.tolist())
        if frames.predictions is not None:
            texts = text_files(replace(frames.predictions, masks=None), frames.size, ids=ids)
            write_texts(folder / PREDICTIONS / "labels", stems, texts, frames.predicted.tolist())
        write_sidecar(frames, folder, stems, lambda place: _read_files(place, load_sidecar(place)), sorted(used))


def _read_files(path: Path, sidecar: Sidecar) -> FrameSet:
    losses = Losses()
    found = without_twins(pictures_in(path / "imgs"), losses)
    pictured = {p.stem for p in found}
    pictures, size_array = readable(found, losses)
    labels = texts_in(path / "labels", pictured, sidecar, "label files without a picture", losses)
    place = path / PREDICTIONS / "labels"
    predictions = texts_in(place, pictured, sidecar, "prediction files without a picture", losses)
    without = sorted((set(labels) | set(predictions)) - pictured)
    stems = [p.stem for p in pictures] + without
    if not stems and not sidecar.frame:
        raise SimjudgeError(f"{path}: holds no readable picture; an empty set cannot be used")
    paths: list[Path | None] = [*pictures, *[None] * len(without)]
    size = np.array([*size_array.tolist(), *[sidecar.size(s) for s in without]], np.int64).reshape(-1, 2)
    frame = np.arange(len(stems))
    files = [labels.get(s) for s in stems]
    raw = raw_from_rows(read_rows(files, losses), files, frame, size, losses, scored=False)
    files = [predictions.get(s) for s in stems]
    scored = raw_from_rows(read_rows(files, losses), files, frame, size, losses, scored=True)
    raw, scored = (replace(rows, class_id=sidecar.class_ids(rows.class_id)) for rows in (raw, scored))
    ran = place.is_dir()
    return FrameSet.build(
        path.name,
        size,
        objects_of(raw, size, {}, losses),
        predictions_of(scored, size, {}, losses) if ran else None,
        frame_name=stems,
        stamp=[name_to_stamp(s) for s in stems],
        labelled=[s in labels or not sidecar.says_not("labelled", s) for s in stems],
        predicted=[ran and (s in predictions or not sidecar.says_not("predicted", s)) for s in stems],
        images=FileImages(paths) if pictures else None,
        losses=losses,
    )
