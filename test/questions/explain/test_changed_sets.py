"""Detections that an earlier run kept in its folder."""

import pytest

from simjudge.questions.explain.changed_sets import ChangedSets


@pytest.mark.parametrize("held", [b"", b"PK\x03\x04 cut off", b"\x93NUMPY\x01\x00\x09\x00{'a\x00': 1}"])
def test_what_is_no_file_of_detections_is_none(tmp_path, held):
    key = "0" * 32
    (tmp_path / f"{key}.npz").write_bytes(held)
    sets = ChangedSets((None, None), None, None, folder=tmp_path, _content={0: "digest"})
    assert sets._read(key, 0, None) is None
