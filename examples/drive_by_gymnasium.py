"""A PD driver in simjudge's Gymnasium environment, and a random search for its two gains.

    pip install 'simjudge[sim,gym]'
    python examples/drive_by_gymnasium.py            # one drive with gains that finish the course
    python examples/drive_by_gymnasium.py --search 8 # eight random pairs of gains, the best one at the end

The driver is told the true distance from the lane's middle (`info["offset"]`): a floor for drivers that are trained on
what the car sees. Put a policy on `observation` in its place.
"""

from __future__ import annotations

import argparse
import warnings

import gymnasium
import numpy as np

import simjudge.sim.driving.gymnasium_plugin  # noqa: F401 - registers the environment

GAINS = (4.0, 3.0)
"""Of the driver: full steering per metre, and per metre a second."""
SPEED, HOLDING = 0.8, 0.15
"""m/s that the driver holds, and about the throttle that it takes."""


class PdDriver:
    """Steers against the distance from the lane's middle and against its change, and holds a speed."""

    def __init__(self, proportional: float, derivative: float) -> None:
        """Gains: full steering per metre, and per metre a second."""
        self.gains, self.last = (proportional, derivative), (0.0, 0.0)

    def act(self, observation: dict[str, np.ndarray], info: dict) -> np.ndarray:
        """Steering and pedal."""
        time, offset = info["time"], info["offset"]
        change = (offset - self.last[1]) / (time - self.last[0]) if self.last[0] else 0.0
        self.last = time, offset
        steering = -(self.gains[0] * offset + self.gains[1] * change)
        pedal = SPEED - float(observation["speed"][0]) + HOLDING
        return np.clip(np.array([steering, pedal]), -1.0, 1.0).astype(np.float32)


def drive(environment: gymnasium.Env, seed: int, gains: tuple[float, float]) -> tuple[float, dict]:
    """One episode: its return and what is known of it at the end."""
    observation, info = environment.reset(seed=seed)
    driver, total, ended = PdDriver(*gains), 0.0, False
    while not ended:
        observation, reward, terminated, truncated, info = environment.step(driver.act(observation, info))
        total, ended = total + float(reward), terminated or truncated
    return total, info


def main() -> None:
    """Drive once, or look for better numbers."""
    parser = argparse.ArgumentParser(description="Drive a course between cones by a Gymnasium environment.")
    parser.add_argument("--scene", default="lab")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--search", type=int, default=0, metavar="N", help="Random pairs of numbers to try.")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning, module="gymnasium")
    environment = gymnasium.make("simjudge/ConeCourse-v0", scene=given.scene)
    random = np.random.default_rng(given.seed)
    pairs = [(random.uniform(0.5, 8.0), random.uniform(0.5, 6.0)) for _ in range(given.search)] or [GAINS]
    best = (-np.inf, (0.0, 0.0))
    for gains in pairs:
        total, info = drive(environment, given.seed, gains)
        how = info["outcome"]
        print(
            f"gains {gains[0]:.2f} and {gains[1]:.2f}: return {total:.2f}, {how['why']} after {how['way']:.1f} of "
            f"{how['length']:.1f} m, touched {len(how['touched'])}"
        )
        best = max(best, (total, gains))
    environment.close()
    print(f"best: gains {best[1][0]:.2f} and {best[1][1]:.2f}, return {best[0]:.2f}")


if __name__ == "__main__":
    main()
