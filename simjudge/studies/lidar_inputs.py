"""Reading the two sides of a comparison of lidars: clouds with cuboids become range images on one grid."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.data.clouds import CloudSet
from simjudge.data.format_support.format import Topics
from simjudge.data.sets import find_format, read_clouds
from simjudge.studies.compare_settings import MethodSettings
from simjudge.studies.inputs import IN_MEMORY, InputSet

if TYPE_CHECKING:
    from simjudge.detectors.range_images import RangeGrid

CloudSource: TypeAlias = "CloudSet | Path | str"


def read_lidar_inputs(
    a: FrameSet | CloudSource,
    b: FrameSet | CloudSource,
    settings: MethodSettings,
    *,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> tuple[InputSet, InputSet]:
    """Read both sets of clouds as range images; the settings' model runs on both."""
    from simjudge.detectors.assignment import with_object_classes  # noqa: PLC0415 - slow to import
    from simjudge.detectors.range_image_sets import scan_frames  # noqa: PLC0415

    _refuse_settings_of_pictures(settings)
    topics = (settings.a_cloud_topic, settings.b_cloud_topic)
    read = [_read(source, topic) for source, topic in zip((a, b), topics, strict=True)]
    clouds = [_detected(each, settings, progress) for _, each, _ in read]
    grid = _grid(clouds[0], settings)
    log(f"range images: {grid.describe()}")
    if settings.method.patch[1] > grid.columns:
        raise UsageError(f"patch {settings.method.patch[1]} columns wide: the turn has {grid.columns}")
    sides = []
    renames = ((settings.a_rename, "--a-rename"), (settings.b_rename, "--b-rename"))
    for (path, _, form), each, (pairs, option) in zip(read, clouds, renames, strict=True):
        with progress("painting range images") as advance:
            made = scan_frames(each, grid, settings.paint, advance=advance)
        for note in made.notes:
            log(f"note: {note}")
        frames = made.frames
        if made.classless:
            log(f"note: {each.name}: the detector knows no classes; what it finds is assigned to objects of any class")
            frames = with_object_classes(frames, settings.method.min_score, settings.cuboid_iou)
        sides.append(InputSet(path, None, frames, form, grid.content()).with_classes_renamed(pairs, option))
    return sides[0], sides[1]


def _refuse_settings_of_pictures(settings: MethodSettings) -> None:
    given = {
        "--a-predictions": settings.a_predictions,
        "--b-predictions": settings.b_predictions,
        "--a-image-topic": settings.a_image_topic,
        "--b-image-topic": settings.b_image_topic,
    }
    for flag, value in given.items():
        if value is not None:
            raise UsageError(
                f"{flag}: is of pictures; clouds carry their predictions (simjudge detect), or give --model"
            )


def _read(source: FrameSet | CloudSource, topic: str | None) -> tuple[Path | None, CloudSet, str]:
    if isinstance(source, FrameSet):
        raise UsageError(f"{source.name}: is a set of pictures; --sensor lidar takes clouds")
    if isinstance(source, CloudSet):
        return None, source, IN_MEMORY
    path = Path(source)
    clouds = read_clouds(path, None if topic is None else Topics(cloud_topic=topic))
    form = find_format(path)
    return path, clouds, "" if form is None else form.name


def _detected(clouds: CloudSet, settings: MethodSettings, progress: ProgressBar) -> CloudSet:
    if settings.model is None:
        if clouds.predictions is None:
            raise SimjudgeError(
                f"{clouds.name}: holds no predictions; run a detector (simjudge detect, or --model lidar_cuboids)"
            )
        return clouds
    if settings.model.suffix not in {"", ".yaml", ".yml"}:
        raise UsageError(
            f"--model {settings.model}: detectors of cuboids are lidar_cuboids, or a .yaml file that says how"
        )
    from simjudge.detectors.clouds.cuboid_detection import detect_clouds  # noqa: PLC0415 - slow to import

    return detect_clouds(clouds, settings.model, progress=progress)


def _grid(a: CloudSet, settings: MethodSettings) -> RangeGrid:
    from simjudge.detectors.range_images import even_grid, measure_grid  # noqa: PLC0415 - slow to import

    if settings.elevations is None:
        return measure_grid(a, settings.range_columns)
    low, high, rows = settings.elevations
    return even_grid(math.radians(low), math.radians(high), rows, settings.range_columns)
