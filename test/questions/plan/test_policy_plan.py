"""How many trials show a gap, rule it out, or settle the choice: by the formula of two proportions, and by trying."""

import math

import numpy as np
import pytest
from support import processes

import simjudge as sj
from simjudge.questions.plan.plan import NUMBERS, plan_policies


def rows(rate, tasks=1, policies=("a", "b")):
    return [
        {"policy": p, "task": f"t{t}", "side": side, "success": k < round(100 * rate)}
        for p in policies
        for t in range(tasks)
        for side in ("real", "sim")
        for k in range(100)
    ]


@pytest.mark.parametrize(("rate", "gap"), [(0.5, 0.2), (0.3, 0.1), (0.5, 0.1)])
def test_one_cell_needs_what_two_proportions_need(rate, gap):
    found = plan_policies(sj.read_policy_trials(rows(rate)), gap).needed[0]
    other = rate + gap
    exact = (1.96 + 0.8416) ** 2 * (rate * (1 - rate) + other * (1 - other)) / gap**2
    around = [n for n in NUMBERS if 0.75 * exact <= n <= 1.5 * exact]
    assert found.show in around


def test_more_cells_need_fewer_trials_each():
    one, _, whole = plan_policies(sj.read_policy_trials(rows(0.5, tasks=10)), 0.1).needed
    assert (one.cells, whole.cells) == (1, 20)
    assert whole.show < one.show / 2
    assert whole.rule_out < one.rule_out


def test_further_trials_lower_the_expected_loss():
    regret = [value for _, value in plan_policies(sj.read_policy_trials(rows(0.5)), 0.1).regret]
    assert np.all(np.diff(regret) < 0.002)
    assert regret[0] > regret[-1]
    # Two policies of 50 of 100: the mean of half the difference of two equal beta distributions.
    spread = math.sqrt(2 * 0.25 / 102)
    assert regret[0] == pytest.approx(spread / math.sqrt(2 * math.pi), rel=0.05)


def test_the_command_takes_a_table_of_trials(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("policy,task,side,n,k\n" + "".join(f"{p},t,{s},20,12\n" for p in "ab" for s in ("real", "sim")))
    done = processes.run(
        [*processes.SIMJUDGE, "plan", path, "--gap", "0.1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "trials that show 0.1" in " ".join(done.stdout.split())
    assert "expected to cost" in done.stderr
