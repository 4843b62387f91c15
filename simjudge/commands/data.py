"""Commands on data sets and recordings: info, convert, join, split, filter, recover, check."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape

from simjudge.core.errors import UsageError
from simjudge.core.processes import EXIT_FAILED
from simjudge.core.setting_groups import ReadSettings
from simjudge.core.settings import LONGEST_TIME
from simjudge.sim.sensors.filter_settings import FilterSettings
from simjudge.terminal.common import (
    exit_if_lost,
    print_note,
    print_table,
    progress,
    takes_finite_numbers,
    takes_settings,
)

if TYPE_CHECKING:
    from simjudge.core.frames import FrameSet
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
    `simjudge convert RECORDING OUT.mcap --labels FOLDER`.

    Without labels: --labels PREDICTED --from-predictions 0.5 takes what a stronger detector found.

    To label a recording of Gazebo, Isaac Sim, CARLA, Webots or Chrono::ROS by its own ground truth: --simulator NAME
    (`simjudge render --list` lists them).
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
def filter_images(
    settings: FilterSettings,
    source: Path = typer.Argument(..., metavar="IN", help="A data set or recording with images."),
    out: Path = typer.Argument(..., metavar="OUT", help="Output: x.mcap, x.db3, or a folder with --to."),
    to: str | None = typer.Option(None, "--to", help="Format of a folder, such as yolo or coco."),
) -> None:
    """Copy a set with camera filters applied to its images.

    The filters act in the order of the options below, whatever their order on the command line. --match-... SET and the
    like adapt the images to those of another set. --camera takes the filters of a camera (docs/guides/camera.md), not
    its lens: images that exist have been through one. Labels are kept, predictions are dropped. OUT.filter.json tells
    what was done.
    """
    from simjudge.sim.sensors.camera.filtering import filter_images as run

    seen = run(source, out, to=to, settings=settings, progress=progress, log=print_note)
    print_note(f"wrote {out}: {len(seen)} frames, {len(seen.objects)} objects")
    exit_if_lost(seen.losses)


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
    from simjudge.data.rosbag2.recovery import recover as run

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
        typer.echo(f"{check.name}: {check.headline}")
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
    from simjudge.core.display import SummaryTable, summary_line
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
