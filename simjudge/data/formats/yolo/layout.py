"""Where a YOLO data set keeps its images, labels and predictions, as ultralytics and Roboflow lay them out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.images import IMAGE_SUFFIXES
from simjudge.core.input_files import is_file, is_folder
from simjudge.core.text import one_line, read_text
from simjudge.core.yaml_file import read_yaml
from simjudge.data.format_support.image_files import drop_repeated_stems, list_images

SPLITS = ("train", "valid", "val", "test")
_YAMLS = ("data.yaml", "data.yml", "dataset.yaml", "dataset.yml")
_KEYS = ("train", "val", "valid", "test")


@dataclass(frozen=True)
class YoloSplit:
    """A part of a data set: its images, and the folders that hold labels and predictions of the same stems."""

    name: str
    images: list[Path]
    labels: Path
    predictions: Path


@dataclass(frozen=True)
class YoloLayout:
    """A whole data set: its root, its splits, its class names (empty where it has none)."""

    root: Path
    splits: list[YoloSplit]
    class_names: dict[int, str]


def is_yolo(path: Path) -> bool:
    """Tell whether a path is a YOLO data set.

    Args:
        path: any path.

    Returns:
        True for a data.yaml, a folder with one, a split folder, or a folder of images with labels.
    """
    if path.is_file():
        return path.name in _YAMLS or (path.suffix.lower() in (".yaml", ".yml") and _is_description(path))
    if not path.is_dir():
        return False
    return _description_in(path) is not None or bool(_folder_splits(path)) or _is_image_folder(path)


def find_layout(path: Path, losses: Losses) -> YoloLayout:
    """Find the splits and class names of a data set.

    Args:
        path: anything that `is_yolo` takes.
        losses: takes images that are listed and missing, and those with a repeated stem.

    Returns:
        The layout.

    Raises:
        SimjudgeError: data.yaml cannot be used, or none of the folders it names exists.
    """
    root = path.parent if path.is_file() else path
    description = path if path.is_file() else _description_in(path)
    if description is None:
        above = _description_in(root.parent)
        if above is None and "images" in (root.name, root.parent.name):
            above = _description_in(root.parent.parent)
        names = parse_class_names(read_yaml(above, unique=False).content, above) if above is not None else {}
        images = [root] if not _folder_splits(root) else []
        splits = _folder_splits(root) or [("", images[0])]
        return YoloLayout(root, [_split(name, _files(folder, losses), folder) for name, folder in splits], names)
    content = read_yaml(description, unique=False).content
    if not isinstance(content, dict):
        raise SimjudgeError(f"{description}: not a data set description; it needs 'train:', 'val:' and 'names:'")
    names = parse_class_names(content, description)
    splits_named = _named_splits(content, description, losses) or [
        _split(name, _files(folder, losses), folder) for name, folder in _folder_splits(root)
    ]
    if not splits_named and (root / "images").is_dir():
        splits_named = [_split("", _files(root / "images", losses), root / "images")]
    if not splits_named:
        wanted = ", ".join(f"{key}: {content[key]}" for key in _KEYS if content.get(key)) or "none named"
        raise SimjudgeError(f"{description}: no split folder exists ({wanted}); mend the paths in it")
    return YoloLayout(root, splits_named, names)


def parse_class_names(content: Any, path: Path) -> dict[int, str]:
    """Read the class names out of a data.yaml.

    Args:
        content: the parsed file; "names" holds a list or a dictionary.
        path: of the file, for messages.

    Returns:
        The names by class id, empty where there are none.

    Raises:
        SimjudgeError: "names" is of another kind, or a key is no number.
    """
    names = content.get("names") if isinstance(content, dict) else None
    if names is None:
        return {}
    if not isinstance(names, dict | list):
        raise SimjudgeError(f"{path}: 'names' is neither a list nor numbers with names; mend it")
    try:
        pairs = names.items() if isinstance(names, dict) else enumerate(names)
        return {int(key): str(name) for key, name in pairs}
    except (TypeError, ValueError, OverflowError) as error:
        raise SimjudgeError(f"{path}: 'names' has a key that is no number; mend it") from error


def label_folder(images: Path) -> Path:
    """Find where ultralytics looks for the labels of an image folder.

    Args:
        images: the folder of images.

    Returns:
        The last "images" in its path made "labels"; the folder itself where there is none.
    """
    return _beside(images, "labels")


def _beside(images: Path, kind: str) -> Path:
    parts = list(images.parts)
    for i in range(len(parts) - 1, -1, -1):
        if parts[i] == "images":
            parts[i] = kind
            return Path(*parts)
    return images if kind == "labels" else images.parent / kind


def _split(name: str, images: list[Path], folder: Path) -> YoloSplit:
    return YoloSplit(name, images, label_folder(folder), _beside(folder, "predictions"))


def _files(folder: Path, losses: Losses) -> list[Path]:
    return drop_repeated_stems(list_images(folder), losses)


def _description_in(folder: Path) -> Path | None:
    for name in _YAMLS:
        if (folder / name).is_file():
            return folder / name
    return None


def _is_description(path: Path) -> bool:
    try:
        content = read_yaml(path, unique=False).content
    except SimjudgeError:
        return False
    return isinstance(content, dict) and ("names" in content or any(key in content for key in _KEYS))


def _folder_splits(root: Path) -> list[tuple[str, Path]]:
    """Split folders found by looking: ROOT/images, ROOT/train/images ..., or ROOT/images/train ..."""
    if (root / "images").is_dir() and (root / "labels").is_dir():
        below = [(s, root / "images" / s) for s in SPLITS if (root / "images" / s).is_dir()]
        return below or [("", root / "images")]
    return [(s, root / s / "images") for s in SPLITS if (root / s / "images").is_dir()]


def _is_image_folder(folder: Path) -> bool:
    images = list_images(folder)
    labels = label_folder(folder)
    if labels == folder:
        return any((folder / f"{p.stem}.txt").is_file() for p in images)
    return labels.is_dir() and bool(images)


def _named_splits(content: dict[Any, Any], description: Path, losses: Losses) -> list[YoloSplit]:
    """The splits that a description names and that exist, none of them twice."""
    base = Path(str(content.get("path") or "."))
    roots = [description.parent / base, description.parent]
    splits: list[YoloSplit] = []
    seen: set[Path] = set()
    for key in _KEYS:
        entries = content.get(key)
        for entry in entries if isinstance(entries, list) else [entries]:
            found = _resolve(roots, entry) if isinstance(entry, str) and entry else None
            if found is None or found in seen:
                continue
            seen.add(found)
            if found.is_file():
                splits.extend(_listed(key, found, losses))
            else:
                splits.append(_split(key, _files(found, losses), found))
    return splits


def _resolve(roots: list[Path], entry: str) -> Path | None:
    """The folder an entry means. Roboflow writes ../train/images for ./train/images, and ultralytics takes it so."""
    inside = entry.removeprefix("../")
    for candidate in [*(root / inside for root in roots), *(root / entry for root in roots)]:
        if is_folder(candidate):
            below = candidate / "images"
            return (below if not list_images(candidate) and below.is_dir() else candidate).resolve()
        if is_file(candidate) and candidate.suffix == ".txt":
            return candidate.resolve()
    return None


def _listed(name: str, listing: Path, losses: Losses) -> list[YoloSplit]:
    """The splits of a text file that lists images, one for each folder they lie in."""
    folders: dict[Path, list[Path]] = {}
    for number, line in enumerate(read_text(listing).splitlines(), 1):
        text = line.strip()
        image = listing.parent / text
        if not text:
            continue
        if image.suffix.lower() in IMAGE_SUFFIXES and is_file(image):
            folders.setdefault(image.parent, []).append(image)
        else:
            losses.add("listed images that do not exist", f"{listing}:{number} ({one_line(text)})")
    return [_split(name, drop_repeated_stems(paths, losses), folder) for folder, paths in folders.items()]
