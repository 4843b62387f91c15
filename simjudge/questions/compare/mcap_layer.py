"""A comparison as topics of an mcap file, for Foxglove, Lichtblick and ROS, with the stamps of a person's recording."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mcap.reader import make_reader
from mcap.writer import Writer
from rosbags.typesys import get_types_from_msg
from rosbags.typesys.store import Typestore
from zstandard import ZstdError

from simjudge.core.errors import Advance, Log, Losses, SimjudgeError, UsageError
from simjudge.core.files import atomic_file
from simjudge.data.rosbag2.image_messages import UNREADABLE
from simjudge.data.rosbag2.interfaces import IMAGE_TYPES, LAYER_TOPICS, recorded_types, standard_types
from simjudge.data.rosbag2.mcap_file import BROKEN
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.page.report_settings import ReportSettings
from simjudge.questions.compare.layers import (
    Layer,
    LayerFrame,
    PictureTimes,
    check_layer_output,
    frame_numbers,
    place_frames,
    verdict_level,
)
from simjudge.questions.compare.result_frames import ResultFrames, read_result_frames
from simjudge.questions.watch import OUTSIDE_COLOUR, w1_colour
from simjudge.results.saved_result import Result, ResultEntry

CONTEXTS = "simjudge_msgs/msg/ContextPerformanceArray"
ANNOTATIONS = "foxglove_msgs/msg/ImageAnnotations"
DIAGNOSTICS = "diagnostic_msgs/msg/DiagnosticArray"
NUMBER = "std_msgs/msg/Float64"
TOPICS = {
    "contexts": f"{LAYER_TOPICS}contexts",
    "annotations": f"{LAYER_TOPICS}annotations",
    "verdict": f"{LAYER_TOPICS}verdict",
    "w1": f"{LAYER_TOPICS}frame/w1",
    "performance": f"{LAYER_TOPICS}frame/performance",
    "overlap": f"{LAYER_TOPICS}frame/overlap",
}
# https://github.com/foxglove/foxglove-sdk, schemas/ros2
_TIME = "builtin_interfaces/Time timestamp\n"
_FOXGLOVE = {
    "foxglove_msgs/msg/Point2": "float64 x\nfloat64 y\n",
    "foxglove_msgs/msg/Color": "float64 r\nfloat64 g\nfloat64 b\nfloat64 a\n",
    "foxglove_msgs/msg/CircleAnnotation": _TIME + "foxglove_msgs/Point2 position\nfloat64 diameter\nfloat64 thickness\n"
    "foxglove_msgs/Color fill_color\nfoxglove_msgs/Color outline_color\n",
    "foxglove_msgs/msg/PointsAnnotation": _TIME
    + "uint8 UNKNOWN=0\nuint8 POINTS=1\nuint8 LINE_LOOP=2\nuint8 LINE_STRIP=3\nuint8 LINE_LIST=4\n"
    "uint8 type\nfoxglove_msgs/Point2[] points\nfoxglove_msgs/Color outline_color\n"
    "foxglove_msgs/Color[] outline_colors\nfoxglove_msgs/Color fill_color\nfloat64 thickness\n",
    "foxglove_msgs/msg/TextAnnotation": _TIME + "foxglove_msgs/Point2 position\nstring text\nfloat64 font_size\n"
    "foxglove_msgs/Color text_color\nfoxglove_msgs/Color background_color\n",
    ANNOTATIONS: "foxglove_msgs/CircleAnnotation[] circles\nfoxglove_msgs/PointsAnnotation[] points\n"
    "foxglove_msgs/TextAnnotation[] texts\n",
}
_LINE_LOOP = 2
_PREDICTED = (255, 255, 255)
_LEVELS = (0, 1, 2)  # OK, WARN and ERROR of diagnostic_msgs/DiagnosticStatus
_LONGEST = 200  # Characters of another library's reason that are shown
_FONT = 0.022  # Height of a text as a share of the picture's


class RecordedPictures(NamedTuple):
    """The pictures of a topic: when each was taken, when it was recorded, and in which coordinate frame."""

    stamp: list[int]
    time: list[int]
    frame_id: list[str]


class LayerMessage(NamedTuple):
    """A message of the layer."""

    topic: str
    time: int  # ns, of recording
    content: Any


def write_mcap_layer(result: Result, out: Path, settings: ReportSettings, advance: Advance, log: Log) -> Losses:
    """Write a result as topics of an mcap file beside a person's own recording, or of a copy of it."""
    onto = Path(settings.onto or "")
    if out.suffix != ".mcap":
        raise UsageError(f"--out {out}: the name of a layer for recordings ends in .mcap")
    out = check_layer_output(out, onto, overwrite=settings.overwrite)
    if settings.merged and (onto.suffix != ".mcap" or not onto.is_file()):
        raise UsageError(f"--merged: {onto} is not one mcap file; without it the layer is a file beside the recording")
    recording, losses = Recording(onto), Losses()
    topics = read_pictures(recording, losses)
    pictures = [
        PictureTimes(name, "header stamps", np.array(held.stamp, np.int64).reshape(-1)) for name, held in topics.items()
    ]
    shown = read_result_frames(result)
    layer = place_frames(
        shown, pictures, onto, losses, side=settings.side, image_topic=settings.image_topic, alike_is_fine=True
    )
    log(f"frames of {layer.side.upper()} are found among the pictures of {layer.name} {layer.how}")
    if settings.merged and not recording.topics.keys().isdisjoint(TOPICS.values()):
        log(f"note: the layer that {onto} holds already is left out of the copy")
    maker = LayerMessages(result, shown, layer, topics[layer.name])
    with atomic_file(out) as temporary:
        _write(temporary, maker, onto if settings.merged else None)
    advance(len(layer.frames), len(layer.frames))
    return losses


def read_pictures(recording: Recording, losses: Losses) -> dict[str, RecordedPictures]:
    """Read the times of the pictures of a recording, by topic; `losses` takes what cannot be read."""
    wanted = {name: topic for name, topic in recording.topics.items() if topic.type in IMAGE_TYPES}
    types = recorded_types(tuple((topic.type, topic.definition) for topic in wanted.values()))
    found: dict[str, RecordedPictures] = {}
    for stored in recording.messages(set(wanted)):
        try:
            message: Any = types.deserialize_cdr(stored.data, wanted[stored.topic].type)
            head = message.header if hasattr(message, "header") else message
            sent = head.stamp if hasattr(head, "stamp") else head.timestamp
        except (*UNREADABLE, AttributeError):
            where = f"{recording.path}: {stored.topic} at {format_seconds(stored.time)}"
            losses.add("messages that cannot be decoded", where)
            continue
        held = found.setdefault(stored.topic, RecordedPictures([], [], []))
        stamp = int(sent.sec) * 1_000_000_000 + int(sent.nanosec)
        held.stamp.append(stamp or stored.time)  # as readers take a stamp that nobody filled in
        held.time.append(stored.time)
        held.frame_id.append(str(head.frame_id))
    losses.extend(recording.losses)
    return found


class LayerMessages:
    """Makes the messages of a layer."""

    def __init__(self, result: Result, shown: ResultFrames, layer: Layer, pictures: RecordedPictures) -> None:
        self._result, self._shown, self._layer, self._pictures = result, shown, layer, pictures
        self.types = _types()

    def __iter__(self) -> Iterator[LayerMessage]:
        """All messages, in the order of their times."""
        order = np.argsort(np.array(self._pictures.time), kind="stable")
        placed = {each.picture: each for each in self._layer.frames}
        first = True
        for picture in order.tolist():
            time, stamp = self._pictures.time[picture], self._stamp(picture)
            if first:
                first = False
                yield LayerMessage(TOPICS["verdict"], time, self._verdict(stamp))
            each = placed.get(picture)
            # A picture without labelled objects, or that was not judged: an empty message takes the last boxes away.
            yield LayerMessage(TOPICS["annotations"], time, self._annotations(each, stamp))
            if each is None:
                continue
            yield LayerMessage(TOPICS["contexts"], time, self._contexts(each, stamp))
            for name, value in frame_numbers(self._shown, each.frame).items():
                yield LayerMessage(TOPICS[name], time, self._new(NUMBER, data=value))

    def _new(self, kind: str, /, **values: Any) -> Any:
        return self.types.types[kind](**values)

    def _stamp(self, picture: int) -> Any:
        sec, nanosec = divmod(self._pictures.stamp[picture], 1_000_000_000)
        return self._new("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)

    def _header(self, picture: int, stamp: Any) -> Any:
        return self._new("std_msgs/msg/Header", stamp=stamp, frame_id=self._pictures.frame_id[picture])

    def _colour(self, colour: tuple[int, int, int], alpha: float = 1.0) -> Any:
        red, green, blue = colour
        return self._new("foxglove_msgs/msg/Color", r=red / 255, g=green / 255, b=blue / 255, a=alpha)

    def _annotations(self, each: LayerFrame | None, stamp: Any) -> Any:
        points: list[Any] = []
        texts: list[Any] = []
        contexts = self._shown.contexts
        for row in () if each is None else each.frame.rows.tolist():
            w1, inside = float(contexts["w1"][row]), bool(contexts["in_overlap"][row])
            colour = w1_colour(w1) if inside else OUTSIDE_COLOUR
            if math.isfinite(contexts["predicted_x0"][row]):
                points.append(self._outline(row, "predicted_", _PREDICTED, 1.0, stamp))
            points.append(self._outline(row, "", colour, 2.0, stamp))
            said = f"W1 {w1:.2f}" if math.isfinite(w1) else "" if inside else "no overlap"
            if said and each is not None:
                size = max(8.0, each.frame.size[1] * _FONT)
                texts.append(self._text(row, said, colour, size, stamp))
        return self._new(ANNOTATIONS, circles=[], points=points, texts=texts)

    def _edges(self, row: int, before: str) -> list[float]:
        return [float(self._shown.contexts[f"{before}{edge}"][row]) for edge in ("x0", "y0", "x1", "y1")]

    def _outline(self, row: int, before: str, colour: tuple[int, int, int], thickness: float, stamp: Any) -> Any:
        x0, y0, x1, y1 = self._edges(row, before)
        corners = [self._new("foxglove_msgs/msg/Point2", x=x, y=y) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]
        return self._new(
            "foxglove_msgs/msg/PointsAnnotation",
            timestamp=stamp,
            type=_LINE_LOOP,
            points=corners,
            outline_color=self._colour(colour),
            outline_colors=[],
            fill_color=self._colour(colour, 0.0),
            thickness=thickness,
        )

    def _text(self, row: int, said: str, colour: tuple[int, int, int], size: float, stamp: Any) -> Any:
        x0, y0, _, _ = self._edges(row, "")
        return self._new(
            "foxglove_msgs/msg/TextAnnotation",
            timestamp=stamp,
            position=self._new("foxglove_msgs/msg/Point2", x=x0, y=y0),
            text=said,
            font_size=size,
            text_color=self._colour(colour),
            background_color=self._colour((0, 0, 0), 0.6),
        )

    def _contexts(self, each: LayerFrame, stamp: Any) -> Any:
        width, height = each.frame.size
        return self._new(
            CONTEXTS,
            header=self._header(each.picture, stamp),
            frame_name=each.frame.name,
            image_width=width,
            image_height=height,
            contexts=[self._context(row) for row in each.frame.rows.tolist()],
        )

    def _context(self, row: int) -> Any:
        contexts = self._shown.contexts
        number = {name: float(contexts[name][row]) for name in ("w1", "mean_difference", "score", "performance")}
        batch = {name: float(contexts[name][row]) for name in ("batch_a", "batch_b")}
        compared = math.isfinite(number["w1"])
        has_prediction = math.isfinite(contexts["predicted_x0"][row])
        box, predicted = (
            self._new(
                "simjudge_msgs/msg/Box", **dict(zip(("x0", "y0", "x1", "y1"), self._edges(row, before), strict=True))
            )
            for before in ("", "predicted_")
        )
        class_id = int(contexts.class_id[row])
        return self._new(
            "simjudge_msgs/msg/ContextPerformance",
            set=0 if contexts.is_a[row] else 1,
            object=int(contexts["object"][row]),
            class_id=class_id,
            class_name=self._shown.class_names.get(str(class_id), ""),
            instance_id=-1,
            box=box,
            has_prediction=has_prediction,
            predicted_box=predicted,
            in_overlap=bool(contexts["in_overlap"][row]),
            compared=compared,
            w1_around=number["w1"],
            **number,
            **{name: int(value) if compared and math.isfinite(value) else 0 for name, value in batch.items()},
        )

    def _verdict(self, stamp: Any) -> Any:
        return self._new(
            DIAGNOSTICS,
            header=self._new("std_msgs/msg/Header", stamp=stamp, frame_id=""),
            status=[self._status(entry) for entry in self._result.entries],
        )

    def _status(self, entry: ResultEntry) -> Any:
        numbers = entry.numbers
        said: Mapping[str, object] = {
            "gap": numbers.gap,
            "gap, lower end (95 %)": numbers.gap_low,
            "gap, upper end (95 %)": numbers.gap_high,
            "mean W1": numbers.mean_w1,
            "W1 by chance": numbers.noise,
            "p": numbers.p_adjusted,
            "margin": numbers.margin,
            "overlap A": numbers.overlap_a,
            "overlap B": numbers.overlap_b,
            "mean performance A": numbers.mean_performance_a,
            "mean performance B": numbers.mean_performance_b,
        }
        values = [
            self._new("diagnostic_msgs/msg/KeyValue", key=key, value=f"{value:.4g}")
            for key, value in said.items()
            if isinstance(value, float)
        ]
        return self._new(
            "diagnostic_msgs/msg/DiagnosticStatus",
            level=_LEVELS[verdict_level(entry.verdict)],
            name=f"simjudge: {entry.label}",
            message=entry.verdict_words,
            hardware_id=f"{self._shown.names.a} against {self._shown.names.b}",
            values=values,
        )


def _types() -> Typestore:
    """The standard types, and Foxglove's annotations."""
    standard, store = standard_types(), Typestore()
    store.fielddefs.update(standard.fielddefs)
    store.types.update(standard.types)
    for name, text in _FOXGLOVE.items():
        store.register(get_types_from_msg(text, name))
    return store


def _write(path: Path, messages: LayerMessages, onto: Path | None) -> None:
    """Write the layer, merged by time into what is in another file."""
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start(profile="ros2", library="simjudge")
        layer = iter(messages)
        pending = next(layer, None)
        channels: dict[str, int] = {}
        for copied in _copy(writer, onto) if onto is not None else ():
            while pending is not None and pending.time <= copied:
                _add(writer, messages.types, channels, pending)
                pending = next(layer, None)
        while pending is not None:
            _add(writer, messages.types, channels, pending)
            pending = next(layer, None)
        writer.finish()


def _add(writer: Writer, types: Typestore, channels: dict[str, int], message: LayerMessage) -> None:
    kind: str = message.content.__msgtype__
    if message.topic not in channels:
        text, _ = types.generate_msgdef(kind, ros_version=2)
        schema = writer.register_schema(kind, "ros2msg", text.encode())
        channels[message.topic] = writer.register_channel(message.topic, "cdr", schema)
    data = bytes(types.serialize_cdr(message.content, kind))
    writer.add_message(channels[message.topic], message.time, data, message.time)


def _copy(writer: Writer, onto: Path) -> Iterator[int]:
    """Copy every message of a recording but an earlier layer's, with all that describes them; yields times."""
    schemas: dict[int, int] = {0: 0}
    channels: dict[int, int] = {}
    try:
        with onto.open("rb") as stream:
            reader = make_reader(stream)
            # In the order of the file: files without an index of chunks are sorted in memory, whole.
            for schema, channel, message in reader.iter_messages(log_time_order=False):
                if channel.topic in TOPICS.values():  # of an earlier layer
                    continue
                if channel.id not in channels:
                    if schema is not None and schema.id not in schemas:
                        schemas[schema.id] = writer.register_schema(schema.name, schema.encoding, schema.data)
                    known = schemas[0 if schema is None else schema.id]
                    channels[channel.id] = writer.register_channel(
                        channel.topic, channel.message_encoding, known, dict(channel.metadata)
                    )
                yield message.log_time
                writer.add_message(
                    channels[channel.id], message.log_time, message.data, message.publish_time, message.sequence
                )
            for attachment in reader.iter_attachments():
                writer.add_attachment(
                    attachment.create_time, attachment.log_time, attachment.name, attachment.media_type, attachment.data
                )
            for metadata in reader.iter_metadata():
                writer.add_metadata(metadata.name, metadata.metadata)
    except (*BROKEN, ZstdError, RuntimeError, EOFError, MemoryError) as error:
        reason = " ".join(str(error).split())[:_LONGEST] or type(error).__name__
        raise SimjudgeError(
            f"{onto}: cannot be copied whole ({reason}); without --merged the layer is a file beside it"
        ) from error
