"""Every study of the lab that comes with simjudge, run from nothing in its tiny size: each step of each works.

What one has rendered and trained the next ones take, as `study run --reuse` does.
"""

from pathlib import Path

import pytest

from simjudge.reports.study import PAGE, run_study
from simjudge.results.result_folder import SETS, SWEEP
from simjudge.studies.study_findings import FINDINGS
from simjudge.studies.study_run import StudyRunOptions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.xdist_group("ultralytics"),
    pytest.mark.usefixtures("training_libraries"),
]
STUDIES = {
    "two_nets": [f"compared/{SETS}", f"findings/{FINDINGS}"],
    "splits": [f"compared/{SETS}", f"findings/{FINDINGS}"],
    "sweep": [f"swept-net_sim/{SWEEP}", f"findings-net_real/{FINDINGS}"],
    "all_vs_all": [f"compared/{SETS}", f"findings/{FINDINGS}"],
    "pointwise": [f"compared/{SETS}", f"findings/{FINDINGS}"],
    "control_variates": ["performance/control_variates.json"],
}
"""In the order in which they run, with what each makes."""
TAKEN = {"splits": 10, "sweep": 7, "all_vs_all": 4, "pointwise": 4}
"""Steps that studies before have done, at least."""


@pytest.fixture(scope="module")
def training_libraries():
    pytest.importorskip("ultralytics", reason="the extra 'train' is not installed")
    pytest.importorskip("mitsuba", reason="the extra 'sim' is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Holds what the studies make."""
    return tmp_path_factory.mktemp("studies")


@pytest.mark.parametrize("name", STUDIES)
def test_a_tiny_one_runs_to_its_page(folder, name):
    others = [folder / each for each in STUDIES if (folder / each / PAGE).is_file()]
    result = run_study(name, folder / name, size="tiny", options=StudyRunOptions(jobs=1, reuse=others))
    for made in STUDIES[name]:
        assert (folder / name / made).is_file()
    assert (folder / name / PAGE).stat().st_size > 10_000
    if others:
        assert sum(bool(each.taken_from) for each in result.steps) >= TAKEN.get(name, 0)
