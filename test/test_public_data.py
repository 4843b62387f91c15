"""scripts/fetch_data.py names every set of public data that tests ask for, and knows it by its digest."""

import re
import subprocess
import sys

import pytest
from project_file import ROOT
from public_data import PUBLIC_DATA

SCRIPT = ROOT / "scripts/fetch_data.py"


def printed(*arguments):
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)
    return done.stdout, done.returncode


def test_every_set_has_a_page_a_licence_and_a_digest():
    text, code = printed()
    assert code == 0
    assert len(re.findall(r"^    .*, http", text, re.MULTILINE)) == 8
    assert len(re.findall(r"^    sha256 \w{64}$", text, re.MULTILINE)) == 8


def test_a_set_without_a_direct_address_names_the_page_to_get_it_from(tmp_path):
    assert "Get it from https://github.com/elpatoo/FSKITTI" in printed("real_formula_drive", "--into", tmp_path)[0]


def test_check_tells_absent_from_altered(tmp_path):
    (tmp_path / "art1").mkdir()
    (tmp_path / "art1/cone_path_iros.csv").write_text("0\t1\n")
    text, code = printed("--check", "--into", tmp_path)
    assert code == 1
    assert {"art1: not the same files", "real_bags: absent"} <= set(text.splitlines())


@pytest.mark.skipif(not PUBLIC_DATA.is_dir(), reason=f"needs public data in {PUBLIC_DATA}")
def test_the_data_that_is_here_is_as_published():
    assert "not the same files" not in printed("--check", "--into", PUBLIC_DATA)[0]
