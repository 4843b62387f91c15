"""A study of label pictures with every kind of step that the study streets has beside rendering, on painted streets."""

import pytest
from painted_streets import paint_streets

from simjudge.questions.many_sets.result import load_many_sets
from simjudge.questions.study.run import ONE_JOB
from simjudge.questions.study.study import run_study

torch = pytest.importorskip("torch", reason="the extra 'train' is not installed")
pytest.importorskip("distributed", reason="the extra 'study' is not installed")
pytestmark = [pytest.mark.xdist_group("ultralytics"), pytest.mark.slow]

STUDY = """
title: Pixels
inputs: {real: a folder, sim: a folder}
steps:
  test-real: {filter: {source: {input: real}, noise: 1}}
  test-sim: {filter: {source: {input: sim}, match_colours: {input: real}, lens: lens.yaml}}
  net: {train: {data: {input: sim}, task: segment-semantic, size: pico, input_size: 96x64, epochs: 1, batch: 4, device: cpu}}
  seen:
    matrix: {set: [real, sim], net: [net]}
    segment: {source: {step: "test-${set}"}, net: {step: "${net}"}}
  compared:
    compare_sets: {predictions: {steps: seen}, domains: {real: real, sim: sim}, twins: [[real, sim]], task: semantic, patch: 16x16, theta: 0.5, draws: 20, block: 0}
"""  # noqa: E501 - a file of lines as people write them


def test_filtered_learnt_segmented_and_compared(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "lens.yaml").write_text(
        "size: [96, 64]\nfield_of_view: 80\nlens: {model: radial, k1: -0.25, k2: 0.08}\nrate: 30\n"
    )
    (tmp_path / "pixels.yaml").write_text(STUDY)
    sets = {name: paint_streets(tmp_path / name, 6, seed=4) for name in ("real", "sim")}
    run_study(tmp_path / "pixels.yaml", tmp_path / "out", inputs=sets, options=ONE_JOB)
    found = load_many_sets(tmp_path / "out" / "compared")
    assert {(each.a, each.b) for each in found.comparisons} == {("real", "sim"), ("sim", "real")}
    assert found.comparisons[0].overall.numbers.pointwise_pairs == 6 * 6 * 4
    page = (tmp_path / "out" / "index.html").read_text()
    assert "144 patches" in page
    assert "Patch by patch" in page
    assert "objects" not in page
