"""A result as a rerun recording: both sets frame by frame, boxes coloured by W1, W1 and overlap over the frames."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import check_output, output_path
from simjudge.core.progress import Advance
from simjudge.questions.compare.context_overlay import OUTSIDE_COLOUR, w1_colour
from simjudge.questions.compare.detector_sentences import verdicts_said
from simjudge.questions.compare.facts import overlap_sentences, performance_sentences
from simjudge.questions.compare.result_frames import ResultFrame, ResultFrames, read_result_frames
from simjudge.questions.compare.words import SetNames
from simjudge.questions.watch.watch_screen import MISSING, is_installed
from simjudge.results.saved_result import Result

TIMELINE = "frame"
"""Number of a frame in its set, from 0 on."""
_PREDICTED = (255, 255, 255)
_MEDIA = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png"}


def write_rrd(result: Result, out: Path, advance: Advance, *, overwrite: bool = False) -> Losses:
    """Write a result as a rerun recording.

    Args:
        advance: told (frames done, frames in all).

    Returns:
        Pictures that could not be read, and sets that are no longer there.
    """
    if not is_installed():
        raise SimjudgeError(MISSING)
    import rerun  # noqa: PLC0415 - an extra

    shown, losses, out = read_result_frames(result), Losses(), output_path(out)
    check_output(out, _is_no_report, overwrite=overwrite)
    temporary = out.parent / f".{out.name}.{os.getpid()}.tmp"
    recording: Any = rerun.RecordingStream("simjudge")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch()
        recording.save(temporary, default_blueprint=_layout(shown.names))
        recording.log("summary", rerun.TextDocument(summary_text(result), media_type="text/markdown"), static=True)
        _log_frames(rerun, recording, shown, losses, advance)
        recording.flush()
        recording.disconnect()
        temporary.replace(out)
    except OSError as error:
        raise SimjudgeError(f"{out}: cannot be written to: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return losses


def summary_text(result: Result) -> str:
    """Write the verdicts and what the overlaps mean, as Markdown."""
    names, lines = SetNames.of_result(result), [f"# {result.name}", ""]
    for entry, (label, said, meaning) in zip(result.entries, verdicts_said(result), strict=True):
        lines += [f"## {label}: {said}", "", meaning, ""]
        lines += [f"* {line}" for line in (*overlap_sentences(entry, names), *performance_sentences(entry, names))]
        lines.append("")
    return "\n".join(lines)


def _log_frames(rerun: Any, recording: Any, shown: ResultFrames, losses: Losses, advance: Advance) -> None:
    count = {"a": 0, "b": 0}
    for which in "ab":
        if which not in shown.sets:
            losses.add("sets whose pictures are not there any more", getattr(shown.names, which))
    for done, frame in enumerate(shown.frames, start=1):
        recording.set_time(TIMELINE, sequence=count[frame.which])
        count[frame.which] += 1
        root = frame.which.upper()
        image = shown.image(frame, losses)
        if image is not None:
            media = _MEDIA.get(image.suffix.lower())
            recording.log(f"{root}/camera", rerun.EncodedImage(contents=image.data, media_type=media))
        recording.log(f"{root}/camera/labelled", _labelled(rerun, shown, frame))
        recording.log(f"{root}/camera/predicted", _predicted(rerun, shown, frame))
        w1 = shown.contexts["w1"][frame.rows]
        if np.isfinite(w1).any():
            recording.log("w1/mean", rerun.Scalars(float(np.nanmean(w1))))
        overlap = float(np.mean(shown.contexts["in_overlap"][frame.rows]))
        recording.log(f"overlap/{root}", rerun.Scalars(overlap))
        advance(done, len(shown.frames))


def _labelled(rerun: Any, shown: ResultFrames, frame: ResultFrame) -> Any:
    contexts = shown.contexts
    colours = [
        w1_colour(float(contexts["w1"][row])) if contexts["in_overlap"][row] else OUTSIDE_COLOUR for row in frame.rows
    ]
    edges = np.stack([contexts[edge][frame.rows] for edge in ("x0", "y0", "x1", "y1")], axis=1)
    return _boxes(rerun, edges, colours, [context_text(shown, row) for row in frame.rows.tolist()])


def _predicted(rerun: Any, shown: ResultFrames, frame: ResultFrame) -> Any:
    contexts = shown.contexts
    rows = frame.rows[np.isfinite(contexts["predicted_x0"][frame.rows])]
    edges = np.stack([contexts[f"predicted_{edge}"][rows] for edge in ("x0", "y0", "x1", "y1")], axis=1)
    texts = [f"{shown.class_name(row)} {contexts['score'][row]:.2f}" for row in rows.tolist()]
    return _boxes(rerun, edges, [_PREDICTED] * len(rows), texts)


def _boxes(rerun: Any, edges: np.ndarray, colours: Iterable[tuple[int, int, int]], texts: list[str]) -> Any:
    return rerun.Boxes2D(
        array=edges.reshape(-1, 4),
        array_format=rerun.Box2DFormat.XYXY,
        colors=np.array(list(colours), np.uint8).reshape(-1, 3),
        labels=texts,
        show_labels=False,
    )


def context_text(shown: ResultFrames, row: int) -> str:
    """Write the numbers of a context.

    Returns:
        Class, performance, and W1 with the nearest context of the other set where it has these.
    """
    contexts = shown.contexts
    parts = [f"{shown.class_name(row)}: performance {contexts['performance'][row]:.2f}"]
    if np.isfinite(contexts["w1"][row]):
        batches = contexts["batch_a"][row], contexts["batch_b"][row]
        parts.append(f"W1 {contexts['w1'][row]:.3f} of {batches[0]:.0f} + {batches[1]:.0f}")
    match = contexts["match_row"][row]
    if np.isfinite(match):
        parts.append(f"nearest {shown.place(int(match))}, similarity {contexts['match_similarity'][row]:.2f}")
    if not contexts["in_overlap"][row]:
        parts.append("nothing similar in the other set")
    return ", ".join(parts)


def _is_no_report(_path: Path) -> bool:
    """A recording does not say who wrote it: none is replaced unless a person says so."""
    return False


def _layout(names: SetNames) -> Any:
    import rerun.blueprint as parts  # noqa: PLC0415 - an extra

    pictures = parts.Vertical(
        parts.Spatial2DView(origin="A/camera", name=f"{names.a}: boxes coloured by W1"),
        parts.Spatial2DView(origin="B/camera", name=names.b),
    )
    others = parts.Vertical(
        parts.TextDocumentView(origin="summary", name="verdicts"),
        parts.TimeSeriesView(origin="w1", name="mean W1 of the contexts of a frame of A"),
        parts.TimeSeriesView(origin="overlap", name="share of a frame's contexts that the other set shows"),
    )
    return parts.Blueprint(parts.Horizontal(pictures, others, column_shares=[3, 2]), collapse_panels=True)
