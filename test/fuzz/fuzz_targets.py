"""Every reader, as a function of bytes: either it succeeds or it raises a SimjudgeError.

A target is a small valid example on disk, one file of which is attacked. What is read is used as far as every command
uses it: its losses are said, its images are decoded, the set is written again.
"""

from __future__ import annotations

import json
import resource
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet

CPU_SECONDS = 30.0
"""Computing time that one input may take at most."""
MEMORY = 3 * 2**30
"""Bytes of address space that one input may add at most."""
LONGEST_MESSAGE = 3000
"""Characters of a message at most."""
ROOT = Path(__file__).parents[2]


class TooLongError(Exception):
    """An input took more computing time than it may."""


@dataclass(frozen=True)
class Target:
    """A reader under attack.

    Attributes:
        name: of the target.
        make: writes a valid example into an empty folder and returns the path to be read.
        file: the file that is attacked, as a pattern below the folder; the path itself where it is "".
        form: of the file: "json", "yaml", "text" or "bytes".
        read: reads the path, and uses what it gets.
        slow: whether an input takes a good part of a second, so that there are fewer of them.
        needs: a module without which there is no such reader.
    """

    name: str
    make: Callable[[Path], Path]
    file: str
    form: str
    read: Callable[[Path], object]
    slow: bool = False
    needs: str = ""


class Attack:
    """The example of a target, and how to read it with other bytes."""

    def __init__(self, target: Target) -> None:
        """Make the example."""
        self.target = target
        self._home = tempfile.TemporaryDirectory(prefix="simjudge_fuzz_")
        self.folder = Path(self._home.name) / "example"
        self.folder.mkdir()
        self.path = target.make(self.folder)
        self.file = min(self.folder.glob(target.file)) if target.file else self.path
        self.valid = self.file.read_bytes()

    def __call__(self, data: bytes) -> bool:
        """Read the example with these bytes in the place of the attacked file.

        Args:
            data: the bytes.

        Returns:
            Whether they could be read.
        """
        self.file.write_bytes(data)
        try:
            self.target.read(self.path)
        except SimjudgeError as error:
            check_message(str(error), self.folder)
            return False
        return True

    def close(self) -> None:
        """Remove the example."""
        self._home.cleanup()


def check_message(message: str, folder: Path) -> None:
    """A message is one line, can be printed, and names no temporary file."""
    assert "\n" not in message.strip(), message
    assert message.strip(), "an empty message"
    assert len(message) < LONGEST_MESSAGE, message[:200]
    rest = message.replace(str(folder), "").replace(str(ROOT), "")
    assert tempfile.gettempdir() not in rest, message
    assert ".tmp" not in rest, message


@contextmanager
def bounded() -> Iterator[None]:
    """What happens in the block ends with an error where it takes too much memory or computing time."""

    def stop(*_: Any) -> None:
        raise TooLongError(f"more than {CPU_SECONDS:.0f} s of computing time")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    former = signal.signal(signal.SIGPROF, stop)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, former)


# ---------------------------------------------------------------------------------------------- what is done with it
_outputs = count()


def use_set(path: Path) -> None:
    """Read a data set as `convert` does."""
    from simjudge.data.sets import read_set

    use_frames(read_set(path), path)


def use_frames(frames: FrameSet, path: Path) -> None:
    """Say what a set lost, decode its images, write it as plain JSON."""
    from simjudge.data.sets import write_set

    for line in frames.losses.lines():
        line.encode()
    repr(frames)
    frames._repr_html_()
    for index in range(min(len(frames), 4)):
        if frames.images is not None and frames.images.has(index):
            try:
                frames.images.read(index)
            except SimjudgeError as error:
                check_message(str(error), path.parent)
    out = Path(tempfile.mkdtemp(prefix="written_", dir=path.parent.parent))
    try:
        for line in write_set(frames, out / "again.json").lines():
            line.encode()
    finally:
        shutil.rmtree(out)


def use_predictions(path: Path) -> None:
    """Read predictions onto a set that is whole."""
    from simjudge.data.sets import read_predictions, read_set

    truth = path.parent / "truth"
    use_frames(read_predictions(path, read_set(truth), truth), path)


def use_result(path: Path) -> None:
    """Read a result folder and make its page."""
    from simjudge.reports.comparison_result import load_result
    from simjudge.reports.report import report

    found = load_result(path)
    str(found).encode()
    found._repr_html_().encode()
    page = path.parent.parent / "page.html"
    str(report(path, page, overwrite=True)).encode()


def use_info(path: Path) -> None:
    """Look into a path as `info` does."""
    from simjudge.reports.contents import info

    found = info(path)
    found.summary.html().encode()
    for line in (*found.notes, *found.losses.lines()):
        line.encode()


def use_poses(path: Path) -> None:
    """Read the poses of a recording, and its frames."""
    from simjudge.data.rosbag2.recorded_poses import read_poses

    poses = read_poses(path)
    for line in poses.losses.lines():
        line.encode()


def use_pose_text(path: Path) -> None:
    """Read a trajectory's rows, and interpolate between them."""
    from simjudge.data.pose_text import read_pose_text

    trajectory, losses = read_pose_text(path)
    assert len(trajectory.stamp) > 0
    for line in losses.lines():
        line.encode()


def _use_yaml(module: str, function: str) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        import importlib

        return getattr(importlib.import_module(module), function)(path)

    return read


def use_camera(path: Path) -> None:
    """Read a camera."""
    from simjudge.sensors.camera.camera_file import read_camera

    read_camera(path)


def use_detector(path: Path) -> None:
    """Load a detector and show it a picture."""
    import numpy as np

    from simjudge.perception.loading import load_detector

    detector = load_detector(path)
    for detections in detector([np.zeros((48, 64, 3), np.uint8)]):
        assert np.isfinite(detections.box).all()
        assert np.isfinite(detections.score).all()


def use_image(path: Path) -> None:
    """Decode a picture, and read its header."""
    from simjudge.core.images import FileImages, image_size

    width, height = image_size(path)
    pixels = FileImages([path]).read(0)
    assert pixels.shape == (height, width, 3)


# ---------------------------------------------------------------------------------------------------------- examples
def _sample(count: int = 4) -> FrameSet:
    from bag_samples import sample

    return sample(count, (32, 24))


def _written(to: str | None, name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from simjudge.data.sets import write_set

        write_set(_sample(), folder / name, to)
        return folder / name

    return make


def _plain_yolo(folder: Path) -> Path:
    """As others write it: without simjudge's sidecar."""
    path = _written("yolo", "set")(folder)
    for sidecar in [*path.glob("*simjudge*")]:
        sidecar.unlink()
    return path


def _beside_truth(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    def both(folder: Path) -> Path:
        _written("coco", "truth")(folder)
        return make(folder)

    return both


def _coco_results(folder: Path) -> Path:
    rows = [
        {"image_id": 1 + i % 3, "category_id": 1, "bbox": [1.0, 2.0, 5.0, 6.0], "score": 0.5 + i / 10} for i in range(4)
    ]
    rows[0]["segmentation"] = {"size": [24, 32], "counts": [10, 3, 21, 3, 731]}
    rows[1]["segmentation"] = [[1.0, 2.0, 6.0, 2.0, 6.0, 8.0]]
    path = folder / "results.json"
    path.write_text(json.dumps(rows))
    return path


def _bag(name: str) -> Callable[[Path], Path]:
    return _written(None, name)


def _bag_folder(folder: Path) -> Path:
    from pose_samples import START, odometry, turning, write_messages

    rows = [("/odom", START + i * 10**8, odometry(START + i * 10**8, turning(i / 10))) for i in range(6)]
    return Path(write_messages(folder / "bag", rows))


def _pose_bag(name: str) -> Callable[[Path], Path]:
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


def _vision_bag(folder: Path) -> Path:
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


def _text(name: str, text: str | Path) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_text(text.read_text(encoding="utf-8") if isinstance(text, Path) else text, encoding="utf-8")
        return path

    return make


_LINES: dict[str, Any] = {
    "waypoints": [[-2, 0], [-1, 1], [0, 2]],
    "sine": {"from": [-2, 0], "to": [2, 0], "amplitude": 0.3, "periods": 1},
    "arcs": {"start": [0, 0, 0], "pieces": [{"straight": 1}, {"left": 90, "radius": 1}]},
}


def _scene(line: str) -> Callable[[Path], Path]:
    return lambda folder: _scene_along(folder, {line: _LINES[line]})


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


def _detailed_camera(folder: Path) -> Path:
    return _text("camera.yaml", ROOT / "config/cameras/reference.yaml")(folder)


def _picture(suffix: str, mode: str = "RGB", **options: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        import numpy as np
        from PIL import Image

        noise = np.random.default_rng(0).integers(0, 256, (12, 16, 3), np.uint8)
        picture = Image.fromarray(noise)
        picture = Image.fromarray(noise[:, :, 0].astype(np.uint16) * 257) if mode == "I;16" else picture.convert(mode)
        picture.save(folder / f"picture{suffix}", **options)
        return folder / f"picture{suffix}"

    return make


def _result(folder: Path) -> Path:
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


def _sweep(folder: Path) -> Path:
    path = _result(folder)
    for each in ("result.json", "contexts.parquet"):
        (path / each).unlink()
    return path


def _onnx(folder: Path) -> Path:
    from onnx_models import classes_head, constant_model

    rows = [(30, 30, 20, 20, 0.9, 0.1)]
    return constant_model(
        folder / "model.onnx", classes_head(rows), size=64, batch=1, metadata={"imgsz": "[64, 64]", "stride": "32"}
    )


def use_onnx_metadata(path: Path) -> None:
    """Put the texts of a JSON object into a model's metadata, and detect."""
    import onnx

    base = path.parent / "model.onnx"
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return
    model = onnx.load(str(base))
    del model.metadata_props[:]
    for key, value in content.items() if isinstance(content, dict) else ():
        try:
            model.metadata_props.add(key=key, value=value if isinstance(value, str) else json.dumps(value))
        except (ValueError, UnicodeEncodeError):
            return
    changed = path.parent / "changed.onnx"
    changed.write_bytes(model.SerializeToString())
    use_detector(changed)


def _onnx_metadata(folder: Path) -> Path:
    _onnx(folder)
    content = {"names": "{0: 'red', 1: 'green'}", "imgsz": "[64, 64]", "stride": "32", "task": "detect", "batch": "1"}
    path = folder / "metadata.json"
    path.write_text(json.dumps(content))
    return path


def _checkpoint(folder: Path) -> Path:
    import torch

    from simjudge.perception.ultralytics_setup import import_ultralytics

    import_ultralytics()  # a bare import leaves Pillow changed for every test after this one
    from ultralytics.nn.tasks import DetectionModel

    net = {"nc": 2, "backbone": [[-1, 1, "Conv", [8, 3, 2]]] * 1, "head": [[[0], 1, "Detect", ["nc"]]]}
    model = DetectionModel(net, verbose=False)
    path = folder / "net.pt"
    torch.save({"model": model, "train_args": {"imgsz": 64}}, path)
    return path


TUM = "# stamp x y z qx qy qz qw\n" + "".join(f"{100 + i}.5 {i} 0.5 0 0 0 0 1\n" for i in range(5))
CSV = "stamp,x,y,z,qx,qy,qz,qw,name\n" + "".join(f'{100 + i}.5,{i},0.5,0,0,0,0,1,"a ""b"""\n' for i in range(5))
OBJ = "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\nusemtl a\nf 1/1/1 2/1/1 3/1/1\n"
CONES = "id,colour,x,y\n1,0,1.5,2\n2,1,2,3\n"

_CAMERAS = "simjudge.sensors.camera"
TARGETS: dict[str, Target] = {
    each.name: each
    for each in (
        Target("yolo-labels", _plain_yolo, "set/labels/*.txt", "text", use_set),
        Target("yolo-data", _plain_yolo, "set/data.yaml", "yaml", use_set),
        Target("yolo-sidecar", _written("yolo", "set"), "set/simjudge.json", "json", use_set),
        Target("yolo-predictions", _plain_yolo, "set/predictions/*.txt", "text", use_set),
        Target("cpd", _written("cpd", "set"), "set/labels/*.txt", "text", use_set),
        Target("coco", _written("coco", "set"), "set/annotations.json", "json", use_set),
        Target("coco-results", _beside_truth(_coco_results), "", "json", use_predictions),
        Target("cvat", _written("cvat", "set"), "set/annotations.xml", "text", use_set),
        Target("plain-json", _written(None, "set.json"), "", "json", use_set),
        Target("mcap", _bag("bag.mcap"), "", "bytes", use_set),
        Target("mcap-messages", _vision_bag, "", "bytes", use_set),
        Target("db3", _bag("bag.db3"), "", "bytes", use_set),
        Target("bag-metadata", _bag_folder, "bag/metadata.yaml", "yaml", use_info),
        Target("pose-mcap", _pose_bag("poses.mcap"), "", "bytes", use_poses),
        Target("pose-db3", _pose_bag("poses.db3"), "", "bytes", use_poses),
        Target("pose-tum", _text("poses.tum", TUM), "", "text", use_pose_text),
        Target("pose-csv", _text("poses.csv", CSV), "", "text", use_pose_text),
        Target("png", _picture(".png"), "", "bytes", use_image),
        Target("png-16", _picture(".png", "I;16"), "", "bytes", use_image),
        Target("png-palette", _picture(".png", "P"), "", "bytes", use_image),
        Target("jpeg", _picture(".jpg"), "", "bytes", use_image),
        Target("tiff", _picture(".tiff"), "", "bytes", use_image),
        Target("tiff-16", _picture(".tiff", "I;16"), "", "bytes", use_image),
        Target("bmp", _picture(".bmp"), "", "bytes", use_image),
        Target("webp", _picture(".webp"), "", "bytes", use_image),
        Target("camera", _detailed_camera, "", "yaml", use_camera),
        Target("calibration", _text("calibration.yaml", ROOT / "config/art1_camera.yaml"), "", "yaml",
               _use_yaml(f"{_CAMERAS}.calibration_file", "read_calibration")),
        *(Target(f"scene-{line}", _scene(line), "", "yaml", _use_yaml("simjudge.scene.read", "read_scene"))
          for line in _LINES),
        Target("scene-shipped", _text("scene.yaml", ROOT / "config/scenes/lab_random.yaml"), "", "yaml",
               _use_yaml("simjudge.scene.read", "read_scene")),
        Target("mesh", _text("mesh.obj", OBJ), "", "text", _use_yaml("simjudge.scene.obj", "read_obj")),
        Target("cones", _text("cones.csv", CONES), "", "text",
               _use_yaml("simjudge.scene.measured_positions", "read_positions")),
        Target("vehicle", _text("vehicle.yaml", ROOT / "config/vehicles/art1.yaml"), "", "yaml",
               _use_yaml("simjudge.vehicle.vehicle_file", "read_vehicle")),
        Target("sensors", _text("sensors.yaml", ROOT / "config/sensors/art1.yaml"), "", "yaml",
               _use_yaml("simjudge.sensors.sensor_file", "read_sensors")),
        Target("robot", _text("robot.yaml", ROOT / "config/art1.yaml"), "", "yaml",
               _use_yaml("simjudge.graph.robot_file", "read_robot")),
        Target("colours", _text("colours.yaml", ROOT / "config/detectors/cones_red_green.yaml"), "", "yaml",
               use_detector),
        Target("onnx", _onnx, "", "bytes", use_detector, slow=True, needs="onnx"),
        Target("onnx-metadata", _onnx_metadata, "", "json", use_onnx_metadata, slow=True, needs="onnx"),
        Target("checkpoint", _checkpoint, "", "bytes", use_detector, slow=True, needs="ultralytics"),
        Target("result", _result, "result/result.json", "json", use_result, slow=True),
        Target("contexts", _result, "result/contexts.parquet", "bytes", use_result, slow=True),
        Target("gallery", _result, "result/gallery/gallery.json", "json", use_result, slow=True),
        Target("sweep", _sweep, "result/sweep.json", "json", use_result, slow=True),
    )
}
"""By name."""
