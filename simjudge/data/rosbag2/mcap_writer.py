"""mcap storage for rosbags' writer, with checksums: rosbags' own writes none, so damage could not be told later."""

from __future__ import annotations

from pathlib import Path

from mcap.writer import CompressionType
from mcap.writer import Writer as Mcap
from rosbags.interfaces import Connection, ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag2.enums import CompressionMode


class CheckedMcapWriter:
    """What rosbags' `Writer` needs of a storage, on top of the mcap package."""

    def __init__(self, folder: Path, compression: CompressionMode, stem: str) -> None:
        """Start a file in the recording's folder."""
        self.path = folder / f"{stem}.mcap"
        self._stream = self.path.open("xb")
        packed = compression == CompressionMode.STORAGE
        # Images hardly shrink, and uncompressed chunks let one image be read without its neighbours.
        method = CompressionType.ZSTD if packed else CompressionType.NONE
        self._mcap = Mcap(self._stream, compression=method, enable_crcs=True)
        self._mcap.start(profile="ros2", library="simjudge")
        self._schemas: dict[str, int] = {}
        self._channels: dict[int, int] = {}

    def add_msgtype(self, connection: Connection) -> None:
        """Add a message type with its definition.

        Args:
            connection: a topic of that type, as rosbags' writer hands it over.
        """
        form = "ros2msg" if connection.msgdef.format == MessageDefinitionFormat.MSG else "ros2idl"
        text = connection.msgdef.data.encode()
        self._schemas[connection.msgtype] = self._mcap.register_schema(connection.msgtype, form, text)

    def add_connection(self, connection: Connection, offered_qos_profiles: str) -> None:
        """Add a topic, with the metadata that rosbag2 looks for."""
        form = connection.ext.serialization_format if isinstance(connection.ext, ConnectionExtRosbag2) else "cdr"
        self._channels[connection.id] = self._mcap.register_channel(
            connection.topic,
            form,
            self._schemas[connection.msgtype],
            {"offered_qos_profiles": offered_qos_profiles, "topic_type_hash": connection.digest},
        )

    def write(self, connection: Connection, timestamp: int, data: bytes | memoryview) -> None:
        """Add a message.

        Args:
            timestamp: when it was recorded, nanoseconds; also written as the time of publishing.
        """
        self._mcap.add_message(self._channels[connection.id], timestamp, data, timestamp)

    def flush(self) -> None:
        """Finish the chunk in progress and hand everything to the operating system."""
        self._mcap.flush()

    def close(self, version: int, metadata: str) -> None:
        """Write the index, and the recording's metadata for those who read the bare file."""
        del version
        self._mcap.add_metadata("rosbag2", {"serialized_metadata": metadata})
        self._mcap.finish()
        self._stream.close()

    def abort(self) -> None:
        """Close after an error."""
        self._stream.close()
