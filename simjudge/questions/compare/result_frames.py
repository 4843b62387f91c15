"""The frames behind a result, with what was found of each of their objects: for programs that show data sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, ImageError, encode_jpeg
from simjudge.data.sets import read_set
from simjudge.questions.compare.words import SetNames
from simjudge.results.context_table import ContextTable
from simjudge.results.saved_result import Result

_JPEG_QUALITY = 90


@dataclass(frozen=True, repr=False)
class ResultFrame(ShortRepr):
    """A frame of one of both sets.

    Attributes:
        size: width and height, pixels.
        rows: int64 (N,), its contexts' rows in the table.
    """

    which: str
    name: str
    size: tuple[int, int]
    rows: IntArray


@dataclass(frozen=True)
class ResultFrames:
    """All frames of a result that hold contexts.

    Attributes:
        frames: those of A first, each set's in its own order.
        sets: the data sets that were compared, by "a" and "b", where they are still there.
        numbers: of the frames of these data sets, by "a" or "b" and name.
    """

    contexts: ContextTable
    names: SetNames
    frames: list[ResultFrame]
    sets: Mapping[str, FrameSet]
    numbers: Mapping[tuple[str, str], int]
    class_names: Mapping[str, str]

    def image(self, frame: ResultFrame, losses: Losses) -> EncodedImage | None:
        """Read the picture of a frame, as it is stored where it is stored as a file, else as JPEG.

        Returns:
            The bytes; None where there is no picture.
        """
        frames, number = self.sets.get(frame.which), self.numbers.get((frame.which, frame.name))
        if frames is None or frames.images is None or number is None or not frames.images.has(number):
            return None
        try:
            stored = frames.images.read_encoded(number)
            return stored or EncodedImage(encode_jpeg(frames.images.read(number), _JPEG_QUALITY), ".jpg")
        except ImageError as error:
            losses.add("pictures that cannot be read", str(error))
            return None

    def place(self, row: int) -> str:
        """Write where a context is: its set, frame and number in the frame."""
        which = "A" if self.contexts.is_a[row] else "B"
        return f"{which}/{self.contexts.text('frame', [row])[0]}#{self.contexts['object'][row]:.0f}"

    def class_name(self, row: int) -> str:
        """What the class of a context is called."""
        key = str(int(self.contexts.class_id[row]))
        return self.class_names.get(key, f"class {key}")


def read_result_frames(result: Result) -> ResultFrames:
    """Gather the frames of a result, and read the data sets that it was made from.

    Returns:
        The frames; without the data sets that are no longer where they were.
    """
    contexts = result.contexts
    if contexts is None:
        raise SimjudgeError(f"{result.name}: holds a sweep alone: run simjudge compare for its contexts")
    numbers = contexts.frame_number()
    _, first, group = np.unique(numbers, return_index=True, return_inverse=True)
    ordered = np.argsort(group.reshape(-1), kind="stable")
    parts = np.split(ordered, np.cumsum(np.bincount(group.reshape(-1)))[:-1])
    frames = [
        ResultFrame(
            "a" if contexts.is_a[rows[0]] else "b",
            contexts.text("frame", [int(rows[0])])[0],
            (int(contexts["width"][rows[0]]), int(contexts["height"][rows[0]])),
            np.sort(rows),
        )
        for rows in (parts[n] for n in np.argsort(first))
    ]
    inputs = result.header.get("inputs") or {}
    sets = {which: held for which in "ab" if (held := _set_or_none(inputs.get(which) or {})) is not None}
    names = {str(k): str(v) for k, v in (result.header.get("class_names") or {}).items()}
    numbers_of = {(which, name): n for which, each in sets.items() for n, name in enumerate(each.frame_name)}
    return ResultFrames(contexts, SetNames.of_result(result), frames, sets, numbers_of, names)


def _set_or_none(described: Mapping[str, object]) -> FrameSet | None:
    path = str(described.get("path") or "")
    if not path or not Path(path).exists():
        return None
    try:
        return read_set(Path(path))
    except SimjudgeError:
        return None
