"""`make docs`: the site is built without a warning, from nothing but this repository."""

import os
import re
import subprocess
import sys

import pytest
from pages import ROOT

pytest.importorskip("mkdocs", reason="mkdocs is not installed: make setup-docs")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # an advertisement
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.mark.slow
@pytest.mark.long
def test_it_is_built_without_a_warning(site):
    assert "simjudge" in (site / "index.html").read_text(encoding="utf-8")
    assert "simjudge compare" in (site / "reference/commands.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.long
def test_it_fetches_nothing_from_elsewhere(site):
    pattern = re.compile(r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//|<link[^>]+(?:stylesheet|preconnect)[^>]+//")
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    assert [str(p.relative_to(site)) for p in pages if pattern.search(p.read_text(encoding="utf-8"))] == []
