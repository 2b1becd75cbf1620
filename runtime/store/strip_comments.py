"""An emitted text without what no compiler looks at: texts that differ in comments and blank lines share a binary.

    // x = y + 1          ->      x = y + 1;
    x = y + 1;  // sum

Only for looking up: compilers get the text as it is. A text in which a comment or a line's number might matter after
all, or which this reader does not understand for sure, stays as it is.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_DOUBTFUL = re.compile(
    r"""__LINE__|__FILE__|__DATE__|__TIME__|__TIMESTAMP__|assert\.h|\#[ \t]*line\b|\?\?|\r|/\*(?!.*?\*/)
    |[/*]\\\s*\n          # the begin or end of a comment, on two lines
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
    """Return a text without comments, blank lines and blanks at the ends of lines, or as it is where in doubt."""
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
    """Tell whether a literal or comment is what it looks like: not R"(...)" or 1'000, and no `\\` ends a line by it."""
    if token[0] == "/":
        return not before.rstrip(" \t").endswith("\\")
    return not before[-1:].isalnum() and before[-1:] != "_"


def other_dependency(text: str) -> str:
    """Say what else than the text decides what a compiler makes of it: a file, or the time; "" where nothing does.

    Emitted texts include nothing but headers of the C library; a text changed by hand may include any file.
    """
    for match in _INCLUDE.finditer(text):
        name = match[1].partition("//")[0].partition("/*")[0].strip()
        if name not in _STANDARD:
            return f"the text includes {name}"
    moment = _MOMENT.search(text)
    return f"the text has {moment[0]}" if moment else ""
