"""Weather put before the lidar of recorded clouds: `simjudge data filter IN OUT --weather SENSORS` as a function.

The weather, and what the lidar makes of weak echoes, stand in a sensor file. A recording keeps all other messages as
they are, byte for byte; a folder of clouds keeps what `simjudge data convert` keeps.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Losses, ProgressBar, SimjudgeError, UsageError, counted, no_progress
from simjudge.core.files import atomic_file, check_output_and_record, hash_files
from simjudge.core.installed import version
from simjudge.core.settings import takes_setting_keywords
from simjudge.data.clouds import INTENSITIES, Cloud, CloudSet, Table, lidar_points
from simjudge.data.rosbag2.cloud_writing import choose_cloud_topic, cloud_message, read_cloud
from simjudge.data.rosbag2.image_messages import UNREADABLE
from simjudge.data.rosbag2.interfaces import header_stamp, recorded_types
from simjudge.data.rosbag2.live_recording import copy_recording
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import STORAGE_SUFFIXES, StoredMessage, format_seconds
from simjudge.data.sets import Topics, find_format, read_clouds, refuse_input_as_output, write_clouds
from simjudge.sim.sensors.filter_settings import CloudWeatherSettings, filter_record_path
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarSpec
from simjudge.sim.sensors.lidar.lidar_weather import Device, weather_cloud
from simjudge.sim.sensors.sensor_file import read_sensors

UNREAD = "weather changes of clouds that cannot be read"
DARK = "returns whose intensity is not a number"
_RANGES = ("range", "distance")
"""Fields that hold a point's distance, in whatever unit."""


@dataclass
class WeatherCounts:
    """What became of the returns of recorded clouds."""

    clouds: int = 0
    returns: int = 0
    lost: int = 0
    of_air: int = 0  # echoes of fog, dust or spray in place of returns
    dark: int = 0  # lost, because their intensity is not a number; `lost` has them not

    def sentence(self) -> str:
        """Returns before, lost, and echoes of what is in the air."""
        share = 100 / max(self.returns, 1)
        all_lost = "; nothing is left: are coordinates in metres, and is --white the intensity of a white surface?"
        return (
            f"{counted(self.clouds, 'clouds')}, {counted(self.returns, 'returns')}: "
            f"{self.lost} lost ({self.lost * share:.1f} %), "
            f"{self.of_air} replaced by echoes of what is in the air ({self.of_air * share:.1f} %)"
            f"{all_lost if 0 < self.returns == self.lost else ''}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class WeatheredClouds(ShortRepr):
    """What `weather_clouds` wrote."""

    path: Path
    lidar: str  # the name of the sensor whose weather it is
    counts: WeatherCounts
    losses: Losses


@takes_setting_keywords
def weather_clouds(
    source: str | Path,
    out: str | Path,
    *,
    settings: CloudWeatherSettings,
    to: str | None = None,
    seed: int = 0,
    progress: ProgressBar = no_progress,
) -> WeatheredClouds:
    """Copy recorded clouds as they would have been in the weather of a sensor file.

    Beams without a return in the recording are not known: they bring no echo. Points must be in the lidar's frame at
    their own instants, as drivers publish them.

    Args:
        source: a recording, or a folder of clouds.
        out: x.mcap, x.db3, or a folder with `to`; OUT.filter.json beside it says what was done.
        settings: all settings at once; keywords change single ones.
        to: the format of a folder, such as pcd or kitti.
        seed: of range noise and patchiness; each cloud gets numbers of its own.
        progress: opens a progress bar.

    Returns:
        What was written.

    Raises:
        UsageError: the file has no such lidar or it has no weather; `out` is no kind of output.
        SimjudgeError: the clouds have no intensities, cannot be read, or `out` cannot be written.
    """
    source, out = Path(source), Path(out)
    refuse_input_as_output(out, source)
    if settings.weather is None:
        raise UsageError("--weather: give a sensor file with a lidar in fog, dust, rain or spray")
    spec = _chosen(settings.weather, settings.lidar)
    changer = _Weather(spec, settings.white, seed)
    check_output_and_record(out, filter_record_path)
    losses = Losses()
    form = find_format(source)
    with progress("weather") as advance:
        if form is not None and form.has_topics and to is None and out.suffix in (*STORAGE_SUFFIXES, ""):
            recording = Recording(source)
            topic = choose_cloud_topic(recording, settings.cloud_topic, "--cloud-topic")
            total = recording.counts[topic]

            def change(message: StoredMessage) -> bytes | memoryview | None:
                if message.topic != topic:
                    return message.data
                advance(changer.counts.clouds, total)
                return _changed(recording, changer, message, losses)

            copy_recording(recording, out, change, check=lambda: _check_any(source, changer, losses))
            losses.extend(recording.losses)
        else:
            topics = None if settings.cloud_topic is None else Topics(cloud_topic=settings.cloud_topic)
            clouds = read_clouds(source, topics)
            losses.extend(write_clouds(_changing(clouds, changer), out, to))
            losses.extend(clouds.losses)
    losses.add(DARK, str(source), changer.counts.dark)
    facts = {
        "version": version(),
        "source": {"path": str(source), "sha256": hash_files(source)},
        "sensors": {"path": str(settings.weather), "lidar": spec.name},
        "white": changer.white,
        "seed": seed,
        "clouds": changer.counts.clouds,
        "returns": changer.counts.returns,
        "lost": changer.counts.lost,
        "of_air": changer.counts.of_air,
        "losses": losses.lines(),
    }
    with atomic_file(filter_record_path(out)) as temporary:
        temporary.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return WeatheredClouds(out, spec.name, changer.counts, losses)


def _check_any(source: Path, changer: _Weather, losses: Losses) -> None:
    if not changer.counts.clouds:
        raise SimjudgeError(f"{source}: holds no cloud that can be read{losses.reason}")


def _chosen(sensors: str | Path, name: str | None) -> LidarSpec:
    lidars = [spec for spec in read_sensors(sensors) if isinstance(spec, LidarSpec)]
    wet = [spec for spec in lidars if spec.model().weather]
    if name is not None:
        wet = [spec for spec in lidars if spec.name == name]
        if not wet:
            held = ", ".join(spec.name for spec in lidars) or "none"
            raise UsageError(f"--lidar {name}: {sensors} has no such lidar; it has {held}")
    if len(wet) != 1:
        held = ", ".join(spec.name for spec in wet)
        why = (
            f"several lidars have weather in {sensors} ({held}): give one with --lidar" if wet else _no_weather(sensors)
        )
        raise UsageError(why)
    if not wet[0].model().weather:
        raise UsageError(_no_weather(sensors))
    return wet[0]


def _no_weather(sensors: str | Path) -> str:
    return f"{sensors}: its lidar has no weather; give it fog, dust, rain or spray, as in fog: {{visibility: 80}}"


class _Weather:
    """Puts the weather before clouds, one after the other."""

    def __init__(self, spec: LidarSpec, white: float | None, seed: int) -> None:
        self.lidar: Lidar = spec.model()
        self.white = self.lidar.intensity.scale if white is None else white
        self.device = Device(self.lidar.range, self.lidar.returns, self.lidar.threshold, self.lidar.intensity.falloff)
        self.counts, self._seed = WeatherCounts(), seed

    def changed(self, table: Table, height: int, where: str, number: int) -> Table:
        """A cloud in the weather; organized ones keep their rows and columns. `number`: of the cloud."""
        points = lidar_points(table, where)
        name = next((field for field in INTENSITIES if field in (table.dtype.names or ())), None)
        if points.intensity is None or name is None:
            raise UsageError(
                f"{where}: has no intensity ({', '.join(INTENSITIES)}); without it nobody knows which returns the"
                " weather loses"
            )
        if self.lidar.returns == "dual":
            raise UsageError("a lidar with returns: dual cannot be put before recorded clouds; take strongest")
        given = points.stored.astype(np.float64)
        with np.errstate(invalid="ignore"):
            power = np.maximum(np.nan_to_num(points.intensity.astype(np.float64)), 0.0) / self.white
        power /= self._reported(given)
        found = weather_cloud(given, power, self.lidar.weather, self.device, (self._seed, number))
        rows = np.flatnonzero(points.seen)
        kept = rows[found.row]
        out = table.copy()
        moved = ~(found.points == given[found.row]).all(1)
        for axis, field in enumerate("xyz"):
            out[field][kept[moved]] = found.points[moved, axis]
        out[name][kept] = _like(found.reflected * self._reported(found.points) * self.white, out[name].dtype)
        ratio = np.linalg.norm(found.points[moved], axis=1) / np.linalg.norm(given[found.row][moved], axis=1)
        for field in _RANGES:
            if field in (table.dtype.names or ()) and table[field].ndim == 1:
                out[field][kept[moved]] = _like(table[field][kept[moved]] * ratio, out[field].dtype)
        lost = np.setdiff1d(rows, kept)
        dark = int((~np.isfinite(table[name][lost])).sum())
        counts = self.counts
        counts.clouds, counts.returns = counts.clouds + 1, counts.returns + len(rows)
        counts.lost, counts.dark = counts.lost + len(lost) - dark, counts.dark + dark
        counts.of_air += int(found.of_air.sum())
        if height > 1:
            # As drivers mark beams without a return, so that every point stays in its row and column.
            for field in "xyz":
                out[field][lost] = np.nan if out[field].dtype.kind == "f" else 0
            for field in (name, *(field for field in _RANGES if field in (table.dtype.names or ()))):
                out[field][lost] = 0
            return out
        return np.delete(out, lost)

    def _reported(self, points: FloatArray) -> FloatArray | float:
        """What distance leaves of the intensity that is reported; 1 of calibrated devices."""
        about = self.lidar.intensity
        if about.calibrated or math.isinf(about.falloff):
            return 1.0
        return np.asarray(np.minimum((about.falloff / np.linalg.norm(points, axis=1)) ** 2, 1.0))


def _like(values: npt.NDArray[Any], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Numbers as a field holds them; whole ones rounded."""
    if kind.kind == "f":
        return values.astype(kind)
    limits = np.iinfo(kind)
    whole: npt.NDArray[Any] = np.clip(np.rint(values), limits.min, limits.max).astype(kind)
    return whole


def _changed(recording: Recording, changer: _Weather, message: StoredMessage, losses: Losses) -> bytes | memoryview:
    topic = recording.topics[message.topic]
    types = recorded_types(((topic.type, topic.definition),))
    try:
        cloud: Any = types.deserialize_cdr(message.data, topic.type)
    except UNREADABLE:
        losses.add(UNREAD, f"{recording.path}: {message.topic}")
        return message.data
    where = f"{recording.path}: {message.topic} at {format_seconds(header_stamp(cloud.header))}"
    try:
        table = read_cloud(cloud, where)
        height = max(int(cloud.height), 1)
        changed = changer.changed(table, height, where, changer.counts.clouds)
    except UsageError:
        raise
    except SimjudgeError as error:
        losses.add(UNREAD, str(error))
        return message.data
    made = cloud_message(lambda name: types.types[name], cloud.header, changed, height=height)
    return types.serialize_cdr(made, topic.type)


def _changing(clouds: CloudSet, changer: _Weather) -> CloudSet:
    def read(index: int) -> Cloud:
        cloud = clouds.read(index)
        return replace(cloud, table=changer.changed(cloud.table, cloud.height, cloud.where, index))

    return replace(clouds, read=read)
