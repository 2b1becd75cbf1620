"""Gives every value of the text a name that is legal, readable and unique where it is seen.

User names stay as they are. A reserved one gets an underscore; one that is taken gets `_1`, `_2`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ....ir.tasks import Kernel

MAX_LENGTH = 64


def legal(name: str) -> str:
    """Return `name` as an identifier of letters, digits and single underscores, at most 64 long.

    Letters outside ASCII lose their accents or become their code point; GLSL takes neither those nor `__` or `gl_`,
    and no macro `GL_`. Dots of a path to a member become underscores.
    """
    name = name.replace(".", "_")
    if not name.isascii():
        parts = [_ascii(character) for character in name]
        joints = ["_" if len(a) > 1 and b[:1].isalnum() else "" for a, b in zip(parts, [*parts[1:], ""], strict=True)]
        name = "".join(part + joint for part, joint in zip(parts, joints, strict=True))
    while "__" in name:
        name = name.replace("__", "_")
    if not name or name[0].isdigit() or name.startswith(("gl_", "GL_")):
        name = f"v_{name}" if name.strip("_") else "v"
    return name[:MAX_LENGTH].rstrip("_") or "v" if len(name) > MAX_LENGTH else name


def bound_name(word: str, index: str) -> str:
    """Return what the end or the extent of a loop is called after its index: `end_i`; no `__` for `_i`."""
    return f"{word}_v{index}" if index.startswith("_") else f"{word}_{index}"


def entry_stem(kernel: Kernel) -> str:
    """Return what a kernel's files and entries are called; `task` names the functions of its tasks."""
    name = legal(kernel.name)
    return f"v_{name}" if name == "task" else name


def _ascii(character: str) -> str:
    if character.isascii():
        return character
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    if plain.isalnum():
        return plain
    words = unicodedata.name(character, "").split()
    if len(words) >= 4 and words[1] in ("SMALL", "CAPITAL") and words[2] == "LETTER" and words[3].isascii():
        word = "LAMBDA" if words[3] == "LAMDA" else words[3]  # Unicode's spelling of it
        return word.lower() if words[1] == "SMALL" else word.capitalize()
    return f"u{ord(character):x}"


class Names:
    """The names of one text. `taken` by the language and the file; scopes follow the blocks of the function printed.

    given: all names that were ever declared.
    """

    def __init__(self, taken: frozenset[str]) -> None:
        self.reserved = taken
        self.used: dict[str, int] = {}
        self.given: set[str] = set()
        self.temporaries: dict[str, int] = {}
        self.scopes: list[list[str]] = [[]]

    def declare(self, name: str, made_of: Callable[[str], Sequence[str]] | None = None) -> str:
        """Return a free name like `name`, and take it until the current scope ends.

        made_of: gives the words that the text makes of a name; these must be free too, and are taken.
        """
        name = legal(name)
        if name in self.reserved:
            name = f"{name}_" if not name.endswith("_") else f"{name}1"
        candidate, number = name, 0
        words = self._words(candidate, made_of)
        while not all(map(self.is_free, words)):
            number += 1
            candidate = f"{name.rstrip('_')}_{number}"
            words = self._words(candidate, made_of)
        for word in words:
            self.used[word] = 1
            self.given.add(word)
            self.scopes[-1].append(word)
        return candidate

    @staticmethod
    def _words(name: str, made_of: Callable[[str], Sequence[str]] | None) -> list[str]:
        return [name, *(made_of(name) if made_of is not None else ())]

    def is_free(self, name: str) -> bool:
        """Return whether `declare` would give `name` itself."""
        return name not in self.used and name not in self.reserved

    def temporary(self, stem: str = "t") -> str:
        """Return `t0`, `t1`, ... in order of appearance, or `stem0`, `stem1`, ..."""
        number = self.temporaries.get(stem, 0)
        self.temporaries[stem] = number + 1
        return self.declare(f"{stem}{number}")

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names declared within the context are free again after it."""
        self.scopes.append([])
        try:
            yield
        finally:
            for name in self.scopes.pop():
                del self.used[name]
