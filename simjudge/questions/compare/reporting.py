"""What `simjudge report` makes of comparisons: page and tables, a recording for rerun, a data set for FiftyOne."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import Advance, Log, Losses, ProgressBar, SimjudgeError, UsageError
from simjudge.core.files import check_output, output_path, put_in_place, temporary_name
from simjudge.core.installed import installed_file
from simjudge.page.kit import is_report
from simjudge.page.report_settings import DEFAULT_OUT, FIFTYONE, HTML, MCAP, RRD, Report, ReportSettings
from simjudge.questions.compare.fiftyone_data import write_fiftyone, write_fiftyone_fields
from simjudge.questions.compare.figures import save_figures
from simjudge.questions.compare.mcap_layer import write_mcap_layer
from simjudge.questions.compare.overall_words import verdicts_said
from simjudge.questions.compare.page import write_report
from simjudge.questions.compare.rerun_layer import write_rerun_layer
from simjudge.questions.compare.result_frames import (
    ResultFrame,
    ResultFrames,
    context_text,
    read_result_frames,
    summary_text,
)
from simjudge.questions.compare.tables import is_latex_table, is_number_table, write_csv, write_latex
from simjudge.questions.compare.words import SetNames
from simjudge.questions.watch import MISSING, OUTSIDE_COLOUR, is_installed, w1_colour
from simjudge.results.saved_result import RESULT, Result, load_result

TIMELINE = "frame"
"""Number of a frame in its set, from 0 on."""
_PREDICTED = (255, 255, 255)
_MEDIA = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png"}


def write_rrd(result: Result, out: Path, advance: Advance, *, overwrite: bool = False) -> Losses:
    """Write a result as a rerun recording."""
    if not is_installed():
        raise SimjudgeError(MISSING)
    import rerun  # noqa: PLC0415 - an extra

    shown, losses, out = read_result_frames(result), Losses(), output_path(out)
    check_output(out, _is_no_report, overwrite=overwrite)
    temporary = temporary_name(out)
    recording: Any = rerun.RecordingStream("simjudge")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch()
        recording.save(temporary, default_blueprint=_layout(shown.names))
        recording.log("summary", rerun.TextDocument(summary_text(result), media_type="text/markdown"), static=True)
        _log_frames(rerun, recording, shown, losses, advance)
        recording.flush()
        recording.disconnect()
        put_in_place(temporary, out)
    except OSError as error:
        raise SimjudgeError(f"{out}: cannot be written to: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return losses


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


_USED = ("to", "overwrite")
_OF_LAYER = ("onto", "side", "image_topic")
_LOOK = {
    RRD: "rerun {onto} {out}",
    MCAP: "open {onto} and {out} together in Foxglove or Lichtblick; the layout: {layout}",
    FIFTYONE: "python -c \"import fiftyone as fo; d = fo.Dataset.from_dir('{out}', "
    'dataset_type=fo.types.FiftyOneDataset); fo.launch_app(d).wait()"',
}
"""How to look at what was written."""
_LOOK_AT_FIELDS = "python -c \"import fiftyone as fo; fo.launch_app(fo.load_dataset('{onto}')).wait()\""


def _of_layer(settings: ReportSettings) -> tuple[str, ...]:
    """The settings that a layer of this format takes."""
    if settings.onto is None:
        return ()
    return ("onto",) if settings.to == FIFTYONE else _OF_LAYER


def export_report(
    folders: Sequence[Path], out: Path, settings: ReportSettings, log: Log, progress: ProgressBar
) -> Report:
    """Write a comparison as a recording of its own, as a layer over a person's recording, or as a data set."""
    if len(folders) != 1 or not (folders[0] / RESULT).is_file():
        raise UsageError(f"--to {settings.to}: needs one folder of a comparison of one A and one B")
    into_data = settings.to == FIFTYONE and settings.onto is not None
    if into_data and out != Path(DEFAULT_OUT[FIFTYONE]):
        raise UsageError(f"--out {out}: with --onto the fields are written into the data set {settings.onto} itself")
    used = (*_USED, *_of_layer(settings), *(("merged",) if settings.to == MCAP else ()))
    changed = [f.name for f in fields(settings) if f.name not in used and getattr(settings, f.name) != f.default]
    if changed and changed[0] in (*_OF_LAYER, "merged"):
        raise UsageError(f"--{changed[0].replace('_', '-')}: is for a layer over a recording (--onto RECORDING)")
    if changed:
        raise UsageError(f"--{changed[0].replace('_', '-')}: is for pages; --to {settings.to} has no use for it")
    if settings.to == MCAP and settings.onto is None:
        raise UsageError("--to mcap: writes topics beside a recording; say which with --onto RECORDING")
    result = load_result(folders[0])
    with progress("writing frames") as advance:
        losses = _export(result, out, settings, advance, log)
    layout = installed_file("config/foxglove/gap.json") if settings.to == MCAP else ""
    look = _LOOK_AT_FIELDS if into_data else _LOOK[settings.to]
    look = look.format(out=out, onto=settings.onto or "", layout=layout)
    log(f"to look at it: {' '.join(look.split())}")
    return Report(
        Path(settings.onto) if into_data and settings.onto else out,
        [": ".join(said) for said in verdicts_said(result)],
        losses,
    )


def _export(result: Result, out: Path, settings: ReportSettings, advance: Advance, log: Log) -> Losses:
    """Write it in the format that was asked for."""
    if settings.to == FIFTYONE and settings.onto is not None:
        return write_fiftyone_fields(result, settings.onto, advance)
    if settings.to == FIFTYONE:
        return write_fiftyone(result, out, advance)
    if settings.onto is None:
        return write_rrd(result, out, advance, overwrite=settings.overwrite)
    write_layer = write_rerun_layer if settings.to == RRD else write_mcap_layer
    return write_layer(result, out, settings, advance, log)


def report_comparisons(
    folders: Sequence[Path], out: Path, settings: ReportSettings, log: Log, progress: ProgressBar
) -> Report:
    """Write what was asked for of folders that `compare` or `sweep` wrote."""
    if settings.to != HTML:
        return export_report(folders, out, settings, log, progress)
    csv, latex, figures = settings.csv, settings.latex, settings.figures
    for path, is_own in ((out, is_report), (csv, is_number_table), (latex, is_latex_table)):
        if path is not None and check_output(path, is_own, overwrite=settings.overwrite):
            log(f"note: {path} is there already and will be replaced")
    if figures is not None and not settings.overwrite:
        check_output(figures)
    labels = dict(settings.label or ())
    results, losses = write_report(folders, out, settings.title, labels)
    if csv is not None:
        write_csv(csv, results)
        log(f"wrote {csv}")
    if latex is not None:
        write_latex(latex, results)
        log(f"wrote {latex}")
    if figures is not None:
        log(f"wrote {len(save_figures(results, figures))} files into {figures}")
    sentences = []
    for result in results:
        sentences += [": ".join((result.name, *said)) for said in verdicts_said(result)]
    return Report(out, sentences, losses)
