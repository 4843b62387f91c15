"""Sets joined into one, such as the recordings of one site; divided into disjoint parts; or converted.

Parts are random, or stretches of time: the paper's R1..R3 and S1..S3.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import atomic_folder
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, ImageError, Images, RgbImage
from simjudge.core.names import DetectorRecord
from simjudge.core.object_tables import AnyTable, Predictions, concatenate_tables
from simjudge.core.settings import ALL_FRAMES, Thinning
from simjudge.data.clouds import CloudSet
from simjudge.data.formats import all_formats, file_suffixes, folder_formats
from simjudge.data.frame_sequences import (
    ALONE,
    FrameSequence,
    attach_labels,
    class_map,
    find_sequence,
    source_photograph,
)
from simjudge.data.image_geometry import CropWindow, crop_images, flip_vertically
from simjudge.data.semantic_classes import labels_from_pictures, labels_from_predictions
from simjudge.data.sets import (
    Topics,
    as_frames,
    find_format,
    read_clouds,
    read_predictions,
    read_set,
    refuse_input_as_output,
    thin_frames,
    write_clouds,
    write_set,
    write_where_asked,
)


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
    for frames in sets:
        losses.extend(frames.losses)
    start = np.cumsum([0, *(len(s) for s in same)])
    return FrameSet(
        name="+".join(s.name for s in sets),
        frame_name=_frame_names(sets),
        size=np.concatenate([s.size for s in same]),
        stamp=np.concatenate([s.stamp for s in same]),
        labelled=np.concatenate([s.labelled for s in same]),
        objects=_together([s.objects for s in same], start),
        ignored=_together([s.ignored for s in same], start),
        predictions=_predictions(same, start),
        predicted=np.concatenate([s.predicted for s in same]),
        class_names=names,
        images=None if all(s.images is None for s in sets) else ConcatenatedImages([s.images for s in sets], start),
        losses=losses,
        detector=_detector(sets),
        independent=all(s.independent for s in sets),
        label_source="; ".join(dict.fromkeys(s.label_source for s in sets if s.label_source)),
        recording=[]
        if all(s.name in _SPLITS and not s.recording for s in sets)
        else [name for number, s in enumerate(sets, 1) for name in _recordings(s, f"{number} {s.name}")],
    )


_SPLITS = {"train", "training", "val", "valid", "validation", "dev", "test", "testing"}
"""Names of the parts of one data set, which is divided at random: no part is a recording of its own."""


def _recordings(frames: FrameSet, name: str) -> Sequence[str]:
    """Which recording each frame of one of several sets is of: drawn by themselves, frames are of none."""
    if frames.recording:
        return [f"{name}: {one}" for one in frames.recording]
    return frames.frame_name if frames.independent else [name] * len(frames)


def join(
    *sources: FrameSet | str | Path,
    out: str | Path | None = None,
    to: str | None = None,
    allow_outside: bool = False,
    thinning: Thinning = ALL_FRAMES,
) -> FrameSet:
    """Join several data sets to one: the recordings of one site, or the splits of a data set.

    Classes are matched by name, or by id where no set names them. Predictions are kept. Frames of one name in several
    sets are told apart by the name of their set.

    Args:
        sources: two or more data sets, or paths of data sets or recordings.
        out: where to write the joined set; None writes nothing.
        to: the format of a folder at `out`, such as yolo or coco.
        allow_outside: take pictures that lie outside of the folder of their data set.
        thinning: which frames of each source are taken, such as `Thinning(every=5)`.

    Returns:
        The joined set.

    Raises:
        UsageError: fewer than two sources, one given twice, or `out` is one of them.
        SimjudgeError: a source cannot be read, or a class has no name while other classes have.
    """
    paths = [Path(source) for source in sources if not isinstance(source, FrameSet)]
    resolved = [path.resolve() for path in paths]
    twice = next((path for i, path in enumerate(paths) if resolved[i] in resolved[:i]), None)
    if twice is not None:
        raise UsageError(f"{twice}: given twice; a set is joined with others, not with itself")
    if len(sources) < 2:
        only = "".join(source.name if isinstance(source, FrameSet) else str(source) for source in sources)
        raise UsageError(f"{only or 'no set'}: nothing to join it with; give two sets or more, and OUT")
    if out is not None and Path(out).resolve() in resolved:
        raise UsageError(f"{out}: is an input; choose another name")
    read = [as_frames(source, allow_outside=allow_outside, thinning=thinning) for source in sources]
    return write_where_asked(join_sets(read), out, to)


@dataclass(frozen=True, repr=False)
class ConcatenatedImages(ShortRepr):
    """The images of several sets, one set behind the other."""

    sources: Sequence[Images | None]  # the images of each set, None where it has none
    start: IntArray  # int64 (sets + 1,), the number of the first frame of each set, and of all frames

    def __len__(self) -> int:
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
    if not any(s.class_names for s in sets):
        return list(sets), {}
    for frames in sets:
        _check_named(frames)
    names: dict[int, str] = {}
    out = []
    for frame_set in sets:
        ids = class_map(frame_set, replace(frame_set, class_names=names)) if names else {}
        names = {ids.get(k, k): name for k, name in frame_set.class_names.items()} | names
        out.append(frame_set if all(new == old for old, new in ids.items()) else _renumbered(frame_set, ids))
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
        return np.array([ids.get(int(k), int(k)) for k in class_id], np.int64)

    objects = replace(frames.objects, class_id=mapped(frames.objects.class_id))
    found = frames.predictions
    predictions = None if found is None else replace(found, class_id=mapped(found.class_id))
    ignored = replace(frames.ignored, class_id=mapped(frames.ignored.class_id))
    return replace(frames, objects=objects, predictions=predictions, ignored=ignored)


def _frame_names(sets: Sequence[FrameSet]) -> list[str]:
    """Names by frame, unique; those that several sets have begin with the name of their set."""
    owners = Counter(name for s in sets for name in s.frame_name)
    taken = {name for name, count in owners.items() if count == 1}
    out = []
    for number, frames in enumerate(sets, 1):
        for name in frames.frame_name:
            if owners[name] == 1:
                out.append(name)
                continue
            new, prefix = f"{frames.name}_{name}", f"{frames.name}_{number}"
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
    found = [frames.detector for frames in sets if frames.predictions is not None]
    return found[0] if found and all(detector == found[0] for detector in found) else None


def random_split(groups: Sequence[str], count: int, seed: int = 0) -> list[IntArray]:
    """Deal frames into parts at random, all frames of one group into the same part.

    Groups are shuffled, then dealt one by one to the part that holds the fewest frames: where every frame is a group of
    its own, the parts' sizes differ by one at most.
    """
    if seed < 0:
        raise UsageError(f"seed {seed}: must be 0 or more")
    members: dict[str, list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        members[group].append(index)
    if count < 1 or len(members) < count:
        raise UsageError(f"{count} parts of {len(members)} separable frames: ask for 1 to {len(members)} parts")
    parts: list[list[int]] = [[] for _ in range(count)]
    order = sorted(members)
    for group in np.random.default_rng(seed).permutation(len(order)):
        min(parts, key=len).extend(members[order[int(group)]])
    return [np.array(sorted(part), np.int64) for part in parts]


def contiguous_split(sequence: FrameSequence, count: int) -> list[IntArray]:
    """Deal frames into stretches of their sequence, the first ones into the first part; each ascending, int64."""
    run = np.where(sequence.run == ALONE, sequence.run.max() + 1, sequence.run)
    # Frames without a place have one each.
    place = np.where(sequence.run == ALONE, np.arange(len(run)), sequence.position)
    _, number = np.unique(np.stack([run, place], 1), axis=0, return_inverse=True)
    number = number.reshape(-1)
    places = int(number.max()) + 1
    if count < 1 or places < count:
        raise UsageError(f"{count} parts of {places} separable frames: ask for 1 to {places} parts")
    before = np.concatenate([[0], np.cumsum(np.bincount(number))])[:-1]
    # The part that a place begins in if all parts are equal; where many frames share a place, none may stay empty.
    part = np.minimum(before * count // len(number), count - 1)
    at = np.arange(places)
    part = np.maximum(np.minimum.accumulate(part - at) + at, count - places + at)
    return [np.flatnonzero(part[number] == number_of_part) for number_of_part in range(count)]


@dataclass(frozen=True)
class Split:
    """A data set that was dealt into parts; iterating over it gives the parts.

    Attributes:
        parts: the parts, which share no frame.
        paths: where each part was written; empty where nothing was written.
        groups: the number of groups of frames that stayed together.
        losses: what was left out while reading and writing.
    """

    parts: list[FrameSet]
    paths: list[Path]
    groups: int
    losses: Losses

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[FrameSet]:
        return iter(self.parts)

    def __getitem__(self, index: int) -> FrameSet:
        return self.parts[index]


def split(  # noqa: PLR0913 - one argument an option
    source: FrameSet | str | Path,
    parts: int = 2,
    out: str | Path | None = None,
    *,
    to: str = "yolo",
    seed: int = 0,
    by_source: bool = True,
    allow_outside: bool = False,
    contiguous: bool = False,
    thinning: Thinning = ALL_FRAMES,
) -> Split:
    """Deal the frames of a set at random, or in stretches, into parts of equal size, to compare a set with itself.

    Args:
        source: a data set, or the path of a data set or a recording.
        parts: how many parts, 2 or more.
        out: the folder to make; the parts in it are called 1, 2, and so on. None writes nothing.
        to: the format of the parts: a folder, such as yolo or coco, or a file (json, mcap, db3).
        seed: seed of the random numbers, 0 or more.
        by_source: keep variants of one photograph together, which the names of Roboflow tell.
        allow_outside: take pictures that lie outside of the folder of their data set.
        contiguous: each part is one stretch of a recording or of a numbered sequence, in its order; nothing is random.
        thinning: which frames are taken before, such as `Thinning(every=5)`.

    Returns:
        The parts.

    Raises:
        UsageError: there is no such format, there are fewer photographs than parts, or the frames are no sequence.
        SimjudgeError: the source cannot be read, or `out` cannot be written.
    """
    known = [*(form.name for form in folder_formats()), *_file_endings()]
    if to not in known:
        raise UsageError(f"--to {to}: no such format; one of {', '.join(known)}")
    frames = as_frames(source, allow_outside=allow_outside, thinning=thinning)
    groups = [source_photograph(name) if by_source else name for name in frames.frame_name]
    chosen = _stretches(frames, parts) if contiguous else random_split(groups, parts, seed)
    dealt = [frames.take(rows) for rows in chosen]
    losses = Losses()
    losses.extend(frames.losses)
    paths = [] if out is None else _write_parts(dealt, Path(out), to, losses)
    return Split(dealt, paths, len(set(groups)), losses)


def _stretches(frames: FrameSet, parts: int) -> list[IntArray]:
    sequence = find_sequence(frames)
    if sequence is None:
        raise UsageError(
            f"--contiguous: frames of {frames.name} have neither stamps nor numbers that grow evenly in their names"
        )
    return contiguous_split(sequence, parts)


def _write_parts(parts: Sequence[FrameSet], out: Path, to: str, losses: Losses) -> list[Path]:
    """Write every part or none; returns where they are."""
    is_file = to in _file_endings()
    names = [f"{number}.{to}" if is_file else str(number) for number in range(1, len(parts) + 1)]
    with atomic_folder(out) as folder:
        for name, part in zip(names, parts, strict=True):
            losses.extend(write_set(part, folder / name, None if is_file else to))
    return [out / name for name in names]


def _file_endings() -> list[str]:
    """Formats that are one file, named by its ending: json, mcap, db3."""
    return [suffix.removeprefix(".") for suffix in file_suffixes()]


def leave_out_small(frames: FrameSet, min_size: float) -> FrameSet:
    """Leave out the labels of objects under `min_size` pixels, which people or a simulator may not label."""
    if not 0 <= min_size < np.inf:
        raise UsageError(f"--min-size {min_size}: 0 px or more is needed")
    box = frames.objects.box
    large = (box[:, 2:] - box[:, :2]).min(axis=1, initial=np.inf) >= min_size
    return replace(frames, objects=frames.objects.take(np.flatnonzero(large)))


def convert(  # noqa: PLR0913 - one argument an option
    source: FrameSet | CloudSet | str | Path,
    out: str | Path,
    *,
    to: str | None = None,
    labels: FrameSet | str | Path | None = None,
    label_tolerance: float = 0.0,
    topics: Topics | None = None,
    upside_down: bool = False,
    crop: str | None = None,
    min_size: float = 0.0,
    allow_outside: bool = False,
    from_predictions: float | None = None,
    from_regions: Sequence[str] = (),
    thinning: Thinning = ALL_FRAMES,
) -> FrameSet | CloudSet:
    """Convert a data set or a recording into another format; nothing is lost on the way.

    Point clouds are converted, with all that belongs to them, where `out` is of a format that holds clouds (a
    recording, "pcd", "kitti") and the source is no recording, or is converted into a folder.

    Args:
        source: a data set, a set of clouds, or the path of a data set or a recording.
        out: what to write: x.mcap, x.db3, x.json, or a folder.
        to: the format of a folder, such as yolo or coco.
        labels: a labelled set whose objects replace those of the source, matched by frame name, else by stamp.
        label_tolerance: how far the stamps of an image and of its labels may lie apart, in seconds.
        topics: in a recording, the topics to read where several would do.
        upside_down: turn images and boxes by 180 degrees, as recordings of Chrono::ROS need it.
        crop: a rectangle WIDTHxHEIGHT+X+Y in pixels that is cut out of every image, with its labels.
        min_size: labels whose box is narrower or lower are left out, pixels.
        allow_outside: take pictures that lie outside of the folder of their data set.
        from_predictions: take the predictions of this score or more, of `labels` or of the source itself, for labels:
            a stronger detector as teacher. The set says so, and so does every result made from it.
        from_regions: classes whose connected regions in the label pictures, of `labels` or of the source itself,
            become objects.
        thinning: which frames are taken, such as `Thinning(every=5)`.

    Returns:
        The set that was written. Its `losses` count what was left out while reading and writing.

    Raises:
        UsageError: `out` is an input, or does not say a format, or an image is smaller than `crop`.
        SimjudgeError: an input cannot be read, no label matches, or `out` cannot be written.
    """
    refuse_input_as_output(out, source)
    if isinstance(source, CloudSet) or _takes_clouds(source, Path(out), to, topics):
        made = from_predictions is not None or bool(from_regions) or bool(thinning)
        if labels is not None or upside_down or crop is not None or min_size or made:
            raise UsageError(
                "--labels, --from-predictions, --from-regions, --upside-down, --crop, --min-size, --every and --rate"
                " are for images; convert the clouds without them"
            )
        return _convert_clouds(source, out, to, topics)
    tolerance_ns = round(label_tolerance * 1e9)
    frames = (
        source if isinstance(source, FrameSet) else read_set(source, tolerance_ns, topics, allow_outside=allow_outside)
    )
    frames = thin_frames(frames, thinning)
    if upside_down:
        frames = flip_vertically(frames)
    if labels is not None or from_predictions is not None or from_regions:
        taken = _labels(labels, frames, source, from_predictions, from_regions, allow_outside=allow_outside)
        frames = taken if labels is None else attach_labels(taken, frames, tolerance_ns)
    if crop is not None:
        frames = crop_images(frames, CropWindow.parse(crop))
    if min_size:
        frames = leave_out_small(frames, min_size)
    return write_where_asked(frames, out, to)


def _labels(
    labels: FrameSet | str | Path | None,
    frames: FrameSet,
    source: FrameSet | str | Path,
    from_predictions: float | None,
    from_regions: Sequence[str],
    *,
    allow_outside: bool,
) -> FrameSet:
    """The set whose objects are the labels, made of predictions or of regions where asked for."""
    if from_predictions is not None and from_regions:
        raise UsageError("--from-predictions and --from-regions: give one of them")
    if labels is None:
        given = frames
    elif from_predictions is not None and _holds_predictions_alone(labels):
        beside = None if isinstance(source, FrameSet) else source
        given = read_predictions(Path(str(labels)), frames, beside, allow_outside=allow_outside)
        given = given if given.detector else replace(given, name=Path(str(labels)).stem)
    else:
        given = as_frames(labels, allow_outside=allow_outside)
    if from_predictions is not None:
        return labels_from_predictions(given, from_predictions)
    return labels_from_pictures(given, from_regions) if from_regions else given


def _holds_predictions_alone(labels: FrameSet | str | Path) -> bool:
    form = None if isinstance(labels, FrameSet) else find_format(labels)
    return form is not None and form.read is None and form.read_predictions is not None


def _takes_clouds(source: FrameSet | str | Path, out: Path, to: str | None, topics: Topics | None) -> bool:
    if topics is not None and topics.cloud_topic is not None:
        return True
    if isinstance(source, FrameSet):
        return False
    writers = [form for form in all_formats() if form.write_clouds is not None]
    if any(to == writer.name and writer.write is None for writer in writers):
        return True
    found = find_format(source)
    if found is None or not found.holds_clouds(source):
        return False
    # A recording has room for images too: into another one go its frames, unless a topic of clouds is named.
    return found.read is None or any(
        found is not writer and (to == writer.name or out.suffix in writer.suffixes) for writer in writers
    )


def _convert_clouds(
    source: FrameSet | CloudSet | str | Path, out: str | Path, to: str | None, topics: Topics | None
) -> CloudSet:
    if isinstance(source, FrameSet):
        raise UsageError("a topic of clouds is for recordings; this is a set of images")
    clouds = source if isinstance(source, CloudSet) else read_clouds(source, topics)
    losses = Losses()
    losses.extend(clouds.losses)
    left_out = write_clouds(clouds, out, to)
    losses.extend(left_out)
    # What could not be written is no part of the set that was.
    return replace(read_clouds(out) if left_out else clouds, losses=losses)
