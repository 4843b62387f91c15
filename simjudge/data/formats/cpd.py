"""The layout of the authors' public tool: `imgs/`, `labels/` and `PREDS/labels/`.

Rows are YOLO's, "class x y w h", normalised, class ids from 0 (their tool calls the first class 1). Their prediction
rows have no score, so a prediction read without a sidecar has score 1. An image without a label file has no objects;
their tool reads it so, and needs a prediction file for every image.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import atomic_folder
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages
from simjudge.core.names import name_to_stamp
from simjudge.data.format_support.image_files import (
    Format,
    count_images_below,
    drop_repeated_stems,
    file_stems,
    image_stem,
    list_images,
    readable_images,
    write_images,
)
from simjudge.data.format_support.raw_rows import build_objects, build_predictions, used_class_ids
from simjudge.data.format_support.sidecar import Sidecar, apply_sidecar, load_sidecar, write_sidecar
from simjudge.data.formats.yolo.labels import (
    format_labels,
    list_label_files,
    read_label_rows,
    scale_to_pixels,
    write_label_files,
)

PREDICTIONS = "PREDS"


def sniff_cpd(path: Path) -> bool:
    """Tell whether a path is of the authors' layout."""
    return (path / "imgs").is_dir() and (path / "labels").is_dir()


def read_cpd(path: str | Path) -> FrameSet:
    """Read a folder of the authors' layout."""
    path = Path(path)
    sidecar = load_sidecar(path)
    return apply_sidecar(_read_files(path, sidecar), sidecar)


def write_cpd(frames: FrameSet, path: str | Path) -> Losses:
    """Write a set in the authors' layout, which their tool reads, with the sidecar for what it cannot hold.

    Class ids are written as 0, 1, ... in their order, because their tool makes room for just as many.
    """
    path = Path(path)
    stems = file_stems(frames.frame_name)
    used = used_class_ids(frames.objects) | used_class_ids(frames.predictions) | set(frames.class_names)
    ids = {class_id: i for i, class_id in enumerate(sorted(used))}
    boxes = replace(frames.objects, masks=None)
    with atomic_folder(path) as folder:
        write_images(frames, folder / "imgs", stems)
        (folder / "imgs").mkdir(exist_ok=True)
        write_label_files(
            folder / "labels", stems, format_labels(boxes, frames.size, ids=ids), frames.labelled.tolist()
        )
        if frames.predictions is not None:
            texts = format_labels(replace(frames.predictions, masks=None), frames.size, ids=ids)
            write_label_files(folder / PREDICTIONS / "labels", stems, texts, frames.predicted.tolist())
        write_sidecar(frames, folder, stems, lambda texts: _read_files(texts, load_sidecar(texts)), sorted(used))
    return Losses()


def _read_files(path: Path, sidecar: Sidecar) -> FrameSet:
    losses = Losses()
    found = drop_repeated_stems(list_images(path / "imgs"), losses)
    count_images_below(path / "imgs", losses)
    stems_with_image = {image_stem(p) for p in found}
    images, size_array = readable_images(found, losses)
    labels = list_label_files(path / "labels", stems_with_image, sidecar, "label files without an image", losses)
    texts = path / PREDICTIONS / "labels"
    predictions = list_label_files(texts, stems_with_image, sidecar, "prediction files without an image", losses)
    without = sorted((set(labels) | set(predictions)) - stems_with_image)
    stems = [image_stem(p) for p in images] + without
    if not stems and not sidecar.frame:
        raise SimjudgeError(f"{path}: holds no readable image; an empty set cannot be used{losses.reason}")
    paths: list[Path | None] = [*images, *[None] * len(without)]
    size = np.array([*size_array.tolist(), *[sidecar.size(s) for s in without]], np.int64).reshape(-1, 2)
    frame = np.arange(len(stems))
    files = [labels.get(s) for s in stems]
    raw = scale_to_pixels(read_label_rows(files, losses), files, frame, size, losses, scored=False)
    files = [predictions.get(s) for s in stems]
    scored = scale_to_pixels(read_label_rows(files, losses), files, frame, size, losses, scored=True)
    raw, scored = (replace(rows, class_id=sidecar.class_ids(rows.class_id)) for rows in (raw, scored))
    ran = texts.is_dir()
    return FrameSet.build(
        path.name,
        size,
        build_objects(raw, size, {}, losses),
        build_predictions(scored, size, {}, losses) if ran else None,
        frame_name=stems,
        stamp=[name_to_stamp(s) for s in stems],
        labelled=[s in labels or not sidecar.rules_out("labelled", s) for s in stems],
        predicted=[ran and (s in predictions or not sidecar.rules_out("predicted", s)) for s in stems],
        images=FileImages(paths) if images else None,
        losses=losses,
    )


FORMATS = (
    Format(
        "cpd",
        "CPD",
        "a CPD folder",
        lambda source: sniff_cpd(source.path),
        10,
        read=lambda source, _options: read_cpd(source.path),
        write=write_cpd,
    ),
)
