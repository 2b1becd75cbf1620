"""An emitted source without what compilers ignore: sources that differ in comments and blank lines share a binary.

    // x = y + 1          ->      x = y + 1;
    x = y + 1;  // sum

Used only for look-ups: compilers get the unchanged source. A source in which a comment or a line number might matter,
or which this module cannot parse with certainty, stays as it is.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_DOUBTFUL = re.compile(
    r"""__LINE__|__FILE__|__DATE__|__TIME__|__TIMESTAMP__|assert\.h|\#[ \t]*line\b|\?\?|\r|/\*(?!.*?\*/)
    |[/*]\\\s*\n          # the start or end of a comment, on two lines
    |//[^\n]*\\[ \t]*\n   # a comment that goes on in the next line
    """,
    re.VERBOSE | re.DOTALL,
)
_STANDARD = frozenset(
    f"<{name}.h>"
    for name in (
        "assert", "complex", "errno", "fenv", "float", "inttypes", "limits", "math", "omp", "signal", "stdalign",
        "stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio", "stdlib", "string", "tgmath", "time",
    )
)  # fmt: skip
_INCLUDE = re.compile(
    r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(?:include|include_next|import|embed)\b[ \t]*(.*?)[ \t]*$", re.MULTILINE
)
_MOMENT = re.compile(r"__DATE__|__TIME__|__TIMESTAMP__")


def strip_comments(text: str) -> str:
    """Return a source without comments, blank lines and trailing blanks; unchanged if in doubt."""
    if _DOUBTFUL.search(text):
        return text
    pieces, end = [], 0
    for match in _TOKEN.finditer(text):
        before, token = text[end : match.start()], match[0]
        if "'" in before or '"' in before or not _is_plain(before, token):
            return text
        pieces += [before, token if token[0] != "/" else " " if token[1] == "*" else ""]
        end = match.end()
    if "'" in text[end:] or '"' in text[end:]:
        return text
    lines: list[str] = []
    for line in "".join((*pieces, text[end:])).split("\n"):
        ended = line.rstrip()
        if ended.endswith("\\") and ended != line:
            return text
        if ended or (lines and lines[-1].endswith("\\")):
            lines.append(ended)
    return "\n".join(lines)


def _is_plain(before: str, token: str) -> bool:
    """Return whether a token is a plain literal or comment: not R"(...)" or 1'000, and not after a `\\`."""
    if token[0] == "/":
        return not before.rstrip(" \t").endswith("\\")
    return not before[-1:].isalnum() and before[-1:] != "_"


def other_dependency(text: str) -> str:
    """Return what else than the source determines the binary: a file, or the time; "" if nothing does.

    Emitted sources include only headers of the C library; a source changed by hand may include any file.
    """
    for match in _INCLUDE.finditer(text):
        name = match[1].partition("//")[0].partition("/*")[0].strip()
        if name not in _STANDARD:
            return f"the source includes {name}"
    moment = _MOMENT.search(text)
    return f"the source has {moment[0]}" if moment else ""
