"""`simjudge filter`: a copy of a set as another camera would have seen it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer

from simjudge.commands.common import finish, progress, say
from simjudge.core.errors import Losses, UsageError
from simjudge.core.images import EncodedImage, ImageError, Images, RgbImage
from simjudge.core.progress import Advance
from simjudge.core.version import version

if TYPE_CHECKING:
    from simjudge.core.frames import FrameSet
    from simjudge.sensors.camera.camera import Camera
    from simjudge.sensors.camera.chain import Step


def filter_images(
    source: Path = typer.Argument(..., metavar="IN", help="A data set or recording with pictures."),
    out: Path = typer.Argument(..., metavar="OUT", help="What to write: x.mcap, x.db3, or a folder with --to."),
    to: str | None = typer.Option(None, "--to", help="What a folder is written as: yolo, coco, cvat or cpd."),
    blur: float | None = typer.Option(None, help="Gaussian blur, standard deviation in pixels."),
    vignetting: float | None = typer.Option(None, help="Darker corners: the view's angle there, degrees off axis."),
    noise: float | None = typer.Option(None, help="Gaussian noise, standard deviation in grey levels of 255."),
    white_balance: str | None = typer.Option(None, metavar="R,G,B", help="Gains of red, green and blue."),
    gamma: float | None = typer.Option(None, help="Exponent; above 1 darkens the mid tones."),
    jpeg: int | None = typer.Option(None, help="Store as JPEG of this quality, 1..100 (else without loss)."),
    camera: str | None = typer.Option(None, metavar="FILE|NAME", help="A camera's filters, in place of those above."),
    seed: int = typer.Option(0, min=0, help="Of the noise."),
) -> None:
    """Copy a set with its pictures seen through camera filters.

    The filters act in a camera's order, which is the order of the options above, whatever their order on the command
    line; --camera takes the chain of a camera (docs/camera.md), of which the lens is not applied: pictures that exist
    have been through one. Labels are kept, predictions dropped. OUT.filter.json tells what was done.
    """
    from simjudge.data.sets import read_set, write_set
    from simjudge.sensors.camera.chain import filtered

    options = (blur, vignetting, noise, white_balance, gamma, jpeg)
    if camera is not None and any(option is not None for option in options):
        raise UsageError("--camera brings its own filters: leave out --blur, --noise and the like, or write them there")
    described = _camera(camera) if camera is not None else None
    steps = list(described.steps) if described else _steps(*options)
    frames = read_set(source)
    whole, damaged = _whole(frames)
    seen = filtered(whole, steps, seed)
    with progress("filtering") as advance:
        lost = write_set(_watched(seen, advance), out, to)
    losses = [*frames.losses.lines(), *damaged.lines()]
    _write_provenance(out, {**_provenance(source, len(frames), steps, seed, described), "losses": losses})
    say(f"wrote {out}: {len(seen)} frames, {len(seen.objects)} objects")
    finish(frames.losses, damaged, lost)


def _camera(given: str) -> Camera:
    """The camera, and a word where its lens is one that leaves a mark."""
    from simjudge.sensors.camera.camera import read_camera

    camera = read_camera(given)
    if not camera.steps:
        raise UsageError(f"camera {camera.name} has no filters ({camera.path}): its pictures would be a mere copy")
    if camera.lens.model != "pinhole":
        say(f"the {camera.lens.model} lens of camera {camera.name} is not applied, only its filters are")
    return camera


def _steps(
    blur: float | None,
    vignetting: float | None,
    noise: float | None,
    white_balance: str | None,
    gamma: float | None,
    jpeg: int | None,
) -> list[Step]:
    """The chain that the options ask for, checked by running it on one pixel."""
    from simjudge.sensors.camera.chain import Step, apply_steps

    single = [
        ("gaussian_blur", "sigma", blur),
        ("vignetting", "half_angle", vignetting),
        ("gaussian_noise", "sigma", noise),
        ("white_balance", "", white_balance),
        ("gamma", "exponent", gamma),
        ("jpeg", "quality", jpeg),
    ]
    steps = []
    for name, parameter, value in single:
        if isinstance(value, str):
            steps.append(Step(name, _gains(value)))
        elif value is not None:
            steps.append(Step(name, {parameter: value}))
    if not steps:
        raise UsageError("no filter given: at least one of --blur --vignetting --noise --white-balance --gamma --jpeg")
    apply_steps(np.zeros((1, 1, 3), np.uint8), steps)
    return steps


def _gains(text: str) -> dict[str, float]:
    try:
        red, green, blue = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--white-balance {text}: give three gains as R,G,B, such as 1.4,1,0.65") from None
    return {"red": red, "green": green, "blue": blue}


def _whole(frames: FrameSet) -> tuple[FrameSet, Losses]:
    """The set without the frames whose picture is damaged, and those counted."""
    losses = Losses()
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
        raise ImageError(f"{frames.name}: no picture can be read ({losses.lines()[0]})")
    return frames.take(kept), losses


def _provenance(source: Path, frames: int, steps: list[Step], seed: int, camera: Camera | None) -> dict[str, object]:
    from simjudge.core.files import hash_files

    used = {"name": camera.name, "path": str(camera.path), "sha256": hash_files(camera.path)} if camera else None
    return {
        "version": version(),
        "source": {"path": str(source), "sha256": hash_files(source), "frames": frames},
        "camera": used,
        "filters": [{"name": step.name, "parameters": dict(step.parameters)} for step in steps],
        "seed": seed,
    }


def _write_provenance(out: Path, content: dict[str, object]) -> None:
    from simjudge.core.files import atomic_file

    with atomic_file(out.with_name(out.name + ".filter.json")) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _watched(frames: FrameSet, advance: Advance) -> FrameSet:
    from dataclasses import replace

    return frames if frames.images is None else replace(frames, images=_WatchedImages(frames.images, advance))


@dataclass(frozen=True)
class _WatchedImages:
    """Pictures that move a progress bar when they are fetched."""

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
