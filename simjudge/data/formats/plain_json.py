"""The plain JSON of simjudge: a list of frames with size, objects and predictions, and whatever else a set holds."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import FolderKind, atomic_file, atomic_folder
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages
from simjudge.core.names import NO_STAMP, DetectorRecord, class_names_from, name_to_stamp, stamp_to_name
from simjudge.core.text import Json, load_json, one_line
from simjudge.data.format_support.annotated_frames import picture_sizes
from simjudge.data.format_support.image_files import (
    LONGEST_SIDE_PX,
    Format,
    file_stems,
    find_file,
    image_file,
    lies_below,
    write_images,
)
from simjudge.data.format_support.raw_rows import (
    RawRows,
    build_objects,
    build_predictions,
    ignored_from_json,
    rows_from_json,
    rows_to_json,
)


def is_plain(content: Any) -> bool:
    """Tell whether a JSON file is of this format: frames with sizes, bare or under "frames"; an empty list counts."""
    frames = content.get("frames") if isinstance(content, dict) else content
    return isinstance(frames, list) and all(isinstance(f, dict) and "size" in f for f in frames[:5])


def read_plain_json(path: str | Path) -> FrameSet:
    """Read a plain JSON file.

    A list of frames, or {"class_names": {"1": "red", ...}, "frames": [...]}, which may also hold the "detector" of the
    predictions: {"name": ..., "sha256": ..., "settings": {...}}, and "independent": true where each frame was drawn by
    itself, as at random poses. A frame holds "size" [width, height],
    "objects" (class, box [x0, y0, x1, y1] in pixels; instance; mask as COCO run lengths) and "predictions" (class, box,
    score; mask), and may hold "ignored" (regions in which predictions count neither way: box; class, -1 for any),
    "name", "stamp" (nanoseconds), "recording" (the drive or scene that it is of, in all frames or in none) and "image"
    (a path, relative to the file). A frame without "objects" is not labelled, one without "predictions" has had no
    detector on it.
    """
    path = Path(path)
    return read_plain_content(load_json(path), path)


def read_plain_content(content: Any, path: Path) -> FrameSet:
    """Read a plain JSON file that is parsed already; see `read_plain_json`."""
    if not is_plain(content):
        raise SimjudgeError(f"{path}: no list of frames with 'size', 'objects' and 'predictions' in it")
    frames = content["frames"] if isinstance(content, dict) else content
    losses = Losses()
    class_names = _class_names(content, path)
    sized = [(i, f) for i, f in enumerate(frames) if _usable(f, f"{path}: frame {i}", losses)]
    named = [_image(f, f"{path}: frame {i}", path.parent, losses) for i, f in sized]
    stated = [(int(f["size"][0]), int(f["size"][1])) for _, f in sized]
    sizes = picture_sizes(named, stated, lambda k: f"{path}: frame {sized[k][0]}", losses)
    kept = [frame for frame, of in zip(sized, sizes, strict=True) if of is not None]
    paths = [image for image, of in zip(named, sizes, strict=True) if of is not None]
    if not kept:
        raise SimjudgeError(f"{path}: holds no usable frame; an empty set cannot be used{losses.reason}")
    size = np.array([f["size"] for _, f in kept], np.int64)
    stamp = [_stamp(f, f"{path}: frame {i}") for i, f in kept]
    given = [(frame.get("name"), i, of) for (i, frame), of in zip(kept, stamp, strict=True)]
    names = [_default_name(i, of) if name is None else str(name) for name, i, of in given]
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise SimjudgeError(f"{path}: two frames are called {one_line(twice)}; give each a 'name' of its own")
    labels, found = (_raw(what, kept, size, path, losses) for what in ("objects", "predictions"))
    predicted = [isinstance(f.get("predictions"), list) for _, f in kept]
    return FrameSet.build(
        path.stem,
        size,
        build_objects(labels, size, class_names, losses),
        build_predictions(found, size, class_names, losses) if any(predicted) else None,
        frame_name=names,
        stamp=stamp,
        labelled=[isinstance(f.get("objects"), list) for _, f in kept],
        predicted=predicted,
        class_names=class_names,
        images=FileImages(paths) if any(paths) else None,
        losses=losses,
        detector=_detector(content, path) if any(predicted) else None,
        independent=isinstance(content, dict) and content.get("independent") is True,
        label_source=str(content.get("label_source", "")) if isinstance(content, dict) else "",
        recording=_recordings(kept, path),
        ignored=ignored_from_json(
            [f.get("ignored") for _, f in kept], lambda f, r: f"{path}: frame {kept[f][0]}: ignored {r}", losses
        ),
    )


def write_plain_json(frames: FrameSet, path: str | Path) -> Losses:  # noqa: C901 - one question a field
    """Write a set as one JSON file.

    Images that are files in the same folder or below are named by their path relative to `path`; otherwise all are
    written into `STEM.images/` beside it, so that the set holds all its pictures.
    Without class names, detector, source of labels and mark of independent frames the file is a bare list of frames.
    """
    path = Path(path)
    images = _image_names(frames, path)
    everything = np.arange(len(frames))
    objects = rows_to_json(frames.objects, frames, everything)
    predictions = None if frames.predictions is None else rows_to_json(frames.predictions, frames, everything)
    ignored = rows_to_json(frames.ignored, frames, everything)
    entries = []
    for i, name in enumerate(frames.frame_name):
        entry: Json = {"size": frames.size[i].tolist()}
        stamp = int(frames.stamp[i])
        if stamp != name_to_stamp(name):
            entry["stamp"] = stamp
        if name != _default_name(i, stamp) or ("stamp" not in entry and stamp != NO_STAMP):
            entry["name"] = name
        if frames.recording:
            entry["recording"] = frames.recording[i]
        if images[i] is not None:
            entry["image"] = images[i]
        if frames.labelled[i]:
            entry["objects"] = objects[i]
        if ignored[i]:
            entry["ignored"] = ignored[i]
        if predictions is not None and frames.predicted[i]:
            entry["predictions"] = predictions[i]
        entries.append(entry)
    names = {str(key): name for key, name in frames.class_names.items()}
    head: dict[str, object] = {"class_names": names} if names else {}
    if frames.detector is not None:
        head["detector"] = frames.detector.to_json()
    if frames.independent:
        head["independent"] = True
    if frames.label_source:
        head["label_source"] = frames.label_source
    content = {**head, "frames": entries} if head else entries
    with atomic_file(path) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
    (_images_folder(path) / _UNFINISHED).unlink(missing_ok=True)
    return Losses()


_UNFINISHED = ".unfinished"  # Stands in the folder of images until their .json is there


def _images_folder(path: Path) -> Path:
    return path.with_name(f"{path.stem}.images")


def _image_names(frames: FrameSet, path: Path) -> Sequence[str | None]:
    images = frames.images
    if images is None:
        return [None] * len(frames)
    files = [image_file(images, i) for i in range(len(frames))]
    base, known = path.parent.resolve(), dict[Path, bool]()
    if all(not images.has(i) if file is None else lies_below(file, base, known) for i, file in enumerate(files)):
        return [None if f is None else Path(os.path.relpath(f.resolve(), base)).as_posix() for f in files]
    folder = _images_folder(path)
    with atomic_folder(folder, FolderKind("folder of images without its .json", ["*"], [_UNFINISHED])) as temporary:
        names = write_images(frames, temporary, file_stems(frames.frame_name))
        (temporary / _UNFINISHED).touch()
    return [None if name is None else f"{folder.name}/{name}" for name in names]


def _recordings(kept: Sequence[tuple[int, Any]], path: Path) -> list[str]:
    """The recording of each frame; nothing where no frame tells any."""
    given = [(i, frame.get("recording")) for i, frame in kept]
    if all(name is None for _, name in given):
        return []
    bare = next((i for i, name in given if not isinstance(name, (str, int)) or isinstance(name, bool)), None)
    if bare is not None:
        raise SimjudgeError(
            f"{path}: frame {bare}: 'recording' is no name, while other frames have one; give it to all"
        )
    return [str(name) for _, name in given]


def _default_name(index: int, stamp: int) -> str:
    return stamp_to_name(stamp) if stamp != NO_STAMP else f"{index:06d}"


def _class_names(content: Any, path: Path) -> dict[int, str]:
    names = content.get("class_names", {}) if isinstance(content, dict) else {}
    if not isinstance(names, dict):
        raise SimjudgeError(f'{path}: "class_names" is not like {{"1": "red"}}; mend it')
    return class_names_from(names.items(), f'{path}: "class_names"')


def _detector(content: Any, path: Path) -> DetectorRecord | None:
    given = content.get("detector") if isinstance(content, dict) else None
    return None if given is None else DetectorRecord.from_json(given, f'{path}: "detector"')


def _usable(frame: Any, where: str, losses: Losses) -> bool:
    try:
        width, height = frame["size"]
        good = all(int(side) == side and 0 < side <= LONGEST_SIDE_PX for side in (width, height))
    except (TypeError, KeyError, ValueError, OverflowError):
        good = False
    if not good:
        held = frame.get("size") if isinstance(frame, dict) else frame
        losses.add("frames without a size", f"{where} ({one_line(held)})")
    return good


def _stamp(frame: dict[str, object], where: str) -> int:
    if "stamp" not in frame:
        return name_to_stamp(str(frame.get("name", "")))
    stamp = frame["stamp"]
    if not isinstance(stamp, int) or not NO_STAMP <= stamp < 2**63:
        raise SimjudgeError(f"{where}: stamp {one_line(stamp)} is not a number of nanoseconds; mend or remove it")
    return stamp


def _raw(what: str, kept: list[tuple[int, dict[str, object]]], size: IntArray, path: Path, losses: Losses) -> RawRows:
    """The objects or predictions of the usable frames; messages number frames as the file does."""
    lists = [_list_of(f, what, f"{path}: frame {i}", losses) for i, f in kept]

    def where(frame: int, row: int) -> str:
        return f"{path}: frame {kept[frame][0]} {what[:-1]} {row}"

    return rows_from_json(lists, range(len(kept)), size, where, losses, scored=what == "predictions")


def _list_of(frame: dict[str, object], what: str, where: str, losses: Losses) -> list[Any]:
    rows = frame.get(what)
    if rows is not None and not isinstance(rows, list):
        losses.add("frames whose objects or predictions are not a list", f"{where} ({one_line(rows)})")
    return rows if isinstance(rows, list) else []


def _image(frame: dict[str, object], where: str, folder: Path, losses: Losses) -> Path | None:
    named = frame.get("image")
    if named is None:
        return None
    image = find_file([folder], [str(named)])
    if image is None:
        losses.add("images that are named but missing", f"{where}: {folder / str(named)}")
    return image


FORMATS = (
    Format(
        "json",
        "Plain JSON",
        "a .json of frames",
        lambda source: is_plain(source.json),
        40,
        read=lambda source, _options: read_plain_content(source.json, source.path),
        write=write_plain_json,
        suffixes=(".json",),
    ),
)
