"""Several sets as one: the recordings of one site, or the splits of a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.detector_record import DetectorRecord
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, ImageError, Images, RgbImage
from simjudge.core.object_tables import AnyTable, Predictions, concatenate_tables
from simjudge.data.attach import class_map
from simjudge.data.sources import as_frames, write_where_asked


def join_sets(sets: Sequence[FrameSet]) -> FrameSet:
    """Put the frames of several sets one set behind the other, with all that belongs to them.

    Classes are matched by name, whatever its case: a set's class ids become those of the first set that has a class of
    that name, and a class that only it has gets a free id where its own is taken. Without names, ids mean the same in
    all sets. A frame whose name another set has too is called "{set}_{name}". Stamps and instance ids stay.
    """
    if not sets:
        raise UsageError("nothing to join: give at least one set")
    same, names = _same_classes(sets)
    losses = Losses()
    for each in sets:
        losses.extend(each.losses)
    start = np.cumsum([0, *(len(s) for s in same)])
    return FrameSet(
        name="+".join(s.name for s in sets),
        frame_name=_frame_names(sets),
        size=np.concatenate([s.size for s in same]),
        stamp=np.concatenate([s.stamp for s in same]),
        labelled=np.concatenate([s.labelled for s in same]),
        objects=_together([s.objects for s in same], start),
        predictions=_predictions(same, start),
        predicted=np.concatenate([s.predicted for s in same]),
        class_names=names,
        images=None if all(s.images is None for s in sets) else ConcatenatedImages([s.images for s in sets], start),
        losses=losses,
        detector=_detector(sets),
        independent=all(s.independent for s in sets),
    )


def join(
    *sources: FrameSet | str | Path,
    out: str | Path | None = None,
    to: str | None = None,
    allow_outside: bool = False,
) -> FrameSet:
    """Join several data sets to one: the recordings of one site, or the splits of a data set.

    Classes are matched by name, or by id where no set names them. Predictions are kept. Frames of one name in several
    sets are told apart by the name of their set.

    Args:
        sources: two or more data sets, or paths of data sets or recordings.
        out: where to write the joined set; None writes nothing.
        to: the format of a folder at `out`, such as yolo or coco.
        allow_outside: take pictures that lie outside of the folder of their data set.

    Returns:
        The joined set.

    Raises:
        UsageError: fewer than two sources, one given twice, or `out` is one of them.
        SimjudgeError: a source cannot be read, or a class has no name while other classes have.
    """
    paths = [Path(each) for each in sources if not isinstance(each, FrameSet)]
    resolved = [path.resolve() for path in paths]
    twice = next((path for i, path in enumerate(paths) if resolved[i] in resolved[:i]), None)
    if twice is not None:
        raise UsageError(f"{twice}: given twice; a set is joined with others, not with itself")
    if len(sources) < 2:
        only = "".join(each.name if isinstance(each, FrameSet) else str(each) for each in sources)
        raise UsageError(f"{only or 'no set'}: nothing to join it with; give two sets or more, and OUT")
    if out is not None and Path(out).resolve() in resolved:
        raise UsageError(f"{out}: is an input; choose another name")
    return write_where_asked(join_sets([as_frames(each, allow_outside=allow_outside) for each in sources]), out, to)


@dataclass(frozen=True, repr=False)
class ConcatenatedImages(ShortRepr):
    """The images of several sets, one set behind the other.

    Attributes:
        sources: the images of each set, None where it has none.
        start: int64 (sets + 1,), the number of the first frame of each set, and of all frames.
    """

    sources: Sequence[Images | None]
    start: IntArray

    def __len__(self) -> int:
        """The number of frames."""
        return int(self.start[-1])

    def has(self, index: int) -> bool:
        """Tell whether a frame has an image: see `Images.has`."""
        source, inside = self._find(index)
        return source is not None and source.has(inside)

    def read(self, index: int) -> RgbImage:
        """Read the pixels of a frame: see `Images.read`."""
        source, inside = self._find(index)
        if source is None:
            raise ImageError(f"frame {index}: has no image")
        return source.read(inside)

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Read the stored bytes of a frame: see `Images.read_encoded`."""
        source, inside = self._find(index)
        return None if source is None else source.read_encoded(inside)

    def _find(self, index: int) -> tuple[Images | None, int]:
        """Whose frame it is, and its number there."""
        part = int(np.searchsorted(self.start, index, side="right")) - 1
        return self.sources[part], index - int(self.start[part])


def _same_classes(sets: Sequence[FrameSet]) -> tuple[list[FrameSet], dict[int, str]]:
    """The sets with one numbering of classes, and its names."""
    if not any(s.class_names for s in sets):
        return list(sets), {}
    for each in sets:
        _check_named(each)
    names: dict[int, str] = {}
    out = []
    for each in sets:
        ids = class_map(each, replace(each, class_names=names)) if names else {}
        names = {ids.get(k, k): name for k, name in each.class_names.items()} | names
        out.append(each if all(new == old for old, new in ids.items()) else _renumbered(each, ids))
    return out, dict(sorted(names.items()))


def _check_named(frames: FrameSet) -> None:
    """Refuse class ids without a name where classes have names: what they are in the other sets would be a guess."""
    used = set(frames.objects.class_id.tolist())
    if frames.predictions is not None:
        used |= set(frames.predictions.class_id.tolist())
    nameless = sorted(used - set(frames.class_names))
    if nameless:
        raise SimjudgeError(
            f"{frames.name}: class {nameless[0]} has no name, while other classes to be joined have; name it"
        )


def _renumbered(frames: FrameSet, ids: dict[int, int]) -> FrameSet:
    def mapped(class_id: IntArray) -> IntArray:
        return np.array([ids[int(k)] for k in class_id], np.int64)

    objects = replace(frames.objects, class_id=mapped(frames.objects.class_id))
    found = frames.predictions
    predictions = None if found is None else replace(found, class_id=mapped(found.class_id))
    return replace(frames, objects=objects, predictions=predictions)


def _frame_names(sets: Sequence[FrameSet]) -> list[str]:
    """Names by frame, unique; those that several sets have begin with the name of their set."""
    owners = Counter(name for s in sets for name in s.frame_name)
    taken = {name for name, count in owners.items() if count == 1}
    out = []
    for number, each in enumerate(sets, 1):
        for name in each.frame_name:
            if owners[name] == 1:
                out.append(name)
                continue
            new, prefix = f"{each.name}_{name}", f"{each.name}_{number}"
            while new in taken:
                new, prefix = f"{prefix}_{name}", f"{prefix}_"
            taken.add(new)
            out.append(new)
    return out


def _together(tables: Sequence[AnyTable], start: IntArray) -> AnyTable:
    """The tables of all sets as one, their frames numbered from `start` on."""
    numbered = [replace(t, frame=t.frame + first) for t, first in zip(tables, start[:-1], strict=True)]
    return concatenate_tables(numbered)


def _predictions(sets: Sequence[FrameSet], start: IntArray) -> Predictions | None:
    if all(s.predictions is None for s in sets):
        return None
    return _together([Predictions.empty() if s.predictions is None else s.predictions for s in sets], start)


def _detector(sets: Sequence[FrameSet]) -> DetectorRecord | None:
    """The detector of all sets that have predictions; None where they are of several, or one is not known."""
    found = [each.detector for each in sets if each.predictions is not None]
    return found[0] if found and all(each == found[0] for each in found) else None
