"""Where a YOLO data set keeps its images, labels and predictions: as ultralytics, Roboflow and Darknet lay them out.

Darknet describes a data set by a `.data` file and the `.names` and lists of images that it names:
https://github.com/AlexeyAB/darknet#how-to-train-to-detect-your-custom-objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import is_file, is_folder
from simjudge.core.images import IMAGE_SUFFIXES
from simjudge.core.names import class_names_from, composed
from simjudge.core.text import Json, near_name, one_line, parse_integer, read_text, read_yaml
from simjudge.data.format_support.image_files import (
    drop_repeated_stems,
    image_stem,
    images_below,
    list_images,
)
from simjudge.data.formats.yolo.labels import read_label_rows

DARKNET_SUFFIX = ".data"
_SPLIT_LINE = re.compile(rb"^\s*(train|valid)\s*=", re.MULTILINE)
_CVAT_FOLDER = "data/"
_HEAD_BYTES = 4096  # So much of a file is read to find out what it is
_CLASSES = "classes.txt"  # Where labelImg puts the names, one a line, as in Darknet's `.names`


def find_darknet(folder: Path) -> Path | None:
    """Find Darknet's only `.data` file in a folder that names images; None where there is none, or several."""
    found = [file for file in sorted(folder.glob(f"*{DARKNET_SUFFIX}")) if is_darknet(file)]
    return found[0] if len(found) == 1 else None


def is_darknet(path: Path) -> bool:
    """Tell whether a file is Darknet's description: a text `*.data` with a line `train = ...` or `valid = ...`."""
    if path.suffix != DARKNET_SUFFIX or not path.is_file():
        return False
    with path.open("rb") as stream:
        return _SPLIT_LINE.search(stream.read(_HEAD_BYTES)) is not None


def read_darknet(path: Path, roots: Sequence[Path]) -> dict[str, object]:
    """Read Darknet's description as what a data.yaml would say."""
    given = _entries(path)
    content: Json = {}
    for key, name in (("train", "train"), ("valid", "val"), ("classes", "nc")):
        if key in given:
            content[name] = given[key]
    if "names" in given:
        file = next(
            (possible_path for possible_path in possible_paths(roots, given["names"]) if is_file(possible_path)), None
        )
        if file is None:
            raise SimjudgeError(f"{path}: names = {one_line(given['names'])}: does not exist; correct the path")
        content["names"] = read_names(file)
    if "nc" in content:
        content["nc"] = parse_integer(content["nc"])
    return content


def possible_paths(roots: Sequence[Path], entry: str) -> list[Path]:
    """List what a relative path in a description may mean, the likeliest first.

    Windows' programs write it with backslashes. CVAT ("YOLO 1.1") begins all paths with `data/`, the folder that its
    archive is to be unpacked into.
    """
    forms = [entry, entry.replace("\\", "/")]
    forms += [form.removeprefix(_CVAT_FOLDER) for form in forms]
    return [root / form for form in dict.fromkeys(forms) for root in roots]


def find_names(folders: Sequence[Path]) -> list[str]:
    """Find class names beside images that nothing describes: the lines of classes.txt or of the only `.names` file."""
    for folder in folders:
        if (folder / _CLASSES).is_file():
            return read_names(folder / _CLASSES)
        found = sorted(folder.glob("*.names"))
        if len(found) == 1:
            return read_names(found[0])
    return []


def read_names(path: Path) -> list[str]:
    """Read a file with a class name in each line."""
    return [line.strip() for line in read_text(path).rstrip().splitlines()]


def _entries(path: Path) -> dict[str, str]:
    entries: dict[str, str] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or key.startswith(("#", ";")):
            continue
        if key in entries:
            raise SimjudgeError(f"{path}:{number}: {one_line(key)} stands there twice; keep one")
        entries[key] = value
    return entries


def label_folder(images: Path) -> Path:
    """Find where ultralytics looks for the labels of an image folder."""
    return _beside(images, "labels")


def label_picture_folder(images: Path, kind: str) -> Path:
    """Find where the label pictures of an image folder lie, as PNGs of the images' stems."""
    return _beside(images, kind)


def described_folders(images: Path, files: Sequence[Path]) -> tuple[Path, Path]:
    """Find the folders of labels and of predictions in a data set that a file describes."""
    usual = label_folder(images)
    found = usual if usual.is_dir() and usual != images else _texts_for(images, files)
    return found or usual, _beside(images, "predictions")


def undescribed_folders(images: Path, files: Sequence[Path], *, described_above: bool) -> tuple[Path | None, Path, str]:
    """Find the folders of labels and of predictions where no file names them, by their rows; and what to say of it."""
    labels, predictions = described_folders(images, files)
    texts = texts_of(labels, files)
    columns = read_label_rows(texts, Losses()).columns
    if not len(columns):
        return labels, predictions, ""
    if (columns % 2 == 0).all():
        return None, labels, "rows end with a score: taken for a detector's predictions, not for labels"
    note = "rows without a score: taken for labels, since no data.yaml describes the set"
    return labels, predictions, "" if described_above else note


def find_labelled_images(folder: Path) -> Path | None:
    """Find the folder of images with label files in a folder that nothing describes; None where no image has one."""
    inside = [folder]
    if (folder / "labels").is_dir() and not list_images(folder):
        inside = [entry for entry in sorted(folder.iterdir()) if entry.is_dir() and any(images_below(entry).values())]
    found = images_below(inside[0]) if len(inside) == 1 and list_images(inside[0]) else {}
    return inside[0] if any(files and _texts_for(place, files) is not None for place, files in found.items()) else None


def _texts_for(images: Path, files: Sequence[Path]) -> Path | None:
    for folder in _candidates(images):
        if texts_of(folder, files):
            return folder
    return None


def texts_of(folder: Path, images: Iterable[Path]) -> list[Path]:
    """List the text files in a folder that are named as images are."""
    there = {composed(entry.name): entry for entry in folder.iterdir()} if folder.is_dir() else {}
    found = (there.get(f"{image_stem(image)}.txt") for image in images)
    return [text for text in found if text is not None and text.is_file()]


def _candidates(images: Path) -> Iterator[Path]:
    yield label_folder(images)
    yield images
    yield images / "labels"
    yield images.parent / "labels"


def _beside(images: Path, kind: str) -> Path:
    parts = list(images.parts)
    for i in range(len(parts) - 1, -1, -1):
        if parts[i] == "images":
            parts[i] = kind
            return Path(*parts)
    return images if kind == "labels" else images.parent / kind


SPLITS = ("train", "valid", "val", "test")
_YAMLS = ("data.yaml", "data.yml", "dataset.yaml", "dataset.yml")
_KEYS = ("train", "val", "valid", "test")
_LONGEST_LINE = 4096  # Bytes of a list of images that are read to find out that it is one


@dataclass(frozen=True)
class YoloSplit:
    """A part of a data set: its images, and the folders that hold labels and predictions of the same stems.

    There are no labels where the text files beside the images turn out to be a detector's.
    Label pictures lie beside, in `semantic/` and, predicted, in `predicted_semantic/`.
    """

    name: str
    images: list[Path]
    labels: Path | None
    predictions: Path


@dataclass(frozen=True)
class YoloLayout:
    """A whole data set: its root, its splits, its class names (empty where it has none), and notes for people.

    `keypoints` is the number of keypoints of an object (`kpt_shape` of a pose data set), 0 for none.
    """

    root: Path
    splits: list[YoloSplit]
    class_names: dict[int, str]
    notes: list[str] = field(default_factory=list)
    keypoints: int = 0


def is_yolo(path: Path, *, described: bool = False) -> bool:
    """Tell whether a path is a YOLO data set."""
    if path.is_file():
        named = path.name in _YAMLS or (path.suffix.lower() in (".yaml", ".yml") and _is_description(path))
        return named or is_darknet(path) or _is_listing(path)
    if not path.is_dir():
        return False
    if _description_in(path) is not None or bool(_folder_splits(path)):
        return True
    return not described and find_labelled_images(path) is not None


def find_layout(path: Path, losses: Losses) -> YoloLayout:
    """Find the splits and class names of a data set."""
    root = path.parent if path.is_file() else path
    if path.is_file() and path.suffix == ".txt":
        return _undescribed(root, [(split.name, split.images, root) for split in _listed("", path, [root], losses)])
    description = path if path.is_file() else _description_in(path)
    if description is None:
        if named := _folder_splits(root):
            _count_other_splits(root, [folder for _, folder in named], losses)
            return _undescribed(root, [each for name, folder in named for each in _folders(name, folder, losses)])
        top = find_labelled_images(root) or root
        below = _folders("", top, losses)
        chosen = [each for each in below if each[2] == top or _texts_for(each[2], each[1]) is not None]
        for _, images, place in below:
            if all(place != each[2] for each in chosen):
                losses.add("images in folders below that hold no labels (left aside)", f"{place}", len(images))
        return _undescribed(root, chosen)
    content, roots = _read_description(description)
    names = parse_class_names(content, description)
    splits = _named_splits(content, description, roots, losses)
    if not splits:
        usual = [("", root / "images")] if (root / "images").is_dir() else []
        splits = [split for name, folder in _folder_splits(root) or usual for split in _splits(name, folder, losses)]
    notes = _read_once(splits, description)
    if not splits:
        raise SimjudgeError(f"{description}: names no split, and there is no folder images; add 'train: FOLDER'")
    return YoloLayout(root, splits, names, notes, _keypoints(content, description))


def _undescribed(root: Path, found: list[tuple[str, list[Path], Path]]) -> YoloLayout:
    """The layout of splits that no description names; each is its name, its images and their folder."""
    above = _description_in(root.parent)
    if above is None and "images" in (root.name, root.parent.name):
        above = _description_in(root.parent.parent)
    splits: list[YoloSplit] = []
    said: dict[str, str] = {}
    for name, images, folder in found:
        beside = images[0].parent if images else folder
        labels, predictions, note = undescribed_folders(beside, images, described_above=above is not None)
        if note:
            said.setdefault(note, f"{labels or predictions}: {note}")
        splits.append(YoloSplit(name, images, labels, predictions))
    notes = list(said.values())
    if above is not None:
        content = _read_description(above)[0]
        return YoloLayout(root, splits, parse_class_names(content, above), notes, _keypoints(content, above))
    texts = [split.labels or split.predictions for split in splits]
    names = find_names(list(dict.fromkeys([*texts, root, root.parent])))
    return YoloLayout(root, splits, class_names_from(enumerate(names), f"{root}: class names"), notes)


def _read_description(path: Path) -> tuple[Json, list[Path]]:
    """What a data.yaml or a `.data` says, and the folders that its paths may be relative to."""
    if path.suffix == DARKNET_SUFFIX:
        roots = [path.parent, path.absolute().parent.parent]
        return read_darknet(path, roots), roots
    content = read_yaml(path).content
    if not isinstance(content, dict):
        raise SimjudgeError(f"{path}: not a data set description; it needs 'train:', 'val:' and 'names:'")
    return content, [path.parent / str(content.get("path") or "."), path.parent]


def parse_class_names(content: Any, path: Path) -> dict[int, str]:
    """Read the class names out of a data.yaml: the names by class id, empty where there are none."""
    names = content.get("names") if isinstance(content, dict) else None
    if names is None:
        return {}
    if not isinstance(names, dict | list):
        raise SimjudgeError(f"{path}: 'names' is neither a list nor numbers with names; mend it")
    found = class_names_from(names.items() if isinstance(names, dict) else enumerate(names), f"{path}: 'names'")
    count = content.get("nc")
    if count is not None and count != len(found):
        raise SimjudgeError(f"{path}: {len(found)} names for {one_line(count)} classes ('nc', 'classes'); mend one")
    return found


def _read_once(splits: list[YoloSplit], description: Path) -> list[str]:
    """Take pictures that an earlier split has out of later ones; a note tells of them."""
    seen: set[Path] = set()
    twice: list[Path] = []
    for split in splits:
        again = [image for image in split.images if image.resolve() in seen]
        twice += again
        split.images[:] = [image for image in split.images if image not in again]
        seen.update(image.resolve() for image in split.images)
    if not twice:
        return []
    return [f"{description}: {len(twice)} pictures stand in several splits, each is read once: {twice[0].name}, ..."]


def _keypoints(content: Json, path: Path) -> int:
    """The number of keypoints that the rows of a pose data set hold, behind their boxes."""
    shape = content.get("kpt_shape")
    if shape is None:
        return 0
    numbers = [parse_integer(part) for part in shape] if isinstance(shape, list) else []
    if len(numbers) != 2 or not (numbers[0] or 0) > 0 or numbers[1] not in {2, 3}:
        raise SimjudgeError(f"{path}: kpt_shape: {one_line(shape)} is not [keypoints, 2 or 3]; correct it")
    return numbers[0] or 0


def _split(name: str, images: list[Path], folder: Path) -> YoloSplit:
    return YoloSplit(name, images, *described_folders(folder, images))


def _folders(name: str, top: Path, losses: Losses) -> list[tuple[str, list[Path], Path]]:
    """A folder and those with images below it, as trainers read them: what to call each, its images, and where it is.

    Those that are called as splits come in the splits' order.
    """

    def order(place: Path) -> tuple[int, tuple[str, ...]]:
        first = place.relative_to(top).parts[:1]
        return (-1 if not first else (*SPLITS, *first).index(first[0]), place.relative_to(top).parts)

    found = images_below(top)
    return [
        (
            "_".join(filter(None, (name, *place.relative_to(top).parts))),
            drop_repeated_stems(found[place], losses),
            place,
        )
        for place in sorted(found, key=order)
    ]


def _splits(name: str, top: Path, losses: Losses) -> list[YoloSplit]:
    return [_split(*each) for each in _folders(name, top, losses)]


def _description_in(folder: Path) -> Path | None:
    for name in _YAMLS:
        if (folder / name).is_file():
            return folder / name
    return find_darknet(folder)


def _is_description(path: Path) -> bool:
    try:
        content = read_yaml(path, unique=False).content
    except SimjudgeError:
        return False
    return isinstance(content, dict) and ("names" in content or any(key in content for key in _KEYS))


def _folder_splits(root: Path) -> list[tuple[str, Path]]:
    """Split folders found by looking: ROOT/images, or ROOT/train/images ..."""
    if (root / "images").is_dir() and (root / "labels").is_dir():
        return [("", root / "images")]
    return [(s, root / s / "images") for s in SPLITS if (root / s / "images").is_dir()]


def _count_other_splits(root: Path, taken: Sequence[Path], losses: Losses) -> None:
    for folder in sorted(entry / "images" for entry in root.iterdir() if entry.is_dir()):
        for place, images in (
            images_below(folder).items() if root / "images" not in taken and folder not in taken else ()
        ):
            losses.add(
                f"images in folders that are not called {', '.join(SPLITS)} (left aside)", str(place), len(images)
            )


def _is_listing(path: Path) -> bool:
    """Whether a text file lists images: its first line names one that exists."""
    if path.suffix != ".txt":
        return False
    with path.open("rb") as stream:
        line = stream.readline(_LONGEST_LINE).decode("utf-8", "replace").strip()
    return line.lower().endswith(IMAGE_SUFFIXES) and any(
        is_file(possible_path) for possible_path in possible_paths([path.parent], line)
    )


def _named_splits(content: Json, description: Path, roots: list[Path], losses: Losses) -> list[YoloSplit]:
    """The splits that a description names, none of them twice."""
    splits: list[YoloSplit] = []
    seen: set[Path] = set()
    for key in _KEYS:
        entries = content.get(key)
        for entry in entries if isinstance(entries, list) else [entries] if entries is not None else []:
            if not isinstance(entry, str) or not entry:
                raise SimjudgeError(f"{description}: {key}: {one_line(entry)} is not a path; correct it")
            found = _resolve(roots, entry)
            if found is None:
                raise SimjudgeError(f"{description}: {key}: {_absent(roots, entry)}")
            if found in seen:
                continue
            seen.add(found)
            if found.is_file():
                splits.extend(_listed(key, found, roots, losses))
            else:
                splits.extend(_splits(key, found, losses))
    return splits


def _absent(roots: list[Path], entry: str) -> str:
    """What to say of a split that is not there."""
    inside = entry.replace("\\", "/").removeprefix("../")
    parents = [(root / inside).parent for root in roots]
    beside = {entry.name for folder in parents if is_folder(folder) for entry in folder.iterdir() if entry.is_dir()}
    near = near_name(Path(inside).name, beside)
    return f"{one_line(entry)} does not exist{near}; correct the path or remove the line"


def _resolve(roots: list[Path], entry: str) -> Path | None:
    """The folder an entry means. Roboflow writes ../train/images for ./train/images, and ultralytics takes it so."""
    inside = entry.replace("\\", "/").removeprefix("../")
    for candidate in [*possible_paths(roots, inside), *possible_paths(roots, entry)]:
        if is_folder(candidate):
            below = candidate / "images"
            return (below if not list_images(candidate) and below.is_dir() else candidate).resolve()
        if is_file(candidate) and candidate.suffix == ".txt":
            return candidate.resolve()
    return None


def _listed(name: str, listing: Path, roots: list[Path], losses: Losses) -> list[YoloSplit]:
    """The splits of a text file that lists images, one for each folder they lie in."""
    folders: dict[Path, list[Path]] = {}
    for number, line in enumerate(read_text(listing).splitlines(), 1):
        text = line.strip()
        if not text:
            continue
        candidates = possible_paths([listing.parent, *roots], text)
        image = next((candidate for candidate in candidates if is_file(candidate)), None)
        if image is not None and image.suffix.lower() in IMAGE_SUFFIXES:
            folders.setdefault(image.parent, []).append(image)
        else:
            losses.add("listed images that do not exist", f"{listing}:{number} ({one_line(text)})")
    return [_split(name, drop_repeated_stems(paths, losses), folder) for folder, paths in folders.items()]
