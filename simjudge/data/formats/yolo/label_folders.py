"""Where the label files of a folder of images lie, and whether a person or a detector wrote them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from simjudge.core.errors import Losses
from simjudge.data.format_support.image_files import list_images
from simjudge.data.formats.yolo.labels import read_label_rows


def label_folder(images: Path) -> Path:
    """Find where ultralytics looks for the labels of an image folder.

    Returns:
        The last "images" in its path made "labels"; the folder itself where there is none.
    """
    return _beside(images, "labels")


def label_picture_folder(images: Path, kind: str) -> Path:
    """Find where the label pictures of an image folder lie, as PNGs of the images' stems.

    Returns:
        The last "images" in its path made `kind`; where there is none, a folder of that name beside.
    """
    return _beside(images, kind)


def described_folders(images: Path, files: Sequence[Path]) -> tuple[Path, Path]:
    """Find the folders of labels and of predictions in a data set that a file describes.

    Returns:
        Where ultralytics looks for labels, else where Darknet and others put them; and the predictions beside.
    """
    usual = label_folder(images)
    found = usual if usual.is_dir() and usual != images else _texts_for(images, files)
    return found or usual, _beside(images, "predictions")


def undescribed_folders(images: Path, files: Sequence[Path], *, described_above: bool) -> tuple[Path | None, Path, str]:
    """Find the folders of labels and of predictions where no file names this folder: the rows tell which is which.

    Args:
        described_above: whether a folder above has a description, so that rows without a score are what is expected.

    Returns:
        The folder of labels, None where all rows end with a score, as a detector's do; that of predictions; and what a
        person should know about it, empty where this is expected.
    """
    labels, predictions = described_folders(images, files)
    texts = [text for text in (labels / f"{file.stem}.txt" for file in files) if text.is_file()]
    columns = read_label_rows(texts, Losses()).columns
    if not len(columns):
        return labels, predictions, ""
    if (columns % 2 == 0).all():
        return None, labels, f"{labels}: rows end with a score: taken for a detector's predictions, not for labels"
    note = f"{labels}: rows without a score: taken for labels, since no data.yaml describes the set"
    return labels, predictions, "" if described_above else note


def find_labelled_images(folder: Path) -> Path | None:
    """Find images with label files in a folder that nothing describes.

    Args:
        folder: holds the images, or `labels/` and one other folder with the images.

    Returns:
        The folder of the images; None where no image has a label file.
    """
    inside = [folder]
    if (folder / "labels").is_dir() and not list_images(folder):
        inside = [each for each in sorted(folder.iterdir()) if each.is_dir() and list_images(each)]
    found = inside[0] if len(inside) == 1 else None
    files = [] if found is None else list_images(found)
    return found if files and found is not None and _texts_for(found, files) is not None else None


def _texts_for(images: Path, files: Sequence[Path]) -> Path | None:
    """The first folder with a text file for one of the images."""
    for folder in _candidates(images):
        if folder.is_dir() and any((folder / f"{file.stem}.txt").is_file() for file in files):
            return folder
    return None


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
