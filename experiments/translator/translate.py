"""Put the pictures of a folder through a translator: same names and sizes, for `simjudge data filter --images`.

experiments/translator/translate.py translator.onnx demo/plain/images translated
simjudge data filter demo/plain plain_translated --to yolo --images translated
"""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
import onnxruntime


def main() -> None:
    """Translate one picture after another, and write PNG files: a second JPEG would be a filter of its own."""
    network, source, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    session = onnxruntime.InferenceSession(network, providers=["CPUExecutionProvider"])
    out.mkdir(parents=True, exist_ok=True)
    files = sorted(file for file in source.iterdir() if file.suffix.lower() in {".jpg", ".png"})
    if not files:
        raise SystemExit(f"{source}: holds no .jpg or .png")
    for file in files:
        picture = cv2.imread(str(file))[..., ::-1].astype(np.float32) / 127.5 - 1
        (made,) = session.run(None, {"picture": picture.transpose(2, 0, 1)[None]})
        back = np.clip((made[0].transpose(1, 2, 0) + 1) * 127.5 + 0.5, 0, 255).astype(np.uint8)
        cv2.imwrite(str(out / f"{file.stem}.png"), back[..., ::-1])


if __name__ == "__main__":
    main()
