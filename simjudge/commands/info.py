"""`simjudge info ANY`: what a path holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from simjudge.commands.common import finish, say
from simjudge.core.errors import Losses, SimjudgeError

if TYPE_CHECKING:
    from simjudge.core.frames import FrameSet

MODEL_SUFFIXES = (".onnx", ".pt")


def info(
    path: Path = typer.Argument(
        ..., metavar="ANY", help="A data set, recording, model or result folder; or the word engines."
    ),
) -> None:
    """Say what something is and what it holds; `info engines`: which engines of the simulator can run here."""
    from simjudge.data.sets import sniff_format

    if str(path) == "engines" and not path.exists():
        _print_engines()
        return
    if path.suffix.lower() in MODEL_SUFFIXES and path.is_file():
        _print_model(path)
        return
    if (path / "result.json").is_file() or path.name == "result.json":
        _print_result(path if path.is_file() else path / "result.json")
        return
    kind = sniff_format(path)
    if kind == "bag":
        _print_recording(path)
    elif kind in ("yolo-predictions", "coco-results"):
        _print_predictions(path, kind)
    else:
        _print_set(path, kind)


def _print_set(path: Path, kind: str) -> None:
    from simjudge.data.sets import read_set

    frames = read_set(path)
    out = Console(soft_wrap=True, highlight=False)
    out.print(f"[bold]{escape(str(path))}[/bold]: {kind}")
    _print_frames(out, frames)
    finish(frames.losses)


def _print_frames(out: Console, frames: FrameSet) -> None:
    import numpy as np

    pictures = sum(frames.images is not None and frames.images.has(i) for i in range(len(frames)))
    out.print(f"frames       {len(frames)}, {pictures} with a picture")
    out.print(f"labelled     {int(frames.labelled.sum())}, {int(frames.predicted.sum())} with a detector run on them")
    sizes, count = np.unique(frames.size, axis=0, return_counts=True)
    shown = ", ".join(f"{w}x{h} ({n})" for (w, h), n in zip(sizes.tolist()[:8], count.tolist(), strict=False))
    out.print(f"sizes        {shown}{', ...' if len(sizes) > 8 else ''}")
    out.print(f"stamps       {_span(frames)}")
    objects, predictions = frames.objects, frames.predictions
    masks = 0 if objects.masks is None else int((objects.masks.shape[:, 0] > 0).sum())
    things = len(np.unique(objects.instance[objects.instance >= 0]))
    out.print(f"objects      {len(objects)}, {masks} with a mask, {things} instances")
    if predictions is not None and len(predictions):
        low, high = predictions.score.min(), predictions.score.max()
        out.print(f"predictions  {len(predictions)}, scores {low:.3f} to {high:.3f}")
    out.print(_class_table(frames))


def _span(frames: FrameSet) -> str:
    from simjudge.core.frames import NO_STAMP

    known = frames.stamp[frames.stamp != NO_STAMP]
    if not len(known):
        return "none"
    seconds = (int(known.max()) - int(known.min())) / 1e9
    return f"{len(known)} frames, {int(known.min()) / 1e9:.3f} s to {int(known.max()) / 1e9:.3f} s ({seconds:.3f} s)"


def _class_table(frames: FrameSet) -> Table:
    import numpy as np

    table = Table()
    table.add_column("class")
    table.add_column("name")
    for column in ("objects", "frames with it", "predictions"):
        table.add_column(column, justify="right")
    objects, predictions = frames.objects, frames.predictions
    found = set(frames.class_names) | set(np.unique(objects.class_id).tolist())
    found |= set() if predictions is None else set(np.unique(predictions.class_id).tolist())
    for class_id in sorted(found):
        mine = objects.class_id == class_id
        theirs = "-" if predictions is None else str(int((predictions.class_id == class_id).sum()))
        name = escape(frames.class_names.get(class_id, ""))
        table.add_row(str(class_id), name, str(int(mine.sum())), str(len(np.unique(objects.frame[mine]))), theirs)
    return table


def _print_recording(path: Path) -> None:
    from simjudge.data.rosbag2 import describe_recording
    from simjudge.data.sets import read_set

    description = describe_recording(path)
    out = Console(soft_wrap=True, highlight=False)
    out.print(f"[bold]{escape(str(path))}[/bold]: recording, {description.duration / 1e9:.3f} s")
    for note in description.notes:
        say(note)
    table = Table()
    for column in ("topic", "type", "messages"):
        table.add_column(column, justify="right" if column == "messages" else "left", overflow="fold")
    for topic in description.topics:
        table.add_row(escape(topic.topic), escape(topic.type), str(topic.count))
    out.print(table)
    try:
        frames = read_set(path)
    except SimjudgeError as error:
        out.print(f"no frames: {escape(str(error))}")
        finish(description.losses)
        return
    _print_frames(out, frames)
    finish(frames.losses)


def _print_predictions(path: Path, kind: str) -> None:
    from simjudge.core.text import load_json
    from simjudge.data.formats.yolo.dataset import find_label_folder
    from simjudge.data.formats.yolo.labels import read_label_rows

    out = Console(soft_wrap=True, highlight=False)
    losses = Losses()
    if kind == "coco-results":
        rows = load_json(path)
        images, count = len({str(r.get("image_id")) for r in rows if isinstance(r, dict)}), len(rows)
    else:
        files = sorted((find_label_folder(path) or path).glob("*.txt"))
        images, count = len(files), len(read_label_rows(files, losses).file)
    out.print(f"[bold]{escape(str(path))}[/bold]: {kind}, {count} predictions for {images} pictures")
    finish(losses)


def _print_model(path: Path) -> None:
    from simjudge.perception.loading import load_detector

    detector: Any = load_detector(path)
    out = Console(soft_wrap=True, highlight=False)
    out.print(f"[bold]{escape(str(path))}[/bold]: detector, {path.stat().st_size / 1e6:.1f} MB")
    if hasattr(detector, "input_size"):
        out.print("input        " + " x ".join(map(str, detector.input_size)) + " pixels")
    names = ", ".join(f"{i} {name}" for i, name in sorted(detector.class_names.items()))
    out.print(f"classes      {escape(names) or 'not named in the model'}")


def _print_result(path: Path) -> None:
    from simjudge.core.text import load_json

    content = load_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("by_class"), dict):
        raise SimjudgeError(f"{path}: not a result of simjudge; run 'simjudge compare' again")
    out = Console(soft_wrap=True, highlight=False)
    out.print(f"[bold]{escape(str(path))}[/bold]: result of simjudge {escape(str(content.get('version', '?')))}")
    inputs = content.get("inputs", {})
    for side in ("a", "b"):
        held = inputs.get(side) or {}
        shown = f"{held.get('path')}, {held.get('frames')} frames, {held.get('objects')} objects"
        out.print(f"{side.upper()}            {escape(shown)}")
    table = Table()
    for column in ("class", "contexts A / B", "compared", "mean W1", "overlap A", "overlap B", "verdict"):
        table.add_column(column, justify="left" if column == "class" else "right")
    names = content.get("class_names", {})
    for key, entry in content["by_class"].items():
        figures = [_figure(entry.get(name)) for name in ("compared", "mean_w1", "overlap_a", "overlap_b", "verdict")]
        counts = f"{entry.get('n_a')} / {entry.get('n_b')}"
        table.add_row(escape(str(names.get(key, key))), counts, *figures)
    out.print(table)


def _print_engines() -> None:
    from simjudge.engines.availability import engines_here

    out = Console(soft_wrap=True, highlight=False)
    for engine in engines_here():
        out.print(f"[bold]{escape(engine.name)}[/bold]: {'can run here' if engine.runs else 'cannot run here'}")
        for line in engine.lines:
            out.print(f"  {escape(line)}")


def _figure(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else escape(str(value))
