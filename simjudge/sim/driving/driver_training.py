"""`simjudge/ConeCourse-v0`, and the training of a `LearntDriver` in it by the cross-entropy method, in minutes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Log, ProgressBar, UsageError, no_log, no_progress
from simjudge.core.images import RgbImage
from simjudge.sim.capture.capture import Capture, CapturedFrame
from simjudge.sim.capture.lock_step import FrameEvent, LockStep, MotionSample
from simjudge.sim.driving.closed_loop import DEFAULT_LIMIT, DriveLimits, DriveOutcome, Referee
from simjudge.sim.driving.course import lane_classes
from simjudge.sim.driving.drive import DriveOptions, check_laps, read_drive_setup
from simjudge.sim.driving.pilots import GROUND_TRUTH, FrameDetector, load_frame_detector
from simjudge.sim.driving.trial_pilots import START, LearntDriver, detection_rows
from simjudge.sim.engines.contract import Engine
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.sensors.camera.rig import MountedCamera, read_rig
from simjudge.sim.vehicle.vehicle import Command, VehicleState

IMAGE, DETECTIONS, SPEED = "image", "detections", "speed"
OBSERVATIONS = (IMAGE, DETECTIONS, SPEED)  # What can be observed
_COLUMNS = 6  # Of a detection: left, top, right, bottom, side, score
_SEEDS = 2**31

Observation = dict[str, npt.NDArray[Any]]  # Arrays by their names in OBSERVATIONS
Info = dict[str, Any]  # What gymnasium hands around beside them


@dataclass(frozen=True)
class Episode:
    """One drive from the start on.

    Attributes:
        detector: finds cones; None where nobody asks.
        sides: 1.0 for the class on the left, -1.0 for that on the right.
    """

    engine: Engine
    capture: Capture
    referee: Referee
    detector: FrameDetector | None
    sides: dict[int, float]
    events: Iterator[Any]


class ConeCourseEnvironment(gymnasium.Env[Observation, npt.NDArray[np.float32]]):
    """A simulated car on a course between cones, driven by whoever calls `step`.

    Observations are a dictionary of those that are asked for:

    * `image`: uint8 (H, W, 3), RGB, the camera's picture;
    * `detections`: float32 (most, 6), the cones that the detector found, largest first: left, top, right and bottom of
      the box as shares of the picture's width and height, side (1 left of the lane, -1 right), score; rows of 0 are
      left over;
    * `speed`: float32 (1,), m/s along the car's own x.

    An action is steering (-1 full right to 1 full left) and pedal (-1 full brake to 1 full throttle).

    The reward is the metres along the course since the last step, less `contact_cost` for each thing that is touched
    for the first time. An episode terminates at the end of the course, off the course, or where the car stands; it is
    truncated after `limit` simulated seconds.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 - as gymnasium declares it

    def __init__(  # noqa: PLR0913 - the options of `simjudge sim drive`
        self,
        scene: str | Path = "lab",
        *,
        camera: str | Path = "plain_half",
        vehicle: str | Path | None = None,
        detector: str | Path = GROUND_TRUTH,
        observe: Sequence[str] = (DETECTIONS, SPEED),
        rate: float | None = 10.0,
        most: int = 24,
        contact_cost: float = 1.0,
        laps: int = 1,
        limit: float | None = None,
        engine: str = "default",
        render_mode: str | None = None,
    ) -> None:
        """Read the camera; the scene is made by `reset`, so that processes can be forked before.

        Args:
            scene: file of a scene with a course between cones, or the name of one that comes with simjudge.
            vehicle: file or name of the car; None for the scene's own, else art1.
            detector: finds the cones: file or name of a detector, or "ground_truth".
            rate: frames and so steps a simulated second; None for the camera's own.
            contact_cost: what a thing costs that is touched for the first time, metres.
            limit: simulated seconds of an episode; None for 180 a lap.
            render_mode: "rgb_array" for pictures from `render`; None for none.
        """
        unknown = [name for name in observe if name not in OBSERVATIONS]
        if unknown or not observe:
            raise UsageError(f"observe {', '.join(unknown) or 'nothing'}: any of {', '.join(OBSERVATIONS)} is needed")
        if render_mode not in (None, "rgb_array"):
            raise UsageError(f"render_mode {render_mode}: rgb_array or None is needed")
        if most < 1:
            raise UsageError(f"most {most}: 1 or more is needed")
        self.render_mode, self._observe, self._most = render_mode, tuple(observe), most
        self._given = DriveOptions(scene, camera, detector, vehicle, engine, rate=rate, images=IMAGE in observe)
        self._limits = DriveLimits(duration=DEFAULT_LIMIT * laps if limit is None else limit, laps=laps)
        self._contact_cost = contact_cost
        eye = read_rig(camera).cameras[0][0].camera
        eye = eye if rate is None else eye.at_rate(rate)
        width, height = eye.lens.size
        self.metadata = {**self.metadata, "render_fps": eye.rate}
        low = np.tile(np.array([0, 0, 0, 0, -1, 0], np.float32), (most, 1))
        spaces: dict[str, gymnasium.Space[Any]] = {
            IMAGE: gymnasium.spaces.Box(0, 255, (height, width, 3), np.uint8),
            DETECTIONS: gymnasium.spaces.Box(low, np.ones((most, _COLUMNS), np.float32)),
            SPEED: gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32),
        }
        self.observation_space = gymnasium.spaces.Dict({name: spaces[name] for name in OBSERVATIONS if name in observe})
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self._episode: Episode | None = None
        self._frame: tuple[FrameEvent, CapturedFrame] | None = None
        self._done, self._distance, self._touched = True, 0.0, 0

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Observation, Info]:
        """Put the car at the start and wait for the first frame."""
        super().reset(seed=seed)
        if options:
            raise UsageError(f"options {', '.join(options)}: none are known; the environment's arguments are")
        drawn = int(self.np_random.integers(_SEEDS)) if seed is None else seed
        self.close()
        self._episode = episode = self._start(drawn)
        self._distance, self._touched, self._done = 0.0, 0, False
        state = self._run_to_frame(episode)
        self._distance = episode.referee.distance
        return self._look(episode, state), {**self._info(episode), "seed": drawn}

    def step(self, action: npt.ArrayLike) -> tuple[Observation, float, bool, bool, Info]:
        """Hold an action until the next frame."""
        episode = self._episode
        if episode is None or self._done:
            raise gymnasium.error.ResetNeeded("call reset before step: no episode is under way")
        given = np.asarray(action, np.float64)
        if given.shape != (2,) or not np.isfinite(given).all():
            raise UsageError(f"action {given.tolist()}: two finite numbers are needed, steering and pedal")
        steering, pedal = np.clip(given, -1.0, 1.0).tolist()
        episode.engine.drive(Command(steering, max(pedal, 0.0), max(-pedal, 0.0)))
        state = self._run_to_frame(episode)
        distance, touched = episode.referee.distance, len(episode.engine.touched_things())
        reward = distance - self._distance - self._contact_cost * (touched - self._touched)
        self._distance, self._touched = distance, touched
        outcome = episode.referee.outcome()
        self._done = bool(episode.referee.end_reason)
        terminated, truncated = self._done and not outcome.timed_out, outcome.timed_out
        info = self._info(episode, outcome if self._done else None)
        return self._look(episode, state), float(reward), terminated, truncated, info

    def render(self) -> RgbImage | None:  # type: ignore[override]
        """The camera's picture of the last frame, uint8 (H, W, 3); None without the render mode "rgb_array"."""
        if self.render_mode is None:
            return None
        if self._episode is None or self._frame is None:
            raise gymnasium.error.ResetNeeded("call reset before render: there is no frame yet")
        event, frame = self._frame
        if frame.image is None:
            frame = self._episode.capture.capture(event.exposure, image=True)
            self._frame = event, frame
        return None if frame.image is None else frame.image.pixels

    def close(self) -> None:
        """Give the engine back; a second time does nothing."""
        if self._episode is not None:
            self._episode.engine.close()
        self._episode = self._frame = None
        self._done = True

    def _start(self, seed: int) -> Episode:
        given = self._given
        options = DriveOptions(
            given.scene, given.camera, given.detector, given.vehicle, given.engine, seed, given.rate, given.images
        )
        setup = read_drive_setup(options)
        check_laps(setup.scene, self._limits.laps)
        classes = lane_classes(setup.scene)
        detector = load_frame_detector(options.detector, setup.scene) if DETECTIONS in self._observe else None
        engine = make_engine(options.engine, setup.scene, setup.vehicle, setup.start)
        eye: MountedCamera = setup.cameras[0]
        return Episode(
            engine,
            Capture(engine, eye.camera, options.labelling, eye.noise_seed(seed)),
            Referee(engine, setup.vehicle, self._limits),
            detector,
            {classes.left: 1.0, classes.right: -1.0},
            LockStep(engine, (eye,)).events(),
        )

    def _run_to_frame(self, episode: Episode) -> VehicleState:
        """Let time run until a frame is handed over or the drive ends."""
        state = episode.engine.vehicle_state()
        for event in episode.events:
            if isinstance(event, MotionSample):
                state = event.state
                episode.referee.update(event)
                if episode.referee.end_reason:
                    break
            elif isinstance(event, FrameEvent):
                looks = IMAGE in self._observe or (episode.detector is not None and episode.detector.needs_images)
                self._frame = event, episode.capture.capture(event.exposure, image=looks)
                episode.referee.frames += 1
                break
        return state

    def _look(self, episode: Episode, state: VehicleState) -> Observation:
        """The observation; where the drive ended between frames, of the last one."""
        out: Observation = {}
        frame = None if self._frame is None else self._frame[1]
        for name, space in self.observation_space.spaces.items():  # type: ignore[attr-defined]
            out[name] = np.zeros(space.shape, space.dtype)
        if SPEED in out:
            out[SPEED][0] = state.velocity[0]
        if frame is not None and IMAGE in out and frame.image is not None:
            out[IMAGE] = frame.image.pixels
        if frame is not None and episode.detector is not None:
            width, height = episode.capture.camera.lens.size
            rows = detection_rows(episode.detector(frame), episode.sides, (width, height))[: self._most]
            out[DETECTIONS][: len(rows)] = rows
        return out

    def _info(self, episode: Episode, outcome: DriveOutcome | None = None) -> Info:
        """Where the car is and what it touched; at the end how the drive went, as OUT.drive.json has it."""
        referee = episode.referee
        x, y, _ = episode.engine.vehicle_state().pose.position
        offset = 0.0 if referee.progress is None else referee.progress.offset
        about = {
            "time": episode.engine.time,
            "x": x,
            "y": y,
            "distance": referee.distance,
            "length": referee.length,
            "offset": offset if math.isfinite(offset) else 0.0,
            "touched": self._touched,
        }
        return about if outcome is None else {**about, "outcome": outcome.as_record()}


SPREAD = (1.5, 1.5, 0.1, 0.35, 0.8)
"""Standard deviations of the weights that are tried first."""
_KEPT = 4
"""Drivers of a generation that the next one is drawn around."""


def learn_driver(  # noqa: PLR0913 - what training depends on
    scenes: Sequence[str | Path],
    out: str | Path,
    *,
    camera: str | Path = "plain_half",
    generations: int = 4,
    drivers: int = 8,
    seed: int = 0,
    limit: float = 30.0,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> LearntDriver:
    """Train a driver by the cross-entropy method, each one of a generation on all scenes, and write its weights."""
    random = np.random.default_rng(seed)
    mean, spread = np.array(START), np.array(SPREAD)
    environments = [ConeCourseEnvironment(scene, camera=camera, limit=limit) for scene in scenes]
    best, episodes = (-np.inf, np.array(START)), 0
    with progress("training, generations") as advance:
        for generation in range(generations):
            tried = mean + spread * random.normal(size=(drivers, len(mean)))
            tried[0] = mean
            gained = np.array(
                [np.mean([_episode(env, row, seed + generation) for env in environments]) for row in tried]
            )
            episodes += drivers * len(environments)
            order = np.argsort(-gained, kind="stable")[:_KEPT]
            mean, spread = tried[order].mean(0), np.maximum(tried[order].std(0), 0.1 * np.array(SPREAD))
            if gained[order[0]] > best[0]:
                best = float(gained[order[0]]), tried[order[0]]
            log(f"generation {generation + 1}: best {gained.max():.1f} m, mean {gained.mean():.1f} m")
            advance(generation + 1, generations)
    for environment in environments:
        environment.close()
    learnt = LearntDriver(tuple(best[1].tolist()), episodes)
    learnt.save(Path(out))
    return learnt


def _episode(environment: ConeCourseEnvironment, weights: FloatArray, seed: int) -> float:
    """Metres along the course, less what was touched."""
    driver, total, ended = LearntDriver(tuple(weights.tolist())), 0.0, False
    seen, _ = environment.reset(seed=seed)
    while not ended:
        steering, pedal = driver.act(seen["detections"], float(seen["speed"][0]))
        seen, reward, terminated, truncated, _ = environment.step((steering, pedal))
        total, ended = total + float(reward), terminated or truncated
    return total
