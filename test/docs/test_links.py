"""What the pages point to is there."""

import re

import pytest
from pages import PAGES, ROOT, prose


def anchors(path):
    """The fragments by which GitHub and the site reach the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose(path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        target, _, fragment = link.partition("#")
        path = (page.parent / target) if target else page
        assert path.exists(), link
        if fragment:
            assert fragment in anchors(path), link


def test_pictures_are_shown_somewhere():
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [p.name for p in (ROOT / "docs/images").iterdir() if f"images/{p.name}" not in shown] == []
