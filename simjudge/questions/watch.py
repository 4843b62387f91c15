"""What is shown live: contexts drawn on the camera's image, and a rerun recording of images, numbers and sensors."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.core.box_drawing import Colour, TextRow, class_colour, draw_boxes, draw_rows, draw_text
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import check_output, output_path, put_in_place, temporary_name
from simjudge.core.images import RgbImage
from simjudge.core.installed import install_command
from simjudge.geometry.poses import Pose
from simjudge.method.verdicts import Verdict
from simjudge.page.chart_data import DARK, rgb, verdict_colour
from simjudge.questions.recording.cloud_pictures import CloudScale, finite_points
from simjudge.results.metric_rows import verdict_with_failing_side
from simjudge.sim.sensors.inertial.motion import geodetic_to_enu
from simjudge.sim.sensors.inertial.sensor_tables import Triple

if TYPE_CHECKING:
    from simjudge.judging.live.judge import JudgedFrame
    from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
    from simjudge.method.kinds import HiddenGap
    from simjudge.sim.sensors.recorded_readings import RecordedBoxes

LARGEST_W1 = 0.5
"""W1 at which the colour scale ends; a larger W1 has the last colour."""
_SCALE: tuple[Colour, ...] = ((0, 114, 178), (240, 228, 66), (213, 94, 0))
"""Blue, yellow and orange red of the palette of `simjudge.core.box_drawing`."""
NO_W1_COLOUR: Colour = (255, 255, 255)
"""Of a context inside the overlap whose W1 is not known."""
OUTSIDE_COLOUR: Colour = (204, 121, 167)
"""Of a context outside the overlap."""
_LEGEND_WIDTH = 0.25
"""Width of the colour scale as a share of the image's width."""
_LEGEND_GROUND: Colour = (20, 24, 30)
_HEADLINE = 1.6
"""Size of the verdict's letters on an image, times those of the other lines."""
_UNITS = {"iou": "IoU", "detected": "detected", "score": "score"}
"""Metric of performance to what stands behind a difference of it."""


class SummaryLine(NamedTuple):
    """The verdict on a class or on all, the numbers behind it (or none), and the verdict's colour, RGB, 0-255."""

    headline: str
    numbers: str
    colour: Colour

    @property
    def text(self) -> str:
        """Both in one line."""
        return f"{self.headline}, {self.numbers}" if self.numbers else self.headline


def summary_lines(
    numbers: ComparisonNumbers, names: Mapping[str, str], metric: str = "iou", hidden: HiddenGap | None = None
) -> list[SummaryLine]:
    """The numbers so far: a line for all classes together and, where there are several, one for each class.

    `hidden`: the kind of contexts that the verdict alone would hide, which has a line of its own behind the first.
    """
    entries = [("all classes", numbers.overall)]
    if len(numbers.by_class) > 1:
        entries += [(names.get(key, key), entry) for key, entry in numbers.by_class.items()]
    first, *others = [_summary_line(name, entry, metric) for name, entry in entries]
    return [first, *([] if hidden is None else [SummaryLine(str(hidden), "", verdict_colour(Verdict.GAP))]), *others]


def w1_colour(w1: float) -> Colour:
    """The colour of a W1 on a scale that is the same in every run."""
    if math.isnan(w1):
        return NO_W1_COLOUR
    position = min(max(w1 / LARGEST_W1, 0.0), 1.0) * (len(_SCALE) - 1)
    first = min(int(position), len(_SCALE) - 2)
    share = position - first
    ends = zip(_SCALE[first], _SCALE[first + 1], strict=True)
    red, green, blue = (round((1 - share) * low + share * high) for low, high in ends)
    return red, green, blue


def context_colours(judged: JudgedFrame) -> npt.NDArray[np.int64]:
    """The colours of a frame's contexts.

    Returns (N, 3) RGB, 0-255: by W1; `OUTSIDE_COLOUR` where the reference shows nothing similar.
    """
    known = zip(judged.w1.tolist(), judged.in_overlap.tolist(), strict=True)
    colours = [w1_colour(w1) if shown else OUTSIDE_COLOUR for w1, shown in known]
    return np.array(colours, np.int64).reshape(-1, 3)


def draw_contexts(
    image: RgbImage, judged: JudgedFrame, lines: Sequence[SummaryLine] = (), metric: str = "iou"
) -> RgbImage:
    """Draw a frame's labelled boxes, coloured by W1, dashed outside the overlap, with a legend, over the verdicts.

    `image`: (H, W, 3) uint8, RGB; boxes are scaled where the labels were made on another size; returns (H, W, 3) uint8,
    RGB, a copy.
    """
    height, width = image.shape[:2]
    scale = np.tile(np.array([width, height]) / judged.frames.size[0], 2)
    texts = ["" if np.isnan(w1) else f"{w1:.2f}" for w1 in judged.w1]
    boxes = judged.frames.objects.box * scale
    colours = context_colours(judged)
    drawn = _with_legend(draw_boxes(image, boxes, colours, texts, ~judged.in_overlap, is_edged=True), metric)
    rows = [TextRow(line.text, line.colour) for line in lines[1:]]
    if lines:
        headline, numbers, colour = lines[0]
        rows = [TextRow(headline, colour, _HEADLINE, is_wide=True), TextRow(numbers, colour, is_wide=True), *rows]
    draw_rows(drawn, rows)
    return drawn


def _summary_line(name: str, entry: EntryNumbers, metric: str) -> SummaryLine:
    numbers = f"W1 {_number(entry.mean_w1)}, overlap {_number(entry.overlap_a)} / {_number(entry.overlap_b)}"
    if entry.gap is not None:
        interval = f"95 %: {_number(entry.gap_low)} to {_number(entry.gap_high)}"
        numbers = f"gap {entry.gap:.3f} {_UNITS.get(metric, metric)} ({interval}), {numbers}"
    words = verdict_with_failing_side(entry.verdict, entry.margin, entry.failing_side)
    return SummaryLine(f"{name}: {words}", numbers, verdict_colour(entry.verdict))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _with_legend(image: RgbImage, metric: str) -> RgbImage:
    """The colour scale in the upper left corner, with its ends, and the signs for what has no place on it."""
    long = max(2, round(image.shape[1] * _LEGEND_WIDTH))
    right, bottom = draw_text(image, f"W1 in {_UNITS.get(metric, metric)}: 0", (0, 0), _LEGEND_GROUND)
    bar = image[:bottom, right : right + long]
    colours = [w1_colour(LARGEST_W1 * (column + 0.5) / long) for column in range(bar.shape[1])]
    bar[:] = np.array(colours, np.uint8).reshape(1, -1, 3)
    draw_text(image, f"{LARGEST_W1:g} or more", (right + long, 0), _LEGEND_GROUND)
    signs, left = [], 0
    for text in ("no like context", "W1 not known"):
        side = bottom - 6
        image[bottom : 2 * bottom, left : left + bottom] = _LEGEND_GROUND
        signs.append((left + 3, bottom + 3, left + 3 + side, bottom + 3 + side))
        left, _ = draw_text(image, text, (left + bottom, bottom), _LEGEND_GROUND)
    return draw_boxes(image, signs, [OUTSIDE_COLOUR, NO_W1_COLOUR], dashed=[True, False])


TIMELINE = "stamp"
CLOUDS, TURNING, FORCES, TRACKS = "clouds", "turn_rate", "acceleration", "gps"
"""Where the kinds of readings are in rerun's tree of entities."""
_POINT = 2.0
"""Radius of a point, in the screen's own pixels."""
_AXES = (("x", "red"), ("y", "green"), ("z", "blue"))
_SCAN = (255, 85, 85)


class SignalLayers:
    """Shows readings. Whoever calls it has set the time before.

    `kinds`: those of `CLOUDS`, `TURNING`, `FORCES`, `TRACKS` that have come.
    """

    def __init__(self, rerun: Any, recording: Any, new_kind: Callable[[], None]) -> None:
        """Show on a recording."""
        self._rerun, self._recording, self._new_kind = rerun, recording, new_kind
        self.kinds: list[str] = []
        self._scale: CloudScale | None = None
        self._known: set[str] = set()
        self._reference: Triple | None = None
        self._last_place: dict[str, npt.NDArray[np.float64]] = {}

    def show_cloud(self, topic: str, points: npt.ArrayLike, mount: Pose) -> None:
        """Show points, coloured by height; the first cloud chooses the heights at the ends of the colours.

        `points`: (N, 3), metres; what is not finite is left out.
        """
        self._take(CLOUDS)
        places = mount.to_world(finite_points(points))
        if self._scale is None and len(places):
            self._scale = CloudScale.of_clouds([places])
        colours = self._scale.colours(places[:, 2]) if self._scale is not None else None
        self._points(topic, places, colours)

    def show_scan(self, topic: str, points: FloatArray, mount: Pose) -> None:
        """Show the points of a scan in one plane, in one colour. `points`: (N, 3), metres."""
        self._take(CLOUDS)
        self._points(topic, mount.to_world(points), np.array([_SCAN], np.uint8))

    def show_boxes(self, topic: str, boxes: RecordedBoxes, mount: Pose) -> None:
        """Show 3-D boxes with their classes' names."""
        self._take(CLOUDS)
        names = [name or str(number) for name, number in zip(boxes.class_name, boxes.class_id.tolist(), strict=True)]
        colours = [
            class_colour(number, name) for name, number in zip(boxes.class_name, boxes.class_id.tolist(), strict=True)
        ]
        rotation = mount.rotation_matrix() @ boxes.rotation
        quaternions = Rotation.from_matrix(rotation).as_quat() if len(boxes) else np.empty((0, 4))
        self._recording.log(
            self._path(CLOUDS, topic),
            self._rerun.Boxes3D(
                centers=mount.to_world(boxes.centre),
                sizes=boxes.size,
                quaternions=quaternions,
                colors=np.array(colours, np.uint8).reshape(-1, 3),
                labels=names,
            ),
        )

    def show_imu(self, topic: str, turning: Triple | None, force: Triple | None) -> None:
        """Show a reading of an IMU as points of curves.

        `force`: accelerations, m/s^2; None where they are not measured.
        """
        for kind, values in ((TURNING, turning), (FORCES, force)):
            if values is None:
                continue
            self._take(kind)
            for value, (axis, colour) in zip(values, _AXES, strict=True):
                path = f"{self._path(kind, topic)}/{axis}"
                if path not in self._known:
                    self._known.add(path)
                    line = self._rerun.SeriesLines(names=f"{topic} {axis}", colors=[rgb(DARK[colour])])
                    self._recording.log(path, line, static=True)
                self._recording.log(path, self._rerun.Scalars(value))

    def show_fix(self, topic: str, place: Triple) -> None:
        """Show a fix: a piece of the track in metres east and north of the first fix, and a place on the earth.

        `place`: latitude and longitude, degrees, and altitude, metres.
        """
        self._take(TRACKS)
        if self._reference is None:
            self._reference = (place[1], place[0], place[2])
        east, north, _ = geodetic_to_enu(np.array([place]), self._reference)[0].tolist()
        # A picture's rows count downwards.
        here = np.array([east, -north])
        path = self._path(TRACKS, topic)
        before = self._last_place.get(topic, here)
        self._last_place[topic] = here
        self._recording.log(path, self._rerun.LineStrips2D([np.stack([before, here])], colors=[rgb(DARK["green"])]))
        self._recording.log(path, self._rerun.GeoPoints(lat_lon=[place[:2]]))

    def views(self, parts: Any) -> tuple[list[Any], list[Any]]:
        """The views of what has come, for a layout."""
        spatial, others = [], []
        if CLOUDS in self.kinds:
            spatial.append(parts.Spatial3DView(origin=CLOUDS, name="points: x ahead, y left, z up, coloured by height"))
        if TURNING in self.kinds:
            others.append(parts.TimeSeriesView(origin=TURNING, name="turn rate [rad/s]"))
        if FORCES in self.kinds:
            others.append(parts.TimeSeriesView(origin=FORCES, name="acceleration [m/s^2]"))
        if TRACKS in self.kinds:
            ends = self._rerun.TimeRangeBoundary
            so_far = self._rerun.VisibleTimeRange(TIMELINE, start=ends.infinite(), end=ends.cursor_relative())
            name = "GPS: metres east (right) and north (up) of the first fix"
            others.append(parts.Spatial2DView(origin=TRACKS, name=name, time_ranges=[so_far]))
        return spatial, others

    def _points(self, topic: str, places: FloatArray, colours: Any) -> None:
        radius = self._rerun.Radius.ui_points(_POINT)
        self._recording.log(self._path(CLOUDS, topic), self._rerun.Points3D(places, colors=colours, radii=radius))

    def _path(self, kind: str, topic: str) -> str:
        parts = (self._rerun.escape_entity_path_part(part) for part in topic.strip("/").split("/"))
        return "/".join((kind, *parts))

    def _take(self, kind: str) -> None:
        if kind not in self.kinds:
            self.kinds.append(kind)
            if kind == CLOUDS:
                self._recording.log(CLOUDS, self._rerun.ViewCoordinates.FLU, static=True)
            self._new_kind()


MISSING = f"rerun, which writes and shows such recordings, is not installed: {install_command('rerun')}"
_LAYERS = ("ground_truth", "detections", "contexts")
_SHADE = 0.7
_WEB_PORT = 9090


class ScreenTarget(str, Enum):
    """ScreenTarget it is shown."""

    WINDOW = "window"
    BROWSER = "browser"
    FILE = "file"


class Boxes(NamedTuple):
    """Boxes on a image: (N, 4) x0, y0, x1, y1 in pixels; (N, 3) RGB; N texts."""

    edges: npt.NDArray[np.float64]
    colours: npt.NDArray[np.int64]
    labels: Sequence[str]


class ClassState(NamedTuple):
    """The numbers of a class, or of all: mean W1, overlaps, NaN where undefined; its colour, RGB; its verdict."""

    name: str
    w1: float
    overlap_a: float
    overlap_b: float
    colour: tuple[int, int, int]
    verdict: str = ""


def is_installed() -> bool:
    """Whether rerun is."""
    return importlib.util.find_spec("rerun") is not None


class Screen:
    """A screen; all times are stamps in nanoseconds. Not for several threads at once.

    `address`: to open in a browser; "" where it is not shown in one.
    """

    def __init__(self, where: ScreenTarget, save: Path | None = None, *, quality: int = 80) -> None:
        """Open it."""
        if not is_installed():
            raise SimjudgeError(MISSING)
        import rerun  # noqa: PLC0415 - an extra

        self._rerun: Any = rerun
        self.address = ""
        self._quality = quality
        self._known: set[str] = set()
        self._judged = False
        self._save = save = None if save is None else output_path(save)
        if save is not None:
            check_output(save)
        self._temporary = None if save is None else temporary_name(save)
        self._recording: Any = rerun.RecordingStream("simjudge")
        self._signals = SignalLayers(rerun, self._recording, self._renew_layout)
        self._open(where)

    def _open(self, where: ScreenTarget) -> None:
        if where is ScreenTarget.FILE:
            if self._save is None or self._temporary is None:
                raise SimjudgeError("a file to save to must be named")
            try:
                self._save.parent.mkdir(parents=True, exist_ok=True)
                self._temporary.touch()
            except OSError as error:
                raise SimjudgeError(f"{self._save}: cannot be written to: {error.strerror}") from error
            self._recording.save(self._temporary, default_blueprint=self._layout())
        elif where is ScreenTarget.WINDOW:
            if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
                raise SimjudgeError("there is no screen for a window; show it in a browser, or save it to a file")
            self._recording.spawn(default_blueprint=self._layout())
        else:
            self._serve()

    def _serve(self) -> None:
        """Show it in a browser."""
        try:
            source = self._recording.serve_grpc(default_blueprint=self._layout())
            self._rerun.serve_web_viewer(web_port=_WEB_PORT, open_browser=True, connect_to=source)
        except (RuntimeError, OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise SimjudgeError(f"cannot be shown in a browser: {reason}; another simjudge ros watch runs?") from error
        self.address = f"http://localhost:{_WEB_PORT}/?url={quote(source, safe='')}"

    @property
    def megabytes(self) -> float:
        """Size of the file so far; 0 where it is no file."""
        return 0.0 if self._temporary is None else self._temporary.stat().st_size / 1e6

    def show_image(self, stamp: int, image: RgbImage) -> None:
        """Show an image. `stamp`: its time, nanoseconds; `image`: RGB, uint8 (H, W, 3)."""
        self._at(stamp)
        self._recording.log("camera", self._rerun.Image(image).compress(jpeg_quality=self._quality))

    def show_encoded_image(self, stamp: int, data: bytes, media_type: str) -> None:
        """Show an image that is compressed already. `stamp`: its time, nanoseconds."""
        self._at(stamp)
        self._recording.log("camera", self._rerun.EncodedImage(contents=data, media_type=media_type))

    def show_boxes(self, stamp: int, layer: str, boxes: Boxes) -> None:
        """Show boxes over the image of the same stamp. `stamp`: time of the image, nanoseconds."""
        if layer not in _LAYERS:
            raise ValueError(layer)
        self._at(stamp)
        self._recording.log(
            f"camera/{layer}",
            self._rerun.Boxes2D(
                array=boxes.edges.reshape(-1, 4),
                array_format=self._rerun.Box2DFormat.XYXY,
                colors=boxes.colours.astype(np.uint8).reshape(-1, 3),
                labels=list(boxes.labels),
                show_labels=layer != "ground_truth",
            ),
        )

    def show_summary(self, stamp: int, states: Sequence[ClassState], about: Mapping[str, object]) -> None:
        """Show the numbers so far: curves of each class, and a table. `stamp`: their time, nanoseconds."""
        self._at(stamp)
        if not self._judged:
            self._judged = True
            if self._signals.kinds:
                self._renew_layout()
        for state in states:
            self._curve("w1", state.name, state.w1, state.colour)
            self._curve("overlap", f"{state.name} A", state.overlap_a, state.colour)
            shade = tuple(round(_SHADE * part) for part in state.colour)
            self._curve("overlap", f"{state.name} B", state.overlap_b, (shade[0], shade[1], shade[2]))
        text = self._rerun.TextDocument(_markdown(states, about), media_type="text/markdown")
        self._recording.log("summary", text)

    def signals_at(self, stamp: int) -> SignalLayers:
        """Where readings of sensors are shown. `stamp`: the time of what is shown next, nanoseconds."""
        self._at(stamp)
        return self._signals

    def close(self) -> Path | None:
        """Finish; the file that was saved, None where there is none."""
        self._recording.flush()
        self._recording.disconnect()
        if self._save is None or self._temporary is None or not self._temporary.exists():
            return None
        try:
            put_in_place(self._temporary, self._save)
        except OSError as error:
            raise SimjudgeError(f"{self._save}: cannot be written to: {error.strerror}") from error
        return self._save

    def _at(self, stamp: int) -> None:
        self._recording.set_time(TIMELINE, timestamp=np.datetime64(stamp, "ns"))

    def _curve(self, plot: str, name: str, value: float, colour: tuple[int, int, int]) -> None:
        path = f"{plot}/{self._rerun.escape_entity_path_part(name)}"
        if path not in self._known:
            self._known.add(path)
            self._recording.log(path, self._rerun.SeriesLines(names=name, colors=[colour]), static=True)
        self._recording.log(path, self._rerun.Scalars(value))

    def _renew_layout(self) -> None:
        """Make room for what has come for the first time."""
        self._recording.send_blueprint(self._layout())

    def _layout(self) -> Any:
        """Camera and curves; where sensors are watched, their views, and the curves once there is a judge."""
        import rerun.blueprint as parts  # noqa: PLC0415 - an extra

        curves: list[Any] = [
            parts.TimeSeriesView(origin="w1", name="W1 (0: performs alike, 1: nothing alike)"),
            parts.TimeSeriesView(origin="overlap", name="overlap (share of contexts that the other set shows too)"),
            parts.TextDocumentView(origin="summary", name="summary"),
        ]
        spatial, others = self._signals.views(parts)
        seen = parts.Vertical(parts.Spatial2DView(origin="camera", name="camera: contexts coloured by W1"), *spatial)
        if not self._signals.kinds:
            others = curves
        elif self._judged:
            others = [*others, parts.Tabs(*curves)]
        columns = (seen, parts.Vertical(*others)) if others else (seen,)
        return parts.Blueprint(parts.Horizontal(*columns, column_shares=[3, 2][: len(columns)]), collapse_panels=True)


def _markdown(states: Sequence[ClassState], about: Mapping[str, object]) -> str:
    lines = ["| class | W1 | overlap A | overlap B | verdict |", "| --- | --- | --- | --- | --- |"]
    for state in states:
        numbers = (f"{value:.4f}" if np.isfinite(value) else "-" for value in state[1:4])
        lines.append(f"| {state.name} | {' | '.join(numbers)} | {state.verdict} |")
    return "\n".join([*lines, "", *(f"* {key}: {value}" for key, value in about.items())])
