"""A comparison as a layer for rerun: an .rrd that is opened with a person's own and falls into the same recording."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Advance, Log, Losses, SimjudgeError
from simjudge.core.files import atomic_file, check_file
from simjudge.core.names import NO_STAMP
from simjudge.page.chart_data import DARK, rgb
from simjudge.page.report_settings import ReportSettings
from simjudge.questions.compare.layers import Layer, PictureTimes, check_layer_output, frame_numbers, place_frames
from simjudge.questions.compare.result_frames import ResultFrames, context_text, read_result_frames, summary_text
from simjudge.questions.watch import MISSING, OUTSIDE_COLOUR, is_installed, w1_colour
from simjudge.results.saved_result import Result

_PICTURE = re.compile(
    r"(?<![A-Za-z])(EncodedImage:blob|Image:buffer|VideoFrameReference:timestamp|VideoStream:sample)$"
)
"""Components of which a row is a picture; DepthImage:buffer and SegmentationImage:buffer are none."""
_READERS = ("rerun.chunk", "rerun.experimental")
_TOO_OLD = "this rerun cannot read recordings back, which a layer over one needs: pip install -U 'rerun-sdk>=0.34'"
_FRAME = "CoordinateFrame:frame"
ROOT = "simjudge"
"""Entity of what is said, below that of the pictures for boxes, at the top for curves and the verdict."""
_OF_CONTEXT = ("performance", "w1", "mean_difference", "batch_a", "batch_b", "in_overlap", "score")
_WHOLE = (
    ("gap", "gap G of the whole comparison", "gap"),
    ("gap_low", "G, lower end (95 %)", "soft"),
    ("gap_high", "G, upper end (95 %)", "soft"),
    ("noise", "W1 expected by chance", "floor"),
)


@dataclass(repr=False)
class Timeline(ShortRepr):
    """A timeline of an entity's pictures."""

    kind: str  # "timestamp", "duration" (ns) or "sequence"
    values: list[IntArray] = field(default_factory=list)  # one array a chunk


@dataclass(repr=False)
class PictureEntity(ShortRepr):
    """An entity that has pictures."""

    name: str
    timelines: dict[str, Timeline] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)  # pictures a chunk
    frame: str = ""  # the coordinate frame that it is in; "" for that of its place in the tree

    def add(self, batch: pa.RecordBatch, picture: str) -> None:
        """Take the rows of a chunk that hold a picture."""
        rows = np.flatnonzero(np.asarray(batch.column(picture).is_valid().to_numpy(zero_copy_only=False)))
        for number, column in enumerate(batch.schema):
            if (column.metadata or {}).get(b"rerun:kind") != b"index":
                continue
            kind = "timestamp" if pa.types.is_timestamp(column.type) else "duration"
            kind = "sequence" if pa.types.is_integer(column.type) else kind
            line = self.timelines.setdefault(column.name, Timeline(kind))
            line.values += [np.full(count, NO_STAMP, np.int64) for count in self.counts[len(line.values) :]]
            values = batch.column(number).cast(pa.int64()).fill_null(NO_STAMP)
            line.values.append(np.asarray(values.to_numpy(zero_copy_only=False), np.int64)[rows])
        self.counts.append(len(rows))

    def times(self) -> dict[str, IntArray]:
        """Time of each picture by timeline, NO_STAMP where it has none: int64 (N,), pictures in the order of time."""
        found = {
            name: np.concatenate(
                [*line.values, *(np.full(count, NO_STAMP, np.int64) for count in self.counts[len(line.values) :])]
            )
            for name, line in self.timelines.items()
        }
        if not found:
            return {}
        keys = [found[name] for name in sorted(found, key=lambda name: (name in ("log_tick", "log_time"), name))]
        order = np.lexsort(keys[::-1])
        return {name: values[order] for name, values in found.items()}


def read_picture_entities(path: Path) -> tuple[str, str, list[PictureEntity]]:
    """Read a recording's application and recording id, and the entities that have pictures."""
    check_file(path)
    try:
        opened = _reader()(path)
        stores = opened.recordings()
        if len(stores) != 1:
            raise SimjudgeError(f"{path}: holds {len(stores)} recordings; give a file with one (rerun rrd split)")
        entities = _picture_entities(opened.stream())
    except (RuntimeError, ValueError, OSError) as error:
        raise SimjudgeError(f"{path}: rerun cannot read it ({' '.join(str(error).split())[:200]})") from error
    return stores[0].application_id, stores[0].recording_id, entities


def _reader() -> Any:
    """The reader of recordings that rerun has, wherever it stands in this version."""
    for place in _READERS:
        reader = getattr(importlib.import_module(place), "RrdReader", None) if _has_module(place) else None
        if reader is not None:
            return reader
    raise SimjudgeError(_TOO_OLD)


def _has_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _picture_entities(chunks: Iterable[Any]) -> list[PictureEntity]:
    entities: dict[str, PictureEntity] = {}
    frames: dict[str, str] = {}
    for chunk in chunks:
        name = str(chunk.entity_path)
        if ROOT in name.split("/"):
            continue
        batch = chunk.to_record_batch()
        said = next((values[0] for values in _values(batch, _FRAME) if values), "")
        if said:
            frames.setdefault(name, said)
        picture = next((column for column in batch.schema.names if _PICTURE.search(column)), None)
        if picture is not None and not chunk.is_static:
            entities.setdefault(name, PictureEntity(name)).add(batch, picture)
    for name, entity in entities.items():
        entity.frame = frames.get(name, "")
    return list(entities.values())


def _values(batch: pa.RecordBatch, ending: str) -> list[Any]:
    """The rows of a component of a chunk; empty where it has none."""
    column = next((name for name in batch.schema.names if name.endswith(ending)), None)
    return [] if column is None else list(batch.column(column).to_pylist())


def write_rerun_layer(result: Result, out: Path, settings: ReportSettings, advance: Advance, log: Log) -> Losses:
    """Write a result as a layer over a person's own recording."""
    onto = Path(settings.onto or "")
    if not is_installed():
        raise SimjudgeError(MISSING)
    import rerun  # noqa: PLC0415 - an extra

    out = check_layer_output(out, onto, overwrite=settings.overwrite)
    application, recording_id, entities = read_picture_entities(onto)
    times = {each.name: each.times() for each in entities}
    pictures = [
        PictureTimes(each.name, name, times[each.name][name])
        for each in entities
        for name, line in each.timelines.items()
        if line.kind != "sequence"
    ] or [PictureTimes(each.name, "no time", np.full(sum(each.counts), NO_STAMP, np.int64)) for each in entities]
    shown, losses = read_result_frames(result), Losses()
    layer = place_frames(shown, pictures, onto, losses, side=settings.side, image_topic=settings.image_topic)
    log(f"frames of {layer.side.upper()} are found among the pictures of {layer.name} {layer.how}")
    entity = next(each for each in entities if each.name == layer.name)
    moments = Moments(rerun, entity, times[layer.name])
    with atomic_file(out) as temporary:
        stream = rerun.RecordingStream(application, recording_id=recording_id, send_properties=False)
        stream.save(temporary)
        _send(rerun, stream, result, shown, layer, moments)
        stream.flush()
        stream.disconnect()
    advance(len(layer.frames), len(layer.frames))
    return losses


class Moments:
    """The times of an entity's pictures, as rerun's columns."""

    def __init__(self, rerun: Any, entity: PictureEntity, times: dict[str, IntArray]) -> None:
        """Take the timelines that every picture has: in any other, the layer would be at a wrong moment."""
        self._rerun, self._kinds = rerun, {name: line.kind for name, line in entity.timelines.items()}
        self._times = {name: values for name, values in times.items() if (values != NO_STAMP).all()}
        if not self._times:
            raise SimjudgeError(f"{entity.name}: no timeline has a time for every picture; log them on one timeline")
        self.count, self.frame = sum(entity.counts), entity.frame

    def columns(self, pictures: IntArray | None = None) -> list[Any]:
        """The columns for some pictures by number, or for all."""
        out = []
        for name, values in self._times.items():
            kind, some = self._kinds[name], values if pictures is None else values[pictures]
            unit = {"timestamp": "datetime64[ns]", "duration": "timedelta64[ns]"}.get(kind)
            out.append(self._rerun.TimeColumn(name, **{kind: some if unit is None else some.view(unit)}))
        return out


def _send(rerun: Any, stream: Any, result: Result, shown: ResultFrames, layer: Layer, moments: Moments) -> None:
    _send_boxes(rerun, stream, shown, layer, moments)
    pictures = np.array([each.picture for each in layer.frames], np.int64)
    numbers = [frame_numbers(shown, each.frame) for each in layer.frames]
    overall = None if result.overall is None else result.overall.numbers
    whole = [(title, colour, getattr(overall, key)) for key, title, colour in _WHOLE if overall is not None]
    w1 = [("W1, mean of the frame's contexts", "w1", _column(numbers, "w1"))]
    w1 += [(title, colour, np.full(len(numbers), value)) for title, colour, value in whole if value is not None]
    shares = [
        ("mean performance of the frame's objects", layer.side, _column(numbers, "performance")),
        ("share of its contexts that the other set shows", "teal", _column(numbers, "overlap")),
    ]
    for name, curves in (("w1", w1), ("frames", shares)):
        path = f"/{ROOT}/{name}"
        titles, colours = [title for title, _, _ in curves], [rgb(DARK[colour]) for _, colour, _ in curves]
        stream.log(path, rerun.SeriesLines(names=titles, colors=colours), static=True)
        values = np.stack([value for _, _, value in curves], axis=1)
        columns = rerun.Scalars.columns(scalars=values.reshape(-1))
        stream.send_columns(path, moments.columns(pictures), columns.partition([len(curves)] * len(pictures)))
    text = rerun.TextDocument(summary_text(result), media_type="text/markdown")
    stream.log(f"/{ROOT}/verdict", text, static=True)


def _column(numbers: Sequence[dict[str, float]], key: str) -> FloatArray:
    return np.array([each.get(key, np.nan) for each in numbers], np.float64)


def _send_boxes(rerun: Any, stream: Any, shown: ResultFrames, layer: Layer, moments: Moments) -> None:
    """Send the boxes of every picture: none where the result has none, or rerun would go on showing the last ones."""
    contexts, lengths = shown.contexts, np.zeros(moments.count, np.int64)
    lengths[[each.picture for each in layer.frames]] = [len(each.frame.rows) for each in layer.frames]
    rows = np.concatenate([each.frame.rows for each in layer.frames])
    colours = [w1_colour(float(contexts["w1"][row])) if contexts["in_overlap"][row] else OUTSIDE_COLOUR for row in rows]
    edges = np.stack([contexts[edge][rows] for edge in ("x0", "y0", "x1", "y1")], axis=1)
    boxes = rerun.Boxes2D.columns(
        centers=(edges[:, :2] + edges[:, 2:]) / 2,
        half_sizes=(edges[:, 2:] - edges[:, :2]) / 2,
        colors=np.array(colours, np.uint8),
        labels=[context_text(shown, row) for row in rows.tolist()],
    )
    hidden = rerun.Boxes2D.columns(show_labels=[False] * moments.count)
    numbers = rerun.DynamicArchetype.columns(
        archetype=ROOT, components={name: np.asarray(contexts[name][rows], np.float64) for name in _OF_CONTEXT}
    )
    path = f"{layer.name}/{ROOT}"
    if moments.frame:  # Boxes lie in the coordinate frame that the picture says it is in
        stream.log(path, rerun.CoordinateFrame(moments.frame), static=True)
    stream.send_columns(path, moments.columns(), [*boxes.partition(lengths), *hidden, *numbers.partition(lengths)])
