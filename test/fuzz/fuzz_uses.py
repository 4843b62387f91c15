"""What is done with what was read: as far as every command uses it.

Losses are said, images are decoded, the set is written again.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz_attack import check_message

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet


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
        for pictures in (frames.images, frames.semantic, frames.predicted_semantic):
            if pictures is not None and pictures.has(index):
                try:
                    pictures.read(index)
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
    from simjudge.questions.report.kinds import load_result
    from simjudge.questions.report.report import report

    found = load_result(path)
    str(found).encode()
    found._repr_html_().encode()
    page = path.parent.parent / "page.html"
    str(report(path, page, overwrite=True)).encode()


def use_info(path: Path) -> None:
    """Look into a path as `info` does."""
    from simjudge.questions.info import info

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


def use_picture_lines(path: Path) -> None:
    """Read a table of lines for a set of four frames."""
    import numpy as np

    from simjudge.core.frames import FrameSet
    from simjudge.objects.sightings import read_lines

    lines = read_lines(path, FrameSet.build("set", [(64, 48)] * 4, frame_name=["a", "b", "c", "d"]))
    assert np.isfinite(lines.row).all()
    assert np.isfinite(lines.slope).all()


def use_reader(module: str, function: str) -> Callable[[Path], object]:
    """A reader by the name of its module and its own, that no more is done with than to read.

    Args:
        module, function: the names.
    """

    def read(path: Path) -> object:
        import importlib

        return getattr(importlib.import_module(module), function)(path)

    return read


def use_brisque_model(path: Path) -> None:
    """Read a model of BRISQUE's and score features."""
    import numpy as np

    from simjudge.objects.image_quality.quality import read_brisque_model, regression

    model = read_brisque_model(path / "allmodel", path / "allrange")
    with np.errstate(all="ignore"):
        regression(np.linspace(0.1, 2, 36), model)


def use_label_names(path: Path) -> None:
    """Read what a simulator says of its numbers, twice, and look one up."""
    from simjudge.core.errors import Losses
    from simjudge.core.files import read_bytes
    from simjudge.sim.capture.simulators.label_messages import LabelNames

    names = LabelNames()
    for time in (1, 2):
        names.add(read_bytes(path, 1 << 24).decode("utf-8", "replace"), time, "names", Losses())
    names.at(3_000_000_500, 2)
    names.forget(1)


def use_camera(path: Path) -> None:
    """Read a camera."""
    from simjudge.sim.sensors.camera.camera_file import read_camera

    read_camera(path)


def use_detector(path: Path) -> None:
    """Load a detector and show it a picture."""
    import numpy as np

    from simjudge.detectors.detection import load_detector

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


def use_onnx_metadata(path: Path) -> None:
    """Put the texts of a JSON object into a model's metadata, and detect."""
    import onnx

    from simjudge.core.files import read_bytes

    base = path.parent / "model.onnx"
    try:
        content = json.loads(read_bytes(path, 1 << 24))
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


def use_journal(path: Path) -> None:
    """Go on with the live comparison that a killed node left."""
    session = live_session(path)
    session.judge.numbers()
    session.close(finished=False)


def live_session(journal: Path) -> Any:
    """A live comparison with the reference beside its journal.

    Args:
        journal: the path; what is in it is taken up.
    """
    from simjudge.judging.compare_settings import CompareSettings
    from simjudge.judging.inputs import read_input
    from simjudge.judging.live.frame_builder import LiveFrameBuilder
    from simjudge.judging.live.session import LiveOptions, LiveSession

    reference = read_input(journal.with_name("reference.json"), None, allow_outside=False)
    options = LiveOptions(CompareSettings(theta=0.3), journal=journal)
    builder = LiveFrameBuilder(("labels", "boxes"))
    return LiveSession(options, reference, builder, lambda line: check_message(line, journal.parent))


def use_render_pieces(path: Path) -> None:
    """Go on with a rendering that was stopped: what is damaged is made again, the rest is taken."""
    import numpy as np
    from fuzz_examples import RENDER_PLAN, add_render_piece

    from simjudge.sim.capture.frame_store import FrameStore

    store = FrameStore.beside(path, RENDER_PLAN)
    with store.kept_if_stopped(2, lambda line: check_message(line, path.parent)):
        for index in range(2):
            if not store.has(index):
                add_render_piece(store, index)
    frames = store.frames("out", ["a", "b"], np.arange(2), (8, 6), {1: "red"})
    assert len(frames.objects) == 1
    assert [store.about(index) for index in range(2)] == [{"index": 0}, {"index": 1}]
    use_frames(frames, path)


def use_clouds(path: Path) -> None:
    """Read clouds, make a summary of them, write them again."""
    from simjudge.data.sets import read_clouds, write_clouds

    use_info(path)
    clouds = read_clouds(path)
    out = Path(tempfile.mkdtemp(prefix="written_", dir=path.parent.parent))
    try:
        for line in write_clouds(clouds, out / "again", "pcd").lines():
            line.encode()
        for line in write_clouds(clouds, out / "again.mcap").lines():
            line.encode()
    finally:
        shutil.rmtree(out)


def use_kitti(path: Path) -> None:
    """Read a KITTI folder, write it as a recording, and that as a folder."""
    from simjudge.data.sets import read_clouds, write_clouds

    use_info(path)
    out = Path(tempfile.mkdtemp(prefix="written_", dir=path.parent.parent))
    try:
        for line in write_clouds(read_clouds(path), out / "again.mcap").lines():
            line.encode()
        for line in write_clouds(read_clouds(out / "again.mcap"), out / "again", "kitti").lines():
            line.encode()
    finally:
        shutil.rmtree(out)
