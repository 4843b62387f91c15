"""Ultralytics checkpoints: weights are loaded, code is not run."""

import os
import pickle
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import CHECKPOINT, find_file
from simjudge.detectors.detection import load_detector
from simjudge.detectors.detector import BadAnswerError
from simjudge.detectors.ultralytics_detector import import_ultralytics, open_checkpoint

torch = pytest.importorskip("torch", reason="the extra 'train' is not installed")
pytestmark = pytest.mark.xdist_group("ultralytics")
PICTURE = np.zeros((64, 64, 3), np.uint8)


class Calls:
    """Pickles as a call."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def yolo(name="yolov8n"):
    return import_ultralytics().YOLO(f"{name}.yaml", task="detect", verbose=False)


def saved(path, content):
    torch.save(content, path)
    return path


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "net.pt"
    model = yolo()
    model.overrides["imgsz"] = 64
    model.save(str(path))
    return path


@pytest.mark.parametrize("name", ["yolov8n", "yolo11n", "yolov10n", "yolo26n"])
def test_weights_load_and_are_those_of_the_ordinary_loader(tmp_path, name):
    model = yolo(name)
    model.save(str(tmp_path / "net.pt"))
    safe, trusted = (load_detector(tmp_path / "net.pt", trust=trust) for trust in (False, True))
    assert safe.class_names == trusted.class_names
    mine, theirs = safe.model.model.state_dict(), trusted.model.model.state_dict()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[key], theirs[key]) for key in mine)
    assert type(safe.model.model) is type(trusted.model.model)
    assert [type(m) for m in safe.model.model.modules()] == [type(m) for m in trusted.model.model.modules()]
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 255, (64, 64, 3), np.uint8)
    assert safe([picture])[0].box.tolist() == trusted([picture])[0].box.tolist()


def network():
    return yolo().model


def with_state(**state):
    net = network()
    for key, value in state.items():
        setattr(net, key, value)
    return {"model": net}


def with_yaml(**entries):
    net = network()
    net.yaml = {**net.yaml, **entries}
    return {"model": net}


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("place", ["top", "settings", "layer"])
def test_code_in_the_file_runs_only_when_trusted(tmp_path, place, trust):
    made = tmp_path / "made"
    call = Calls(os.mkdir, str(made))
    content = {
        "top": call,
        "settings": {"model": network(), "train_args": {"imgsz": call}},
        "layer": with_state(secret=call),
    }[place]
    path = saved(tmp_path / "net.pt", content)
    assert not made.exists()
    if trust:
        with suppress(SimjudgeError):  # what the call leaves is no network
            load_detector(path, trust=True)
        assert made.is_dir()
        return
    with pytest.raises(
        SimjudgeError, match=r"net\.pt: holds more than the weights of a YOLO network .*--trust"
    ) as caught:
        load_detector(path)
    assert "\n" not in str(caught.value)
    assert not made.exists()


def calls_of_allowed_classes(made):
    """What is built of nothing but classes that a checkpoint needs, and would run code all the same."""
    import_ultralytics()
    from ultralytics.nn.tasks import DetectionModel  # noqa: PLC0415

    evil = f"__import__('os').mkdir({str(made)!r})"
    cfg = {"nc": 1, "activation": evil, "backbone": [[-1, 1, "Conv", [8, 3, 2]]], "head": []}
    yield {"model": Calls(DetectionModel, cfg)}  # a constructor that evaluates a text
    yield {"model": Calls(torch.nn.Sequential)}
    yield with_yaml(activation=evil)  # evaluated when training goes on from it
    yield with_yaml(backbone=[[-1, 1, "torch_safe_load", ["other.pt"]]])
    yield {"model": Calls(getattr, network(), "__class__")}


@pytest.mark.parametrize("number", range(5))
def test_allowed_classes_are_not_called(tmp_path, number):
    made = tmp_path / "made"
    path = saved(tmp_path / "net.pt", list(calls_of_allowed_classes(made))[number])
    with pytest.raises(SimjudgeError, match="holds more than the weights"):
        load_detector(path)
    assert not made.exists()


def test_training_from_a_checkpoint_runs_no_code_either(tmp_path):
    from simjudge.detectors.detector_settings import TrainingSettings  # noqa: PLC0415
    from simjudge.detectors.training import _model  # noqa: PLC0415
    from simjudge.detectors.ultralytics_detector import open_checkpoint  # noqa: PLC0415

    made = tmp_path / "made"
    path = saved(tmp_path / "net.pt", {"model": Calls(os.mkdir, str(made))})
    for load in (open_checkpoint, lambda p: _model(import_ultralytics(), tmp_path, TrainingSettings(start=p))):
        with pytest.raises(SimjudgeError, match="holds more than the weights"):
            load(path)
    assert not made.exists()


@pytest.mark.parametrize(
    "content", [b"", b"no checkpoint", pickle.dumps({"model": 1}), pickle.dumps(Calls(os.mkdir, "made_by_a_pickle"))]
)
def test_files_that_are_no_checkpoint(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.pt").write_bytes(content)
    with pytest.raises(SimjudgeError, match=r"net\.pt: not a readable ultralytics checkpoint"):
        load_detector(tmp_path / "net.pt")
    assert not Path("made_by_a_pickle").exists()


@pytest.mark.parametrize("content", [{"model": 1}, [1], {"model": {"a": 2}}])
def test_checkpoints_of_other_things(tmp_path, content):
    with pytest.raises(SimjudgeError, match="holds no plain network"):
        load_detector(saved(tmp_path / "net.pt", content))


@pytest.mark.parametrize("name", ["yolov8n", "yolo26n"])
def test_a_net_that_answers_nan_is_refused(tmp_path, name):
    model = yolo(name)
    with torch.no_grad():
        for parameter in model.model.model[-1].parameters():
            parameter.fill_(float("nan"))
    model.overrides["imgsz"] = 64
    model.save(str(tmp_path / "net.pt"))
    with pytest.raises(BadAnswerError, match=r"net, image 0 .*scores are NaN"):
        load_detector(tmp_path / "net.pt", imgsz=64)([PICTURE, PICTURE])


def test_a_net_that_cannot_be_run_is_one_line(tmp_path):
    model = yolo()
    del model.model.model[-1]._backward_hooks
    model.overrides["imgsz"] = 64
    model.save(str(tmp_path / "net.pt"))
    with pytest.raises(SimjudgeError, match=r"net: the network cannot be run: .*_backward_hooks") as error:
        load_detector(tmp_path / "net.pt", imgsz=64)([PICTURE])
    assert "\n" not in str(error.value)


def test_the_shipped_checkpoint_holds_weights_alone_and_is_found_by_its_name():
    path = find_file("signals_yolo11n", CHECKPOINT)
    assert open_checkpoint(path).names[0] == "green"
    assert load_detector(path).class_names[6] == "yellow"
    with zipfile.ZipFile(path) as content:
        pickled = b"".join(content.read(name) for name in content.namelist() if name.endswith(".pkl"))
    assert b"/tmp" not in pickled
    assert b"yaml_file" in pickled  # without the folder it lay in
