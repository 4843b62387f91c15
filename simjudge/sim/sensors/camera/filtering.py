"""A data set as another camera would have seen it: images filtered, labels kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, UsageError
from simjudge.core.files import atomic_file, hash_files
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, ImageError, Images, RgbImage
from simjudge.core.progress import Advance, Log, ProgressBar, no_log, no_progress
from simjudge.core.settings import declared, takes_setting_keywords
from simjudge.core.version import version
from simjudge.data.sets import read_set
from simjudge.data.sources import as_frames, refuse_input_as_output, write_where_asked
from simjudge.sim.sensors.camera.adaptation import (
    CHANNEL_MEANS,
    COLOUR_TRANSFER,
    EXPOSURE,
    Adaptation,
    fourier,
    window_reach,
)
from simjudge.sim.sensors.camera.bending import Bend, bent
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import FrameStep, Step, apply_steps, filtered
from simjudge.sim.sensors.camera.reference_pictures import ReferencePictures, with_images_of, with_twins
from simjudge.sim.sensors.filter_settings import FilterSettings

_NO_FILTERS = ("allow_outside", "match_by", "fourier_share", "seed")
"""Settings that alone ask for nothing."""


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
    frames = as_frames(source, allow_outside=settings.allow_outside)
    frames = _with_images(frames, settings)
    if settings.lens is not None:
        frames = bent(frames, Bend.of(read_camera(settings.lens)))
    readable, losses = _readable(frames, progress)
    chosen, steps = _steps(readable, settings, described, losses, progress)
    seen = replace(filtered(chosen, steps, settings.seed), losses=losses)
    if out is None:
        return seen
    with progress("filtering") as advance:
        written = write_where_asked(_watched(seen, advance), out, to)
    facts = _provenance(source, frames, steps, settings, described)
    _write_provenance(Path(out), {**facts, "losses": losses.lines()})
    return replace(written, images=seen.images)


def _fixed_steps(settings: FilterSettings) -> dict[str, Step]:
    """The filters that need no reference, by the setting that asks for them."""
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
    """The chain, in order, and the frames that it can be applied to."""
    if camera is not None:
        return frames, list(camera.steps)
    sets = {path: read_set(path, allow_outside=settings.allow_outside) for path in settings.references.values()}
    rows: dict[Path, IntArray] = {}
    for path, reference in sets.items():
        if settings.match_by == "twin":
            frames, rows[path], kept = with_twins(frames, reference, losses)
            rows = {each: found if each == path else found[kept] for each, found in rows.items()}
    found: dict[str, Step | FrameStep] = dict(_fixed_steps(settings))
    for key, path in settings.references.items():
        pictures = ReferencePictures.of_set(sets[path])
        if settings.match_by == "random":
            rows[path] = pictures.draw(frames.frame_name, settings.seed)
        found[key] = pictures.step(_adaptation(key, frames, settings), rows.get(path), progress)
    return frames, [found[row.name] for row in declared(FilterSettings) if row.name in found]


def _adaptation(key: str, frames: FrameSet, settings: FilterSettings) -> Adaptation:
    """The way to adapt that a setting asks for."""
    if key == "fourier_adaptation":
        highest = max(window_reach(tuple(size), settings.fourier_share) for size in frames.size.tolist())
        return fourier(settings.fourier_share, highest)
    return {"match_colours": CHANNEL_MEANS, "match_exposure": EXPOSURE, "colour_transfer": COLOUR_TRANSFER}[key]


def _described_camera(settings: FilterSettings, log: Log) -> Camera | None:
    if settings.camera is None:
        return None
    camera = read_camera(settings.camera)
    if not camera.steps:
        raise UsageError(f"camera {camera.name} has no filters ({camera.path}): its pictures would be a mere copy")
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
    with atomic_file(out.with_name(out.name + ".filter.json")) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _watched(frames: FrameSet, advance: Advance) -> FrameSet:
    return frames if frames.images is None else replace(frames, images=_WatchedImages(frames.images, advance))


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
