"""One .db3 file (rosbag2's sqlite3 storage), open for reading.

It has no checksums: only what its structure shows can be noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.mcap_file import decompress_message
from simjudge.data.rosbag2.storage import MessageLocation, StoredMessage, StoredTopic, format_seconds, full_type_name

_NO_DEFINITION = MessageDefinition(MessageDefinitionFormat.NONE, "")
_FORMATS = {"ros2msg": MessageDefinitionFormat.MSG, "ros2idl": MessageDefinitionFormat.IDL}
_FAILURES_IN_A_ROW = 64
_VIRTUAL = "CREATE VIRTUAL"
"""How the definition of a table begins whose rows some code makes."""
_LONGEST_VALUE = 2**30
"""Bytes of a message, or of any other value, at most."""
_TABLES = {"topics": ("id", "name", "type"), "messages": ("id", "topic_id", "timestamp", "data"),
           "metadata": ("id", "metadata")}  # fmt: skip
"""The tables that are read, with the columns that must be stored in them."""
_BROKEN = (apsw.Error, UnicodeDecodeError, TypeError, ValueError)


class _WholePages(apsw.VFS):
    """A cut-off database as far as its pages are whole: sqlite would silently fill up the last one with zeros."""

    def __init__(self, page: int) -> None:
        self.vfs_name, self.page = f"simjudge_whole_pages_{page}", page
        super().__init__(self.vfs_name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        """Open a file of which only whole pages are shown."""
        page = self.page

        class WholePages(apsw.VFSFile):
            def xFileSize(self) -> int:  # noqa: N802
                """The size without the page that is cut off."""
                return super().xFileSize() // page * page

        return WholePages("", name, flags)


class Db3File:
    """A rosbag2 database. A `MessageLocation` is (file, 0, row, length)."""

    def __init__(self, path: Path, shown: Path | None = None) -> None:
        """Open the database.

        Args:
            shown: what to call it, where `path` is only a decompressed copy.
        """
        self.path, self.shown = path, path if shown is None else shown
        self.notes: list[str] = []
        self.counted = True
        self.losses = Losses()
        self.span: tuple[int, int] | None = None
        if path.stat().st_size == 0:
            raise SimjudgeError(f"{self.shown}: is empty (0 bytes)")
        try:
            self._database = self._connect()
            self._check_schema()
            rows = self._topic_rows()
        except _BROKEN as error:
            why = " ".join(str(error).split())
            raise SimjudgeError(f"{self.shown}: is not a readable rosbag2 database ({why})") from error
        self.topics = self._topics(rows)
        self.metadata = self._metadata()

    def messages(self, topics: set[str], file: int) -> Iterator[StoredMessage]:
        """Read all readable messages of some topics, in the order they were recorded: see `Storage.messages`."""
        wanted = {number: name for number, name in self._names.items() if name in topics}
        if not wanted:
            return
        last, failures, lost, read, latest = -1, 0, 0, 0, 0
        while failures < _FAILURES_IN_A_ROW:
            try:
                query = "SELECT id, topic_id, timestamp, data FROM messages WHERE id > ? ORDER BY id"
                for row, topic, time, data in self._database.execute(query, (last,)):
                    if row <= last:
                        raise apsw.CorruptError(f"row {row} comes behind row {last}")
                    last, failures, read = row, 0, read + 1
                    if not isinstance(time, int):
                        continue
                    latest = max(latest, time)
                    if topic in wanted and isinstance(data, bytes):
                        yield StoredMessage(
                            wanted[topic], time, decompress_message(data), MessageLocation(file, 0, last, len(data))
                        )
                break
            except _BROKEN:
                # Try behind the row that failed.
                last, failures, lost = last + 1, failures + 1, lost + 1
        if lost:
            until = f"{read} messages read, the last at {format_seconds(latest)}" if read else "no message read"
            self.losses.add("recordings cut off or damaged", f"{self.shown}: the database is malformed; {until}")

    def read(self, location: MessageLocation) -> bytes | memoryview:
        """Read one message again: see `Storage.read`."""
        try:
            row = self._database.execute("SELECT data FROM messages WHERE id = ?", (location.start,)).fetchone()
        except _BROKEN as error:
            raise SimjudgeError(f"{self.shown}: cannot be read any more ({error})") from error
        if row is None or len(row[0]) != location.length:
            raise SimjudgeError(f"{self.shown}: message {location.start} has changed since the file was opened")
        return decompress_message(row[0])

    def _connect(self) -> apsw.Connection:
        """Open read-only; with a write-ahead log beside it, the log's messages count too."""
        with self.path.open("rb") as stream:
            head = stream.read(100)
        page = int.from_bytes(head[16:18], "big")
        page = 65536 if page == 1 else page
        size = self.path.stat().st_size
        vfs = None
        if page >= 512 and size % page:
            self._vfs = _WholePages(page)
            vfs = self._vfs.vfs_name
        log = self.path.with_name(self.path.name + "-wal")
        mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
        name = str(self.path.resolve()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        database = apsw.Connection(f"file:{name}?{mode}", flags=flags, vfs=vfs)
        database.limit(apsw.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        database.execute("PRAGMA trusted_schema=OFF")
        if int.from_bytes(head[28:32], "big") * page > size:
            # The only way to make sqlite look into a file with fewer pages than its header says.
            database.execute("PRAGMA writable_schema=ON")
        return database

    def _check_schema(self) -> None:
        """Refuse views and computed columns: reading them runs what the file says, perhaps without end."""
        for table, columns in _TABLES.items():
            found = self._database.execute("SELECT type, sql FROM sqlite_schema WHERE name = ?", (table,)).fetchall()
            plain = [str(sql) for kind, sql in found if kind == "table" and not str(sql).upper().startswith(_VIRTUAL)]
            if found and not plain:
                raise SimjudgeError(f"{self.shown}: {table} is no plain table of the database; record it again")
            for column in self._database.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall():
                if column[0] in columns and column[1] != 0:
                    raise SimjudgeError(f"{self.shown}: {table}.{column[0]} is computed, not stored; record it again")

    def _topic_rows(self) -> list[Any]:
        rows: list[Any] = self._database.execute("SELECT id, name, type FROM topics ORDER BY id").fetchall()
        self._names = {int(row[0]): str(row[1]) for row in rows}
        self._database.execute("SELECT id FROM messages LIMIT 1")
        return rows

    def _metadata(self) -> str:
        """What rosbag2 keeps about the recording, as YAML; before Iron it kept nothing."""
        try:
            row = self._database.execute("SELECT metadata FROM metadata ORDER BY id DESC LIMIT 1").fetchone()
        except _BROKEN:
            return ""
        return row[0] if row and isinstance(row[0], str) else ""

    def _topics(self, rows: list[Any]) -> list[StoredTopic]:
        counts: dict[int, int] = {}
        try:
            query = "SELECT topic_id, COUNT(*), MIN(timestamp), MAX(timestamp) FROM messages "
            query += "WHERE typeof(timestamp) = 'integer' GROUP BY topic_id"
            found: list[Any] = self._database.execute(query).fetchall()
            counts = {topic: count for topic, count, _, _ in found}
            if found:
                self.span = (min(row[2] for row in found), max(row[3] for row in found))
        except _BROKEN:
            self.counted = False
        definitions: dict[str, MessageDefinition] = {}
        try:
            query = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
            for name, encoding, text in self._database.execute(query):
                definitions[name] = MessageDefinition(_FORMATS.get(encoding, MessageDefinitionFormat.NONE), text)
        except _BROKEN:
            # Recordings older than Iron have no such table.
            definitions = {}
        qos = self._offered_qos()
        return [
            StoredTopic(
                str(name),
                full_type_name(str(kind)),
                definitions.get(kind, _NO_DEFINITION),
                counts.get(i, 0),
                qos.get(i, ""),
            )
            for i, name, kind in rows
        ]

    def _offered_qos(self) -> dict[int, str]:
        """What the publishers of each topic offered, as YAML; early recordings have no such column."""
        try:
            rows: list[Any] = self._database.execute("SELECT id, offered_qos_profiles FROM topics").fetchall()
        except _BROKEN:
            return {}
        return {number: text for number, text in rows if isinstance(text, str)}
