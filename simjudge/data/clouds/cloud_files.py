"""Clouds written into a folder, a file each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.clouds.cloud_set import Cloud, CloudSet


def write_cloud_files(
    clouds: CloudSet, files: Sequence[Path], content: Callable[[Cloud], bytes], losses: Losses
) -> None:
    """Write each cloud into its file; clouds that cannot be read are counted."""
    written = 0
    for index, file in enumerate(files):
        try:
            data = content(clouds.read(index))
        except SimjudgeError as error:
            losses.add("clouds that cannot be read", str(error))
            continue
        file.write_bytes(data)
        written += 1
    if not written:
        raise SimjudgeError(f"{clouds.name}: holds no cloud that can be read{losses.reason}")
