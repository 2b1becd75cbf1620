"""The messages of compilers as data: glslang, gcc and clang, NVRTC with ptxas.

In: the log of a compiler. Out: one `CompilerDiagnostic` for each error and each warning that has a line, in order,
with the column if it is known: glslang has none, so its token is searched for; NVRTC prints line and caret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .parsed_source import Location, ParsedSource

_GLSLANG = re.compile(r"^(ERROR|WARNING): (?:([^:\n]+):(\d+): )?(.*)$")
_GCC = re.compile(r"^(.+?):(\d+):(?:(\d+):)? (fatal error|error|warning|note): (.*?)(?: \[(-W[\w=+-]+)\])?$")
_NVRTC = re.compile(r"^(.+?)\((\d+)\): (?:catastrophic )?(error|warning)(?: #[\w-]+)?: (.*)$")
_PTXAS = re.compile(r"^ptxas\b(?:.*?,)?(?: line (\d+);)? *(error|fatal) *: (.*)$")
_QUOTED = re.compile(r"'([^']+)'")

TOKENS = {
    "SEMICOLON": ";", "COMMA": ",", "COLON": ":", "EQUAL": "=", "LEFT_PAREN": "(", "RIGHT_PAREN": ")",
    "LEFT_BRACE": "{", "RIGHT_BRACE": "}", "LEFT_BRACKET": "[", "RIGHT_BRACKET": "]", "DOT": ".", "BANG": "!",
    "DASH": "-", "TILDE": "~", "PLUS": "+", "STAR": "*", "SLASH": "/", "PERCENT": "%", "LEFT_ANGLE": "<",
    "RIGHT_ANGLE": ">", "VERTICAL_BAR": "|", "CARET": "^", "AMPERSAND": "&", "QUESTION": "?", "INC_OP": "++",
    "DEC_OP": "--", "LE_OP": "<=", "GE_OP": ">=", "EQ_OP": "==", "NE_OP": "!=", "AND_OP": "&&", "OR_OP": "||",
    "ADD_ASSIGN": "+=", "SUB_ASSIGN": "-=", "MUL_ASSIGN": "*=", "DIV_ASSIGN": "/=",
}  # fmt: skip
"""The names of glslang for punctuation."""

SUMMARIES = ("compilation terminated", "compilation errors", "No code generated", "SPIR-V is not generated")


@dataclass(frozen=True, slots=True)
class CompilerDiagnostic:
    """file: as passed to the compiler, "" if it names none. line: 0 if it names none. column: from 1, 0 if unknown.

    level: "error" or "warning". flag: of a warning, as gcc names it.
    """

    file: str
    line: int
    column: int
    level: str
    message: str
    flag: str = ""


def of_glslang(log: str) -> list[CompilerDiagnostic]:
    """Return the diagnostics in a log of glslangValidator."""
    found = []
    for line in log.splitlines():
        match = _GLSLANG.match(line)
        if match is not None and not any(words in line for words in SUMMARIES):
            found.append(
                CompilerDiagnostic(match[2] or "", int(match[3] or 0), 0, match[1].lower(), _with_punctuation(match[4]))
            )
    return found


def _with_punctuation(message: str) -> str:
    """Return a message of glslang with punctuation in place of the names of tokens."""
    message = re.sub(r"^'' : *", "", message.strip())
    if "syntax error" in message:
        message = re.sub(r"\b[A-Z]+(?:_[A-Z]+)*\b", lambda word: f"`{TOKENS.get(word[0], word[0].lower())}`", message)
    return message


def of_gcc(log: str) -> list[CompilerDiagnostic]:
    """Return the diagnostics in a log of gcc or clang. An error inside a macro is shown where the macro is used."""
    found: list[CompilerDiagnostic] = []
    for line in log.splitlines():
        match = _GCC.match(line)
        if match is None:
            continue
        file, number, column, level, message, flag = match.groups()
        if level == "note":
            if (
                found
                and ("in expansion of macro" in message or "expanded from macro" in message)
                and file == found[-1].file
            ):
                found[-1] = replace(found[-1], line=int(number), column=int(column or 0))
            continue
        found.append(CompilerDiagnostic(file, int(number), int(column or 0), level.split()[-1], message, flag or ""))
    return found


def of_nvrtc(log: str) -> list[CompilerDiagnostic]:
    """Return the diagnostics of NVRTC and ptxas. ptxas has no lines of the source: its lines of PTX are left out."""
    found: list[CompilerDiagnostic] = []
    lines = log.splitlines()
    for number, line in enumerate(lines):
        match = _NVRTC.match(line)
        if match is not None:
            message, column = _with_caret(match[4], lines[number + 1 :])
            found.append(CompilerDiagnostic(match[1], int(match[2]), column, match[3], message))
        elif (match := _PTXAS.match(line)) is not None and "aborted due to errors" not in line:
            found.append(CompilerDiagnostic("", 0, 0, "error", match[3]))
    return found


def _with_caret(message: str, below: list[str]) -> tuple[str, int]:
    """Return the whole message, and the column of the caret below it, which counts from the first character shown."""
    for number, line in enumerate(below[:6]):
        if line.strip() == "^" and number > 0:
            more = [part.strip() for part in below[: number - 1] if part.startswith("            ")]
            shown = below[number - 1]
            return " ".join([message, *more]), max(1, line.index("^") + 1 - (len(shown) - len(shown.lstrip())))
        if not line.strip():
            break
    return message, 0


def location_of(
    diagnostic: CompilerDiagnostic, source: ParsedSource, column_skips_indent: bool = False
) -> Location | None:
    """Return where to show a diagnostic, None if it names no line.

    column_skips_indent: the column counts from the first character that is not a blank (NVRTC).
    """
    if diagnostic.line <= 0:
        return None
    line = source.line(diagnostic.line)
    indent = len(line) - len(line.lstrip())
    column = diagnostic.column + indent if diagnostic.column and column_skips_indent else diagnostic.column
    if column and column <= len(line):
        word = re.compile(r"\w+").match(line, column - 1)
        return Location(diagnostic.line, column, word.end() - word.start() if word is not None else 1)
    for token in _tokens(diagnostic.message):
        location = source.find_name(token, diagnostic.line) if re.fullmatch(r"\w+", token) else None
        if location is None and token in line:
            location = Location(diagnostic.line, line.index(token) + 1, len(token))
        if location is not None:
            return location
    return Location(diagnostic.line, indent + 1, max(1, len(line.strip())))


def _tokens(message: str) -> list[str]:
    """Return the tokens that a message may be about, the likeliest first."""
    return [*_QUOTED.findall(message), *re.findall(r"unexpected `(\W+)`", message)]
