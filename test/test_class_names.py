"""One name, one class: a name that is looked up leads to one place."""

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
