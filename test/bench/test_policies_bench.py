"""The bench of policies in a small form: known answer 5."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench_policies", BENCH / "policies.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("cells", "trials"), [(3, 10), (10, 20)])
def test_false_gaps_are_as_rare_as_told(bench, cells, trials):
    random, said, tables = np.random.default_rng(0), 0, 80
    for _ in range(tables):
        rate = random.uniform(0.3, 0.7, cells)
        said += bench.judged(bench.made(rate, rate, (trials, trials), random)).verdict in bench.GAPS
    assert said <= tables * 0.06 + 3 * np.sqrt(tables * 0.06 * 0.94)


def test_pairs_save_a_fifth_and_hold(bench):
    random = np.random.default_rng(1)
    found = [bench.sharpen_mean(*bench.paired(random, 0.5, 0.7, 100, 2000)) for _ in range(60)]
    assert np.mean([one.both.width for one in found]) <= 0.8 * np.mean([one.real.width for one in found])
    assert np.mean([one.both.low <= 0.5 <= one.both.high for one in found]) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 60)


def test_the_bench_prints_tables(bench, capsys):
    bench.main(["--share", "0.005", "--only", "sequences", "means"])
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| ") for line in lines) == 2 + 2 + 8 + 12
