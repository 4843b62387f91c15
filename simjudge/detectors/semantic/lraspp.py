"""LR-ASPP on MobileNetV3: a net that gives every pixel a class, made with random weights and exported to ONNX.

Source of the architecture: Howard et al., "Searching for MobileNetV3", ICCV 2019, section 5.4, as torchvision has it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.detectors import torchvision_nms
from simjudge.detectors.semantic.semantic_net import TASK

WIDTHS = {"pico": 0.35, "nano": 0.5, "small": 1.0}
"""Factor on the channels of MobileNetV3 (large, reduced tail), by size."""
_INTER_CHANNELS = 128
"""Channels of LR-ASPP's head, as torchvision has it."""
_MOMENTUM = 0.1
"""Of batch norms; torchvision's 0.01 is for trainings of many thousand steps."""
_MEAN_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of the channels of photographs (ImageNet), which inputs are normalised by."""


def build_net(classes: int, width: float) -> Any:
    """LR-ASPP on MobileNetV3 with random weights.

    Returns:
        A torch module: float (B, 3, H, W), RGB in [0, 1], to scores (B, classes, h, w), an eighth of the size.
    """
    torch = import_torch()
    from torchvision.models._utils import IntermediateLayerGetter  # noqa: PLC0415 - an extra
    from torchvision.models.mobilenetv3 import mobilenet_v3_large  # noqa: PLC0415
    from torchvision.models.segmentation.lraspp import LRASPPHead  # noqa: PLC0415

    layers = mobilenet_v3_large(weights=None, width_mult=width, reduced_tail=True, dilated=True).features
    for layer in layers.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.momentum = _MOMENTUM
    # Where the picture gets smaller, as torchvision finds it (segmentation/lraspp.py): an eighth, and the last layer.
    stages = [0, *(i for i, layer in enumerate(layers) if getattr(layer, "_is_cn", False)), len(layers) - 1]
    low, high = stages[-4], stages[-1]
    backbone = IntermediateLayerGetter(layers, return_layers={str(low): "low", str(high): "high"})
    head = LRASPPHead(layers[low].out_channels, layers[high].out_channels, classes, _INTER_CHANNELS)

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.backbone, self.head = backbone, head
            for name, values in zip(("mean", "deviation"), _MEAN_DEVIATION, strict=True):
                self.register_buffer(name, torch.tensor(values).view(1, 3, 1, 1))

        def forward(self, pictures: Any) -> Any:
            return self.head(self.backbone((pictures - self.mean) / self.deviation))

    return Net()


def export_net(net: Any, names: list[str], out: Path, size: tuple[int, int]) -> None:
    """Write a net as ONNX, whole or not at all.

    Args:
        size: width and height of the input, pixels.
    """
    torch = import_torch()
    import onnx  # noqa: PLC0415 - an extra

    net.eval()
    with tempfile.TemporaryDirectory(prefix="simjudge-train-") as temporary:
        file = Path(temporary) / "net.onnx"
        torch.onnx.export(
            net, (torch.zeros(1, 3, size[1], size[0]),), str(file), input_names=["images"], output_names=["scores"],
            dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}}, opset_version=17, dynamo=False,
        )  # fmt: skip
        network = onnx.load(str(file))
    metadata: Mapping[str, Any] = {
        "task": TASK, "names": dict(enumerate(names)), "imgsz": [size[1], size[0]],
        "description": f"{out.stem}, trained by simjudge",
    }  # fmt: skip
    onnx.helper.set_model_props(network, {key: str(value) for key, value in metadata.items()})
    onnx.checker.check_model(network)
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(out) as target:
        onnx.save(network, str(target))


def import_torch() -> Any:
    """torch, with torchvision beside it."""
    try:
        import torch  # noqa: PLC0415 - an extra

        torchvision_nms.register_missing_nms()
        import torchvision  # noqa: F401, PLC0415
    except ImportError as error:
        raise SimjudgeError(f"training needs torch and torchvision: pip install 'simjudge[train]' ({error})") from error
    return torch


def torchvision_version() -> str:
    """The version of torchvision."""
    import torchvision  # noqa: PLC0415 - an extra

    return str(torchvision.__version__)
