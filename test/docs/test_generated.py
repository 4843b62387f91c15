"""`make lint` fails where a generated file is old, and names the file and the remedy."""

import runpy

from pages import ROOT

SCRIPT = runpy.run_path(str(ROOT / "scripts/generated.py"))


def test_an_old_file_is_named_and_written_anew(tmp_path, monkeypatch, capsys):
    made = tmp_path / "page.txt"
    monkeypatch.setitem(SCRIPT["main"].__globals__, "MAKERS", ("maker",))
    monkeypatch.setitem(SCRIPT["main"].__globals__, "SCRIPTS", tmp_path / "scripts")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/maker.py").write_text(
        "from pathlib import Path\ndef files():\n    return {Path(__file__).parents[1] / 'page.txt': 'new'}\n"
    )
    made.write_text("old")
    assert SCRIPT["main"](["--check"]) == "not what the sources say any more: page.txt; run: make generated"
    assert made.read_text() == "old"
    assert SCRIPT["main"]([]) is None
    assert (made.read_text(), capsys.readouterr().out) == ("new", "page.txt: written anew\n")
    assert SCRIPT["main"](["--check"]) is None  # exit code 0
