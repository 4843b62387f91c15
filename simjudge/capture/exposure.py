"""Taking a picture: light gathered by an engine over the exposure, times the gain, through the camera's chain.

Everything random in a picture follows from the seed and the frame's name: the same call gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import EncodedImage, RgbImage, decode_image, encode_jpeg, encode_png
from simjudge.engines.contract import Engine, SceneState
from simjudge.geometry.poses import Pose
from simjudge.sensors.camera.camera import Camera
from simjudge.sensors.camera.chain import develop_light, frame_seed, stored_quality


@runtime_checkable
class HasOwnCameras(Protocol):
    """An engine with cameras of its own making beside `Engine.render`."""

    def render_own(self, camera: Camera, scene_state: SceneState) -> npt.NDArray[np.float32]:
        """Linear RGB (H, W, 3) as `camera.chrono` asks for it; times the camera's gain, 1 is full scale."""


@dataclass(frozen=True)
class Shot:
    """A picture just taken.

    Attributes:
        pixels: (H, W, 3), uint8 RGB.
        encoded: the JPEG that the camera's chain ends in, of which `pixels` are the decoded pixels; else None.
    """

    pixels: RgbImage
    encoded: EncodedImage | None = None

    def stored(self) -> EncodedImage:
        """The picture as a file: the camera's JPEG, else a PNG, which loses nothing."""
        return self.encoded or EncodedImage(encode_png(self.pixels), ".png")


def gather(engine: Engine, camera: Camera, scene_states: Sequence[SceneState]) -> npt.NDArray[np.float32]:
    """The light on the sensor: linear radiance (H, W, 3), averaged over the instants.

    Where nothing moves between the instants, one of them stands for all. What a camera asks of Chrono's own ones is in
    it already.

    Raises:
        SimjudgeError: the camera asks for something that the engine has not.
    """
    first = scene_states[0]
    if camera.chrono is not None:
        return _taken_by_its_own(engine, camera, first)
    still = all(
        scene_state.camera == first.camera and dict(scene_state.bodies) == dict(first.bodies)
        for scene_state in scene_states
    )
    return engine.render(camera.lens, [first] if still else scene_states, camera.rays_per_pixel)


def _taken_by_its_own(engine: Engine, camera: Camera, scene_state: SceneState) -> npt.NDArray[np.float32]:
    if not isinstance(engine, HasOwnCameras):
        raise SimjudgeError(
            f"{camera.path}: chrono: engine {engine.name} has none of Chrono's own cameras; take engine chrono, or"
            " another camera"
        )
    return engine.render_own(camera, scene_state)


def shot_of(camera: Camera, radiance: npt.NDArray[np.float32], frame_name: str = "", seed: int = 0) -> Shot:
    """What the camera makes of the light on its sensor, by its gain and its chain.

    Args:
        camera: with gain and chain.
        radiance: as `gather` gives it.
        frame_name, seed: of the random filters, as in `chain.FilteredImages`.
    """
    light = radiance if camera.gain == 1 else radiance * np.float32(camera.gain)
    entropy, quality = frame_seed(seed, frame_name), stored_quality(camera.steps)
    if quality is None:
        return Shot(develop_light(light, camera.steps, entropy))
    encoded = EncodedImage(encode_jpeg(develop_light(light, camera.steps[:-1], entropy), quality), ".jpg")
    return Shot(decode_image(encoded.data, frame_name), encoded)


def develop(camera: Camera, radiance: npt.NDArray[np.float32], frame_name: str = "", seed: int = 0) -> RgbImage:
    """The pixels of `shot_of`: (H, W, 3), uint8 RGB."""
    return shot_of(camera, radiance, frame_name, seed).pixels


def take(
    engine: Engine, camera: Camera, scene_states: Sequence[SceneState], frame_name: str = "", seed: int = 0
) -> RgbImage:
    """Take a picture of what an engine has before the camera: (H, W, 3), uint8 RGB.

    Args:
        engine: that sees the scene.
        camera: with lens, rays a pixel, gain and chain.
        scene_states: of the exposure, in order.
        frame_name, seed: of the random filters.
    """
    return develop(camera, gather(engine, camera, scene_states), frame_name, seed)


def middle(scene_states: Sequence[SceneState]) -> SceneState:
    """The instant in the middle of an exposure, whose labels fit a smeared picture best."""
    half = len(scene_states) // 2
    return scene_states[half] if len(scene_states) % 2 else between(scene_states[half - 1], scene_states[half], 0.5)


def between(begin: SceneState, end: SceneState, share: float) -> SceneState:
    """The instant at a share (0 to 1) of the way from one to another: positions linearly, orientations by slerp.

    Bodies that only one of the two has stay where that one has them.
    """
    bodies: dict[str, Pose] = {**begin.bodies, **end.bodies}
    for name in begin.bodies.keys() & end.bodies.keys():
        bodies[name] = pose_between(begin.bodies[name], end.bodies[name], share)
    return SceneState(pose_between(begin.camera, end.camera, share), bodies)


def scene_states_between(begin: SceneState, end: SceneState, count: int) -> list[SceneState]:
    """Middles of `count` equal parts of an exposure that begins and ends so."""
    return [between(begin, end, (2 * i + 1) / (2 * count)) for i in range(count)]


def pose_between(begin: Pose, end: Pose, share: float) -> Pose:
    """The pose at a share (0 to 1) of the way: linear in position, along the shortest arc in orientation."""
    if begin == end:
        return begin
    here = Rotation.from_quat(begin.orientation)
    way = (here.inv() * Rotation.from_quat(end.orientation)).as_rotvec()
    position = (1 - share) * np.array(begin.position) + share * np.array(end.position)
    turned = here * Rotation.from_rotvec(way * share)
    return Pose(tuple(position.tolist()), tuple(turned.as_quat().tolist()))
