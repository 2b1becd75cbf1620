"""What an edit says about itself, in comments below the first lines of its source.

    // @base 3fa1c2d4e5f60718  digest of the generated source that was edited; keep this line
    // @for self.mass = 3.0
    // @device volatile_vectors = True

`@base` is the digest of the generated source from which the edit was made: an edit whose base is no longer generated is
stale. `@for` is a value that is a constant in the source and that another object or closure may have otherwise: the
edit is of kernels with this value. `@device` names capabilities for which the base was generated, as far as they change
it and are not those that every device is assumed to have. So an edit proves by itself what it is an edit of, wherever
it was copied to.

In: sources. Out: `Header`; sources with and without these lines. Pure.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from .merge import unnumbered

DIGITS = 16
"""Hexadecimal digits of a digest: 64 bits."""
NOTE = "digest of the generated source that was edited; keep this line"
MAX_VALUE = 400
"""Characters of a value; longer ones are stored by digest."""

_LINE = re.compile(r"^[ \t]*// @(?:(base|device)\b[ \t]*(.*?)|(for)[ \t]+([\w.]+ = .*?))[ \t]*$")
_DIGEST = re.compile(rf"[0-9a-f]{{{DIGITS}}}(?![0-9a-f])")


@dataclass(frozen=True, slots=True)
class Header:
    """base: digest, "" if the source has none. values: by the expression that reads them. device: as in the source."""

    base: str = ""
    values: tuple[tuple[str, str], ...] = ()
    device: str = ""

    def lines(self) -> list[str]:
        """Return the comments."""
        found = [f"// @base {self.base}  {NOTE}"]
        found += [f"// @for {name} = {value}" for name, value in self.values]
        return [*found, f"// @device {self.device}"] if self.device else found


def header_of(source: str) -> Header:
    """Return what a source says about itself."""
    base, device, values = "", "", []
    for line in source.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        kind, content = match[1] or match[3], match[2] or match[4] or ""
        if kind == "base":
            digest = _DIGEST.match(content)
            base = digest[0] if digest is not None else ""
        elif kind == "device":
            device = content
        else:
            name, _, value = content.partition(" = ")
            values.append((name, value))
    return Header(base, tuple(values), device)


def without_header(source: str) -> str:
    """Return a source without these comments."""
    if "// @" not in source:
        return source
    return "".join(line for line in source.splitlines(keepends=True) if not _LINE.match(line.rstrip("\r\n")))


def with_header(source: str, header: Header) -> str:
    """Return a source with these comments in place of those it has, below the comments with which it begins."""
    lines = without_header(source).splitlines(keepends=True)
    place = next((k for k, line in enumerate(lines) if not line.startswith("// ") or line.startswith("// @")), 0)
    return "".join((*lines[:place], *(f"{line}\n" for line in header.lines()), *lines[place:]))


def base_digest(source: str) -> str:
    """Return the digest of a generated source, the same wherever its kernel is in the Python file."""
    return hashlib.sha256(unnumbered(source).encode()).hexdigest()[:DIGITS]


def is_untouched(source: str, base: str | None) -> bool:
    """Return whether a source is an unchanged copy of the generated one. base: from `.base`, if there is one."""
    bare = without_header(source)
    return bare == base or base_digest(bare) == header_of(source).base


def inert(value: str) -> str:
    """Return a value as part of one line of a comment."""
    shown = "".join(c if " " <= c <= "~" and c != "\\" else f"<{ord(c):x}>" for c in value).strip()
    if len(shown) <= MAX_VALUE:
        return shown
    digest = hashlib.sha256(value.encode(errors="backslashreplace")).hexdigest()[:DIGITS]
    return f"{shown[:40]}... ({len(value)} characters, {digest})"
