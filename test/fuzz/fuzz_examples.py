"""Small valid examples of everything that simjudge reads: functions that write one into an empty folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz_attack import ROOT

from simjudge.core.frames import FrameSet

_PNG_OF_4 = "eJzrDPBz5+WS4mJgYOD19HAJAtJMIMwBJBjC7wb9AFJ8ni6OIRVzkv+cP3DkAAMDKy8j8w6vmHyQCk9XP5d1TglNAP5cEPM="
"""Two by two pixels, as Supervisely keeps a mask."""

_MASK_OF_4 = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAAAAABX3VL4AAAADklEQVR4nGP4z8DE8B8ABgYCAYmzSBEAAAAASUVORK5CYII="
"""Two by two pixels, as labelme keeps a mask."""

_HOLES = [[[5, 3], [7, 3], [7, 4]]]


def _sample(count: int = 4) -> FrameSet:
    from bag_samples import sample

    return sample(count, (32, 24))


def written_set(to: str | None, name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from simjudge.data.sets import write_set

        write_set(_sample(), folder / name, to)
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
    root = next(each for each in folder.parents if each.name == "set")
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
        rows = [{"label": "red", "group_id": None} | each for each in shapes]
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


def bag(name: str) -> Callable[[Path], Path]:
    return written_set(None, name)


def bag_folder(folder: Path) -> Path:
    from pose_samples import START, odometry, turning, write_messages

    rows = [("/odom", START + i * 10**8, odometry(START + i * 10**8, turning(i / 10))) for i in range(6)]
    return Path(write_messages(folder / "bag", rows))


def pose_bag(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from pose_samples import START, transforms, turning, write_messages

        stamps = [START + i * 10**8 for i in range(6)]
        rows = [("/tf", at, transforms((at, "odom", "base_link", turning(i / 10)))) for i, at in enumerate(stamps)]
        storage = "sqlite3" if name.endswith("db3") else "mcap"
        written = Path(write_messages(folder / "bag", rows, storage))
        found = next(each for each in written.iterdir() if each.suffix == f".{name.rpartition('.')[2]}")
        found.rename(folder / name)
        shutil.rmtree(written)
        return folder / name

    return make


def vision_bag(folder: Path) -> Path:
    import numpy as np
    from bag_samples import SECOND, image, jpeg, labels, vision, write_mcap

    rows: list[Any] = []
    for i in range(3):
        at = (100 + i) * SECOND
        rows.append(("/image", at, image(at) if i else jpeg(at, np.zeros((6, 8, 3), np.uint8))))
        rows.append(("/labels", at, labels(at)))
        rows.append(("/detections", at, vision(at, [("1", 0.9, 3.0, 3.0, 2.0, 2.0)])))
    rows = [row for row in rows if row[2].__msgtype__ != "sensor_msgs/msg/CompressedImage"]
    write_mcap(folder / "bag.mcap", rows, crcs=False)
    return folder / "bag.mcap"


def text_file(name: str, text: str | Path) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_text(text.read_text(encoding="utf-8") if isinstance(text, Path) else text, encoding="utf-8")
        return path

    return make


label_names = text_file(
    "names.json",
    '{"0": {"class": "BACKGROUND"}, "1": {"class": "cone,large"}, "7": "/World/cone_3",'
    ' "time_stamp": {"sec": 3, "nanosec": 500}}',
)
LINES: dict[str, Any] = {
    "waypoints": [[-2, 0], [-1, 1], [0, 2]],
    "sine": {"from": [-2, 0], "to": [2, 0], "amplitude": 0.3, "periods": 1},
    "arcs": {"start": [0, 0, 0], "pieces": [{"straight": 1}, {"left": 90, "radius": 1}]},
}


def scene(line: str) -> Callable[[Path], Path]:
    return lambda folder: _scene_along(folder, {line: LINES[line]})


def _scene_along(folder: Path, line: dict[str, Any]) -> Path:
    from scene_files import TRIANGLE, scene_file

    (folder / "cone.obj").write_text(TRIANGLE + "f 1 2 3\n")
    return Path(
        scene_file(
            folder,
            kinds__mesh_cone={"mesh": "cone.obj", "surface": {"colour": "#d32f1e"}, "class": "red"},
            things__second={"kind": "mesh_cone", "at": [3, -2]},
            things__crate={"box": [0.4, 0.3, 0.2], "at": [3, 2.5]},
            placements={
                "some": {"random": {"kinds": {"red_cone": 3}, "area": [-3, -2.5, 3, -2], "spacing": 0.3}},
                "row": {"path": {**line, "width": 0.8, "spacing": 0.5, "left": "red_cone"}},
                "table": {"table": {"rows": "1 0 -3 2.5\n2 1 -3 -2.5\n", "kinds": {"0": "red_cone", "1": "red_cone"}}},
            },
        )
    )


def detailed_camera(folder: Path) -> Path:
    return text_file("camera.yaml", ROOT / "config/cameras/reference.yaml")(folder)


def picture(suffix: str, mode: str = "RGB", **options: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        import numpy as np
        from PIL import Image

        noise = np.random.default_rng(0).integers(0, 256, (12, 16, 3), np.uint8)
        deep = Image.fromarray(noise[:, :, 0].astype(np.uint16) * 257)
        made = deep if mode == "I;16" else Image.fromarray(noise).convert(mode)
        made.save(folder / f"picture{suffix}", **options)
        return folder / f"picture{suffix}"

    return make


def result(folder: Path) -> Path:
    from made_results import made_contexts, made_set, write_result, write_sweep

    from simjudge.results.context_table import ContextTable
    from simjudge.results.gallery import save_gallery

    sets = [made_set(name, seed, 3, classes=(1, 2)) for name, seed in (("a", 1), ("b", 2))]
    contexts = made_contexts(*sets)
    path = write_result(folder / "result", contexts)
    write_sweep(path, contexts)
    content = json.loads((path / "sweep.json").read_text())
    content["curves"] = content["curves"][:2]
    (path / "sweep.json").write_text(json.dumps(content))
    save_gallery(path, *sets, ContextTable(contexts), (120, 120), per_kind=1)
    return path


def sweep(folder: Path) -> Path:
    path = result(folder)
    for each in ("result.json", "contexts.parquet"):
        (path / each).unlink()
    return path


def onnx_model(folder: Path) -> Path:
    from onnx_models import classes_head, constant_model

    rows = [(30, 30, 20, 20, 0.9, 0.1)]
    return constant_model(
        folder / "model.onnx", classes_head(rows), size=64, batch=1, metadata={"imgsz": "[64, 64]", "stride": "32"}
    )


def onnx_metadata(folder: Path) -> Path:
    onnx_model(folder)
    content = {"names": "{0: 'red', 1: 'green'}", "imgsz": "[64, 64]", "stride": "32", "task": "detect", "batch": "1"}
    path = folder / "metadata.json"
    path.write_text(json.dumps(content))
    return path


def checkpoint(folder: Path) -> Path:
    import torch

    from simjudge.perception.ultralytics_setup import import_ultralytics

    import_ultralytics()  # a bare import leaves Pillow changed for every test after this one
    from ultralytics.nn.tasks import DetectionModel

    net = {"nc": 2, "backbone": [[-1, 1, "Conv", [8, 3, 2]]] * 1, "head": [[[0], 1, "Detect", ["nc"]]]}
    model = DetectionModel(net, verbose=False)
    path = folder / "net.pt"
    torch.save({"model": model, "train_args": {"imgsz": 64}}, path)
    return path


def calibration(tool: str, name: str) -> Callable[[Path], Path]:
    """A calibration as a tool writes it.

    Args:
        tool: a function of `calibration_files`.
        name: of the file.
    """

    def make(folder: Path) -> Path:
        import calibration_files

        getattr(calibration_files, tool)(folder / name)
        return folder / name

    return make


def niqe_model(name: str) -> Callable[[Path], Path]:
    """A model of NIQE, as simjudge or the authors write it.

    Args:
        name: of the file.
    """

    def make(folder: Path) -> Path:
        import numpy as np
        import scipy.io

        path, mean, covariance = folder / name, np.linspace(0.1, 1, 36), np.eye(36)
        if path.suffix == ".json":
            content = {"niqe_model": "made", "mean": mean.tolist(), "covariance": covariance.tolist()}
            path.write_text(json.dumps(content), encoding="utf-8")
        elif path.suffix == ".npz":
            np.savez(path, mu_pris_param=mean, cov_pris_param=covariance)
        else:
            scipy.io.savemat(path, {"mu_prisparam": mean, "cov_prisparam": covariance})
        return path

    return make


def brisque_model(folder: Path) -> Path:
    """A folder with the two files of a model of BRISQUE's."""
    (folder / "brisque").mkdir()
    head = "svm_type epsilon_svr\nkernel_type rbf\ngamma 0.05\nnr_class 2\ntotal_sv 2\nrho -40.5\nSV\n"
    row = " ".join(f"{i}:{i / 40}" for i in range(1, 37))
    (folder / "brisque/allmodel").write_text(f"{head}3.5 {row}\n-2 {row}\n", encoding="utf-8")
    ends = "".join(f"{i} 0.1 {i}\n" for i in range(1, 37))
    (folder / "brisque/allrange").write_text(f"x\n-1 1\n{ends}", encoding="utf-8")
    return folder / "brisque"


def journal(folder: Path) -> Path:
    """The journal of a live comparison that was killed."""
    from fuzz_uses import live_session

    from simjudge.data.sets import write_set
    from simjudge.studies.live.frame_bytes import pack
    from simjudge.studies.live.stream_matching import NO_PARTNER

    frames = _sample()
    write_set(frames, folder / "reference.json")
    records = [b"F" + pack(frames.take([i]), key=[0, int(frames.stamp[i])], lost=[]) for i in range(3)]
    records += [
        b"L" + json.dumps({"left": [0, 5, NO_PARTNER]}).encode(),
        b"L" + json.dumps({"key": [0, 7], "lost": [["boxes", 1, ["a:0"]]]}).encode(),
    ]
    path = folder / "x.journal"
    session = live_session(path)
    for record in records:
        session._write(record)
    session.close(finished=False)
    return path


RENDER_PLAN = {"seed": 1, "scene": {"sha256": "ab"}}


def add_render_piece(store: Any, index: int) -> None:
    """Finish a frame of a rendering; frame i holds i objects.

    Args:
        store: a `FrameStore`.
        index: of the frame.
    """
    import numpy as np

    from simjudge.core.images import EncodedImage, encode_png
    from simjudge.core.object_tables import Objects

    pixels = np.full((6, 8, 3), 40 * index, np.uint8)
    objects = Objects.build([0] * index, [1] * index, [[i, 0, i + 2, 3] for i in range(index)], list(range(index)))
    store.add(index, EncodedImage(encode_png(pixels), ".png"), objects, {"index": index})


def render_pieces(folder: Path) -> Path:
    """The finished frames of a rendering that was stopped."""
    from simjudge.capture.frame_store import FrameStore

    store = FrameStore.beside(folder / "out", RENDER_PLAN)
    for index in range(2):
        add_render_piece(store, index)
    return folder / "out"


TUM = "# stamp x y z qx qy qz qw\n" + "".join(f"{100 + i}.5 {i} 0.5 0 0 0 0 1\n" for i in range(5))
CSV = "stamp,x,y,z,qx,qy,qz,qw,name\n" + "".join(f'{100 + i}.5,{i},0.5,0,0,0,0,1,"a ""b"""\n' for i in range(5))
OBJ = "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\nusemtl a\nf 1/1/1 2/1/1 3/1/1\n"
PICTURE_LINES = "frame,row,slope\n0,20,0\nb,22.5,0.01\n3,25,-0.01 # down\n"
CONES = "id,colour,x,y\n1,0,1.5,2\n2,1,2,3\n"


def pcd(data: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from simjudge.data.clouds.cloud_set import Cloud
        from simjudge.data.formats.pcd.pcd_file import write_pcd

        write_pcd(folder / "1_000000000.pcd", Cloud(_points()), data)  # type: ignore[arg-type]
        return folder / "1_000000000.pcd"

    return make


def _points() -> Any:
    import numpy as np

    table = np.zeros(4, [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("ring", "<u2"), ("t", "<u4")])
    table["x"], table["t"] = [1, 2, np.nan, 4], [0, 10, 20, 30]
    return table


def cloud_bag(folder: Path) -> Path:
    from simjudge.data.sets import read_clouds, write_clouds

    write_clouds(read_clouds(pcd("binary")(folder)), folder / "clouds.mcap")
    return folder / "clouds.mcap"


def kitti(folder: Path) -> Path:
    """Two scans of one sequence, with tracks, times and poses."""
    import numpy as np
    from PIL import Image

    root = folder / "kitti"
    (root / "velodyne").mkdir(parents=True)
    (root / "image_2").mkdir()
    for k in range(2):
        np.full((3, 4), k + 1, "<f4").tofile(root / "velodyne" / f"{k:06d}.bin")
        Image.new("RGB", (32, 24)).save(root / "image_2" / f"{k:06d}.png")
    (root / "calib.txt").write_text(
        "P2: 20 0 16 1 0 20 12 0 0 0 1 0\nR0_rect: 1 0 0 0 1 0 0 0 1\n"
        "Tr_velo_to_cam: 0 -1 0 0 0 0 -1 -0.1 1 0 0 -0.3\nTr_imu_to_velo: 1 0 0 -0.8 0 1 0 0.3 0 0 1 -0.8\n"
    )
    (root / "label_02.txt").write_text(
        "0 1 Car 0 0 -1.5 3 4 20 20 1.6 1.7 3.6 1 1.7 9 -1.5\n"
        "1 -1 DontCare -1 -1 -10 1 1 9 9 -1 -1 -1 -1000 -1000 -1000 -10\n"
    )
    (root / "results" / "data").mkdir(parents=True)
    (root / "results" / "data" / "000001.txt").write_text(
        "Car 0 0 -1.5 3 4 20 20 1.6 1.7 3.6 1 1.7 9 -1.5 0.7\nVan 0 0 1 -1 -1 -1 -1 2 2 5 4 1.7 20 0 0.25\n"
    )
    (root / "times.txt").write_text("0.0\n1.036e-01\n")
    (root / "poses.txt").write_text("1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1 2\n")
    return root


def kitti_raw(folder: Path) -> Path:
    """Two scans of a drive of the raw data, with a tracklet."""
    import numpy as np

    root = folder / "kitti_raw"
    (root / "velodyne_points" / "data").mkdir(parents=True)
    for k in range(2):
        np.full((3, 4), k + 1, "<f4").tofile(root / "velodyne_points" / "data" / f"{k:010d}.bin")
    pose = "<tx>9</tx><ty>1</ty><tz>-1</tz><rx>0</rx><ry>0</ry><rz>0.5</rz><state>2</state>"
    (root / "tracklet_labels.xml").write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE boost_serialization>\n<boost_serialization>\n<tracklets>\n<count>1</count>\n'
        "<item><objectType>Car</objectType><h>1.5</h><w>1.6</w><l>4</l><first_frame>0</first_frame>\n"
        f"<poses><count>2</count><item>{pose}</item>\n<item>{pose}</item></poses></item>\n"
        "</tracklets>\n</boost_serialization>\n"
    )
    return root
