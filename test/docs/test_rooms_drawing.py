"""docs/images/rooms.svg is what the imports are."""

import runpy
import sys

import pytest
from pages import ROOT

pytest.importorskip("grimp", reason="import-linter is not installed: make setup-test")
if sys.version_info < (3, 11):
    pytest.skip("the script reads pyproject.toml with tomllib, of Python 3.11", allow_module_level=True)


def test_the_drawing_is_up_to_date():
    script = runpy.run_path(str(ROOT / "scripts/draw_rooms.py"))
    assert script["drawing"]() == script["PICTURE"].read_text(encoding="utf-8"), "run: python scripts/draw_rooms.py"
