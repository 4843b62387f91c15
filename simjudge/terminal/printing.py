"""What a terminal gets: names in data sets and topics may hold sequences that steer it, and are written as escapes."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Any

from simjudge.core.printable import printable


class PrintableStream(TextIOWrapper):
    """Standard output or error, whose texts cannot steer the terminal; `rich_proxied_file`: what Rich writes to."""

    @property
    def rich_proxied_file(self) -> RawStream:
        """The stream for whoever draws on the terminal."""
        return RawStream(self)

    def write(self, text: str) -> int:
        """Write a text; a character that the encoding lacks becomes an escape too."""
        return super().write(printable(text))

    def close(self) -> None:
        """Write what is left; the buffer is another stream's."""
        if not self.buffer.closed:
            self.flush()


class RawStream:
    """A stream that takes a text as it is."""

    def __init__(self, stream: PrintableStream) -> None:
        """Draw on a stream."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text."""
        return TextIOWrapper.write(self._stream, text)

    def __getattr__(self, name: str) -> Any:
        """All else is the stream's own."""
        return getattr(self._stream, name)


def print_nothing_that_steers() -> None:
    """Let the names of files and classes be printed whatever they hold."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, TextIOWrapper) and not isinstance(stream, PrintableStream):
            safe = PrintableStream(
                stream.buffer,
                stream.encoding,
                "backslashreplace",
                line_buffering=stream.line_buffering,
                write_through=stream.write_through,
            )
            setattr(sys, name, safe)
