"""`torchvision::nms` for a torchvision whose compiled part does not load.

The torchvision that installs beside the CPU build of torch may be a CUDA build. Its library then cannot be loaded, the
operator is missing, and already `import torchvision` fails. Here it is registered for the CPU, where it is missing.
"""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path
from typing import Any

from simjudge.detectors.nms import non_maximum_suppression

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
    """Non-maximum suppression as torchvision defines it.

    Args:
        dets: float tensor (N, 4), x0, y0, x1, y1.
        scores: float tensor (N,).
        iou_threshold: a box goes where its IoU with a better one is larger than this.

    Returns:
        int64 tensor, the indices kept, best score first.
    """
    import torch  # noqa: PLC0415

    kept = non_maximum_suppression(dets.detach().numpy(), scores.detach().numpy(), iou_threshold)
    return torch.from_numpy(kept)
