"""`simjudge sim calibrate sky` as a function: pictures tell cloud cover, sun and fog, which a scene's file then has."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import numpy as np
import yaml

from simjudge.core.arrays import BoolArray, FloatArray, ShortRepr, SummaryTable
from simjudge.core.errors import Losses, ProgressBar, SimjudgeError, UsageError, no_progress
from simjudge.core.files import atomic_file, begins_with, check_output, output_path
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage, as_rgb
from simjudge.core.installed import SCENE, find_file, need_module
from simjudge.core.settings import ALL_FRAMES, Thinning
from simjudge.core.text import JsonMapping
from simjudge.data.sets import as_frames, refuse_input_as_output
from simjudge.geometry.poses import Pose
from simjudge.objects.image_quality.colour_histograms import CHANNELS, count_colours, histogram_distance
from simjudge.questions.calibrate.sky_fit import (
    LEAST_PIXELS,
    SATURATED,
    ClearScene,
    SkyEstimate,
    SkyLight,
    estimate_sky,
    hsv_peaks,
    mean_of,
    peak_pixels,
)
from simjudge.sim.capture.camera_poses import (
    CameraPoses,
    StillPoses,
    camera_mount,
    carrying_vehicle,
    choose_camera_poses,
)
from simjudge.sim.capture.capture import Capture, exposure_at, scripted_bodies
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.lights import clear_sky, level_sun
from simjudge.sim.scene.read import read_scene
from simjudge.sim.scene.scene_changes import LightFactors
from simjudge.sim.scene.scene_fields import image_to_linear, read_content, to_srgb
from simjudge.sim.scene.scene_file import SkyFields, SunFields
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera

_OWN = "# Sky of "
"""How a file of this command begins."""
_SKY_BANDS, _GROUND_PARTS = 6, 8
_MOST_PICTURES = 24
"""Of the set, evenly chosen."""
_REFERENCES = 4
"""Pictures of the scene."""
PARTS = ("sky", "ground")
_CLEAR: JsonMapping = {"fog": None, "sky": {"cloud_cover": 0.0}}


@dataclass(frozen=True)
class PartColours:
    """Hue, saturation and value of the sky or the ground."""

    part: str
    channel: str
    recorded: float  # recorded, before, after: the peak, of the pictures, of the scene as it was and as it is written
    before: float
    after: float
    # Wasserstein distance W1 of the histogram from that of the pictures
    distance_before: float
    distance_after: float


@dataclass(frozen=True, eq=False, repr=False)
class CalibratedSky(ShortRepr):
    """What pictures told of the sky."""

    estimate: SkyEstimate
    path: Path
    changes: JsonMapping  # fields of the scene's file that were written
    colours: tuple[PartColours, ...]
    pictures: int
    losses: Losses

    @property
    def lines(self) -> list[str]:
        """What was found, a line each."""
        made = self.estimate
        rows = [f"{self.pictures} pictures"]
        if math.isfinite(made.error["cloud_cover"]):
            rows.append(f"cloud cover  {made.cloud_cover:.3f} ± {made.error['cloud_cover']:.2g}")
        for name in ("sun", "sky"):
            told = made.error[name]
            width = f" ± {told * getattr(made, name):.2g}" if math.isfinite(told) else ""
            rows.append(f"{name:12} {getattr(made, name):.3f}{width} times the scene's")
        if made.fog is None:
            rows.append("fog          none found")
        else:
            end = f", up to {made.fog.ceiling:g} m" if math.isfinite(made.fog.ceiling) else ""
            rows.append(f"fog          visibility {made.fog.visibility:.4g} m{end}")
        return [*rows, f"off          {made.off:.2f} levels of 255 (root mean square of the peaks)"]

    @property
    def table(self) -> SummaryTable:
        """The pictures beside the scene as it was and as it is written."""
        rows = []
        for row in self.colours:
            digits = 0 if row.channel == "hue" else 3
            numbers = (row.recorded, row.before, row.after, row.distance_before, row.distance_after)
            rows.append([row.part, row.channel, *(f"{number:.{digits}f}" for number in numbers)])
        columns = ("", "", "peak, pictures", "scene before", "scene after", "distance before", "after")
        return SummaryTable(columns, rows, text_columns=2)


def calibrate_sky(  # noqa: PLR0913 - the options of the command
    source: FrameSet | str | Path,
    out: str | Path,
    *,
    scene: str | Path,
    camera: str | Path | Camera = "plain_half",
    vehicle: str | Path | None = None,
    mount: str | None = None,
    poses: str | Path | None = None,
    seed: int = 0,
    overwrite: bool = False,
    allow_outside: bool = False,
    thinning: Thinning = ALL_FRAMES,
    progress: ProgressBar = no_progress,
) -> CalibratedSky:
    """Find cloud cover, sun and fog of outdoor pictures, and write a scene that has them.

    The scene is rendered without clouds and fog at a few poses. Where all of these pictures show sky, or ground, the
    peaks of the histograms of value are compared with those of the pictures (`simjudge.questions.calibrate.sky_fit`).

    Args:
        source: pictures of a camera that is mounted as the scene's car carries it, pixel values in sRGB.
        out: the scene's file to write, x.yaml; it extends `scene`.
        scene: a scene with sun and sky (a gradient or one colour).
        camera: of the pictures.
        vehicle, mount: as in `simjudge sim render`.
        poses: "path" or a file, as in `simjudge sim render`. Default: along the scene's course; without one, all around
            from the middle of its area.
        seed: of the scene.
        overwrite: replace a file that something else wrote.
        allow_outside: take pictures that lie outside of the folder of their data set.
        thinning: which frames are taken.
        progress: opens a progress bar.

    Raises:
        UsageError: the scene has no such sky, pictures have another shape than the camera's, or an option is wrong.
        SimjudgeError: the pictures cannot be read; no sky or no ground is in sight; a file is in the way.
    """
    path = output_path(Path(out))
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"--out {out}: a scene's file ends in .yaml")
    ours = begins_with(path, _OWN)
    check_output(path, lambda _: ours, overwrite=overwrite)
    refuse_input_as_output(out, source)
    seen_by = camera if isinstance(camera, Camera) else read_camera(camera)
    if seen_by.auto_exposure is not None:
        raise UsageError(f"--camera {seen_by.name}: exposes automatically; name one with a fixed exposure")
    need_module("mitsuba", "the sky is found by rendering the scene, with Mitsuba")
    base = _BaseScene(find_file(scene, SCENE), str(scene), seed)
    poses_of_scene = _poses(base, seen_by, vehicle, mount, poses)
    frames = as_frames(source, allow_outside=allow_outside, thinning=thinning)
    pictures, losses = _read_pictures(frames, seen_by.lens.size)
    with TemporaryDirectory() as folder, progress("rendering the scene") as advance:
        reference = _Reference.render(base, Path(folder), seen_by, poses_of_scene)
        advance(1, 3)
        estimate = estimate_sky(*reference.compare(base, pictures))
        changes = base.changes(estimate)
        before = _pictures_of(base.path, seen_by, poses_of_scene, seed)
        advance(2, 3)
        after = _pictures_of(base.written(Path(folder) / "after.yaml", changes), seen_by, poses_of_scene, seed)
        advance(3, 3)
    colours = _colours(reference, pictures, before, after)
    with atomic_file(path) as temporary:
        temporary.write_text(base.file(frames.name, estimate, changes, path.parent), encoding="utf-8")
    return CalibratedSky(estimate, path, changes, colours, len(pictures), losses)


@dataclass(frozen=True)
class _BaseScene:
    """The scene whose sky is looked for."""

    path: Path
    given: str  # file or name, as the user gave it
    seed: int

    def __post_init__(self) -> None:
        scene = read_scene(self.path, self.seed)
        if scene.sun is None or scene.sky is None:
            missing = "sun" if scene.sun is None else "sky"
            raise UsageError(f"--scene {self.given}: has no {missing}; a scene of outdoors is needed, such as krc")
        if scene.sky.gradient is None:
            raise UsageError(f"--scene {self.given}: its sky is a picture; one with a gradient or a colour is needed")

    @cached_property
    def content(self) -> JsonMapping:
        """What the file says, with what it extends."""
        return read_content(self.path, self.seed).content

    @cached_property
    def sun_fields(self) -> SunFields:
        """The sun as the file has it."""
        return SunFields.model_validate(self.content["sun"])

    @cached_property
    def sky_fields(self) -> SkyFields:
        """The sky as the file has it."""
        return SkyFields.model_validate(self.content["sky"])

    def written(self, path: Path, changes: JsonMapping) -> Path:
        """Write a file with some fields changed."""
        path.write_text(yaml.safe_dump({"extends": str(self.path.resolve()), **changes}), encoding="utf-8")
        return path

    def changes(self, estimate: SkyEstimate) -> JsonMapping:
        """The fields that give the scene the sky that was found."""
        irradiance, radiance = self.sun_fields.irradiance * estimate.sun, self.sky_fields.radiance * estimate.sky
        found: dict[str, object] = {
            "sun": {"irradiance": float(f"{irradiance:.4g}")},
            "sky": {"radiance": float(f"{radiance:.4g}"), "cloud_cover": round(estimate.cloud_cover, 3)},
        }
        own = self.content.get("fog")
        fog = estimate.fog
        if fog is None:
            return found | ({} if own is None else {"fog": None})
        brightest = max(fog.colour)
        colour = [round(float(value), 4) for value in to_srgb(np.array(fog.colour) / brightest)]
        fields: dict[str, object] = {
            "visibility": float(f"{fog.visibility:.4g}"),
            "radiance": float(f"{brightest:.4g}"),
            "colour": colour,
        }
        if math.isfinite(fog.ceiling):
            fields["ceiling"] = fog.ceiling
        left = {key: None for key in (own or {}) if key in ("density", "temperature", "ceiling") and key not in fields}
        return {**found, "fog": {**fields, **left}}

    def file(self, name: str, estimate: SkyEstimate, changes: JsonMapping, folder: Path) -> str:
        """The text of the scene's file."""
        shipped = self.given if not Path(self.given).exists() else os.path.relpath(self.path, folder)
        notes = "".join(f"# {note}\n" for note in estimate.notes)
        head = f"{_OWN}{name}, by the peaks of hue, saturation and value: simjudge sim calibrate sky.\n{notes}"
        return head + yaml.safe_dump({"extends": shipped, **changes}, sort_keys=False, default_flow_style=None)


def _poses(
    base: _BaseScene, camera: Camera, vehicle: str | Path | None, mount: str | None, poses: str | Path | None
) -> CameraPoses:
    scene = read_scene(base.path, base.seed)
    mounted = camera_mount(carrying_vehicle(vehicle, mount, scene), mount)[0]
    if str(poses) == "random":
        raise UsageError(
            "--poses random: tilts the camera, and where sky and ground are is not known; give path or a file"
        )
    if poses is not None or scene.course is not None:
        return choose_camera_poses(poses or "path", base.path, camera, _REFERENCES, base.seed, mounted)[0]
    x0, y0, x1, y1 = scene.area or (0.0, 0.0, 0.0, 0.0)
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    height = Ground.of(scene.things).height(x, y)
    yaws = np.arange(_REFERENCES) * 2 * math.pi / _REFERENCES
    cameras = tuple(Pose.from_euler(x, y, height, yaw=float(yaw)) @ mounted for yaw in yaws)
    return StillPoses(scene.name, cameras, camera.rate)


def _read_pictures(frames: FrameSet, size: tuple[int, int]) -> tuple[list[RgbImage], Losses]:
    """Pictures of a set, evenly chosen, at the camera's size."""
    if frames.images is None:
        raise SimjudgeError(f"{frames.name}: has no pictures")
    losses, pictures = Losses(), []
    losses.extend(frames.losses)
    there = [row for row in range(len(frames)) if frames.images.has(row)]
    for row in np.unique(np.linspace(0, len(there) - 1, min(len(there), _MOST_PICTURES)).round().astype(int)):
        try:
            pixels = as_rgb(frames.images.read(there[row]))
        except ImageError as error:
            losses.add("pictures that cannot be read", str(error))
            continue
        height, width = pixels.shape[:2]
        if abs(width * size[1] / (height * size[0]) - 1) > 1 / min(*size, width, height):
            raise UsageError(
                f"{frames.name}: pictures of {width}x{height}, and the camera makes {size[0]}x{size[1]}; give their"
                " --camera"
            )
        if (width, height) != size:
            pixels = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
        pictures.append(pixels)
    if not pictures:
        raise SimjudgeError(f"{frames.name}: no picture can be read; give pictures of outdoors")
    return pictures, losses


@dataclass(frozen=True, eq=False, repr=False)
class _Reference(ShortRepr):
    """The scene without clouds and fog, and which pixels are sky or ground in all its pictures."""

    pictures: list[RgbImage]
    light: list[FloatArray]  # (H, W, 3) each, linear, before the camera's filters
    by_sun: list[FloatArray]  # by_sun, by_zenith, by_horizon: its parts
    by_zenith: list[FloatArray]
    by_horizon: list[FloatArray]
    sky: BoolArray  # sky, ground: (H, W)
    ground: BoolArray
    sine: FloatArray  # (H, W), of the elevation
    distance: FloatArray  # (H, W), metres along the ray; the median of the pictures

    @classmethod
    def render(cls, base: _BaseScene, folder: Path, camera: Camera, poses: CameraPoses) -> _Reference:
        """Render the scene in all its light, without its sun, and by its horizon alone."""
        path = base.written(folder / "clear.yaml", _CLEAR)
        whole = _captured(path, camera, poses, base.seed, LightFactors())
        without = _captured(path, camera, poses, base.seed, LightFactors(sun=0.0))
        horizon = "#ffffff" if base.sky_fields.gradient is None else base.content["sky"]["gradient"]["horizon"]
        low = {**_CLEAR, "sky": {"cloud_cover": 0.0, "gradient": {"zenith": "#000000", "horizon": horizon}}}
        lowest = _captured(base.written(folder / "low.yaml", low), camera, poses, base.seed, LightFactors(sun=0.0))
        rays = camera.lens.rays()
        depth, up = np.stack([frame.depth for frame in whole]), np.stack([frame.up(rays) for frame in whole])
        made = cls(
            [frame.pixels for frame in whole],
            [frame.light for frame in whole],
            [a.light - b.light for a, b in zip(whole, without, strict=True)],
            [a.light - b.light for a, b in zip(without, lowest, strict=True)],
            [frame.light for frame in lowest],
            np.asarray((np.isinf(depth) & (up > 0)).all(axis=0)),
            np.asarray((np.isfinite(depth) & (up < 0)).all(axis=0)),
            np.median(up, axis=0),
            np.median(depth, axis=0) / np.maximum(np.abs(rays[..., 2]), 1e-9),
        )
        for part in PARTS:
            if getattr(made, part).sum() < LEAST_PIXELS:
                raise UsageError(
                    f"--scene {base.given}: its pictures show no {part} at the same places: give another --camera,"
                    " --mount or --poses"
                )
        return made

    def bands(self) -> list[BoolArray]:
        """Parts of the sky, the lowest first."""
        bands = min(_SKY_BANDS, int(self.sky.sum()) // LEAST_PIXELS)
        return _split(self.sky, self.sine, np.quantile(self.sine[self.sky], np.linspace(0, 1, bands + 1)))

    def parts(self) -> list[BoolArray]:
        """Parts of the ground, the nearest first."""
        nearest, farthest = np.quantile(self.distance[self.ground], [0, 1])
        return _split(self.ground, self.distance, np.geomspace(nearest, farthest, _GROUND_PARTS + 1))

    def compare(self, base: _BaseScene, pictures: Sequence[RgbImage]) -> tuple[ClearScene, SkyLight]:
        """What the scene's own pictures tell of the places, and the colours of the peaks of others there."""
        sky, sine = _peaks(self.bands(), pictures, [self.sine] * len(pictures))
        parts = self.parts()
        ground, distance = _peaks(parts, pictures, [self.distance] * len(pictures))
        gains = [_gains(*_peaks(masks, self.pictures, self.light)) for masks in (self.bands(), parts)]
        lights = [_peaks(parts, self.pictures, light)[1] for light in (self.by_sun, self.by_zenith, self.by_horizon)]
        clear = ClearScene(clear_sky(base.sky_fields), level_sun(base.sun_fields), sine, distance, *lights, *gains)
        return clear, SkyLight(sky, ground)


def _split(mask: BoolArray, values: FloatArray, edges: FloatArray) -> list[BoolArray]:
    """Parts of a mask by the values there; parts of few pixels are left out, and the mask is whole where all are."""
    parts = [mask & (values >= low) & (values < high) for low, high in pairwise([*edges[:-1], math.inf])]
    return [part for part in parts if part.sum() >= LEAST_PIXELS] or [mask]


def _gains(colours: FloatArray, light: FloatArray) -> FloatArray:
    """By what a camera multiplies light in each part; 1 where its picture is saturated or dark."""
    told = (to_srgb(colours) < SATURATED) & (light > 1e-3)
    return np.where(told, colours / np.where(told, light, 1.0), 1.0)


def _peaks(
    masks: list[BoolArray], pictures: Sequence[RgbImage], values: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """The linear colour of the peak of the pictures in each mask, and the mean of the values of the same pixels."""
    colours, means = [], []
    for mask in masks:
        pixels = np.concatenate([picture[mask] for picture in pictures])
        chosen = peak_pixels(pixels)
        colours.append(mean_of(np.asarray(image_to_linear(pixels), np.float64), chosen))
        means.append(mean_of(np.concatenate([value[mask] for value in values]), chosen))
    return np.array(colours), np.array(means)


@dataclass(frozen=True, eq=False, repr=False)
class _Captured(ShortRepr):
    pixels: RgbImage
    light: FloatArray  # (H, W, 3), linear, times the camera's gain
    depth: FloatArray  # (H, W), metres along the optical axis
    rotation: FloatArray  # (3, 3), of the optical frame

    def up(self, rays: FloatArray) -> FloatArray:
        """The sine of the elevation of each ray."""
        sine: FloatArray = rays @ self.rotation[2]
        return sine


def _captured(path: Path, camera: Camera, poses: CameraPoses, seed: int, light: LightFactors) -> list[_Captured]:
    plan = RenderPlan(path, camera, poses, seed=seed, light=light)
    with closing(PlacedScene(plan)) as placed:
        return [_captured_frame(plan, placed, row) for row in range(len(plan))]


def _captured_frame(plan: RenderPlan, placed: PlacedScene, row: int) -> _Captured:
    engine, camera, poses = placed.engine_for(row), plan.camera, plan.poses
    exposure = exposure_at(
        camera,
        poses.stamp[row],
        poses.frame_name[row],
        lambda stamps: poses.at(row, stamps, engine),
        scripted_bodies(engine.scene, poses.stamp[0]),
    )
    capture = Capture(engine, camera, plan.labelling, plan.mounted.noise_seed(plan.seed))
    raw = capture.observe(exposure)
    assert raw.light is not None  # noqa: S101 - an image is wanted
    linear, depth = np.asarray(raw.light, np.float64) * camera.gain, np.asarray(raw.labels.depth, np.float64)
    return _Captured(as_rgb(capture.finish(raw).pixels()), linear, depth, exposure.middle.camera.rotation_matrix())


def _pictures_of(path: Path, camera: Camera, poses: CameraPoses, seed: int) -> list[RgbImage]:
    return [frame.pixels for frame in _captured(path, camera, poses, seed, LightFactors())]


def _colours(
    reference: _Reference, pictures: list[RgbImage], before: list[RgbImage], after: list[RgbImage]
) -> tuple[PartColours, ...]:
    rows = []
    for part, mask in zip(PARTS, (reference.sky, reference.ground), strict=True):
        sides = [np.concatenate([p[mask] for p in side]) for side in (pictures, before, after)]
        peaks = [hsv_peaks(side) for side in sides]
        shares = [count_colours(side) for side in sides]
        shares = [counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) for counts in shares]
        for number, channel in enumerate(CHANNELS):
            away = [histogram_distance(shares[0][number], side[number], channel) for side in shares[1:]]
            rows.append(PartColours(part, channel, *(peak[number] for peak in peaks), *away))
    return tuple(rows)
