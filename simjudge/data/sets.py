"""Any data set, in and out, also thinned: a path tells its format, the name of what is written tells what to write.

The formats themselves are in `simjudge.data.formats`. Python functions take a set that is read already, or its path.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import check_file, check_output, name_format
from simjudge.core.frames import FrameSet
from simjudge.core.names import DetectorRecord, equal_names, normalized_name
from simjudge.core.object_tables import Predictions
from simjudge.core.settings import ALL_FRAMES, Thinning
from simjudge.core.text import list_some, one_line
from simjudge.data.clouds import CloudSet
from simjudge.data.format_support.image_files import (
    Format,
    ReadOptions,
    Source,
    Topics,
    describe_labels_left_aside,
    file_stems,
    image_file,
    name_labels,
    refuse_outside,
)
from simjudge.data.format_support.raw_rows import used_class_ids
from simjudge.data.format_support.sidecar import load_sidecar
from simjudge.data.formats import all_formats, file_suffixes, folder_formats
from simjudge.data.frame_sequences import ALONE, FrameSequence, attach_predictions, find_sequence


def thin_frames(frames: FrameSet, thinning: Thinning) -> FrameSet:
    """The frames that are taken, with what was done in the name of the set, so that each result and page says it."""
    if not thinning:
        return frames
    sequence = None if frames.independent else find_sequence(frames)
    if thinning.rate is None:
        order = np.arange(len(frames)) if sequence is None else np.lexsort((sequence.position, sequence.run))
        chosen = np.sort(order[:: thinning.every])
    else:
        if sequence is None or not sequence.timed:
            raise UsageError(
                f"--rate {thinning.rate:g}: the frames of {frames.name} have no times; give --every N for every N-th"
            )
        chosen = _at_rate(sequence, thinning.rate)
    return replace(frames.take(chosen), name=f"{frames.name}, {thinning}")


def _at_rate(sequence: FrameSequence, rate: float) -> IntArray:
    """The first frame of each period of each sequence; a frame half a step early counts to the next period.

    Frames of no sequence stay out: nobody knows their time.
    """
    chosen = []
    for run in np.unique(sequence.run[sequence.run != ALONE]):
        rows = np.flatnonzero(sequence.run == run)
        rows = rows[np.argsort(sequence.position[rows], kind="stable")]
        since = sequence.position[rows] - sequence.position[rows[0]] + sequence.step / 2
        _, first = np.unique(np.floor(since * rate / 1e9), return_index=True)
        chosen.append(rows[first])
    return np.sort(np.concatenate(chosen)).astype(np.int64)


_ENTRIES_LOOKED_INTO = 200  # Entries of a folder that are looked into
# Endings of files that may be data sets of their own.
_SUFFIXES = (".json", ".xml", ".mcap", ".db3", ".yaml", ".yml", ".data")


def describe_choice(folder: Path, frames: FrameSet) -> list[str]:
    """Say what was taken of a folder, and what else could have been."""
    first, *others = [form.title for form in _formats_of(folder)]
    root = folder.absolute()
    files = (image_file(frames.images, i) for i in range(len(frames)))
    parents = sorted({os.path.relpath(file.absolute().parent, root) for file in files if file is not None})
    lines = [f"taken as {first}" + (f", images in {list_some(parents)}" if parents else "")]
    choices = [f"the folder as {title}" for title in others] + data_sets_in(folder)
    if choices:
        lines.append(f"other choices: {list_some(choices)}; name what is meant")
    return lines


def data_sets_in(folder: Path) -> list[str]:
    """List what a folder holds that can be read on its own."""
    found = []
    for entry in sorted(folder.iterdir())[:_ENTRIES_LOOKED_INTO]:
        if entry.name.startswith(".") or not (entry.is_dir() or (entry.is_file() and entry.suffix in _SUFFIXES)):
            continue
        titles = [form.title for form in _formats_of(entry)]
        if titles:
            found.append(f"{entry.name} ({titles[0]})")
    return found


def _formats_of(path: Path) -> list[Format]:
    source = Source(path)
    return [form for form in all_formats() if form.read is not None and _takes(form, source)]


def _takes(form: Format, source: Source) -> bool:
    try:
        return form.sniff(source)
    except SimjudgeError:
        return False


__all__ = [
    "Topics",
    "describe_readable",
    "find_format",
    "image_topics",
    "read_clouds",
    "read_predictions",
    "read_set",
    "read_with_format",
    "sniff_format",
    "write_clouds",
    "write_set",
]
_HEAD_BYTES = 64  # Of a file, to name its format
_MOST_LOOKED_AT = 100  # Files of a folder whose format is looked at
_PLAIN = ("bag", "images")  # What is no format of labels, by name: described in words, not by a title


def sniff_format(path: str | Path) -> str:
    """Tell the format of what is at a path."""
    found = find_format(path)
    return "" if found is None else found.name


def image_topics(image_topic: str | None) -> Topics | None:
    """The topics to read where a person names the images (by topic or camera) alone, or nothing."""
    return None if image_topic is None else Topics(image_topic)


def read_set(
    path: str | Path, tolerance_ns: int = 0, topics: Topics | None = None, *, allow_outside: bool = False
) -> FrameSet:
    """Read the data set at a path, in whatever format it is.

    Args:
        path: a file or a folder.
        tolerance_ns: in a recording, how far the stamps of an image and of its labels may lie apart, nanoseconds.
        topics: in a recording, the topics to read where several would do.
        allow_outside: take pictures that lie outside of the data set's folder. A data set from elsewhere may name any
            file of this machine.

    Returns:
        The data set. Its images are read when they are asked for; its `losses` count what was left out.

    Raises:
        UsageError: topics are named for something that is no recording.
        SimjudgeError: nothing is there, it is of no known format, it is empty, it is damaged beyond use, or a picture
            lies outside of its folder.
    """
    return read_with_format(path, tolerance_ns, topics, allow_outside=allow_outside)[0]


def read_with_format(
    path: str | Path, tolerance_ns: int = 0, topics: Topics | None = None, *, allow_outside: bool = False
) -> tuple[FrameSet, str]:
    """Read the data set at a path, and tell its format; a large file is parsed but once."""
    source = _source(path)
    form = _find_format(source)
    if topics is not None and (form is None or not form.has_topics):
        raise UsageError(f"{source.path}: is no recording; topics cannot be chosen in it")
    if form is None:
        raise _unknown(source)
    if form.read is None and form.read_clouds is not None:
        raise SimjudgeError(f"{source.path}: holds {form.title} and no images; 'simjudge data convert' takes them")
    if form.read is None:
        raise SimjudgeError(f"{source.path}: holds {form.title} only; give it beside the data set they belong to")
    frames = form.read(source, ReadOptions(tolerance_ns, topics))
    if len(frames) == 0:
        lost = frames.losses.lines()
        if lost:
            raise SimjudgeError(f"{source.path}: no frame of it can be read: {lost[0]}")
        raise SimjudgeError(f"{source.path}: holds no frame; an empty set cannot be used")
    frames = _with_distinct_names(frames, source.path)
    frames = named_by_labels(frames)
    if not allow_outside:
        refuse_outside(frames, source.folder)
    return frames, form.name


def named_by_labels(frames: FrameSet) -> FrameSet:
    """The set under a name that says what its labels are where nobody drew them: each result and page calls it so."""
    said = f", labels: {frames.label_source}" if frames.label_source else ""
    return frames if said in frames.name else replace(frames, name=f"{frames.name}{said}")


def write_set(frames: FrameSet | CloudSet, path: str | Path, to: str | None = None) -> Losses:
    """Write a data set in the format that the path is called by.

    Args:
        frames: the data set; point clouds go to `write_clouds`.
        path: x.mcap, x.db3 or x.json for a file, any other name for a folder. Nothing may be there yet.
        to: the format of a folder, such as "yolo"; None for a file.

    Returns:
        What the format could not take: a recording takes no frame whose image is damaged.

    Raises:
        UsageError: the name says no format, or `to` is no format or does not suit the name.
        SimjudgeError: something is there already, or it cannot be written.
    """
    if isinstance(frames, CloudSet):
        return write_clouds(frames, path, to)
    path = Path(path)
    files, folders = file_suffixes(), {form.name: form for form in folder_formats()}
    if path.suffix in files:
        if to is not None:
            raise UsageError(f"{path}: is written as {path.suffix[1:]} by its name; leave out --to {to}")
        check_output(path)
        return _write(files[path.suffix], frames, path)
    if to is None:
        raise UsageError(f"{path}: a folder needs --to {'|'.join(folders)}, a file ends in {', '.join(files)}")
    if to not in folders:
        names = f"one of {', '.join(folders)}; a file ends in {', '.join(files)}"
        raise UsageError(f"--to {to}: no such format of a folder; {names}")
    return _write(folders[to], frames, path)


def find_format(path: str | Path) -> Format | None:
    """Find the format of what is at a path: the format; None for none that simjudge knows."""
    return _find_format(_source(path))


def read_clouds(path: str | Path, topics: Topics | None = None) -> CloudSet:
    """Read the point clouds at a path, and what belongs to them: boxes in space, images, calibration, poses.

    Args:
        path: a recording, a KITTI folder, a .pcd file or a folder of them.
        topics: in a recording, the topics to read where several would do.

    Returns:
        The clouds; each is read when it is asked for. `losses` count what was left out.

    Raises:
        UsageError: there is no such topic, or topics are named for something that is no recording.
        SimjudgeError: nothing is there, it holds no clouds, or it is damaged beyond use.
    """
    source = _source(path)
    form = _find_format(source)
    if form is None or form.read_clouds is None:
        raise SimjudgeError(f"{source.path}: holds no point clouds; give {_describe_clouds()}")
    if topics is not None and not form.has_topics:
        raise UsageError(f"{source.path}: is no recording; topics cannot be chosen in it")
    return form.read_clouds(source, topics or Topics())


def write_clouds(clouds: CloudSet, path: str | Path, to: str | None = None) -> Losses:
    """Write point clouds, and what belongs to them, in the format that the path is called by.

    Args:
        clouds: what to write.
        path: x.mcap or x.db3 for a recording, any other name for a folder. Nothing may be there yet.
        to: the format of a folder, "pcd" or "kitti"; None for a file.

    Returns:
        What the format could not take.

    Raises:
        UsageError: the name says no format, or `to` is no format of clouds or does not suit the name.
        SimjudgeError: something is there already, or it cannot be written.
    """
    path = Path(path)
    known = {form.name: form for form in all_formats() if form.write_clouds is not None}
    form = next((form for form in known.values() if path.suffix in form.suffixes), None)
    if form is not None and to is not None:
        raise UsageError(f"{path}: is written as {path.suffix[1:]} by its name; leave out --to {to}")
    folders = {name: form for name, form in known.items() if not form.suffixes}
    form = form or folders.get(to or "")
    if form is None or form.write_clouds is None:
        what = f"--to {to}: no format of point clouds" if to else f"{path}: a folder of point clouds needs --to"
        raise UsageError(f"{what}; {', '.join(folders)} are, and recordings ({path.name}.mcap)")
    check_output(path)
    return form.write_clouds(clouds, path)


def read_predictions(
    path: str | Path,
    target: FrameSet,
    annotations: str | Path | None = None,
    *,
    allow_outside: bool = False,
    rename: Mapping[str, str] | None = None,
) -> FrameSet:
    """Read predictions onto a data set, in place of its own."""
    source = _source(path, for_predictions=True)
    losses = Losses()
    losses.extend(target.losses)
    base = replace(target, losses=losses)
    form = _find_format(source)
    if form is not None and form.read_predictions is not None:
        beside = None if annotations is None else Path(annotations)
        found = form.read_predictions(source, base, beside, losses)
        return base.with_predictions(found, detector=_detector_beside(source, base, found))
    read = read_set(source.path, allow_outside=allow_outside)
    if read.predictions is None:
        raise SimjudgeError(f"{source.path}: holds no predictions; run 'simjudge detect' or give another file")
    losses.extend(read.losses)
    new = {normalized_name(old): name for old, name in (rename or {}).items()}
    ids = {*read.class_names, *np.unique(read.predictions.class_id).tolist()} if new else ()
    moved = {k: new[normalized_name(read.class_name(k))] for k in ids if normalized_name(read.class_name(k)) in new}
    return attach_predictions(replace(read, class_names={**read.class_names, **moved}), base)


def describe_readable() -> str:
    """Say what can be read."""
    readable = [form for form in all_formats() if form.read is not None]
    plain = [form.holds for form in readable if form.name in _PLAIN]
    titles = sorted((form.title for form in readable if form.name not in _PLAIN), key=str.lower)
    return f"{', '.join(plain)}, or a data set in a format of {', '.join(titles[:-1])} or {titles[-1]}"


def _unknown(source: Source) -> SimjudgeError:
    what = "not a data set that simjudge knows"
    if source.json is not None:
        what = name_labels(source.json) or "JSON, but neither COCO annotations nor a list of frames"
    elif source.is_folder and not any(source.path.iterdir()):
        what = "an empty folder"
    else:
        what = _foreign_content(source.path) or what
    inside = data_sets_in(source.path) if source.is_folder else []
    for bag in sorted(source.path.glob("*.bag")) if source.is_folder else []:
        check_file(bag)
    beside = describe_labels_left_aside(source.path, []) if source.is_folder else []
    what = "; ".join([what, *beside[:1]])
    remedy = f"it holds {list_some(inside)}: give one of them" if inside else f"give {describe_readable()}"
    return SimjudgeError(f"{source.path}: {what}; {remedy}")


def _foreign_content(path: Path) -> str:
    """Name the format of a file, or of the first file of a folder that has one which simjudge does not read."""
    for file in islice(sorted(path.iterdir()), _MOST_LOOKED_AT) if path.is_dir() else [path]:
        if file.is_file():
            with suppress(OSError), file.open("rb") as stream:
                if name := name_format(stream.read(_HEAD_BYTES)):
                    return f"{name}, which simjudge does not read{f' ({file.name})' if file != path else ''}"
    return ""


def _describe_clouds() -> str:
    phrases = [form.holds for form in all_formats() if form.read_clouds is not None]
    return f"{', '.join(phrases[:-1])} or {phrases[-1]}"


def _source(path: str | Path, *, for_predictions: bool = False) -> Source:
    path = Path(path)
    if not path.exists():
        raise SimjudgeError(f"{path}: does not exist")
    if not path.is_dir():
        check_file(path)
    return Source(path, for_predictions=for_predictions)


def _find_format(source: Source) -> Format | None:
    return next((form for form in all_formats() if form.sniff(source)), None)


def _detector_beside(source: Source, target: FrameSet, found: Predictions) -> DetectorRecord | None:
    folder = source.path.absolute() if source.is_folder else source.path.absolute().parent
    stems = file_stems(target.frame_name)
    known = (load_sidecar(place).detector(stems, found) for place in (folder, folder.parent))
    return next((record for record in known if record is not None), None)


def _with_distinct_names(frames: FrameSet, path: Path) -> FrameSet:
    """Refuse classes of one name, which a comparison would take for one; a name of no object or prediction may go."""
    equal = equal_names(frames.class_names)
    if not equal:
        return frames
    used = used_class_ids(frames.objects) | used_class_ids(frames.predictions)
    names = dict(frames.class_names)
    for ids in equal:
        held = [class_id for class_id in ids if class_id in used]
        if len(held) > 1:
            first, second = held[:2]
            raise SimjudgeError(
                f"{path}: classes {first} and {second} have one name ({one_line(names[first])}, "
                f"{one_line(names[second])}); rename one, or give both one id"
            )
        for class_id in set(ids) - set(held or ids[:1]):
            del names[class_id]
    return replace(frames, class_names=names)


def _write(form: Format, frames: FrameSet, path: Path) -> Losses:
    assert form.write is not None  # noqa: S101 - only formats that can be written are asked for
    losses = form.write(frames, path)
    for pictures in (frames.semantic, frames.predicted_semantic):
        if pictures is not None and not form.label_pictures:
            kept = ", ".join(form.name for form in all_formats() if form.label_pictures)
            losses.add(f"label pictures, which {form.title} does not hold ({kept} does)", str(path), len(pictures))
    return losses


def as_frames(
    source: FrameSet | str | Path,
    *,
    image_topic: str | None = None,
    allow_outside: bool = False,
    thinning: Thinning = ALL_FRAMES,
) -> FrameSet:
    """Read a data set, unless it is read already, and take the frames that are wanted."""
    if not isinstance(source, FrameSet):
        source = read_set(source, topics=image_topics(image_topic), allow_outside=allow_outside)
    return thin_frames(named_by_labels(source), thinning)


def refuse_input_as_output(out: str | Path | None, *sources: FrameSet | CloudSet | str | Path) -> None:
    """Check that the output is none of the inputs, nor in one (out: the path to write; None for nothing).

    Small texts (labels, calibrations) may lie beside the images that they speak of.
    """
    if out is None:
        return
    written = Path(out).resolve()
    for source in (Path(item) for item in sources if not isinstance(item, FrameSet | CloudSet)):
        if source.resolve() == written:
            raise UsageError(f"{out}: is the input; choose another name")
        if source.resolve() in written.parents and written.suffix not in (".json", ".yaml", ".yml"):
            raise UsageError(f"{out}: lies in the input {source}, which it would change; choose a place outside")


def write_where_asked(frames: FrameSet, out: str | Path | None, to: str | None) -> FrameSet:
    """Write a data set, unless no path is given (out: the path to write; None writes nothing)."""
    if out is None:
        return frames
    losses = Losses()
    losses.extend(frames.losses)
    losses.extend(write_set(frames, out, to))
    return replace(frames, losses=losses)
