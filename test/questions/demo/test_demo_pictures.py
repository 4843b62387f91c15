"""The simulated pictures of the demo are what its script makes of its poses, scene and cameras."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from simjudge.core.installed import installed_folder
from simjudge.questions.demo.run import SIMULATIONS

pytest.importorskip("mitsuba", reason="mitsuba is not installed: pip install simjudge[sim]")
SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATIONS)
def test_two_pictures_are_made_again(name, tmp_path, monkeypatch):
    demo = installed_folder("demo")
    monkeypatch.setattr(sys, "argv", ["make_demo_pictures.py"])
    render = runpy.run_path(str(SCRIPTS / "make_demo_pictures.py"))["render"]
    render((demo / "poses.csv").read_text(encoding="utf-8").splitlines()[:3], f"signs_{name}", 1, tmp_path / name)
    made = sorted((tmp_path / name / "images").iterdir())
    assert [file.name for file in made] == ["1_000000000.jpg", "2_000000000.jpg"]
    for file in made:
        shipped = demo / name / "images" / file.name
        difference = cv2.imread(str(file)).astype(int) - cv2.imread(str(shipped)).astype(int)
        assert np.quantile(np.abs(difference), 0.99) <= 1  # other processors add in another order
        label = Path("labels") / f"{file.stem}.txt"
        assert np.allclose(np.loadtxt(tmp_path / name / label), np.loadtxt(demo / name / label), atol=0.01)
