"""`simjudge convert IN OUT`: any data set or recording into any other format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from simjudge.core.errors import UsageError
from simjudge.core.setting_groups import ReadSettings
from simjudge.core.settings import LONGEST_TIME
from simjudge.terminal.common import exit_if_lost, print_note
from simjudge.terminal.options import takes_settings

if TYPE_CHECKING:
    from simjudge.core.frames import FrameSet

_READING, _TRUTH = "Reading files", "Ground truth of a simulator"


@takes_settings
def convert(
    settings: ReadSettings,
    source: Path = typer.Argument(..., metavar="IN", help="A data set or recording, in any format."),
    out: Path = typer.Argument(..., metavar="OUT", help="x.mcap, x.db3, x.json, or a folder (see --to)."),
    to: str | None = typer.Option(None, "--to", help="Format of a folder, such as yolo, coco, pcd or kitti."),
    labels: Path | None = typer.Option(None, "--labels", help="Take the labels from this set, by frame name or stamp."),
    label_tolerance: float = typer.Option(
        0.0, min=0, max=LONGEST_TIME, metavar="SECONDS",
        help="How far the stamps of an image and its labels may lie apart."
    ),
    image_topic: str | None = typer.Option(
        None, rich_help_panel=_READING, help="In a recording of several cameras: a topic, or a name."
    ),
    label_topic: str | None = typer.Option(None, rich_help_panel=_READING, help="The labels, likewise."),
    detection_topic: str | None = typer.Option(None, rich_help_panel=_READING, help="The detections, likewise."),
    cloud_topic: str | None = typer.Option(None, rich_help_panel=_READING, help="The point clouds, likewise."),
    upside_down: bool = typer.Option(False, "--upside-down", help="Turn images and boxes over, for Chrono::ROS."),
    crop: str | None = typer.Option(
        None, "--crop", metavar="WIDTHxHEIGHT+X+Y", help="Cut this rectangle of pixels out of every image."
    ),
    min_size: float | None = typer.Option(
        None, "--min-size", min=0, metavar="PX",
        help="Leave out labels whose box is narrower or lower (0; with --simulator 5)."
    ),
    simulator: str | None = typer.Option(
        None, "--simulator", metavar="NAME|FILE",
        rich_help_panel=_TRUTH, help="Take the labels from the ground truth of this simulator."
    ),
    classes: list[str] = typer.Option(
        [], "--class", metavar="NUMBER=NAME",
        rich_help_panel=_TRUTH, help="What a number of the simulator means; several may be given."
    ),
    min_visible: float | None = typer.Option(
        None, "--min-visible", min=0, max=1, rich_help_panel=_TRUTH,
        help="With --simulator: leave out objects of which a smaller share can be seen (0.25)."
    ),
) -> None:
    """Convert a data set or a recording; nothing is lost on the way.

    To label a recording by hand: convert it to a folder (--to yolo or cvat), label there, then
    `simjudge convert RECORDING OUT.mcap --labels FOLDER`.

    To label a recording of Gazebo, Isaac Sim, CARLA, Webots or Chrono::ROS by its own ground truth: --simulator NAME
    (`simjudge render --list` lists them).
    """
    from simjudge.data.clouds.cloud_set import CloudSet
    from simjudge.data.conversion import convert as run
    from simjudge.data.sets import Topics

    if simulator is None and (classes or min_visible is not None):
        raise UsageError("--class and --min-visible are for the ground truth of a --simulator")
    named = image_topic or label_topic or detection_topic or cloud_topic
    topics = Topics(image_topic, label_topic, detection_topic, cloud_topic) if named else None
    given: Path | FrameSet = source
    if simulator is not None:
        from simjudge.sim.capture.simulators.labelling import label_recording

        given = label_recording(
            source, simulator, classes=classes, min_size=min_size, min_visible=min_visible, topics=topics,
            label_tolerance=label_tolerance, out=out,
        )
        topics = None
    frames = run(
        given, out, to=to, labels=labels, label_tolerance=label_tolerance, topics=topics, upside_down=upside_down,
        crop=crop, min_size=min_size or 0.0, allow_outside=settings.allow_outside,
    )
    if isinstance(frames, CloudSet):
        boxes = "" if frames.boxes is None else f", {len(frames.boxes)} boxes"
        images = "" if frames.frames is None else f", {len(frames.frames)} images"
        print_note(f"{out}: {len(frames)} cloud{'s' if len(frames) != 1 else ''}{boxes}{images}")
        exit_if_lost(frames.losses)
        return
    predictions = "" if frames.predictions is None else f", {len(frames.predictions)} predictions"
    print_note(f"{out}: {len(frames)} frames, {len(frames.objects)} objects{predictions}")
    exit_if_lost(frames.losses)

