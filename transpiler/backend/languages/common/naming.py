"""Gives every value in the source a name that is legal, readable and unique in its scope.

User names stay as they are. A reserved name gets an underscore; a name that is taken gets `_1`, `_2`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from ....ir.tasks import Kernel

MAX_LENGTH = 64
DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{k}" for port in ("com", "lpt") for k in range(10))})
"""Names that no file on Windows can have, with any suffix."""


@lru_cache(maxsize=4096)
def legal(name: str) -> str:
    """Return `name` as an identifier of letters, digits and single underscores, of at most 64 characters.

    Letters outside ASCII lose their accents or become their code point; GLSL accepts neither those nor `__` or `gl_`,
    nor a macro `GL_`. Dots of a path to a member become underscores.
    """
    name = name.replace(".", "_")
    if name and not (name.isascii() and name.isidentifier()):
        parts = [_ascii(character) for character in name]
        joints = ["_" if len(a) > 1 and b[:1].isalnum() else "" for a, b in zip(parts, [*parts[1:], ""], strict=True)]
        name = "".join(part + joint for part, joint in zip(parts, joints, strict=True))
    while "__" in name:
        name = name.replace("__", "_")
    if not name or name[0].isdigit() or name.startswith(("gl_", "GL_")):
        name = f"v_{name}" if name.strip("_") else "v"
    return name[:MAX_LENGTH].rstrip("_") or "v" if len(name) > MAX_LENGTH else name


def bound_name(prefix: str, index: str) -> str:
    """Return the name of the end or extent of a loop, derived from its index: `end_i`; no `__` for `_i`."""
    return f"{prefix}_v{index}" if index.startswith("_") else f"{prefix}_{index}"


def entry_stem(kernel: Kernel) -> str:
    """Return the stem of the names of a kernel's files and entries; `task` is the stem of its functions."""
    name = legal(kernel.name)
    return f"v_{name}" if name == "task" or name.lower() in DEVICES else name


def _ascii(character: str) -> str:
    if character.isascii():
        return character if character.isalnum() else "_"
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    if plain.isalnum():
        return plain
    words = unicodedata.name(character, "").split()
    if len(words) >= 4 and words[1] in ("SMALL", "CAPITAL") and words[2] == "LETTER" and words[3].isascii():
        word = "LAMBDA" if words[3] == "LAMDA" else words[3]  # the name in Unicode
        return word.lower() if words[1] == "SMALL" else word.capitalize()
    return f"u{ord(character):x}"


class Names:
    """The names of one source. taken: by the language and the file. Scopes follow the blocks of the printed function.

    given: all names that were ever declared. history: the same in order, a name for each declaration.
    taken_below: by stem, a number below which all numbered names are taken, so that the next one is found at once.
    """

    def __init__(self, taken: frozenset[str]) -> None:
        self.reserved = taken
        self.used: dict[str, int] = {}
        self.given: set[str] = set()
        self.history: list[str] = []
        self.scopes: list[list[str]] = [[]]
        self.taken_below: dict[str, int] = {}

    def declare(self, name: str, derived: Callable[[str], Sequence[str]] | None = None) -> str:
        """Return a free name like `name`, and reserve it until the current scope ends.

        derived: returns further names derived from a name; these must be free too, and are reserved.
        """
        name = legal(name)
        if name in self.reserved:
            name = f"{name}_" if not name.endswith("_") else f"{name}1"
        if derived is None and name not in self.used and name not in self.reserved:
            self._reserve(name)  # most
            return name
        names = self._all_names(name, derived)
        if [one for one in names if not self.is_free(one)]:
            names = self._numbered(name.rstrip("_"), derived)
        for declared in names:
            self._reserve(declared)
        return names[0]

    def _reserve(self, name: str) -> None:
        """Record a name of the current scope."""
        self.used[name] = 1
        self.given.add(name)
        self.history.append(name)
        self.scopes[-1].append(name)

    def _numbered(self, stem: str, derived: Callable[[str], Sequence[str]] | None) -> list[str]:
        """Return the first free of `stem_1`, `stem_2`, ..., and the names derived from it."""
        number = 1 if derived is not None else self.taken_below.get(stem, 1)
        while not all(map(self.is_free, names := self._all_names(f"{stem}_{number}", derived))):
            number += 1
        if derived is None:
            self.taken_below[stem] = number
        return names

    @staticmethod
    def _all_names(name: str, derived: Callable[[str], Sequence[str]] | None) -> list[str]:
        return [name, *(derived(name) if derived is not None else ())]

    def is_free(self, name: str) -> bool:
        """Return whether `declare` would return `name` itself."""
        return name not in self.used and name not in self.reserved

    def is_taken(self, name: str) -> bool:
        """Return whether a variable of an open scope has a name."""
        return name in self.used

    def derive(self, name: str, avoided: Collection[str]) -> str:
        """Return a free name like `name`, but none of `avoided`: the user's variables keep their names."""
        name = legal(name)
        if name not in avoided and self.is_free(name):
            return self.declare(name)
        with self.avoiding(avoided):
            numbered = self._numbered(name.rstrip("_"), None)[0]
        return self.declare(numbered)

    @contextmanager
    def avoiding(self, names: Collection[str]) -> Iterator[None]:
        """Within the context none of these names is declared, as if they were reserved."""
        reserved, self.reserved = self.reserved, self.reserved.union(names)
        try:
            yield
        finally:
            self.reserved = reserved
            for name in names if self.taken_below else ():
                self._free(name)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names declared within the context are free again after it."""
        self.open_scope()
        try:
            yield
        finally:
            self.close_scope()

    def open_scope(self) -> None:
        """Start a scope; see `scope`."""
        self.scopes.append([])

    def close_scope(self) -> None:
        """End the innermost scope."""
        for name in self.scopes.pop():
            del self.used[name]
            self._free(name)

    def _free(self, name: str) -> None:
        """Record that a name may be free again."""
        stem, _, number = name.rpartition("_")
        if number.isdecimal() and int(number) < self.taken_below.get(stem, 1):
            self.taken_below[stem] = max(1, int(number))
