"""The page of a recording: the numbers it says, which instants it shows, what stands beside them."""

import re

import numpy as np
import pytest
from bag_samples import SECOND, image
from drive_recordings import CLOUDS, METRES_NORTH, MOUNT, OFFSETS, START, cloud, drive_messages, write_drive

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.page.report_settings import ReportSettings
from simjudge.questions.recording.cloud_pictures import read_recorded_sensors
from simjudge.questions.recording.page import MOST_POINTS, choose_clouds, envelope, make_recording_view, thinned
from simjudge.questions.report.report import report


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    return write_drive(tmp_path_factory.mktemp("drive") / "d.mcap")


def test_the_sentences_say_the_numbers(drive, tmp_path):
    written = report(drive, tmp_path / "page", instants=2)
    assert not written.losses
    x, y, z = OFFSETS["gyroscope"]
    forces = OFFSETS["accelerometer"]
    # The nearest point is 5 m ahead of the lidar, the farthest the last one of the largest cloud: (2, -28, 2.3).
    farthest = (2**2 + 28**2 + 2.3**2) ** 0.5
    clouds, course, track, motion = written.sentences
    assert clouds == (
        f"/scan/points: 5 clouds at 10.00 Hz, 22 points each (20 to 24), 5.00 to {farthest:.2f} m away, 4 rings; 5"
        " points without a place (not finite, or 0 0 0); frame roof_link, drawn in base_link"
    )
    assert course == "/vehicle/odometry: 5 poses over 0.40 s, 2.00 m of way"
    assert track == (
        "/gps/fix: 2 fixes at 1.00 Hz, the first at 43.0717000, -89.4120000 (degrees north, east), 260.00 m;"
        f" 0.000 m east, {METRES_NORTH / 2**0.5:.3f} m north, 0.000 m up from the truth (RMS)"
    )
    assert motion == (
        f"/imu/data: 10 readings at 100.00 Hz; gyroscope {x:.3g}, {-y:.3g}, {z:.3g} rad/s from the truth (RMS of x, y,"
        f" z); accelerometer {forces[0]:.3g}, {forces[1]:.3g}, {-forces[2]:.3g} m/s^2 from the truth (RMS of x, y, z)"
    )
    html = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    for sentence in written.sentences:
        assert f"<li>{sentence}</li>" in html
    assert html.count('class="instant seen"') == 2
    assert html.count("camera, 20 ms later") == 2
    assert html.count("red cone (1)") == html.count("green cone (1)") == 2
    assert "Course of the drive" in html
    assert "http" not in re.sub(r'(href|src)="data:[^"]*"', "", html.replace("http-equiv", ""))


def test_points_are_drawn_in_the_cars_frame(drive):
    held = read_recorded_sensors(drive)
    (lidar,) = held.lidars
    # Ahead of a lidar that is turned left, -y, is ahead of the car.
    first = lidar.mount.to_world(lidar.clouds.read(0))[0]
    np.testing.assert_allclose(first, np.add(MOUNT, (5.0, 0.0, 0.0)), atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "rows"),
    [({}, [0, 1, 3, 4]), ({"instants": 1}, [2]), ({"instants": 100}, [0, 1, 2, 3, 4]), ({"at": (0.29, 0.04)}, [3, 0])],
)
def test_which_instants(drive, settings, rows):
    held = read_recorded_sensors(drive)
    assert [row for _, row in choose_clouds(held, ReportSettings(**settings))] == rows


def test_instants_with_a_picture_are_preferred(tmp_path):
    """Clouds of 0, 1, ... 9 s; pictures at 2.6 and 7.4 s."""
    messages = [("/p", START + k * SECOND, cloud(START + k * SECOND, [(1.0, 2.0, 3.0)])) for k in range(10)]
    seen = [START + 2_600_000_000, START + 7_400_000_000]
    messages += [("/camera/image_raw", stamp, image(stamp)) for stamp in seen]
    held = read_recorded_sensors(write_drive(tmp_path / "d.mcap", messages))
    assert [row for _, row in choose_clouds(held, ReportSettings())] == [3, 7]
    assert [row for _, row in choose_clouds(held, ReportSettings(at=(0.0,)))] == [0]


def test_figures_are_saved(drive, tmp_path, monkeypatch):
    monkeypatch.setattr("simjudge.page.figures.KINDS", ("svg",))
    report(drive, tmp_path / "x.html", instants=1, figures=tmp_path / "figures", radius=8.0)
    names = {"scan_points_0.20s_top", "scan_points_0.20s_perspective", "course", "gps_1", "imu_1"}
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {
        *(f"{name}.svg" for name in names),
        *(f"{name}.csv" for name in names - {"scan_points_0.20s_top"}),  # a picture alone
    }
    assert "The square is 16 m wide" in (tmp_path / "x.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"at": (9.0,)}, r"--at 9: the clouds of /scan/points end at 0.40 s"),
        ({"topic": "scan/point"}, r"scan/point is not a topic of point clouds in it; is /scan/points meant"),
        ({"csv": "x.csv"}, r"--csv is for results of compare and sweep"),
        ({"label": "a=b"}, r"--label is for results"),
    ],
)
def test_what_makes_no_sense(drive, tmp_path, settings, words):
    with pytest.raises(UsageError, match=words):
        report(drive, tmp_path / "x.html", **settings)
    assert not (tmp_path / "x.html").exists()


def test_a_recording_stands_alone(drive, tmp_path):
    with pytest.raises(UsageError, match="a recording has a page of its own; report it alone"):
        report([drive, tmp_path], tmp_path / "x.html")


def test_a_recording_of_nothing_to_show(tmp_path):
    drive = write_drive(tmp_path / "d.mcap", [("/camera/image_raw", START, image(START))])
    with pytest.raises(SimjudgeError, match="holds no point cloud, IMU, GPS fix or pose to show; it holds /camera"):
        report(drive, tmp_path / "x.html")


def test_clouds_alone_and_damaged_ones(tmp_path):
    damaged = cloud(START + 1, [(1.0, 2.0, 3.0)])
    damaged.width = 9
    messages = [("/p", START, cloud(START, [(1.0, 2.0, 3.0)])), ("/p", START + 1, damaged)]
    written = report(write_drive(tmp_path / "d.mcap", messages), tmp_path / "x.html")
    assert written.sentences == ["/p: 1 cloud, 1 point each, 3.74 to 3.74 m away, 1 ring; frame roof_link"]
    assert written.losses.counts == {"clouds that cannot be read": 1}
    assert "1 cloud that cannot be read" in (tmp_path / "x.html").read_text(encoding="utf-8")


def test_a_picture_long_before_is_none(tmp_path):
    early = [("/camera/image_raw", START - SECOND, image(START - SECOND))]
    later = [each for each in drive_messages() if each[0] != "/camera/image_raw"]
    held = read_recorded_sensors(write_drive(tmp_path / "d.mcap", early + later))
    view = make_recording_view(held, ReportSettings(instants=1))
    assert view.instants[0].picture is None
    assert view.instants[0].picture_note == "no picture within 0.5 s"


def test_of_several_cameras_the_first_is_shown_and_said(tmp_path):
    rear = [("/rear/image_raw", START + k, image(START + k)) for k in range(CLOUDS)]
    held = read_recorded_sensors(write_drive(tmp_path / "d.mcap", drive_messages() + rear))
    assert held.frames is not None
    assert held.notes == [
        "of several cameras /camera/image_raw is shown; --image-topic chooses: /camera/image_raw, /rear/image_raw"
    ]
    assert read_recorded_sensors(held.path, image_topic="/rear/image_raw").notes == []


def test_an_envelope_keeps_every_stretchs_peaks():
    random = np.random.default_rng(2)
    time, values = np.arange(50_000) / 100, random.normal(size=50_000)
    short, kept = envelope(time, values)
    assert len(short) == MOST_POINTS
    assert (np.diff(short) > 0).all()
    assert {values.min(), values.max()} <= set(kept.tolist())
    stretch = 50_000 // (MOST_POINTS // 2)
    for k in (0, 1, 700):
        part = values[k * stretch : (k + 1) * stretch]
        assert sorted(kept[2 * k : 2 * k + 2]) == [part.min(), part.max()]
    assert envelope(time[:10], values[:10])[1].tolist() == values[:10].tolist()
    way = np.stack([time, values], -1)
    assert len(thinned(way)) == MOST_POINTS
    assert thinned(way)[-1].tolist() == way[-1].tolist()
