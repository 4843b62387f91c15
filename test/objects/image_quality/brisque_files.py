"""Files of libsvm, as svm-train and svm-scale write them, with made numbers."""

import numpy as np

VECTORS, GAMMA, RHO = 5, 0.05, -40.25


def made_numbers():
    """Weights, support vectors with some zeros, and lower and upper ends of the ranges."""
    draw = np.random.default_rng(8)
    vectors = np.round(draw.uniform(-1, 1, (VECTORS, 36)), 6)
    vectors[0, 3] = vectors[2, 35] = vectors[4, 0] = 0
    low = np.round(draw.uniform(-1, 0, 36), 6)
    return np.round(draw.uniform(-9, 9, VECTORS), 6), vectors, low, np.round(low + draw.uniform(0.5, 4, 36), 6)


def write_brisque_files(folder):
    """Write both files.

    Returns:
        Paths of model and ranges.
    """
    weights, vectors, low, high = made_numbers()
    rows = [
        " ".join([f"{weight:.17g}", *(f"{i}:{value:.8g}" for i, value in enumerate(vector, 1) if value)])
        for weight, vector in zip(weights, vectors, strict=True)
    ]
    head = f"svm_type epsilon_svr\nkernel_type rbf\ngamma {GAMMA}\nnr_class 2\ntotal_sv {VECTORS}\nrho {RHO}\nSV\n"
    (folder / "allmodel").write_text(head + " \n".join(rows) + " \n")
    ends = "".join(f"{i} {a:.15g} {b:.15g}\n" for i, (a, b) in enumerate(zip(low, high, strict=True), 1))
    (folder / "allrange").write_text(f"x\n-1 1\n{ends}")
    return folder / "allmodel", folder / "allrange"
