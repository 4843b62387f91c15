"""A folder of YOLO predictions alone: a text file for each image, as ultralytics' save_txt and the authors write it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Predictions
from simjudge.data.format_support.image_files import file_stems
from simjudge.data.format_support.raw_rows import build_predictions
from simjudge.data.formats.yolo.labels import read_label_rows, scale_to_pixels
from simjudge.data.formats.yolo.layout import find_layout, is_yolo


def is_prediction_folder(path: Path) -> bool:
    """Tell whether a path is a folder of YOLO predictions.

    Returns:
        True where it holds text files with rows of numbers, or a folder of them called "labels".
    """
    folder = find_label_folder(path)
    if folder is None:
        return False
    for file in sorted(folder.glob("*.txt"))[:20]:
        rows = read_label_rows([file], Losses())
        if len(rows.file):
            return True
        if file.stat().st_size > 0:
            return False
    return True


def find_label_folder(path: Path) -> Path | None:
    """Find the folder of text files that a path is or holds as "labels".

    Returns:
        The folder; None where there is none with a .txt file.
    """
    for folder in (path / "labels", path):
        if folder.is_dir():
            return folder if next(folder.glob("*.txt"), None) is not None else None
    return None


def read_prediction_folder(path: Path, target: FrameSet, annotations: Path | None, losses: Losses) -> Predictions:
    """Read predictions for the frames of a set from a folder of text files named after them.

    Rows are "class x y w h score", or without the score (which is then 1), as ultralytics and the authors write them.

    Args:
        annotations: where `target` was read from: a pose data set says there how many keypoints rows hold.
        losses: takes files that belong to no frame, and rows that cannot be used.
    """
    folder = find_label_folder(path) or path
    by_stem = {file.stem: file for file in sorted(folder.glob("*.txt"))}
    stems = dict(zip(file_stems(target.frame_name), target.frame_name, strict=True))
    names = {name: by_stem[stem] for stem, name in stems.items() if stem in by_stem}
    if not names:
        some = next(iter(by_stem), "no .txt file")
        raise SimjudgeError(f"{path}: no file is named after a frame of {target.name} (the first is {some})")
    matched = {file.stem for file in names.values()}
    for stem, file in by_stem.items():
        if stem not in matched:
            losses.add("prediction files for frames that the set lacks", str(file))
    paths = [names.get(name) for name in target.frame_name]
    rows = read_label_rows(paths, losses)
    keypoints = find_layout(annotations, Losses()).keypoints if annotations and is_yolo(annotations) else 0
    raw = scale_to_pixels(rows, paths, np.arange(len(target)), target.size, losses, scored=True, keypoints=keypoints)
    return build_predictions(raw, target.size, target.class_names, losses)
