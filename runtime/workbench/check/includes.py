"""Files that an edit includes: only those of the compiler, `<math.h>`. A file of the user's is refused.

In: the source of an edit. Out: an error at each `#include "helper.h"`. The text of an edit is all that is compared,
cached, merged, archived and shipped, so a change of another file would not be seen.
"""

from __future__ import annotations

import re

from .diagnostics import DiagnosticList

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*(include)[ \t]*("([^"\n]*)")', re.MULTILINE)


def note_includes(diagnostics: DiagnosticList) -> None:
    """Record each line that includes a file of the user's."""
    source = diagnostics.source
    for found in _INCLUDE.finditer(source.text) if "include" in source.text else ():
        if source.code[found.start(1) : found.end(1)] == "include":  # not in a comment
            diagnostics.add(
                source.locate(*found.span(2)),
                "an edit includes no file of its author: its own text is all that is checked, cached and shipped, so "
                f"a change of `{found[3]}` would not be seen",
                f"put the text of `{found[3]}` in place of this line",
            )
