"""Masks that would take gigabytes: counted, and their boxes are kept where there are boxes."""

import json

import pytest

from simjudge.data.sets import read_set

CVAT = """<annotations><meta><task><labels><label><name>red</name></label></labels></task></meta>
<image id="0" name="a.png" width="{width}" height="{height}"><mask label="red" source="manual" occluded="0" rle="{rle}"
left="0" top="0" width="{mask_width}" height="{mask_height}"/><box label="red" xtl="1" ytl="1" xbr="5" ybr="5"/></image>
</annotations>"""


@pytest.mark.parametrize(
    ("image", "mask", "rle"),
    [
        ((40, 30), (1_000_000, 1_000_000), "5, 999999999995"),
        ((60_000, 60_000), (10, 10), "5, 95"),
        ((40, 30), (10, 10), "9223372036854775807, 9223372036854775807, 102"),
        ((40, 30), ("1e9", "1e9"), "5"),
        ((40, 30), ("inf", 10), "5"),
        ((40, 30), (10, 10), "9" * 30),
    ],
)
def test_cvat(tmp_path, image, mask, rle):
    path = tmp_path / "annotations.xml"
    path.write_text(CVAT.format(width=image[0], height=image[1], mask_width=mask[0], mask_height=mask[1], rle=rle))
    frames = read_set(path)
    assert len(frames.objects) == 1
    assert frames.losses.counts["malformed rows"] == 1


@pytest.mark.parametrize(
    "mask",
    [
        {"size": [60_000, 60_000], "counts": [5, 3_599_999_995]},
        [[0, 0, 59_000, 0, 59_000, 59_000]],
    ],
)
def test_coco(tmp_path, mask):
    row = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5], "segmentation": mask}
    content = {
        "images": [{"id": 1, "file_name": "a.png", "width": 60_000, "height": 60_000}],
        "categories": [{"id": 1, "name": "red"}],
        "annotations": [row],
    }
    (tmp_path / "a.json").write_text(json.dumps(content))
    frames = read_set(tmp_path / "a.json")
    assert len(frames.objects) == 1
    assert frames.losses.counts["unusable masks (the box is kept)"] == 1
