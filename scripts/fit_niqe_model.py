"""Makes models/niqe_open_photographs.json: what NIQE takes for pristine, fitted on open photographs.

    git clone https://github.com/elementary/wallpapers
    git clone https://github.com/pop-os/wallpapers pop-wallpapers
    git clone https://github.com/scipy/dataset-face
    python scripts/fit_niqe_model.py .

The argument is the folder of the three clones. Further photographs come with scikit-image. Each file is held to its
SHA-256. A photograph larger than 1,920 pixels is reduced by a whole factor, each pixel the mean of those it covers.
The traces of JPEG and of the camera's own filters so become small.
"""

from __future__ import annotations

import bz2
import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import skimage.data

from simjudge.core.images import decode_image
from simjudge.objects.image_quality.quality import fit_niqe_model, sharp_features, write_niqe_model

MODEL = Path(__file__).resolve().parent.parent / "models" / "niqe_open_photographs.json"
LARGEST = 1920
"""Pixels of a photograph's longer side."""
FACE = (768, 1024, 3)
"""Shape of the photograph that scipy/dataset-face holds as compressed bytes."""


@dataclass(frozen=True)
class Photograph:
    """A photograph of the model.

    Attributes:
        source: the package, or the repository with its commit.
        file: path of the file within.
        licence: as the source says.
        sha256: first 16 hexadecimal digits of the file's SHA-256.
    """

    source: str
    file: str
    licence: str
    sha256: str

    def read(self, clones: Path) -> npt.NDArray[np.uint8]:
        """The pixels, red first.

        Args:
            clones: folder of the clones.
        """
        folder = Path(skimage.data.__file__).parent if self.source == SKIMAGE else clones / FOLDERS[self.source]
        data = (folder / self.file).read_bytes()
        if hashlib.sha256(data).hexdigest()[:16] != self.sha256:
            raise SystemExit(f"{folder / self.file}: is not the file that the model was fitted on")
        if self.file.endswith(".dat"):
            return np.frombuffer(bz2.decompress(data), np.uint8).reshape(FACE)
        return reduced(decode_image(data, self.file))


def reduced(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """A photograph of at most 1,920 pixels.

    Args:
        pixels: uint8 (H, W, 3).
    """
    factor = -(-max(pixels.shape[:2]) // LARGEST)
    height, width = pixels.shape[0] // factor, pixels.shape[1] // factor
    cut = pixels[: height * factor, : width * factor].reshape(height, factor, width, factor, 3)
    return np.floor(cut.mean(axis=(1, 3)) + 0.5).astype(np.uint8)


SKIMAGE = "scikit-image 0.26, skimage/data"
ELEMENTARY = "github.com/elementary/wallpapers f28b8614"
POP = "github.com/pop-os/wallpapers 03a25a14"
SCIPY = "github.com/scipy/dataset-face 49ba9e3b"
FOLDERS = {ELEMENTARY: "wallpapers/backgrounds", POP: "pop-wallpapers/original", SCIPY: "dataset-face"}
PUBLIC = "public domain"
PHOTOGRAPHS = (
    Photograph(SKIMAGE, "astronaut.png", PUBLIC, "88431cd9653ccd53"),
    Photograph(SKIMAGE, "camera.png", "CC0", "b0793d2adda0fa6a"),
    Photograph(SKIMAGE, "chelsea.png", "CC0", "596aa1e7cb875eb7"),
    Photograph(SKIMAGE, "coffee.png", "CC0", "cc02f8ca188b167c"),
    Photograph(SKIMAGE, "coins.png", "no known copyright restrictions", "f8d773fc9cfa6f4d"),
    Photograph(SKIMAGE, "grass.png", "CC0", "b6b6022426b38936"),
    Photograph(SKIMAGE, "gravel.png", "CC0", "c48615b451bf1e60"),
    Photograph(SKIMAGE, "rocket.jpg", PUBLIC, "c2dd0de7c538df8d"),
    Photograph(ELEMENTARY, "Ashim DSilva.jpg", "CC0", "bf2fdee8ddab837f"),
    Photograph(ELEMENTARY, "Mr. Lee.jpg", "CC0", "6796ce736bcb92e1"),
    Photograph(ELEMENTARY, "Sunset by the Pier.jpg", "CC0", "b13f5a16af1cecb3"),
    Photograph(POP, "galen-crout-175291.jpg", PUBLIC, "498a22bca8f7b83f"),
    Photograph(POP, "jad-limcaco-183877.jpg", PUBLIC, "e21ab14095b67545"),
    Photograph(POP, "jared-evans-119758.jpg", PUBLIC, "e598152fcaf25d87"),
    Photograph(POP, "kait-herzog-8242.jpg", PUBLIC, "d84fe9ae28db69ca"),
    Photograph(POP, "nasa-45068.jpg", PUBLIC, "d42066cebbc222d6"),
    Photograph(POP, "samuel-zeller-337041.jpg", PUBLIC, "b4662ff39e657d10"),
    Photograph(POP, "sean-afnan-244576.jpg", PUBLIC, "86f0e7c4e33ca843"),
    Photograph(POP, "spacex-81773.jpg", PUBLIC, "98787812ae097935"),
    Photograph(SCIPY, "face.dat", PUBLIC, "9d8b0b4d081313e2"),
)


def main(clones: Path) -> None:
    """Fit the model and write it.

    Args:
        clones: folder of the clones.
    """
    pictures = [photograph.read(clones) for photograph in PHOTOGRAPHS]
    rows = []
    for photograph, pixels in zip(PHOTOGRAPHS, pictures, strict=True):
        blocks = len(sharp_features(pixels))
        rows.append({**vars(photograph), "size": f"{pixels.shape[1]} x {pixels.shape[0]}", "blocks": blocks})
        print(f"{photograph.file:36} {rows[-1]['size']:12} {blocks:4} blocks")
    total = sum(row["blocks"] for row in rows)
    model = fit_niqe_model(pictures, f"fitted by simjudge on {total} sharp blocks of {len(rows)} open photographs")
    write_niqe_model(MODEL, model, rows)
    print(f"{MODEL}: {model.origin}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
