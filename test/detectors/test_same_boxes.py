"""The same model through ONNX Runtime and through ultralytics gives the same boxes."""

import cv2
import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError, decode_image
from simjudge.detectors.detection import load_detector
from simjudge.detectors.training import export_onnx
from simjudge.detectors.ultralytics_detector import import_ultralytics

torch = pytest.importorskip("torch", reason="the extra 'train' is not installed")
SIZE = 160
SPREADS = [("cv3", 1.5, -6.0), ("one2one_cv3", 1.5, -6.0), ("cv2", 1.5, 2.0), ("one2one_cv2", 1.5, 2.0)]
"""By branch of the head: standard deviation and mean that its output is to have."""
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ultralytics")]


@pytest.fixture(scope="module", params=["yolo11n", "yolov8n", "yolov10n", "yolo26n"])
def weights(request, tmp_path_factory):
    """A model with random weights, its class scores spread out so that some boxes are sure and some are not."""
    ultralytics = import_ultralytics()
    torch.manual_seed(1)
    model = ultralytics.YOLO(f"{request.param}.yaml", task="detect", verbose=False)
    calibrate(model.model)
    path = tmp_path_factory.mktemp("weights") / f"{request.param}.pt"
    model.overrides["imgsz"] = SIZE
    model.save(str(path))
    return path


def calibrate(network):
    """Give the box sizes and class scores of a random net a spread: a few scores high, many low.

    Without it all boxes are equally large and many scores equal, so that rounding decides which of them stay.
    """
    blobs = torch.nn.functional.interpolate(torch.rand(8, 3, 12, 12), size=(SIZE, SIZE), mode="bilinear")
    head = network.model[-1]
    network.train()
    with torch.no_grad():
        for _ in range(5):
            network(blobs)  # batch statistics of real values
        network.eval()
        for name, spread_to, level in SPREADS:
            for branch in getattr(head, name, None) or ():
                seen = []
                watch = branch[-1].register_forward_hook(lambda _layer, _inputs, out, seen=seen: seen.append(out))
                network(blobs)
                watch.remove()
                if seen:
                    scale = spread_to / seen[0].std()
                    branch[-1].weight.mul_(scale)
                    branch[-1].bias.copy_((branch[-1].bias - seen[0].mean()) * scale + level)


def pictures():
    rng = np.random.default_rng(0)
    # Square: grey borders alone would give equal scores.
    return [cv2.resize(rng.integers(0, 255, (12, 12, 3), np.uint8), (side, side)) for side in (160, 100, 333, 641)]


def assert_same(first, second):
    """Each detection of either is one of the other, to half a pixel and a thousandth of score."""
    assert len(first) == len(second)
    for i in range(len(first)):
        same = np.flatnonzero(second.class_id == first.class_id[i])
        apart = np.maximum(
            np.abs(second.box[same] - first.box[i]).max(1) / 0.5, np.abs(second.score[same] - first.score[i]) / 1e-3
        )
        assert apart.min() < 1


@pytest.mark.long
def test_same_boxes_of_every_head(weights, tmp_path):
    """Without suppression, which in a random net hangs on rounding, and with the score cut where no score is near."""
    exported = tmp_path / "m.onnx"
    export_onnx(weights, exported, (SIZE, SIZE), half=False)
    everything = load_detector(exported, min_score=0.0, iou=1.0)
    for picture in pictures():
        (found,) = everything([picture])
        scores = np.sort(found.score)[::-1][:60]
        gap = 8 + int(np.argmax(-np.diff(scores[8:])))
        cut = float(scores[gap : gap + 2].mean())
        ours = load_detector(exported, min_score=cut, iou=1.0)
        theirs = load_detector(weights, min_score=cut, iou=1.0, imgsz=SIZE, device="cpu")
        assert ours.class_names == theirs.class_names
        (first,), (second,) = ours([picture]), theirs([picture])
        assert len(first) > 4
        assert_same(first, second)


@pytest.mark.long
def test_half_weights_give_the_same_net(weights, tmp_path):
    for half in (False, True):
        export_onnx(weights, tmp_path / f"{half}.onnx", (SIZE, SIZE), half=half)
    assert (tmp_path / "True.onnx").stat().st_size < 0.55 * (tmp_path / "False.onnx").stat().st_size
    content = (tmp_path / "True.onnx").read_bytes()
    assert str(tmp_path).encode() not in content
    full, half = (load_detector(tmp_path / f"{h}.onnx") for h in (False, True))
    pixels = np.random.default_rng(0).random((1, 3, SIZE, SIZE), np.float32)
    if full.head == "classes":  # the others sort by score
        assert np.abs(full.run(pixels)[:, :4] - half.run(pixels)[:, :4]).max() < 0.5


def test_damaged_pictures_are_still_told_after_ultralytics_was_imported():
    import_ultralytics()
    with pytest.raises(ImageError, match="cut off or damaged"):
        decode_image(b"no picture", "here")


@pytest.mark.parametrize("content", [b"", b"no checkpoint", b"PK\x03\x04cut off"])
def test_unreadable_checkpoint(tmp_path, content):
    path = tmp_path / "m.pt"
    path.write_bytes(content)
    with pytest.raises(SimjudgeError, match="not a readable ultralytics checkpoint") as caught:
        load_detector(path)
    assert "\n" not in str(caught.value)
