"""The page of a result of the second judge, its figures, and its picture of cuboids: from the saved result alone."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.core.images import RgbImage, decode_image, encode_jpeg, encode_png
from simjudge.core.installed import version
from simjudge.data.clouds import CloudBoxes, lidar_points
from simjudge.detectors.clouds.cuboid_detection import detect_cloud_cuboids
from simjudge.detectors.clouds.cuboid_settings import LidarCuboidFile
from simjudge.geometry.poses import Pose
from simjudge.objects.lidar_measurements import LidarSide
from simjudge.objects.series import common_times
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT, Cell
from simjudge.page.figures import Figures, ReportFigure, add_axes, file_name, plain_text, report_style
from simjudge.page.kit import FigureEmbedder, ResultPage, data_uri, element, shrunk
from simjudge.questions.objects.result import (
    ColourDifferenceFields,
    FactFields,
    ObjectResult,
    PictureFileFields,
    RangeFields,
    ResultPicture,
    RowFields,
    SeriesPair,
    SidesFields,
    by_family,
    fact_lines,
    floor_times,
    headline,
    lead,
    load_object_result,
    row_number,
    row_p,
    row_title,
    signed,
)
from simjudge.questions.recording.cloud_pictures import (
    CloudScale,
    TopView,
    box_corners,
    draw_cloud,
    draw_points,
    draw_segments,
)
from simjudge.results.metric_rows import DIFFERS, NOT_SHOWN, TOO_FEW, WITHIN_FLOOR
from simjudge.results.saved_result import PICTURES

TRUE: tuple[int, int, int] = (255, 255, 255)
REAL: tuple[int, int, int] = (111, 177, 245)
VIRTUAL: tuple[int, int, int] = (245, 154, 74)
"""Colours of true cuboids, and of what the real and the virtual lidar say."""
_ON_GROUND = 0.4
"""Brightness of points on the ground."""
_CUBOID_SIZE = 1500
"""Pixels of the picture's longer side."""
_NEAR = 20.0
"""Metres from the lidar within which true cuboids are shown; beyond there are few points, and all becomes small."""
_CUBOID_MARGIN = 2.0
"""Metres around them."""


def cuboid_picture(real: LidarSide, virtual: LidarSide, detector: LidarCuboidFile) -> ResultPicture | None:
    """Draw the pair of scans with the most true cuboids, in the frame of the real lidar."""
    pair = _scans(real, virtual)
    if pair is None:
        return None
    try:
        drawn = [
            _DrawnScan(real, pair[0], Pose(), detector),
            _DrawnScan(virtual, pair[1], _moved(real, virtual, pair), detector),
        ]
    except SimjudgeError:
        return None  # measuring has counted it
    true = _corners(real.truth.boxes, pair[0], detector.farthest, Pose())
    shown = true if len(true) else np.concatenate([scan.cuboids for scan in drawn])
    if not len(shown):
        return None
    away = np.linalg.norm(shown[..., :2].mean(1), axis=1)
    shown = shown[away <= max(_NEAR, float(away.min()))]
    low, high = shown[..., :2].min((0, 1)) - _CUBOID_MARGIN, shown[..., :2].max((0, 1)) + _CUBOID_MARGIN
    scale = CloudScale(
        float((high - low).max()) / 2,
        float(shown[..., 2].min()),
        float(shown[..., 2].max()) + 1,
        (float(low[0] + high[0]) / 2, float(low[1] + high[1]) / 2),
    )
    seconds = real.time[pair[0]] - real.time.min()
    return ResultPicture(
        "cuboids",
        f"Cuboids in both scans at {seconds:.2f} s from above, {high[0] - low[0]:.0f} x {high[1] - low[1]:.0f} m",
        "White: true cuboids. Blue: points of the real lidar, and cuboids that are found in them. Orange: those of the "
        f"virtual lidar. Points on the ground are dark. Ahead is right; a square of the grid is {scale.step:g} m.",
        _draw(drawn, true, scale, high - low),
    )


class _DrawnScan:
    """One scan in the frame of the real lidar: points, which of them are on the ground, and cuboids."""

    def __init__(self, side: LidarSide, index: int, place: Pose, detector: LidarCuboidFile) -> None:
        cloud = side.clouds[index]
        found = detect_cloud_cuboids(cloud, detector)
        held = lidar_points(cloud.table, cloud.where)
        kept = ~found.own[held.seen]
        self.points = place.to_world(held.stored[kept].astype(np.float64))
        self.on_ground = found.ground[held.seen][kept]
        if side.predictions is not None:
            self.cuboids = _corners(side.predictions, index, np.inf, place)
        else:
            self.cuboids = _corners(found.cuboids, 0, np.inf, place)


def _scans(real: LidarSide, virtual: LidarSide) -> tuple[int, int] | None:
    """The numbers of the clouds of the pair in which the real lidar has the most true cuboids."""
    orders = [np.argsort(side.time, kind="stable") for side in (real, virtual)]
    common = common_times(real.time[orders[0]], virtual.time[orders[1]])
    if not len(common):
        return None
    index = orders[0][common.real]
    counts = np.bincount(real.truth.boxes.cloud, minlength=len(real.time))[index]
    # Of several the one in the middle.
    best = np.flatnonzero(counts == counts.max())
    place = best[len(best) // 2]
    return int(index[place]), int(orders[1][common.virtual[place]])


def _moved(real: LidarSide, virtual: LidarSide, pair: tuple[int, int]) -> Pose:
    """The virtual lidar in the frame of the real one; the same where their poses are not known."""
    poses = []
    for side, index in zip((real, virtual), pair, strict=True):
        if side.poses is None or index not in side.poses.index:
            return Pose()
        rows = np.flatnonzero(side.poses.index == index)
        poses.append(side.poses.poses[int(rows[0])])
    return poses[0].inverse() @ poses[1]


def _corners(boxes: CloudBoxes, cloud: int, reach: float, place: Pose) -> FloatArray:
    """Corners (K, 8, 3) of the boxes of one cloud within reach of the lidar."""
    rows = np.flatnonzero((boxes.cloud == cloud) & (np.linalg.norm(boxes.centre, axis=1) <= reach))
    if not len(rows):
        return np.empty((0, 8, 3))
    turned = Rotation.from_quat(boxes.orientation[rows]).as_matrix()
    corners = box_corners(boxes.centre[rows], turned, boxes.size[rows])
    return place.to_world(corners.reshape(-1, 3)).reshape(-1, 8, 3)


def _draw(drawn: Sequence[_DrawnScan], true: FloatArray, scale: CloudScale, extent: FloatArray) -> RgbImage:
    """Draw the square of the scale from above, and cut it to an extent in metres along x and y."""
    view = TopView(scale.radius, _CUBOID_SIZE, scale.centre)
    image = draw_cloud(view, np.empty((0, 3)), np.empty((0, 8, 3)), TRUE, scale)
    colours = [
        np.where(scan.on_ground[:, None], _ON_GROUND, 1.0) * colour
        for scan, colour in zip(drawn, (REAL, VIRTUAL), strict=True)
    ]
    points = np.concatenate([scan.points for scan in drawn])
    draw_points(image, view, points, np.concatenate(colours).astype(np.uint8), 3)
    for corners, colour, width in ((true, TRUE, 2), (drawn[0].cuboids, REAL, 5), (drawn[1].cuboids, VIRTUAL, 2)):
        # The upper and the lower face look alike from above.
        face = corners[:, [1, 3, 7, 5]]
        edges = np.stack([face, np.roll(face, -1, axis=1)], axis=2).reshape(-1, 2, 3)
        draw_segments(image, view, edges, np.broadcast_to(np.array(colour), (len(edges), 3)), width)
    tall, wide = np.round(extent / (2 * scale.radius) * _CUBOID_SIZE).astype(int).tolist()
    top, left = (_CUBOID_SIZE - tall) // 2, (_CUBOID_SIZE - wide) // 2
    # Ahead is up in a view from above.
    return np.ascontiguousarray(np.rot90(image[top : top + tall, left : left + wide], -1))


MOST_SERIES = 24
"""Rows of a sensor whose series are drawn: those at the top of its table."""

TitledFigures = list[tuple[str, Callable[[], ReportFigure]]]
"""Figures with their titles, not drawn yet."""


def series_figures(result: ObjectResult, sensor: str) -> TitledFigures:
    """List the series of the rows at the top of a sensor's table, as far as they have several values."""
    own = [
        (row, pair)
        for row, pair in zip(result.rows, result.series, strict=True)
        if row.sensor == sensor and len(pair.time)
    ]
    start = min((float(pair.time[0]) for _, pair in own), default=0.0)
    several = [(row, pair) for row, pair in own if row.frames > 1 and pair.time[-1] > pair.time[0]]
    return [
        (row_title(row), partial(series_figure, row, pair, start, row_title(row)))
        for row, pair in several[:MOST_SERIES]
    ]


def range_figures(result: ObjectResult) -> TitledFigures:
    """List the metrics over range."""
    return [(table.metric, partial(range_figure, table)) for table in result.file.ranges]


def colour_figures(result: ObjectResult) -> TitledFigures:
    """List the histograms of colours."""
    rows = result.file.colours
    subjects = dict.fromkeys(row.subject for row in rows)
    return [(s, partial(colour_figure, [row for row in rows if row.subject == s])) for s in subjects]


def object_figures(result: ObjectResult) -> Figures:
    """List the figures of a result by objects."""
    sensors = dict.fromkeys(row.sensor for row in result.rows)
    groups: dict[str, TitledFigures] = {sensor: series_figures(result, sensor) for sensor in sensors}
    groups |= {"range": range_figures(result), "colours": colour_figures(result)}
    return {
        f"{group}_{number:03d}_{file_name(title)}": draw
        for group, figures in groups.items()
        for number, (title, draw) in enumerate(figures)
    }


_SIZE = (560.0, 262.0)
"""Points: width and height of a figure."""
_UPPER = 148.0
"""Points: height of the panel with both series."""
_SMALL = (380.0, 220.0)
"""Points: width and height of a figure over range or colour."""
_MARGINS = (66.0, 14.0, 22.0, 6.0)
_FEW = 80
"""Frames up to which each one is marked."""
_MOST = 2000
"""Points of a line; a longer one is thinned."""


def series_figure(row: RowFields, pair: SeriesPair, start: float, title: str) -> ReportFigure:
    """Draw one metric of one subject: both series, and virtual less real with its interval and the floor.

    `start`: the stamp that times are counted from, seconds.
    """
    kept = slice(None, None, -(-len(pair.time) // _MOST) or None)
    time, real, virtual = (values[kept] for values in (pair.time - start, pair.real, pair.virtual))
    unit = f" [{row.unit}]" if row.unit else ""
    with report_style():
        figure = ReportFigure(*_SIZE, f"{title} over time in real and virtual, and the difference below.")
        upper = add_axes(figure, (0, 0, _SIZE[0], _UPPER), _MARGINS)
        upper.set_title(plain_text(title + unit, 60), fontsize=11)
        _line(upper, time, real, "a", "real")
        _line(upper, time, virtual, "b", "virtual")
        upper.legend(loc="lower right", ncols=2, bbox_to_anchor=(1.0, 0.97), borderaxespad=0)
        lower = add_axes(figure, (0, _UPPER, _SIZE[0], _SIZE[1] - _UPPER), (*_MARGINS[:2], 10.0, 42.0))
        _draw_difference(lower, row, time, virtual - real)
        for axes in (upper, lower):
            axes.locator_params(axis="y", nbins=4)
            # Beside the axis, where it is not on the title.
            axes.yaxis.get_offset_text().set(x=-0.13, fontsize=9)
            axes.set_xlim(*_limits(time))
        upper.tick_params(labelbottom=False)
        lower.set_xlabel("time [s]")
    return figure


def range_figure(table: RangeFields) -> ReportFigure:
    """Draw one metric of objects over range: means of both lidars with their standard deviation."""
    edges = np.array(table.edges)
    middle = (edges[:-1] + edges[1:]) / 2
    unit = f" [{table.unit}]" if table.unit else ""
    with report_style():
        figure = ReportFigure(*_SMALL, f"{table.metric} over range in real and virtual.")
        axes = add_axes(figure, (0, 0, *_SMALL), (56.0, 12.0, 24.0, 42.0))
        axes.set_title(plain_text(table.metric + unit, 40), fontsize=11)
        for side, means, colour, aside in (("real", table.real, "a", -0.8), ("virtual", table.virtual, "b", 0.8)):
            mean, deviation = (np.array(values, np.float64) for values in (means.mean, means.deviation))
            axes.errorbar(
                middle + aside,
                mean,
                deviation,
                color=LIGHT[colour],
                linewidth=1.5,
                elinewidth=1,
                capsize=2,
                marker="o",
                markersize=4,
                label=side,
            )
        axes.legend(loc="best")
        axes.set_xlim(edges[0], edges[-1])
        axes.locator_params(axis="y", nbins=4)
        axes.ticklabel_format(axis="y", useOffset=False)
        axes.yaxis.get_offset_text().set(x=-0.16, fontsize=9)  # beside the axis, where it is not on the title
        _widen_if_constant(axes)
        axes.set_xlabel("range [m]")
    return figure


def _widen_if_constant(axes: Axes) -> None:
    """Show values that differ by rounding alone as equal ones."""
    low, high = axes.get_ylim()
    size = max(abs(low), abs(high))
    if high - low < 1e-6 * size:
        axes.set_ylim((low + high) / 2 - 0.05 * size, (low + high) / 2 + 0.05 * size)


def _draw_difference(axes: Axes, row: RowFields, time: FloatArray, difference: FloatArray) -> None:
    """The difference over time; its mean with interval; between grey lines what real differs by from real."""
    if row.floor:
        axes.axhspan(-row.floor, row.floor, color=LIGHT["band"], alpha=0.6, linewidth=0)
    axes.axhline(0.0, color=LIGHT["floor"], linewidth=1)
    _line(axes, time, difference, "soft", "virtual - real", width=1.0)
    if row.low is not None:
        axes.axhspan(row.low, row.high, color=LIGHT["w1"], alpha=0.25, linewidth=0)
        axes.axhline(row.difference, color=LIGHT["w1"], linewidth=1.6)


def _line(axes: Axes, time: FloatArray, value: FloatArray, colour: str, label: str, width: float = 1.5) -> None:
    marker = "." if np.count_nonzero(np.isfinite(value)) <= _FEW else None
    axes.plot(time, value, color=LIGHT[colour], linewidth=width, marker=marker, markersize=4, label=label)


def _limits(time: FloatArray) -> tuple[float, float]:
    first, last = (float(time[0]), float(time[-1])) if len(time) else (0.0, 1.0)
    room = 0.02 * (last - first) or 0.5
    return first - room, last + room


_PANEL, _HEIGHT = 250.0, 190.0
"""Points: width and height of a panel."""
_COLOUR_MARGINS = (46.0, 10.0, 34.0, 42.0)


def colour_figure(rows: Sequence[ColourDifferenceFields]) -> ReportFigure:
    """Draw the histograms of one subject, a panel for each channel."""
    subject = colour_subject(rows[0])
    with report_style():
        figure = ReportFigure(_PANEL * len(rows), _HEIGHT, f"Hue, saturation and value of {subject}, real and virtual.")
        for number, row in enumerate(rows):
            axes = add_axes(figure, (number * _PANEL, 0, _PANEL, _HEIGHT), _COLOUR_MARGINS)
            for side, shares, colour in (("real", row.real, "a"), ("virtual", row.virtual, "b")):
                percent = [100 * share for share in shares]
                axes.stairs(percent, row.edges, color=LIGHT[colour], linewidth=1.5, label=side)
            axes.set_xlim(row.edges[0], row.edges[-1])
            axes.set_ylim(bottom=0)
            axes.set_xlabel(f"{row.channel} [{row.unit}]" if row.unit else row.channel)
            axes.locator_params(nbins=5)
            if number == 0:
                axes.set_title(plain_text(f"{subject}: share of the pixels [%]", 44), fontsize=11, loc="left")
    return figure


def colour_subject(row: ColourDifferenceFields) -> str:
    """What histograms are of, for a person."""
    return str(row.subject) or "whole pictures"


_COLOURS = {DIFFERS: "gap", WITHIN_FLOOR: "small-gap", NOT_SHOWN: "predicts", TOO_FEW: "too-few"}
"""Verdict to the name of its colour in the palette."""
_OPEN = 8
"""Rows of a sensor whose series are drawn in view."""
_MOST_SINGLE = 150
"""Rows of single objects on the page."""
_HEADS = (
    "metric",
    "subject",
    "verdict",
    "real",
    "virtual",
    "difference",
    "95 %",
    "floor",
    "times the floor",
    "p corrected",
    "virtual later [ms]",
    "frames",
    "left out",
)
_FIELDS = tuple(RowFields.model_fields)
"""Columns of the table as CSV."""
_WIDEST_PX = 1600
"""Of a picture on the page, pixels."""


def render_objects_page(result: ObjectResult, title: str = "") -> str:
    """Render the page."""
    draw, content = FigureEmbedder().embed, result.file
    again = content.inputs.real_again is not None
    sensors = [
        part
        for sensor in dict.fromkeys(row.sensor for row in result.rows)
        for part in _sensor_sections(
            [row for row in result.rows if row.sensor == sensor],
            [draw(figure()) for _, figure in series_figures(result, sensor)],
            again=again,
        )
    ]
    ranges = [kit.figure(draw(figure())) for _, figure in range_figures(result)]
    return kit.page(
        title or f"Does {result.side_name('virtual')} show the same objects as {result.side_name('real')}?",
        result.name,
        kit.hero(headline(result), _COLOURS[result.rows[0].verdict], lead(result), kit.bullets(fact_lines(result))),
        kit.section(
            "Numbers of whole recordings",
            kit.table(
                ("", "real and virtual", *(("real and real again",) if again else ()), ""),
                [fact if again else (*fact[:2], fact[3]) for fact in map(_fact, content.facts)],
                row_heads=True,
                kind=None,
            ),
            when=content.facts,
        ),
        kit.section("Pictures", *(_picture(result, one) for one in content.pictures), when=content.pictures),
        *sensors,
        kit.section(
            "Objects over range",
            kit.note("Means over all objects and scans in each bin of range, with their standard deviation."),
            element("div", *ranges, class_="figures"),
            when=ranges,
        ),
        _colour_section(result, [draw(figure()) for _, figure in colour_figures(result)]),
        kit.section(
            "What went in",
            kit.table((), _inputs(content.inputs), row_heads=True, kind="inputs"),
            kit.bullets(content.notes),
            kit.parameters({**content.parameters, "simjudge": version()}),
        ),
        losses=content.losses,
        width_px=1320,
    )


def _sensor_sections(rows: Sequence[RowFields], charts: Sequence[Markup], *, again: bool) -> list[Markup]:
    """What the page says of one sensor: its rows, whole pictures and scans first, and their series."""
    name = rows[0].sensor.capitalize()
    single = [row for row in rows if row.is_single]
    shown = [row for row in single if row.verdict != TOO_FEW][:_MOST_SINGLE]
    counts = Counter(row.verdict for row in single)
    counts.subtract(Counter(row.verdict for row in shown))
    rest = ", ".join(f"{count} x {verdict}" for verdict, count in counts.items() if count)
    families = by_family([row for row in rows if not row.is_single])
    said = f"{len(single) - len(shown)} more rows ({rest}): simjudge report RESULT --csv FILE writes all."
    floor = (
        "a second real recording differs by from the first (from the other half of the first where the second lacks an "
        "object)"
        if again
        else "the real recording differs by from itself: every other frame from what its two neighbours say of its "
        "instant"
    )
    numbers = kit.section(
        f"{name}: what differs",
        kit.note(
            "By family of metrics, in each the clearest first; a click on a heading orders all rows by it. Difference "
            "is virtual less real, averaged over the frames where both have a value, with its 95 % interval over "
            f"blocks of time. The floor is what {floor}. A row differs if its p, corrected for all rows of the table "
            "(Holm), is at most 0.05 and the difference is greater than the floor. An interval with * may be too "
            "narrow: the recording is short for how slowly the difference changes. Virtual later: the shift in time by "
            "cross-correlation, with 95 %. Left out: frames without a partner in time, and common times at which real "
            "or virtual has no value."
        ),
        kit.table(
            _HEADS, chain.from_iterable((name, *map(_cells, of)) for name, of in families.items()), words=range(3)
        ),
        kit.folded(
            f"Single objects: {len(shown)} rows, the clearest first",
            kit.table(_HEADS, map(_cells, shown), words=range(3)) if shown else "",
            kit.note(said) if rest else "",
        )
        if shown or rest
        else "",
    )
    if not charts:
        return [numbers]
    return [
        numbers,
        kit.section(
            f"{name}: over time",
            kit.note(
                "What differs most clearly comes first. Above, ",
                kit.line_swatch("stroke-a"),
                " real and ",
                kit.line_swatch("stroke-b"),
                " virtual; below, virtual less real. The violet line is the mean difference, the violet band its "
                "95 % interval, the grey band the floor.",
            ),
            _in_view(charts, f", of {len(rows)} rows" * (len(charts) < len(rows))),
        ),
    ]


def _in_view(charts: Sequence[Markup], of: str = "") -> Markup:
    """The first charts, and the others folded."""
    first, rest = (element("div", *map(kit.figure, part), class_="series") for part in (charts[:_OPEN], charts[_OPEN:]))
    return first + kit.folded(f"{len(charts) - _OPEN} more{of}", rest) if charts[_OPEN:] else first


def _colour_section(result: ObjectResult, histograms: Sequence[Markup]) -> Markup:
    if not result.file.colours:
        return Markup()
    halves = "two halves of the real recording" if result.file.inputs.real_again is None else "two real recordings"
    return kit.section(
        "Hue, saturation, value",
        kit.note(
            "Of the pixels of whole pictures, and of labelled objects by class, real in blue and virtual in orange. "
            "The distance is the Wasserstein distance W1: how far a pixel's value must change on average to make one "
            "histogram the other; hues go around the circle. The floor is the same distance between "
            f"the {halves}. A gray pixel has no hue."
        ),
        kit.table(("", "", "distance", "floor"), map(_colour, result.file.colours), row_heads=True, kind=None),
        _in_view(histograms),
    )


def _cells(row: RowFields) -> list[Cell]:
    interval = "–" if row.low is None else f"{signed(row.low)} to {signed(row.high)}"
    if row.limited:
        interval += " *"
    shift, spread = row.shift, 1.96 * (row.shift_spread or 0)
    lost = row.unpaired_real + row.unpaired_virtual
    missing = row.missing_real + row.missing_virtual + row.missing_both
    return [
        Cell(f"{row.metric} [{row.unit}]" if row.unit else row.metric),
        Cell(row.subject or "whole"),
        Cell(row.verdict, colour=_COLOURS[row.verdict]),
        _number_cell(row.real_mean, row_number(row.real_mean)),
        _number_cell(row.virtual_mean, row_number(row.virtual_mean)),
        _number_cell(row.difference, signed(row.difference)),
        _number_cell(row.low, interval),
        _number_cell(row.floor, row_number(row.floor)),
        _number_cell(row.times_floor, floor_times(row.times_floor)),
        _number_cell(row.p_adjusted, row_p(row.p_adjusted)),
        _number_cell(shift, "" if shift is None else f"{round(1e3 * shift)} ± {round(1e3 * spread)}"),
        _number_cell(row.frames, str(row.frames)),
        _number_cell(lost + missing, f"{lost} / {missing}" if lost + missing else "0"),
    ]


def _number_cell(value: float | None, text: str) -> Cell:
    return Cell("–" if value is None else text, "" if value is None else str(value))


def _fact(fact: FactFields) -> tuple[str, str, str, str]:
    again = "–" if fact.real_again is None else row_number(fact.real_again, fact.unit)
    return fact.name, row_number(fact.value, fact.unit), again, fact.note


def _colour(row: ColourDifferenceFields) -> tuple[str, str, str, str]:
    digits = 1 if row.channel == "hue" else 3
    distance, floor = ("–" if v is None else f"{v:.{digits}f} {row.unit}" for v in (row.distance, row.floor))
    return colour_subject(row), row.channel, distance, floor


def _inputs(inputs: SidesFields) -> list[tuple[str, str, str]]:
    rows = []
    for side, title in ((inputs.real, "real"), (inputs.virtual, "virtual"), (inputs.real_again, "real, again")):
        if side is not None:
            counts = [f"{n} {what}" for n, what in ((side.frames, "frames"), (side.clouds, "clouds")) if n is not None]
            rows.append((title, side.path or side.name, ", ".join(counts)))
    return rows


def _picture(result: ObjectResult, picture: PictureFileFields) -> Markup:
    file = picture.file
    path = result.folder / PICTURES / file
    if Path(file).name != file or not path.is_file():
        raise SimjudgeError(f"{path}: is missing; run simjudge robot objects again")
    pixels = shrunk(decode_image(path.read_bytes(), str(path)), _WIDEST_PX)
    # Maps have few colours and sharp edges: PNG is smaller and exact there.
    png, jpeg = encode_png(pixels), encode_jpeg(pixels, 85)
    kind, data = ("png", png) if len(png) < 1.2 * len(jpeg) else ("jpeg", jpeg)
    shown = kit.image(data_uri(data, kind), picture.title, "map" if "map" in file else None)
    return kit.figure(shown, heading=picture.title, caption=picture.note)


def _write_csv(result: ObjectResult, path: Path) -> None:
    """One line each row of the table, with the field names of docs/guides/objects.md."""
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["result", *_FIELDS])
        for row in result.rows:
            values = [getattr(row, field) for field in _FIELDS]
            writer.writerow([result.name, *("" if value is None else value for value in values)])


OBJECTS_PAGE = ResultPage(
    "one of objects",
    load_object_result,
    lambda result, _, title: render_objects_page(result, title),
    object_figures,
    lambda result: [f"{headline(result)}: {lead(result)}", *fact_lines(result)],
    _write_csv,
    ",".join(["result", *_FIELDS[:3]]),
)
