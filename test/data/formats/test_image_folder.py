"""Folders of images without labels: when their pictures were taken."""

import logging

from PIL import Image

from simjudge.data.formats.image_folder import read_image_folder
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.writing import INVENTED_KEY, write_recording
from simjudge.questions.doctor.run import diagnose

START = 1_700_000_000_123
"""Milliseconds."""


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
