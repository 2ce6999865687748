"""The formats in which FileSource, Parse, FileSink and Format read and write tuples.

A reader turns chunks of bytes into items; a writer turns a tuple into bytes. Neither knows of files: the same code
reads a file, a compressed file, and the blobs that Parse receives one after the other.
"""

from __future__ import annotations

from penstock.toolkit.formats.items import Chunks, Item, Malformed, Pause, Settings
from penstock.toolkit.formats.reading import reader
from penstock.toolkit.formats.writing import Writer, writer

__all__ = ["Chunks", "Item", "Malformed", "Pause", "Settings", "Writer", "reader", "writer"]
