"""What a data format declares, and files of images: finding them, their sizes, where they lie, and writing them.

A file from elsewhere may name, or link to, any file of this machine. What looks like labels in no format that simjudge
reads is named.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import is_file
from simjudge.core.frames import FrameSet, LabelFiles, LabelPicture
from simjudge.core.images import IMAGE_SUFFIXES, FileImages, ImageError, Images, ImageSubset, encode_png, image_size
from simjudge.core.names import composed, name_to_stamp
from simjudge.core.object_tables import Predictions
from simjudge.core.text import load_json
from simjudge.data.clouds import CloudSet

THREADS = 4
LONGEST_SIDE_PX = 1_000_000  # Pixels. A size beyond is a slip.
LONGEST_STEM_BYTES = 180  # Bytes; file systems allow 255 for a name, and temporary names are longer than final ones
_KEPT = " !#$&'()+,;=@[]^`{}~"


def list_images(folder: Path) -> list[Path]:
    """List the image files directly in a folder."""
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        names = sorted(
            e.name for e in entries if e.name.lower().endswith(IMAGE_SUFFIXES) and not e.name.startswith(".")
        )
    return [folder / name for name in names]


def folders_below(folder: Path) -> Iterator[Path]:
    """A folder and all folders below it, sorted, without hidden ones; where a link leads to, once."""
    seen = set()
    for place, inside, _ in os.walk(folder, followlinks=True):
        known = Path(place).stat()
        if (known.st_dev, known.st_ino) in seen:
            inside.clear()
            continue
        seen.add((known.st_dev, known.st_ino))
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        yield Path(place)


def list_files(folder: Path, pattern: str) -> list[Path]:
    """List the ordinary files directly in a folder whose names match, without hidden ones."""
    return sorted(file for file in folder.glob(pattern) if is_file(file) and not file.name.startswith("."))


def files_below(folder: Path, pattern: str) -> list[Path]:
    """List such files in a folder and in all folders below it."""
    return [file for place in folders_below(folder) for file in list_files(place, pattern)]


def images_below(folder: Path) -> dict[Path, list[Path]]:
    """List the image files in a folder and in each folder below it that holds some; where a link leads to, once."""
    found = {place: images for place in folders_below(folder) if (images := list_images(place))}
    return {folder: [], **found}


def count_images_below(folder: Path, losses: Losses) -> None:
    """Count the images in folders below one whose format has none there."""
    for place, images in images_below(folder).items():
        if place != folder and images:
            losses.add("images in folders below (left aside)", str(images[0]), len(images))


def count_images_aside(folder: Path, read: Collection[Path], losses: Losses) -> None:
    """Count the images in and below a folder that nobody reads."""
    aside = [image for images in images_below(folder).values() for image in images if image not in read]
    losses.add("images that nothing names (left aside)", str(next(iter(aside), "")), len(aside))


def image_stem(path: Path) -> str:
    """The name that an image or its labels give to a frame: without the ending, in one form of Unicode."""
    return composed(path.stem)


def find_file(folders: Sequence[Path], names: Sequence[str]) -> Path | None:
    """Find the first file of some names in some folders, as written, else in another form of Unicode."""
    forms = (str, composed, partial(unicodedata.normalize, "NFD"))
    for written in dict.fromkeys(tuple(map(form, names)) for form in forms):
        for folder in folders:
            if found := next((folder / name for name in written if is_file(folder / name)), None):
                return found
    return None


def drop_repeated_stems(paths: Sequence[Path], losses: Losses) -> list[Path]:
    """Keep one image for each stem: a label file cannot tell a.png from a.jpg."""
    seen: dict[str, Path] = {}
    for path in paths:
        first = seen.setdefault(image_stem(path), path)
        if first is not path:
            losses.add("images with the same name as another", f"{path} (beside {first.name})")
    return list(seen.values())


def image_sizes(paths: Sequence[Path]) -> list[tuple[int, int] | ImageError]:
    """Read the size of each image from its header, several at once: width and height in pixels."""
    if not paths:
        return []
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(_size_or_error, paths, chunksize=64))


def readable_images(paths: Sequence[Path], losses: Losses) -> tuple[list[Path], IntArray]:
    """Keep the images that have a readable header: the N readable files, and int64 (N, 2)."""
    good: list[Path] = []
    sizes: list[tuple[int, int]] = []
    for path, size in zip(paths, image_sizes(paths), strict=True):
        if isinstance(size, ImageError):
            losses.add("unreadable images", str(size))
        else:
            good.append(path)
            sizes.append(size)
    return good, np.array(sizes, np.int64).reshape(-1, 2)


def image_file(images: Images | None, index: int) -> Path | None:
    """Find the file that an image is (images of a set): the file; None where the image is no file of its own."""
    if isinstance(images, ImageSubset):
        return image_file(images.source, int(images.indices[index]))
    if isinstance(images, FileImages):
        return images.paths[index]
    return None


def file_stems(names: Sequence[str]) -> list[str]:
    """Make file stems out of frame names."""
    stems: list[str] = []
    taken: set[str] = set()
    for index, name in enumerate(names):
        stem = _escaped(name)
        while stem in taken or not stem or len(stem.encode()) > LONGEST_STEM_BYTES:
            stem = f"frame_{index:06d}" if f"frame_{index:06d}" not in taken else f"{stem[:100]}_{index}"
        taken.add(stem)
        stems.append(stem)
    return stems


def write_images(frames: FrameSet, folder: Path, stems: Sequence[str]) -> list[str | None]:
    """Write all images of a set, encoded bytes unchanged, raw pixels as PNG; the name of each file, or None."""
    names: list[str | None] = []
    images = frames.images
    for index, stem in enumerate(stems):
        if images is None or not images.has(index):
            names.append(None)
            continue
        folder.mkdir(exist_ok=True)
        encoded = images.read_encoded(index)
        data = encode_png(images.read(index)) if encoded is None else encoded.data
        name = stem + (".png" if encoded is None else encoded.suffix)
        (folder / name).write_bytes(data)
        names.append(name)
    return names


def _escaped(name: str) -> str:
    """A name with only what every file system takes; other alphabets stay as they are."""
    safe = "".join(c if c.isalnum() or c in "-_." or c in _KEPT else quote(c, safe="", errors="replace") for c in name)
    return "%2E" + safe[1:] if safe.startswith(".") else safe


def _size_or_error(path: Path) -> tuple[int, int] | ImageError:
    try:
        return image_size(path)
    except ImageError as error:
        return error


@dataclass(frozen=True)
class StreetFiles:
    """The files of a data set of label pictures."""

    names: Sequence[str]
    images: Sequence[Path]
    labels: Sequence[Path | None]  # the label picture of each frame, None where it has none


def build_street_set(
    path: Path,
    files: StreetFiles,
    decode: Callable[[bytes, str], LabelPicture],
    class_names: Mapping[int, str],
    losses: Losses,
) -> FrameSet:
    """Make a set of images with label pictures and without boxes (decode: class ids from a label picture's bytes)."""
    images, size = readable_images(files.images, losses)
    if not images:
        raise SimjudgeError(f"{path}: holds no readable image; an empty set cannot be used{losses.reason}")
    name_of = dict(zip(files.images, files.names, strict=True))
    label_of = dict(zip(files.images, files.labels, strict=True))
    labels = [label_of[image] for image in images]
    if any(labels):
        for image, label in zip(images, labels, strict=True):
            if label is None:
                losses.add("images without a label picture", str(image))
    names = [name_of[image] for image in images]
    frames = FrameSet.build(
        path.name,
        size,
        frame_name=names,
        stamp=np.array([name_to_stamp(name) for name in names]),
        class_names=dict(class_names),
        images=FileImages(images),
        losses=losses,
    )
    semantic = LabelFiles(same_size(labels, size, losses), decode) if any(labels) else None
    return replace(frames, semantic=semantic)


def with_drives(frames: FrameSet, pattern: re.Pattern[str]) -> FrameSet:
    """The same set with the recordings that its names tell, where all of them do. `pattern`: its group 1 names one."""
    told = [pattern.fullmatch(name) for name in frames.frame_name]
    return replace(frames, recording=[match[1] for match in told if match]) if all(told) else frames


def same_size(paths: Sequence[Path | None], size: IntArray, losses: Losses) -> list[Path | None]:
    """Keep the label pictures that are as large as their images; None in place of the others."""
    headers = iter(image_sizes([path for path in paths if path is not None]))
    kept: list[Path | None] = []
    for path, (width, height) in zip(paths, size.tolist(), strict=True):
        kept.append(None)
        if path is None:
            continue
        found = next(headers)
        if isinstance(found, ImageError):
            losses.add("damaged label pictures", str(found))
        elif found != (width, height):
            shown = f"{path} is {found[0]}x{found[1]}, its image {width}x{height}"
            losses.add("label pictures of another size than their image", shown)
        else:
            kept[-1] = path
    return kept


_NAMED_SUFFIXES = {".jsonl": "perhaps labels as JSON lines", ".ndjson": "perhaps labels as JSON lines"}
_NAMED_SUFFIXES[".tfrecord"] = "labels as TFRecord"
_SUFFIXES = (".json", ".txt", ".xml", ".csv", *_NAMED_SUFFIXES)
_LABEL_COLUMNS = {"class", "label", "labels", "category", "xmin", "x_min", "x1", "bbox", "filename", "imageid"}
_MOST_LOOKED_AT = 200  # Entries of a folder that are looked at
_LABEL_KEYS = {"annotations", "labels", "objects", "shapes"}
_NOT_READ = "which simjudge does not read"


def describe_labels_left_aside(folder: Path, images: Sequence[Path]) -> list[str]:
    """Say which files beside images look like their labels."""
    stems = {image_stem(image) for image in images}
    root = folder.absolute().parent if folder.name in ("images", "data") else folder
    found = []
    for place in [root, *(entry for entry in _entries(root) if entry.is_dir())]:
        files = [file for file in _entries(place) if file.suffix in _SUFFIXES and file.is_file()]
        alike = [file for file in files if image_stem(file) in stems]
        if alike:
            kind = "labels of DOTA, " + _NOT_READ if place.name.startswith("labelTxt") else "perhaps their labels"
            found.append(f"{place}: {alike[0].name} and others are named as the images, {kind}")
        for file in files if place == root else []:
            what = "" if file in alike else _named(file)
            found += [f"{file}: {what}, {_NOT_READ}"] if what else []
    return found


def name_labels(content: Any) -> str:
    """Name what the content of a JSON file looks like; "" where it looks like no labels."""
    first = content[0] if isinstance(content, list) and content else content
    if not isinstance(first, dict):
        return ""
    if "data" in first and ("annotations" in first or "completions" in first):
        return "labels of Label Studio (it exports COCO and YOLO, too)"
    return "labels of an unknown format" if _LABEL_KEYS & set(first) else ""


def _entries(folder: Path) -> list[Path]:
    return sorted(
        islice((entry_path for entry_path in folder.iterdir() if not entry_path.name.startswith(".")), _MOST_LOOKED_AT)
    )


def _named(file: Path) -> str:
    if file.suffix == ".csv":
        with file.open(encoding="utf-8-sig", errors="replace") as stream:
            cells = {cell.strip(' "').lower() for cell in stream.readline(_HEAD_BYTES).split(",")}
        return "a table of labels (Roboflow exports COCO and YOLO, too)" if cells & _LABEL_COLUMNS else ""
    if file.suffix in _NAMED_SUFFIXES:
        return _NAMED_SUFFIXES[file.suffix]
    if file.suffix != ".json":
        return ""
    try:
        return name_labels(load_json(file))
    except SimjudgeError:
        return ""


def lies_below(path: Path, folder: Path, known: dict[Path, bool]) -> bool:
    """Tell whether a file lies in a folder or below it, all links followed."""
    if path.is_symlink():
        return path.resolve().is_relative_to(folder)
    if path.parent not in known:
        known[path.parent] = path.parent.resolve().is_relative_to(folder)
    # A name such as ".." is no file, so that the last part cannot lead out of its folder.
    return known[path.parent]


def refuse_outside(frames: FrameSet, folder: Path) -> None:
    """Refuse a set of which a picture is a file that lies elsewhere."""
    root, known = folder.resolve(), dict[Path, bool]()
    for index in range(len(frames)):
        path = image_file(frames.images, index)
        if path is not None and not lies_below(path, root, known):
            raise SimjudgeError(
                f"{frames.describe_frame(index)}: its picture {path.resolve()} lies outside of the data set's folder "
                f"{root}; if you trust the data set, give --allow-outside (in Python allow_outside=True)"
            )


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HEAD_BYTES = 4096  # So much of a file is read to find its first character


@dataclass(frozen=True)
class Topics:
    """Topics to read from a recording; None finds them by type and name.

    Attributes:
        image_topic: of sensor_msgs/Image or CompressedImage; or the name of the camera, front for /front/image_raw.
        label_topic: of the ground truth: simjudge_msgs/LabelledObjectArray or vision_msgs/Detection2DArray.
        detection_topic: of what a detector found: simjudge_msgs/DetectionArray or vision_msgs/Detection2DArray.
    """

    image_topic: str | None = None
    label_topic: str | None = None
    detection_topic: str | None = None
    cloud_topic: str | None = None


@dataclass(frozen=True)
class ReadOptions:
    """How to read a data set; formats other than recordings need nothing of it.

    Attributes:
        tolerance_ns: in a recording, how far the stamps of an image and of its labels may lie apart, nanoseconds.
        topics: in a recording, the topics to read; None finds all of them.
    """

    tolerance_ns: int = 0
    topics: Topics | None = None


class Source:
    """A file or folder that holds a data set of a format not yet known. What is read of it is read once."""

    def __init__(self, path: Path, *, for_predictions: bool = False) -> None:
        """Remember the path of a file or folder that exists.

        Args:
            for_predictions: whether it is given for the predictions in it. Text files beside images are then a
                detector's, whether their rows have scores or not.
        """
        self.path = path
        self.for_predictions = for_predictions
        self.is_folder = path.is_dir()

    @property
    def folder(self) -> Path:
        """The folder of the data set: the path, or the folder of a file.

        Of a file in `annotations/` or `labels/`, or up to two folders below, it is the folder that holds these, and
        the pictures beside them.
        """
        if self.is_folder:
            return self.path
        folder = self.path.absolute().parent
        above = (folder, *list(folder.parents)[:2])
        labels = next((folder_above for folder_above in above if folder_above.name in ("annotations", "labels")), None)
        return folder if labels is None else labels.parent

    @cached_property
    def first_byte(self) -> bytes:
        """The first byte of a file that is neither white space nor a byte order mark; empty for a folder."""
        if self.is_folder:
            return b""
        try:
            with self.path.open("rb") as stream:
                return stream.read(_HEAD_BYTES).removeprefix(_BYTE_ORDER_MARK).lstrip()[:1]
        except OSError as error:
            raise SimjudgeError(f"{self.path}: cannot be read: {error.strerror}") from error

    @cached_property
    def json(self) -> Any:
        """The parsed content of a JSON file that holds an object or a list; None for anything else."""
        return load_json(self.path) if self.first_byte in (b"{", b"[") else None


class PredictionReader(Protocol):
    """Reads predictions for the frames of a set that is read already."""

    def __call__(self, source: Source, target: FrameSet, annotations: Path | None, losses: Losses) -> Predictions:
        """Read predictions.

        Args:
            source: what holds the predictions.
            target: the frames they are for.
            annotations: where `target` was read from, for formats that number images there.
            losses: takes what cannot be used.

        Returns:
            The predictions, their frames numbered as in `target`.

        Raises:
            SimjudgeError: no prediction belongs to a frame of `target`.
        """


@dataclass(frozen=True)
class Format:
    """A data format.

    Attributes:
        name: one word, for `--to`, for `simjudge doctor --brief` and in saved results.
        title: what people call the format, as in the table of docs/reference/formats.md.
        holds: a phrase for messages that say what can be given, such as "a YOLO folder or data.yaml".
        sniff: tells whether a file or folder is of this format. Costs little, and never claims what is not its own.
        order: formats with a small number look first. Formats that would take almost anything have a large one.
        read: reads a data set; None for a format that holds predictions only.
        read_predictions: reads predictions onto a set; None for formats whose predictions come with the set.
        write: writes a data set to a path that does not exist, and returns what could not be written; None where a
            format is only read.
        suffixes: endings of file names that mean this format when writing; empty for a format that is a folder.
        has_topics: whether topics can be chosen, as in a recording.
        label_pictures: whether `write` writes label pictures too.
        read_clouds: reads point clouds, and what belongs to them; None for formats without clouds.
        has_clouds: tells whether a source of this format holds clouds; None: all do, where `read_clouds` is there.
        write_clouds: writes clouds to a path that does not exist, and returns what could not be written.
    """

    name: str
    title: str
    holds: str
    sniff: Callable[[Source], bool]
    order: int = 50
    read: Callable[[Source, ReadOptions], FrameSet] | None = None
    read_predictions: PredictionReader | None = None
    write: Callable[[FrameSet, Path], Losses] | None = None
    suffixes: tuple[str, ...] = ()
    has_topics: bool = False
    label_pictures: bool = False
    read_clouds: Callable[[Source, Topics], CloudSet] | None = None
    has_clouds: Callable[[Path], bool] | None = None
    write_clouds: Callable[[CloudSet, Path], Losses] | None = None

    def holds_clouds(self, path: str | Path) -> bool:
        """Whether clouds can be read from a path of this format."""
        return self.read_clouds is not None and (self.has_clouds is None or self.has_clouds(Path(path)))
