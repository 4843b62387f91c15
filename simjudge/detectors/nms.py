"""Non-maximum suppression, exactly as torchvision defines it, and registered for a torchvision that lacks it.

OpenCV's `cv2.dnn.NMSBoxes` is not used: it computes the IoU in double precision from widths and heights, torchvision in
single precision from corners. On boxes with whole-pixel corners it kept other boxes in 8 % of the cases tried, because
the IoU of two boxes was then exactly the threshold, and boxes without area are kept by the one and dropped by the
other. On 3,000 boxes it took five times as long.

The torchvision that installs beside the CPU build of torch may be a CUDA build. Its library then cannot be loaded, the
operator `torchvision::nms` is missing, and already `import torchvision` fails.
"""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.numba_cache import njit

Float32Array = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]


def non_maximum_suppression(boxes: npt.ArrayLike, scores: npt.ArrayLike, iou_threshold: float) -> npt.NDArray[np.int64]:
    """Keep the best of boxes that overlap: int64 (boxes (N, 4); scores (N,); iou_threshold: in [0, 1])."""
    box = np.asarray(boxes, np.float32).reshape(-1, 4)
    order = np.argsort(-np.asarray(scores, np.float32), kind="stable")
    alive: BoolArray = _survivors(np.ascontiguousarray(box[order]), iou_threshold)
    return order[alive].astype(np.int64)


def non_maximum_suppression_by_class(
    boxes: npt.ArrayLike, scores: npt.ArrayLike, class_id: npt.ArrayLike, iou_threshold: float
) -> npt.NDArray[np.int64]:
    """Keep the best of boxes (N, 4) that overlap, each class by itself: indices, best score first over all classes."""
    box, score = np.asarray(boxes, np.float32).reshape(-1, 4), np.asarray(scores, np.float32)
    classes = np.asarray(class_id)
    kept = np.zeros(len(box), np.bool_)
    for one_class in np.unique(classes):
        rows = np.flatnonzero(classes == one_class)
        kept[rows[non_maximum_suppression(box[rows], score[rows], iou_threshold)]] = True
    order = np.argsort(-score, kind="stable")
    return order[kept[order]].astype(np.int64)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _survivors(box: Float32Array, iou_threshold: float) -> BoolArray:
    alive = np.ones(len(box), np.bool_)
    area = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    for i in range(len(box)):
        if not alive[i]:
            continue
        for j in range(i + 1, len(box)):
            width = min(box[i, 2], box[j, 2]) - max(box[i, 0], box[j, 0])
            height = min(box[i, 3], box[j, 3]) - max(box[i, 1], box[j, 1])
            if not alive[j] or width <= 0 or height <= 0:
                continue
            inter = width * height
            if inter / (area[i] + area[j] - inter) > iou_threshold:
                alive[j] = False
    return alive


_kept: list[Any] = []  # a torch.library.Library takes its operators with it when it is collected


def register_missing_nms() -> bool:
    """Register `torchvision::nms` where torchvision does not bring it. Call before torchvision is imported."""
    import torch  # noqa: PLC0415 - an extra

    spec = importlib.util.find_spec("torchvision")
    if _kept or spec is None or spec.origin is None or _loads(Path(spec.origin).parent):
        return False
    library = torch.library.Library("torchvision", "FRAGMENT")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    # Only declared: `import torchvision` describes it, nothing here calls it.
    library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.impl("nms", nms, "CPU")
    _kept.append(library)

    import torchvision  # noqa: PLC0415

    torchvision.extension._has_ops = lambda: True  # noqa: SLF001 - else torchvision.ops.nms refuses before it looks
    return True


def _loads(folder: Path) -> bool:
    """Whether torchvision's compiled operators can be loaded and hold nms."""
    import torch  # noqa: PLC0415

    for file in sorted([*folder.glob("_C*.so"), *folder.glob("_C*.pyd")]):
        with contextlib.suppress(OSError, ImportError):
            torch.ops.load_library(str(file))
    return hasattr(torch.ops.torchvision, "nms")


def nms(dets: Any, scores: Any, iou_threshold: float) -> Any:
    """Non-maximum suppression as torchvision defines it: int64 tensor (scores: float tensor (N,))."""
    import torch  # noqa: PLC0415

    kept = non_maximum_suppression(dets.detach().numpy(), scores.detach().numpy(), iou_threshold)
    return torch.from_numpy(kept)
