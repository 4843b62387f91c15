"""The table of settings on the page is that of their declaration."""

from pathlib import Path

from simjudge.core.settings import declared, markdown_table
from simjudge.objects.settings import LidarObjectSettings

PAGE = Path(__file__).parents[2] / "docs/reference/objects.md"


def test_the_page_has_the_settings():
    _, table = PAGE.read_text().split("<!-- made: settings -->\n")
    assert table.partition("\n<!-- end -->")[0] == markdown_table(declared(LidarObjectSettings)).strip()
