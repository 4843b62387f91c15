"""YOLO data sets as ultralytics and Roboflow write them, and folders of predictions alone.

Beside the images lie a text file of normalised rows each, and data.yaml. `layout` finds the folders, `labels` reads and
writes the text files. The format: https://docs.ultralytics.com/datasets/detect/.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import yaml

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import atomic_folder
from simjudge.core.frames import FrameSet, LabelFiles, LabelPictures, decode_label_numbers
from simjudge.core.images import FileImages, encode_png
from simjudge.core.names import composed, name_to_stamp
from simjudge.core.object_tables import Predictions
from simjudge.data.format_support.image_files import (
    Format,
    file_stems,
    image_stem,
    list_images,
    readable_images,
    same_size,
    write_images,
)
from simjudge.data.format_support.raw_rows import build_objects, build_predictions, mend_foreign_labels, used_class_ids
from simjudge.data.format_support.sidecar import Sidecar, apply_sidecar, load_sidecar, write_sidecar
from simjudge.data.formats.yolo.labels import (
    format_labels,
    list_label_files,
    read_label_rows,
    scale_to_pixels,
    write_label_files,
)
from simjudge.data.formats.yolo.layout import YoloLayout, YoloSplit, find_layout, is_yolo, label_picture_folder

log = logging.getLogger(__name__)

# Class ids below this without a name get one in data.yaml, since ultralytics wants a name for every number.
PLACEHOLDERS_UP_TO = 1000

LABEL_KINDS = ("semantic", "predicted_semantic")  # Folders of label pictures, as labelled and as predicted

_SIDES = {"train": "train", "val": "valid", "test": "test"}  # What data.yaml calls the sides


@dataclass
class FrameFiles:
    """The files of the frames of a set, gathered split by split; None where a frame has no such file."""

    names: list[str] = field(default_factory=list)
    images: list[Path | None] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    labels: list[Path | None] = field(default_factory=list)
    predictions: list[Path | None] = field(default_factory=list)
    predicted: list[bool] = field(default_factory=list)


def read_yolo(path: str | Path) -> FrameSet:
    """Read all splits (or the one split) that a path is.

    Labels are rows "class x y w h", perhaps with keypoints behind, which are not read, or "class x1 y1 x2 y2 ..." (a
    polygon: a mask, and its extent as the box). Predictions are rows with the score as last column, in `predictions/`
    beside `labels/`; where that folder exists, an image without a file in it is one on which the detector found
    nothing, as ultralytics' save_txt leaves it. Label pictures are PNGs of class ids in `semantic/`, predicted ones in
    `predicted_semantic/`. `path`: a data set folder, its data.yaml, a split folder, or a folder of images with labels.
    """
    path = Path(path)
    losses = Losses()
    layout = find_layout(path, losses)
    sidecar = load_sidecar(layout.root)
    return apply_sidecar(_read_files(layout, sidecar, path, losses), sidecar)


def write_yolo(
    frames: FrameSet,
    path: str | Path,
    sides: Sequence[str] = (),
    more: Mapping[str, object] | None = None,
    pictures: Mapping[str, Callable[[int], bytes]] | None = None,
) -> Losses:
    """Write `frames` as a folder: data.yaml, images/, labels/, predictions/, further pictures and the sidecar."""
    path = Path(path)
    stems = file_stems(frames.frame_name)
    with atomic_folder(path) as folder:
        write_images(frames, folder / "images", stems)
        (folder / "images").mkdir(exist_ok=True)
        write_label_files(
            folder / "labels", stems, format_labels(frames.objects, frames.size), frames.labelled.tolist()
        )
        if frames.predictions is not None:
            texts = format_labels(frames.predictions, frames.size, scores=True)
            write_label_files(folder / "predictions", stems, texts, frames.predicted.tolist())
        pictures = {**_own_pictures(frames), **(pictures or {})}
        for kind, make_png in pictures.items():
            (folder / kind).mkdir()
            for index, stem in enumerate(stems):
                if png := make_png(index):
                    (folder / kind / f"{stem}.png").write_bytes(png)
        kinds = ("images", "labels", "predictions", *pictures)
        _move_to_sides(folder, kinds, dict(zip(stems, sides, strict=True)) if sides else {})
        there = {key: f"images/{side}" for key, side in _SIDES.items() if side in sides}
        folders = there if sides else {"train": "images", "val": "images"}
        description = {**folders, "names": _names_for_all(frames), **(more or {})}
        with (folder / "data.yaml").open("w", encoding="utf-8") as stream:
            yaml.safe_dump(description, stream, allow_unicode=True, sort_keys=False)
        write_sidecar(frames, folder, stems, _read_plain)
    return Losses()


def _own_pictures(frames: FrameSet) -> dict[str, Callable[[int], bytes]]:
    """The label pictures of a set as PNG files by folder and frame; empty bytes where a frame has none."""

    def maker(pictures: LabelPictures) -> Callable[[int], bytes]:
        return lambda index: encode_png(pictures.read(index)[..., None]) if pictures.has(index) else b""

    kinds = zip(LABEL_KINDS, (frames.semantic, frames.predicted_semantic), strict=True)
    return {kind: maker(pictures) for kind, pictures in kinds if pictures is not None}


def _move_to_sides(folder: Path, kinds: Sequence[str], side: Mapping[str, str]) -> None:
    """Move the files of each stem from some folders into the folder of its side there."""
    for kind in kinds:
        for file in sorted((folder / kind).glob("*.*")) if side else []:
            target = folder / kind / side[file.stem]
            target.mkdir(exist_ok=True)
            file.rename(target / file.name)


def _read_plain(folder: Path) -> FrameSet:
    losses = Losses()
    return _read_files(find_layout(folder, losses), load_sidecar(folder), folder, losses)


def _read_files(layout: YoloLayout, sidecar: Sidecar, path: Path, losses: Losses) -> FrameSet:
    for note in layout.notes:
        log.warning("%s", note)
    files = _collect_files(layout.splits, sidecar, losses)
    if not files.names and not sidecar.frame:
        raise SimjudgeError(f"{path}: holds no readable image; an empty set cannot be used{losses.reason}")
    size = np.array(files.sizes, np.int64).reshape(-1, 2)
    frame = np.arange(len(files.names))
    raw = scale_to_pixels(
        read_label_rows(files.labels, losses),
        files.labels,
        frame,
        size,
        losses,
        scored=False,
        keypoints=layout.keypoints,
    )
    # What simjudge has written is what it was given.
    raw = raw if sidecar.frame else mend_foreign_labels(raw, size, str(path), losses)
    objects = build_objects(raw, size, layout.class_names, losses)
    predictions = None
    if any(files.predicted):
        rows = read_label_rows(files.predictions, losses)
        scored = scale_to_pixels(rows, files.predictions, frame, size, losses, scored=True, keypoints=layout.keypoints)
        predictions = build_predictions(scored, size, layout.class_names, losses)
    labelled = [label is not None for label in files.labels]
    _count_unlabelled(files, sidecar, labelled, losses)
    semantic, predicted_semantic = (_label_pictures(files.images, size, kind, losses) for kind in LABEL_KINDS)
    if predicted_semantic is not None:
        files.predicted = [ran or predicted_semantic.has(i) for i, ran in enumerate(files.predicted)]
    frames = FrameSet.build(
        path.absolute().parent.name if path.is_file() else path.absolute().name,
        size,
        objects,
        predictions,
        frame_name=files.names,
        stamp=[name_to_stamp(name) for name in files.names],
        labelled=labelled,
        predicted=files.predicted,
        class_names=layout.class_names,
        images=FileImages(files.images) if any(files.images) else None,
        losses=losses,
    )
    return replace(frames, semantic=semantic, predicted_semantic=predicted_semantic)


def _label_pictures(images: Sequence[Path | None], size: IntArray, kind: str, losses: Losses) -> LabelFiles | None:
    """The label pictures beside images; None where there is none."""
    folders = {image.parent: label_picture_folder(image.parent, kind) for image in images if image is not None}
    there = {folder: {composed(file.name): file for file in list_images(beside)} for folder, beside in folders.items()}
    found = [there[image.parent].get(f"{image_stem(image)}.png") if image is not None else None for image in images]
    return LabelFiles(same_size(found, size, losses), decode_label_numbers) if any(found) else None


def _collect_files(splits: Sequence[YoloSplit], sidecar: Sidecar, losses: Losses) -> FrameFiles:
    files = FrameFiles()
    good, size_array = readable_images([p for split in splits for p in split.images], losses)
    sizes: dict[Path, tuple[int, int]] = dict(zip(good, map(tuple, size_array.tolist()), strict=True))
    count = Counter(image_stem(p) for split in splits for p in split.images)
    taken: set[str] = set()
    for split in splits:
        _count_texts_below(split, splits, losses)
        # Splits may be lists of images out of one folder: a label is without an image only where no split has one.
        stems_with_image = {image_stem(p) for other in splits if other.labels == split.labels for p in other.images}
        labels = list_label_files(split.labels, stems_with_image, sidecar, "label files without an image", losses)
        found = list_label_files(
            split.predictions, stems_with_image, sidecar, "prediction files without an image", losses
        )
        ran = split.predictions.is_dir()
        images: dict[str, Path | None] = {image_stem(p): p for p in split.images if p in sizes}
        images.update(dict.fromkeys(sorted((set(labels) | set(found)) - stems_with_image)))
        for stem, image in images.items():
            name = f"{split.name}_{stem}" if count[stem] > 1 and split.name else stem
            if name in taken and image is not None:
                name = "_".join([*image.parent.parts[-2:], stem])
            if name in taken:
                losses.add("images with the same name as another", str(image or labels.get(stem) or found.get(stem)))
                continue
            taken.add(name)
            files.names.append(name)
            files.images.append(image)
            files.sizes.append(sizes[image] if image else sidecar.size(stem) or (0, 0))
            files.labels.append(labels.get(stem))
            files.predictions.append(found.get(stem))
            files.predicted.append(ran and (stem in found or not sidecar.rules_out("predicted", stem)))
    return files


def _count_texts_below(split: YoloSplit, splits: Sequence[YoloSplit], losses: Losses) -> None:
    """Count the label files below a split's own whose folder has no counterpart with images."""
    labels, images = split.labels, {image.parent for image in split.images}
    if labels is None or labels in images:
        return
    for place in sorted({file.parent for file in labels.rglob("*.txt")} - {other.labels for other in splits}):
        if not any(list_images(folder / place.relative_to(labels)) for folder in images):
            texts = sorted(place.glob("*.txt"))
            losses.add("label files without an image", str(texts[0]), len(texts))


def _count_unlabelled(files: FrameFiles, sidecar: Sidecar, labelled: list[bool], losses: Losses) -> None:
    if not any(labelled):
        return
    for name, image, has in zip(files.names, files.images, labelled, strict=True):
        if not has and not sidecar.rules_out("labelled", name):
            losses.add("images without a label file", str(image))


def _names_for_all(frames: FrameSet) -> dict[int, str]:
    """A name for every class id from 0 to the largest, its number where it has none."""
    used = used_class_ids(frames.objects) | used_class_ids(frames.predictions) | set(frames.class_names)
    top = max(used, default=-1)
    ids = range(top + 1) if top < PLACEHOLDERS_UP_TO else sorted(used)
    return {i: frames.class_name(i) for i in ids}


def is_prediction_folder(path: Path) -> bool:
    """Tell whether a path is a folder of YOLO predictions."""
    folder = find_label_folder(path)
    if folder is None:
        return False
    for file in sorted(_texts(folder))[:20]:
        rows = read_label_rows([file], Losses())
        if len(rows.file):
            return True
        if file.stat().st_size > 0:
            return False
    return True


def find_label_folder(path: Path) -> Path | None:
    """Find the folder of text files that a path is or holds as "labels"; None where there is none with a .txt file."""
    for folder in (path / "labels", path):
        if folder.is_dir():
            return folder if next(_texts(folder), None) is not None else None
    return None


def _texts(folder: Path) -> Iterator[Path]:
    return folder.rglob("*.txt") if folder.name == "labels" else folder.glob("*.txt")


def _tails(stem: str) -> list[int]:
    return [at + 1 for at, letter in enumerate(stem) if letter == "_"]


def read_prediction_folder(path: Path, target: FrameSet, annotations: Path | None, losses: Losses) -> Predictions:
    """Read predictions for the frames of a set from a folder of text files named after them.

    Rows are "class x y w h score", or without the score (which is then 1), as ultralytics and the authors write them.
    `annotations`: where `target` was read from: a pose data set says there how many keypoints rows hold; `losses`:
    takes files that belong to no frame, and rows that cannot be used.
    """
    folder = find_label_folder(path) or path
    files = sorted(_texts(folder))
    stems = dict(zip(file_stems(target.frame_name), target.frame_name, strict=True))
    # A picture of a name that several folders have is called SPLIT_FOLDER_NAME.
    tails = Counter(stem[at:] for stem in stems for at in _tails(stem))
    whole = {stem[at:]: stem for stem in stems for at in _tails(stem) if tails[stem[at:]] == 1}
    names: dict[str, Path] = {}
    for file in files:
        below = "_".join([*file.parent.relative_to(folder).parts, image_stem(file)])
        nested = whole.get(below, "") if file.parent != folder else ""
        stem = next((key for key in (below, nested, image_stem(file)) if key in stems), None)
        if stem is not None:
            names.setdefault(stems[stem], file)
    if not names:
        some = files[0].stem if files else "no .txt file"
        raise SimjudgeError(f"{path}: no file is named after a frame of {target.name} (the first is {some})")
    matched = set(names.values())
    for file in files:
        if file not in matched:
            losses.add("prediction files for frames that the set lacks", str(file))
    paths = [names.get(name) for name in target.frame_name]
    rows = read_label_rows(paths, losses)
    keypoints = find_layout(annotations, Losses()).keypoints if annotations and is_yolo(annotations) else 0
    raw = scale_to_pixels(rows, paths, np.arange(len(target)), target.size, losses, scored=True, keypoints=keypoints)
    return build_predictions(raw, target.size, target.class_names, losses)


__all__ = ["FORMATS", "is_prediction_folder", "is_yolo", "read_prediction_folder", "read_yolo", "write_yolo"]

FORMATS = (
    Format(
        "yolo",
        "YOLO",
        "a YOLO folder or data.yaml",
        lambda source: is_yolo(source.path, described=source.for_predictions),
        50,
        read=lambda source, _options: read_yolo(source.path),
        write=write_yolo,
        label_pictures=True,
    ),
    Format(
        "yolo-predictions",
        "YOLO predictions",
        "a folder of YOLO predictions",
        lambda source: is_prediction_folder(source.path),
        60,
        read_predictions=lambda source, target, annotations, losses: read_prediction_folder(
            source.path, target, annotations, losses
        ),
    ),
)
