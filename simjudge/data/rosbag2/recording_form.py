"""How a recording is stored: by which storage, in how many files, compressed how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from simjudge.core.errors import UsageError

StorageName = Literal["mcap", "sqlite3"]
STORAGE_OF_SUFFIX: dict[str, StorageName] = {".mcap": "mcap", ".db3": "sqlite3"}
"""The storage of a recording that is one file, by the end of its name."""
CompressionName = Literal["none", "file", "message", "chunk"]
COMPRESSIONS: tuple[CompressionName, ...] = ("none", "file", "message", "chunk")
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class RecordingForm:
    """How a recording is stored.

    Attributes:
        max_bytes: a storage file is closed before it grows beyond this, and the next one begun; None for one file.
        compression: zstd of "file"s once they are closed, of each "message", of the "chunk"s of an mcap, or "none".
    """

    storage: StorageName = "mcap"
    max_bytes: int | None = None
    compression: CompressionName = "none"

    def check(self, path: Path) -> None:
        """Refuse what a recording of that name cannot be.

        Args:
            path: x.mcap or x.db3 for one file, any other name for a folder.
        """
        alone = STORAGE_OF_SUFFIX.get(path.suffix)
        if alone and (self.max_bytes is not None or self.compression in {"file", "message"}):
            what = "split" if self.max_bytes is not None else f"compressed by {self.compression}"
            other = ", or compression chunk" if alone == "mcap" and self.max_bytes is None else ""
            raise UsageError(f"{path}: one file cannot be {what}; name a folder, such as {path.with_suffix('')}{other}")
        if self.compression == "chunk" and (alone or self.storage) != "mcap":
            raise UsageError(f"{path}: only mcap has chunks that can be compressed; take compression file or message")
