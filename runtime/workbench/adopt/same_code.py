"""What of a source counts when an edit is compared with what the compiler emits: its tokens, not comments and layout.

In: GLSL, CUDA C or C. Out: statements as tuples of tokens, how far two sources are apart, and which lines differ.
Pure. A line of the preprocessor is one token, since its end has a meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain
from typing import NamedTuple

_PIECES = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
    |(?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|(?!//)[^\n])*)
    |(?P<token>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?:\d|\.\d)[\w.]*(?:(?<=[eEpP])[+-][\w.]*)?|[A-Za-z_]\w*|\S)""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_INSIDE = re.compile(r"\\\n|/\*.*?\*/", re.DOTALL)
"""What of a line of the preprocessor has no meaning."""
_SPACE = re.compile(r"\s+")


class Token(NamedTuple):
    """One token. line: of the source, from 1."""

    text: str
    line: int


Unit = tuple[Token, ...]
"""A statement, the head of a block, or a line of the preprocessor."""


class Difference(NamedTuple):
    """Tokens of one source in place of tokens of another."""

    before: tuple[Token, ...]
    after: tuple[Token, ...]


def units(source: str) -> list[Unit]:
    """Return the statements of a source."""
    found: list[Unit] = []
    here: list[Token] = []
    depth = 0
    for token, is_directive in _tokens(source):
        if is_directive:
            found += [tuple(here)] if here else []
            found.append((token,))
            here = []
            continue
        here.append(token)
        depth += (token.text in "([") - (token.text in ")]")
        if token.text in "{}" or (token.text == ";" and depth <= 0):
            found.append(tuple(here))
            here, depth = [], 0
    return _with_sorted_extensions([*found, tuple(here)] if here else found)


def _with_sorted_extensions(found: list[Unit]) -> list[Unit]:
    """Return statements with GLSL's extensions in the order of their names: their order has no meaning."""
    places = [place for place, unit in enumerate(found) if unit[0].text.startswith("#extension")]
    for place, unit in zip(places, sorted((found[place] for place in places), key=lambda unit: unit[0].text)):
        found[place] = unit
    return found


def _tokens(source: str) -> Iterator[tuple[Token, bool]]:
    line, position = 1, 0
    for match in _PIECES.finditer(source):
        line += source.count("\n", position, match.start())
        position = match.start()
        if match["directive"]:
            yield Token(_SPACE.sub(" ", _INSIDE.sub(" ", match["directive"])).strip(), line), True
        elif match["token"]:
            yield Token(match["token"], line), False


def same_code(one: str, other: str) -> bool:
    """Return whether two sources differ only in comments, blanks and line ends."""
    return _texts(chain(*units(one))) == _texts(chain(*units(other)))


def differences(before: Sequence[Unit], after: Sequence[Unit]) -> list[Difference]:
    """Return what differs between the statements of two sources, in order."""
    found: list[Difference] = []
    keys = [[tuple(_texts(unit)) for unit in side] for side in (before, after)]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        if tag != "equal":
            found += _between(list(chain(*before[i1:i2])), list(chain(*after[j1:j2])))
    return found


def _between(before: list[Token], after: list[Token]) -> Iterator[Difference]:
    codes = SequenceMatcher(None, _texts(before), _texts(after), autojunk=False).get_opcodes()
    for tag, i1, i2, j1, j2 in codes:
        if tag != "equal":
            yield Difference(tuple(before[i1:i2]), tuple(after[j1:j2]))


def size(found: Sequence[Difference]) -> int:
    """Return how many tokens differ."""
    return sum(len(difference.before) + len(difference.after) for difference in found)


def _texts(tokens: Sequence[Token] | Iterator[Token] | chain[Token]) -> list[str]:
    return [token.text for token in tokens]
