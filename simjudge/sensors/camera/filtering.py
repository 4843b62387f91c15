"""A data set as another camera would have seen it: images filtered, labels kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import Losses, UsageError
from simjudge.core.files import atomic_file, hash_files
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, ImageError, Images, RgbImage
from simjudge.core.progress import Advance, Log, ProgressBar, no_log, no_progress
from simjudge.core.version import version
from simjudge.data.sources import as_frames, refuse_input_as_output, write_where_asked
from simjudge.sensors.camera.camera import Camera
from simjudge.sensors.camera.camera_file import read_camera
from simjudge.sensors.camera.chain import Step, apply_steps, filtered


def filter_images(  # noqa: PLR0913 - the options of the command
    source: FrameSet | str | Path,
    out: str | Path | None = None,
    *,
    to: str | None = None,
    camera: str | Path | None = None,
    blur: float | None = None,
    vignetting: float | None = None,
    noise: float | None = None,
    white_balance: str | Sequence[float] | None = None,
    gamma: float | None = None,
    jpeg: int | None = None,
    seed: int = 0,
    allow_outside: bool = False,
    progress: ProgressBar = no_progress,
    log: Log = no_log,
) -> FrameSet:
    """Copy a data set with its images seen through camera filters.

    The filters act in the order of the arguments. Labels are kept, predictions are dropped.

    Args:
        source: a data set with images, or the path of one.
        out: where to write the copy, with OUT.filter.json beside it that says what was done. None writes nothing: the
            images are then filtered when they are read.
        to: the format of a folder at `out`, such as yolo or coco.
        camera: the file of a camera or the name of one that comes with simjudge: its filters, in place of those below.
            The lens of the camera is not applied, because the images have been through one.
        blur: standard deviation of a Gaussian blur, in pixels.
        vignetting: angle between the optical axis and the corners of the view, in degrees; darkens the corners.
        noise: standard deviation of Gaussian noise, in grey levels of 255.
        white_balance: gains of red, green and blue; three numbers or the text "R,G,B".
        gamma: exponent on display values; above 1 darkens the mid tones.
        jpeg: quality, 1 to 100, of the JPEG that stores the images; they are stored without loss by default.
        seed: seed of the noise, 0 or more.
        allow_outside: take pictures that lie outside of the folder of their data set.
        progress: opens a progress bar.
        log: receives what a person should know about the camera.

    Returns:
        The filtered set. Frames with a damaged image are left out, and `losses` counts them.

    Raises:
        UsageError: no filter is given, both a camera and filters are, or a filter refuses its value.
        SimjudgeError: the source or the camera cannot be read, no image is readable, or `out` cannot be written.
    """
    single = _single_filters(blur, vignetting, noise, gamma, jpeg, white_balance)
    if camera is not None and single:
        raise UsageError("--camera brings its own filters: leave out --blur, --noise and the like, or write them there")
    described = _read_camera_with_filters(camera, log) if camera is not None else None
    steps = list(described.steps) if described else _checked(single)
    refuse_input_as_output(out, source)
    frames = as_frames(source, allow_outside=allow_outside)
    readable, losses = _readable(frames, progress)
    seen = replace(filtered(readable, steps, seed), losses=losses)
    if out is None:
        return seen
    with progress("filtering") as advance:
        written = write_where_asked(_watched(seen, advance), out, to)
    facts = _provenance(source, frames, steps, seed, described)
    _write_provenance(Path(out), {**facts, "losses": losses.lines()})
    return replace(written, images=seen.images)


def _single_filters(
    blur: float | None,
    vignetting: float | None,
    noise: float | None,
    gamma: float | None,
    jpeg: int | None,
    white_balance: str | Sequence[float] | None,
) -> list[Step]:
    """The filters that were asked for, in the order in which a camera applies them."""
    asked: list[tuple[str, dict[str, Any]]] = [
        ("gaussian_blur", {"sigma": blur}),
        ("vignetting", {"half_angle": vignetting}),
        ("gaussian_noise", {"sigma": noise}),
        ("white_balance", {"gains": None} if white_balance is None else _gains(white_balance)),
        ("gamma", {"exponent": gamma}),
        ("jpeg", {"quality": jpeg}),
    ]
    return [Step(name, given) for name, given in asked if None not in given.values()]


def _checked(steps: list[Step]) -> list[Step]:
    """The steps, tried on one pixel, so that a bad value is refused before anything is read."""
    if not steps:
        raise UsageError("no filter given: at least one of --blur --vignetting --noise --white-balance --gamma --jpeg")
    apply_steps(np.zeros((1, 1, 3), np.uint8), steps)
    return steps


def _gains(given: str | Sequence[float]) -> dict[str, float]:
    try:
        red, green, blue = (float(part) for part in (given.split(",") if isinstance(given, str) else given))
    except (TypeError, ValueError):
        raise UsageError(f"--white-balance {given}: give three gains as R,G,B, such as 1.4,1,0.65") from None
    return {"red": red, "green": green, "blue": blue}


def _read_camera_with_filters(given: str | Path, log: Log) -> Camera:
    camera = read_camera(given)
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
    source: FrameSet | str | Path, frames: FrameSet, steps: list[Step], seed: int, camera: Camera | None
) -> dict[str, object]:
    used = {"name": camera.name, "path": str(camera.path), "sha256": hash_files(camera.path)} if camera else None
    path = None if isinstance(source, FrameSet) else Path(source)
    origin = {"name": frames.name} if path is None else {"path": str(path), "sha256": hash_files(path)}
    return {
        "version": version(),
        "source": {**origin, "frames": len(frames)},
        "camera": used,
        "filters": [{"name": step.name, "parameters": dict(step.parameters)} for step in steps],
        "seed": seed,
    }


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
