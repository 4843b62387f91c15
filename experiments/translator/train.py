"""Train a small network that makes photographs out of rendered pictures, from pictures that are not paired.

Contrastive unpaired translation (Park, Efros, Zhang, Zhu, ECCV 2020): a generator whose patches stay recognizable among
the other patches of the same picture (InfoNCE over features of its own encoder), against a discriminator of patches
with the least-squares loss. Both learn from two folders of pictures of one size; labels are never seen.

    experiments/translator/train.py RENDERED PHOTOGRAPHS translator.onnx [--minutes 7] [--seed 1]

Needs `simjudge[train]`, and a GPU where it is to take minutes (2 s a step of 8 pictures without).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import cv2
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

WIDTH = 40
"""Channels of the generator's first layer; four times as many in its middle. 3.0 million weights."""
BLOCKS = 6
PATCHES, TEMPERATURE = 256, 0.07
FEATURES = (0, 2, 4, 7, 10)
"""Layers of the encoder whose patches are compared."""


class Block(nn.Module):
    """Two convolutions whose result is added to what came in."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(*_layer(channels, channels), *_layer(channels, channels)[:-1])

    def forward(self, x: Tensor) -> Tensor:
        return x + self.inner(x)


def _layer(inside: int, outside: int, *, size: int = 3, stride: int = 1) -> list[nn.Module]:
    convolution = nn.Conv2d(inside, outside, size, stride, size // 2, padding_mode="reflect")
    return [convolution, nn.InstanceNorm2d(outside), nn.ReLU()]


class Generator(nn.Module):
    """Picture (n, 3, h, w) in [-1, 1] to picture; h and w are multiples of 4."""

    def __init__(self) -> None:
        super().__init__()
        w = WIDTH
        self.encoder = nn.Sequential(
            *_layer(3, w, size=7), *_layer(w, 2 * w, stride=2), *_layer(2 * w, 4 * w, stride=2),
            *(Block(4 * w) for _ in range(BLOCKS)),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Upsample(scale_factor=2), *_layer(4 * w, 2 * w), nn.Upsample(scale_factor=2), *_layer(2 * w, w),
            nn.Conv2d(w, 3, 7, 1, 3, padding_mode="reflect"), nn.Tanh(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))

    def features(self, x: Tensor) -> list[Tensor]:
        """What the chosen layers of the encoder make of a picture."""
        kept = []
        for number, layer in enumerate(self.encoder):
            x = layer(x)
            if number in FEATURES:
                kept.append(x)
        return kept


class Heads(nn.Module):
    """A head for each chosen layer: patches at the same random places to unit vectors."""

    def __init__(self) -> None:
        super().__init__()
        w = WIDTH
        self.heads = nn.ModuleList(
            nn.Sequential(nn.Linear(inside, 128), nn.ReLU(), nn.Linear(128, 128))
            for inside in (w, w, 2 * w, 4 * w, 4 * w)
        )

    def loss(self, before: list[Tensor], after: list[Tensor]) -> Tensor:
        """A patch of the new picture is to be told from the other patches of the old one."""
        total = torch.zeros((), device=before[0].device)
        for head, old, new in zip(self.heads, before, after, strict=True):
            places = torch.randperm(old[0, 0].numel(), device=old.device)[:PATCHES]
            key, query = (
                F.normalize(head(x.flatten(2).transpose(1, 2)[:, places]).float(), dim=-1) for x in (old.detach(), new)
            )
            likeness = torch.bmm(query, key.transpose(1, 2)) / TEMPERATURE
            own = torch.arange(len(places), device=old.device).expand(len(old), -1)
            total = total + F.cross_entropy(likeness.flatten(0, 1), own.flatten())
        return total / len(before)


def discriminator() -> nn.Module:
    """Marks for patches of 70 x 70 px: 1 is a photograph."""
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2)]
    for inside, outside, stride in ((64, 128, 2), (128, 256, 2), (256, 384, 1)):
        layers += [nn.Conv2d(inside, outside, 4, stride, 1), nn.InstanceNorm2d(outside), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Conv2d(384, 1, 4, 1, 1))


def read_pictures(folder: Path) -> Tensor:
    """All pictures of a folder, (n, 3, h, w) in [-1, 1], red first."""
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in {".jpg", ".png"})
    if not files:
        raise SystemExit(f"{folder}: holds no .jpg or .png")
    pictures = [cv2.imread(str(file)) for file in files]
    return torch.from_numpy(np.stack(pictures)[..., ::-1].copy()).permute(0, 3, 1, 2).float() / 127.5 - 1


def drawn(pictures: Tensor, count: int) -> Tensor:
    """Random pictures, moved by up to 8 px. They are not mirrored: arrows point where they point."""
    chosen = pictures[torch.randint(len(pictures), (count,), device=pictures.device)]
    down, right = torch.randint(0, 17, (2,)).tolist()
    height, width = chosen.shape[2:]
    return F.pad(chosen, (8, 8, 8, 8), "reflect")[:, :, down : down + height, right : right + width]


def main() -> None:
    """Train for so many minutes, and write the generator as ONNX with a note of what it learned from beside it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("rendered", type=Path)
    options.add_argument("photographs", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--minutes", type=float, default=7.0)
    options.add_argument("--batch", type=int, default=8)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    torch.manual_seed(given.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rendered, photographs = (read_pictures(folder).to(device) for folder in (given.rendered, given.photographs))
    generator, heads, judge = Generator().to(device), Heads().to(device), discriminator().to(device)
    made = torch.optim.Adam([*generator.parameters(), *heads.parameters()], 2e-4, (0.5, 0.999))
    judged = torch.optim.Adam(judge.parameters(), 2e-4, (0.5, 0.999))
    begun, steps = time.monotonic(), 0
    while (passed := (time.monotonic() - begun) / 60 / given.minutes) < 1:
        for optimizer in (made, judged):  # even for the first half, then down to nothing
            optimizer.param_groups[0]["lr"] = 2e-4 * min(1, 2 - 2 * passed)
        a, b = drawn(rendered, given.batch), drawn(photographs, given.batch)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            fake = generator(torch.cat((a, b)))
            fake_a, same_b = fake.chunk(2)
            marks = judge(torch.cat((fake_a.detach(), b))).float()
            loss_judge = 0.5 * (marks[: given.batch].square().mean() + (marks[given.batch :] - 1).square().mean())
        judged.zero_grad()
        loss_judge.backward()
        judged.step()
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = (judge(fake_a).float() - 1).square().mean()
            for old, new in ((a, fake_a), (b, same_b)):  # the second: a photograph stays what it is
                loss = loss + 0.5 * heads.loss(generator.features(old), generator.features(new))
        made.zero_grad()
        loss.backward()
        made.step()
        steps += 1
        if steps % 200 == 1:
            losses = f"maker {loss.item():.3f}, judge {loss_judge.item():.3f}"
            print(f"{steps} steps, {100 * passed:.0f} %: {losses}", flush=True)
    save(generator.cpu().eval(), given.out, rendered.shape[2:])
    note = {
        "network": "contrastive unpaired translation", "weights": sum(p.numel() for p in generator.parameters()),
        "steps": steps, "batch": given.batch, "seed": given.seed, "rendered": len(rendered),
        "photographs": len(photographs), "minutes": given.minutes, "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "CPU",
    }  # fmt: skip
    given.out.with_suffix(".json").write_text(json.dumps(note, indent=1) + "\n")


def save(generator: Generator, out: Path, size: torch.Size) -> None:
    """Write the generator for pictures of any number, of this size."""
    torch.onnx.export(
        generator, (torch.zeros(1, 3, *size),), str(out), input_names=["picture"], output_names=["picture_out"],
        dynamic_axes={"picture": {0: "n"}, "picture_out": {0: "n"}}, opset_version=17, dynamo=False,
    )  # fmt: skip


if __name__ == "__main__":
    main()
