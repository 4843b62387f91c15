"""Commands on data sets and recordings (info, convert, join, split, recover, check) and on detectors."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape
from rich.table import Table

from simjudge.core.errors import Losses, UsageError
from simjudge.core.installed import DETECTOR, find_file
from simjudge.core.processes import EXIT_FAILED
from simjudge.core.settings import LONGEST_TIME, ReadSettings
from simjudge.data.depth_settings import FRAMES, DepthSettings
from simjudge.detectors.detector_settings import DetectSettings, TrainingSettings
from simjudge.terminal.common import (
    Console,
    Stopwatch,
    exit_if_lost,
    print_note,
    print_table,
    print_text,
    progress,
    takes_finite_numbers,
    takes_settings,
)

if TYPE_CHECKING:
    from simjudge.core.frames import FrameSet
    from simjudge.data.clouds import CloudSet

_READING, _TRUTH = "Reading files", "Ground truth of a simulator"


@takes_settings
def convert(
    settings: ReadSettings,
    source: Path = typer.Argument(..., metavar="IN", help="A data set or recording, in any format."),
    out: Path = typer.Argument(..., metavar="OUT", help="Output: x.mcap, x.db3, x.json, or a folder (see --to)."),
    to: str | None = typer.Option(None, "--to", help="Format of a folder, such as yolo, coco, pcd or kitti."),
    labels: Path | None = typer.Option(None, "--labels", help="Take the labels from this set, by frame name or stamp."),
    from_predictions: float | None = typer.Option(
        None,
        "--from-predictions",
        min=0,
        max=1,
        metavar="SCORE",
        help="Take predictions of this score or more (of --labels, else of IN) for labels: a stronger detector as "
        "teacher.",
    ),
    from_regions: list[str] = typer.Option(
        [],
        "--from-regions",
        metavar="CLASS",
        help="Take connected regions of this class in label images (of --labels, else of IN) for objects; repeatable.",
    ),
    label_tolerance: float = typer.Option(
        0.0,
        min=0,
        max=LONGEST_TIME,
        metavar="SECONDS",
        help="Largest time difference between an image and its labels.",
    ),
    image_topic: str | None = typer.Option(
        None, rich_help_panel=_READING, help="Image topic or camera name, if the recording has several."
    ),
    label_topic: str | None = typer.Option(
        None, rich_help_panel=_READING, help="Label topic, if the recording has several."
    ),
    detection_topic: str | None = typer.Option(
        None, rich_help_panel=_READING, help="Detection topic, if the recording has several."
    ),
    cloud_topic: str | None = typer.Option(
        None, rich_help_panel=_READING, help="Point cloud topic, if the recording has several."
    ),
    upside_down: bool = typer.Option(
        False, "--upside-down", help="Flip images and boxes upside down, for Chrono::ROS."
    ),
    crop: str | None = typer.Option(
        None, "--crop", metavar="WIDTHxHEIGHT+X+Y", help="Cut this rectangle of pixels out of every image."
    ),
    min_size: float | None = typer.Option(
        None,
        "--min-size",
        min=0,
        metavar="PX",
        help="Drop labels whose box is narrower or lower. Default: 0, or 5 with --simulator.",
    ),
    simulator: str | None = typer.Option(
        None,
        "--simulator",
        metavar="NAME|FILE",
        rich_help_panel=_TRUTH,
        help="Take the labels from the ground truth of this simulator.",
    ),
    classes: list[str] = typer.Option(
        [],
        "--class",
        metavar="NUMBER=NAME",
        rich_help_panel=_TRUTH,
        help="Map a number of the simulator to a class (NUMBER=CLASS); repeatable.",
    ),
    min_visible: float | None = typer.Option(
        None,
        "--min-visible",
        min=0,
        max=1,
        rich_help_panel=_TRUTH,
        help="With --simulator: drop objects with a smaller visible share (0.25).",
    ),
) -> None:
    """Convert a data set or a recording; nothing is lost on the way.

    To label a recording by hand: convert it to a folder (--to yolo or cvat), label there, then
    `simjudge data convert RECORDING OUT.mcap --labels FOLDER`.

    Without labels: --labels PREDICTED --from-predictions 0.5 takes what a stronger detector found.

    To label a recording of Gazebo, Isaac Sim, CARLA, Webots or Chrono::ROS by its own ground truth: --simulator NAME
    (`simjudge sim render --list` lists them).
    """
    from simjudge.data.clouds import CloudSet
    from simjudge.data.set_parts import convert as run
    from simjudge.data.sets import Topics

    if simulator is None and (classes or min_visible is not None):
        raise UsageError("--class and --min-visible are for the ground truth of a --simulator")
    named = image_topic or label_topic or detection_topic or cloud_topic
    topics = Topics(image_topic, label_topic, detection_topic, cloud_topic) if named else None
    given: Path | FrameSet = source
    if simulator is not None:
        from simjudge.sim.capture.simulators.labelling import label_recording

        given = label_recording(
            source,
            simulator,
            classes=classes,
            min_size=min_size,
            min_visible=min_visible,
            topics=topics,
            label_tolerance=label_tolerance,
            out=out,
        )
        topics = None
    frames = run(
        given,
        out,
        to=to,
        labels=labels,
        label_tolerance=label_tolerance,
        topics=topics,
        upside_down=upside_down,
        crop=crop,
        min_size=min_size or 0.0,
        allow_outside=settings.allow_outside,
        from_predictions=from_predictions,
        from_regions=from_regions,
        thinning=settings.thinning,
    )
    if isinstance(frames, CloudSet):
        boxes = "" if frames.boxes is None else f", {len(frames.boxes)} boxes"
        images = "" if frames.frames is None else f", {len(frames.frames)} images"
        print_note(f"{out}: {len(frames)} cloud{'s' if len(frames) != 1 else ''}{boxes}{images}")
        exit_if_lost(frames.losses)
        return
    predictions = "" if frames.predictions is None else f", {len(frames.predictions)} predictions"
    print_note(f"{out}: {len(frames)} frames, {len(frames.objects)} objects{predictions}")
    if frames.label_source:
        print_note(f"labels: {frames.label_source}; every result made from {out} says so")
    exit_if_lost(frames.losses)


@takes_settings
def join(
    settings: ReadSettings,
    sources: list[Path] = typer.Argument(..., metavar="IN", help="Data sets or recordings, in any format."),
    out: Path = typer.Argument(..., metavar="OUT", help="Output: x.mcap, x.db3, x.json, or a folder (see --to)."),
    to: str | None = typer.Option(None, "--to", help="Format of a folder, such as yolo or coco."),
) -> None:
    """Join several sets into one: the recordings of one site, or the splits of a data set.

    Classes are matched by name, or by id where no set names them. Predictions are kept; frames of one name in several
    sets are told apart by the name of their set.
    """
    from simjudge.data.set_parts import join as run

    whole = run(*sources, out=out, to=to, allow_outside=settings.allow_outside, thinning=settings.thinning)
    predictions = "" if whole.predictions is None else f", {len(whole.predictions)} predictions"
    print_note(f"{out}: {len(whole)} frames, {len(whole.objects)} objects{predictions}")
    exit_if_lost(whole.losses)


@takes_settings
def split(
    settings: ReadSettings,
    source: Path = typer.Argument(..., metavar="IN", help="A data set or recording."),
    out: Path = typer.Option(..., "--out", help="Folder to create; its parts are called 1, 2, ..."),
    parts: int = typer.Option(2, min=2, help="Number of parts."),
    seed: int = typer.Option(0, min=0, help="Random seed."),
    by_source: bool = typer.Option(
        True, "--by-source/--by-frame", help="Keep variants of one photograph together, by Roboflow's file names."
    ),
    contiguous: bool = typer.Option(
        False, "--contiguous", help="Split into contiguous stretches of a recording or numbered sequence."
    ),
    to: str = typer.Option(
        "yolo", "--to", help="Format of the parts: a folder, such as yolo or coco, or a file (json, mcap, db3)."
    ),
) -> None:
    """Split a set into equal parts, at random or in stretches, to compare it with itself."""
    from simjudge.data.set_parts import split as run

    dealt = run(
        source,
        parts,
        out,
        to=to,
        seed=seed,
        by_source=by_source,
        contiguous=contiguous,
        allow_outside=settings.allow_outside,
        thinning=settings.thinning,
    )
    for path, part in zip(dealt.paths, dealt, strict=True):
        sys.stdout.write(f"{path}: {len(part)} frames, {len(part.objects)} objects\n")
    frames = sum(len(part) for part in dealt)
    if dealt.groups < frames:
        print_note(f"{frames} frames are variants of {dealt.groups} photographs: kept together")
    exit_if_lost(dealt.losses)


def recover(
    source: Path = typer.Argument(
        ..., metavar="IN", help="Truncated or damaged recording, or the folder .recording.*.tmp of a killed command."
    ),
    out: Path | None = typer.Argument(
        None, metavar="OUT", help="Recording to write: x.mcap, x.db3 or a folder.", show_default="IN.recovered"
    ),
) -> None:
    """Recover the readable messages of a damaged recording into a new one; IN stays unchanged."""
    from simjudge.data.rosbag2.live_recording import recover as run

    found = run(source, out)
    for topic, count in sorted(found.messages.items()):
        sys.stdout.write(f"{topic}: {count}\n")
    print_note(f"wrote {found}; {source} is no longer needed where this is all of it")
    exit_if_lost(found.losses)


app = typer.Typer(help="Check recordings against their sensor type.", no_args_is_help=True)


@app.command("lidar")
@takes_finite_numbers
def lidar(
    source: Path = typer.Argument(
        ..., metavar="ANY", help="Point clouds: a recording, KITTI folder, PCD or .bin files, or Argoverse 2 sweep."
    ),
    topic: str | None = typer.Option(
        None, "--topic", help="Point cloud topic of a recording.", show_default="the only one"
    ),
    fields: str | None = typer.Option(
        None, "--fields", metavar="LIST", help="Columns of .bin files, float32 each: x, y, z, intensity, ring, time, _."
    ),
    most: int = typer.Option(50, "--most", min=1, help="Number of scans to check, from the first."),
) -> None:
    """Hold point clouds of any driver or simulator to what a spinning lidar is, and print a table of checks.

    The exit code is 1 where a check fails, and 0 where none does; checks that cannot be made do not count.
    """
    from simjudge.sim.sensors.lidar.contract import check_lidar

    columns = None if fields is None else [name.strip() for name in fields.split(",")]
    found = check_lidar(source, topic=topic, fields=columns, most=most)
    for check in found:
        print_text(f"{check.name}: {check.headline}")
        print_table(check.table)
    failed = [f"{check.name}: {', '.join(check.failed)}" for check in found if not check.passed]
    for line in failed:
        print_note(f"failed: {line}")
    if failed:
        raise typer.Exit(EXIT_FAILED)
    exit_if_lost(*(check.losses for check in found))


@takes_settings
def info(
    settings: ReadSettings,
    path: Path = typer.Argument(
        ..., metavar="ANY", help="A data set, recording, model or result folder; or the word engines."
    ),
    image_topic: str | None = typer.Option(None, help="Image topic or camera name, if the recording has several."),
) -> None:
    """Describe what a path holds; `info engines`: the simulator engines that can run here."""
    if str(path) == "engines" and not path.exists():
        _print_engines()
        return
    from simjudge.core.arrays import SummaryTable, summary_line
    from simjudge.questions.info import info as run

    found = run(path, image_topic=image_topic, allow_outside=settings.allow_outside, thinning=settings.thinning)
    out = Console(soft_wrap=True, highlight=False)
    out.print(f"[bold]{escape(found.summary.name)}[/bold]: {escape(found.summary.kind)}")
    for note in found.notes:
        print_note(note)
    for block in found.summary.blocks:
        if isinstance(block, SummaryTable):
            print_table(block)
        else:
            out.print(escape(summary_line(block)))
    exit_if_lost(found.losses)


def _print_engines() -> None:
    from simjudge.sim.engines.registry import engine_availability

    out = Console(soft_wrap=True, highlight=False)
    for engine in engine_availability():
        out.print(f"[bold]{escape(engine.name)}[/bold]: {'can run here' if engine.runs else 'cannot run here'}")
        for line in engine.lines:
            out.print(f"  {escape(line)}")


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


@takes_settings
def depth_errors(
    settings: DepthSettings,
    a: Path = typer.Argument(..., metavar="A", help="The real set or recording, with depth images."),
    b: Path = typer.Argument(..., metavar="B", help="The simulated one."),
    out: Path = typer.Option(..., "--out", help="Folder for the tables."),
) -> None:
    """Measure how far predicted depth images are from true ones, as tables for compare --performance."""
    from simjudge.data.depth_errors import depth_errors as run

    found = run(a, b, out, settings=settings, log=print_note)
    print_table(found.table)
    own = f"--performance {out / 'errors.csv'}:abs_rel:lower"
    more = f" --contexts frames --features {out / 'features.csv'} --theta 0.6" if settings.regions == FRAMES else ""
    print_note(f"compare them: simjudge compare {a} {b} {own}{more} --out result")
    exit_if_lost(found.losses)
