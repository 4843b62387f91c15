"""The page of a fit: before and after, with the numbers of fit.json."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from painted_discs import RedDetector, paint, seen_by
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.method.certainty import Certainty
from simjudge.questions.fit.lidar_estimates import ring_distributions
from simjudge.questions.fit.page import (
    course_figure,
    drop_out_figure,
    fit_word,
    held_out_figure,
    range_noise_figure,
    write_lidar_fit_page,
)
from simjudge.questions.fit.result import PAGE_FILES, CameraFit, HeldOutW1, LidarFit, ParameterFit
from simjudge.sim.sensors.camera.chain import Step
from simjudge.sim.sensors.lidar.beam_estimation import RingSamples

FLOOR = {"noise": 0.02, "noise_q95": 0.03}


def made(after: float, p: float) -> CameraFit:
    def held(w1: float, p: float) -> HeldOutW1:
        return HeldOutW1(w1, Certainty(p_value=p, p_adjusted=p, **FLOOR))

    red = ParameterFit("red", "", 1.0, 0.8, 0.82, 0.8, 0.84, 0.09)
    return CameraFit(
        (red,),
        (),
        held(0.1, 0.001),
        held(0.04, 0.01),
        held(after, p),
        (0.11, 0.05, 0.024),
        (20, 20),
        3,
        (0.05, 0.061, 0.024),
    )


@pytest.mark.parametrize(
    ("after", "p", "word"),
    [(0.025, 0.3, "No gap can be told"), (0.06, 0.01, "A gap is left"), (0.2, 0.01, "No better")],
)
def test_the_outcome_is_said_in_a_few_words(after, p, word):
    assert fit_word(made(after, p)) == word


def test_figures_show_the_numbers_of_the_fit():
    found = made(0.025, 0.3)
    svg = held_out_figure(found).svg()
    for text in ("0.100", "0.040", "0.025", "B's own camera", "fitted"):
        assert text in svg
    axes = course_figure(found).axes[0]
    tried, best = axes.get_lines()[:2]
    assert tried.get_ydata().tolist() == [0.05, 0.061, 0.024]
    assert best.get_ydata().tolist() == [0.05, 0.05, 0.024]
    unknown = replace(found, after=HeldOutW1(0.025, Certainty()))
    assert "0.025" in held_out_figure(unknown).svg()


def test_the_page_of_a_lidar_shows_its_rings_and_what_is_not_told(tmp_path):
    camera, rng, ring = made(0.025, 0.3), np.random.default_rng(1), np.arange(4)
    samples = [
        RingSamples(rng.normal(0, sigma, 50_000), ring, np.full(4, 1000 - lost), np.full(4, lost))
        for sigma, lost in ((0.03, 250), (0.01, 40), (0.02, 150))
    ]
    numbers = (
        ParameterFit("range_noise", "m", 0.0, 0.028, 0.0283, 0.02, 0.03, 0.09),
        ParameterFit("drop_out", "", 0.0, 0.21, 0.22, 0.0, 0.4, 0.08),
    )
    found = LidarFit(
        numbers,
        False,
        (samples[0].statistics(), samples[1].statistics()),
        camera.before,
        camera.start,
        camera.after,
        camera.fitted_w1,
        True,
        (5, 7),
        camera.course,
        ring_distributions(samples),
    )
    write_lidar_fit_page(found, ("track", "sim"), tmp_path)
    page = (tmp_path / "fit.html").read_text()
    for text in (
        "The lidar under which sim predicts track best",
        "0.0283",
        "0.0200 to 0.0300",
        "25.0 %",
        "4.0 %",
        "15.0 %",
        "These clouds cannot tell drop_out.",
        "The judge cannot tell",
        "Divergence is not fitted",
        "5 clouds were fitted and 7 held out",
        "lidars tried",
        "0.100",
        "0.025",
    ):
        assert text in page
    assert "range_noise." not in page
    curves = {line.get_label(): line.get_ydata().tolist() for line in drop_out_figure(found).axes[0].get_lines()}
    assert curves == {"A: 25.0 %": [25.0] * 4, "B before: 4.0 %": [4.0] * 4, "B fitted: 15.0 %": [15.0] * 4}
    axes = range_noise_figure(found).axes[0]
    steps = axes.patches[0].get_data()
    peak = float(axes.patches[1].get_label().split("up to ")[1].split(",")[0])
    assert np.isclose(peak, 100 / (10 * np.sqrt(2 * np.pi)), atol=0.15)
    assert axes.patches[2].get_data().values.max() < axes.get_ylim()[1] < peak
    middle = np.diff(steps.edges) / 2 + steps.edges[:-1]
    assert np.isclose((steps.values * np.diff(steps.edges)).sum(), 100, atol=0.1)
    assert np.isclose(np.sqrt((steps.values * middle**2).sum() / steps.values.sum()), 30, rtol=0.03)


def test_ranges_in_steps_give_noise_in_steps():
    rng = np.random.default_rng(2)
    found = set()
    for sigma in np.linspace(0.015, 0.025, 60):
        ranges = np.round(rng.normal(10, sigma, (3, 20_001)) / 0.004) * 0.004
        bend = ranges[2] - 2 * ranges[1] + ranges[0]
        sample = RingSamples(bend / np.sqrt(6), np.arange(1), np.array([20_001]), np.array([0]))
        found.add(round(sample.statistics().range_noise, 5))
    assert np.allclose(np.diff(sorted(found)), 0.0024, atol=0.0001)


def test_python_and_command_write_page_and_figures(tmp_path):
    scene = paint(2, 20)
    for name, frames in (("a", seen_by(scene, [Step("white_balance", {"red": 0.8, "blue": 1.1})])), ("b", scene)):
        sj.write(frames, tmp_path / name, "coco")
    given = {
        "paired": True,
        "draws": 40,
        "patch": (24, 24),
        "theta": 0.6,
        "sample": 4,
        "block": 0,
        "parameters": "white_balance",
        "evaluations": 0,
    }
    found = sj.fit(tmp_path / "a", tmp_path / "b", tmp_path / "out", detector=RedDetector(), **given)
    page = (tmp_path / "out" / "fit.html").read_text()
    assert found.sentences()[0] in page
    assert page.count("<img") == 9
    assert f"{found.before.mean_w1:.3f}" in page
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"detections", "fit.json", *PAGE_FILES}
    assert np.isclose(found.fitted_w1[1], found.course[0])
    (tmp_path / "red.yaml").write_text(
        "min_area: 20\nclasses:\n  1: {name: disc, hue: [345, 15], saturation: [0.5, 1], value: [0.2, 1]}\n"
    )
    line = [
        "fit",
        "a",
        "b",
        "--out",
        "told",
        "--model",
        "red.yaml",
        "--paired",
        "--patch",
        "24x24",
        "--evaluations",
        "0",
        "--sample",
        "3",
        "--draws",
        "40",
        "--parameters",
        "exposure",
    ]
    line = [str(tmp_path / part) if part in ("a", "b", "told", "red.yaml") else part for part in line]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    assert "fit.html" in done.output.replace("\n", "")
