"""A program of its own, `python isolated_readers.py opencv|matlab|niqe FILE`: prints the numbers of a file as JSON.

The readers of OpenCV and SciPy are compiled code that ends the whole process where a file is damaged in certain ways.
Here they end this program alone (see `read_isolated` of `simjudge.core.processes`). Nothing of simjudge is imported.
"""

from __future__ import annotations

import json
import sys
from typing import Any

# What OpenCV's samples and tutorials call the fields of a calibration in a cv::FileStorage.
OPENCV_NAMES = {
    "matrix": ("camera_matrix", "Camera_Matrix", "cameraMatrix", "K", "M1"),
    "distortion": ("distortion_coefficients", "Distortion_Coefficients", "distCoeffs", "dist_coeffs", "D", "D1"),
    "width": ("image_width", "image_Width", "width"),
    "height": ("image_height", "image_Height", "height"),
    "fisheye": ("fisheye_model",),
}
_MATLAB_NEEDED = ("ImageSize", "RadialDistortion")  # The fields by which MATLAB's struct is known
_MATLAB_NAMES = (
    *_MATLAB_NEEDED,
    "FocalLength",
    "PrincipalPoint",
    "Skew",
    "K",
    "IntrinsicMatrix",
    "TangentialDistortion",
)


def opencv(path: str) -> dict[str, object]:
    """The fields of a calibration in a cv::FileStorage, None for those that it lacks."""
    import cv2  # noqa: PLC0415 - not where only the names are imported

    storage = cv2.FileStorage(path, cv2.FILE_STORAGE_READ)

    def first(names: tuple[str, ...]) -> Any:
        for name in names:
            node = storage.getNode(name)
            if not node.empty():
                matrix = None if node.isInt() or node.isReal() else node.mat()
                return node.real() if matrix is None else matrix.tolist()
        return None

    return {part: first(names) for part, names in OPENCV_NAMES.items()}


def matlab(path: str) -> dict[str, list[float]] | None:
    """The fields of the first struct of MATLAB's that has those of a camera, each as a list; None where none has."""
    import numpy as np  # noqa: PLC0415 - see above
    from scipy.io import loadmat  # noqa: PLC0415 - see above

    content = loadmat(path, simplify_cells=True)
    for table in (content, *content.values()):
        if isinstance(table, dict) and all(name in table for name in _MATLAB_NEEDED):
            return {n: np.asarray(table[n], np.float64).ravel().tolist() for n in _MATLAB_NAMES if n in table}
    return None


# What the authors of NIQE call its parameters, and what ports to Python do.
NIQE_NAMES = {"mean": ("mu_prisparam", "mu_pris_param"), "covariance": ("cov_prisparam", "cov_pris_param")}


def niqe(path: str) -> dict[str, object]:
    """The parameters of NIQE in a .mat file, None for those that it lacks."""
    from scipy.io import loadmat  # noqa: PLC0415 - see above

    content = loadmat(path, variable_names=[name for names in NIQE_NAMES.values() for name in names])
    arrays = {part: [content[name] for name in names if name in content] for part, names in NIQE_NAMES.items()}
    return {part: found[0].tolist() if found else None for part, found in arrays.items()}


if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]  # the folder of this file, whose modules are no top-level ones
    reader = {"opencv": opencv, "matlab": matlab, "niqe": niqe}[sys.argv[1]]
    json.dump(reader(sys.argv[2]), sys.stdout)
