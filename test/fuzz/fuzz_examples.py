"""Small valid examples of what simjudge reads beside labelled sets: functions that write one into an empty folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz_attack import ROOT
from fuzz_sets import sample_frames, written_set


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

    from simjudge.detectors.ultralytics_detector import import_ultralytics

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
    from simjudge.judging.live.journal import pack
    from simjudge.judging.live.stream_matching import NO_PARTNER

    frames = sample_frames()
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
    from simjudge.sim.capture.frame_store import FrameStore

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
        from simjudge.data.clouds import Cloud
        from simjudge.data.formats.pcd import write_pcd

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
