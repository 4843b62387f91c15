"""One exposure of a camera: the instants of a frame, the light that an engine gathers for them, and the image of it.

Everything random in an image follows from the seed and the frame's name: the same call gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import EncodedImage, RgbImage, as_rgb, decode_image, encode_jpeg, encode_png
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Engine, Poses, SceneState
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.camera import SECOND, Camera, MeteredFrame, exposure_stamps, middle_stamp
from simjudge.sim.sensors.camera.chain import develop_light, frame_seed, is_gray, stored_quality


@runtime_checkable
class EngineWithOwnCameras(Protocol):
    """An engine with cameras of its own making beside `Engine.render`."""

    def render_own(self, camera: Camera, scene_state: SceneState) -> npt.NDArray[np.float32]:
        """Render with the engine's own camera model.

        Args:
            camera: the camera, whose `own` says what it asks of the engine.
            scene_state: where camera and bodies are.

        Returns:
            Linear RGB (H, W, 3); times the camera's gain, 1 is full scale.
        """


@dataclass(frozen=True, eq=False)
class FrameExposure:
    """Where the camera and all bodies are while one frame is exposed.

    Attributes:
        frame_name: the frame's name; the camera's noise follows from it.
        stamp: start of the exposure, nanoseconds.
        scene_states: the instants of the exposure, in order (`shutter.exposure_stamps`); one without motion blur.
        middle: the middle of the exposure, which the labels describe.
    """

    frame_name: str
    stamp: int
    scene_states: tuple[SceneState, ...]
    middle: SceneState


class Metering(NamedTuple):
    """What automatic exposure goes by.

    Attributes:
        stamp: of the frame, nanoseconds.
        before: the frame before; None: there is none.
    """

    stamp: int
    before: MeteredFrame | None


@dataclass(frozen=True, repr=False)
class CapturedImage(ShortRepr):
    """The image that a camera's chain makes of light.

    Attributes:
        pixels: (H, W, 3), uint8 RGB.
        encoded: the JPEG that the camera's chain ends in, of which `pixels` are the decoded pixels; else None.
        gray: whether it has one channel only; `pixels` has it three times.
        metered: its exposure, and the brightness by which the next one is chosen; None without automatic exposure.
    """

    pixels: RgbImage
    encoded: EncodedImage | None = None
    gray: bool = False
    metered: MeteredFrame | None = None

    def stored(self) -> EncodedImage:
        """The image as a file: the camera's JPEG, else a PNG, which loses nothing; of one channel where it is gray."""
        return self.encoded or EncodedImage(encode_png(self.channels), ".png")

    @property
    def channels(self) -> RgbImage:
        """(H, W, 3), or (H, W, 1) where it is gray."""
        return self.pixels[:, :, :1] if self.gray else self.pixels


def exposure_at(
    camera: Camera,
    stamp: int,
    frame_name: str,
    poses_at: Callable[[Sequence[int]], Sequence[Pose]],
    bodies_at: Callable[[int], Poses] | None = None,
) -> FrameExposure:
    """The exposure of a camera that moves, and of bodies whose poses are known at any time.

    Args:
        stamp: start of the exposure, nanoseconds.
        poses_at: returns the optical frame in the world at stamps, nanoseconds.
        bodies_at: returns poses of what is not where the scene has it, at a stamp; None for nothing.
    """
    stamps = [middle_stamp(camera, stamp), *exposure_stamps(camera, stamp)]
    middle, *scene_states = (
        SceneState(pose, bodies_at(time) if bodies_at else {})
        for pose, time in zip(poses_at(stamps), stamps, strict=True)
    )
    return FrameExposure(frame_name, stamp, tuple(scene_states), middle)


def scripted_bodies(scene: Scene, start: int) -> Callable[[int], Poses]:
    """Where the things of a scene are that follow a path, by a stamp in nanoseconds.

    Args:
        start: stamp at which the scene starts, nanoseconds: that of the first frame.
    """
    return lambda stamp: scene.scripted_poses((stamp - start) / SECOND)


def gather_light(engine: Engine, camera: Camera, scene_states: Sequence[SceneState]) -> npt.NDArray[np.float32]:
    """The light on the sensor, averaged over the instants of an exposure.

    Where nothing moves between the instants, the first one stands for all. What a camera asks of the engine's own
    cameras is in the light already.

    Args:
        camera: its lens, its rays a pixel, and what it asks of the engine's own cameras.

    Returns:
        Linear radiance (H, W, 3).
    """
    first = scene_states[0]
    if camera.chrono is not None:
        return _gather_own(engine, camera, first)
    still = all(each.camera == first.camera and dict(each.bodies) == dict(first.bodies) for each in scene_states)
    return engine.render(camera.lens, [first] if still else scene_states, camera.rays_per_pixel)


def _gather_own(engine: Engine, camera: Camera, scene_state: SceneState) -> npt.NDArray[np.float32]:
    if not isinstance(engine, EngineWithOwnCameras):
        raise SimjudgeError(
            f"{camera.path}: chrono: engine {engine.name} has none of Chrono's own cameras; take engine chrono, or"
            " another camera"
        )
    return engine.render_own(camera, scene_state)


def develop(
    camera: Camera,
    radiance: npt.NDArray[np.float32],
    frame_name: str = "",
    seed: int = 0,
    metering: Metering | None = None,
) -> CapturedImage:
    """The image that a camera makes of the light on its sensor, by its gain, its automatic exposure and its chain.

    Args:
        radiance: linear radiance (H, W, 3), as `gather_light` returns it.
        frame_name: the frame's name; with the seed it sets the random filters, as in `chain.FilteredImages`.
        metering: the frame's stamp and the frame before, for automatic exposure; None: the camera has looked at this
            one for long.
    """
    light = radiance if camera.gain == 1 else radiance * np.float32(camera.gain)
    metered, amplification = None, 1.0
    if camera.auto_exposure is not None:
        stamp, before = metering or Metering(0, None)
        metered = camera.auto_exposure.expose(light, stamp, before)
        light, amplification = light * np.float32(metered.factor), metered.gain
    entropy, quality = frame_seed(seed, frame_name), stored_quality(camera.steps)
    gray = is_gray(camera.steps)
    if quality is None:
        pixels = as_rgb(develop_light(light, camera.steps, entropy, amplification))
        return CapturedImage(pixels, gray=gray, metered=metered)
    pixels = develop_light(light, camera.steps[:-1], entropy, amplification)
    encoded = EncodedImage(encode_jpeg(pixels, quality), ".jpg")
    return CapturedImage(decode_image(encoded.data, frame_name), encoded, gray, metered)
