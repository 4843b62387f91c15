"""COCO: annotations (ground truth), and results (predictions) beside them or alone.

`annotations` and `results` read and write the two kinds of file, `regions` the boxes and masks in both. The format:
https://cocodataset.org/#format-data and #format-results.
"""

from __future__ import annotations

from simjudge.data.format_support.format import Format, Source
from simjudge.data.formats.coco.annotations import holds_coco, is_coco, read_coco, read_coco_content, write_coco
from simjudge.data.formats.coco.results import is_coco_results, read_results

__all__ = ["FORMATS", "is_coco", "is_coco_results", "read_coco", "read_coco_content", "read_results", "write_coco"]


def _sniff(source: Source) -> bool:
    return holds_coco(source.path) if source.is_folder else is_coco(source.json)


FORMATS = (
    Format(
        "coco",
        "COCO",
        "a COCO folder or annotations .json",
        _sniff,
        30,
        read=lambda source, _options: (
            read_coco(source.path) if source.is_folder else read_coco_content(source.json, source.path)
        ),
        write=write_coco,
    ),
    Format(
        "coco-results",
        "COCO results",
        "COCO results",
        lambda source: is_coco_results(source.json),
        35,
        read_predictions=lambda source, target, annotations, losses: read_results(
            source.json, source.path, target, annotations, losses
        ),
    ),
)
