"""Pictures by the variants that an engine does not run on here, each in a process of its own: a process has one."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.default.variant import CHOICE, VARIANTS, Variant, choose_variant, find_llvm, has_cuda
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.lens import Lens

_PICTURE = """
import pickle, sys
import numpy
from simjudge.sim.engines.registry import make_engine
name, scene, lens, state, rays = pickle.load(sys.stdin.buffer)
numpy.save(sys.stdout.buffer, make_engine(name, scene).render(lens, [state], rays))
"""
_PATIENCE = 300  # Seconds that a picture may take


def other_variants() -> tuple[Variant, ...]:
    """The variants that can run here beside the one that does."""
    runs = {"cuda_ad_rgb": has_cuda(), "llvm_ad_rgb": find_llvm()[0] is not None, "numpy": True}
    return tuple(variant for variant in VARIANTS if runs[variant] and variant != choose_variant())


def pictures_by_other_variants(
    engine: str, scene: Scene, lens: Lens, state: SceneState, rays: int
) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    """Name of each other variant, and the linear RGB radiance (H, W, 3) that an engine renders by it."""
    request = pickle.dumps((engine, scene, lens, state, rays))
    for variant in other_variants():
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PICTURE] if sys.version_info >= (3, 11) else [sys.executable, "-c", _PICTURE],
            env={**os.environ, CHOICE: variant},
            input=request,
            capture_output=True,
            check=False,
            timeout=_PATIENCE,
        )
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise SimjudgeError(f"engine {engine} by {variant}: {' '.join(last)}")
        yield variant, np.load(io.BytesIO(done.stdout))
