"""Any data set, in and out: what a path holds is found out by looking into it, what to write by what it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.text import load_json
from simjudge.data.formats.coco.annotations import is_coco, is_coco_results, read_coco, sniff_coco, write_coco
from simjudge.data.formats.coco.annotations import read_coco_content as coco_from_content
from simjudge.data.formats.cpd import read_cpd, sniff_cpd, write_cpd
from simjudge.data.formats.cvat.document import read_cvat, sniff_cvat, write_cvat
from simjudge.data.formats.image_folder import read_image_folder, sniff_image_folder
from simjudge.data.formats.plain_json import is_plain, write_plain_json
from simjudge.data.formats.plain_json import read_plain_content as plain_from_content
from simjudge.data.formats.yolo.dataset import read_yolo, sniff_yolo, write_yolo

READABLE = "a YOLO, COCO, CVAT or CPD folder, data.yaml, .json, .xml, a bag, or a folder of pictures"
FOLDER_FORMATS: dict[str, Callable[[FrameSet, Path], None]] = {
    "yolo": write_yolo,
    "coco": write_coco,
    "cvat": write_cvat,
    "cpd": write_cpd,
}
"""What a folder can be written as."""
_READERS: dict[str, Callable[[Path], FrameSet]] = {
    "yolo": read_yolo,
    "coco": read_coco,
    "cvat": read_cvat,
    "cpd": read_cpd,
    "pictures": read_image_folder,
}


@dataclass(frozen=True)
class Topics:
    """Topics to read from a recording; None finds them by type and name."""

    image_topic: str | None = None
    label_topic: str | None = None
    detection_topic: str | None = None


def sniff_format(path: str | Path) -> str:
    """The format of what is at `path`: "yolo", "coco", "cvat", "cpd", "json", "bag", "pictures", or "" for none.

    A COCO results file is "coco-results", a folder of YOLO prediction texts "yolo-predictions".
    """
    path = Path(path)
    _must_exist(path)
    return _sniff_folder(path) if path.is_dir() else _sniff_file(path)


def read_set(path: str | Path, tolerance_ns: int = 0, topics: Topics | None = None) -> FrameSet:
    """The data set at `path`, in whatever format it is.

    Args:
        path: a file or a folder.
        tolerance_ns: in a bag, how far the stamps of a picture and of its labels may lie apart.
        topics: in a bag, which topics to read where several would do.

    Raises:
        UsageError: topics are named for something that is no bag.
        SimjudgeError: nothing is there, it is of no known format, it is empty, or it is damaged beyond use.
    """
    path = Path(path)
    _must_exist(path)
    # JSON is parsed once: the parsed content tells the format.
    if topics is not None and sniff_format(path) != "bag":
        raise UsageError(f"{path}: is no recording; topics cannot be chosen in it")
    if path.is_file() and _first_byte(path) in (b"{", b"["):
        return _read_json(path)
    kind = sniff_format(path)
    if kind == "bag":
        from simjudge.data.rosbag2 import read_recording  # noqa: PLC0415 - bags pull in rosbags

        found = read_recording(path, tolerance_ns=tolerance_ns, **vars(topics or Topics()))
    elif kind in _READERS:
        found = _READERS[kind](path)
    elif kind == "yolo-predictions":
        raise SimjudgeError(f"{path}: holds predictions only; give it beside the data set they belong to")
    else:
        raise SimjudgeError(f"{path}: not a data set that simjudge knows; give {READABLE}")
    if len(found) == 0:
        raise SimjudgeError(f"{path}: holds no frame; an empty set cannot be used")
    return found


def write_set(frames: FrameSet, path: str | Path, to: str | None = None) -> Losses:
    """Write `frames` to `path`, in the format it is called by: x.mcap, x.db3, x.json, or a folder written as `to`.

    Returns:
        What the format could not take (a bag takes no frame whose picture is damaged).

    Raises:
        UsageError: the name says no format, or `to` is none or does not suit the name.
        SimjudgeError: something is there already, or it cannot be written.
    """
    path = Path(path)
    suffix = path.suffix
    if suffix in (".mcap", ".db3", ".json"):
        if to is not None:
            raise UsageError(f"{path}: is written as {suffix[1:]} by its name; leave out --to {to}")
        if path.exists():
            raise SimjudgeError(f"{path}: exists already; choose another name or remove it")
        if suffix == ".json":
            write_plain_json(frames, path)
            return Losses()
        from simjudge.data.rosbag2 import write_recording  # noqa: PLC0415 - bags pull in rosbags

        return write_recording(frames, path)
    if to is None:
        raise UsageError(f"{path}: a folder needs --to {'|'.join(FOLDER_FORMATS)}, a file ends in .mcap, .db3 or .json")
    if to not in FOLDER_FORMATS:
        raise UsageError(f"--to {to}: no such format; one of {', '.join(FOLDER_FORMATS)}")
    FOLDER_FORMATS[to](frames, path)
    return Losses()


def read_predictions(path: str | Path, onto: FrameSet, beside: Path | None = None) -> FrameSet:
    """`onto` with the predictions at `path` instead of its own.

    Args:
        path: plain JSON, COCO results, a folder of YOLO texts, the authors' PREDS, a bag, or any set with predictions.
        onto: the frames the predictions are for, matched by name, else by stamp.
        beside: where `onto` was read from; tells the image ids of COCO results that lie elsewhere.

    Raises:
        SimjudgeError: there are no predictions in it, or none for a frame of `onto`.
    """
    from simjudge.data import attach  # noqa: PLC0415
    from simjudge.data.formats.coco.results import read_results  # noqa: PLC0415
    from simjudge.data.formats.yolo.dataset import read_prediction_folder  # noqa: PLC0415

    path = Path(path)
    kind = sniff_format(path)
    losses = Losses()
    losses.extend(onto.losses)
    base = replace(onto, losses=losses)
    if kind == "yolo-predictions":
        return base.with_predictions(read_prediction_folder(path, base, losses))
    if kind == "coco-results":
        return base.with_predictions(read_results(load_json(path), path, base, beside, losses))
    source = read_set(path)
    if source.predictions is None:
        raise SimjudgeError(f"{path}: holds no predictions; run 'simjudge detect' or give another file")
    losses.extend(source.losses)
    return attach.attach_predictions(source, base)


def with_labels(frames: FrameSet, labels: FrameSet, tolerance_ns: int = 0) -> FrameSet:
    """`frames` with the objects of `labels`, matched by frame name, else by the nearest stamp within `tolerance_ns`.

    Frames that `labels` does not have are not labelled afterwards; labelled frames of `labels` that match none are
    counted. Classes are matched by name where both sets have names.

    Raises:
        SimjudgeError: no labelled frame of `labels` matches.
    """
    from simjudge.data import attach  # noqa: PLC0415

    return attach.attach_labels(labels, frames, tolerance_ns)


def _must_exist(path: Path) -> None:
    if not path.exists():
        raise SimjudgeError(f"{path}: does not exist; give {READABLE}")


def _first_byte(path: Path) -> bytes:
    """The first byte of a file that is neither white space nor a byte order mark."""
    try:
        with path.open("rb") as stream:
            return stream.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    except OSError as error:
        raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error


def _read_json(path: Path) -> FrameSet:
    content = load_json(path)
    if is_coco(content):
        return coco_from_content(content, path)
    if is_plain(content):
        return plain_from_content(content, path)
    if is_coco_results(content):
        raise SimjudgeError(f"{path}: holds COCO results only; give it beside the data set they belong to")
    raise SimjudgeError(f"{path}: JSON, but neither COCO annotations nor a list of frames; give {READABLE}")


def _sniff_file(path: Path) -> str:
    first = _first_byte(path)
    if first in (b"{", b"["):
        content = load_json(path)
        for kind, test in (("coco", is_coco), ("coco-results", is_coco_results), ("json", is_plain)):
            if test(content):
                return kind
        return ""
    if first == b"<":
        return "cvat" if sniff_cvat(path) else ""
    if sniff_yolo(path):
        return "yolo"
    return _bag_or_nothing(path)


def _sniff_folder(path: Path) -> str:
    from simjudge.data.formats.yolo.dataset import is_prediction_folder  # noqa: PLC0415

    for kind, test in (("cpd", sniff_cpd), ("cvat", sniff_cvat), ("coco", sniff_coco), ("yolo", sniff_yolo)):
        if test(path):
            return kind
    if is_prediction_folder(path):
        return "yolo-predictions"
    return _bag_or_nothing(path) or ("pictures" if sniff_image_folder(path) else "")


def _bag_or_nothing(path: Path) -> str:
    from simjudge.data.rosbag2 import is_recording  # noqa: PLC0415 - bags pull in rosbags

    return "bag" if is_recording(path) else ""
