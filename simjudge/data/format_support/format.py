"""What simjudge must know of a data format, and the file or folder that a format looks into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Predictions
from simjudge.core.text import load_json
from simjudge.data.clouds import CloudSet

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
        name: one word, for `--to`, for `simjudge info` and in saved results.
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
