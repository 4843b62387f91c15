import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def image():
    """Write a small image file."""

    def write(path, size=(40, 30)):
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((size[1], size[0], 3), 90, np.uint8)).save(path)
        return path

    return write


@pytest.fixture
def yolo(tmp_path, image):
    """Write a YOLO folder from {"train": {"a": "0 .5 .5 .2 .2"}}; None for an image without a label file.

    The data.yaml names the splits, as Roboflow does; another text replaces it, None leaves it out.
    """

    def write(splits, yaml=""):
        if yaml == "":
            key = {"valid": "val"}
            yaml = "names: [red, green]\n" + "".join(f"{key.get(s, s)}: ../{s}/images\n" for s in splits)
        root = tmp_path / "set"
        for split, texts in splits.items():
            (root / split / "labels").mkdir(parents=True)
            for stem, text in texts.items():
                image(root / split / "images" / f"{stem}.jpg")
                if text is not None:
                    data = text.encode() if isinstance(text, str) else text
                    (root / split / "labels" / f"{stem}.txt").write_bytes(data)
        if yaml is not None:
            (root / "data.yaml").write_text(yaml)
        return root

    return write
