"""The command `filter`: camera filters on images, weather before recorded clouds."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.core.errors import UsageError
from simjudge.core.settings import declared
from simjudge.sim.sensors.filter_settings import CloudWeatherSettings, FilterCommandSettings, FilterSettings
from simjudge.terminal.common import exit_if_lost, print_note, progress, takes_settings


@takes_settings
def filter_images(
    settings: FilterCommandSettings,
    source: Path = typer.Argument(..., metavar="IN", help="A data set or recording with images, or with clouds."),
    out: Path = typer.Argument(..., metavar="OUT", help="Output: x.mcap, x.db3, or a folder with --to."),
    to: str | None = typer.Option(None, "--to", help="Format of a folder, such as yolo, coco or pcd."),
) -> None:
    """Copy a set with camera filters applied to its images, or with weather before its lidar.

    The filters act in the order of the options below, whatever their order on the command line. --match-... SET and the
    like adapt the images to those of another set. --camera takes the filters of a camera (docs/guides/camera.md), not
    its lens: images that exist have been through one. Labels are kept, predictions are dropped. OUT.filter.json tells
    what was done.

    --weather SENSORS puts fog, dust, rain or spray before recorded clouds: returns grow weaker, stray, get lost or give
    way to echoes of what is in the air. All else in a recording is kept.
    """
    images = FilterSettings(**{row.name: getattr(settings, row.name) for row in declared(FilterSettings)})
    clouds = CloudWeatherSettings(**{row.name: getattr(settings, row.name) for row in declared(CloudWeatherSettings)})
    if clouds.weather is not None:
        _weather_clouds(images, clouds, source, out, to)
        return
    if clouds != CloudWeatherSettings():
        raise UsageError("--lidar, --cloud-topic and --white are for recorded clouds: give --weather SENSORS")
    from simjudge.sim.sensors.camera.filtering import filter_images as run

    seen = run(source, out, to=to, settings=images, progress=progress, log=print_note)
    print_note(f"wrote {out}: {len(seen)} frames, {len(seen.objects)} objects")
    exit_if_lost(seen.losses)


def _weather_clouds(
    images: FilterSettings, clouds: CloudWeatherSettings, source: Path, out: Path, to: str | None
) -> None:
    from simjudge.sim.sensors.recorded_weather import weather_clouds as run

    if images != FilterSettings(seed=images.seed):
        raise UsageError("--weather is for clouds, the other filters are for images: run filter once for each")
    made = run(source, out, settings=clouds, to=to, seed=images.seed, progress=progress)
    print_note(f"weather of {made.lidar}: {made.counts.sentence()}")
    print_note(f"wrote {made.path}")
    exit_if_lost(made.losses)
