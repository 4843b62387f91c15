"""The page of a recording: one self-contained HTML file, and its figures as files."""

from __future__ import annotations

import base64
from pathlib import Path

import cv2
import numpy as np

from simjudge.core.errors import UsageError
from simjudge.core.files import atomic_file, check_output
from simjudge.core.images import RgbImage, encode_jpeg
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.version import version
from simjudge.page.figure_files import save_figure
from simjudge.page.inline_svg import FigureEmbedder
from simjudge.page.page_templates import is_report, load_template
from simjudge.page.report_settings import Report, ReportSettings
from simjudge.questions.recording.recorded_sensors import RecordedSensors, read_recorded_sensors
from simjudge.questions.recording.recording_view import RecordingView, make_recording_view

_MAX_WIDTH = 960
"""Width of a picture on the page, pixels."""
_JPEG_QUALITY = 85
"""Percent."""


def report_recording(
    path: Path, out: Path, settings: ReportSettings, log: Log = no_log, progress: ProgressBar = no_progress
) -> Report:
    """Make the page of a recording: clouds from above and in perspective beside the camera's pictures, and signals.

    Args:
        out: the page where the name ends in .html, else a folder that gets index.html.

    Raises:
        UsageError: settings are given that a recording has no use for, or a topic or an instant is not there.
        SimjudgeError: the recording cannot be read or holds nothing to show, or something cannot be written.
    """
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
    with atomic_file(page) as temporary:
        temporary.write_text(html, encoding="utf-8")
    if settings.figures is not None:
        figures = {name: chart.figure for name, chart in view.charts.items()}
        for each in view.instants:
            figures |= {f"{each.name}_top": each.top, f"{each.name}_perspective": each.perspective}
        written = [file for name, figure in figures.items() for file in save_figure(figure, settings.figures / name)]
        log(f"wrote {len(written)} files into {settings.figures}")
    return Report(page, view.sentences, held.losses)


def render_recording_page(held: RecordedSensors, view: RecordingView, title: str = "") -> str:
    """Render the page."""
    embedder = FigureEmbedder()
    return load_template("recording.html").render(
        title=title or held.path.name,
        name=held.path.name,
        version=version(),
        view=view,
        instants=[
            (each, embedder.embed(each.top), embedder.embed(each.perspective), _data_uri(each.picture))
            for each in view.instants
        ],
        charts=[(each, embedder.embed(each.figure)) for each in view.charts.values()],
        notes=held.notes,
        losses=held.losses.lines(),
    )


def _data_uri(picture: RgbImage | None) -> str:
    if picture is None:
        return ""
    height, width = picture.shape[:2]
    if width > _MAX_WIDTH:
        size = (_MAX_WIDTH, max(1, round(height * _MAX_WIDTH / width)))
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    return "data:image/jpeg;base64," + base64.b64encode(encode_jpeg(picture, _JPEG_QUALITY)).decode("ascii")
