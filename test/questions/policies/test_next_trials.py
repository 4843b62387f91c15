"""Which real trials come next: where the variance falls most, and where the choice gains most."""

import numpy as np
from policy_trials import both, counted

from simjudge.questions.policies.next_trials import expected_regret, next_trials
from simjudge.questions.policies.ranking import ranked_cells


def dealt(cells, count):
    trials = counted(*(cell for pair in cells for cell in pair))
    return {
        (trials.policies[each.policy], trials.tasks[each.task]): (each.for_rates, each.for_choice)
        for each in next_trials(ranked_cells(trials), count).cells
    }


def test_further_trials_for_rates_are_those_of_neyman():
    """As many as make the shares proportional to the spread of an outcome: 0.5 against 0.3 of a rate of a tenth."""
    found = dealt([both("a", "t", (50, 100), (1, 10)), both("b", "t", (10, 100), (1, 10))], 400)
    share = (100 + found["a", "t"][0]) / 600
    assert abs(share - 0.5 / (0.5 + np.sqrt(0.1045 * 0.8955))) < 0.01


def test_trials_for_the_choice_go_to_the_best_policies():
    cells = [both(name, "t", (hits, 20), (1, 10)) for name, hits in (("good", 15), ("nearly", 14), ("hopeless", 1))]
    found = dealt(cells, 50)
    assert found.get(("hopeless", "t"), (0, 0))[1] == 0
    assert found["good", "t"][1] + found["nearly", "t"][1] == 50


def test_all_trials_are_dealt_out():
    cells = [both(f"p{k}", task, (k + 1, 10), (1, 10)) for k in range(4) for task in ("t", "u")]
    found = dealt(cells, 23)
    assert sum(rates for rates, _ in found.values()) == sum(choice for _, choice in found.values()) == 23


def test_they_lower_the_regret_more_than_trials_dealt_evenly():
    random, lost = np.random.default_rng(0), {"next": [], "even": []}
    for _ in range(250):
        truth = random.uniform(0.3, 0.8, 5)
        first = random.binomial(10, truth)
        cells = [both(f"p{k}", "t", (int(hits), 10), (1, 10)) for k, hits in enumerate(first)]
        found = dealt(cells, 50)
        more = np.array([found.get((f"p{k}", "t"), (0, 0))[1] for k in range(5)])
        for name, given in (("next", more), ("even", np.full(5, 10))):
            rate = (first + random.binomial(given, truth) + 0.5) / (11 + given)
            lost[name].append(truth.max() - truth[rate.argmax()])
    assert np.mean(lost["next"]) < np.mean(lost["even"])


def test_the_expected_regret_is_that_of_a_plain_loop():
    random, hits, trials = np.random.default_rng(1), np.array([[6.0], [5.0]]), np.array([[10.0], [10.0]])
    more, lost = np.array([[20], [20]]), []
    for _ in range(4000):
        truth = random.beta(hits + 0.5, trials - hits + 0.5)
        rate = hits + random.binomial(more, truth)
        lost.append(truth.max() - truth[rate.argmax(), 0])
    found = expected_regret(hits, trials, more)
    assert abs(found - np.mean(lost)) < 4 * np.std(lost) / np.sqrt(4000)
    assert found < expected_regret(hits, trials, np.zeros((2, 1), int))
