"""One name, one class, one test module: a name that is looked up leads to one place."""

import re
from collections import defaultdict

from project_file import ROOT


def test_no_two_classes_share_a_name():
    places = defaultdict(list)
    for folder in ("simjudge", "nodes"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
                places[name].append(str(path.relative_to(ROOT)))
    assert len(places) > 500
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_two_test_modules_share_a_name():
    """Without packages pytest knows a module by its name alone, and collects the first of two only."""
    places = defaultdict(list)
    for path in (ROOT / "test").rglob("test_*.py"):
        places[path.name].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
