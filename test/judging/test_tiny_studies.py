"""Every study of a simulated scene that comes with simjudge, from nothing in its tiny size: each step of each works."""

import pytest

from simjudge.questions.study.run import ONE_JOB
from simjudge.questions.study.study import PAGE, run_study
from simjudge.results.saved_result import ABLATION, FINDINGS, SETS, SWEEP

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.xdist_group("ultralytics"),
    pytest.mark.usefixtures("training_libraries"),
]
STUDIES = {
    "lab": [f"{part}/{SETS}" for part in ("two_nets", "splits", "all_vs_all", "pointwise")]
    + [f"sweep-net_sim/{SWEEP}", f"findings/{FINDINGS}"],
    "control_variates": ["performance/control_variates.json"],
    "streets": [f"ablation/{ABLATION}", f"ablation/{SETS}"],
    "ablation": [f"ablation/{ABLATION}", f"ablation/{SETS}"],
}
"""What each makes."""


@pytest.fixture(scope="module")
def training_libraries():
    pytest.importorskip("ultralytics", reason="the extra 'train' is not installed")
    pytest.importorskip("mitsuba", reason="the extra 'sim' is not installed")


@pytest.mark.parametrize("name", STUDIES)
def test_a_tiny_one_runs_to_its_page_and_is_kept(tmp_path, name):
    run_study(name, tmp_path / name, size="tiny", options=ONE_JOB)
    for made in STUDIES[name]:
        assert (tmp_path / name / made).is_file()
    assert (tmp_path / name / PAGE).stat().st_size > 10_000
    again = run_study(name, tmp_path / name, size="tiny", options=ONE_JOB)
    assert all(step.kept for step in again.steps)
