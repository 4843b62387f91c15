"""The closed loop as a Gymnasium environment: its contract, the same drive as `drive`, seeds, and two processes."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from driving_scenes import STRAIGHT, camera_file, scene_file

from simjudge.core.errors import UsageError
from simjudge.sim.capture.lock_step import MotionSample
from simjudge.sim.driving.closed_loop import DrivenCommand, DrivenFrame
from simjudge.sim.driving.drive import DriveOptions, make_closed_loop

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium (the extra `gym`) is not installed")
pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

from gymnasium.utils.env_checker import check_env  # noqa: E402 - only where it is installed

from simjudge.sim.driving.driver_training import ConeCourseEnvironment  # noqa: E402
from simjudge.sim.driving.gymnasium_plugin import CONE_COURSE, register_environments  # noqa: E402

AHEAD = np.array([0.0, 0.5], np.float32)


@pytest.fixture
def files(tmp_path):
    """A course of 4 m, and a small camera."""
    scene = scene_file(tmp_path, STRAIGHT)
    return {"scene": str(scene), "camera": str(camera_file(tmp_path, size=[96, 54]))}


@pytest.fixture
def made(files):
    environments = []

    def make(**given):
        environments.append(ConeCourseEnvironment(**{**files, **given}))
        return environments[-1]

    yield make
    for environment in environments:
        environment.close()


@pytest.mark.parametrize(
    ("imported", "name"),
    [
        ("simjudge.sim.driving.gymnasium_plugin", CONE_COURSE),
        ("gymnasium", f"simjudge.sim.driving.gymnasium_plugin:{CONE_COURSE}"),
    ],
)
def test_a_new_program_finds_it_in_both_ways_of_the_page(imported, name):
    """Its page had said that `import gymnasium` is enough: Gymnasium has loaded no plug-ins since 1.0."""
    program = (
        f"import gymnasium, {imported}\n"
        f"from gymnasium.envs.registration import _find_spec\n"
        f"print(_find_spec({name!r}).id)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == CONE_COURSE


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_gymnasium_accepts_it(files):
    register_environments()
    environment = gymnasium.make(CONE_COURSE, **files, observe=("image", "detections", "speed"))
    check_env(environment.unwrapped, skip_render_check=True)
    environment.close()


@pytest.mark.slow
def test_the_same_commands_are_the_same_drive_as_that_of_the_closed_loop(made, files):
    """Position for position, to the last bit, at each frame."""
    loop = make_closed_loop(DriveOptions(files["scene"], files["camera"], seed=3, images=False))
    commands, places = [], []
    for event in loop.run():
        if isinstance(event, DrivenFrame):
            places.append(loop.engine.vehicle_state().pose.position[:2])
        elif isinstance(event, DrivenCommand):
            commands.append(event.command)
        elif isinstance(event, MotionSample):
            last = loop.engine.vehicle_state().pose.position[:2]
    outcome = loop.outcome()
    loop.engine.close()
    assert outcome.finished

    environment = made(rate=None)
    _, info = environment.reset(seed=3)
    seen, rewards = [(info["x"], info["y"])], []
    for command in commands:
        pedal = command.throttle - command.braking
        _, reward, terminated, truncated, info = environment.step(np.array([command.steering, pedal]))
        seen.append((info["x"], info["y"]))
        rewards.append(reward)
    assert terminated
    assert not truncated
    assert seen[:-1] == places
    assert seen[-1] == last
    assert info["outcome"] == outcome.as_record()
    begin = outcome.distance - sum(rewards)
    assert begin == pytest.approx(made_start(environment), abs=1e-9)


def made_start(environment):
    """Metres along the course at the first frame, by driving to it once more."""
    return environment.reset(seed=3)[1]["distance"]


def test_a_seed_is_a_drive_and_another_seed_another(made):
    one, other = made(), made()
    drives = []
    for environment, seed in ((one, 5), (other, 5), (other, 6)):
        observation, info = environment.reset(seed=seed)
        rows = [observation["detections"].tobytes(), info["x"], info["y"]]
        for _ in range(3):
            observation, reward, *_ = environment.step(AHEAD)
            rows += [observation["detections"].tobytes(), float(observation["speed"][0]), reward]
        drives.append(rows)
    assert drives[0] == drives[1]
    assert drives[1] != drives[2]


def test_without_a_seed_each_episode_is_another_and_all_follow_from_the_first(made):
    seeds = []
    for environment in (made(), made()):
        environment.reset(seed=1)
        seeds.append([environment.reset()[1]["seed"] for _ in range(2)])
    assert seeds[0] == seeds[1]
    assert len({1, *seeds[0]}) == 3


def test_reward_is_progress_less_what_contact_costs(made):
    dear, cheap = made(contact_cost=10.0), made(contact_cost=0.0)
    totals, touched = [], []
    for environment in (dear, cheap):
        begin, total, info = environment.reset(seed=0)[1]["distance"], 0.0, {"touched": 0}
        while not info["touched"]:
            _, reward, _, _, info = environment.step(np.array([0.35, 0.6], np.float32))
            total += reward
        totals.append(total)
        touched.append(info["touched"])
        assert total == pytest.approx(info["distance"] - begin - environment._contact_cost * info["touched"], abs=1e-9)
    assert touched[0] == touched[1] > 0
    assert totals[1] - totals[0] == pytest.approx(10.0 * touched[0])


def test_an_episode_ends_by_time_and_wants_a_reset_then(made):
    environment = made(limit=0.35)
    with pytest.raises(gymnasium.error.ResetNeeded):
        environment.step(AHEAD)
    environment.reset(seed=0)
    ends = [environment.step(AHEAD)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    with pytest.raises(gymnasium.error.ResetNeeded):
        environment.step(AHEAD)
    environment.close()
    environment.close()


def test_pictures_are_those_of_the_camera(made):
    environment = made(render_mode="rgb_array", observe=("image", "speed"))
    observation, _ = environment.reset(seed=0)
    assert observation["image"].shape == (54, 96, 3)
    assert observation["image"].std() > 1
    assert np.array_equal(environment.render(), observation["image"])
    blind = made(render_mode="rgb_array")
    blind.reset(seed=0)
    assert np.array_equal(blind.render(), observation["image"])


@pytest.mark.parametrize(
    "wrong", [{"observe": ()}, {"observe": ("smell",)}, {"render_mode": "human"}, {"most": 0}, {"laps": 0}]
)
def test_what_makes_no_sense_is_refused(made, wrong):
    with pytest.raises(UsageError):
        made(**wrong)


@pytest.mark.parametrize("action", [[0.0], [0.0, np.nan], [[0.0, 0.0]]])
def test_an_action_is_two_finite_numbers(made, action):
    environment = made()
    environment.reset(seed=0)
    with pytest.raises(UsageError, match="two finite numbers"):
        environment.step(np.array(action))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_two_processes_drive_as_one_does(made, files):
    register_environments()
    name = f"simjudge.sim.driving.gymnasium_plugin:{CONE_COURSE}"
    vector = gymnasium.make_vec(name, 2, "async", vector_kwargs={"context": "spawn"}, **files)
    single = made()
    try:
        observations, _ = vector.reset(seed=[1, 2])
        for row, seed in enumerate((1, 2)):
            observation, _ = single.reset(seed=seed)
            assert np.array_equal(observations["detections"][row], observation["detections"])
        together, rewards, *_ = vector.step(np.stack([AHEAD, AHEAD]))
        alone, reward, *_ = single.step(AHEAD)
        assert np.array_equal(together["speed"][1], alone["speed"])
        assert rewards[1] == pytest.approx(reward)
    finally:
        vector.close()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_the_example_finishes_its_course():
    path = Path(__file__).parents[3] / "examples" / "drive_by_gymnasium.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    environment = gymnasium.make(CONE_COURSE, scene="lab")
    total, info = example.drive(environment, 0, example.GAINS)
    environment.close()
    assert info["outcome"]["finished"]
    assert total == pytest.approx(info["distance"] - info["touched"], abs=0.5)
