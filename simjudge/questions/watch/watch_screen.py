"""What is shown: a rerun recording, in a window, in a browser, in a file."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import check_output, output_path
from simjudge.core.images import RgbImage
from simjudge.questions.watch.watch_signals import TIMELINE, SignalLayers

MISSING = "rerun is not installed, which shows it: pip install 'simjudge[watch]'"
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

    Attributes:
        address: to open in a browser; "" where it is not shown in one.
    """

    def __init__(self, where: ScreenTarget, save: Path | None = None, *, quality: int = 80) -> None:
        """Open it.

        Args:
            save: the .rrd file where it is a file; it has its name once the screen is closed.
            quality: of the JPEG images that are made of raw ones, percent.
        """
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
        self._temporary = None if save is None else save.parent / f".{save.name}.{os.getpid()}.tmp"
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
            raise SimjudgeError(f"cannot be shown in a browser: {reason}; another simjudge watch runs?") from error
        self.address = f"http://localhost:{_WEB_PORT}/?url={quote(source, safe='')}"

    @property
    def megabytes(self) -> float:
        """Size of the file so far; 0 where it is no file."""
        return 0.0 if self._temporary is None else self._temporary.stat().st_size / 1e6

    def show_image(self, stamp: int, image: RgbImage) -> None:
        """Show an image.

        Args:
            stamp: its time, nanoseconds.
            image: RGB, uint8 (H, W, 3).
        """
        self._at(stamp)
        self._recording.log("camera", self._rerun.Image(image).compress(jpeg_quality=self._quality))

    def show_encoded_image(self, stamp: int, data: bytes, media_type: str) -> None:
        """Show an image that is compressed already.

        Args:
            stamp: its time, nanoseconds.
        """
        self._at(stamp)
        self._recording.log("camera", self._rerun.EncodedImage(contents=data, media_type=media_type))

    def show_boxes(self, stamp: int, layer: str, boxes: Boxes) -> None:
        """Show boxes over the image of the same stamp.

        Args:
            stamp: time of the image, nanoseconds.
            layer: "ground_truth", "detections" or "contexts"; a layer replaces what it showed before.
        """
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
        """Show the numbers so far: curves of each class, and a table.

        Args:
            stamp: their time, nanoseconds.
            states: the numbers of each class. An undefined number leaves a gap in its curve.
        """
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
        """Where readings of sensors are shown.

        Args:
            stamp: the time of what is shown next, nanoseconds.
        """
        self._at(stamp)
        return self._signals

    def close(self) -> Path | None:
        """Finish; the file that was saved, None where there is none."""
        self._recording.flush()
        self._recording.disconnect()
        if self._save is None or self._temporary is None or not self._temporary.exists():
            return None
        try:
            self._temporary.replace(self._save)
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
