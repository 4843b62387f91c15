"""What the validation node gives out: summary, markers and overlay as messages, result folders, lines in the log."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from simjudge_msgs.msg import (
    Box,
    ClassSummary,
    ComparisonParameters,
    ContextPerformance,
    ContextPerformanceArray,
    KindDifference,
    SequentialVerdict,
    SetSummary,
    ValidationSummary,
)
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from simjudge.core.errors import Advance, ProgressLines, SimjudgeError, UsageError
from simjudge.core.images import ImageError
from simjudge.core.installed import version
from simjudge.core.settings import declared
from simjudge.core.text import JsonMapping
from simjudge.judging.compare_settings import CAMERA, CompareSettings
from simjudge.judging.comparison import Comparison
from simjudge.judging.live.judge import JudgedFrame, LiveMemory
from simjudge.judging.live.session import LiveOptions
from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
from simjudge.method.kinds import HiddenGap
from simjudge.method.verdicts import Verdict
from simjudge.questions.watch import SummaryLine, draw_contexts, summary_lines
from simjudge.results.saved_result import check_result_folder
from simjudge.ros.node_parameters import DRIVE_ROWS
from simjudge.ros.node_settings import ValidationSettings

from .diagnostics import OK, WARN, TaskState
from .image_input import ImageInput
from .messages import erasing_marker, image_message, message_stamp, set_text_height, to_rgb
from .parameters import Parameter, ParameterValues, settings_parameters
from .runtime import SimjudgeNode, WorkAbandonedError, declared_publisher

_ALL = (
    *settings_parameters(ValidationSettings),
    *settings_parameters(CompareSettings),
    *(Parameter.of(row) for row in DRIVE_ROWS),
)
# The parameters of the validation node: what `configure` reads may change while the node is unconfigured.
VALIDATION_PARAMETERS = tuple(replace(row, at_rest=not row.changeable and row.name != "autostart") for row in _ALL)
_AT_REST = frozenset(row.name for row in VALIDATION_PARAMETERS if row.at_rest)


def refuse_while_configured(name: str, node: str) -> None:
    """Refuse a new value of what counts for a whole comparison."""
    if name in _AT_REST:
        raise SimjudgeError(
            f"{name} is read when {node} is configured: all frames of a result are compared by the same rules. To begin"
            f" a new result with another value: ros2 lifecycle set {node} deactivate;"
            f" ros2 lifecycle set {node} cleanup;"
            f" ros2 param set {node} {name} VALUE; ros2 lifecycle set {node} configure; ros2 lifecycle set {node}"
            " activate. The result so far is written at cleanup; another out keeps it"
        )


def is_live(settings: ParameterValues) -> bool:
    """Whether live streams, of frames or of a drive, are to be compared, rather than two sets."""
    sets = [bool(settings[name]) for name in ("a", "b")]
    if settings["reference_drives"]:
        if settings["reference"] or any(sets):
            raise SimjudgeError("give either reference_drives, or reference, or a and b; not several of them")
        return True
    if settings["reference"] and any(sets):
        raise SimjudgeError("give either a and b, or reference; not both")
    if not settings["reference"] and not all(sets):
        raise SimjudgeError(
            "give two sets as a and b, or a reference to compare camera/ground_truth and camera/detections with"
        )
    return bool(settings["reference"])


def compare_settings(settings: ParameterValues) -> CompareSettings:
    """The settings of the comparison, as the library has them."""
    return CompareSettings(**{row.name: settings[row.name] for row in declared(CompareSettings)})


def live_options(settings: ParameterValues) -> LiveOptions:
    """How live frames are to be compared."""
    out = optional_path(settings["out"])
    of_live = compare_settings(settings)
    if of_live.sensor != CAMERA:
        raise UsageError("sensor: live streams are of pictures; compare two sets of clouds with a and b")
    for name in ("performance", "features"):
        if getattr(of_live, name) is not None:
            raise UsageError(f"{name}: is of sets; compare two of them with a and b")
    return LiveOptions(
        replace(of_live, a_predictions=None, b_predictions=None, a_image_topic=None, b_image_topic=None, paired=False),
        live_is_a=settings["live_is"] == "a",
        on_jump=settings["on_jump"],
        memory=LiveMemory(settings["window"], settings["keep"], of_live.seed),
        journal=None if out is None else out.with_name(f"{out.name}.journal"),
        resume=settings["resume"],
        sequence_block=settings["sequential_block"] if settings["sequential"] else None,
    )


def optional_path(text: str | None) -> Path | None:
    """A path, None for no text."""
    return Path(text) if text else None


_PROGRESS_PERIOD = 5  # Seconds between lines about the progress of long work


class ValidationOutput:
    """The outputs that a comparison of two sets and a live comparison share.

    Attributes:
        out: folder of the result, None where none is written.
    """

    def __init__(self, node: SimjudgeNode) -> None:
        """Create the publishers (node: with the parameters `out` and `report`)."""
        self._node = node
        self.out = optional_path(node.settings["out"])
        if self.out is not None:
            check_result_folder(self.out)
        self._summary = declared_publisher(node, "validation/summary")
        self._markers = declared_publisher(node, "validation/markers")
        self._text = declared_publisher(node, "validation/text")
        self._verdict = TaskState(OK, "nothing is compared yet")
        if not node.settings["reference_drives"]:
            node.diagnostics.add_task("verdict", lambda: self._verdict)

    def publish(
        self,
        head: Header,
        numbers: ComparisonNumbers,
        reverse: ComparisonNumbers | None,
        about: JsonMapping,
        losses: list[str],
        certainty_frames: int,
        hidden: HiddenGap | None = None,
    ) -> list[SummaryLine]:
        """Publish a summary, the other direction's where it is computed, and their numbers for RViz."""
        self._summary.publish(summary_message(head, numbers, reverse, about, losses, certainty_frames, hidden))
        lines = summary_lines(numbers, about["class_names"], about["parameters"]["metric"], hidden)
        self._markers.publish(marker_message(head, lines))
        self._text.publish(text_message(head, lines))
        self._verdict = verdict_state(numbers.overall, lines)
        return lines

    def save(self, compared: Comparison, folder: Path) -> None:
        """Write a result folder, with the report where the parameter `report` asks for it."""
        compared.save(folder)
        if self._node.settings["report"]:
            from simjudge.questions.compare.page import write_report  # noqa: PLC0415 - slow to import

            write_report([folder], folder / "report.html")
        self.log(f"result in {folder}")

    def log(self, line: str) -> None:
        """Write a line to the node's log."""
        self._node.get_logger().info(line)

    @contextmanager
    def progress(self, task: str) -> Iterator[Advance]:
        """Report the progress of long work in the log."""
        lines = ProgressLines(task, _PROGRESS_PERIOD)

        def advance(done: int, total: int) -> None:
            if self._node.leaving:
                raise WorkAbandonedError
            if line := lines.line(done, total):
                self.log(line)

        yield advance
        if line := lines.last_line():
            self.log(line)


_NAN = math.nan
_REAL = ("theta", "min_score", "margin")
_OPTIONAL = ("mask_factor", "block")
_MARKER_DISTANCE = 1.0  # Metres before the camera at which the text stands
_MARKER_HEIGHT = 0.04  # Height of a line of text, metres
_MARKER_LOWEST = -0.45  # The last text, metres below the camera's axis: above a picture 1 m wide
_TEXT_ABOVE = 0.5  # Metres above the camera at which the one text hangs
_TEXT_HEIGHT = 0.06  # Height of a line of it, metres


def summary_message(
    head: Header,
    numbers: ComparisonNumbers,
    backward: ComparisonNumbers | None,
    about: JsonMapping,
    losses: list[str],
    certainty_frames: int,
    hidden: HiddenGap | None = None,
) -> ValidationSummary:
    """A summary.

    `backward`: the same for the other direction, None where it is not computed; `hidden`: the kind of contexts that the
    verdict alone would hide.
    """
    names = about["class_names"]
    out = ValidationSummary(header=head, version=version(), losses=losses, certainty_frames=certainty_frames)
    out.a, out.b = (_set(about["inputs"][side]) for side in ("a", "b"))
    out.parameters = _parameters(about["parameters"])
    out.by_class, out.overall = _direction(numbers, names)
    out.hidden_gap = _kind_message(hidden)
    out.sequential = _sequential_message(about["inputs"])
    if backward is None:
        out.overall_reversed = _entry(None, -1, "")
    else:
        out.by_class_reversed, out.overall_reversed = _direction(backward, names)
    return out


def contexts_message(head: Header, judged: JudgedFrame, *, live_is_a: bool) -> ContextPerformanceArray:
    """The contexts of a live frame (head: stamp and frame of the message)."""
    frames = judged.frames
    width, height = (int(v) for v in frames.size[0])
    out = ContextPerformanceArray(header=head, frame_name=frames.frame_name[0], image_width=width, image_height=height)
    out.contexts = [_context(judged, row, live_is_a=live_is_a) for row in range(len(frames.objects))]
    return out


def marker_message(head: Header, lines: Sequence[SummaryLine]) -> MarkerArray:
    """Verdict and numbers for RViz: above the picture's place before the camera, in its optical frame.

    head: stamp and frame of the message.
    """
    out = MarkerArray(markers=[erasing_marker(head, "validation")])
    for number, line in enumerate(lines):
        marker = Marker(header=head, ns="validation", id=number, type=Marker.TEXT_VIEW_FACING, action=Marker.ADD)
        marker.pose.orientation.w = 1.0
        marker.pose.position.y = _MARKER_LOWEST - 3 * _MARKER_HEIGHT * (len(lines) - 1 - number)
        marker.pose.position.z = _MARKER_DISTANCE
        set_text_height(marker, _MARKER_HEIGHT)
        red, green, blue = line.colour
        marker.color = ColorRGBA(r=red / 255, g=green / 255, b=blue / 255, a=1.0)
        marker.text = f"{line.headline}\n{line.numbers}".rstrip()
        out.markers.append(marker)
    return out


_SHOWN = ("gap", "gap_low", "gap_high", "mean_w1", "noise", "p_adjusted", "overlap_a", "overlap_b", "margin")


def verdict_state(overall: EntryNumbers, lines: Sequence[SummaryLine]) -> TaskState:
    """The verdict for /diagnostics: OK where a gap of the margin is ruled out, or none was looked for yet.

    It is never ERROR: the node itself works.
    """
    level = OK if overall.verdict.within or overall.verdict == Verdict.NOT_TESTED else WARN
    numbers = {name: getattr(overall, name) for name in _SHOWN}
    values = {name: f"{value:.4f}" for name, value in numbers.items() if value is not None}
    return TaskState(level, lines[0].headline, {**values, **{line.headline: line.numbers for line in lines[1:]}})


def text_message(head: Header, lines: Sequence[SummaryLine]) -> Marker:
    """The same lines as one text that hangs above the camera and turns to whoever looks, for RViz and Foxglove."""
    still = Header(frame_id=head.frame_id)
    text = Marker(header=still, ns="validation", type=Marker.TEXT_VIEW_FACING, action=Marker.ADD, frame_locked=True)
    text.pose.orientation.w = 1.0
    text.pose.position.y = -_TEXT_ABOVE
    set_text_height(text, _TEXT_HEIGHT)
    red, green, blue = lines[0].colour if lines else (255, 255, 255)
    text.color = ColorRGBA(r=red / 255, g=green / 255, b=blue / 255, a=1.0)
    text.text = "\n".join(line.text for line in lines)
    return text


def _direction(numbers: ComparisonNumbers, names: Mapping[str, str]) -> tuple[list[ClassSummary], ClassSummary]:
    ids = sorted(numbers.by_class, key=int)
    entries = [_entry(numbers.by_class[key], int(key), names.get(key, "")) for key in ids]
    return entries, _entry(numbers.overall, -1, "")


def _entry(numbers: EntryNumbers | None, class_id: int, class_name: str) -> ClassSummary:
    out = ClassSummary(class_id=class_id, class_name=class_name)
    for name, kind in ClassSummary.get_fields_and_field_types().items():
        if name in ("class_id", "class_name"):
            continue
        value = None if numbers is None else getattr(numbers, name)
        if name == "w1_quantiles":
            setattr(out, name, [_number(v) for v in (value or dict.fromkeys(range(5))).values()])
        elif kind == "double":
            setattr(out, name, _number(value))
        elif value is not None:
            setattr(out, name, value)
    return out


def _kind_message(hidden: HiddenGap | None) -> KindDifference:
    if hidden is None:
        numbers = ("performance_a", "performance_b", "difference", "low", "high", "p")
        return KindDifference(**dict.fromkeys(numbers, _NAN))
    found = hidden.kind
    names = ("kind", "contexts", "performance_a", "performance_b", "difference", "low", "high", "p")
    return KindDifference(tested=hidden.tested, **{name: getattr(found, name) for name in names})


def _sequential_message(inputs: JsonMapping) -> SequentialVerdict:
    """What is certain at every look, of the side that is live."""
    said = next((inputs[side]["sequential"] for side in ("a", "b") if "sequential" in inputs[side]), None)
    if said is None:
        return SequentialVerdict(**dict.fromkeys(("difference", "low", "high"), _NAN))
    numbers = {name: _number(said[name]) for name in ("difference", "low", "high")}
    return SequentialVerdict(blocks=said["blocks"], verdict=said["verdict"], **numbers)


def _set(described: JsonMapping) -> SetSummary:
    fields = SetSummary.get_fields_and_field_types()
    return SetSummary(**{name: described[name] for name in fields if described[name] is not None})


def _parameters(parameters: JsonMapping) -> ComparisonParameters:
    height, width = parameters["patch"]
    out = ComparisonParameters(patch_height=height, patch_width=width)
    for name in ComparisonParameters.get_fields_and_field_types():
        if name in _OPTIONAL:
            setattr(out, name, _number(parameters[name]))
        elif name not in ("patch_height", "patch_width"):
            value = parameters[name]
            setattr(out, name, "" if value is None else float(value) if name in _REAL else value)
    return out


def _context(judged: JudgedFrame, row: int, *, live_is_a: bool) -> ContextPerformance:
    frames, objects = judged.frames, judged.frames.objects
    class_id, w1 = int(objects.class_id[row]), float(judged.w1[row])
    compared = live_is_a and not math.isnan(w1)
    out = ContextPerformance(
        set=ContextPerformance.SET_A if live_is_a else ContextPerformance.SET_B,
        object=row,
        class_id=class_id,
        class_name=frames.class_names.get(class_id, ""),
        instance_id=int(objects.instance[row]),
        box=_box(objects.box[row].tolist()),
        performance=float(judged.assignment.performance[row]),
        in_overlap=bool(judged.in_overlap[row]),
        compared=compared,
        w1=w1 if compared else _NAN,
        w1_around=w1,
        mean_difference=float(judged.difference[row]) if compared else _NAN,
        batch_a=int(judged.batch[row, 0]),
        batch_b=int(judged.batch[row, 1]),
    )
    assigned = int(judged.assignment.prediction[row])
    out.has_prediction = assigned >= 0 and frames.predictions is not None
    if out.has_prediction and frames.predictions is not None:
        out.predicted_box = _box(frames.predictions.box[assigned].tolist())
        out.score = float(frames.predictions.score[assigned])
    else:
        out.predicted_box, out.score = _box([_NAN] * 4), _NAN
    return out


def _box(edges: list[float]) -> Box:
    x0, y0, x1, y1 = edges
    return Box(x0=x0, y0=y0, x1=x1, y1=y1)


def _number(value: Any) -> float:
    return _NAN if value is None else float(value)


_CHECK_PERIOD = 0.5  # Seconds between looks whether somebody subscribes
_KEPT_IMAGES = 30  # Images that wait for their frames
_KEPT_FRAMES = 120  # Frames that wait for their images


class ValidationOverlay:
    """Images and judged frames, brought together by stamp.

    Attributes:
        lines: the numbers so far, which stand on every image.
    """

    def __init__(self, node: SimjudgeNode, post: Callable[[Callable[[], None]], None]) -> None:
        self._node, self._post = node, post
        self._publisher = declared_publisher(node, "validation/overlay")
        self._metric = compare_settings(node.settings).metric
        self._input: ImageInput | None = None
        self._images: dict[int, Any] = {}
        self._frames: dict[int, JudgedFrame] = {}
        self._lock = Lock()
        self.lines: Sequence[SummaryLine] = ()
        node.create_timer(_CHECK_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def wanted(self) -> bool:
        """Whether somebody looks."""
        return bool(self._publisher.get_subscription_count())

    def add(self, judged: JudgedFrame) -> None:
        """Draw a judged frame once its image is there, which may come before it or after it."""
        if self._input is None or not self.wanted:
            return
        stamp = int(judged.frames.stamp[0])
        with self._lock:
            image = self._images.pop(stamp, None)
            if image is None:
                _keep(self._frames, stamp, judged, _KEPT_FRAMES)
        if image is not None:
            self._draw(image, judged)

    def _look(self) -> None:
        if self._input is None and self.wanted:
            self._input = ImageInput(self._node, "camera/image_raw", self._take, depth=5)

    def _take(self, message: Any) -> None:
        if not self.wanted:
            return
        stamp = message_stamp(message)
        with self._lock:
            judged = self._frames.pop(stamp, None)
            if judged is None:
                _keep(self._images, stamp, message, _KEPT_IMAGES)
        if judged is not None:
            frame = judged
            self._post(lambda: self._draw(message, frame))

    def _draw(self, message: Any, judged: JudgedFrame) -> None:
        try:
            image = to_rgb(message, "camera/image_raw")
        except (ImageError, SimjudgeError) as error:
            self._node.get_logger().warning(f"no overlay: {error}")
            return
        self._publisher.publish(image_message(draw_contexts(image, judged, self.lines, self._metric), message.header))


def _keep(kept: dict[int, Any], stamp: int, item: Any, most: int) -> None:
    kept[stamp] = item
    while len(kept) > most:
        del kept[next(iter(kept))]
