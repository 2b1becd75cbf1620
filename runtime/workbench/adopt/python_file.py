"""The Python file that defines a kernel: read with what its formatting needs, and written with another function in it.

Line ends, the encoding, a byte order mark and the file's mode stay.
"""

from __future__ import annotations

import os
import tokenize
from dataclasses import dataclass
from pathlib import Path

from ....transpiler.errors import TaichiRuntimeError
from ...store.atomic_files import write_bytes
from .python_text import FunctionText


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A file as it is on the disk. path: without links. newline: the one that ends its first line."""

    path: Path
    data: bytes
    encoding: str
    newline: str

    @property
    def lines(self) -> list[str]:
        """Its lines without their ends."""
        return [line.removesuffix("\r") for line in self._raw_lines()]

    def with_function(self, before: FunctionText, after: FunctionText) -> bytes:
        """Return the content with another text of a function. Raises: TaichiRuntimeError if that has changed."""
        lines, first = self._raw_lines(), before.first_line - 1
        end = first + len(before.lines)
        if tuple(self.lines[first:end]) != before.lines:
            raise TaichiRuntimeError(
                f"{self.path.name} has changed since it was read: `{before.tree.name}` is not in line "
                f"{before.first_line} any more",
                "run the command again",
            )
        mark = self.newline.removesuffix("\n")
        made = [line + mark for line in after.lines]
        if end == len(lines):  # the last line has no end
            made[-1] = after.lines[-1]
        return "\n".join([*lines[:first], *made, *lines[end:]]).encode(self.encoding)

    def _raw_lines(self) -> list[str]:
        return self.data.decode(self.encoding).split("\n")

    def write(self, data: bytes) -> None:
        """Write other content. Raises: TaichiRuntimeError if the file has changed; OSError."""
        if self.path.read_bytes() != self.data:
            raise TaichiRuntimeError(f"{self.path.name} has changed since it was read", "run the command again")
        mode = self.path.stat().st_mode
        write_bytes(self.path, data)
        os.chmod(self.path, mode & 0o7777)


def read_python_file(path: Path) -> PythonFile:
    """Read a file. Raises: OSError; TaichiRuntimeError if it is not text of its encoding."""
    path = path.resolve()
    data = path.read_bytes()
    try:
        with path.open("rb") as file:
            encoding, _ = tokenize.detect_encoding(file.readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise TaichiRuntimeError(f"{path.name} cannot be read: {error}") from None
    end = text.find("\n")
    return PythonFile(path, data, encoding, "\r\n" if end > 0 and text[end - 1] == "\r" else "\n")
