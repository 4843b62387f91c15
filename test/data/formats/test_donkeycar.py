"""Tubs of donkeycar: pictures with the times at which they were taken, holes and all."""

import json

import pytest

import simjudge as sj
from simjudge.core.names import NO_STAMP
from simjudge.data.sets import read_set, sniff_format

START = 1_600_000_000_000
TIMES = [START + each for each in (0, 50, 100, 4250, 4300)]
"""Milliseconds: 20 Hz with a hole of 4.15 s."""


@pytest.fixture
def tub(tmp_path, image):
    def write(*, deleted=(), version=2, change=lambda records: records):
        root = tmp_path / "tub"
        folder = root / "images" if version == 2 else root
        form = "{}_cam_image_array_.jpg" if version == 2 else "{}_cam-image_array_.jpg"
        records = []
        for number, time in enumerate(TIMES):
            name = form.format(number)
            image(folder / name)
            key = "_timestamp_ms" if version == 2 else "milliseconds"
            records.append({"_index": number, key: time, "cam/image_array": name, "user/angle": 0.1})
            records[-1] |= {"_session_id": f"26-11-0{number // 3}_0"} if version == 2 else {}
        records = change(records)
        if version == 1:
            for number, record in enumerate(records):
                (root / f"record_{number}.json").write_text(json.dumps(record))
            return root
        lines = [["cam/image_array", "user/angle"], ["image_array", "float"], {}, {"created_at": 1.0}]
        catalogs = {"paths": ["catalog_0.catalog"], "current_index": 5, "max_len": 3}
        lines.append(catalogs | {"deleted_indexes": list(deleted)})
        (root / "manifest.json").write_text("\n".join(map(json.dumps, lines)) + "\n")
        for number in range(0, len(records), 3):
            part = "".join(json.dumps(record) + "\n" for record in records[number : number + 3])
            (root / f"catalog_{number // 3}.catalog").write_text(part)
            (root / f"catalog_{number // 3}.catalog_manifest").write_text("{}")
        return root

    return write


@pytest.mark.parametrize("version", [1, 2])
def test_pictures_have_the_times_of_their_records(tub, version):
    root = tub(version=version)
    assert sniff_format(root) == "donkeycar"
    frames = read_set(root)
    assert frames.stamp.tolist() == [time * 1_000_000 for time in TIMES]
    assert frames.size.tolist() == [[40, 30]] * 5
    assert list(frames.recording[2:4]) == (["26-11-00_0", "26-11-01_0"] if version == 2 else [])
    assert not frames.labelled.any()
    assert not frames.losses


def test_deleted_records_are_left_out_and_said(tub, caplog):
    frames = read_set(tub(deleted=[1, 4]))
    assert [name[0] for name in frames.frame_name] == ["0", "2", "3"]
    assert "2 records are marked as deleted" in caplog.text


def test_pictures_of_a_tub_in_the_tub_are_counted(tub, image):
    root = tub(deleted=[1])
    image(root / "tub_2/images/0_cam_image_array_.jpg")
    frames = read_set(root)
    assert (len(frames), frames.losses.counts) == (4, {"images that nothing names (left aside)": 1})


def test_more_than_nine_catalogs_stay_in_order(tub):
    def many(records):
        return [{**records[number % 5], "_timestamp_ms": START + number} if number < 5 else {} for number in range(40)]

    frames = read_set(tub(change=many))
    assert frames.stamp.tolist() == [(START + number) * 1_000_000 for number in range(5)]
    assert frames.losses.counts == {"records whose picture is not there": 35}


@pytest.mark.parametrize(
    ("wrong", "lost"),
    [
        ({"cam/image_array": "gone.jpg"}, "records whose picture is not there"),
        ({"cam/image_array": 3}, "records whose picture is not there"),
        ({"cam/image_array": "1_cam_image_array_.jpg"}, "records of a picture that another has"),
        (None, "records that cannot be read"),
    ],
)
def test_what_is_wrong_with_a_record_is_counted(tub, wrong, lost):
    frames = read_set(tub(change=lambda records: [None if wrong is None else {**records[0], **wrong}, *records[1:]]))
    assert frames.losses.counts == {lost: 1, "images that nothing names (left aside)": 1}
    assert len(frames) == 4
    assert "catalog_0.catalog:" in frames.losses.examples[lost][0]


@pytest.mark.parametrize("time", [None, "soon", -1, 10**30, True])
def test_a_record_without_a_time_has_none(tub, time):
    frames = read_set(tub(change=lambda records: [{**records[0], "_timestamp_ms": time}, *records[1:]]))
    assert frames.stamp.tolist() == [NO_STAMP, *(each * 1_000_000 for each in TIMES[1:])]


def test_a_picture_outside_of_the_tub_is_refused(tub, image, tmp_path):
    image(tmp_path / "else.jpg")
    root = tub(change=lambda records: [{**records[0], "cam/image_array": "../../else.jpg"}, *records[1:]])
    with pytest.raises(sj.SimjudgeError, match="outside"):
        read_set(root)
