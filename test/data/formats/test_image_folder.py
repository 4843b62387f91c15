"""Folders of images without labels: when their pictures were taken."""

import json
import logging

import numpy as np
import pytest
from PIL import Image

from simjudge.core.errors import SimjudgeError
from simjudge.data.formats.image_folder import read_image_folder
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.writing import INVENTED_KEY, recording_stamps, write_recording
from simjudge.studies.doctor.doctor import diagnose

START = 1_700_000_000_123
"""Milliseconds."""


def write_tub(folder, times):
    """A donkeycar tub (version 2): pictures, and a line of a catalog each."""
    (folder / "images").mkdir(parents=True)
    rows = []
    for index, time in enumerate(times):
        name = f"{index}_cam_image_array_.jpg"
        Image.new("RGB", (32, 24)).save(folder / "images" / name)
        rows.append({"_index": index, "_session_id": "23-11-14_0", "_timestamp_ms": time, "cam/image_array": name,
                     "user/angle": 0.1, "user/throttle": 0.3})  # fmt: skip
    half = len(rows) // 2
    for number, part in enumerate((rows[:half], rows[half:])):
        text = "".join(json.dumps(row) + "\n" for row in part)
        (folder / f"catalog_{number}.catalog").write_text(text)
    return folder


def test_a_tub_has_the_times_of_its_catalogs_and_keeps_its_hole(tmp_path, caplog):
    """20 Hz with a hole of 4.1 s had become 10 Hz without one."""
    times = [START + 50 * k + (4050 if k >= 6 else 0) for k in range(12)]
    tub = write_tub(tmp_path / "tub", times)
    for path in (tub, tub / "images"):
        frames = read_image_folder(path)
        found = {name: int(stamp) for name, stamp in zip(frames.frame_name, frames.stamp, strict=True)}
        assert found == {f"{k}_cam_image_array_": time * 1_000_000 for k, time in enumerate(times)}
        assert np.diff(np.sort(frames.stamp)).max() / 1e9 == pytest.approx(4.1)
    with caplog.at_level(logging.WARNING):
        recording_stamps(frames)
    assert not caplog.text


def test_stamps_that_are_made_up_are_said_when_written_and_by_doctor(tmp_path, caplog):
    (tmp_path / "plain").mkdir()
    for name in ("a", "b", "c"):
        Image.new("RGB", (32, 24)).save(tmp_path / "plain" / f"{name}.png")
    with caplog.at_level(logging.WARNING):
        write_recording(read_image_folder(tmp_path / "plain"), tmp_path / "x.mcap")
    assert "plain: 3 of 3 frames say no time; their stamps are made up, 0.1 s from one to the next" in caplog.text
    assert Recording(tmp_path / "x.mcap").custom_data()[INVENTED_KEY] == "3 of 3"
    (finding,) = [each for each in diagnose(tmp_path / "x.mcap").findings if each.check == "stamps filled in"]
    assert "3 of 3 frames said no time when simjudge wrote them" in finding.note


def test_a_damaged_catalog_is_named(tmp_path):
    tub = write_tub(tmp_path / "tub", [START, START + 50])
    (tub / "catalog_1.catalog").write_text("{no json")
    with pytest.raises(SimjudgeError, match=r"catalog_1\.catalog, line 1: is not a record of a tub"):
        read_image_folder(tub)
