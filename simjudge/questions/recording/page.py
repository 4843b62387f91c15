"""The page of a recording: clouds beside the camera's pictures, the course, GPS tracks and IMUs as figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.box_drawing import draw_boxes
from simjudge.core.errors import Log, ProgressBar, UsageError, no_log, no_progress
from simjudge.core.files import check_output
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage
from simjudge.geometry.poses import Trajectory
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT, SERIES, class_colours
from simjudge.page.figures import ReportFigure, add_axes, plain_text, report_style, save_figure
from simjudge.page.kit import FigureEmbedder, element, is_report, picture_uri, write_page
from simjudge.page.report_settings import Report, ReportSettings
from simjudge.questions.recording.cloud_pictures import (
    CloudScale,
    RecordedLidar,
    RecordedSensors,
    box_corners,
    cloud_pictures,
    grid_places,
    height_colours,
    read_recorded_sensors,
)
from simjudge.sim.sensors.inertial.imu_calibration import PARTS, UNITS, ImuSeries
from simjudge.sim.sensors.inertial.motion import SECOND
from simjudge.sim.sensors.recorded_readings import RecordedBoxes

_MAP = (560.0, 430.0)
"""Points: width and height of a map."""
_PANEL = (580.0, 122.0)
"""Points: width and height of the plot of one signal."""
_FOOT = 44.0
"""Points below the lowest plots, for the time axis."""
MOST_POINTS = 2000
"""Points of a line that is drawn; a longer one is thinned."""
_NAMES = {"gyroscope": "turn rate", "accelerometer": "acceleration"}


class MapLine(NamedTuple):
    """A way on a plane."""

    name: str
    points: FloatArray  # (N, 2), metres
    is_truth: bool = False  # whether it is drawn as truth, thin and dark


def map_figure(lines: Sequence[MapLine], axes_names: tuple[str, str], what: str) -> ReportFigure:
    """Draw ways on a plane, a metre being as long on both axes; a dot marks each beginning."""
    with report_style():
        figure = ReportFigure(*_MAP, what)
        axes = add_axes(figure, (0, 0, *_MAP), (70, 14, 12, 46))
        # The truth is drawn last: it is the thinner line.
        for number, line in sorted(enumerate(lines), key=lambda pair: pair[1].is_truth):
            shown = thinned(line.points)
            if not len(shown):
                continue
            colour = LIGHT["ink"] if line.is_truth else LIGHT[SERIES[number % len(SERIES)]]
            width = 1.0 if line.is_truth else 2.4
            axes.plot(*shown.T, color=colour, linewidth=width, label=plain_text(line.name, 48))
            axes.plot(*shown[0], marker="o", markersize=6, color=colour)
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.08)
        axes.set_xlabel(axes_names[0])
        axes.set_ylabel(axes_names[1])
        if len(lines) > 1:
            axes.legend(loc="best")
    return figure


def imu_figure(series: ImuSeries, truth: ImuSeries | None, start: int) -> ReportFigure:
    """Draw the signals of an IMU over time, and the truth over each where it is known.

    `start`: the stamp, nanoseconds, that times are counted from.
    """
    parts = [part for part in PARTS if part in series.parts]
    width, height = _PANEL
    with report_style():
        beside = ", and the truth" if truth is not None else ""
        figure = ReportFigure(width * len(parts), 3 * height + _FOOT, f"The signals of the IMU over time{beside}.")
        for column, part in enumerate(parts):
            for axis, name in enumerate("xyz"):
                is_last = axis == 2
                box = (width * column, height * axis, width, height + (_FOOT if is_last else 0))
                axes = add_axes(figure, box, (66, 14, 22, 8 + (_FOOT if is_last else 0)))
                axes.set_title(f"{_NAMES[part]} {name} [{UNITS[part]}]", fontsize=11, fontweight="normal")
                _draw_signal(axes, series, part, axis, start, (LIGHT["a"], 1.2, "reading"))
                if truth is not None and part in truth.parts:
                    _draw_signal(axes, truth, part, axis, start, (LIGHT["ink"], 0.9, "truth"))
                    if axis == 0 and column == 0:
                        axes.legend(loc="lower right", ncols=2, bbox_to_anchor=(1.0, 0.98), borderaxespad=0)
                axes.locator_params(axis="y", nbins=4)
                axes.tick_params(labelbottom=is_last)
                if is_last:
                    axes.set_xlabel("time [s]")
    return figure


def thinned(points: FloatArray) -> FloatArray:
    """At most `MOST_POINTS` points of a way, the first and the last among them.

    `points`: (N, 2); returns (K, 2), evenly chosen.
    """
    if len(points) <= MOST_POINTS:
        return points
    return points[np.unique(np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(np.int64))]


def envelope(time: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A signal in at most `MOST_POINTS` points that loses no peak: the lowest and the highest of equal stretches.

    `time`: (N,), increasing; `values`: (N,); returns (K,) and (K,), in order of time; the signal itself where it is
    short.
    """
    if len(time) <= MOST_POINTS:
        return time, values
    begins = np.linspace(0, len(time), MOST_POINTS // 2 + 1).astype(np.int64)[:-1]
    stretch = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(time))))
    order = np.lexsort((values, stretch))
    rows = np.sort(np.concatenate([order[begins], order[np.append(begins[1:], len(time)) - 1]]))
    return time[rows], values[rows]


def _draw_signal(
    axes: Axes, series: ImuSeries, part: str, axis: int, start: int, style: tuple[str, float, str]
) -> None:
    time, values = envelope(np.asarray((series.stamp - start) * 1e-9), series.parts[part][:, axis])
    axes.plot(time, values, color=style[0], linewidth=style[1], label=style[2])


_SIDE = 430.0
"""Points: width and height of the figure from above."""
_MOST_NUMBERS = 9
"""Numbers on an axis."""
_BAR = 90.0
"""Points: width of the scale of colours."""


def top_figure(picture: RgbImage, scale: CloudScale) -> ReportFigure:
    """Show a cloud from above between axes in metres."""
    with report_style():
        about = f"The points from above, {2 * scale.radius:g} m wide, coloured by height."
        figure = ReportFigure(_SIDE, _SIDE - 6, about)
        axes = add_axes(figure, (0, 0, _SIDE, _SIDE - 6), (54, 16, 8, 44))
        (x, y), r = scale.centre, scale.radius
        axes.imshow(picture, extent=(y + r, y - r, x - r, x + r), interpolation="none", aspect="auto")
        axes.grid(visible=False)
        for axis, line in ((0, axes.yaxis), (1, axes.xaxis)):
            places = grid_places(scale, axis)
            # Many numbers would touch each other: then every other line has one.
            line.set_ticks(places if len(places) <= _MOST_NUMBERS else places[np.round(places / scale.step) % 2 == 0])
        axes.set_xlabel("y, to the left [m]")
        axes.set_ylabel("x, ahead [m]")
    return figure


def perspective_figure(picture: RgbImage, scale: CloudScale) -> ReportFigure:
    """Show a cloud in perspective beside the scale of its colours."""
    rows, columns = picture.shape[:2]
    height = _SIDE - 6
    width = (height - 52) * columns / rows + _BAR
    with report_style():
        figure = ReportFigure(width, height, "The points in perspective, coloured by height.")
        axes = add_axes(figure, (0, 0, width - _BAR, height), (4, 0, 8, 44))
        axes.imshow(picture, interpolation="none", aspect="auto")
        axes.set_axis_off()
        bar = add_axes(figure, (width - _BAR, 0, _BAR, height), (10, 62, 8, 44))
        ramp = np.linspace(scale.low, scale.high, len(height_colours()))[:, None]
        bar.imshow(
            ramp,
            cmap=ListedColormap(height_colours()),
            extent=(0, 1, scale.low, scale.high),
            origin="lower",
            interpolation="none",
            aspect="auto",
        )
        bar.grid(visible=False)
        bar.set_xticks([])
        bar.yaxis.tick_right()
        bar.yaxis.set_label_position("right")
        bar.set_ylabel("height, z [m]", labelpad=12)
    return figure


Rgb = tuple[int, int, int]
_FARTHEST = 0.5
"""Seconds between a cloud and the picture beside it, at most."""


@dataclass(frozen=True, eq=False, repr=False)
class Instant(ShortRepr):
    """One cloud on the page."""

    name: str  # for the files of its figures
    title: str  # lidar, time and number of points
    top: ReportFigure
    perspective: ReportFigure
    picture: RgbImage | None  # the camera's, with its labels; None where there is none near
    picture_note: str  # how far from the cloud the picture was taken, or why there is none
    classes: list[tuple[str, str, int]]  # of the boxes in sight: name, colour as #rrggbb, how many


class Chart(NamedTuple):
    """A figure with its heading and a line below it; maps stand side by side."""

    heading: str
    figure: ReportFigure
    note: str
    is_map: bool = False


@dataclass(frozen=True)
class RecordingView:
    """What the page of a recording shows."""

    sentences: list[str]  # one for each sensor, with its numbers
    scale: CloudScale | None  # of all clouds; None where there are none
    instants: list[Instant]
    charts: dict[str, Chart]  # of the other signals, by file name


class _PageScale(NamedTuple):
    """What all instants of a page share: scale, colours by class, the camera's frames, the stamp of 0 s."""

    scale: CloudScale
    colours: Mapping[str, Rgb]
    frames: FrameSet | None
    begin: int


def make_recording_view(held: RecordedSensors, settings: ReportSettings) -> RecordingView:
    """Choose the instants, and draw everything."""
    sentences = [cloud_sentence(lidar) for lidar in held.lidars]
    scale, instants = None, []
    if held.lidars:
        chosen = choose_clouds(held, settings)
        clouds = [(lidar, row, lidar.mount.to_world(lidar.clouds.read(row))) for lidar, row in chosen]
        scale = CloudScale.of_clouds([points for _, _, points in clouds], settings.radius)
        page = _PageScale(scale, _class_colours(held), held.frames, int(held.lidars[0].clouds.stamp[0]))
        instants = [_instant(lidar, row, points, page) for lidar, row, points in clouds]
    charts: dict[str, Chart] = {}
    _add_course(held, charts, sentences)
    _add_gps(held, charts, sentences)
    _add_imus(held, charts, sentences)
    return RecordingView(sentences, scale, instants, charts)


def choose_clouds(held: RecordedSensors, settings: ReportSettings) -> list[tuple[RecordedLidar, int]]:
    """The clouds of the chosen instants: those of the first lidar, and the nearest of the others."""
    clouds = held.lidars[0].clouds
    if settings.at is None:
        seen = held.frames.stamp[_with_picture(held.frames)] if held.frames is not None else np.empty(0, np.int64)
        near = [time for time in clouds.stamp.tolist() if abs(_from_nearest(seen, time)) <= _FARTHEST]
        shown = near or clouds.stamp.tolist()
        count = min(settings.instants, len(shown))
        rows = np.linspace(0, len(shown) - 1, count).round().astype(int) if count > 1 else [len(shown) // 2]
        times = [shown[row] for row in rows]
    else:
        begin, end = int(clouds.stamp[0]), int(clouds.stamp[-1])
        for second in settings.at:
            if second > (end - begin) / SECOND + _FARTHEST:
                raise UsageError(f"--at {second:g}: the clouds of {clouds.topic} end at {(end - begin) / SECOND:.2f} s")
        times = [begin + round(second * SECOND) for second in settings.at]
    return [(lidar, _nearest(lidar.clouds.stamp, time)) for time in times for lidar in held.lidars]


def _with_picture(frames: FrameSet) -> IntArray:
    """The numbers of the frames that have a stamp and a picture."""
    images = frames.images
    found = [] if images is None else [n for n in np.flatnonzero(frames.stamped).tolist() if images.has(n)]
    return np.array(found, np.int64)


def _from_nearest(stamps: IntArray, time: int) -> float:
    """Seconds from a time to the nearest of some stamps, infinite without any."""
    return int(stamps[_nearest(stamps, time)] - time) / SECOND if len(stamps) else math.inf


def _nearest(stamps: IntArray, time: int) -> int:
    return int(np.argmin(np.abs(stamps - time)))


def _class_colours(held: RecordedSensors) -> dict[str, Rgb]:
    """The colours of all classes on the page."""
    names = {name for lidar in held.lidars for boxes in lidar.boxes.values() for name in _class_names(boxes)}
    names |= {name for lidar in held.lidars for boxes in lidar.found.values() for name in _found_names(boxes)}
    if held.frames is not None:
        names |= {held.frames.class_name(class_id) for class_id in np.unique(held.frames.objects.class_id).tolist()}
    return class_colours(names)


def _class_names(boxes: RecordedBoxes) -> list[str]:
    pairs = zip(boxes.class_name, boxes.class_id.tolist(), strict=True)
    return [name or str(class_id) for name, class_id in pairs]


def _found_names(boxes: RecordedBoxes) -> list[str]:
    """What a detector found has a colour of its own beside what is labelled so."""
    return [f"{name}, found" for name in _class_names(boxes)]


def _instant(lidar: RecordedLidar, row: int, points: FloatArray, page: _PageScale) -> Instant:
    clouds = lidar.clouds
    stamp = int(clouds.stamp[row])
    corners, names = np.empty((0, 8, 3)), []
    for held, name_boxes in ((lidar.found, _found_names), (lidar.boxes, _class_names)):
        boxes = held.get(stamp)
        if boxes is not None:
            placed = lidar.mount.to_world(box_corners(boxes.centre, boxes.rotation, boxes.size))
            corners = np.concatenate([corners, placed.reshape(-1, 8, 3)])
            names += name_boxes(boxes)
    colours = np.array([page.colours[name] for name in names]).reshape(-1, 3)
    drawn = cloud_pictures(points, corners, colours, scale=page.scale)
    seconds = (stamp - page.begin) / SECOND
    picture, note = _picture(page.frames, stamp, page.colours)
    return Instant(
        f"{clouds.topic.strip('/').replace('/', '_')}_{seconds:.2f}s",
        f"{clouds.topic} at {seconds:.2f} s: {clouds.points[row]:,} points",
        top_figure(drawn.top, page.scale),
        perspective_figure(drawn.perspective, page.scale),
        picture,
        note,
        [(name, "#" + bytes(page.colours[name]).hex(), names.count(name)) for name in sorted(set(names))],
    )


def _picture(frames: FrameSet | None, stamp: int, colours: Mapping[str, Rgb]) -> tuple[RgbImage | None, str]:
    """The camera's picture of an instant with its labels, and when it was taken; or why there is none."""
    having = _with_picture(frames) if frames is not None else np.empty(0, np.int64)
    if frames is None or frames.images is None or not len(having):
        return None, ""
    apart = _from_nearest(frames.stamp[having], stamp)
    if abs(apart) > _FARTHEST:
        return None, f"no picture within {_FARTHEST:g} s"
    frame = int(having[_nearest(frames.stamp[having], stamp)])
    try:
        image = frames.images.read(frame)
    except ImageError as error:
        return None, f"the picture cannot be read: {error}"
    rows = frames.objects.take(np.flatnonzero(frames.objects.frame == frame))
    paints = np.array([colours[frames.class_name(class_id)] for class_id in rows.class_id.tolist()]).reshape(-1, 3)
    when = "at the same instant" if apart == 0 else f"{abs(apart) * 1000:.0f} ms {'later' if apart > 0 else 'earlier'}"
    return draw_boxes(image, rows.box, paints), f"camera, {when}"


def _add_course(held: RecordedSensors, charts: dict[str, Chart], sentences: list[str]) -> None:
    if not held.courses:
        return
    lines = [MapLine(_course_name(held, course), course.position[:, :2]) for course in held.courses]
    figure = map_figure(lines, ("x [m]", "y [m]"), "The course of the drive from above.")
    charts["course"] = Chart("Course of the drive", figure, "From above; a dot marks the beginning.", is_map=True)
    for line, course in zip(lines, held.courses, strict=True):
        seconds = (int(course.stamp[-1]) - int(course.stamp[0])) / SECOND
        length = float(np.linalg.norm(np.diff(course.position, axis=0), axis=1).sum())
        sentences.append(f"{line.name}: {len(course):,} poses over {seconds:.2f} s, {length:.2f} m of way")


def _course_name(held: RecordedSensors, course: Trajectory) -> str:
    return course.name.removeprefix(f"{held.path}: ")


def _add_gps(held: RecordedSensors, charts: dict[str, Chart], sentences: list[str]) -> None:
    for number, (track, truth) in enumerate(held.gps):
        place = track.metres()
        lines = [MapLine(track.topic, place[:, :2])]
        latitude, longitude, altitude = track.place[0].tolist()
        origin = f"{latitude:.7f}, {longitude:.7f} (degrees north, east), {altitude:.2f} m"
        note = f"Metres about the first fix: {origin}."
        said = f"{track.topic}: {len(track):,} fixes{_rate(track.stamp)}, the first at {origin}"
        if truth is not None:
            lines.append(MapLine("truth", truth.metres(track)[:, :2], is_truth=True))
            _, mine, its = np.intersect1d(track.stamp, truth.stamp, return_indices=True)
            if len(mine):
                east, north, up = _rms(place[mine] - truth.metres(track)[its])
                said += f"; {east:.3f} m east, {north:.3f} m north, {up:.3f} m up from the truth (RMS)"
        sentences.append(said)
        figure = map_figure(lines, ("east [m]", "north [m]"), f"The track of {track.topic}.")
        charts[f"gps_{number + 1}"] = Chart(f"GPS track: {track.topic}", figure, note, is_map=True)


def _add_imus(held: RecordedSensors, charts: dict[str, Chart], sentences: list[str]) -> None:
    for number, (topic, series, truth) in enumerate(held.imus):
        said = f"{topic}: {len(series.stamp):,} readings{_rate(series.stamp)}"
        if truth is not None:
            _, mine, its = np.intersect1d(series.stamp, truth.stamp, return_indices=True)
            shared = [part for part in PARTS if part in series.parts and part in truth.parts] if len(mine) else []
            differences = [_rms(series.parts[part][mine] - truth.parts[part][its]) for part in shared]
            for part, values in zip(shared, differences, strict=True):
                x, y, z = values
                said += f"; {part} {x:.3g}, {y:.3g}, {z:.3g} {UNITS[part]} from the truth (RMS of x, y, z)"
        sentences.append(said)
        figure = imu_figure(series, truth, held.lidars[0].clouds.stamp[0] if held.lidars else series.stamp[0])
        note = "Time counts from the first cloud." if held.lidars else "Time counts from the first reading."
        if len(series.stamp) > MOST_POINTS:
            note += " Each stretch of the line shows its lowest and its highest reading."
        charts[f"imu_{number + 1}"] = Chart(f"IMU: {topic}", figure, note)


def cloud_sentence(lidar: RecordedLidar) -> str:
    """Say what a lidar's clouds hold, in numbers."""
    clouds = lidar.clouds
    low, middle, high = int(clouds.points.min()), float(np.median(clouds.points)), int(clouds.points.max())
    each = f"{low:,} point{'s' if low != 1 else ''} each"
    if low != high:
        each = f"{middle:,.0f} points each ({low:,} to {high:,})"
    said = f"{clouds.topic}: {len(clouds):,} cloud{'s' if len(clouds) > 1 else ''}{_rate(clouds.stamp)}, {each}"
    if high:
        said += f", {np.nanmin(clouds.nearest):.2f} to {np.nanmax(clouds.farthest):.2f} m away"
    if clouds.rings:
        said += f", {clouds.rings} ring{'s' if clouds.rings > 1 else ''}"
    if clouds.empty.any():
        said += f"; {int(clouds.empty.sum()):,} points without a place (not finite, or 0 0 0)"
    same = lidar.body == clouds.frame.lstrip("/")
    return f"{said}; frame {clouds.frame or '(unnamed)'}{'' if same else f', drawn in {lidar.body}'}"


def _rate(stamp: IntArray) -> str:
    """How often, in words; nothing for one or for stamps without a duration."""
    duration = (int(stamp[-1]) - int(stamp[0])) / SECOND if len(stamp) > 1 else 0.0
    return f" at {(len(stamp) - 1) / duration:.2f} Hz" if duration > 0 else ""


def _rms(values: FloatArray) -> list[float]:
    """Of each column."""
    return [float(value) for value in np.sqrt((values**2).mean(0))]


_WIDEST_PX = 960
"""Width of a picture on the page, pixels."""
"""Percent."""


def report_recording(
    path: Path, out: Path, settings: ReportSettings, log: Log = no_log, progress: ProgressBar = no_progress
) -> Report:
    """Make the page of a recording: clouds from above and in perspective beside the camera's pictures, and signals."""
    unused = [name for name in ("csv", "latex", "label") if getattr(settings, name) is not None]
    if unused:
        raise UsageError(f"--{unused[0]} is for results of compare and sweep; {path} is a recording")
    page = out if out.suffix.lower() in (".html", ".htm") else out / "index.html"
    if check_output(page, is_report, overwrite=settings.overwrite):
        log(f"note: {page} is there already and will be replaced")
    if settings.figures is not None and not settings.overwrite:
        check_output(settings.figures)
    held = read_recorded_sensors(path, settings.topic, settings.image_topic, progress)
    view = make_recording_view(held, settings)
    html = render_recording_page(held, view, settings.title)
    write_page(page, html)
    if settings.figures is not None:
        figures = {name: chart.figure for name, chart in view.charts.items()}
        for instant in view.instants:
            figures |= {f"{instant.name}_top": instant.top, f"{instant.name}_perspective": instant.perspective}
        written = [file for name, figure in figures.items() for file in save_figure(figure, settings.figures / name)]
        log(f"wrote {len(written)} files into {settings.figures}")
    return Report(page, view.sentences, held.losses)


def render_recording_page(held: RecordedSensors, view: RecordingView, title: str = "") -> str:
    """Render the page."""
    draw, name, scale = FigureEmbedder().embed, held.path.name, view.scale
    instants = [_shown_instant(instant, draw) for instant in view.instants]
    drawn = [
        (chart.is_map, kit.section(chart.heading, kit.figure(draw(chart.figure), caption=chart.note)))
        for chart in view.charts.values()
    ]
    maps = [chart for is_map, chart in drawn if is_map]
    return kit.page(
        title or name,
        f"what {name} holds",
        kit.section("Sensors", kit.bullets(view.sentences), *(kit.note(f"Note: {line}.") for line in held.notes)),
        kit.section(
            "Point clouds",
            kit.note(
                "From above, x is ahead and y to the left; in perspective, the view is ahead from behind. The square "
                f"is {2 * scale.radius:g} m wide, with a line every {scale.step:g} m; the brighter lines meet at the "
                "origin. All clouds share the colours of height. Points are drawn where their own instant had them."
            ),
            *instants,
        )
        if scale is not None and instants
        else "",
        element("div", *maps, class_="maps") if maps else "",
        *(chart for is_map, chart in drawn if not is_map),
        losses=held.losses.lines(),
        heading="Lost from the recording, and not on this page:",
        width_px=1500,
    )


def _shown_instant(instant: Instant, draw: Callable[[ReportFigure], Markup]) -> Markup:
    """A moment: its cloud from above and in perspective, and what the camera saw."""
    classes = [
        element("span", kit.dot(colour), f"{name} ({count})", class_="legend") + " "
        for name, colour, count in instant.classes
    ]
    boxes = element("small", "3-D boxes: ", *classes) if classes else ""
    picture: Markup | str = kit.note(f"Camera: {instant.picture_note}.") if instant.picture_note else ""
    if instant.picture is not None:
        shown = kit.image(picture_uri(instant.picture, _WIDEST_PX), "what the camera saw")
        picture = kit.figure(shown, caption=instant.picture_note)
    return element(
        "div",
        element("h3", instant.title, boxes),
        kit.figure(draw(instant.top)),
        kit.figure(draw(instant.perspective)),
        picture,
        class_="instant seen" if instant.picture_note else "instant",
    )
