"""Sets of objects of unlike size with a gap that is known, and the adjusted W1 of method.md section 9, word by word.

`python test/method/unlike_sizes.py 20` prints adjusted and plain W1, less the noise within the sets.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from scipy.stats import wasserstein_distance

from simjudge.method.performance_model import PerformanceModel, fit_performance


@dataclass(frozen=True)
class UnlikeSizes:
    """A's sizes are beta(2, 3), B's beta(3, 2) on 20 to 60 px, one object a frame. Performance falls with size.

    Attributes:
        frames: of each set.
        gap: by which B's performance is less, at every size.
        curve: "line" in the logarithm of size, or "saturating".
        missed: share missed at 20 px; it falls to a quarter at 60 px. The same in both sets.
    """

    frames: int = 400
    gap: float = 0.0
    curve: str = "line"
    missed: float = 0.0

    def mean(self, size: np.ndarray) -> np.ndarray:
        """Expected performance of A's found objects."""
        if self.curve == "saturating":
            return 0.5 + 0.4 * np.exp(-(size - 20) / 8)
        return 0.9 - 0.45 * np.log(size / 20) / np.log(3)

    def draw(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Performance, size and whether in B, of A's samples, then B's."""
        size = 20 + 40 * np.concatenate([random.beta(2, 3, self.frames), random.beta(3, 2, self.frames)])
        in_b = np.arange(2 * self.frames) >= self.frames
        value = np.clip(self.mean(size) - self.gap * in_b + random.normal(0, 0.08, len(size)), 0.01, 1)
        miss_share = self.missed * np.exp(-np.log(4) * (size - 20) / 40)
        value[random.random(len(size)) < miss_share] = 0
        return value, size, in_b


def similar_sizes(size: np.ndarray, of: int, theta: float) -> np.ndarray:
    """Which squares are similar to one of them, all in the centre of a patch that holds them."""
    low, high = np.minimum(size, size[of]), np.maximum(size, size[of])
    return np.flatnonzero(low**2 >= theta * high**2)


def adjusted_w1_reference(
    performance: np.ndarray, model: PerformanceModel, context: int, side_a: list[int], side_b: list[int]
) -> float:
    """Adjusted W1 of the batch of one context: every sample as if it had the context's covariates."""
    sides = []
    for members in (side_a, side_b):
        values, weights = [], []
        for i in members:
            if performance[i] > 0:
                moved = performance[i] - model.found_mean[i] + model.found_mean[context]
                values.append(min(max(moved, 0.0), 1.0))
                weights.append(model.found_share[context] / model.found_share[i])
            else:
                values.append(0.0)
                weights.append((1 - model.found_share[context]) / (1 - model.found_share[i]))
        sides.append((values, weights))
    (values_a, weights_a), (values_b, weights_b) = sides
    return float(wasserstein_distance(values_a, values_b, weights_a, weights_b))


def mean_w1(
    performance: np.ndarray,
    size: np.ndarray,
    in_b: np.ndarray,
    theta: float,
    model: PerformanceModel | None,
    contexts: int = 100,
) -> tuple[float, float]:
    """Mean adjusted W1 (plain W1 without a model) over some contexts of A, and the same of halves of each set.

    The halves tell the noise: the difference of the halves of a side has four times the variance of that side's mean.
    """
    if model is None:
        model = PerformanceModel(np.zeros(len(size)), np.full(len(size), 0.5))
    half = np.random.default_rng(7).random(len(size)) < 0.5
    whole, noise = [], []
    for context in np.linspace(0, (~in_b).sum() - 1, contexts).astype(int):
        batch = similar_sizes(size, context, theta)
        a, b = batch[~in_b[batch]], batch[in_b[batch]]
        if len(b) == 0:
            continue
        whole.append(adjusted_w1_reference(performance, model, context, list(a), list(b)))
        halves = [(side[half[side]], side[~half[side]]) for side in (a, b)]
        if min(len(part) for pair in halves for part in pair) > 0:
            noise.append([adjusted_w1_reference(performance, model, context, list(c), list(d)) for c, d in halves])
    return float(np.mean(whole)), float(np.hypot(*np.mean(noise, axis=0)) / 2)


def above_noise(w1: float, noise: float) -> float:
    """What W1 has above the noise: the plain root, right where the gap is alike in all contexts."""
    return float(np.sign(w1 - noise) * np.sqrt(abs(w1**2 - noise**2)))


def main(runs: int) -> None:
    """Print the table."""
    print("curve       missed  gap  theta   plain  adjusted")
    for curve, missed in (("line", 0.0), ("line", 0.4), ("saturating", 0.0), ("saturating", 0.4)):
        for gap in (0.0, 0.1):
            for theta in (0.5, 0.6, 0.7, 0.8, 0.9):
                sets, found = UnlikeSizes(gap=gap, curve=curve, missed=missed), []
                for seed in range(runs):
                    value, size, in_b = sets.draw(np.random.default_rng(seed))
                    model = fit_performance(value, 2 * np.log(size)[:, None], in_b, np.arange(len(size)))
                    found.append([mean_w1(value, size, in_b, theta, m) for m in (None, model)])
                (plain, noise), (adjusted, own_noise) = np.mean(found, axis=0)
                shown = f"{above_noise(plain, noise):8.3f} {above_noise(adjusted, own_noise):8.3f}"
                print(f"{curve:<12}{missed:6.1f} {gap:5.1f} {theta:5.1f}{shown}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
