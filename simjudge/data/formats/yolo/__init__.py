"""YOLO data sets as ultralytics and Roboflow write them: images, a text file of normalised rows each, data.yaml.

`layout` finds the folders, `labels` reads and writes the text files, `dataset` does whole data sets, and
`predictions` reads a folder of predictions alone. The format: https://docs.ultralytics.com/datasets/detect/.
"""

from __future__ import annotations

from simjudge.data.format_support.format import Format
from simjudge.data.formats.yolo.dataset import read_yolo, write_yolo
from simjudge.data.formats.yolo.layout import is_yolo
from simjudge.data.formats.yolo.predictions import is_prediction_folder, read_prediction_folder

__all__ = ["FORMATS", "is_prediction_folder", "is_yolo", "read_prediction_folder", "read_yolo", "write_yolo"]

FORMATS = (
    Format(
        "yolo",
        "YOLO",
        "a YOLO folder or data.yaml",
        lambda source: is_yolo(source.path, described=source.for_predictions),
        50,
        read=lambda source, _options: read_yolo(source.path),
        write=write_yolo,
        label_pictures=True,
    ),
    Format(
        "yolo-predictions",
        "YOLO predictions",
        "a folder of YOLO predictions",
        lambda source: is_prediction_folder(source.path),
        60,
        read_predictions=lambda source, target, annotations, losses: read_prediction_folder(
            source.path, target, annotations, losses
        ),
    ),
)
