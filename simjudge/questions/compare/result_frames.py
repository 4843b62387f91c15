"""The frames of a saved comparison with their contexts, and what is said of them outside of pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, ImageError, encode_jpeg
from simjudge.data.sets import read_set
from simjudge.questions.compare.facts import overlap_sentences, performance_sentences
from simjudge.questions.compare.overall_words import verdicts_said
from simjudge.questions.compare.words import SetNames
from simjudge.results.context_table import ContextTable
from simjudge.results.saved_result import Result

_JPEG_QUALITY = 90


@dataclass(frozen=True, repr=False)
class ResultFrame(ShortRepr):
    """A frame of one of both sets."""

    which: str
    name: str
    size: tuple[int, int]  # width and height, pixels
    rows: IntArray  # int64 (N,), its contexts' rows in the table


@dataclass(frozen=True)
class ResultFrames:
    """All frames of a result that hold contexts."""

    contexts: ContextTable
    names: SetNames
    frames: list[ResultFrame]  # those of A first, each set's in its own order
    sets: Mapping[str, FrameSet]  # the data sets that were compared, by "a" and "b", where they are still there
    numbers: Mapping[tuple[str, str], int]  # of the frames of these data sets, by "a" or "b" and name
    class_names: Mapping[str, str]
    paths: Mapping[str, Path]  # where these data sets were, by "a" and "b", where that is known

    def image(self, frame: ResultFrame, losses: Losses) -> EncodedImage | None:
        """Read the picture of a frame, as it is stored where it is stored as a file, else as JPEG."""
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
    """Gather the frames of a result, and read the data sets that it was made from."""
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
    sets = {which: held for which, one in result.header.sets.items() if (held := _set_or_none(one.path)) is not None}
    numbers_of = {(which, name): n for which, item in sets.items() for n, name in enumerate(item.frame_name)}
    paths = {which: Path(one.path) for which, one in result.header.sets.items() if one.path}
    names = SetNames.of_result(result)
    return ResultFrames(contexts, names, frames, sets, numbers_of, result.header.class_names, paths)


def _set_or_none(path: str | None) -> FrameSet | None:
    if not path or not Path(path).exists():
        return None
    try:
        return read_set(Path(path))
    except SimjudgeError:
        return None


def summary_text(result: Result) -> str:
    """Write the verdicts and what the overlaps mean, as Markdown."""
    names, lines = SetNames.of_result(result), [f"# {result.name}", ""]
    for entry, (label, said, meaning) in zip(result.entries, verdicts_said(result), strict=True):
        lines += [f"## {label}: {said}", "", meaning, ""]
        lines += [f"* {line}" for line in (*overlap_sentences(entry, names), *performance_sentences(entry, names))]
        lines.append("")
    return "\n".join(lines)


def context_text(shown: ResultFrames, row: int) -> str:
    """Write the numbers of a context."""
    contexts = shown.contexts
    parts = [f"{shown.class_name(row)}: performance {contexts['performance'][row]:.2f}"]
    if np.isfinite(contexts["w1"][row]):
        batches = contexts["batch_a"][row], contexts["batch_b"][row]
        parts.append(f"W1 {contexts['w1'][row]:.3f} of {batches[0]:.0f} + {batches[1]:.0f}")
    match = contexts["match_row"][row]
    if np.isfinite(match):
        parts.append(f"nearest {shown.place(int(match))}, similarity {contexts['match_similarity'][row]:.2f}")
    if not contexts["in_overlap"][row]:
        parts.append("nothing similar in the other set")
    return ", ".join(parts)
