"""Boxes in space and poses as Gazebo, Isaac Sim, CARLA and Chrono::ROS have them, against rays cut with boxes."""

import numpy as np
import pytest
from bag_samples import write_mcap
from simulated_worlds import raw_image
from space_worlds import FORMS, STAMPS, carla, expected, found, isaac, photograph, recorded, simulator
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError
from simjudge.sim.capture.simulators.labelling import label_recording


@pytest.mark.parametrize("form", list(FORMS))
def test_every_form_is_seen_as_rays_see_it(tmp_path, form):
    source = recorded(tmp_path, form)
    frames = label_recording(source, simulator(tmp_path, form), classes=FORMS[form][2])
    assert not frames.losses, frames.losses.lines()
    assert any(row[5] < 1 for stamp in STAMPS for row in expected(stamp))
    for index, stamp in enumerate(STAMPS):
        assert found(frames, index) == expected(stamp)
        assert np.array_equal(frames.images.read(index), photograph())


def test_hidden_things_are_labelled_where_that_is_asked_for(tmp_path):
    source = recorded(tmp_path, "gazebo")
    every = label_recording(source, "gazebo", classes=["1=car", "2=truck"], min_visible=0.0)
    few = label_recording(source, "gazebo", classes=["1=car", "2=truck"], min_visible=0.9)
    assert found(every, 1) == expected(STAMPS[1], 0.0)
    assert found(few, 1) == expected(STAMPS[1], 0.9)
    assert len(few.objects) < len(every.objects)


@pytest.mark.parametrize("form", list(FORMS))
def test_every_form_is_judged_end_to_end(tmp_path, form):
    labelled, seen = tmp_path / "labelled.mcap", str(tmp_path / "seen.mcap")
    more = [f"--class={each}" for each in FORMS[form][2]]
    for arguments in (
        ["convert", str(recorded(tmp_path, form)), str(labelled), f"--simulator={simulator(tmp_path, form)}", *more],
        [
            "detect",
            str(labelled),
            "--model=cones_red_green",
            f"--out={seen}",
            "--rename=red=car",
            "--rename=green=truck",
        ],
        ["compare", seen, seen, f"--out={tmp_path / 'report'}", "--draws=20"],
    ):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, (arguments, done.output, done.exception)


def test_what_is_missing_is_named(tmp_path):
    def without(topic):
        path = tmp_path / f"{topic.strip('/').replace('/', '_')}.mcap"
        every = [(name, stamp, message) for stamp in STAMPS for name, message in carla(stamp) if name != topic] + [
            (FORMS["carla"][1], stamp, raw_image(stamp, photograph(), "rgb8")) for stamp in STAMPS
        ]
        write_mcap(path, every)
        return path

    with pytest.raises(SimjudgeError, match="no transforms say where 'ego/rgb_front' is in 'map'"):
        label_recording(without("/tf"), "carla")
    with pytest.raises(SimjudgeError, match="no camera_info; record it"):
        label_recording(without("/carla/ego/rgb_front/camera_info"), "carla")


def test_an_image_of_unknown_camera_pose_has_no_labels(tmp_path):
    """Not "nothing is there": that would be a label too."""
    every = [(name, stamp, message) for stamp in STAMPS for name, message in isaac(stamp) if name != "/tf"] + [
        (FORMS["isaac_sim"][1], stamp, raw_image(stamp, photograph(), "rgb8")) for stamp in STAMPS
    ]
    every += [message for stamp in STAMPS[:2] for message in [("/tf", stamp, dict(isaac(stamp))["/tf"])]]
    write_mcap(tmp_path / "drive.mcap", every)
    frames = label_recording(tmp_path / "drive.mcap", "isaac_sim")
    assert frames.labelled.tolist() == [True, True, False]
    assert frames.losses.counts == {"label messages at a time without a pose of the camera": 1}
    assert found(frames, 1) == expected(STAMPS[1])
