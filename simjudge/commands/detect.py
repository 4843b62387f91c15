"""`simjudge detect` and `simjudge train`: a detector run over a set or a recording, or trained on a set."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from simjudge.core.errors import Losses, UsageError
from simjudge.core.installed import DETECTOR, find_file
from simjudge.detectors.detector_settings import DetectSettings, TrainingSettings
from simjudge.terminal.common import Stopwatch, exit_if_lost, print_note, progress, takes_settings

if TYPE_CHECKING:
    from simjudge.core.frames import FrameSet
    from simjudge.data.clouds import CloudSet


@takes_settings
def detect(
    settings: DetectSettings,
    source: Path = typer.Argument(..., metavar="IN", help="A data set or recording with images or point clouds."),
    out: Path | None = typer.Option(
        None, "--out", help="Output: x.mcap, x.db3, x.json, or a folder (see --to). Optional for clouds."
    ),
    to: str | None = typer.Option(None, "--to", help="Format of a folder, such as yolo, coco or kitti."),
    min_score: float = typer.Option(
        0.05,
        min=0,
        max=1,
        help="Score below which detections are dropped. Keep it low: a comparison has its own threshold.",
    ),
    iou: float = typer.Option(
        0.7, min=0, max=1, help="IoU above which the weaker of two boxes of one class is dropped."
    ),
    imgsz: int | None = typer.Option(None, min=32, help="Input size, for models that leave it open \\[px]."),
    image_topic: str | None = typer.Option(None, help="Image topic or camera name, if the recording has several."),
    cloud_topic: str | None = typer.Option(None, help="Point cloud topic, if the recording has several."),
    batch: int = typer.Option(8, min=1),
    device: str = typer.Option("", help="Device for .pt models: cpu, 0, ..."),
) -> None:
    """Run a detector over images or point clouds and write the set with its predictions.

    Of a .pt file the weights are read; one that holds more is refused, since a .pt can run any code (--trust).
    Colour thresholds (.yaml) need no training; class ids in OUT are those of IN, matched by name.
    A net of the task segment-semantic writes predicted label pictures, which --to yolo holds.
    For clouds, --model lidar_cuboids finds ground, clusters and cuboids, also without training.
    """
    from simjudge.detectors.clouds.cuboid_settings import is_cloud_detector

    file = find_file(settings.model, DETECTOR)
    if is_cloud_detector(file):
        if settings.thinning:
            raise UsageError(f"--every, --rate: are of pictures, not of clouds ({settings.thinning})")
        _detect_cuboids(source, file, out, to, cloud_topic)
        return
    if out is None:
        raise UsageError("--out: say where to write the images' set with its predictions")
    from simjudge.detectors.semantic_net import is_semantic_net

    if is_semantic_net(file):
        _detect_pixels(source, file, out, to, batch, image_topic, settings)
        return
    from simjudge.detectors.detection import detect as run
    from simjudge.detectors.detection import load_detector

    detector = load_detector(
        settings.model, min_score=min_score, iou=iou, imgsz=imgsz, device=device, trust=settings.trust
    )
    watch = Stopwatch(progress)
    found = run(
        source,
        detector,
        out,
        to=to,
        batch=batch,
        rename=dict(settings.rename or ()),
        image_topic=image_topic,
        allow_outside=settings.allow_outside,
        thinning=settings.thinning,
        progress=watch,
        log=print_note,
    )
    _print_summary(found, detector.name, watch.seconds)
    exit_if_lost(found.losses)


def _detect_cuboids(source: Path, file: Path, out: Path | None, to: str | None, cloud_topic: str | None) -> None:
    from simjudge.detectors.clouds.cuboid_detection import detect_clouds

    watch = Stopwatch(progress)
    found = detect_clouds(source, file, out, to=to, cloud_topic=cloud_topic, progress=watch)
    _print_cuboids(found, file.stem, watch.seconds)
    exit_if_lost(found.losses)


def _detect_pixels(
    source: Path, file: Path, out: Path, to: str | None, batch: int, image_topic: str | None, settings: DetectSettings
) -> None:
    from simjudge.detectors.semantic_net import predict_semantic

    watch = Stopwatch(progress)
    found = predict_semantic(
        source,
        file,
        out,
        to=to,
        batch=batch,
        image_topic=image_topic,
        allow_outside=settings.allow_outside,
        thinning=settings.thinning,
        progress=watch,
    )
    losses = [found.losses]
    if found.semantic is not None:
        losses.append(_print_pixels(found, file.stem))
    pictures = 0 if found.predicted_semantic is None else sum(map(found.predicted_semantic.has, range(len(found))))
    pace = pictures / max(watch.seconds, 1e-9)
    Console(soft_wrap=True).print(f"{pictures} of {len(found)} pictures, {pace:.1f} a second", highlight=False)
    exit_if_lost(*losses)


def _print_pixels(frames: FrameSet, name: str) -> Losses:
    """The IoU of each class as a table; returns what could not be counted."""
    from simjudge.detectors.semantic_net import score_pixels

    losses = Losses()
    scores = score_pixels(frames, losses)
    table = Table(title=f"{name} on {frames.name}", title_justify="left")
    for column in ("class", "share of pixels", "IoU"):
        table.add_column(column, justify="left" if column == "class" else "right")
    for class_score in scores.classes:
        table.add_row(
            class_score.name, f"{class_score.share:.4f}", "-" if class_score.iou is None else f"{class_score.iou:.3f}"
        )
    console = Console(soft_wrap=True)
    console.print(table)
    console.print(f"pixel accuracy {scores.accuracy:.3f}, mean class IoU {scores.mean_iou:.3f}", highlight=False)
    return losses


def _print_cuboids(clouds: CloudSet, name: str, seconds: float) -> None:
    import numpy as np

    from simjudge.detectors.cuboid_iou import HIT, cuboid_hits

    found, predicted = clouds.predictions, clouds.predicted
    assert found is not None  # noqa: S101 - a detector has run
    assert predicted is not None  # noqa: S101
    console = Console(soft_wrap=True)
    if clouds.boxes is not None:
        table = Table(title=f"{name} on {clouds.name}", title_justify="left")
        for column in ("distance", "labelled", "found", "recall"):
            table.add_column(column, justify="right")
        *ranges, whole = cuboid_hits(clouds)
        for row in (*ranges, whole):
            recall = f"{row.found / row.labelled:.3f}" if row.labelled else "-"
            table.add_row("all" if row is whole else row.name, str(row.labelled), str(row.found), recall)
        console.print(table)
        console.print(f"found: bird's-eye IoU with a cuboid of at least {HIT:g}", highlight=False)
    number = int(np.count_nonzero(predicted))
    pace = number / max(seconds, 1e-9)
    sizes = np.median(found.size, 0) if len(found) else np.zeros(3)
    console.print(
        f"{len(found)} cuboids in {number} of {len(clouds)} clouds, median size "
        f"{sizes[0]:.2f} x {sizes[1]:.2f} x {sizes[2]:.2f} m, {pace:.1f} clouds a second",
        highlight=False,
    )


def _print_summary(frames: FrameSet, name: str, seconds: float) -> None:
    import numpy as np

    from simjudge.detectors.assignment import OVERALL, average_precision

    assert frames.predictions is not None  # noqa: S101 - a detector has run
    precision = average_precision(frames)
    both = frames.labelled & frames.predicted
    objects = frames.objects.class_id[both[frames.objects.frame]]
    table = Table(title=f"{name} on {frames.name}", title_justify="left")
    for column in ("class", "objects", "predictions", "mAP50", "mAP50-95"):
        table.add_column(column, justify="left" if column == "class" else "right")
    for class_id, (at50, mean) in precision.items():
        every = class_id == OVERALL
        table.add_row(
            "all" if every else frames.class_name(class_id),
            str(len(objects) if every else int(np.count_nonzero(objects == class_id))),
            str(len(frames.predictions) if every else int(np.count_nonzero(frames.predictions.class_id == class_id))),
            *("-" if value is None else f"{value:.3f}" for value in (at50, mean)),
            end_section=class_id != OVERALL and class_id == max(precision),
        )
    images = int(np.count_nonzero(frames.predicted))
    console = Console(soft_wrap=True)
    console.print(table)
    pace = images / max(seconds, 1e-9)
    console.print(f"{images} of {len(frames)} pictures, {pace:.1f} a second", highlight=False)


@takes_settings
def train(
    settings: TrainingSettings,
    data: Path = typer.Argument(..., help="A labelled data set or recording with images."),
    out: Path = typer.Option(..., "--out", help="Model to write (.onnx); its model card is written beside it."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing model or card."),
) -> None:
    """Train a detector or a semantic segmentation network and export its best weights to ONNX.

    All variants of one source photograph stay on one side of the split. Ctrl-C ends the training early and exports the
    best weights so far. Detectors are trained with ultralytics, which is AGPL-3.0; segment-semantic is LR-ASPP of
    torchvision, from random weights.
    """
    from simjudge.detectors.training import train as run

    trained = run(
        data,
        out,
        settings=settings,
        overwrite=overwrite,
        command=shlex.join(["simjudge", *sys.argv[1:]]),
        progress=progress,
        log=print_note,
    )
    sys.stdout.write(f"{out}: {trained.score}\n")
    exit_if_lost(trained.losses)
