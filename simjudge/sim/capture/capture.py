"""A camera in a scene: from an engine, by exposures of instants or of timed rays, to labelled frames.

`simjudge sim render`, `replay`, `drive`, `engines compare`, `sim_node` and `replay_node` all take their frames from
`Capture`. What differs between them is the `FrameExposure`: where the camera and the bodies are during a frame.

Everything random in an image follows from the seed and the frame's name: the same call gives the same bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import EncodedImage, RgbImage, as_rgb, decode_image, encode_jpeg, encode_png
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose, interpolate_pose
from simjudge.sim.capture.ground_truth import GroundTruth, Labelling, ground_truth
from simjudge.sim.engines.contract import Engine, Labels, Poses, SceneState
from simjudge.sim.engines.ray_times import EngineWithRayTimes, TimedExposure
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.camera import SECOND, Camera, MeteredFrame, exposure_stamps, middle_stamp
from simjudge.sim.sensors.camera.chain import (
    Seen,
    apply_steps,
    develop_light,
    frame_seed,
    is_gray,
    needs_distance,
    stored_quality,
)
from simjudge.sim.sensors.camera.depth_filters import DepthImage
from simjudge.sim.sensors.camera.picture_distances import ray_lengths

_BEFORE, _WITHIN = 3, 4  # Set the seeds of filters before and within an exposure apart from those of the chain


@runtime_checkable
class EngineWithOwnCameras(Protocol):
    """An engine with cameras of its own making beside `Engine.render`."""

    def render_own(self, camera: Camera, scene_state: SceneState) -> npt.NDArray[np.float32]:
        """Render with the engine's own camera model: linear RGB (H, W, 3); times the camera's gain, 1 is full scale."""


@dataclass(frozen=True, eq=False)
class FrameExposure:
    """Where the camera and all bodies are while one frame is exposed."""

    frame_name: str  # the frame's name; the camera's noise follows from it
    stamp: int  # start of the exposure, nanoseconds
    # The instants of the exposure, in order (`exposure_stamps`); one without motion blur.
    scene_states: tuple[SceneState, ...]
    middle: SceneState  # the middle of the exposure, which the labels describe


class Metering(NamedTuple):
    """What automatic exposure goes by."""

    stamp: int  # of the frame, nanoseconds
    before: MeteredFrame | None  # the frame before; None: there is none


@dataclass(frozen=True, repr=False)
class CapturedImage(ShortRepr):
    """The image that a camera's chain makes of light."""

    pixels: RgbImage  # (H, W, 3), uint8 RGB
    # The JPEG that the camera's chain ends in, of which `pixels` are the decoded pixels; else None.
    encoded: EncodedImage | None = None
    gray: bool = False  # whether it has one channel only; `pixels` has it three times
    # Its exposure, and the brightness by which the next one is chosen; None without automatic exposure.
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
    """The exposure (start `stamp`, nanoseconds) of a camera that moves, and of bodies with poses known at any time."""
    stamps = [middle_stamp(camera, stamp), *exposure_stamps(camera, stamp)]
    middle, *scene_states = (
        SceneState(pose, bodies_at(time) if bodies_at else {})
        for pose, time in zip(poses_at(stamps), stamps, strict=True)
    )
    return FrameExposure(frame_name, stamp, tuple(scene_states), middle)


def scripted_bodies(scene: Scene, start: int) -> Callable[[int], Poses]:
    """Where the things of a scene are that follow a path, by stamp; `start` is the first frame's (nanoseconds)."""
    return lambda stamp: scene.scripted_poses((stamp - start) / SECOND)


def gather_light(
    engine: Engine, camera: Camera, scene_states: Sequence[SceneState], seed: tuple[int, ...] = (0,)
) -> npt.NDArray[np.float32]:
    """The light on the sensor, averaged over an exposure's instants; where nothing moves, the first stands for all."""
    if camera.within_exposure:
        plain = replace(camera, within_exposure=())
        total = np.zeros((), np.float32)
        for number, state in enumerate(scene_states):
            light = gather_light(engine, plain, [state])
            total = total + apply_steps(light, camera.within_exposure, (*seed, _WITHIN, number))
        return np.asarray(total / len(scene_states), np.float32)
    first = scene_states[0]
    if camera.chrono is not None:
        return _gather_own(engine, camera, first)
    still = all(
        scene_state.camera == first.camera and dict(scene_state.bodies) == dict(first.bodies)
        for scene_state in scene_states
    )
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
    depth: npt.NDArray[np.float32] | None = None,
) -> CapturedImage:
    """The image that a camera makes of light (H, W, 3), by its gain, its automatic exposure and its chain.

    `depth` (H, W), as `Labels` has it: for filters before the exposure that ask for distances.
    """
    if camera.before_exposure:
        seen = None
        if depth is not None and any(needs_distance(step) for step in camera.before_exposure):
            seen = Seen(ray_lengths(camera.lens, depth), camera.lens.rays(), camera.exposure_time)
        seed_before = (*frame_seed(seed, frame_name), _BEFORE)
        radiance = apply_steps(radiance, camera.before_exposure, seed_before, seen)
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


# A body that moves by less in an exposure, metres and parts of a quaternion, stands: resting bodies tremble.
_STANDS = 1e-6


def timed_exposure(camera: Camera, exposure: FrameExposure, seed: int = 0) -> TimedExposure | None:
    """How the rays of a frame are spread over time: the timed exposure; None where all rays see the same."""
    states = exposure.scene_states
    if not camera.has_ray_times or all(state == states[0] for state in states):
        return None
    times = np.linspace(0, camera.open_time, len(states))
    return TimedExposure(
        camera=Keyframes.build(times.tolist(), [[state.camera] for state in states]),
        bodies=_bodies_of_parts([state.bodies for state in states]),
        exposure_time=camera.exposure_time,
        line_time=camera.line_time,
        seed=frame_seed(seed, exposure.frame_name),
    )


def engine_with_ray_times(engine: Engine, camera: Camera) -> EngineWithRayTimes:
    """The engine, if its rays can have times of their own."""
    if isinstance(engine, EngineWithRayTimes):
        return engine
    field = "line_time" if camera.line_time else "motion_blur: rays"
    raise SimjudgeError(
        f"{camera.path}: {field}: engine {engine.name} takes all of an image at one instant; take engine default, or"
        " motion_blur: moments without line_time"
    )


def _bodies_of_parts(bodies: Sequence[Poses]) -> tuple[Poses, ...]:
    """Where all bodies are in the middle of each part between two keyframes; one part where all stand."""
    first = bodies[0]
    moving = [name for name in first if any(_moves(first[name], body[name]) for body in bodies[1:])]
    if not moving:
        return (dict(bodies[len(bodies) // 2]),)
    return tuple(
        {**first, **{name: interpolate_pose(one[name], other[name], 0.5) for name in moving}}
        for one, other in pairwise(bodies)
    )


def _moves(one: Pose, other: Pose) -> bool:
    if one == other:
        return False
    turn = min(
        max(abs(a - sign * b) for a, b in zip(one.orientation, other.orientation, strict=True)) for sign in (1, -1)
    )
    way = max(abs(a - b) for a, b in zip(one.position, other.position, strict=True))
    return max(way, turn) > _STANDS


@dataclass(frozen=True, eq=False, repr=False)
class RawFrame(ShortRepr):
    """What an engine gave for one frame, before the camera's electronics."""

    exposure: FrameExposure  # where the camera and the bodies were
    # When each ray saw the scene, where rays have times of their own; None: all in the exposure's moments.
    timed: TimedExposure | None
    scene: Scene  # the scene that the engine had then
    light: npt.NDArray[np.float32] | None  # linear radiance (H, W, 3) on the sensor; None where no image is wanted
    # Class, instance and depth (H, W) in the middle of the exposure, of each row's own where rows differ.
    labels: Labels
    light_seconds: float  # time that the light took, seconds of the wall clock
    label_seconds: float  # time that the labels took, likewise


@dataclass(frozen=True, eq=False)
class CapturedFrame:
    """A labelled frame."""

    exposure: FrameExposure  # where the camera and the bodies were
    image: CapturedImage | None  # what the camera made of the light; None where no image was wanted
    labels: Labels  # class (semantic), instance and depth images, (H, W) each, in the middle of the exposure
    truth: GroundTruth  # the labelled objects, with their visible pixels
    depth: DepthImage | None = None  # the camera's depth image; None where it has none

    @property
    def frame_name(self) -> str:
        """The frame's name."""
        return self.exposure.frame_name

    @property
    def stamp(self) -> int:
        """Start of the exposure, nanoseconds."""
        return self.exposure.stamp

    @property
    def camera_pose(self) -> Pose:
        """The optical frame in the world, in the middle of the exposure."""
        return self.exposure.middle.camera

    def pixels(self) -> RgbImage:
        """The image's pixels, (H, W, 3), uint8 RGB."""
        return self._image().pixels

    def stored_image(self) -> EncodedImage:
        """The image as a file: the camera's JPEG, else a PNG."""
        return self._image().stored()

    def _image(self) -> CapturedImage:
        if self.image is None:
            raise ValueError(f"{self.frame_name}: was captured without an image")
        return self.image


class FrameFinisher:
    """Makes labelled frames of what an engine has given, in the order of their stamps.

    Attributes:
        camera: lens, exposure and chain of filters.
        metered: the last image's exposure and brightness, by which automatic exposure chooses the next; None: the next
            image is exposed as if the camera had looked at its scene for long.
    """

    def __init__(
        self, camera: Camera, labelling: Labelling | None = None, seed: int = 0, *, masks: bool = False
    ) -> None:
        """Remember the camera (masks: whether the objects get pixel masks too)."""
        self.camera = camera
        self._labelling, self._seed, self._masks = labelling or Labelling(), seed, masks
        self.metered: MeteredFrame | None = None

    def finish(self, raw: RawFrame) -> CapturedFrame:
        """Develop the image of an observed frame and find its objects; in order of stamps with automatic exposure."""
        camera, exposure = self.camera, raw.exposure
        truth = ground_truth(
            raw.scene, camera.lens, exposure.middle, raw.labels, self._labelling, timed=raw.timed, masks=self._masks
        )
        depth = (
            None
            if camera.depth is None
            else camera.depth.measure(
                raw.labels.depth, camera.lens.focal[0], frame_seed(self._seed, exposure.frame_name)
            )
        )
        if raw.light is None:
            return CapturedFrame(exposure, None, raw.labels, truth, depth)
        metering = Metering(exposure.stamp, self.metered)
        image = develop(camera, raw.light, exposure.frame_name, self._seed, metering, raw.labels.depth)
        self.metered = image.metered
        return CapturedFrame(exposure, image, raw.labels, truth, depth)


class Capture(FrameFinisher):
    """A camera before an engine; it turns exposures into labelled frames."""

    def __init__(
        self, engine: Engine, camera: Camera, labelling: Labelling | None = None, seed: int = 0, *, masks: bool = False
    ) -> None:
        """Put a camera before an engine (masks: whether the objects get pixel masks too)."""
        if camera.has_ray_times:
            engine_with_ray_times(engine, camera)
        super().__init__(camera, labelling, seed, masks=masks)
        self.engine = engine

    def observe(self, exposure: FrameExposure, *, image: bool = True) -> RawFrame:
        """Take light and labels of an exposure from the engine. This is all of a frame that needs the engine."""
        timed = timed_exposure(self.camera, exposure, self._seed)
        begin = time.perf_counter()
        light = self._light(exposure, timed) if image else None
        lit = time.perf_counter()
        labels = self._labels(exposure, timed)
        return RawFrame(exposure, timed, self.engine.scene, light, labels, lit - begin, time.perf_counter() - lit)

    def _light(self, exposure: FrameExposure, timed: TimedExposure | None) -> npt.NDArray[np.float32]:
        if timed is None:
            seed = frame_seed(self._seed, exposure.frame_name)
            return gather_light(self.engine, self.camera, exposure.scene_states, seed)
        engine = engine_with_ray_times(self.engine, self.camera)
        return engine.render_timed(self.camera.lens, timed, self.camera.rays_per_pixel)

    def _labels(self, exposure: FrameExposure, timed: TimedExposure | None) -> Labels:
        if timed is None:
            return self.engine.labels(self.camera.lens, exposure.middle)
        return engine_with_ray_times(self.engine, self.camera).labels_timed(self.camera.lens, timed)

    def capture(self, exposure: FrameExposure, *, image: bool = True) -> CapturedFrame:
        """Make the labelled frame of an exposure."""
        return self.finish(self.observe(exposure, image=image))
