"""A data set as another camera would have seen it: images filtered or bent by a lens, labels kept.

What a pinhole camera made is looked up again through another lens. The corners of the image stay where they are, so
that no pixel is empty; towards the middle the lens's own distortion shows. Label pictures take the nearest pixel.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Advance, Log, Losses, ProgressBar, UsageError, no_log, no_progress
from simjudge.core.files import atomic_file, check_output_and_record, hash_files
from simjudge.core.frames import FrameSet, LabelPicture, LabelPictures
from simjudge.core.images import EncodedImage, ImageError, Images, RgbImage
from simjudge.core.installed import version
from simjudge.core.object_tables import Objects
from simjudge.core.settings import declared, takes_setting_keywords
from simjudge.data.sets import as_frames, read_set, refuse_input_as_output, write_where_asked
from simjudge.sim.sensors.camera.adaptation import (
    CHANNEL_MEANS,
    CHANNELS,
    COLOUR_TRANSFER,
    EXPOSURE,
    Adaptation,
    ReferencePictures,
    fourier,
    window_reach,
    with_images_of,
    with_twins,
)
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import FrameStep, Step, apply_steps, filtered
from simjudge.sim.sensors.camera.picture_distances import PictureDistances, before_exposure, depth_files
from simjudge.sim.sensors.filter_settings import FilterSettings, filter_record_path

_EDGE_POINTS = 9  # Points along each edge of a box that are followed


@dataclass(frozen=True, repr=False)
class Bend(ShortRepr):
    """Where each pixel of a bent image looks in the straight one."""

    camera: Camera
    scale: float  # pixels of the straight image per unit of tangent
    look_up: npt.NDArray[np.float32]  # float32 (H, W, 2), column and row in the straight image

    @classmethod
    def of(cls, camera: Camera) -> Bend:
        """The bend of a camera's lens (camera of any lens that sees less than 180 degrees)."""
        lens = camera.lens
        if lens.model == "pinhole" or lens.omnidirectional:
            raise UsageError(f"--lens {camera.name}: its {lens.model} lens bends no image; give a radial one, say")
        width, height = lens.size
        rays = lens.rays()
        if not (rays[..., 2] > 0).all():
            raise UsageError(f"--lens {camera.name}: its field is too wide for images of a pinhole")
        tangent = rays[..., :2] / rays[..., 2:]
        half = np.array([(width - 1) / 2, (height - 1) / 2])
        scale = float(np.min(half / np.abs(tangent).max((0, 1))))
        return cls(camera, scale, (tangent * scale + half).astype(np.float32))

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of images, pixels."""
        return self.camera.lens.size

    def bent_points(self, points: FloatArray) -> FloatArray:
        """Where points of the straight image are in the bent one: (N, 2), likewise (points (N, 2))."""
        half = (np.array(self.size) - 1) / 2
        tangent = (points - half) / self.scale
        return self.camera.lens.project(np.column_stack([tangent, np.ones(len(tangent))]))

    def bent_boxes(self, box: FloatArray) -> FloatArray:
        """The extents of boxes after bending (box (N, 4), x0, y0, x1, y1 in pixels)."""
        share = np.linspace(0, 1, _EDGE_POINTS)
        x = box[:, [0]] + (box[:, [2]] - box[:, [0]]) * share
        y = box[:, [1]] + (box[:, [3]] - box[:, [1]]) * share
        ends = [(x, box[:, [1]]), (x, box[:, [3]]), (box[:, [0]], y), (box[:, [2]], y)]
        edges = np.concatenate([np.stack(np.broadcast_arrays(*end), -1) for end in ends], 1)
        moved = self.bent_points(edges.reshape(-1, 2) - 0.5).reshape(len(box), 4 * _EDGE_POINTS, 2) + 0.5
        return np.concatenate([moved.min(1), moved.max(1)], 1)


def bent(frames: FrameSet, bend: Bend) -> FrameSet:
    """A set as its images look behind a lens; images are bent when they are read."""
    if (frames.size != np.array(bend.size)).any():
        width, height = bend.size
        which = f"--lens {bend.camera.name}: is of {width}x{height} pixels"
        raise UsageError(f"{which}, {frames.name} is not; write a camera of that size")
    if frames.objects.masks is not None and frames.objects.masks.shape.any():
        raise UsageError(f"--lens: {frames.name} has instance masks, which are not bent; label pictures and boxes are")
    semantic = None if frames.semantic is None else BentLabels(frames.semantic, bend)
    images = None if frames.images is None else BentImages(frames.images, bend)
    objects, ignored = (_bent_objects(table, bend) for table in (frames.objects, frames.ignored))
    return replace(frames, objects=objects, ignored=ignored, images=images, semantic=semantic)


def _bent_objects(table: Objects, bend: Bend) -> Objects:
    """Boxes behind the lens; those that end up beside the image go."""
    objects = replace(table, box=bend.bent_boxes(table.box))
    width, height = bend.size
    x0, y0, x1, y1 = objects.box.T
    return objects.take(np.flatnonzero((x1 > 0) & (y1 > 0) & (x0 < width) & (y0 < height)))


@dataclass(frozen=True)
class BentImages:
    """Images behind a lens."""

    source: Images
    bend: Bend

    def __len__(self) -> int:
        return len(self.source)

    def has(self, index: int) -> bool:
        """Tell whether a frame has an image: see `Images.has`."""
        return self.source.has(index)

    def read(self, index: int) -> RgbImage:
        """Read an image and bend it: see `Images.read`."""
        pixels = self.source.read(index)
        if pixels.shape[1::-1] != self.bend.size:
            raise ImageError(f"frame {index}: is {pixels.shape[1]}x{pixels.shape[0]}, the lens another size")
        look_up = self.bend.look_up
        bent_pixels = cv2.remap(
            pixels, look_up[..., 0], look_up[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        )
        return np.asarray(bent_pixels, np.uint8)

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Give nothing: the pixels are changed. See `Images.read_encoded`."""
        del index
        return None


@dataclass(frozen=True)
class BentLabels:
    """Label pictures behind a lens."""

    source: LabelPictures
    bend: Bend

    def __len__(self) -> int:
        return len(self.source)

    def has(self, index: int) -> bool:
        """Tell whether a frame has one: see `LabelPictures.has`."""
        return self.source.has(index)

    def read(self, index: int) -> LabelPicture:
        """Read one and bend it, each pixel taking the nearest class: see `LabelPictures.read`."""
        labels = self.source.read(index)
        column, row = np.rint(self.bend.look_up).astype(np.int64).transpose(2, 0, 1)
        height, width = labels.shape
        return np.asarray(labels[np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)], np.uint8)


_NO_FILTERS = (
    "allow_outside",
    "every",
    "rate",
    "match_by",
    "fourier_share",
    "distance",
    "depth",
    "seed",
)  # Settings that alone ask for nothing


@takes_setting_keywords
def filter_images(
    source: FrameSet | str | Path,
    out: str | Path | None = None,
    *,
    settings: FilterSettings,
    to: str | None = None,
    progress: ProgressBar = no_progress,
    log: Log = no_log,
) -> FrameSet:
    """Copy a data set with its images seen through camera filters, or adapted to those of a reference.

    The filters act in the order of the keywords. Labels are kept, predictions are dropped.

    Args:
        source: a data set with images, or the path of one.
        out: where to write the copy, with OUT.filter.json beside it that says what was done. None writes nothing: the
            images are then filtered when they are read.
        settings: all settings at once; keywords change single ones. The lens of a `camera` is not applied, because the
            images have been through one.
        to: the format of a folder at `out`, such as yolo or coco.
        progress: opens a progress bar.
        log: receives what a person should know about the camera.

    Returns:
        The filtered set. Frames with a damaged image or without a twin are left out, and `losses` counts them.

    Raises:
        UsageError: no filter is given, both a camera and filters are, or a filter refuses its value.
        SimjudgeError: the source, the camera or a reference cannot be read, no image is readable, or `out` cannot be
            written.
    """
    described = _described_camera(settings, log)
    _check(settings, described)
    refuse_input_as_output(out, source, *settings.references.values())
    if out is not None:
        check_output_and_record(Path(out), filter_record_path)
    frames = as_frames(source, allow_outside=settings.allow_outside, thinning=settings.thinning)
    frames = _with_images(frames, settings)
    if settings.lens is not None:
        frames = bent(frames, Bend.of(read_camera(settings.lens)))
    readable, losses = _readable(frames, progress)
    chosen, steps = _steps(readable, settings, described, losses, progress)
    seen = replace(filtered(chosen, steps, settings.seed), losses=losses)
    if out is None:
        return seen
    with progress("filtering") as advance:
        written = write_where_asked(
            seen if seen.images is None else replace(seen, images=_WatchedImages(seen.images, advance)), out, to
        )
    facts = _provenance(source, frames, steps, settings, described)
    _write_provenance(Path(out), {**facts, "losses": losses.lines()})
    return replace(written, images=seen.images)


def _fixed_steps(settings: FilterSettings) -> dict[str, Step]:
    balance = settings.white_balance
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "blur": ("gaussian_blur", {"sigma": settings.blur}),
        "vignetting": ("vignetting", {"half_angle": settings.vignetting}),
        "noise": ("gaussian_noise", {"sigma": settings.noise}),
        "bayer": ("bayer", {"pattern": settings.bayer}),
        "white_balance": ("white_balance", dict(zip(("red", "green", "blue"), balance or (None,), strict=False))),
        "gamma": ("gamma", {"exponent": settings.gamma}),
        "jpeg": ("jpeg", {"quality": settings.jpeg}),
    }
    steps = {key: Step(name, given) for key, (name, given) in asked.items() if None not in given.values()}
    return {**steps, "gray_world": Step("gray_world")} if settings.gray_world else steps


def _check(settings: FilterSettings, camera: Camera | None) -> None:
    """Refuse what makes no sense before anything is read; filters are tried on four pixels."""
    fixed, references = _fixed_steps(settings), settings.references
    if camera is not None and (fixed or references):
        raise UsageError("--camera brings its own filters: leave out --blur, --noise and the like, or write them there")
    if settings.match_by != "set" and not references:
        raise UsageError(f"--match-by {settings.match_by}: nothing is to be matched; give --match-exposure SET, say")
    if settings.distance is not None and settings.depth is not None:
        raise UsageError("--distance and --depth: give one of them")
    if settings.distance is not None and not 0 < settings.distance < math.inf:
        raise UsageError(f"--distance {settings.distance:g}: metres above 0 are needed")
    far = settings.distance is not None or settings.depth is not None
    if far and (camera is None or not camera.before_exposure):
        raise UsageError("--distance and --depth are for a --camera that has filters in before_exposure")
    geometry = (settings.images, settings.lens)
    if camera is None and not fixed and not references and geometry == (None, None):
        flags = [row.flag for row in declared(FilterSettings) if row.name not in _NO_FILTERS]
        raise UsageError(f"no filter given: at least one of {' '.join(flags)}")
    fourier(settings.fourier_share, 0)
    apply_steps(np.zeros((2, 2, 3), np.uint8), list(fixed.values()))


def _with_images(frames: FrameSet, settings: FilterSettings) -> FrameSet:
    """The set with pictures that another program made of its own, where such are given."""
    if settings.images is None:
        return frames
    return with_images_of(frames, read_set(settings.images, allow_outside=settings.allow_outside))


def _steps(
    frames: FrameSet, settings: FilterSettings, camera: Camera | None, losses: Losses, progress: ProgressBar
) -> tuple[FrameSet, list[Step | FrameStep]]:
    if camera is not None:
        return frames, [*_before_exposure(frames, settings, camera), *camera.steps]
    sets = {path: read_set(path, allow_outside=settings.allow_outside) for path in settings.references.values()}
    rows: dict[Path, IntArray] = {}
    for path, reference in sets.items():
        if settings.match_by == "twin":
            frames, rows[path], kept = with_twins(frames, reference, losses)
            rows = {row: found if row == path else found[kept] for row, found in rows.items()}
    found: dict[str, Step | FrameStep] = dict(_fixed_steps(settings))
    for key, path in settings.references.items():
        pictures = ReferencePictures.of_set(sets[path])
        if settings.match_by == "random":
            rows[path] = pictures.draw(frames.frame_name, settings.seed)
        found[key] = pictures.step(_adaptation(key, frames, settings), rows.get(path), progress)
    return frames, [found[row.name] for row in declared(FilterSettings) if row.name in found]


def _before_exposure(frames: FrameSet, settings: FilterSettings, camera: Camera) -> list[Step | FrameStep]:
    """What the camera does to light before the exposure, where it is said how far away things are."""
    if settings.distance is None and settings.depth is None:
        return []
    files = () if settings.depth is None else depth_files(settings.depth, frames.frame_name)
    distances = PictureDistances(camera.lens, settings.distance, files)
    return [before_exposure(camera, distances, frames.frame_name, settings.seed)]


def _adaptation(key: str, frames: FrameSet, settings: FilterSettings) -> Adaptation:
    if key == "fourier_adaptation":
        highest = max(window_reach(tuple(size), settings.fourier_share) for size in frames.size.tolist())
        return fourier(settings.fourier_share, highest)
    return {
        "match_colours": CHANNEL_MEANS,
        "match_exposure": EXPOSURE,
        "match_channels": CHANNELS,
        "colour_transfer": COLOUR_TRANSFER,
    }[key]


def _described_camera(settings: FilterSettings, log: Log) -> Camera | None:
    if settings.camera is None:
        return None
    camera = read_camera(settings.camera)
    far = settings.distance is not None or settings.depth is not None
    if not camera.steps and not (far and camera.before_exposure):
        raise UsageError(f"camera {camera.name} has no filters ({camera.path}): its pictures would be a mere copy")
    left_out = ["within"] if camera.within_exposure else []
    left_out = ["before", *left_out] if camera.before_exposure and not far else left_out
    if left_out:
        where = " and ".join(left_out)
        log(f"filters of camera {camera.name} {where} the exposure are not applied: these images are exposed")
    if camera.lens.model != "pinhole":
        log(f"the {camera.lens.model} lens of camera {camera.name} is not applied, only its filters are")
    return camera


def _readable(frames: FrameSet, progress: ProgressBar) -> tuple[FrameSet, Losses]:
    """The set without the frames whose image is damaged, and the losses with these counted."""
    losses = Losses()
    losses.extend(frames.losses)
    if frames.images is None:
        raise UsageError(f"{frames.name}: has no pictures to filter")
    kept = np.ones(len(frames), np.bool_)
    with progress("checking pictures") as advance:
        for index in range(len(frames)):
            advance(index, len(frames))
            try:
                if frames.images.has(index):
                    frames.images.read(index)
            except ImageError as error:
                kept[index] = False
                losses.add("frames whose picture is damaged", str(error))
    if not kept.any():
        raise ImageError(f"{frames.name}: no picture can be read ({losses.lines()[-1]})")
    return frames.take(kept), losses


def _provenance(
    source: FrameSet | str | Path,
    frames: FrameSet,
    steps: list[Step | FrameStep],
    settings: FilterSettings,
    camera: Camera | None,
) -> dict[str, object]:
    used = {"name": camera.name, "path": str(camera.path), "sha256": hash_files(camera.path)} if camera else None
    path = None if isinstance(source, FrameSet) else Path(source)
    origin = {"name": frames.name} if path is None else _named(path)
    facts: dict[str, object] = {
        "version": version(),
        "source": {**origin, "frames": len(frames)},
        "camera": used,
        "filters": [
            {"name": step.name, "parameters": dict(step.parameters) if isinstance(step, Step) else {}} for step in steps
        ],
        "distance": settings.distance,
        "depth": None if settings.depth is None else str(settings.depth),
        "seed": settings.seed,
    }
    if settings.images is not None:
        facts["images"] = _named(settings.images)
    if settings.lens is not None:
        facts["lens"] = {"name": settings.lens.stem} | _named(read_camera(settings.lens).path)
    if settings.references:
        facts["references"] = {name: _named(reference) for name, reference in settings.references.items()}
        facts["match_by"] = settings.match_by
    if settings.fourier_adaptation is not None:
        facts["fourier_share"] = settings.fourier_share
    return facts


def _named(path: Path) -> dict[str, str]:
    return {"path": str(path), "sha256": hash_files(path)}


def _write_provenance(out: Path, content: dict[str, object]) -> None:
    with atomic_file(filter_record_path(out)) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class _WatchedImages:
    """Images that move a progress bar when they are fetched."""

    source: Images
    advance: Advance

    def __len__(self) -> int:
        return len(self.source)

    def has(self, index: int) -> bool:
        return self.source.has(index)

    def read(self, index: int) -> RgbImage:
        self.advance(index + 1, len(self))
        return self.source.read(index)

    def read_encoded(self, index: int) -> EncodedImage | None:
        self.advance(index + 1, len(self))
        return self.source.read_encoded(index)
