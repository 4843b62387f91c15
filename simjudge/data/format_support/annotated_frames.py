"""Frames and labelled shapes that an annotations file names, their image files, and the set they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages, ImageError, is_turned
from simjudge.core.names import name_to_stamp
from simjudge.core.object_tables import NO_INSTANCE, Objects
from simjudge.data.format_support.image_files import LONGEST_SIDE_PX, find_file, image_sizes
from simjudge.data.format_support.mask_codec import NO_MASK, MaskCrop, MaskList
from simjudge.data.format_support.raw_rows import ANY_CLASS, RawRows, build_objects, mend_foreign_labels
from simjudge.data.format_support.sidecar import Sidecar


@dataclass(repr=False)
class AnnotatedFrames(ShortRepr):
    """The usable ones of the frames that an annotations file names."""

    names: list[str]
    paths: list[Path | None]  # image files, None where there is none
    size: IntArray  # int64 (F, 2)
    entry: list[int]  # which entry of the file each frame is
    labelled: list[bool] = field(default_factory=list)  # whether each is labelled; filled in by the format

    def images(self) -> FileImages | None:
        """The images; None where there is not one."""
        return FileImages(self.paths) if any(self.paths) else None


def find_images(
    entries: Sequence[tuple[str, int, int]],
    stems: Sequence[str],
    folder: Path,
    sidecar: Sidecar,
    losses: Losses,
    where: str,
) -> AnnotatedFrames:
    """Find the image files of the frames that an annotations file names.

    A frame is left out, counted, where its image has no readable header or another size than the file says, and where
    neither tells the size. A missing image is counted only where other images of the set are there.
    """
    paths = [_image(name, folder) for name, _, _ in entries]
    stated = [(width, height) for _, width, height in entries]
    sizes = picture_sizes(paths, stated, lambda i: f"{where}: {entries[i][0]}", losses)
    some_image = any(path is not None for path in paths)
    found = AnnotatedFrames([], [], np.empty((0, 2), np.int64), [])
    kept: list[tuple[int, int]] = []
    seen: set[str] = set()
    for i, ((name, _, _), path, size) in enumerate(zip(entries, paths, sizes, strict=True)):
        stem = stems[i]
        if size is None:
            continue
        if stem in seen:
            losses.add("images with the same name as another", f"{where}: {name}")
            continue
        if path is None and some_image and not sidecar.rules_out("picture", stem):
            losses.add("images that are named but missing (their labels are kept)", f"{where}: {name}")
        seen.add(stem)
        found.names.append(stem)
        found.paths.append(path)
        found.entry.append(i)
        kept.append(size)
    found.size = np.array(kept, np.int64).reshape(-1, 2)
    return found


def picture_sizes(
    paths: Sequence[Path | None],
    stated: Sequence[tuple[int, int]],
    where: Callable[[int], str],
    losses: Losses,
) -> list[tuple[int, int] | None]:
    """Width and height of each frame's picture where file and header agree, or one says it; else None, counted."""
    present = [path for path in paths if path is not None]
    headers = dict(zip(present, image_sizes(present), strict=True))
    sizes: list[tuple[int, int] | None] = []
    for i, (path, said) in enumerate(zip(paths, stated, strict=True)):
        header = said if path is None else headers[path]
        sizes.append(None)
        if isinstance(header, ImageError):
            losses.add("unreadable images", f"{where(i)}: {header}")
        elif all(said) and header != said:
            shown = f"{path} is {header[0]}x{header[1]}, said {said[0]}x{said[1]}"
            if header == said[::-1] and path is not None and is_turned(path.read_bytes()):
                shown += "; labelled without regard to its EXIF orientation? Then take that out of the picture"
            losses.add("images of another size than annotated", f"{where(i)}: {shown}")
        elif not all(0 < side <= LONGEST_SIDE_PX for side in header):
            losses.add("frames without a size", where(i))
        else:
            sizes[i] = header
    return sizes


def _image(name: str, folder: Path) -> Path | None:
    plain = name.replace("\\", "/")
    last = plain.rsplit("/", 1)[-1]
    return find_file(
        [folder / "images", folder, folder / "data", folder.parent / "images", folder.parent], (plain, last)
    )


MISSING_PICTURE = "images that are named but missing (their labels are kept)"
NO_SHAPE = "shapes that are neither box, polygon nor mask"
CROWD = "regions of a crowd or to be ignored"
FLAGS = "flags such as occluded, truncated or difficult (their boxes are kept)"


@dataclass(frozen=True)
class LabelledShape:
    """A labelled shape."""

    name: str
    box: Sequence[float]  # x0, y0, x1, y1, half-open, pixels
    where: str  # names it to a person: file and row
    mask: MaskCrop = NO_MASK  # its pixels
    instance: int = NO_INSTANCE  # its number; NO_INSTANCE where it has none
    distance: float | None = None  # from the camera to its middle, metres; None where unknown
    visible: float | None = None  # the share of it that the image shows, 0 to 1; None where unknown
    ignored: bool = False  # whether it is no object, and predictions in it count neither way; its name may be empty


@dataclass(frozen=True)
class AnnotatedFrame:
    """A frame that an annotations file describes."""

    name: str
    picture: Path | None  # its image file; None where there is none
    stated: tuple[int, int]  # width and height as the file states them, pixels; 0 where it does not
    where: str
    shapes: Sequence[LabelledShape] | None  # what is labelled in it; None where nobody labelled it
    recording: str = ""  # the video or drive that it is of; empty where nothing tells it


def build_annotated_set(
    path: Path,
    frames: Sequence[AnnotatedFrame],
    number_classes: Callable[[set[str]], dict[int, str]],
    losses: Losses,
) -> FrameSet:
    """Make a set of frames and their shapes; a missing picture is counted where other frames have theirs."""
    pictures = [frame.picture for frame in frames]
    if any(pictures):
        for annotated in frames:
            if annotated.picture is None:
                losses.add(MISSING_PICTURE, annotated.where)
    sizes = picture_sizes(pictures, [frame.stated for frame in frames], lambda i: frames[i].where, losses)
    used = [(annotated, size) for annotated, size in zip(frames, sizes, strict=True) if size is not None]
    if not used:
        raise SimjudgeError(f"{path}: holds no usable image; an empty set cannot be used{losses.reason}")
    names = [annotated.name for annotated, _ in used]
    size = np.array([size for _, size in used], np.int64).reshape(-1, 2)
    found = [(number, shape) for number, (annotated, _) in enumerate(used) for shape in annotated.shapes or ()]
    ignored = [(number, shape) for number, shape in found if shape.ignored]
    found = [(number, shape) for number, shape in found if not shape.ignored]
    for _, shape in ignored:
        losses.add(CROWD, shape.where)
    for _, shape in found:
        if not shape.name.strip():
            losses.add("shapes without a class", shape.where)
    found = [(number, shape) for number, shape in found if shape.name.strip()]
    class_names = number_classes({shape.name for _, shape in (*found, *ignored) if shape.name})
    number_of = {name: class_id for class_id, name in class_names.items()}
    kept = [annotated.picture for annotated, _ in used]
    raw = mend_foreign_labels(_rows(found, class_names), size, str(path), losses)
    return FrameSet.build(
        path.absolute().name,
        size,
        build_objects(raw, size, class_names, losses),
        frame_name=names,
        stamp=[name_to_stamp(name) for name in names],
        labelled=[annotated.shapes is not None for annotated, _ in used],
        class_names=class_names,
        images=FileImages(kept) if any(kept) else None,
        losses=losses,
        recording=[one.recording for one, _ in used] if all(one.recording for one, _ in used) else (),
        ignored=Objects.build(
            [number for number, _ in ignored],
            [number_of.get(shape.name, ANY_CLASS) for _, shape in ignored],
            [shape.box for _, shape in ignored],
        ),
    )


def by_alphabet(names: set[str]) -> dict[int, str]:
    """Number classes from 0 in the order of their names."""
    return dict(enumerate(sorted(names)))


def known_first(known: Sequence[str]) -> Callable[[set[str]], dict[int, str]]:
    """Number classes in a known order; others follow in the order of their names."""
    return lambda names: dict(enumerate([*known, *sorted(names - set(known))]))


def _rows(found: Sequence[tuple[int, LabelledShape]], class_names: dict[int, str]) -> RawRows:
    shapes = [shape for _, shape in found]
    number = {name: class_id for class_id, name in class_names.items()}
    masks = MaskList()
    for shape in shapes:
        masks.append(shape.mask)
    return RawRows(
        np.array([frame for frame, _ in found], np.int64),
        np.array([number[shape.name] for shape in shapes], np.float64),
        np.array([shape.box for shape in shapes], np.float64).reshape(-1, 4),
        lambda row: shapes[row].where,
        instance=np.array([shape.instance for shape in shapes], np.int64),
        masks=masks.masks(),
        distance=[shape.distance for shape in shapes],
        visible=[shape.visible for shape in shapes],
    )
