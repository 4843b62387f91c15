"""Small valid labelled sets of every format that simjudge reads: functions that write one into an empty folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simjudge.core.frames import FrameSet

_PNG_OF_4 = "eJzrDPBz5+WS4mJgYOD19HAJAtJMIMwBJBjC7wb9AFJ8ni6OIRVzkv+cP3DkAAMDKy8j8w6vmHyQCk9XP5d1TglNAP5cEPM="
"""Two by two pixels, as Supervisely keeps a mask."""

_MASK_OF_4 = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAAAAABX3VL4AAAADklEQVR4nGP4z8DE8B8ABgYCAYmzSBEAAAAASUVORK5CYII="
"""Two by two pixels, as labelme keeps a mask."""

_HOLES = [[[5, 3], [7, 3], [7, 4]]]


def sample_frames(count: int = 4) -> FrameSet:
    from bag_samples import sample

    return sample(count, (32, 24))


def written_set(to: str | None, name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from simjudge.data.sets import write_set

        write_set(sample_frames(), folder / name, to)
        return folder / name

    return make


def plain_yolo(folder: Path) -> Path:
    """As others write it: without simjudge's sidecar."""
    path = written_set("yolo", "set")(folder)
    for sidecar in [*path.glob("*simjudge*")]:
        sidecar.unlink()
    return path


def pascal_voc(folder: Path) -> Path:
    for number in range(3):
        text = "<annotation><filename>%d.png</filename><size><width>32</width><height>24</height></size>%s</annotation>"
        sides = "<xmin>%d</xmin><ymin>2</ymin><xmax>9</xmax><ymax>8</ymax>"
        box = f"<object><name>red</name><bndbox>{sides}</bndbox></object>"
        _write(folder / f"set/Annotations/{number}.xml", text % (number, box % 1 + box % 3))
        _write_picture(folder / f"set/Images/{number}.png")
    return folder / "set"


def semantic(folder: Path) -> Path:
    from PIL import Image

    _write(folder / "set/data.yaml", "train: images\nnames: {7: road, 23: sky}\n")
    (folder / "set/semantic").mkdir()
    for number in range(2):
        _write_picture(folder / f"set/images/{number}.png")
        Image.new("L", (32, 24), 7).save(folder / f"set/semantic/{number}.png")
    return folder / "set"


def camvid(folder: Path) -> Path:
    _write(folder / "set/label_colors.txt", "128 64 128\tRoad\n70 130 180\t\tSky\n0 0 0\tVoid\n")
    _write(folder / "set/class_dict.csv", "name,r,g,b\nRoad,128,64,128\n")
    _label_pictures(folder / "set/LabeledApproved_full", "{}_L.png")
    return folder / "set"


def camvid_csv(folder: Path) -> Path:
    camvid(folder)
    (folder / "set/label_colors.txt").unlink()
    return folder / "set"


def gta5(folder: Path) -> Path:
    _label_pictures(folder / "set/labels", "{}.png")
    return folder / "set"


def cityscapes(folder: Path) -> Path:
    _label_pictures(folder / "set/gtFine/val/bonn", "{}_gtFine_color.png")
    (folder / "set/images").rename(folder / "set/leftImg8bit")
    (folder / "set/leftImg8bit/val/bonn").mkdir(parents=True)
    for number in range(2):
        name = f"leftImg8bit/val/bonn/{number}_leftImg8bit.png"
        (folder / f"set/leftImg8bit/{number}.png").rename(folder / "set" / name)
    return folder / "set"


def _label_pictures(folder: Path, name: str) -> None:
    """Two images beside the folder, and their label pictures in it, in colours of streets."""
    import numpy as np
    from PIL import Image

    folder.mkdir(parents=True)
    root = next(parent for parent in folder.parents if parent.name == "set")
    pixels = np.zeros((24, 32, 3), np.uint8)
    pixels[:12], pixels[12:] = (70, 130, 180), (128, 64, 128)
    for number in range(2):
        _write_picture(root / f"images/{number}.png")
        Image.fromarray(pixels).save(folder / name.format(number))


def supervisely(folder: Path) -> Path:
    shapes: list[dict[str, Any]] = [
        {"geometryType": "rectangle", "points": {"exterior": [[1, 2], [9, 8]], "interior": []}},
        {"geometryType": "polygon", "points": {"exterior": [[1, 2], [9, 2], [9, 8]], "interior": _HOLES}},
        {"geometryType": "bitmap", "bitmap": {"origin": [3, 4], "data": _PNG_OF_4}},
    ]
    text = {"size": {"width": 32, "height": 24}, "objects": [{"classTitle": "red", **shape} for shape in shapes]}
    for number in range(3):
        _write(folder / f"set/a/ann/{number}.png.json", json.dumps(text))
        _write_picture(folder / f"set/a/img/{number}.png")
    _write(folder / "set/meta.json", json.dumps({"classes": [{"title": "red", "shape": "rectangle"}]}))
    return folder / "set"


def labelme(folder: Path) -> Path:
    shapes: list[dict[str, Any]] = [
        {"shape_type": "rectangle", "points": [[1, 2], [9.5, 8]], "group_id": 3},
        {"shape_type": "polygon", "points": [[1, 2], [9, 2], [9, 8]], "group_id": 3, "flags": {"occluded": True}},
        {"shape_type": "circle", "points": [[9, 9], [9, 12]]},
        {"shape_type": "mask", "points": [[3, 4], [4, 5]], "mask": _MASK_OF_4},
    ]
    for number in range(3):
        rows = [{"label": "red", "group_id": None} | shape for shape in shapes]
        size = {"imageHeight": 24, "imageWidth": 32}
        text = {"version": "5.4.1", "shapes": rows, "imagePath": f"{number}.png", "imageData": None, **size}
        _write(folder / f"set/{number}.json", json.dumps(text))
        _write_picture(folder / f"set/{number}.png")
    return folder / "set"


def bdd100k(folder: Path) -> Path:
    box = {"x1": 1.5, "y1": 2, "x2": 9, "y2": 8.25}
    flags = {"occluded": True, "truncated": False, "crowd": False}
    labels: list[dict[str, Any]] = [
        {"id": "0", "category": "car", "attributes": flags, "box2d": box},
        {"id": "1", "category": "lane/crosswalk", "poly2d": [{"vertices": [[1, 2], [3, 4]], "types": "LL"}]},
    ]
    frames = [{"name": f"{k}.png", "attributes": {"weather": "clear"}, "labels": labels} for k in range(3)]
    content = {"frames": frames, "config": {"imageSize": {"width": 32, "height": 24}, "categories": []}}
    _write(folder / "set/labels/det_20/det_val.json", json.dumps(content))
    for number in range(3):
        _write_picture(folder / f"set/images/100k/val/{number}.png")
    return folder / "set"


def bdd100k_old(folder: Path) -> Path:
    box = {"x1": 1.5, "y1": 2, "x2": 9, "y2": 8.25}
    objects = [{"category": "bike", "id": 3, "attributes": {"occluded": True}, "box2d": box}]
    for number in range(2):
        content = {"name": f"{number}", "frames": [{"timestamp": 10000, "objects": objects}]}
        _write(folder / f"set/labels/100k/val/{number}.json", json.dumps(content))
        _write_picture(folder / f"set/images/100k/val/{number}.png")
    return folder / "set"


def solo(folder: Path) -> Path:
    kind = "type.unity.com/unity.solo."
    value = {"instanceId": 1, "labelId": 1, "labelName": "red"}
    annotations = [
        {"@type": f"{kind}BoundingBox2DAnnotation", "values": [value | {"origin": [1, 2], "dimension": [9, 8.5]}]},
        {"@type": f"{kind}BoundingBox3DAnnotation", "values": [value | {"translation": [1, 2, 3.5]}]},
    ]
    metrics = [{"@type": f"{kind}OcclusionMetric", "values": [{"instanceId": 1, "percentVisible": 0.5}]}]
    for number in range(2):
        camera = {"@type": f"{kind}RGBCamera", "id": "camera", "dimension": [32.0, 24.0], "annotations": annotations}
        content = {"captures": [camera | {"filename": f"step{number}.camera.png"}], "metrics": metrics}
        _write(folder / f"set/sequence.0/step{number}.frame_data.json", json.dumps(content))
        _write_picture(folder / f"set/sequence.0/step{number}.camera.png")
    return folder / "set"


def cityscapes_polygons(folder: Path) -> Path:
    cityscapes(folder)
    labels = ("road", "car", "pole", "persongroup")
    objects = [{"label": label, "polygon": [[k, 2], [k + 9, 2], [k + 9, 14]]} for k, label in enumerate(labels)]
    for number in range(2):
        content = {"imgWidth": 32, "imgHeight": 24, "objects": objects}
        _write(folder / f"set/gtFine/val/bonn/{number}_gtFine_polygons.json", json.dumps(content))
    return folder / "set"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _write_picture(file: Path) -> None:
    import numpy as np
    from PIL import Image

    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((24, 32, 3), 90, np.uint8)).save(file)


def beside_truth(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    def both(folder: Path) -> Path:
        written_set("coco", "truth")(folder)
        return make(folder)

    return both


def coco_results(folder: Path) -> Path:
    rows = [
        {"image_id": 1 + i % 3, "category_id": 1, "bbox": [1.0, 2.0, 5.0, 6.0], "score": 0.5 + i / 10} for i in range(4)
    ]
    rows[0]["segmentation"] = {"size": [24, 32], "counts": [10, 3, 21, 3, 731]}
    rows[1]["segmentation"] = [[1.0, 2.0, 6.0, 2.0, 6.0, 8.0]]
    path = folder / "results.json"
    path.write_text(json.dumps(rows))
    return path
