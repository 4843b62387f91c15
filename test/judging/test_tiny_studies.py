"""Every study of a simulated scene that comes with simjudge, from nothing in its tiny size: each step of each works.

What one has rendered and trained the next ones take, as `study run --reuse` does.
"""

from pathlib import Path

import pytest

from simjudge.questions.study.run import StudyRunOptions
from simjudge.questions.study.study import PAGE, run_study
from simjudge.results.saved_result import ABLATION, FINDINGS, SETS, SWEEP

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
    "streets": [f"ablation/{ABLATION}", f"ablation/{SETS}"],
    "ablation": [f"ablation/{ABLATION}", f"ablation/{SETS}"],
}
"""In the order in which they run, with what each makes."""
NETS = ["pictures_sim", "pictures_real", "net_sim", "net_real"]
SEEN = ["seen-real-net_sim", "seen-real-net_real"]
TAKEN = {
    "splits": [*NETS, "real", "sim", *SEEN, "seen-sim-net_sim", "seen-sim-net_real"],
    "sweep": [*NETS, "real", *SEEN],
    "all_vs_all": [*NETS, "RLab", "SLab"],
    "pointwise": ["pictures_sim", "net_sim"],
}
"""Steps that studies before have done."""


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
    lines: list[str] = []
    options = StudyRunOptions(jobs=1, reuse=others)
    result = run_study(name, folder / name, size="tiny", options=options, log=lines.append)
    for made in STUDIES[name]:
        assert (folder / name / made).is_file()
    assert (folder / name / PAGE).stat().st_size > 10_000
    if others:
        taken = {each.name for each in result.steps if each.taken_from}
        assert taken >= set(TAKEN.get(name, ())), [line for line in lines if "taken" in line]
