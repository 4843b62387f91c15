"""CVAT's own XML, "CVAT for images 1.1": boxes, polygons and masks, classes by name.

`document` reads and writes whole data sets, `shapes` the shapes in the XML. The format:
https://docs.cvat.ai/docs/manual/advanced/xml_format/.
"""

from __future__ import annotations

from simjudge.data.format_support.format import Format, Source
from simjudge.data.formats.cvat.document import read_cvat, sniff_cvat, write_cvat

__all__ = ["FORMATS", "read_cvat", "sniff_cvat", "write_cvat"]


def _sniff(source: Source) -> bool:
    return (source.is_folder or source.first_byte == b"<") and sniff_cvat(source.path)


FORMATS = (
    Format(
        "cvat",
        "CVAT",
        "a CVAT folder or .xml",
        _sniff,
        20,
        read=lambda source, _options: read_cvat(source.path),
        write=write_cvat,
    ),
)
