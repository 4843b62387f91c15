"""The detector that comes with simjudge: small, described truthfully, and good on photographs it has never seen."""

import json

import numpy as np
import pytest
from public_data import PUBLIC_DATA, missing

from simjudge.core.files import hash_files
from simjudge.core.installed import DETECTOR, shipped_files
from simjudge.data.sets import read_set
from simjudge.detectors.assignment import OVERALL, average_precision
from simjudge.detectors.detection import detect, load_detector

SIGNALS = PUBLIC_DATA / "real_signals"
NAME = "real_signals_yolo11n"


def test_size_and_card():
    model = shipped_files(DETECTOR)[NAME]
    card = json.loads(model.with_suffix(".json").read_text())
    assert model.stat().st_size == card["bytes"] <= 6_000_000
    assert hash_files(model) == card["sha256"]
    detector = load_detector(NAME)
    assert list(detector.class_names.values()) == card["classes"]
    assert detector.input_size == (320, 320)
    assert len(detector([np.zeros((240, 320, 3), np.uint8)])) == 1


@pytest.mark.slow
def test_on_the_test_split():
    if not SIGNALS.is_dir():
        pytest.skip(missing("real_signals"))
    at50, mean = average_precision(detect(read_set(SIGNALS / "test"), load_detector(NAME)))[OVERALL]
    assert at50 == pytest.approx(0.918, abs=0.01)
    assert mean == pytest.approx(0.547, abs=0.01)
